/*
 * migrate.c - see migrate.h.
 */
#include "server/life/run/migrate.h"

#include <string.h>

#include "base/codec.h"
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
#include "server/settings/objects.h"

static const struct field moves_rows[] = {
	{"moves", .is = IS_INT, .in = ALWAYS, .least = 1, .most = INT64_MAX, MEMBER(struct class_moves, n)},
	{"seconds", .is = IS_INT, .most = INT64_MAX, MEMBER(struct class_moves, seconds)},
	{0},
};

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

	if (!o || !o->saves || !o->saves->moving)
		return;
	class = class_of(s, entry_get(s, id)->spec);
	m = moves_add(s, class);
	m->n++;
	m->seconds += s->clock->now - o->saves->moving;
	record_put(s, "moves", class, moves_rows, 0, m);
}

int moves_restore(struct server *s, const char *class, const json_t *o, struct err *err)
{
	struct class_moves x, *m;
	int rc = record_load(moves_rows, 0, o, &x, NULL, err);

	if (rc < 0)
		return rc;
	m = moves_add(s, class);
	m->n = x.n;
	m->seconds = x.seconds;
	return 0;
}
