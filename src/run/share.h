/*
 * share.h - holds a job with a share of a host's CPUs to that share, by its control group.
 *
 * The weight is the share, so the job gets at least that while others use theirs: the sum of all
 * shares is at most the number of CPUs. The quota is what the job needs: the CPU time left of its
 * estimate, divided by the time left. This equals the share as long as the job uses it; after the
 * job has waited for something else (a disk, a signal) the quota is higher, and it catches up with
 * what others leave. The shepherd measures and sets it every few seconds, so neither the server nor
 * the agent need be running.
 */
#ifndef RUN_SHARE_H
#define RUN_SHARE_H

#include <stdint.h>

#include "run/order.h"

#define SHARE_EVERY INT64_C(2000000) /* microseconds */

/* Returns the quota, in thousandths of a CPU, of a job that has used `used_ms` of CPU time in
 * `ran_ms` since its start. A job that has used up its estimate keeps its share until it is
 * ended. */
int64_t share_quota(const struct order_share *o, int64_t used_ms, int64_t ran_ms);

#endif
