/*
 * kill.h - how running jobs are ended, or put back: SIGTERM, and SIGKILL if that was not enough; or a last checkpoint, where that does.
 */
#ifndef SERVER_KILL_H
#define SERVER_KILL_H

#include <stdbool.h>
#include <stdint.h>

#include "server/job/entry.h"

struct attempt;
struct server;

void signal_later(struct server *s, uint32_t id, uint32_t attempt, int signal); /* after the commit */
void attempt_kill(struct server *s, const struct attempt *t, int64_t delay);	/* seconds until SIGKILL */
/* Ends a running job's processes by its intent: SIGTERM, after `delay` seconds SIGKILL (< 0: as its queue says). */
void job_kill(struct server *s, uint32_t id, const struct payload *p);
/* A running job is to wait again, from its last checkpoint, which it makes now if `save` and it can; one that may not run again is deleted. */
void job_put_back(struct server *s, uint32_t id, bool save, const char *who);
/* As before a restart: whether the signal left then is not known. */
void job_kill_again(struct server *s, uint32_t id, uint32_t attempt);

#endif
