/*
 * listeners.h - subsystems notified when a job begins or ends: a table with a row for each.
 *
 * To let a subsystem act on the end of jobs, add a row in listeners.c.
 */
#ifndef SERVER_LIFE_LISTENERS_H
#define SERVER_LIFE_LISTENERS_H

#include <stdint.h>

struct server;

enum moment {
	MOMENT_BEGUN, /* its processes run; the scheduler has handled the event */
	/* the event of its end was applied and stored: for records stored with it */
	MOMENT_ENDED,
	MOMENT_SETTLED, /* the scheduler has handled that event: for the consequences of the end */
	MOMENTS
};

/* Calls the listeners of a moment in the order of their rows. */
void job_happened(struct server *s, enum moment moment, uint32_t id);

#endif
