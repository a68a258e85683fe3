/*
 * until.h - jobs on hosts (hosts.h) that run until the test releases them, and exit with status 3.
 */
#ifndef SUPPORT_UNTIL_H
#define SUPPORT_UNTIL_H

#include "support/hosts.h"

/* Returns a script that runs until go() is called for it, on its first host. */
char *until_go(struct hosts *w, const char *tag);
void go(struct hosts *w, int i, const char *tag);

/* Starts such a job; returns once its script runs. */
void run_until_go(struct hosts *w, const char *tag, const char *hosts);

/* Waits for its end, which must be reported once and leave nothing behind. */
void ended_well(struct hosts *w, const char *tag);

/* For engine_sweep: no attempt is known. */
bool nobody_knows(void *context, const char *tag);

#endif
