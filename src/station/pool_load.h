/*
 * pool_load.h - measures what this station can do for tasks: its speed, its idle share of the last
 * minute, and its memory. With a control group, the group and its quota stand for the machine.
 */
#ifndef STATION_POOL_LOAD_H
#define STATION_POOL_LOAD_H

#include "base/err.h"
#include "station/peer.h"

struct pool_load;

/* `cgroup`: directory of the control group whose processors are all that this station has; NULL:
 * the whole machine. `speed` <= 0: measure it, which takes about 20 ms; 1.0 is a processor that
 * does 10^9 operations per second. */
struct pool_load *pool_load_create(const char *cgroup, double speed, int cpus);
void pool_load_free(struct pool_load *l);
/* Samples the load; call it about once a second. `ours_ms`: processor time of the pool's tasks
 * so far. */
void pool_load_look(struct pool_load *l, int64_t now_ms, int64_t ours_ms);
/* Fills in everything but seq, run, closed and the counts of the owner's processes (pool_guard.c
 * has those). */
void pool_load_report(const struct pool_load *l, struct peer_report *ret);

#endif
