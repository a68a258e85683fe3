/* forget.h - forgets jobs that ended long ago. */
#ifndef SERVER_FORGET_H
#define SERVER_FORGET_H

#include <stdint.h>

struct server;

void forgets_turn(struct server *s); /* drops expired jobs from memory and store */
/* Returns the time of the next one; TIME_NEVER: none. */
int64_t forgets_next(const struct server *s);

/* Drops a forgotten job's reference; 0: none. */
void script_unref(struct server *s, uint64_t script);

#endif
