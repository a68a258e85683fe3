/*
 * api_fairshare.c - who has used how much of its share.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "rules/fairshare.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/api/schemas.h"
#include "server/base/clock.h"
#include "server/book/sharing.h"
#include "server/server.h"
#include "server/site/who.h"

static const struct field share_fields[] = {
	{"level", .is = REQUIRED | IS_TEXT, .words = "account|group|user"},
	{"name", .is = REQUIRED | IS_TEXT, "of an account \"\": jobs that name none"},
	{"depth", .is = REQUIRED | IS_INT, "in the tree, from 0; what is below a line follows it"},
	{"target", .is = REQUIRED | IS_REAL, "percent of what it and its siblings use"},
	{"own", .is = REQUIRED | IS_BOOL, "the target was set; false: it is a part of what the other targets leave"},
	{"used", .is = REQUIRED | IS_REAL, "percent of what it and its siblings have used"},
	{"cpu_hours", .is = REQUIRED | IS_REAL, "that it has used, which count less the older they are"},
	{"standing", .is = REQUIRED | IS_REAL,
	 "of a user: percent of those with use who come behind it; it is a factor of priorities"},
	{0},
};
static const struct schema share = {.fields = share_fields};
static const struct field fairshare_fields[] = {
	{"now", .is = REQUIRED | IS_INSTANT},
	{"window", .is = REQUIRED | IS_INT, "days"},
	{"depth", .is = REQUIRED | IS_INT, "windows"},
	{"decay", .is = REQUIRED | IS_INT, "percent"},
	{"complete", .is = REQUIRED | IS_BOOL, "false: the ledger is still being read"},
	{"shares", .is = REQUIRED | IS_LIST,
	 "who has used something or has a target on the first level of the tree, first those who come first",
	 .of = &share, .item = IS_OBJECT},
	{0},
};
const struct schema fairshare_answer = {.fields = fairshare_fields};

struct listing {
	struct json j;
	const char *only; /* of users this one; NULL: all */
};

static void share_write(void *context, const struct share_row *r)
{
	static const char *const level[] = {
		[SHARE_ACCOUNT] = "account", [SHARE_GROUP] = "group", [SHARE_USER] = "user"};
	struct listing *l = context;

	if (l->only && r->level == SHARE_USER && strcmp(r->name, l->only) != 0)
		return;
	json_open_object(&l->j, NULL);
	json_text(&l->j, "level", level[r->level]);
	json_text(&l->j, "name", r->name);
	json_int(&l->j, "depth", r->depth);
	json_double(&l->j, "target", r->target);
	json_bool(&l->j, "own", r->own);
	json_double(&l->j, "used", r->used);
	json_double(&l->j, "cpu_hours", r->cpu_hours);
	json_double(&l->j, "standing", r->standing);
	json_close_object(&l->j);
}

void api_fairshare(struct server *s, const struct call *c)
{
	struct listing l = {.only = may_see_all(s, c->w) ? NULL : c->w->user};
	struct fairshare_settings f;
	struct strbuf out = {0};

	fairshare_settings_of(&f, s->attrs);
	sharing_rank(s);
	json_init(&l.j, &out, false);
	json_open_object(&l.j, NULL);
	json_int(&l.j, "now", s->clock->now);
	json_int(&l.j, "window", f.window);
	json_int(&l.j, "depth", f.depth);
	json_int(&l.j, "decay", f.decay);
	json_bool(&l.j, "complete", sharing_complete(s));
	json_open_array(&l.j, "shares");
	shares_list(sharing_shares(s), share_write, &l);
	json_close_array(&l.j);
	json_close_object(&l.j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}
