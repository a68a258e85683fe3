/*
 * queue.c - waiting common jobs, sorted. Keys are fixed when a job comes in (all but WFP3's), so that an array with
 * binary search does: what a scan reads lies together.
 */
#include <math.h>
#include <stdlib.h>

#include "sched/sched_internal.h"

#define WAITING_NONE UINT32_MAX
#define FEW 16 /* records that are removed one by one rather than by going through everything */

double order_key(const struct sched *s, enum queue_order order, const struct job *job, int64_t length)
{
	double r = job->rank, p = (double)length, q = (double)cluster_job_request(s->c, job)->total.v[RES_CPU];

	switch (order) {
	case ORDER_SHORTEST:
		return p;
	case ORDER_SMALLEST:
		return q;
	case ORDER_AREA:
		return p * q;
	case ORDER_WEIGHT:
		return cluster_weight(s->c, job);
	case ORDER_F1: /* the paper's logarithms are to base 10; its submit times count from 1 */
		return log10(p) * q + 870 * log10(r + 1);
	case ORDER_F2:
		return sqrt(p) * q + 25600 * log10(r + 1);
	case ORDER_F3:
		return p * q + 6860000 * log10(r + 1);
	case ORDER_F4:
		return p * sqrt(q) + 530000 * log10(r + 1);
	case ORDER_WFP3: {
		double x = ((double)s->now - r) / p;
		return -x * x * x * q;
	}
	default:
		return r;
	}
}

bool queue_has_fill(const struct sched *s)
{
	return s->backfill != ORDER_NONE && s->backfill != s->order;
}

struct waiting *queue_get(const struct sched *s, uint32_t job)
{
	return &s->waiting.v[cluster_job(s->c, job)->waiting];
}

bool queue_before(const struct sched *s, uint32_t a, uint32_t b)
{
	double x = queue_get(s, a)->key, y = queue_get(s, b)->key;

	return x < y || (x == y && a < b);
}

/* The place of (key, job) in a sorted array; perhaps it is where somebody just looked. */
static size_t entry_find(const entry_vec *v, double key, uint32_t job, size_t guess)
{
	size_t lo = 0, hi = v->n;

	if (guess < hi && v->v[guess].job == job)
		return guess;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct entry *e = &v->v[mid];
		if (e->key < key || (e->key == key && e->job < job))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t queue_find(const struct sched *s, uint32_t job)
{
	return entry_find(&s->by_key, queue_get(s, job)->key, job, s->scanned);
}

static bool is_wide(const struct sched *s, int64_t cpus)
{
	return 2 * cpus > s->c->total.v[RES_CPU];
}

static void entry_insert(entry_vec *v, double key, const struct waiting *w, int32_t cpus)
{
	size_t at = v->n;

	if (v->n && !(v->v[v->n - 1].key < key || (v->v[v->n - 1].key == key && v->v[v->n - 1].job < w->job)))
		at = entry_find(v, key, w->job, v->n);
	vec_insert(v, at, (struct entry){key, w->length, TIME_NEVER, w->job, cpus});
}

void queue_add(struct sched *s, uint32_t id)
{
	struct job *job = cluster_job(s->c, id);
	struct waiting *w;

	queue_settle(s); /* it may be one of those that left */
	if (s->spare.n) {
		job->waiting = s->spare.v[--s->spare.n];
	} else {
		job->waiting = (uint32_t)s->waiting.n;
		vec_push(&s->waiting, (struct waiting){0});
	}
	w = &s->waiting.v[job->waiting];
	*w = (struct waiting){.job = id, .length = sched_length(s, job)};
	if (s->policy->know == KNOW_PREDICTION) {
		w->pred = history_predict(s, job);
		w->length = (int64_t)w->pred + s->c->settings.tolerance;
	}
	if (s->due_dates) {
		due_submit(s, w);
	} else {
		w->key = order_key(s, s->order, job, w->length);
		w->fill = s->backfill == s->order ? w->key : order_key(s, s->backfill, job, w->length);
	}

	int32_t cpus = (int32_t)cluster_job_request(s->c, job)->total.v[RES_CPU];

	entry_insert(&s->by_key, w->key, w, cpus);
	if (queue_has_fill(s))
		entry_insert(&s->by_fill, w->fill, w, cpus);
	if (s->due_dates) {
		entry_insert(&s->by_due, w->due, w, cpus);
		if (is_wide(s, cpus))
			vec_push(&s->wide, id);
		history_wait(s, job, w->pred);
	}
}

/* Out of the sorted arrays. */
static void queue_drop(struct sched *s, const struct waiting *w)
{
	vec_remove(&s->by_key, entry_find(&s->by_key, w->key, w->job, s->scanned));
	if (queue_has_fill(s))
		vec_remove(&s->by_fill, entry_find(&s->by_fill, w->fill, w->job, s->scanned));
	if (!s->due_dates)
		return;
	vec_remove(&s->by_due, entry_find(&s->by_due, w->due, w->job, s->scanned));
	for (size_t i = 0; i < s->wide.n; i++)
		if (s->wide.v[i] == w->job)
			vec_remove(&s->wide, i);
}

/* Out of the queue, but for the sorted arrays. */
static bool queue_retire(struct sched *s, uint32_t id, struct waiting *ret)
{
	struct job *job = cluster_job(s->c, id);

	if (job->waiting == WAITING_NONE)
		return false;
	*ret = s->waiting.v[job->waiting];
	if (s->due_dates)
		history_unwait(s, job, ret->pred);
	vec_push(&s->spare, job->waiting);
	job->waiting = WAITING_NONE;
	return true;
}

void queue_remove(struct sched *s, uint32_t id)
{
	struct waiting w;

	if (queue_retire(s, id, &w))
		queue_drop(s, &w);
}

void queue_leave(struct sched *s, uint32_t id)
{
	struct waiting w;

	if (queue_retire(s, id, &w))
		vec_push(&s->left, w);
}

static bool queue_has(const struct sched *s, uint32_t job)
{
	return cluster_job(s->c, job)->waiting != WAITING_NONE;
}

static void entries_keep(const struct sched *s, entry_vec *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		if (queue_has(s, v->v[i].job))
			v->v[n++] = v->v[i];
	v->n = n;
}

void queue_settle(struct sched *s)
{
	size_t n = 0;

	if (s->left.n <= FEW) {
		for (size_t i = 0; i < s->left.n; i++)
			queue_drop(s, &s->left.v[i]);
	} else {
		entries_keep(s, &s->by_key);
		entries_keep(s, &s->by_fill);
		entries_keep(s, &s->by_due);
		for (size_t i = 0; i < s->wide.n; i++)
			if (queue_has(s, s->wide.v[i]))
				s->wide.v[n++] = s->wide.v[i];
		s->wide.n = n;
	}
	vec_clear(&s->left);
}

static int entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

void queue_sort(struct sched *s)
{
	for (size_t i = 0; i < s->by_key.n; i++) {
		struct entry *e = &s->by_key.v[i];
		e->key = order_key(s, s->order, cluster_job(s->c, e->job), e->length);
		queue_get(s, e->job)->key = e->key;
	}
	if (s->by_key.n > 1)
		qsort(s->by_key.v, s->by_key.n, sizeof *s->by_key.v, entry_cmp);
}
