/*
 * capacity.h - how much memory, disk, swap and GPUs this machine has for jobs, and how fast it is.
 */
#ifndef RUN_CAPACITY_H
#define RUN_CAPACITY_H

#include <stdint.h>

#include "base/hostlist.h"

/* KiB of the file system that a directory is on, without what is kept for root; 0: it can't be read. */
int64_t capacity_disk(const char *directory);
/* KiB of memory that the control groups of this process allow it, the least on the way up; -1: any. `groups`: a file such as /proc/self/cgroup; `root`: where they are mounted. */
int64_t capacity_limit(const char *groups, const char *root);
/* KiB of all swap areas that are in use; 0: none, or not known. */
int64_t capacity_swap(void);
/* Operations a second of a small fixed loop of so many steps, each of which needs the one before; the best of some rounds, since others run here, too. */
double capacity_speed(int rounds, int steps);

/* Adds the model of each GPU of this machine, NVIDIA's and then AMD's: a GPU's number is its place in
 * the list. In the environment, SHUNT_FAKE_GPUS=N makes it N of them, and SHUNT_GPU_ROOT is a directory
 * whose dev, proc and sys are looked at instead of the machine's. */
void capacity_gpus(name_list *ret);

#endif
