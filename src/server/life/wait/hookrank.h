/*
 * hookrank.h - the factor "hook" of priorities: what priority_factor() of the site's hooks says of each waiting job.
 *
 * It is asked for beside the loop, some hundred jobs at a time: of new and altered jobs at once, of all others every hook_refresh seconds. What was said last is
 * what counts; 0 where nothing was said yet. It is not stored: after a restart all are asked for anew.
 */
#ifndef SERVER_LIFE_HOOKRANK_H
#define SERVER_LIFE_HOOKRANK_H

#include <stdint.h>

struct server;

double hookrank_value(const struct server *s, uint32_t id);
void hookrank_again(struct server *s, uint32_t id); /* it was altered */
void hookrank_turn(struct server *s);
int64_t hookrank_next(const struct server *s); /* when there is something to do again; TIME_NEVER */

#endif
