/*
 * api_class.c - program classes: shown, made, changed and removed.
 */
#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "rules/attr.h"
#include "server/api/api.h"
#include "server/api/attributes.h"
#include "server/api/call.h"
#include "server/api/request.h"
#include "server/api/schemas.h"
#include "server/base/post.h"
#include "server/job/classes.h"
#include "server/job/jobs.h"
#include "server/life/migrate.h"
#include "server/server.h"
#include "store/store.h"

static const struct field class_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"attributes", .is = REQUIRED | IS_OBJECT},
	{"defaults", .is = REQUIRED | IS_OBJECT},
	{0},
};
const struct schema class_answer = {"Class", .fields = class_fields};
static const struct field classes_fields[] = {
	{"classes", .is = REQUIRED | IS_LIST, .of = &class_answer, .item = IS_OBJECT},
	{0},
};
const struct schema classes_answer = {.fields = classes_fields};

static void class_show(const struct class *x, struct json *j)
{
	json_open_object(j, NULL);
	json_text(j, "name", x->name);
	json_open_object(j, "attributes");
	attrs_write(&x->attrs, j);
	json_close_object(j);
	json_open_object(j, "defaults");
	attrs_write_defaults(ATTR_CLASS, j);
	json_close_object(j);
	json_close_object(j);
}

/* The class that the path names; NULL: it was answered. */
static struct class *class_find(struct server *s, const struct call *c)
{
	struct class *x = class_named(s, c->name);

	if (!x)
		http_error(c->r, CODE_NOT_FOUND, "There is no class %.60s.", c->name);
	return x;
}

void api_classes(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "classes");
	for (size_t i = 0; i < s->jobs->classes.n; i++)
		class_show(s->jobs->classes.v[i], &j);
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

void api_class(struct server *s, const struct call *c)
{
	const struct class *x = class_find(s, c);
	struct strbuf out = {0};
	struct json j;

	if (!x)
		return;
	json_init(&j, &out, false);
	class_show(x, &j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

void api_class_create(struct server *s, const struct call *c)
{
	struct strbuf out = {0};

	if (class_named(s, c->name)) {
		http_error(c->r, CODE_BAD_STATE, "There is a class %s already.", c->name);
	} else if (!name_is_good(c->name)) {
		http_error(c->r, CODE_BAD_REQUEST, "A class's name is of up to 64 letters, digits, '_', '.' and '-'.");
	} else {
		attrs_store(s, "class", c->name, &class_create(s, c->name)->attrs);
		strbuf_puts(&out, "{}");
		reply_later(s, c->r, 201, &out);
	}
}

void api_class_change(struct server *s, const struct call *c)
{
	struct class *x = class_find(s, c);
	struct strbuf out = {0};
	struct err err;

	if (!x)
		return;
	if (changes_apply(s, &x->attrs, c->body, c->w, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	attrs_store(s, "class", x->name, &x->attrs);
	moves_offer(s);
	strbuf_puts(&out, "{}");
	reply_later(s, c->r, 200, &out);
}

void api_class_delete(struct server *s, const struct call *c)
{
	struct class *x = class_find(s, c);
	int64_t jobs = x ? class_jobs(s, x) : 0;
	struct strbuf out = {0};

	if (!x)
		return;
	if (jobs) {
		http_error(c->r, CODE_BAD_STATE, "Class %s has %lld job%s that did not end yet.", x->name,
			   (long long)jobs, jobs == 1 ? "" : "s");
		return;
	}
	store_drop_object(s->store, "class", x->name);
	class_destroy(s, x);
	strbuf_puts(&out, "{}");
	reply_later(s, c->r, 200, &out);
}
