/*
 * depend.c - jobs that wait for others: whether they still must, and who is to be looked at when a job starts or ends.
 */
#include <string.h>

#include "server/server_internal.h"

static struct depend_fate fate_of_job(const struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);

	return (struct depend_fate){
		.started = s->jobs->entries.v[id].ran,
		.ended = job_ended(job),
		.status = s->jobs->entries.v[id].exit_status,
	};
}

/* Of an array as a whole: worked out when it is asked for, and again after one of its elements has started or ended. */
static struct depend_fate fate_of_array(const struct server *s, struct array *a)
{
	if (a->fate_known)
		return a->fate;
	a->fate = DEPEND_FATE_NONE;
	for (uint32_t i = 0; i < a->count; i++)
		if (s->jobs->entries.v[a->first + i].spec) {
			struct depend_fate one = fate_of_job(s, a->first + i);
			depend_fate_add(&a->fate, &one);
		}
	a->fate_known = true;
	return a->fate;
}

static struct depend_fate fate_of(void *context, const struct jobid *id)
{
	const struct server *s = context;
	struct array *a = array_find(s, id->number);
	uint32_t found;

	if (a && id->kind != JOBID_ELEMENT)
		return fate_of_array(s, a);
	if (!entry_find(s, id->number, id->index, &found))
		return (struct depend_fate){.gone = true};
	return fate_of_job(s, found);
}

enum depend_state depend_look(struct server *s, uint32_t id, struct strbuf *why)
{
	const struct spec *p = s->jobs->entries.v[id].spec;
	struct depends d = {0};
	enum depend_state state = DEPEND_SATISFIED;

	if (p->depend && depends_parse(p->depend, &d, NULL) == 0)
		state = depends_judge(&d, fate_of, s, 0, why);
	depends_fini(&d);
	return state;
}

void depend_watch(struct server *s, uint32_t id)
{
	struct depends d = {0};

	if (depends_parse(s->jobs->entries.v[id].spec->depend, &d, NULL) < 0)
		return;
	for (uint32_t i = 0; i < d.n; i++)
		for (uint32_t k = 0; k < d.v[i].nids; k++) {
			uint64_t *at = map_at(&s->jobs->dependents, d.v[i].id[k].number);
			if (*at == 0) {
				vec_push(&s->jobs->dependent_lists, (job_vec){0});
				*at = s->jobs->dependent_lists.n;
			}
			vec_push(&s->jobs->dependent_lists.v[*at - 1], id);
		}
	depends_fini(&d);
}

/* Jobs that wait for numbers of which something has started or ended: looked at in slices, each list once, whatever has changed in it
 * meanwhile. Nothing of it is kept: recovery derives the same. */
struct depend_work {
	struct work work;
	VEC(uint64_t) numbers; /* in turn */
	struct map marked;     /* the same as a set */
	size_t at;	       /* in the list of the first */
	bool added;	       /* there is more than fits into a turn: it is one of the works */
	/* The judgement of the last one, for those with the same spec. */
	const struct spec *spec;
	enum depend_state state;
	struct strbuf why;
};

static void judgement_forget(struct depend_work *d)
{
	d->spec = NULL;
	strbuf_clear(&d->why);
}

/* The next of the list that waits; false: none is left. */
static bool dependent_next(const struct server *s, struct depend_work *d, uint32_t *ret)
{
	uint64_t at;

	if (!map_get(&s->jobs->dependents, d->numbers.v[0], &at) || at == 0)
		return false;

	const job_vec *list = &s->jobs->dependent_lists.v[at - 1];

	while (d->at < list->n) {
		uint32_t id = list->v[d->at++];
		if (s->jobs->entries.v[id].spec && s->jobs->entries.v[id].block & BLOCK_DEPEND && !entry_ended(s, id)) {
			*ret = id;
			return true;
		}
	}
	return false;
}

static void depend_free(struct server *s, struct depend_work *d)
{
	if (d->added)
		work_remove(s, &d->work);
	vec_free(&d->numbers);
	map_fini(&d->marked);
	strbuf_fini(&d->why);
	free(d);
	s->slices->depend_work = NULL;
}

static bool depend_step(struct server *s, struct work *w)
{
	struct depend_work *d = (struct depend_work *)w;
	uint32_t id;

	if (!dependent_next(s, d, &id)) {
		uint64_t *marks = map_at(&d->marked, d->numbers.v[0]);
		if (--*marks == 0)
			map_remove(&d->marked, d->numbers.v[0]);
		vec_remove(&d->numbers, 0);
		d->at = 0;
		if (d->numbers.n)
			return true;
		depend_free(s, d);
		return false;
	}
	if (d->spec != s->jobs->entries.v[id].spec) {
		judgement_forget(d);
		d->state = depend_look(s, id, &d->why);
		d->spec = s->jobs->entries.v[id].spec;
	}
	if (d->state == DEPEND_SATISFIED)
		block_clear(s, id, BLOCK_DEPEND);
	else if (d->state == DEPEND_IMPOSSIBLE)
		job_end_waiting(s, id, END_DEPEND, &(struct payload){.text = strbuf_text(&d->why)});
	return true;
}

static void depend_pause(struct server *s, struct work *w)
{
	judgement_forget((struct depend_work *)w);
}

static void depend_stop(struct server *s, struct work *w, const char *why)
{
	depend_free(s, (struct depend_work *)w);
}

void depend_changed(struct server *s, uint32_t id)
{
	uint64_t number = job_key_number(s->jobs->entries.v[id].key), at, *mark;

	if (!map_get(&s->jobs->dependents, number, &at) || at == 0)
		return;
	if (!s->slices->depend_work)
		s->slices->depend_work = mem_zalloc(sizeof *s->slices->depend_work);
	judgement_forget(s->slices->depend_work);
	mark = map_at(&s->slices->depend_work->marked, number);
	if (*mark == 0 ||
	    (s->slices->depend_work->numbers.v[0] == number && s->slices->depend_work->at > 0 && *mark == 1)) {
		++*mark;
		vec_push(&s->slices->depend_work->numbers, number);
	}
}

bool depend_settle(struct server *s, int64_t *steps)
{
	static const struct work_kind kind = {depend_step, depend_pause, depend_stop, .reads = false, .lasting = true};
	bool any = false;

	for (; s->slices->depend_work && *steps > 0; --*steps) {
		any = true;
		depend_step(s, &s->slices->depend_work->work);
	}
	if (s->slices->depend_work)
		judgement_forget(s->slices->depend_work);
	if (s->slices->depend_work && !s->slices->depend_work->added) {
		s->slices->depend_work->added = true;
		work_add(s, &s->slices->depend_work->work, &kind);
	}
	return any;
}
