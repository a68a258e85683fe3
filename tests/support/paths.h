/*
 * paths.h - where tests find files: in the repository (SHUNT_ROOT "/..."), or in the folder of traces and reference
 * schedules, which is $SHUNT_SHARED, else beside the repository, and may be absent.
 */
#ifndef TESTS_PATHS_H
#define TESTS_PATHS_H

#include <stdio.h>
#include <stdlib.h>

/* buf = the path of a file in the shared folder. Returns buf. */
static inline char *shared_path(char *buf, size_t size, const char *name)
{
	const char *folder = getenv("SHUNT_SHARED");

	snprintf(buf, size, "%s/%s", folder ? folder : SHUNT_ROOT "/../shared", name);
	return buf;
}

#endif
