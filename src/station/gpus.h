/*
 * gpus.h - finds the GPUs that the owner of a workstation uses: those whose device is held open by
 * a process that does not belong to a job or task. A display that runs on a GPU counts.
 */
#ifndef STATION_GPUS_H
#define STATION_GPUS_H

#include <stdint.h>

#include "run/tree.h"

#define OWNER_GPUS_MOST 64

/* Returns one bit for each GPU in use, in the order of facts.c: /dev/nvidia0 and so on, then
 * amdgpu's /dev/dri/renderD128 and so on. `ours` are the processes of jobs. Scans the
 * descriptors of all processes: expensive, do not call it often. */
uint64_t owner_gpus(const char *dev, const pid_list *ours);
int gpus_count(const char *dev); /* number of GPUs in the machine */

#endif
