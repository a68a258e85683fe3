/*
 * api_quota.c - see api_quota.h.
 */
#include "server/api/books/api_quota.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "net/http.h"
#include "server/api/books/moves.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/book/quotas.h"
#include "server/server.h"
#include "store/quota.h"

#define MONTHS .least = 197001, .most = 999912

/* ---- bodies and answers ---- */

/* A user's quota, as shown and set. */
struct user_quota {
	const char *user;
	struct quota quota;
};
#define HAS(member) MEMBER(struct user_quota, member)
/* Member of an object with the seconds of each type of job. */
#define TYPE(type) .form = FORM_I64, .at = (type) * sizeof(int64_t)

static const struct schema times = {
	.name = "QuotaTimes",
	.about = "Seconds for each type of job.",
	FIELDS({"normal", .is = REQUIRED | IS_INT, .most = DURATION_MAX, TYPE(QUOTA_NORMAL)},
	       {"priority", .is = REQUIRED | IS_INT, .most = DURATION_MAX, TYPE(QUOTA_PRIORITY)},
	       {"interactive", .is = REQUIRED | IS_INT, .most = DURATION_MAX, TYPE(QUOTA_INTERACTIVE)})};

static const struct field left_fields[] = {
	{"normal", .is = REQUIRED | IS_INT, .least = -DURATION_MAX, .most = DURATION_MAX, TYPE(QUOTA_NORMAL)},
	{"priority", .is = REQUIRED | IS_INT, .least = -DURATION_MAX, .most = DURATION_MAX, TYPE(QUOTA_PRIORITY)},
	{"interactive", .is = REQUIRED | IS_INT, .least = -DURATION_MAX, .most = DURATION_MAX, TYPE(QUOTA_INTERACTIVE)},
	{0},
};
static const struct schema left = {
	.name = "QuotaLeft",
	.about = "Seconds for each type of job; below 0 if the limit was lowered to less than was taken.",
	.fields = left_fields};

static const struct schema wanted = {
	FIELDS({"user", .is = REQUIRED | IS_TEXT, .least = 1, .most = 255, HAS(user)},
	       {"limit", .is = REQUIRED | IS_OBJECT, "a month", .of = &times,
		MEMBER_AS(FORM_RECORD, struct user_quota, quota.limit)},
	       {"end", .is = IS_INT | IS_NULL, "the last month with any, as 202704", MONTHS, HAS(quota.end)})};

struct quota_change {
	const json_t *quota;
	bool replace;
};
const struct schema quota_body = {
	.name = "QuotaChange",
	FIELDS({"quota", .is = REQUIRED | IS_LIST, .of = &wanted, .item = IS_OBJECT, .least = 1, .most = 100000,
		MEMBER(struct quota_change, quota)},
	       {"replace", .is = IS_BOOL, "the entries of users who are not in the list are removed",
		MEMBER(struct quota_change, replace)})};

static const struct schema quota_schema = {
	.name = "Quota",
	FIELDS({"user", .is = REQUIRED | IS_TEXT, HAS(user)},
	       {"limit", .is = REQUIRED | IS_OBJECT, "a month", .of = &times,
		MEMBER_AS(FORM_RECORD, struct user_quota, quota.limit)},
	       {"left", .is = REQUIRED | IS_OBJECT, "of this month", .of = &left,
		MEMBER_AS(FORM_RECORD, struct user_quota, quota.left)},
	       {"month", .is = REQUIRED | IS_INT, "this one, as 202704", HAS(quota.month)},
	       {"end", .is = REQUIRED | IS_INT | IS_NULL, "the last month with any", HAS(quota.end)})};

const struct schema quota_answer = {
	FIELDS({"counted", .is = REQUIRED | IS_BOOL,
		"whether jobs are counted: some user has quota, and they are not turned off"},
	       {"quota", .is = REQUIRED | IS_LIST, .of = &quota_schema, .item = IS_OBJECT})};

struct quota_changed {
	int64_t removed;
};
const struct schema quota_set_answer = {
	FIELDS({"removed", .is = REQUIRED | IS_INT, "entries of users who were not in the list, with `replace`",
		MEMBER(struct quota_changed, removed)})};

#define MOVE(member) MEMBER(struct move_line, member)

static const struct field move_fields[] = {
	{"seq", .is = REQUIRED | IS_INT, MOVE(move.seq)},
	{"user", .is = REQUIRED | IS_TEXT, MOVE(move.user)},
	{"time", .is = REQUIRED | IS_INSTANT, MOVE(move.time)},
	{"type", .is = REQUIRED | IS_TEXT, .words = "normal|priority|interactive", MOVE(move.type)},
	{"cause", .is = REQUIRED | IS_TEXT, .words = "month|limit|taken|altered|returned|unneeded", MOVE(move.cause)},
	{"job", .is = REQUIRED | IS_TEXT | IS_NULL, "the first of a request, where several were submitted", MOVE(job)},
	{"seconds", .is = REQUIRED | IS_INT, "what it added to what is left; less than 0: it took", MOVE(move.seconds)},
	{0},
};
static const struct schema move_schema = {.name = "QuotaMove", .fields = move_fields};

const struct schema moves_answer = {FIELDS({"month", .is = REQUIRED | IS_INT},
					   {"moves", .is = REQUIRED | IS_LIST, .of = &move_schema, .item = IS_OBJECT})};

/* ---- access ---- */

/* Returns the user whose quota was requested; NULL: refused. */
static const char *user_asked(const struct call *c)
{
	const char *user = request_query(c->r, "user");

	if (user && strcmp(user, c->w->user) != 0 && c->w->role < ROLE_OPERATOR) {
		http_error(c->r, CODE_FORBIDDEN, "You may see your own quota only; operators see everybody's.");
		return NULL;
	}
	return user ? user : c->w->user;
}

/* ---- quota ---- */

static void quota_write(struct server *s, struct json *j, const char *user)
{
	struct user_quota x = {.user = user};

	quotas_get(s, user, &x.quota);
	schema_show(&quota_schema, NULL, &x, NULL, j);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void all_write(struct server *s, struct json *j)
{
	VEC(const char *) users = {0};

	for (size_t i = 0; i < quotas_users(s); i++)
		if (quotas_user(s, i))
			vec_push(&users, quotas_user(s, i));
	if (users.n)
		qsort(users.v, users.n, sizeof *users.v, by_name);
	for (size_t i = 0; i < users.n; i++)
		quota_write(s, j, users.v[i]);
	vec_free(&users);
}

void quotas_write(struct server *s, struct json *j, const char *key, const char *user)
{
	json_open_object(j, key);
	json_bool(j, "counted", quotas_count(s));
	json_open_array(j, "quota");
	if (user)
		quota_write(s, j, user);
	else
		all_write(s, j);
	json_close_array(j);
	json_close_object(j);
}

void api_quota(struct server *s, const struct call *c)
{
	bool all = query_number(c, "all", 0);
	const char *user = user_asked(c);
	struct strbuf out = {0};
	struct json j;

	if (!user)
		return;
	if (all && c->w->role < ROLE_OPERATOR) {
		http_error(c->r, CODE_FORBIDDEN, "You may see your own quota only; operators see everybody's.");
		return;
	}
	json_init(&j, &out, false);
	quotas_write(s, &j, NULL, all ? NULL : user);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}

static int wanted_read(const json_t *list, struct user_quota *ret, struct err *err)
{
	const json_t *q;
	int rc = 0;
	size_t i;

	json_array_foreach((json_t *)list, i, q)
	{
		rc = record_load(wanted.fields, 0, q, &ret[i], NULL, err);
		if (rc < 0)
			return err_prefix(err, rc, "quota[%zu]", i);
	}
	return 0;
}

static int64_t wanted_set(struct server *s, const struct user_quota *v, size_t n, bool replace)
{
	json_t *listed = json_object();
	int64_t removed = 0;

	for (size_t i = 0; i < n; i++) {
		quotas_set(s, v[i].user, v[i].quota.limit, v[i].quota.end);
		json_object_set_new(listed, v[i].user, json_true());
	}
	for (size_t i = 0; replace && i < quotas_users(s); i++)
		if (quotas_user(s, i) && !json_object_get(listed, quotas_user(s, i)))
			removed += quotas_drop(s, quotas_user(s, i));
	json_decref(listed);
	return removed;
}

void api_quota_set(struct server *s, const struct call *c)
{
	struct quota_change x;
	struct err err;

	call_read(c, &x);
	size_t n = json_array_size(x.quota);
	struct user_quota *v = mem_zalloc((n + 1) * sizeof *v);
	if (wanted_read(x.quota, v, &err) < 0)
		api_refuse(c->r, &err);
	else
		api_show_later(s, c->r, 200, &quota_set_answer,
			       &(struct quota_changed){wanted_set(s, v, n, x.replace)});
	free(v);
}

void api_quota_drop(struct server *s, const struct call *c)
{
	if (!quotas_drop(s, c->name)) {
		http_error(c->r, CODE_NOT_FOUND, "User %.100s has no quota.", c->name);
		return;
	}
	reply_empty(s, c->r, 200);
}

/* ---- the ledger ---- */

void api_quota_moves(struct server *s, const struct call *c)
{
	static const struct moves_form form = {"quota", "moves", &move_schema};
	const char *user = user_asked(c);

	if (user)
		moves_reply(s, c, &form, user, NULL);
}
