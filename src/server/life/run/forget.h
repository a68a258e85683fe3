/*
 * forget.h - jobs that ended long ago go.
 */
#ifndef SERVER_FORGET_H
#define SERVER_FORGET_H

#include <stdint.h>

struct server;

void forgets_turn(struct server *s);	      /* drops jobs whose time is over from memory and store */
int64_t forgets_next(const struct server *s); /* when the next one's is; TIME_NEVER */

void script_unref(struct server *s, uint64_t script); /* of a job that is gone; 0: none */

#endif
