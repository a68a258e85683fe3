/*
 * stations.h - a network of workstations in virtual time: parallel jobs that are graphs of tasks,
 * next to the owners' own work. The model is that of the two-level scheduler's source;
 * docs/simulator.md states what the source leaves open.
 */
#ifndef SIM_STATIONS_H
#define SIM_STATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "station/place.h"

enum { STATIONS = 20, GRAPH_TASKS = 20 };

enum station_class { CLASS_INTERACTIVE, CLASS_BATCH, CLASS_PARALLEL, CLASSES };

/* How a station serves its work. */
enum discipline {
	DISCIPLINE_SHARED, /* everything shares the processor equally */
	/* owner's interactive work first, then the owner's batch, then ours; a running task
	 * keeps the processor to the end of its quantum */
	DISCIPLINE_QUANTUM,
	/* the same order with immediate preemption, as a kernel serves an idle class */
	DISCIPLINE_AT_ONCE,
};

struct stations_case {
	struct place_rule rule;
	enum discipline discipline;
	double load;	       /* arriving work as a share of all stations */
	double share[CLASSES]; /* shares of that by class; they add up to 1 */
	bool alone;	       /* without the parallel jobs; the owners' work is the same */
	double quantum;	       /* units of time */
	double interval;       /* between load reports, units of time */
	uint64_t seed;
	/* parallel jobs measured, after a warm-up of a tenth as many; everything else is
	 * measured meanwhile */
	int64_t jobs;
};

struct stations_result {
	double response[CLASSES]; /* mean; 0: none ended */
	int64_t ended[CLASSES];
	double reports; /* per station and unit of time */
	int64_t moves;	/* tasks that continued on another station */
};

/* Runs one case. Arrivals and demands depend only on seed, loads and shares, not on the policy. */
struct stations_result stations_run(const struct stations_case *c);

#endif
