/*
 * simulate_history.h - the jobs of a server's history as a workload, and its nodes as the machine.
 */
#ifndef CMD_SIMULATE_HISTORY_H
#define CMD_SIMULATE_HISTORY_H

#include "cmd/lib/command.h"
#include "rules/queue.h"
#include "sim/workload.h"

/* Jobs that ended since an instant, as far as the user may see them; `limit` 0: all. What can't be
 * replayed is left out and noted. Its machine is the server's nodes. `terms`: jobs have the queue,
 * account and group that they had. `flat`: jobs are numbers of processors, since the machine they
 * go to has no nodes. EXIT_OK, or the code after the sentence was printed. */
int simulate_history(const struct command *c, int64_t since, int64_t limit, bool flat, bool terms,
		     struct workload **ret);
/* Accounts and queues that are gone by now mean nothing to the simulator: jobs lose them. */
void workload_fit(struct workload *w, const struct ruleset *site);

#endif
