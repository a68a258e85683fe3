/*
 * forecast.h - predicts when waiting jobs will start: runs the policy itself forward in virtual
 * time on a copy of the scheduler's state.
 *
 * The forecast assumes that every job runs for its full walltime and succeeds, that no other job
 * arrives and that no node fails. Held jobs stay held, unless the gate that holds them is run along
 * (forecast_gate). The forecast is what the scheduler would do under these assumptions. It changes
 * nothing.
 */
#ifndef SCHED_FORECAST_H
#define SCHED_FORECAST_H

#include "base/scratch.h"
#include "rules/gate.h"
#include "rules/limit.h"
#include "sched/sched.h"

/* A predicted start. `nodes` is borrowed for the call. */
struct foreseen {
	int64_t start, end;
	const int32_t *nodes; /* one node per fragment */
	uint32_t nnodes;
	uint32_t job;
	bool guaranteed;
	bool rough; /* made by forecast_rest() */
};

/* Called for every start, in time order. Returns false to stop the forecast. */
typedef bool (*forecast_told)(void *context, const struct foreseen *f);

struct forecast;

/* Copies the scheduler's state at its present instant. The copy shares nothing that changes, so
 * another thread may run it. */
struct forecast *forecast_create(const struct sched *s);
/* Does the same for a short time, with large parts in `scratch`, which must not be used
 * otherwise until the forecast is destroyed. */
struct forecast *forecast_create_in(const struct sched *s, struct scratch *scratch);
void forecast_destroy(struct forecast *f);
/* Return the copies themselves, for changes before the forecast is run. */
struct sched *forecast_sched(struct forecast *f);
struct cluster *forecast_cluster(struct forecast *f);
struct plan *forecast_plan(struct forecast *f);
const struct job *forecast_job(const struct forecast *f, uint32_t job);
/* see sched_pace(); default: the scheduler's own pace */
void forecast_pace(struct forecast *f, uint64_t work);
/* Runs the gate that keeps held jobs from the scheduler along with the copy. Returns a clone of
 * `g`, owned by the forecast. Must be called before the forecast is run. */
struct gate *forecast_gate(struct forecast *f, const struct gate *g);
/* Submits a job in STATE_NEW, filled in, to the copy now; `held` if something keeps it from the
 * scheduler. */
void forecast_submit(struct forecast *f, uint32_t job, int64_t now, bool held);
/* Adds `n` jobs like `job`, which is in STATE_NEW, to the copy, behind all others. If there are
 * several, they are the elements of one array with these parties, of which at most `most` run at
 * once (0: any number). Returns the first one's number; the others follow it. */
uint32_t forecast_copies(struct forecast *f, uint32_t job, uint32_t n, const struct limit_party *party, int64_t most);
/* Replaces the reservations in the copy, and the keys of jobs 0 .. nkeys - 1. Must be called
 * before the forecast is run. */
void forecast_fences(struct forecast *f, const struct node_fence *fences, size_t n, const uint32_t *keys, size_t nkeys);
/* Changes a waiting job's rank in the copy's queue. Must be called before the forecast is run. */
void forecast_rank(struct forecast *f, uint32_t job, double rank);
/* Runs until every waiting job has started, `told` returns false, or `cycles` cycles have
 * passed; another call continues. Returns true if nothing is left to run. */
bool forecast_run(struct forecast *f, size_t cycles, forecast_told told, void *context);

/* Estimates the starts of jobs that still wait, without placing them: in the scheduler's order,
 * each when enough CPUs are free in total, and none before the job ahead of it. Used for the
 * rest of a queue that would take too long to run. Starts are reported as `rough`, without
 * nodes. Jobs that the gate holds are left out. The forecast cannot be run afterwards. */
void forecast_rest(struct forecast *f, forecast_told told, void *context);

struct whatif {
	int64_t start;	 /* TIME_NEVER: no start was predicted */
	int64_t last;	 /* start of the last element of an array; TIME_NEVER: not predicted */
	bool guaranteed; /* the job's deadline would be guaranteed */
	/* the start is beyond what could be predicted; if false and there is no start, the job
	 * cannot be placed */
	bool open;
};

/* Predicts the start of a job that was submitted to the copy; if forecast_copies() added it, of all
 * that were added. `nodes` receives a node per fragment if there is a start. Another call
 * continues. */
void forecast_whatif(struct forecast *f, uint32_t job, size_t cycles, struct whatif *ret, int32_t *nodes);

#endif
