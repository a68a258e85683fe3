/*
 * explain_internal.h - what explain.c and blockers.c share.
 */
#ifndef SCHED_EXPLAIN_INTERNAL_H
#define SCHED_EXPLAIN_INTERNAL_H

#include "sched/explain.h"

/* A job in the plan, and from when to when. */
struct claim {
	int64_t start, end;
	uint32_t job;
};
typedef VEC(struct claim) claim_vec;

/* Whether the job could be put at [now, now + length) with the plan as it is at this point. Leaves no trace. */
bool explain_fits(struct sched *s, uint32_t job, int64_t length);
/* The jobs in the plan that run (live), by their ends, or are reserved, by their starts, each once. */
void claims_collect(const struct plan *p, bool live, claim_vec *ret);
/* Takes running jobs out in the order of their ends until the job would fit: they hold what it needs. False: it would not fit without any of them. */
bool explain_running(struct sched *s, uint32_t job, int64_t length, struct reason *r);

/* Whether too little of one of the site's amounts is free: which, and how much. */
bool amount_short(struct sched *s, uint32_t job, int64_t length, struct reason *r);

#endif
