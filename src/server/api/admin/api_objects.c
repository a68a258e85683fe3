/*
 * api_objects.c - named objects (rules/object.h): showing, creating, changing and removing them.
 * The route determines the kind.
 */
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "rules/reservation.h"
#include "server/api/admin/api_partitions.h"
#include "server/api/frame/api.h"
#include "server/api/frame/attributes.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/route.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/api_reservations.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/book/audit.h"
#include "server/job/classes.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/migrate.h"
#include "server/life/wait/priority.h"
#include "server/life/wait/reservations.h"
#include "server/life/world/block.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "server/settings/objects.h"

/* ---- special cases of kinds ---- */

/* Checks the paths of a class: a job whose class has an invalid one could not be started. */
static int class_paths_check(const struct object *x, struct err *err)
{
	static const enum attr_key keys[] = {SET_SAVER, SET_RESTARTER};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *path = attrs_text(&x->attrs, keys[i]);
		if (path && *path != '/')
			return err_set(err, -EINVAL, "%s: must be an absolute path, not \"%.200s\"",
				       attr_table[keys[i]].name, path);
	}
	return 0;
}

static int class_check(struct server *s, const struct object *x, const struct object *next, void **ret, struct err *err)
{
	int64_t jobs = next ? 0 : class_jobs(s, x);

	if (next && class_paths_check(next, err) < 0)
		return -EINVAL;
	if (jobs)
		return err_code(err, CODE_BAD_STATE, "class %s has %lld job%s that did not end yet", x->name,
				(long long)jobs, jobs == 1 ? "" : "s");
	return 0;
}

/* Refuses to remove a QoS, or an account other than the last, that unfinished jobs have. */
static int party_check(struct server *s, const struct object *x, const struct object *next, void **ret, struct err *err)
{
	int64_t jobs = 0;

	if (next)
		return 0;
	JOBS_EACH(s, id) {
		const struct spec *p = entry_get(s, id)->spec;
		uint32_t has = !p ? 0 : x->kind == OBJECT_QOS ? p->qos : p->account;
		jobs += has && strcmp(word_text(s, has), x->name) == 0 && !entry_ended(s, id);
	}
	if (jobs && (x->kind == OBJECT_QOS || object_count(s->objects, x->kind) > 1))
		return err_code(err, CODE_BAD_STATE, "%s %s has %lld job%s that did not end yet",
				object_table[x->kind].name, x->name, (long long)jobs, jobs == 1 ? "" : "s");
	return 0;
}

static void party_done(struct server *s, void *context)
{
	block_limits(s);
	priority_parties(s);
}

static void class_done(struct server *s, void *context)
{
	moves_offer(s);
	world_savings(s);
}

static int reservation_change(struct server *s, const struct object *x, const struct object *next, void **ret,
			      struct err *err)
{
	return next ? reservation_allowed(s, next, err) : 0;
}

struct reservation_shown {
	enum { INCOMPLETE, PLANNED, ACTIVE, OVER } state;
	int64_t begins, ends; /* instants */
};
static const struct field reservation_fields[] = {
	{"state", .is = REQUIRED | IS_TEXT, .words = "incomplete|planned|active|over",
	 MEMBER_AS(FORM_CHOICE, struct reservation_shown, state)},
	{"begins", .is = REQUIRED | IS_INSTANT | IS_NULL, "when it holds, or will next",
	 MEMBER(struct reservation_shown, begins)},
	{"ends", .is = REQUIRED | IS_INSTANT | IS_NULL, MEMBER(struct reservation_shown, ends)},
	{0},
};

static void reservation_show(struct server *s, const struct object *x, struct json *j)
{
	struct span next = {0};
	bool known = reservation_next(x, s->clock->now, &next);
	struct reservation_shown shown = {.state = !reservation_holds(x)	 ? INCOMPLETE
						   : !known			 ? OVER
						   : next.start <= s->clock->now ? ACTIVE
										 : PLANNED};

	if (known) {
		shown.begins = next.start;
		shown.ends = next.end;
	}
	record_show(reservation_fields, 0, &shown, NULL, j);
}

static void reservation_done(struct server *s, void *context)
{
	reservations_lay(s);
}

static const struct ways {
	/* Checks that it may become `next`, or be removed if that is NULL. done() gets *ret and
	 * frees it. */
	int (*check)(struct server *s, const struct object *x, const struct object *next, void **ret, struct err *err);
	/* applies the change */
	void (*done)(struct server *s, void *context);
	/* fills in what follows from the attributes set */
	int (*complete)(struct server *s, struct object *next, struct err *err);
	/* writes additional members */
	void (*show)(struct server *s, const struct object *x, struct json *j);
	/* Answers how a change would affect jobs. */
	void (*foretell)(struct server *s, const struct object *next, struct http_request *r, const char *refused);
} ways[OBJECT_KINDS] = {
	[OBJECT_PARTITION] = {.check = partition_check, .done = partition_done},
	[OBJECT_CLASS] = {.check = class_check, .done = class_done},
	[OBJECT_RESERVATION] = {reservation_change, reservation_done, reservation_choose, reservation_show,
				reservation_foretell},
	[OBJECT_QOS] = {.check = party_check, .done = party_done},
	[OBJECT_ACCOUNT] = {.check = party_check, .done = party_done},
	[OBJECT_GROUP] = {.done = party_done},
	[OBJECT_USER] = {.done = party_done},
};

static int ways_check(struct server *s, const struct object *x, const struct object *next, void **ret, struct err *err)
{
	const struct object *by = next ? NULL : object_named_by(s->objects, x);
	int rc = next ? object_check(s->objects, next, err) : 0;

	if (by)
		return err_code(err, CODE_BAD_STATE, "%s %s is named by %s %s", object_table[x->kind].name, x->name,
				object_table[by->kind].name, by->name);
	return rc == 0 && ways[x->kind].check ? ways[x->kind].check(s, x, next, ret, err) : rc;
}

static void ways_done(struct server *s, enum object_kind kind, void *context)
{
	if (ways[kind].done)
		ways[kind].done(s, context);
}

/* ---- showing ---- */

const struct schema object_answer = {"Object", FIELDS({"name", .is = REQUIRED | IS_TEXT},
						      {"attributes", .is = REQUIRED | IS_OBJECT},
						      {"defaults", .is = REQUIRED | IS_OBJECT})};

const struct schema reservation_answer = {"Reservation", .base = &object_answer, .fields = reservation_fields};

#define LIST_ANSWER(kind, one)                                                                                         \
	static const struct field kind##_fields[] = {                                                                  \
		{#kind, .is = REQUIRED | IS_LIST, "by name", .of = &one, .item = IS_OBJECT},                           \
		{0},                                                                                                   \
	};                                                                                                             \
	const struct schema kind##_answer = {.fields = kind##_fields}
LIST_ANSWER(classes, object_answer);
LIST_ANSWER(users, object_answer);
LIST_ANSWER(groups, object_answer);
LIST_ANSWER(accounts, object_answer);
LIST_ANSWER(qos, object_answer);
LIST_ANSWER(reservations, reservation_answer);

static void object_show(struct server *s, const struct object *x, struct json *j)
{
	json_open_object(j, NULL);
	json_text(j, "name", x->name);
	json_open_object(j, "attributes");
	attrs_write(&x->attrs, j);
	json_close_object(j);
	json_open_object(j, "defaults");
	attrs_write_defaults(x->attrs.owner, j);
	json_close_object(j);
	if (ways[x->kind].show)
		ways[x->kind].show(s, x, j);
	json_close_object(j);
}

struct object *api_object_find(struct server *s, const struct call *c)
{
	struct object *x = object_find(s->objects, (enum object_kind)c->route->kind, c->name);

	if (!x)
		http_error(c->r, CODE_NOT_FOUND, "There is no %s %.60s.", object_table[c->route->kind].name, c->name);
	return x;
}

void api_objects(struct server *s, const struct call *c)
{
	enum object_kind kind = (enum object_kind)c->route->kind;
	struct strbuf out = {0};
	struct json j;

	json_begin(&j, &out);
	json_open_array(&j, object_table[kind].plural);
	for (size_t i = 0; i < s->objects->of[kind].n; i++)
		object_show(s, s->objects->of[kind].v[i], &j);
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}

void api_object(struct server *s, const struct call *c)
{
	const struct object *x = api_object_find(s, c);
	struct strbuf out = {0};
	struct json j;

	if (!x)
		return;
	json_init(&j, &out, false);
	object_show(s, x, &j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}

/* ---- changing ---- */

static struct object *create(struct server *s, const struct call *c)
{
	enum object_kind kind = (enum object_kind)c->route->kind;
	struct object *x = NULL;
	struct err err;

	if (object_create(s->objects, kind, c->name, &x, &err) < 0)
		api_refuse(c->r, &err);
	else
		server_log(s, SEVERITY_NOTICE, "%s %s was created by %s", object_table[kind].name, c->name, c->w->user);
	return x;
}

void api_object_create(struct server *s, const struct call *c)
{
	const struct object *x = create(s, c);

	if (!x)
		return;
	object_store(s, x);
	audit_attrs(s, c->w, object_table[x->kind].name, x->name, NULL, &x->attrs);
	reply_empty(s, c->r, 201);
}

/* Returns the object to change, creating it where the request implies that. NULL: the request was
 * answered. */
static struct object *changed_find(struct server *s, const struct call *c, bool *ret_new)
{
	enum object_kind kind = (enum object_kind)c->route->kind;
	const struct object_row *row = &object_table[kind];
	bool meant = row->implicit || (row->defaults && strcmp(c->name, OBJECT_DEFAULT) == 0);
	bool there = object_find(s->objects, kind, c->name) != NULL;
	const char *wanted = request_query(c->r, "new");

	if (there && wanted && strcmp(wanted, "true") == 0)
		return create(s, c); /* fails, since it exists */
	*ret_new = meant && !there && !(wanted && strcmp(wanted, "false") == 0);
	return *ret_new ? create(s, c) : api_object_find(s, c);
}

/* Answers a dry run: shows what the change would do. */
static void answer_dry(struct server *s, const struct call *c, const struct object *next, const struct err *refused)
{
	struct strbuf out = {0};
	struct json j;

	if (ways[next->kind].foretell) {
		ways[next->kind].foretell(s, next, c->r, refused ? refused->text : NULL);
		return;
	}
	json_begin(&j, &out);
	json_text(&j, "refused", refused ? refused->text : NULL);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}

static bool is_dry(const struct call *c)
{
	const char *dry = request_query(c->r, "dry_run");

	return dry && strcmp(dry, "true") == 0;
}

void api_object_change(struct server *s, const struct call *c)
{
	bool new = false;
	struct object *x, next;
	void *context = NULL;
	struct err err;

	if (changes_admit(s, object_table[c->route->kind].owner, c->name, c->body, c->w, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	x = changed_find(s, c, &new);
	if (!x)
		return;
	next = *x;
	attrs_copy(&next.attrs, &x->attrs);
	int rc = changes_apply(s, &next.attrs, c->body, &err);
	bool read = rc == 0;
	if (rc == 0 && ways[next.kind].complete)
		rc = ways[next.kind].complete(s, &next, &err);
	if (rc == 0)
		rc = ways_check(s, x, &next, &context, &err);
	if (rc < 0 || is_dry(c)) {
		if (read && is_dry(c))
			answer_dry(s, c, &next, rc < 0 ? &err : NULL);
		else
			api_refuse(c->r, &err);
		attrs_fini(&next.attrs);
		if (new)
			object_destroy(s->objects, x);
		return;
	}
	audit_attrs(s, c->w, object_table[x->kind].name, x->name, new ? NULL : &x->attrs, &next.attrs);
	attrs_fini(&x->attrs);
	x->attrs = next.attrs;
	object_store(s, x);
	server_log(s, SEVERITY_NOTICE, "%s %s was changed by %s", object_table[x->kind].name, x->name, c->w->user);
	ways_done(s, x->kind, context);
	reply_empty(s, c->r, 200);
}

void api_object_delete(struct server *s, const struct call *c)
{
	struct object *x = api_object_find(s, c);
	void *context = NULL;
	struct err err;

	if (!x)
		return;
	if (ways_check(s, x, NULL, &context, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	server_log(s, SEVERITY_NOTICE, "%s %s was deleted by %s", object_table[x->kind].name, x->name, c->w->user);
	audit_attrs(s, c->w, object_table[x->kind].name, x->name, &x->attrs, NULL);
	block_forget(s, x);
	object_drop(s, x);
	ways_done(s, (enum object_kind)c->route->kind, context);
	reply_empty(s, c->r, 200);
}
