/*
 * glance.c - see glance.h.
 */
#include "run/glance.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"

static const struct field rows[] = {
	{"tag", .in = ALWAYS, .most = 200, MEMBER(struct order_glance, tag)},
	{"user", .in = ALWAYS, MEMBER(struct order_glance, user)},
	{"uid", .in = ALWAYS, .most = UINT32_MAX - 1, MEMBER(struct order_glance, uid)},
	{"gid", .in = ALWAYS, .most = UINT32_MAX - 1, MEMBER(struct order_glance, gid)},
	{"lease", MEMBER(struct order_glance, lease)},
	{"grace", MEMBER(struct order_glance, grace)},
	{"by_name", MEMBER(struct order_glance, by_name)},
	{"look_up", MEMBER(struct order_glance, look_up)},
	{0},
};

int order_glance(const char *text, size_t n, struct arena *a, struct order_glance *ret)
{
	bool good = record_glance(rows, text, n, ret, a) && *ret->tag && *ret->tag != '.' && !strchr(ret->tag, '/') &&
		    *ret->user;

	return good ? 0 : -EINVAL;
}
