/*
 * census.h - whose processes want this machine's processors: the owner's interactive ones, and the owner's batch work.
 *
 * Interactive is what has a terminal or belongs to a login session with a display; batch is what was made nice, and what users run without either. Services of root are neither.
 */
#ifndef STATION_CENSUS_H
#define STATION_CENSUS_H

#include "run/tree.h"

/* Those that run or are ready now, without `ours`, which is sorted. */
void census_take(const pid_list *ours, int *ret_interactive, int *ret_batch);
void census_sort(pid_list *list);

#endif
