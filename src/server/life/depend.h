/*
 * depend.h - dependencies: who waits for whom.
 */
#ifndef SERVER_DEPEND_H
#define SERVER_DEPEND_H

#include <stdint.h>

struct server;

void depend_watch(struct server *s, uint32_t id); /* those it depends on are not forgotten before it has ended */

#endif
