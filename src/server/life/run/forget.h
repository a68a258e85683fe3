/* forget.h - forgets jobs that ended long ago. */
#ifndef SERVER_FORGET_H
#define SERVER_FORGET_H

#include <stdint.h>

struct server;

/* Drops expired jobs from memory and store. Their rows of the history must be committed: requests
 * for a job that is not in memory are answered from there. */
void forgets_turn(struct server *s);
/* Returns the time of the next one, microseconds; TIME_NEVER: none, or nothing can be stored. */
int64_t forgets_next(const struct server *s);

/* Drops a forgotten job's reference; 0: none. */
void script_unref(struct server *s, uint64_t script);

#endif
