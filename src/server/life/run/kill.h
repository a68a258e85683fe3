/* kill.h - ends running jobs, or puts them back into the queue: SIGTERM, then SIGKILL if needed;
 * or a last checkpoint where possible. */
#ifndef SERVER_KILL_H
#define SERVER_KILL_H

#include <stdbool.h>
#include <stdint.h>

#include "server/job/entry.h"

struct attempt;
struct server;

/* Sends the signal after the commit. */
void signal_later(struct server *s, uint32_t id, uint32_t attempt, int signal);
/* Sends SIGTERM, and SIGKILL after `delay` seconds; 0: SIGKILL at once. */
void attempt_kill(struct server *s, const struct attempt *t, int64_t delay);
/* Ends a running job's processes as its intent requires: SIGTERM, then SIGKILL after `delay`
 * seconds (< 0: the queue's setting). */
void job_kill(struct server *s, uint32_t id, const struct payload *p);
/* Lets a running job wait again from its last checkpoint, which it makes now if `save` and it
 * can; deletes a job that may not run again. */
void job_put_back(struct server *s, uint32_t id, bool save, const char *who);
/* Repeats a kill from before a restart, since the signal may not have been sent. */
void job_kill_again(struct server *s, uint32_t id, uint32_t attempt);

#endif
