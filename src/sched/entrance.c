/*
 * entrance.c - see entrance.h. Decisions are first tried by the same steps in a transaction that is
 * rolled back.
 */
#include "sched/entrance.h"

#include <stdlib.h>

#include "sched/position_internal.h"

/* A running job that may have to make room. */
struct candidate {
	double share; /* share of its walltime that the job has run */
	struct yield yield;
	uint32_t job;
};
typedef VEC(struct candidate) candidate_vec;

/* State of the search. */
struct search_in {
	struct sched *s;
	const struct job *job;
	item_vec others; /* waiting jobs with a place in the way */
	struct entrance *e;
};

void sched_on_yield(struct sched *s, sched_asks_yield yield, void *context)
{
	s->ears.yield = yield;
	s->ears.yield_context = context;
}

void entrance_fini(struct entrance *e)
{
	vec_free(&e->victims);
}

/* ---- one attempt ---- */

/* Inserts the job now; the places of the other jobs and the victims were taken out before. */
static bool insert_now(struct sched *s, const struct job *job, int64_t takes)
{
	return plan_insert(s->p, &s->plain, job->id, s->now, s->now + sched_length(s, job) + takes);
}

/* Lists the victims, followed by all waiting jobs. */
static void list_make(const struct sched *s, const job_vec *victims, const item_vec *others, item_vec *ret)
{
	for (size_t i = 0; i < victims->n; i++) {
		struct item x = item_of(s, cluster_job(s->c, victims->v[i]));
		x.start = s->now; /* also when they already wait and have no start */
		vec_push(ret, x);
	}
	for (size_t i = 0; i < others->n; i++)
		vec_push(ret, others->v[i]);
}

/* Places all items, which have no places, with guarantees kept. Returns false, with the plan
 * unchanged, if that is impossible. */
static bool list_try(struct sched *s, item_vec *list, int (*order)(const void *, const void *))
{
	plan_mark mark = plan_begin(s->p);
	item_vec v = {0};
	bool good;

	vec_copy(&v, list);
	if (order)
		items_sort(&v, order);
	good = items_arrange(s, &v, 0);
	if (good) {
		plan_commit(s->p, mark);
		vec_clear(list);
		for (size_t i = 0; i < v.n; i++)
			vec_push(list, v.v[i]);
	} else {
		plan_rollback(s->p, mark);
	}
	vec_free(&v);
	return good;
}

/* Does the same. If guarantees cannot be kept and settings allow breaking them, guaranteed jobs
 * are placed first. */
static bool list_arrange(struct sched *s, item_vec *list)
{
	if (list_try(s, list, NULL) || list_try(s, list, items_by_latest))
		return true;
	if (!s->c->settings.interactive_breaks)
		return false;
	items_sort(list, items_by_latest);
	for (size_t i = 0; i < list->n; i++)
		list->v[i].latest = TIME_NEVER;
	items_place(s, list, 0);
	return true;
}

enum verdict { FITS, NO_ROOM, BREAKS };

/* Returns whether the job can start if the victims are stopped. Nothing is changed. */
static enum verdict way_try(const struct search_in *in, const job_vec *victims, int64_t takes)
{
	struct sched *s = in->s;
	enum verdict v = NO_ROOM;
	item_vec list = {0};
	plan_mark mark;

	list_make(s, victims, &in->others, &list);
	for (size_t i = 0; i < victims->n; i++)
		restart_lift(s, victims->v[i]);
	mark = plan_begin(s->p);
	items_take(s, &list, 0);
	if (insert_now(s, in->job, takes))
		v = list_arrange(s, &list) ? FITS : BREAKS;
	plan_rollback(s->p, mark);
	for (size_t i = 0; i < victims->n; i++)
		restart_return(s, victims->v[i]);
	vec_free(&list);
	return v;
}

/* ---- choosing victims ---- */

static int by_share(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Collects the running jobs that may be stopped for an interactive one, starting with the one
 * that has run longest relative to its walltime, and those that may not be stopped yet. */
static void candidates_collect(const struct search_in *in, candidate_vec *ret, candidate_vec *ret_stay)
{
	const struct sched *s = in->s;

	for (uint32_t n = 0; n < s->p->nnodes; n++)
		for (size_t i = 0; i < s->p->node[n].pieces.n; i++) {
			const struct piece *x = &s->p->node[n].pieces.v[i];
			const struct job *job = cluster_job(s->c, x->job);
			struct candidate k = {.job = x->job};
			if (!x->running || x->frag != 0 || job->kind == KIND_EMERGENCY)
				continue;
			k.share = (double)(s->now - job->start) / (double)(job->walltime > 0 ? job->walltime : 1);
			if (s->ears.yield)
				k.yield = s->ears.yield(s->ears.yield_context, k.job);
			if (k.yield.from <= s->now)
				vec_push(ret, k);
			else
				vec_push(ret_stay, k);
		}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof *ret->v, by_share);
}

/* Collects the first n candidates that are not spared; returns the maximum seconds that they
 * take to leave. */
static int64_t victims_take(const candidate_vec *k, size_t n, const bool *spared, job_vec *ret)
{
	int64_t takes = 0;

	vec_clear(ret);
	for (size_t i = 0; i < n; i++)
		if (!spared || !spared[i]) {
			vec_push(ret, k->v[i].job);
			takes = k->v[i].yield.takes > takes ? k->v[i].yield.takes : takes;
		}
	return takes;
}

static void found(struct search_in *in, int64_t takes)
{
	in->e->way = ENTRANCE_DISPLACES;
	in->e->takes = takes;
	in->e->job = JOB_NONE;
}

/* Finds one job that is enough by itself. */
static bool find_one(struct search_in *in, const candidate_vec *k)
{
	for (size_t i = 0; i < k->n; i++) {
		enum verdict v;
		vec_clear(&in->e->victims);
		vec_push(&in->e->victims, k->v[i].job);
		v = way_try(in, &in->e->victims, k->v[i].yield.takes);
		if (v == FITS) {
			found(in, k->v[i].yield.takes);
			return true;
		}
		if (v == BREAKS && in->e->way != ENTRANCE_GUARANTEED) {
			in->e->way = ENTRANCE_GUARANTEED;
			in->e->job = k->v[i].job;
		}
	}
	return false;
}

/* Finds several victims, on nodes outside partitions: as few of the first candidates as suffice.
 * Of these, jobs that are not needed after all are spared, the one that has run shortest first. */
static bool find_several(struct search_in *in, const candidate_vec *k)
{
	size_t few = 1, many = k->n; /* binary search: `few` victims are too few, `many` are enough */
	bool *spared;
	int64_t takes;

	if (many < 2 || plan_in_partition(in->s->p, in->job->id) ||
	    way_try(in, &in->e->victims, victims_take(k, many, NULL, &in->e->victims)) != FITS)
		return false;
	while (many - few > 1) {
		size_t middle = few + (many - few) / 2;
		takes = victims_take(k, middle, NULL, &in->e->victims);
		*(way_try(in, &in->e->victims, takes) == FITS ? &many : &few) = middle;
	}
	spared = mem_zalloc(many * sizeof *spared);
	for (size_t i = many; i-- > 0;) {
		spared[i] = true;
		takes = victims_take(k, many, spared, &in->e->victims);
		spared[i] = way_try(in, &in->e->victims, takes) == FITS;
	}
	found(in, victims_take(k, many, spared, &in->e->victims));
	free(spared);
	return true;
}

/* Records as the obstacle the job that may be stopped first, of those that may not be stopped yet
 * and whose place would do. */
static void obstacle_find(struct search_in *in, const candidate_vec *stay)
{
	for (size_t i = 0; i < stay->n && in->e->way != ENTRANCE_GUARANTEED; i++) {
		const struct candidate *k = &stay->v[i];
		vec_clear(&in->e->victims);
		vec_push(&in->e->victims, k->job);
		if ((in->e->way != ENTRANCE_UNAVAILABLE || k->yield.from < in->e->from) &&
		    way_try(in, &in->e->victims, 0) != NO_ROOM) {
			in->e->way = ENTRANCE_UNAVAILABLE;
			in->e->job = k->job;
			in->e->from = k->yield.from;
		}
	}
	vec_clear(&in->e->victims);
}

static void entrance_find(struct sched *s, const struct job *job, struct entrance *ret)
{
	struct search_in in = {.s = s, .job = job, .e = ret};
	candidate_vec k = {0}, stay = {0};

	*ret = (struct entrance){.way = ENTRANCE_FULL, .job = JOB_NONE, .from = TIME_NEVER};
	items_collect(s, job->id, &in.others);
	if (!sched_may(s, job->id)) {
		ret->way = ENTRANCE_LIMITED;
	} else if (way_try(&in, &ret->victims, 0) == FITS) {
		ret->way = ENTRANCE_FREE;
	} else {
		candidates_collect(&in, &k, &stay);
		if (!find_one(&in, &k) && !find_several(&in, &k))
			obstacle_find(&in, &stay);
	}
	vec_free(&stay);
	vec_free(&k);
	vec_free(&in.others);
}

void sched_entrance(struct sched *s, uint32_t job, int64_t now, struct entrance *ret)
{
	int64_t before = s->now;

	s->now = now;
	entrance_find(s, cluster_job(s->c, job), ret);
	s->now = before;
	plan_forget(s->p, job); /* the next job may have another number of fragments */
}

/* ---- starting the job ---- */

static void entrance_use(struct sched *s, const struct job *job, const struct entrance *e)
{
	item_vec others = {0}, one = {0}, list = {0};

	items_collect(s, job->id, &others);
	vec_push(&one, item_of(s, job));
	items_take(s, &others, 0);
	for (size_t i = 0; i < e->victims.n; i++) {
		restart_drop(s, e->victims.v[i]);
		plan_take_job(s->p, e->victims.v[i]);
	}
	insert_now(s, job, e->takes);
	items_publish(s, &one, JOB_NONE);
	for (size_t i = 0; i < e->victims.n; i++)
		displace_stop(s, e->victims.v[i], job->id);
	list_make(s, &e->victims, &others, &list);
	list_arrange(s, &list);
	items_publish(s, &list, job->id);
	vec_free(&list);
	vec_free(&one);
	vec_free(&others);
}

void entrance_add(struct sched *s, const struct job *job)
{
	struct entrance e = {.way = ENTRANCE_FULL};

	if (job->attempt == 0) /* it did not fail to start before */
		entrance_find(s, job, &e);
	if (e.way <= ENTRANCE_DISPLACES)
		entrance_use(s, job, &e);
	else
		sched_emit(s, EVENT_EXPIRE, job->id, 0, JOB_NONE);
	entrance_fini(&e);
}
