/*
 * forecast.h - when waiting jobs will start: the policy itself, run forward in virtual time on a copy of everything it knows.
 *
 * Every job that runs or starts is taken to last as long as it may, nobody else comes, no node fails, and what is held stays
 * held. So the forecast is what the scheduler would do; it is wrong only where those are. It changes nothing.
 */
#ifndef SCHED_FORECAST_H
#define SCHED_FORECAST_H

#include "sched/sched.h"

/* A start to come; nodes are borrowed for the call. */
struct foreseen {
	int64_t start, end;
	const int32_t *nodes; /* one for each fragment */
	uint32_t nnodes;
	uint32_t job;
	bool guaranteed;
};

/* Told of every start, in the order of time. False: that was enough. */
typedef bool (*forecast_told)(void *context, const struct foreseen *f);

struct forecast;

/* A copy of the scheduler's world, at its instant. It shares nothing that changes with it: another thread may run it. */
struct forecast *forecast_create(const struct sched *s);
void forecast_destroy(struct forecast *f);
/* A job in STATE_NEW, filled in, is submitted to the copy now. */
void forecast_submit(struct forecast *f, uint32_t job, int64_t now);
/* Runs until every waiting job has started, `told` has had enough, or after `cycles` cycles; then it may be run on. Whether nothing is
 * left to run. */
bool forecast_run(struct forecast *f, size_t cycles, forecast_told told, void *context);

struct whatif {
	int64_t start;	 /* TIME_NEVER: none was foreseen */
	bool guaranteed; /* its deadline would be */
	bool open;	 /* it would start later than could be foreseen; else, without a start, it can't be placed */
};

/* What if a job (STATE_NEW, filled in) were submitted now? `nodes` gets a node for each fragment when there is a start. */
void forecast_whatif(const struct sched *s, uint32_t job, int64_t now, size_t cycles, struct whatif *ret,
		     int32_t *nodes);

#endif
