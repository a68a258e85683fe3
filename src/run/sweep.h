/*
 * sweep.h - what attempts left behind whose shepherds could not clean up: they were killed, or the machine went down.
 *
 * Shepherds make things for attempts in two directories beside LIVE: nodes/TAG/JOB (node files), nodes/TAG.d and tmp/TAG (temporary
 * directories). What has no live file is nobody's: LIVE/TAG is made before anything else of an attempt, and removed after everything else.
 */
#ifndef RUN_SWEEP_H
#define RUN_SWEEP_H

#include <stdbool.h>

#include "run/identity.h"

/* When a nursery starts, before its first order: what no attempt owns is removed, or moved out of the way if it is a directory. True: there
 * are some of these, and sweep_finish() is to remove them, which may take long. */
bool sweep_begin(int live, const struct identity *server);
void sweep_finish(int live, const struct identity *server);
/* Of one attempt, of which nothing runs any more. */
void sweep_attempt(int live, const char *tag, const struct identity *server);

#endif
