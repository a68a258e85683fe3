/*
 * small.h - a small site in which everything occurs: objects of every kind, jobs that run, have
 * ended, and wait for a reason each. The clock stands still between the steps.
 */
#ifndef GOLDEN_SMALL_H
#define GOLDEN_SMALL_H

#include "support/site.h"

#define SMALL_JOBS 13
#define SMALL_DAEMON 1 /* users of most jobs, and of every fourth one */
#define SMALL_BIN 2

/* Opens the site and submits its jobs; skips the test for users other than root, whose group was
 * recorded. */
void small_open(void **state);
/* Lets the jobs start; one ends, one is killed for its memory, one is suspended; then an array, job
 * 14, comes and ends. */
void small_live(struct site *site);
/* Lets time pass, and the server notice it. */
void small_pass(struct site *site, int64_t seconds);

#endif
