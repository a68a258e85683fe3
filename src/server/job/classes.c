/*
 * classes.c - see classes.h.
 */
#include "server/job/classes.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/vec.h"
#include "rules/checkpoint.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"

static const char *const standard[] = {"script", CLASS_SPMD};

const char *class_meant(const struct server *s, const char *text)
{
	if (object_find(s->objects, OBJECT_CLASS, text))
		return text;
	for (size_t i = 0; i < s->objects->of[OBJECT_CLASS].n; i++)
		if (strcasecmp(s->objects->of[OBJECT_CLASS].v[i]->name, text) == 0)
			return s->objects->of[OBJECT_CLASS].v[i]->name;
	for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
		if (strcasecmp(standard[i], text) == 0)
			return standard[i];
	return NULL;
}

bool class_is_spmd(const struct server *s, const struct spec *p)
{
	return p->class && class_runs_spmd(word_text(s, p->class), class_attrs(s, p));
}

const struct attrs *class_attrs(const struct server *s, const struct spec *p)
{
	static const struct attrs none = {.owner = ATTR_CLASS};
	const struct object *x = p->class ? object_find(s->objects, OBJECT_CLASS, word_text(s, p->class)) : NULL;

	return x ? &x->attrs : &none;
}

int64_t class_number(const struct server *s, const struct spec *p, enum attr_key key)
{
	const struct attrs *a = class_attrs(s, p);

	return attrs_number(attrs_is_set(a, key) ? a : s->attrs, key);
}

bool class_bool(const struct server *s, const struct spec *p, enum attr_key key)
{
	const struct attrs *a = class_attrs(s, p);

	return attrs_bool(attrs_is_set(a, key) ? a : s->attrs, key);
}

int64_t class_saving(const struct server *s, const struct spec *p)
{
	struct checkpoint_wish w;
	struct arena *a;
	int64_t duration = 0;

	if (!p->checkpoint)
		return 0;
	a = arena_create();
	if (checkpoint_parse(word_text(s, p->checkpoint), a, &w, NULL) == 0 && w.makes)
		duration = w.duration ? w.duration : class_number(s, p, SET_CHECKPOINT_DURATION);
	arena_destroy(a);
	return duration;
}

int64_t class_jobs(const struct server *s, const struct object *x)
{
	int64_t n = 0;

	JOBS_EACH(s, id) {
		const struct spec *p = entry_get(s, id)->spec;
		n += p && p->class && strcmp(word_text(s, p->class), x->name) == 0 && !entry_ended(s, id);
	}
	return n;
}
