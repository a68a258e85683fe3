/*
 * sweep.h - removes what attempts left behind when their shepherds could not clean up: they were
 * killed, or the machine crashed.
 *
 * Shepherds make things for attempts in two directories next to LIVE: nodes/TAG/JOB (node files;
 * nodes/xORIGIN.ATTEMPT/JOB where jobs share a directory), nodes/TAG.d and tmp/TAG (temporary
 * directories). Whatever has no live file is unused: LIVE/TAG is
 * the first thing made for an attempt and the last one removed.
 */
#ifndef RUN_SWEEP_H
#define RUN_SWEEP_H

#include <stdbool.h>

#include "run/identity.h"

/* Called when a nursery starts, before its first order: removes what no attempt owns, but only
 * moves directories aside. Returns true if there are any: then call sweep_finish() to remove them,
 * which may take long. */
bool sweep_begin(int live, const struct identity *server);
void sweep_finish(int live, const struct identity *server);
/* Removes what one attempt left behind, after its last process has ended. */
void sweep_attempt(int live, const char *tag, const struct identity *server);

#endif
