/*
 * pbsattr_internal.h - what pbsattr.c (jobs) and pbsattr_things.c (queues, the server, nodes) share.
 */
#ifndef CMD_PBSATTR_INTERNAL_H
#define CMD_PBSATTR_INTERNAL_H

#include "cmd/pbsattr.h"

void pbsattr_add(struct pbsattrs *a, const char *name, const char *resource, enum pbsattr_kind kind, const char *fmt,
		 ...) __attribute__((format(printf, 5, 6)));

#endif
