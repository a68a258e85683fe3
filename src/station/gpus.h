/*
 * gpus.h - GPUs that the owner of a workstation uses: those whose devices a process has open that is not a job's or a task's. A display that runs on a GPU counts.
 */
#ifndef STATION_GPUS_H
#define STATION_GPUS_H

#include <stdint.h>

#include "run/tree.h"

#define OWNER_GPUS_MOST 64

/* A bit for each GPU, in the order of facts.c: /dev/nvidia0 and so on, then amdgpu's /dev/dri/renderD128 and so on. `ours`: processes of jobs. Looks at the descriptors of all processes: not to be
 * called often. */
uint64_t owner_gpus(const char *dev, const pid_list *ours);
int gpus_count(const char *dev); /* how many the machine has */

#endif
