/*
 * explain_internal.h - declarations shared by explain.c, blockers.c and reason.c.
 */
#ifndef SCHED_EXPLAIN_INTERNAL_H
#define SCHED_EXPLAIN_INTERNAL_H

#include "sched/explain.h"

/* A job in the plan: the end of a running one, the start of a reserved one. */
struct claim {
	int64_t at;
	uint32_t job;
};
typedef VEC(struct claim) claim_vec;

/* Returns true if the job fits at [now, now + length) into the plan as it is at this point. The
 * plan is unchanged afterwards. */
bool explain_fits(struct sched *s, uint32_t job, int64_t length);
/* Collects the jobs in the plan, each once: running ones (live) by their ends, or reserved ones
 * by their starts. */
void claims_collect(const struct plan *p, bool live, claim_vec *ret);
/* Takes running jobs out in the order of their ends until the job fits: they hold what it needs.
 * Returns false if it does not fit even without all of them. */
bool explain_running(struct sched *s, uint32_t job, int64_t length, struct reason *r);

/* Returns true if there is less than needed, and writes the reason with what is missing. */
bool is_short(struct reason *r, enum why why, int64_t needed, int64_t free);
/* Returns true if too little of one of the site's amounts is free, and writes which one and how
 * much is missing. */
bool amount_short(struct sched *s, uint32_t job, int64_t length, struct reason *r);
/* Returns true if a limit keeps the job waiting, and writes the limit and the amount requested. */
bool limit_explain(const struct sched *s, const struct job *job, struct limit_reached *ret, int64_t *ret_asked);

#endif
