/*
 * same_sim.h - the simulator's side of test_same.c: the server and the simulator each have a struct
 * simulated.
 */
#ifndef PROPERTY_SAME_SIM_H
#define PROPERTY_SAME_SIM_H

#include "core/cluster.h"
#include "rules/queue.h"

/* What became of a job. */
struct same_job {
	int64_t start; /* -1: it never ran */
	bool refused;
	bool guaranteed, broken; /* its deadline was, and it was missed though nobody had the power to do that */
};

/* Simulates a workload file, in which jobs that use up their walltimes take up to `overrun`
 * seconds to end, and leaves what became of its n jobs in `ret`. */
int same_simulate(const char *path, const char *policy, const char *machine, const struct ruleset *site,
		  const struct settings *settings, int64_t overrun, struct same_job *ret, int64_t n, struct err *err);
/* How long the end of such a job takes. */
int64_t same_overrun(int64_t id, int64_t most);

#endif
