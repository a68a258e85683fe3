/*
 * forecast.h - when waiting jobs will start: the policy itself, run forward in virtual time on a copy of everything it knows.
 *
 * Every job that runs or starts is taken to last as long as it may and to succeed, nobody else comes, and no node fails. What is
 * held stays held, unless the gate that holds it goes on beside it (forecast_gate). So the forecast is what the scheduler would
 * do; it is wrong only where those assumptions are. It changes nothing.
 */
#ifndef SCHED_FORECAST_H
#define SCHED_FORECAST_H

#include "base/scratch.h"
#include "rules/gate.h"
#include "sched/sched.h"

/* A start to come; nodes are borrowed for the call. */
struct foreseen {
	int64_t start, end;
	const int32_t *nodes; /* one for each fragment */
	uint32_t nnodes;
	uint32_t job;
	bool guaranteed;
	bool rough; /* forecast_rest() */
};

/* Told of every start, in the order of time. False: that was enough. */
typedef bool (*forecast_told)(void *context, const struct foreseen *f);

struct forecast;

/* A copy of the scheduler's world, at its instant. It shares nothing that changes with it: another thread may run it. */
struct forecast *forecast_create(const struct sched *s);
/* The same for a moment, with what is large in `scratch`, which is not used otherwise before it is destroyed. */
struct forecast *forecast_create_in(const struct sched *s, struct scratch *scratch);
void forecast_destroy(struct forecast *f);
/* The copy itself, for what is to be changed before it is run. */
struct sched *forecast_sched(struct forecast *f);
struct cluster *forecast_cluster(struct forecast *f);
struct plan *forecast_plan(struct forecast *f);
const struct job *forecast_job(const struct forecast *f, uint32_t job);
void forecast_pace(struct forecast *f, uint64_t work); /* see sched_pace(); that of the scheduler otherwise */
/* What keeps held jobs from the scheduler goes on in the copy, too: from a clone of `g`, which is returned and is the forecast's. Before it is run. */
struct gate *forecast_gate(struct forecast *f, const struct gate *g);
/* A job in STATE_NEW, filled in, is submitted to the copy now; held if something keeps it from the scheduler. */
void forecast_submit(struct forecast *f, uint32_t job, int64_t now, bool held);
/* Other reservations hold in the copy, and jobs have other keys (by id, 0 .. n - 1). Before it is run. */
void forecast_fences(struct forecast *f, const struct node_fence *fences, size_t n, const uint32_t *keys, size_t nkeys);
/* A waiting job has another place in the copy's queue. Before it is run. */
void forecast_rank(struct forecast *f, uint32_t job, double rank);
/* Runs until every waiting job has started, `told` has had enough, or after `cycles` cycles; then it may be run on. Whether nothing is
 * left to run. */
bool forecast_run(struct forecast *f, size_t cycles, forecast_told told, void *context);

/* The starts of those that still wait, without placing them: in the scheduler's order, each when as many CPUs are free in all as it asks for, and none before the one ahead of it.
 * For a queue of which the rest would take too long; without nodes, and told as `rough`. What the gate holds is left out. Nothing can be run afterwards. */
void forecast_rest(struct forecast *f, forecast_told told, void *context);

struct whatif {
	int64_t start;	 /* TIME_NEVER: none was foreseen */
	bool guaranteed; /* its deadline would be */
	bool open;	 /* it would start later than could be foreseen; else, without a start, it can't be placed */
};

/* When does a job that was submitted to the copy start? `nodes` gets a node for each fragment when there is a start. */
void forecast_whatif(struct forecast *f, uint32_t job, size_t cycles, struct whatif *ret, int32_t *nodes);

#endif
