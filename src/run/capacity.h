/*
 * capacity.h - how much memory, disk, swap and GPUs this machine has for jobs, and how fast it is.
 */
#ifndef RUN_CAPACITY_H
#define RUN_CAPACITY_H

#include <stdint.h>

#include "base/hostlist.h"

/* Returns the KiB of the directory's file system, without what is reserved for root; 0 if
 * unknown. */
int64_t capacity_disk(const char *directory);
/* Returns the KiB of memory that the control groups of this process allow: the smallest limit from
 * its group up to the root; -1 if there is none. `groups`: a file such as /proc/self/cgroup;
 * `root`: where the hierarchies are mounted. */
int64_t capacity_limit(const char *groups, const char *root);
/* Returns the KiB of all active swap areas; 0 if there are none or the size is not known. */
int64_t capacity_swap(void);
/* Returns how many operations a second this machine does: a loop of `steps` dependent operations,
 * the best of `rounds` runs, because other programs may be running. */
double capacity_speed(int rounds, int steps);

/* Adds the model of each GPU of this machine, NVIDIA's first, then AMD's; the position in the list
 * is the GPU's number. For tests, SHUNT_FAKE_GPUS=N in the environment reports N GPUs, and
 * SHUNT_GPU_ROOT names a directory whose dev, proc and sys are read instead of the machine's. */
void capacity_gpus(name_list *ret);

#endif
