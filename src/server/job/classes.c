/*
 * classes.c - see classes.h.
 */
#include "server/job/classes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/vec.h"
#include "server/base/words.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"

struct class *class_named(const struct server *s, const char *name)
{
	for (size_t i = 0; i < s->jobs->classes.n; i++)
		if (strcmp(s->jobs->classes.v[i]->name, name) == 0)
			return s->jobs->classes.v[i];
	return NULL;
}

struct class *class_create(struct server *s, const char *name)
{
	struct class *x = mem_zalloc(sizeof *x);
	size_t at = s->jobs->classes.n;

	x->name = mem_strdup(name);
	attrs_init(&x->attrs, ATTR_CLASS);
	vec_push(&s->jobs->classes, x);
	for (; at > 0 && strcmp(s->jobs->classes.v[at - 1]->name, name) > 0; at--) /* by name, as the store has them */
		s->jobs->classes.v[at] = s->jobs->classes.v[at - 1];
	s->jobs->classes.v[at] = x;
	return x;
}

void class_destroy(struct server *s, struct class *x)
{
	for (size_t i = 0; i < s->jobs->classes.n; i++)
		if (s->jobs->classes.v[i] == x) {
			vec_remove(&s->jobs->classes, i);
			break;
		}
	attrs_fini(&x->attrs);
	free(x->name);
	free(x);
}

#define SPMD "spmd"
static const char *const standard[] = {"script", SPMD};

const char *class_meant(const struct server *s, const char *text)
{
	if (class_named(s, text))
		return text;
	for (size_t i = 0; i < s->jobs->classes.n; i++)
		if (strcasecmp(s->jobs->classes.v[i]->name, text) == 0)
			return s->jobs->classes.v[i]->name;
	for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
		if (strcasecmp(standard[i], text) == 0)
			return standard[i];
	return NULL;
}

bool class_is_spmd(const struct server *s, const struct spec *p)
{
	const struct attrs *a = class_attrs(s, p);

	if (attrs_is_set(a, "start"))
		return strcmp(attrs_text(a, "start"), SPMD) == 0;
	return p->class && strcasecmp(word(s, p->class), SPMD) == 0;
}

const struct attrs *class_attrs(const struct server *s, const struct spec *p)
{
	static const struct attrs none = {.owner = ATTR_CLASS};
	const struct class *x = p->class ? class_named(s, word(s, p->class)) : NULL;

	return x ? &x->attrs : &none;
}

int64_t class_number(const struct server *s, const struct spec *p, const char *name)
{
	const struct attrs *a = class_attrs(s, p);

	return attrs_number(attrs_is_set(a, name) ? a : s->attrs, name);
}

bool class_bool(const struct server *s, const struct spec *p, const char *name)
{
	const struct attrs *a = class_attrs(s, p);

	return attrs_bool(attrs_is_set(a, name) ? a : s->attrs, name);
}

int64_t class_jobs(const struct server *s, const struct class *x)
{
	int64_t n = 0;

	for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
		const struct spec *p = s->jobs->entries.v[id].spec;
		n += p && p->class && strcmp(word(s, p->class), x->name) == 0 && !entry_ended(s, id);
	}
	return n;
}
