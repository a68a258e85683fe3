/*
 * tar.h - whether a tar file that somebody sends may be unpacked: nothing in it leads out of the directory, is a device, or is larger than it may be.
 *
 * It is read, not unpacked. ustar, pax and GNU's long names are known, plain or compressed by gzip; what is not known is refused, so that what unpacks it later has
 * nothing to interpret in another way. That is also why it is no work for libarchive, which reads a dozen formats and passes over what is broken.
 */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tar_limits {
	int64_t bytes; /* unpacked, in all */
	int64_t members;
};

struct tar_facts {
	bool gzip;
	int64_t bytes, members;
};

/* -EINVAL: it is no tar file, or a broken one; -EPERM: a member that may not be there, which is named; -E2BIG: past the limits. Takes time by what it
 * unpacks to: not for a loop. */
int tar_check(const void *data, size_t n, const struct tar_limits *limits, struct tar_facts *ret, struct err *err);
/* Whether a path stays below where it begins: relative, without "..", without control characters. */
bool tar_path_stays(const char *path);

#endif
