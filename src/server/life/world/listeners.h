/*
 * listeners.h - who has to know when a job begins or ends: a table with a row for each subsystem.
 *
 * To let a subsystem act on the end of jobs: a row in listeners.c.
 */
#ifndef SERVER_LIFE_LISTENERS_H
#define SERVER_LIFE_LISTENERS_H

#include <stdint.h>

struct server;

enum moment {
	MOMENT_BEGUN,	/* its processes run; the scheduler is done with its event */
	MOMENT_ENDED,	/* the event of its end was applied and kept: what is written down with it */
	MOMENT_SETTLED, /* the scheduler is done with that event: what follows from the end */
	MOMENTS
};

/* Calls the listeners of a moment in the order of their rows. */
void job_happened(struct server *s, enum moment moment, uint32_t id);

#endif
