/*
 * place.h - chooses the workstation of a pool on which a task runs. Every station has this function
 * and a table of the last report of each station, so there is no master.
 *
 * FI (the source's name: instantaneous photograph) uses the table as it is; the M policies also
 * count the tasks they have placed since, so that a burst does not land on one station. The P
 * policies pass a task's priority on to the station's own queue. The two-level cost weighs the
 * owner's work more than ours. "ours" estimates how fast the station would run one more task after
 * serving its owner, and keeps a task waiting at its origin while every station has one of our
 * tasks.
 */
#ifndef STATION_PLACE_H
#define STATION_PLACE_H

#include <stdbool.h>

#include "base/err.h"

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

/* A station's load, as it reports it. */
struct load {
	double speed;		/* speed of one processor; 1.0 is the reference machine */
	double idle;		/* fraction of the last minute in which nothing ran, 0 to 1 */
	double free;		/* fraction of the last minute in which nothing of its owner ran */
	int ours;		/* running or runnable tasks of parallel jobs */
	int interactive, batch; /* running or runnable processes of the owner */
};

/* A policy, and the weights of the two-level cost: of the owner's interactive processes, squared,
 * and batch processes, cubed. */
struct place_rule {
	enum place_policy policy;
	double k1, k2;
};

/* The source gives no values. One batch process, which keeps a processor busy, weighs as much as
 * two of our tasks; one interactive process, which mostly waits for its user, as much as one. */
#define PLACE_K1 1.0
#define PLACE_K2 2.0
#define PLACE_WEIGHT_MOST 1e6

#define PLACE_NOWHERE (-1) /* the task waits at its origin */

const char *place_name(enum place_policy p);
bool place_find(const char *name, enum place_policy *ret);
/* Reads the option --NAME, a weight of the two-level cost; text NULL leaves *ret as it is. */
int place_weight_read(const char *name, const char *text, double *ret, struct err *err);
/* Returns true if the policy counts the tasks it has placed since the last report. */
bool place_counts(enum place_policy p);
/* Returns true if a station's queue of our tasks is ordered by priority. */
bool place_priorities(enum place_policy p);

/* Returns the cost of placing a task there; lower is better. */
double place_cost(const struct place_rule *r, const struct load *l);
/* Chooses the station for the next task, and updates its entry in the table if the policy
 * counts. `usable` may be NULL. `turn` is the round-robin position and is advanced. */
int place_choose(const struct place_rule *r, struct load *table, const bool *usable, int n, int *turn);

#endif
