/*
 * paths.h - where tests find files: in the repository (SHUNT_ROOT "/..."), or in the folder of
 * traces and reference schedules: $SHUNT_SHARED, otherwise `shared` next to the repository. That
 * folder may be absent.
 */
#ifndef TESTS_PATHS_H
#define TESTS_PATHS_H

#include <stdio.h>
#include <stdlib.h>

/* Writes the path of a file in the shared folder to buf. Returns buf. */
static inline char *shared_path(char *buf, size_t size, const char *name)
{
	const char *folder = getenv("SHUNT_SHARED");

	snprintf(buf, size, "%s/%s", folder ? folder : SHUNT_ROOT "/../shared", name);
	return buf;
}

#endif
