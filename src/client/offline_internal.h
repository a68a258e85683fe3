/*
 * offline_internal.h - shared by the files of offline.h: the waiting jobs in the order in which
 * they will start, and their expected starts.
 *
 * Most of it comes from the server's last view: each job's expected start, and how much of the
 * machine is in use until when (server/offline/view_plan.h). Changes made while the server is down
 * are worked out from that, by a simpler rule than the scheduler's: from the first job that a
 * change affects, waiting jobs are placed in order, each as early as it fits into its partition, or
 * among the CPUs of all shared nodes. Other users' jobs that the user may not see stay where they
 * are.
 */
#ifndef CLIENT_OFFLINE_INTERNAL_H
#define CLIENT_OFFLINE_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* ---- usage over time (offline_pools.c) ---- */

/* `used` is in use from `at` until the next step. */
struct step {
	int64_t at, used;
};

typedef VEC(struct step) steps;

/* A partition, which one job uses at a time, or the shared nodes. */
struct pool {
	const char *partition; /* NULL: shared nodes */
	int64_t size;	       /* capacity */
	int64_t procs;
	steps used, waits; /* usage by all jobs; usage by waiting jobs alone */
	int64_t from;	   /* earliest start once gaps are no longer searched */
};
typedef VEC(struct pool) pool_vec;

/* Reads the plan of the server's view, and an announced shutdown later than `base`. Waiting jobs
 * are shifted by `late` seconds. */
void pools_read(pool_vec *ret, const json_t *plan, const json_t *machine, int64_t base, int64_t late);
void pools_fini(pool_vec *pools);
/* Adds `amount` to the usage. */
void steps_use(steps *v, int64_t start, int64_t end, int64_t amount);
/* Returns the earliest time from `from` on at which `amount` of `size` is free for `length`
 * seconds, or TIME_NEVER. */
int64_t steps_gap(const steps *v, int64_t size, int64_t from, int64_t length, int64_t amount);
/* Returns true if at least `amount` is in use throughout, from a step that begins at `start`. */
bool steps_cover(const steps *v, int64_t start, int64_t end, int64_t amount);

/* ---- waiting jobs (offline_foresee.c) ---- */

/* {0} is empty. */
struct line {
	VEC(json_t *) rows;   /* in starting order; owned */
	VEC(json_t *) before; /* the server's rows in its order; borrowed from `rows` */
};

/* Collects the waiting rows by expected start; `jobs` comes from offline_jobs(). */
void line_begin(struct line *l, const json_t *jobs);
void line_add(struct line *l, json_t *row);		    /* a new submission */
void line_move(struct line *l, json_t *row, json_t *after); /* behind `after`; NULL: to the front */
void line_changed(json_t *row);				    /* its resources or holds changed */
/* Gives the rows their expected starts. `plan` is the server's, or NULL; nothing starts before
 * `base`, and planned starts are `late` seconds later. */
void line_foresee(struct line *l, json_t *jobs, const json_t *plan, const json_t *machine, int64_t base, int64_t late);
void line_fini(struct line *l);

#endif
