/*
 * stations.h - a network of workstations in virtual time: parallel jobs that are graphs of tasks, beside what the owners run themselves. The model is that of the two-level
 * scheduler's source; docs/simulator.md states what the source leaves open.
 */
#ifndef SIM_STATIONS_H
#define SIM_STATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "station/place.h"

enum { STATIONS = 20, GRAPH_TASKS = 20 };

enum station_class { CLASS_INTERACTIVE, CLASS_BATCH, CLASS_PARALLEL, CLASSES };

/* Who is served on a station. */
enum discipline {
	DISCIPLINE_SHARED,  /* everybody alike: the processor is shared */
	DISCIPLINE_QUANTUM, /* the owner's interactive, then the owner's batch, then ours; who came first keeps the processor to the end of its quantum */
	DISCIPLINE_AT_ONCE, /* the same, without waiting: how a kernel serves an idle class */
};

struct stations_case {
	enum place_policy policy;
	enum discipline discipline;
	double load;	       /* work that arrives, as a share of all stations */
	double share[CLASSES]; /* of that, by class; they add up to 1 */
	bool alone;	       /* without the parallel jobs: what the owners run is the same */
	double quantum;	       /* units of time */
	double interval;       /* between reports of loads */
	uint64_t seed;
	int64_t jobs; /* parallel jobs that are measured, after a tenth as many at the beginning; as long as they take all else is */
};

struct stations_result {
	double response[CLASSES]; /* mean; 0: none ended */
	int64_t ended[CLASSES];
	double reports; /* per station and unit of time */
	int64_t moves;	/* tasks that went on elsewhere */
};

/* The same arrivals and demands for the same seed, loads and shares, whatever the policy. */
struct stations_result stations_run(const struct stations_case *c);

#endif
