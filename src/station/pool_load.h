/*
 * pool_load.h - what this station can do for tasks: its speed, how idle it was in the last minute, memory. With a control group, of that group: its quota is the whole machine then.
 */
#ifndef STATION_POOL_LOAD_H
#define STATION_POOL_LOAD_H

#include "base/err.h"
#include "station/peer.h"

struct pool_load;

/* `cgroup`: a directory of a control group whose processors are all that this station has; NULL: the machine. `speed` <= 0: measured, which takes some 20 ms; 1: a processor that does a thousand million operations a second. */
struct pool_load *pool_load_create(const char *cgroup, double speed, int cpus);
void pool_load_free(struct pool_load *l);
/* Looks; to be called about once a second. `ours_ms`: processor time that tasks of the pool have had so far. */
void pool_load_look(struct pool_load *l, int64_t now_ms, int64_t ours_ms);
/* Fills in all but seq, run, closed and what the owner's processes are (station/guard.h knows that). */
void pool_load_report(const struct pool_load *l, struct peer_report *ret);

#endif
