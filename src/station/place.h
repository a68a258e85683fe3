/*
 * place.h - where a task goes in a network of workstations. Every station has this function and a table of what it last heard of all, so that there is no master.
 *
 * FI (the source's name: instantaneous photograph) takes the table as it is; the M policies count what they themselves have placed since, so that a burst does not land on one
 * station. The P policies know how urgent a task is, which the station's own queue goes by. The two-level cost counts the owner's work more than ours. Ours goes by how fast the
 * station would run one more task with its owner served first, and lets a task wait where it came from while every station has one of ours: the first that is free takes one
 * of the job that has least to do.
 */
#ifndef STATION_PLACE_H
#define STATION_PLACE_H

#include <stdbool.h>
#include <stdint.h>

enum place_policy {
	PLACE_ROUND_ROBIN,
	PLACE_FI,
	PLACE_FIM,
	PLACE_FI_P,
	PLACE_FIM_P,
	PLACE_TWO_LEVEL,
	PLACE_OURS,
	PLACE_POLICIES
};

/* What a station says of itself. */
struct load {
	double speed;		/* of one processor, 1: the reference's */
	double idle;		/* fraction of the last minute in which nothing ran, 0 to 1 */
	double free;		/* the same, in which nothing of its owner ran */
	int ours;		/* tasks of parallel jobs that are ready or run */
	int interactive, batch; /* the owner's processes that are ready or run */
};

#define PLACE_NOWHERE (-1) /* it waits where it came from */

const char *place_name(enum place_policy p);
bool place_find(const char *name, enum place_policy *ret);
/* It counts what it has placed itself since the last report. */
bool place_counts(enum place_policy p);
/* A station's queue of ours goes by priority. */
bool place_priorities(enum place_policy p);

/* The lower, the better. */
double place_cost(enum place_policy p, const struct load *l);
/* The station for the next task, and the entry of the table updated if the policy does that. `usable` may be NULL. `turn` is round robin's, and moves on. */
int place_choose(enum place_policy p, struct load *table, const bool *usable, int n, int *turn);

#endif
