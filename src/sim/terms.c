/*
 * terms.c - see terms.h.
 */
#include "sim/terms.h"

#include <errno.h>

#include "rules/weigh.h"

static const struct wterms *terms_of(const struct terms *t, const struct wjob *j)
{
	static const struct wterms none = {0};

	return j->terms ? &t->w->terms.v[j->terms - 1] : &none;
}

void terms_init(struct terms *t, const struct workload *w, const struct ruleset *site, struct sched *sched)
{
	*t = (struct terms){.w = w, .site = site, .gate = gate_create(), .limits = limits_create()};
	if (site)
		limits_of_server(t->limits, &site->attrs);
	for (size_t i = 0; site && i < site->queues.n; i++)
		limits_of_queue(t->limits, (uint32_t)i + 1, &site->queues.v[i].attrs);
	if (site || w->terms.n) /* else nobody has any */
		sched_limit(sched, t->limits);
}

void terms_fini(struct terms *t)
{
	gate_destroy(t->gate);
	limits_destroy(t->limits);
	map_fini(&t->by_id);
	map_fini(&t->array_at);
	heap_fini(&t->releases);
}

/* ---- queues ---- */

static const struct ruleset_queue *queue_of(const struct terms *t, const struct wjob *j, const char **ret_name)
{
	const char *name = terms_of(t, j)->queue;
	int at;

	if (!name && t->site)
		name = attrs_text(&t->site->attrs, "default_queue");
	*ret_name = name;
	at = t->site && name ? ruleset_find(t->site, name) : -ENOENT;
	return at >= 0 ? &t->site->queues.v[at] : NULL;
}

int terms_accept(const struct terms *t, const struct wjob *j, struct err *err)
{
	const char *name;
	const struct ruleset_queue *q;

	if (!t->site)
		return 0;
	q = queue_of(t, j, &name);
	if (!name)
		return err_set(err, -EPERM, "it names no queue, and the site has no default_queue");
	if (!q)
		return err_set(err, -EPERM, "there is no queue %.60s", name);
	if (!attrs_bool(&q->attrs, "enabled"))
		return err_set(err, -EPERM, "queue %.60s is not enabled", name);
	if (strcmp(attrs_text(&q->attrs, "queue_type"), "Execution") != 0)
		return err_set(err, -EPERM, "queue %.60s is a routing queue: name the queue that the job ends up in",
			       name);
	return 0;
}

/* ---- submitting ---- */

void terms_fill(struct terms *t, const struct wjob *j, struct job *job)
{
	const struct wterms *x = terms_of(t, j);
	uint64_t array = x->array.count ? (uint64_t)(j->id - j->element) : 0;
	const char *name;
	const struct ruleset_queue *q = queue_of(t, j, &name);
	struct limit_party party = {
		.user = j->user + 1, .queue = q ? (uint32_t)(q - t->site->queues.v) + 1 : 0, .array = array};

	map_set(&t->by_id, (uint64_t)j->id, job->id + 1);
	if (array && j->element == 0) {
		gate_array(t->gate, job->id, x->array.count);
		map_set(&t->array_at, array, j->terms);
		limits_set(t->limits, LIMIT_ARRAY, array, x->array.limit ? (int64_t)x->array.limit : -1);
	}
	if (t->site || j->terms)
		job->limits = limits_class(t->limits, &party);
	if (q)
		job->rank = weigh_rank(&q->attrs, (double)j->submit);
}

/* The place of an index among the elements of an array; -1: it has none. */
static int64_t element_place(const struct array_spec *a, int64_t index)
{
	int64_t place = 0;

	for (int64_t i = array_next(a, -1); i >= 0 && i < index; i = array_next(a, i))
		place++;
	return array_has(a, index) ? place : -1;
}

static bool find(void *context, const struct jobid *id, uint32_t *ret_job, bool *ret_whole)
{
	const struct terms *t = context;
	uint64_t array, job;
	int64_t place = 0;

	if (!map_get(&t->by_id, id->number, &job))
		return false;
	*ret_whole = id->kind != JOBID_ELEMENT && map_get(&t->array_at, id->number, &array);
	if (id->kind == JOBID_ELEMENT)
		place = map_get(&t->array_at, id->number, &array)
				? element_place(&t->w->terms.v[array - 1].array, id->index)
				: -1;
	*ret_job = (uint32_t)(job - 1 + (uint64_t)place);
	return place >= 0;
}

enum depend_state terms_enter(struct terms *t, const struct wjob *j, uint32_t job, int64_t now)
{
	const struct wterms *x = terms_of(t, j);
	struct gate_terms g = {.at = x->start, .depend = x->depend, .find = find, .context = t};
	const char *name;
	const struct ruleset_queue *q;

	if (!j->terms && !t->site)
		return DEPEND_SATISFIED;
	q = queue_of(t, j, &name);
	if (q && !attrs_bool(&q->attrs, "started"))
		g.block |= BLOCK_QUEUE;
	if (x->release > now) {
		g.block |= BLOCK_USER;
		if (x->release != TIME_NEVER)
			heap_push(&t->releases, x->release, job, 0);
	}
	return gate_enter(t->gate, job, &g, now, NULL);
}

/* ---- what follows ---- */

int terms_news(struct terms *t, int64_t now, uint32_t *ret_job)
{
	struct heap_item x;
	enum gate_news news;

	while ((news = gate_news(t->gate, ret_job, NULL)) != NEWS_NONE) {
		if (news == NEWS_DOOMED)
			return -1;
		if (news == NEWS_FREED && !gate_blocks(t->gate, *ret_job))
			return 1;
	}
	while (gate_due(t->gate, now, ret_job))
		if (!gate_blocks(t->gate, *ret_job))
			return 1;
	while (heap_peek(&t->releases, &x) && x.time <= now) {
		heap_pop(&t->releases, &x);
		*ret_job = (uint32_t)x.tie;
		gate_unblock(t->gate, *ret_job, BLOCK_USER);
		if (!gate_blocks(t->gate, *ret_job))
			return 1;
	}
	return 0;
}

int64_t terms_next(const struct terms *t)
{
	int64_t next = gate_next(t->gate);
	struct heap_item x;

	return heap_peek(&t->releases, &x) && x.time < next ? x.time : next;
}
