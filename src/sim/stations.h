/*
 * stations.h - a network of workstations in virtual time: parallel jobs that are graphs of tasks,
 * next to the owners' own work. The model is that of the two-level scheduler's source;
 * docs/simulator.md states what the source leaves open. The stations are the source's, or work as
 * the pool's daemon makes them: tasks wait there in a queue, run to their end, and are not moved.
 */
#ifndef SIM_STATIONS_H
#define SIM_STATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "station/place.h"

enum { STATIONS = 20, GRAPH_TASKS = 20, BENCH_STATIONS = 12, BENCH_USERS = 3, BENCH_TASKS = 16 };

enum station_class { CLASS_INTERACTIVE, CLASS_BATCH, CLASS_PARALLEL, CLASSES };

/* How a station serves its work. */
enum discipline {
	DISCIPLINE_SHARED, /* everything shares the processor equally */
	/* owner's interactive work first, then the owner's batch, then ours; a running task
	 * keeps the processor to the end of its quantum */
	DISCIPLINE_QUANTUM,
	/* a station of a pool: one task of ours at a time, to its end, and the owner's work before
	 * it, at once, as a kernel serves an idle class */
	DISCIPLINE_POOL,
	/* a station of a pool without an owner (--owner none): one task of ours at a time, which
	 * shares the processor with all other work */
	DISCIPLINE_POOL_SHARED,
};

/* What bench/pool measures: three users at stations of different speeds, each with one job after
 * another; every third station has a batch process that never ends. */
struct stations_bench {
	double unit;   /* processor time of a task of size 1, seconds */
	double start;  /* processor time that starting and ending a task takes, seconds */
	double idle;   /* processors that a station's daemon uses */
	double period; /* a station's share of its processor is a quota for this many seconds */
	double late;   /* processor time beyond its quota that a station uses until it is stopped, seconds */
	double warm;   /* seconds from the start of the daemons until the users begin */
	/* Tasks sleep instead of using a processor: stations work steadily, `start` is time, and
	 * the daemon can't tell the use of its tasks from the owner's. */
	bool asleep;
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
	/* not NULL: this pool instead of the source's stations; each user runs an equal part of
	 * `jobs`, rounded down */
	const struct stations_bench *bench;
};

struct stations_result {
	double response[CLASSES]; /* mean; 0: none ended */
	int64_t ended[CLASSES];
	double reports; /* per station and unit of time */
};

/* Draws the sizes of the tasks of a user's n-th job, n >= 0; those of the chain come first. */
void stations_bench_sizes(uint64_t seed, int user, int64_t n, double ret[BENCH_TASKS]);

/* Runs one case. Arrivals and demands depend only on seed, loads and shares, not on the policy. */
struct stations_result stations_run(const struct stations_case *c);

#endif
