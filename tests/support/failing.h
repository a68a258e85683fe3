/*
 * failing.h - system calls that fail on order, and a record of those that were made.
 *
 * The program is linked with -Wl,--wrap for each call (tests/meson.build). A test calls
 * its function with the first call failing, then with the second, until none is left to fail.
 */
#ifndef SUPPORT_FAILING_H
#define SUPPORT_FAILING_H

#include <stdbool.h>

/* Begins to count: call `at` (from 1) fails with that error, or writes half of its bytes if
 * `halved`. 0: none fails. */
void failing_begin(int at, int error, bool halved);
/* Stops counting. Returns the name of the call that failed; NULL: there were fewer. */
const char *failing_end(void);
const char *failing_calls(void); /* names of the calls since failing_begin(), each with a space */

#endif
