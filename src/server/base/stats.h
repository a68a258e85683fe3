/* stats.h - the server's counters since its start, for the metrics. */
#ifndef SERVER_STATS_H
#define SERVER_STATS_H

#include <stdint.h>

#include "server/base/turn.h"

struct stats {
	uint64_t turns, commits, submitted, started, finished, failed_commits, hosts_lost, long_turns;
	/* starts that had been forecast; those that came later than forecast */
	uint64_t foreseen, foreseen_late;
	double foreseen_error; /* sum of the absolute errors, seconds */
	uint64_t first_started, failed, start_failures;
	int64_t waited;	   /* total seconds jobs waited until their first start */
	int64_t cycles_us; /* total time of all cycles */
	int64_t commit_us, cycle_us, max_cycle_us;
	int64_t turn_max_us, turn_cpu_max_us; /* maxima since the metrics were last read */
	int64_t turn_parts_us[TURN_PARTS];    /* parts of the longest turn */
	int64_t committed;		      /* instant of the last commit; 0: none yet */
	int64_t began;
};

#endif
