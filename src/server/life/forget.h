/*
 * forget.h - jobs that ended long ago go.
 */
#ifndef SERVER_FORGET_H
#define SERVER_FORGET_H

#include <stdint.h>

struct server;

void entry_forget(struct server *s, uint32_t id); /* a job that ended long ago: out of memory and store */

void script_unref(struct server *s, uint64_t script); /* of a job that is gone; 0: none */

#endif
