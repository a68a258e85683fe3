/*
 * api_fairshare.c - usage of users and accounts compared with their shares.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "rules/fairshare.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/clock.h"
#include "server/book/sharing.h"
#include "server/server.h"
#include "server/site/who.h"

#define HAS(member) MEMBER(struct share_row, member)
#define REAL(member) MEMBER_AS(FORM_REAL, struct share_row, member)

static const struct schema share = {FIELDS(
	{"level", .is = REQUIRED | IS_TEXT, .words = "account|group|user",
	 MEMBER_AS(FORM_CHOICE, struct share_row, level)},
	{"name", .is = REQUIRED | IS_TEXT, "of an account \"\": jobs that name none", HAS(name)},
	{"depth", .is = REQUIRED | IS_INT, "in the tree, from 0; what is below a line follows it", HAS(depth)},
	{"target", .is = REQUIRED | IS_REAL, "percent of what it and its siblings use", REAL(target)},
	{"own", .is = REQUIRED | IS_BOOL, "the target was set; false: it is a part of what the other targets leave",
	 HAS(own)},
	{"used", .is = REQUIRED | IS_REAL, "percent of what it and its siblings have used", REAL(used)},
	{"cpu_hours", .is = REQUIRED | IS_REAL, "that it has used, which count less the older they are",
	 REAL(cpu_hours)},
	{"standing", .is = REQUIRED | IS_REAL,
	 "of a user: percent of those with use who come behind it; it is a factor of priorities", REAL(standing)})};

/* An answer in progress. */
struct subject {
	const struct server *s;
	int64_t now;
	struct fairshare_settings settings;
	bool complete;
	const char *only; /* the only user listed; NULL: all */
	struct json *j;
};

static void share_write(void *context, const struct share_row *r)
{
	const struct subject *x = context;

	if (!x->only || r->level != SHARE_USER || strcmp(r->name, x->only) == 0)
		schema_show(&share, NULL, r, NULL, x->j);
}

static void shares_inside(const struct subject *x, struct json *j)
{
	struct subject listing = *x;

	listing.j = j;
	shares_list(sharing_shares(x->s), share_write, &listing);
}

const struct schema fairshare_answer = {
	FIELDS({"now", .is = REQUIRED | IS_INSTANT, MEMBER(struct subject, now)},
	       {"window", .is = REQUIRED | IS_INT, "days", MEMBER(struct subject, settings.window)},
	       {"depth", .is = REQUIRED | IS_INT, "windows", MEMBER(struct subject, settings.depth)},
	       {"decay", .is = REQUIRED | IS_INT, "percent", MEMBER(struct subject, settings.decay)},
	       {"complete", .is = REQUIRED | IS_BOOL, "false: the ledger is still being read",
		MEMBER(struct subject, complete)},
	       {"shares", .is = REQUIRED | IS_LIST,
		"who has used something or has a target on the first level of the tree, in the order of precedence",
		.of = &share, .item = IS_OBJECT, .inside = shares_inside})};

void api_fairshare(struct server *s, const struct call *c)
{
	struct subject x = {.s = s, .now = s->clock->now, .only = may_see_all(s, c->w) ? NULL : c->w->user};

	fairshare_settings_of(&x.settings, s->attrs);
	sharing_rank(s);
	x.complete = sharing_complete(s);
	api_show(s, c->r, &fairshare_answer, &x);
}
