/*
 * census.h - counts the owner's processes that want processors: interactive ones and batch work.
 *
 * A process is interactive if it has a terminal or belongs to a login session with a display. Batch
 * processes are those made nice, and those that users run without either. Root's services are
 * neither.
 */
#ifndef STATION_CENSUS_H
#define STATION_CENSUS_H

#include "run/tree.h"

/* Counts the owner's processes that are running or runnable now, except those in `ours`
 * (sorted). */
void census_take(const pid_list *ours, int *ret_interactive, int *ret_batch);
void census_sort(pid_list *list);

#endif
