/*
 * offline_internal.h - what the files of offline.h share: the waiting jobs in the order in which they will start, and when that will be.
 *
 * Most of it the server has written down: each job's expected start, and how much of the machine is in use until when (server/offline/view_plan.h). What changes while it is
 * down is worked out from that, by a simpler rule than the scheduler's: from the first job on that a change concerns, the jobs that wait are placed in their order, each as early as it
 * fits into its partition, or among the CPUs of all shared nodes. Others' jobs that the user may not see stay where they are.
 */
#ifndef CLIENT_OFFLINE_INTERNAL_H
#define CLIENT_OFFLINE_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* ---- what is in use (offline_pools.c) ---- */

/* From `at` on so much is in use. */
struct step {
	int64_t at, used;
};

typedef VEC(struct step) steps;

/* A partition, which one job has at a time, or the shared nodes. */
struct pool {
	const char *partition; /* NULL: shared nodes */
	int64_t size;	       /* what can be in use at once */
	int64_t procs;
	steps used, waits; /* all; jobs that wait alone */
	int64_t from;	   /* once gaps are not looked for: no job starts earlier */
};
typedef VEC(struct pool) pool_vec;

/* What the server wrote down, and a shutdown that is announced for later than `base`. What waits comes `late` seconds later than it was foreseen. */
void pools_read(pool_vec *ret, const json_t *plan, const json_t *machine, int64_t base, int64_t late);
void pools_fini(pool_vec *pools);
void steps_use(steps *v, int64_t start, int64_t end, int64_t amount); /* so much more than before */
/* The earliest instant from `from` on at which so much of `size` is free for that long; TIME_NEVER. */
int64_t steps_gap(const steps *v, int64_t size, int64_t from, int64_t length, int64_t amount);
/* Whether so much is in use all the time, from a step on that begins at `start`. */
bool steps_cover(const steps *v, int64_t start, int64_t end, int64_t amount);

/* ---- who waits (offline_foresee.c) ---- */

/* {0} is empty. */
struct line {
	VEC(json_t *) rows;   /* in their order; owned */
	VEC(json_t *) before; /* those of the server, as it had them; borrowed from `rows` */
};

/* The rows that wait, by their expected start; `jobs` as of offline_jobs(). */
void line_begin(struct line *l, const json_t *jobs);
void line_add(struct line *l, json_t *row);		    /* one that was submitted */
void line_move(struct line *l, json_t *row, json_t *after); /* behind `after`; NULL: to the front */
void line_changed(json_t *row);				    /* what it asks for, or whether it is held */
/* Gives the rows their expected starts. `plan`: as the server wrote it down, NULL: it did not; nothing starts before `base`; what was foreseen comes `late` seconds later. */
void line_foresee(struct line *l, json_t *jobs, const json_t *plan, const json_t *machine, int64_t base, int64_t late);
void line_fini(struct line *l);

/* Members of what was read; 0 and "": it has none. */
int64_t member_number(const json_t *o, const char *key);
const char *member_text(const json_t *o, const char *key);

#endif
