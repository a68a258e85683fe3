/*
 * glance.h - the few members of an order that the nursery needs, read without parsing the rest. The
 * shepherd parses the whole order and refuses it if it says otherwise.
 */
#ifndef RUN_GLANCE_H
#define RUN_GLANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"

struct order_glance {
	const char *tag, *user; /* in the arena */
	uid_t uid;
	gid_t gid;
	int64_t lease, grace;  /* seconds */
	bool by_name, look_up; /* struct order_foreign */
};

/* Returns -EINVAL if a member is missing, or is written in an unusual way, or the text is not
 * JSON: then order_read() has the answer. */
int order_glance(const char *text, size_t n, struct arena *a, struct order_glance *ret);

#endif
