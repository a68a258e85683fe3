/*
 * guarantees.h - what a change by an administrator would do to deadlines that were guaranteed. It is made in a copy of plan and scheduler first: if a job would lose its guarantee
 * there, the change is refused, unless it is insisted on.
 */
#ifndef SERVER_LIFE_GUARANTEES_H
#define SERVER_LIFE_GUARANTEES_H

#include <stdint.h>

#include "base/err.h"
#include "sched/forecast.h"

struct server;

/* Makes the change in the copy. */
typedef void (*guarantees_change)(const struct server *s, struct forecast *copy, const void *what);

/* 0: every guaranteed job keeps its guarantee. CODE_BAD_STATE, naming those that would not, otherwise; among them running jobs that may last beyond `ends`, when they would be ended
 * (TIME_NEVER: they would not be). */
int guarantees_check(struct server *s, guarantees_change change, const void *what, int64_t ends, struct err *err);

#endif
