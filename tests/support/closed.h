/*
 * closed.h - for a test program that leaves no descriptor open: CLOSED_TEST is its last test, and
 * closed_begin() its group's setup.
 */
#ifndef SUPPORT_CLOSED_H
#define SUPPORT_CLOSED_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Returns the number of open descriptors of this process. */
static inline int closed_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -3; /* ".", ".." and its own */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int closed_before;

static inline int closed_begin(void **state)
{
	closed_before = closed_count();
	return 0;
}

static inline void all_descriptors_are_closed(void **state)
{
	assert_int_equal(closed_count(), closed_before);
}

#define CLOSED_TEST cmocka_unit_test(all_descriptors_are_closed)

#endif
