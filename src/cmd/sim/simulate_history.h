/*
 * simulate_history.h - makes a workload of the jobs of a server's history, with its nodes as the
 * machine.
 */
#ifndef CMD_SIMULATE_HISTORY_H
#define CMD_SIMULATE_HISTORY_H

#include "cmd/lib/command.h"
#include "rules/queue.h"
#include "sim/workload.h"

/* Loads the jobs that ended since `since` and that the user may see, at most `limit`; 0: all. Jobs
 * that cannot be replayed are left out and noted. `terms`: jobs keep their queue, account and
 * group. `flat`: jobs are plain numbers of processors, for a machine without nodes. Returns
 * EXIT_OK, or the exit code after printing an error. */
int simulate_history(const struct command *c, int64_t since, int64_t limit, bool flat, bool terms,
		     struct workload **ret);
/* Removes accounts and queues that no longer exist from the jobs: the simulator does not know
 * them. */
void workload_fit(struct workload *w, const struct ruleset *site);

#endif
