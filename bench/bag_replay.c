/*
 * bag_replay.c - repeats in the simulator a bag that ran live (bench/bag_live).
 *
 * usage: bench_bag_replay TRACE PROCESSORS INSTANT TASKS SECONDS REQUESTS CPUS TIME HEURISTIC;
 * prints the seconds from the bag's submission to its end
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/bagsim.h"
#include "sim/workload.h"

int main(int argc, char **argv)
{
	struct bag_case c = {.seed = 1};
	struct workload *w;
	struct err err;

	if (argc != 10) {
		fprintf(stderr,
			"usage: bench_bag_replay TRACE PROCESSORS INSTANT TASKS SECONDS REQUESTS CPUS TIME HEURISTIC\n");
		return 2;
	}
	c.type = (struct bag_type){.tasks = atoll(argv[4]), .mean = atoll(argv[5]), .spread = 1};
	c.limits = (struct adapter_limits){.requests = atoi(argv[6]), .procs = atoll(argv[7]), .time = atoll(argv[8])};
	if (adapter_find(argv[9], &c.heuristic, &err) < 0 || workload_read(argv[1], RULES_SC15, 0, &w, &err) < 0) {
		fprintf(stderr, "bench_bag_replay: %s\n", err.text);
		return 1;
	}
	struct bagsim *b = bagsim_create(w, atoll(argv[2]));
	bagsim_advance(b, atoll(argv[3]));
	printf("%" PRId64 "\n", bagsim_bag(b, &c, 0).seconds);
	bagsim_destroy(b);
	workload_destroy(w);
	return 0;
}
