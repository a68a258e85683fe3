/*
 * tar.h - checks that a tar file from a client is safe to unpack: no member leads out of the
 * directory, is a device, or exceeds the limits.
 *
 * The file is read, not unpacked. ustar, pax and GNU long names are known, plain or gzipped;
 * everything unknown is refused, so that the program that unpacks it later has nothing to interpret
 * differently. This is why it does not use libarchive, which reads a dozen formats and skips broken
 * parts.
 */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tar_limits {
	int64_t bytes; /* total unpacked size */
	int64_t members;
};

struct tar_facts {
	bool gzip;
	int64_t bytes, members;
};

/* Checks a file. -EINVAL: not a tar file, or a broken one; -EPERM: a forbidden member, which is
 * named; -E2BIG: over the limits. Takes time proportional to the unpacked size, so do not call
 * it in an event loop. */
int tar_check(const void *data, size_t n, const struct tar_limits *limits, struct tar_facts *ret, struct err *err);
/* Returns true if a path stays below its start: relative, without "..", without control
 * characters. */
bool tar_path_stays(const char *path);

#endif
