/*
 * items.c - waiting jobs that are being placed: their order, and the events that result
 * (position.c).
 */
#include <stdlib.h>
#include <string.h>

#include "sched/position_internal.h"

#define ITEM_WORK 100	  /* cost of placing a job, in nodes examined */
#define ENTRIES_A_NODE 64 /* queue entries that cost as much to skip as a node to examine */
#define ROUNDS 3	  /* an order of n jobs is given up after ROUNDS * n + SPARE placements */
#define SPARE 256	  /* see ROUNDS */

bool item_is_nice(const struct sched *s, const struct job *job)
{
	return job->nice > s->now;
}

uint64_t places_hash(const struct sched *s, uint32_t job)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < plan_hold(s->p, job)->nfrags; i++)
		hash = hash * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)plan_place(s->p, job, i)->node + 1;
	return hash;
}

struct item item_of(const struct sched *s, const struct job *job)
{
	struct item x = {.start = TIME_NEVER,
			 .length = sched_length(s, job),
			 .latest = TIME_NEVER,
			 .rank = job->rank,
			 .job = job->id,
			 .node = NODE_ANY,
			 .nice = item_is_nice(s, job)};

	if (plan_holds(s->p, job->id)) {
		x.start = plan_piece(s->p, job->id, 0)->start;
		x.node = plan_place(s->p, job->id, 0)->node;
		if (is_special(job))
			x.where = places_hash(s, job->id);
	}
	if (job->guaranteed)
		x.latest = cluster_latest(s->c, job);
	x.ahead = is_special(job) && !job->guaranteed;
	return x;
}

static int by_rank(const struct item *x, const struct item *y)
{
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

int items_by_arrival(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->ahead != y->ahead)
		return x->ahead ? -1 : 1;
	return x->nice != y->nice ? x->nice - y->nice : by_rank(x, y);
}

int items_by_start(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return by_rank(x, y);
}

int items_by_latest(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->latest != y->latest)
		return x->latest < y->latest ? -1 : 1;
	return items_by_start(a, b);
}

void items_sort(item_vec *v, int (*order)(const void *, const void *))
{
	if (v->n > 1)
		qsort(v->v, v->n, sizeof *v->v, order);
}

/* Returns true if the item's place is on nodes that the job could use: they may be in each
 * other's way. */
static bool in_way(const struct sched *s, uint32_t job, const struct item *x)
{
	uint32_t partition = x->node == NODE_ANY ? PARTITION_NONE : s->c->nodes.v[x->node].partition;

	if (!plan_in_partition(s->p, job))
		return partition == PARTITION_NONE;
	return partition && plan_may_use(s->p, job, &s->c->partitions.v[partition - 1]);
}

void items_collect(const struct sched *s, uint32_t job, item_vec *ret)
{
	const struct queued *e;

	for (struct spot i = {0}; (e = ranks_next(&s->line.by_key, &i, true)); i.at++) {
		struct item x = item_of(s, cluster_job(s->c, e->job));
		x.listed = e->planned == x.start;
		if (job == JOB_NONE || in_way(s, job, &x))
			vec_push(ret, x);
	}
	for (size_t i = 0; i < s->special.n; i++) {
		const struct job *other = cluster_job(s->c, s->special.v[i]);
		struct item x;
		if (other->state != STATE_ALLOCATED || other->id == job)
			continue;
		x = item_of(s, other);
		if (job == JOB_NONE || in_way(s, job, &x))
			vec_push(ret, x);
	}
	items_sort(ret, items_by_start);
	s->p->work += s->line.by_key.n / ENTRIES_A_NODE + 2 * ret->n;
}

int64_t item_place(struct sched *s, const struct item *x, int64_t from)
{
	s->p->work += ITEM_WORK + s->c->partitions.n;
	return place_earliest(s, x->job, from, x->length);
}

void items_take(struct sched *s, const item_vec *v, size_t from)
{
	for (size_t i = from; i < v->n; i++)
		plan_take_job(s->p, v->v[i].job);
}

static bool is_late(const struct item *x, int64_t at)
{
	return x->latest != TIME_NEVER && (at == TIME_NEVER || at > x->latest);
}

/* ---- the order ---- */

size_t items_place(struct sched *s, const item_vec *v, size_t from)
{
	for (size_t i = from; i < v->n; i++)
		if (is_late(&v->v[i], item_place(s, &v->v[i], s->now))) {
			plan_take_job(s->p, v->v[i].job);
			return i;
		}
	return v->n;
}

/* Returns true if a late job has a place in time without items [from, to), which have places. If
 * not, those stay out. */
static bool item_in_time(struct sched *s, const item_vec *v, const struct item *x, size_t from, size_t to)
{
	plan_mark mark = plan_begin(s->p);
	bool good;

	for (size_t i = from; i < to; i++)
		plan_take_job(s->p, v->v[i].job);
	good = !is_late(x, item_place(s, x, s->now));
	if (good) {
		plan_rollback(s->p, mark);
	} else {
		plan_take_job(s->p, x->job);
		plan_commit(s->p, mark);
	}
	return good;
}

/* Moves a late job up to the last position that meets its deadline; the jobs it passes lose
 * their places. Returns the new position, where the job is placed, or SIZE_MAX if there is none.
 * The fewer jobs are ahead, the earlier its place, so the position is found in steps that
 * double, then by binary search. */
static size_t item_move_up(struct sched *s, item_vec *v, size_t at)
{
	struct item x = v->v[at];
	size_t late = at, good = SIZE_MAX, step = 1;

	while (late > 0 && good == SIZE_MAX) {
		size_t to = late > step ? late - step : 0;
		if (item_in_time(s, v, &x, to, late))
			good = to;
		else
			late = to;
		step *= 2;
	}
	if (good == SIZE_MAX)
		return SIZE_MAX;
	while (late - good > 1) {
		size_t mid = good + (late - good) / 2;
		if (item_in_time(s, v, &x, mid, late))
			good = mid;
		else
			late = mid;
	}
	for (size_t i = good; i < late; i++)
		plan_take_job(s->p, v->v[i].job);
	item_place(s, &x, s->now);
	memmove(&v->v[good + 1], &v->v[good], (at - good) * sizeof x);
	v->v[good] = x;
	return good;
}

bool items_arrange(struct sched *s, item_vec *v, size_t from)
{
	uint64_t began = s->p->work, most = (ROUNDS * v->n + SPARE) * (ITEM_WORK + s->c->partitions.n);

	while ((from = items_place(s, v, from)) < v->n) {
		if (s->p->work - began > most) /* two jobs might otherwise pass each other forever */
			return false;
		from = item_move_up(s, v, from);
		if (from == SIZE_MAX)
			return false;
		from++;
	}
	return true;
}

/* ---- results ---- */

void item_publish_common(struct sched *s, const struct item *x, int64_t start)
{
	ranks_plan(&s->line.by_key, queue_entry(s, x->job), start);
	if (start < s->next_planned)
		s->next_planned = start;
}

static void publish_special(struct sched *s, const struct item *x, int64_t start, uint32_t by)
{
	const struct job *job = cluster_job(s->c, x->job);

	if (start == TIME_NEVER) {
		if (job->state == STATE_ALLOCATED)
			sched_emit(s, EVENT_DEALLOCATE, x->job, 0, by);
		return;
	}
	if (job->state == STATE_CANDIDATE || start != x->start || places_hash(s, x->job) != x->where)
		sched_emit(s, EVENT_ALLOCATE, x->job, start, JOB_NONE);
	if (job->deadline != TIME_NEVER && !job->interactive && !job->guaranteed && !cluster_nights_short(s->c, job) &&
	    start <= cluster_latest(s->c, job))
		sched_emit(s, EVENT_GUARANTEE, x->job, 0, JOB_NONE);
}

/* Announces a job's present place if it differs from the one announced before. */
static void place_tell(struct sched *s, uint32_t id, int64_t start)
{
	struct waiting *w = queue_get(s, id);
	uint64_t where = start == TIME_NEVER ? 0 : places_hash(s, id);

	if (start == w->kept && where == w->where)
		return;
	s->line.kept += (size_t)((start != TIME_NEVER) - (w->kept != TIME_NEVER));
	w->kept = start;
	w->where = where;
	sched_emit(s, EVENT_KEEP, id, start == TIME_NEVER ? 0 : start, JOB_NONE);
}

void places_tell(struct sched *s)
{
	size_t planned = s->line.by_key.nplanned, kept = s->line.kept;
	const struct queued *e;

	/* the jobs at the end of a long queue have no place, and had none */
	for (struct spot i = {0}; planned + kept && (e = ranks_at(&s->line.by_key, &i)); i.at++) {
		planned -= e->planned != TIME_NEVER;
		kept -= queue_get(s, e->job)->kept != TIME_NEVER;
		place_tell(s, e->job, e->planned);
	}
}

void place_forget(struct sched *s, uint32_t id)
{
	if (cluster_job(s->c, id)->waiting == WAITING_NONE || queue_get(s, id)->kept == TIME_NEVER)
		return;
	plan_take_job(s->p, id);
	place_tell(s, id, TIME_NEVER);
}

bool sched_kept(const struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	return job->state == STATE_CANDIDATE && job->waiting != WAITING_NONE && queue_get(s, id)->kept != TIME_NEVER;
}

void items_publish(struct sched *s, const item_vec *v, uint32_t by)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct item *x = &v->v[i];
		int64_t start = plan_holds(s->p, x->job) ? plan_piece(s->p, x->job, 0)->start : TIME_NEVER;
		if (is_special(cluster_job(s->c, x->job)))
			publish_special(s, x, start, by);
		else if (start != x->start || !x->listed)
			item_publish_common(s, x, start);
	}
}
