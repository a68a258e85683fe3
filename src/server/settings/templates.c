/*
 * templates.c - see templates.h.
 */
#include "server/settings/templates.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "store/store.h"

enum { STORED = 1 << 0, SHOWN = 1 << 1, WHOLE = 1 << 2 };

struct subject {
	struct template template;
};

static void get_site(const struct subject *x, struct value *v)
{
	v->kind = VALUE_BOOL;
	v->number = !x->template.user;
}

static void get_job(const struct subject *x, struct value *v)
{
	v->kind = VALUE_JSON;
	v->text = x->template.job;
}

#define HAS(member) MEMBER(struct template, member)

static const struct field rows[] = {
	{"name", .is = REQUIRED | IS_TEXT, .in = STORED | ALWAYS | SHOWN | WHOLE, HAS(name)},
	{"user", .is = IS_TEXT, .in = STORED, HAS(user)},
	{"site", .is = REQUIRED | IS_BOOL, "it is everybody's", .get = get_site, .in = SHOWN | WHOLE},
	{"by", .is = REQUIRED | IS_TEXT, "who saved it", .in = STORED | ALWAYS | SHOWN | WHOLE, HAS(by)},
	{"description", .is = REQUIRED | IS_TEXT | IS_NULL, "the job's comment", .in = STORED | SHOWN | WHOLE,
	 HAS(description)},
	{"job", .is = REQUIRED | IS_OBJECT, "what `POST /v1/jobs` takes", .get = get_job, .in = WHOLE},
	{"submission", .is = IS_TEXT, .in = STORED | ALWAYS, HAS(job)},
	{0},
};
const struct schema template_shown = {"Template", .fields = rows, .in = SHOWN};
const struct schema template_whole = {"TemplateWhole", .fields = rows, .in = WHOLE};

static int order(const struct template *t, const char *user, const char *name)
{
	int by_name = strcmp(t->name, name);

	return by_name ? by_name : strcmp(t->user ? t->user : "", user ? user : "");
}

struct template *template_find(const struct server *s, const char *user, const char *name)
{
	for (size_t i = 0; i < s->templates->list.n; i++)
		if (order(&s->templates->list.v[i], user, name) == 0)
			return &s->templates->list.v[i];
	return NULL;
}

/* Writes its name in the store. Neither part has a colon. */
static void key_write(const struct template *t, struct strbuf *out)
{
	strbuf_printf(out, "%s:%s", t->user ? t->user : "", t->name);
}

/* Takes over the texts. */
static void template_set(struct server *s, const struct template *fresh)
{
	struct template *old = template_find(s, fresh->user, fresh->name);
	size_t at = s->templates->list.n;

	if (old) {
		record_free(rows, old);
		*old = *fresh;
		return;
	}
	while (at > 0 && order(&s->templates->list.v[at - 1], fresh->user, fresh->name) > 0)
		at--;
	vec_insert(&s->templates->list, at, *fresh);
}

/* Returns an error if a user, or the site (NULL), can't have another template. */
static int room_check(const struct server *s, const char *user, struct err *err)
{
	size_t own = 0, site = 0, n = s->templates->list.n;

	for (size_t i = 0; i < n; i++) {
		const char *of = s->templates->list.v[i].user;
		site += !of;
		own += user && of && strcmp(of, user) == 0;
	}
	if (!user && site >= TEMPLATES_OF_SITE)
		return err_code(err, CODE_BAD_STATE, "there can be %d templates of the site: delete some",
				TEMPLATES_OF_SITE);
	if (user && (own >= TEMPLATES_OF_ONE || n - site >= TEMPLATES_OF_ALL))
		return err_code(err, CODE_BAD_STATE,
				"there can be %d templates of a user, and %d of all users: delete some",
				TEMPLATES_OF_ONE, TEMPLATES_OF_ALL);
	return 0;
}

int template_put(struct server *s, const struct template *given, struct err *err)
{
	struct strbuf key = {0};
	struct template t = {
		.name = mem_strdup(given->name), .by = mem_strdup(given->by), .job = mem_strdup(given->job)};

	t.user = given->user ? mem_strdup(given->user) : NULL;
	t.description = given->description ? mem_strdup(given->description) : NULL;
	if (!template_find(s, t.user, t.name) && room_check(s, t.user, err) < 0) {
		record_free(rows, &t);
		return -EINVAL;
	}
	key_write(&t, &key);
	record_put(s, "template", key.text, rows, STORED, &t);
	template_set(s, &t);
	strbuf_fini(&key);
	return 0;
}

void template_drop(struct server *s, struct template *t)
{
	struct strbuf key = {0};

	key_write(t, &key);
	store_drop_object(s->store, "template", key.text);
	record_free(rows, t);
	vec_remove(&s->templates->list, (size_t)(t - s->templates->list.v));
	strbuf_fini(&key);
}

int template_restore(struct server *s, const char *key, const json_t *o, struct err *err)
{
	struct template t = {0};
	int rc = record_load(rows, STORED, o, &t, NULL, err);

	if (rc < 0)
		record_free(rows, &t);
	else
		template_set(s, &t);
	return rc;
}
