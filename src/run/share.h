/*
 * share.h - a job that has a share of a host's CPUs is held to it by its control group.
 *
 * Its weight is its share, so that it has at least that while others want theirs, too: all shares together are no more than the CPUs. Its quota is what it needs: the CPU time that is
 * left of its estimate, by the time that is left. That is its share as long as it uses it; after it has waited for something else (a disk, a signal) it is more, and it catches up with what
 * the others leave. The shepherd measures and sets it anew every few seconds, so neither the server nor the agent has to be there.
 */
#ifndef RUN_SHARE_H
#define RUN_SHARE_H

#include <stdint.h>

#include "run/order.h"

#define SHARE_EVERY INT64_C(2000000) /* microseconds */

/* The quota, in thousandths of a CPU, of a job that has used so much CPU time since it started so long ago. One that has used up its estimate keeps its share until it is ended. */
int64_t share_quota(const struct order_share *o, int64_t used_ms, int64_t ran_ms);

#endif
