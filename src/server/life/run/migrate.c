/*
 * migrate.c - see migrate.h.
 */
#include "server/life/run/migrate.h"

#include <errno.h>
#include <string.h>

#include "rules/attr.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/job/classes.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/state.h"
#include "server/server.h"
#include "store/store.h"

/* Returns the job's class; jobs without one share the class "-". */
static const char *class_of(const struct server *s, const struct spec *p)
{
	return p->class ? word_text(s, p->class) : "-";
}

static struct class_moves *moves_of(const struct server *s, const char *class)
{
	for (size_t i = 0; i < s->world->moves.n; i++)
		if (strcmp(s->world->moves.v[i].class, class) == 0)
			return &s->world->moves.v[i];
	return NULL;
}

/* Returns the cost of a move in seconds; < 0: the job must not be moved. */
static int64_t cost(void *context, uint32_t id)
{
	const struct server *s = context;
	const struct entry *e = entry_get(s, id);
	const struct job_saves *saves = e->outcome ? e->outcome->saves : NULL;
	const struct class_moves *known;
	int64_t longest;

	if (!e->spec || !e->spec->rerunnable || e->spec->interactive || e->suspended || e->intent ||
	    !class_bool(s, e->spec, SET_MOVE))
		return -1;
	longest = class_saving(s, e->spec);
	if (longest == 0 || (saves && saves->last.state == SAVE_FAILED))
		return -1;
	known = moves_of(s, class_of(s, e->spec));
	return known ? (known->seconds + known->n - 1) / known->n : longest;
}

void moves_offer(struct server *s)
{
	bool any = attrs_bool(s->attrs, SET_MOVE);

	for (size_t i = 0; i < s->objects->of[OBJECT_CLASS].n && !any; i++)
		any = attrs_bool(&s->objects->of[OBJECT_CLASS].v[i]->attrs, SET_MOVE);
	sched_on_move(s->sched, any ? cost : NULL, s);
}

static struct class_moves *moves_add(struct server *s, const char *class)
{
	struct class_moves *m = moves_of(s, class);

	if (m)
		return m;
	vec_push(&s->world->moves, (struct class_moves){.class = mem_strdup(class)});
	return &s->world->moves.v[s->world->moves.n - 1];
}

void move_learn(struct server *s, uint32_t id)
{
	const struct outcome *o = entry_get(s, id)->outcome;
	struct class_moves *m;
	const char *class;
	char text[96];

	if (!o || !o->saves || !o->saves->moving)
		return;
	class = class_of(s, entry_get(s, id)->spec);
	m = moves_add(s, class);
	m->n++;
	m->seconds += s->clock->now - o->saves->moving;
	snprintf(text, sizeof text, "{\"moves\":%lld,\"seconds\":%lld}", (long long)m->n, (long long)m->seconds);
	store_put_object(s->store, "moves", class, text);
}

int moves_restore(struct server *s, const char *class, const json_t *o, struct err *err)
{
	int64_t n = json_integer_value(json_object_get(o, "moves")),
		seconds = json_integer_value(json_object_get(o, "seconds"));
	struct class_moves *m;

	if (n <= 0 || seconds < 0)
		return err_set(err, -EINVAL, "moves of class %.40s: %lld, in %lld s", class, (long long)n,
			       (long long)seconds);
	m = moves_add(s, class);
	m->n = n;
	m->seconds = seconds;
	return 0;
}
