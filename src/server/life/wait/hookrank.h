/*
 * hookrank.h - the factor "hook" of priorities: the value of priority_factor() of the site's hooks
 * for each waiting job.
 *
 * Values are requested beside the loop, some hundred jobs at a time: for new and altered jobs at
 * once, for all others every hook_refresh seconds. The last value counts, or 0 if there is none
 * yet. Values are not stored: after a restart all are requested again.
 */
#ifndef SERVER_LIFE_HOOKRANK_H
#define SERVER_LIFE_HOOKRANK_H

#include <stdint.h>

struct server;

double hookrank_value(const struct server *s, uint32_t id);
/* Requests the value of an altered job again. */
void hookrank_again(struct server *s, uint32_t id);
void hookrank_turn(struct server *s);
/* Returns the time of the next request; TIME_NEVER: none. */
int64_t hookrank_next(const struct server *s);

#endif
