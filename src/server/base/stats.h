/*
 * stats.h - what the server counts of itself since its start, for the metrics.
 */
#ifndef SERVER_STATS_H
#define SERVER_STATS_H

#include <stdint.h>

#include "server/base/turn.h"

struct stats {
	uint64_t turns, commits, submitted, started, finished, failed_commits, hosts_lost, long_turns;
	uint64_t foreseen, foreseen_late; /* starts that had been foreseen; those that came later */
	double foreseen_error;		  /* seconds, in all */
	uint64_t first_started, failed, start_failures;
	int64_t waited;	   /* seconds that jobs had waited when they started first, in all */
	int64_t cycles_us; /* of all cycles */
	int64_t commit_us, cycle_us, max_cycle_us;
	int64_t turn_max_us, turn_cpu_max_us; /* since the metrics were read last */
	int64_t turn_parts_us[TURN_PARTS];    /* of that turn */
	int64_t committed;		      /* instant of the last commit; 0: none yet */
	int64_t began;
};

#endif
