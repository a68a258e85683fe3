/*
 * queue.c - waiting common jobs, sorted (ranks.h). Keys are fixed when a job arrives, except
 * priorities.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/marks.h"
#include "sched/cursor.h"
#include "sched/sched_internal.h"

#define ROOM 64		 /* jobs that may be added to a queue in a scratch before it is copied again */
#define ENTRIES_A_NODE 8 /* entries that cost as much to move as a node to examine */
#define FEW 16		 /* maximum jobs sorted in one by one rather than together */
#define WEIGH_EVERY 10	 /* seconds between recomputations of priorities */
#define LINE_NODES 8	 /* cost of checking a line, or of a job entering it, in nodes examined */
#define WEIGH_NODES 4	 /* cost of weighing a job, in nodes examined */
#define SORT_NODES 1	 /* cost of sorting in a job, in nodes examined */
/* records of jobs that left again are purged if there are more of them than this and than waiting
 * jobs */
#define STALE 1024

static double order_key(struct sched *s, enum queue_order order, const struct job *job, int64_t length)
{
	if (order == ORDER_PRIORITY)
		/* all keys are for the same instant */
		return -s->ears.weigh(s->ears.weigh_context, job->id, s->line.weighed);

	double r = job->rank, p = (double)length, q = (double)cluster_job_request(s->c, job)->total.v[RES_CPU];

	switch (order) {
	case ORDER_SHORTEST:
		return p;
	case ORDER_SMALLEST:
		return q;
	case ORDER_LARGEST:
		return -q;
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
	case ORDER_WFP3: /* the order changes with time: a cursor computes it */
		return rising_shape(size_class(s, job), length);
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
	return &s->line.waiting.v[cluster_job(s->c, job)->waiting];
}

static int32_t entry_cpus(const struct sched *s, uint32_t job)
{
	return (int32_t)cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU];
}

double queue_key(const struct sched *s, const struct waiting *w)
{
	const struct job *job = cluster_job(s->c, w->job);

	if (s->order != ORDER_WFP3)
		return w->key;
	return rising_key(s->line.weighed, job->rank, w->length, entry_cpus(s, w->job));
}

bool queue_before(const struct sched *s, uint32_t a, uint32_t b)
{
	double x = queue_key(s, queue_get(s, a)), y = queue_key(s, queue_get(s, b));

	return x < y || (x == y && a < b);
}

struct queued *queue_entry(const struct sched *s, uint32_t job)
{
	struct spot at = ranks_find(&s->line.by_key, queue_get(s, job)->key, job);

	return ranks_at(&s->line.by_key, &at);
}

static bool is_wide(const struct sched *s, int64_t cpus)
{
	return 2 * cpus > s->c->total.v[RES_CPU];
}

/* Makes an entry. A restored job may have a place. */
static struct queued entry_of(const struct waiting *w, double key, int32_t cpus)
{
	return (struct queued){
		.key = key, .length = w->length, .class = w->size, .planned = w->kept, .job = w->job, .cpus = cpus};
}

/* ---- copying ---- */

void line_copy(struct line *to, const struct line *from, struct scratch *scratch)
{
	ranks_copy(&to->by_key, &from->by_key, scratch);
	ranks_copy(&to->by_fill, &from->by_fill, scratch);
	ranks_copy(&to->by_due, &from->by_due, scratch);
	to->borrowed = scratch != NULL;
	if (!scratch) {
		vec_copy(&to->waiting, &from->waiting);
		return;
	}
	to->waiting.n = from->waiting.n;
	to->waiting.cap = from->waiting.n + ROOM;
	to->waiting.v = scratch_take(scratch, to->waiting.cap * sizeof *to->waiting.v);
	if (from->waiting.n)
		memcpy(to->waiting.v, from->waiting.v, from->waiting.n * sizeof *to->waiting.v);
}

void line_free(struct line *l)
{
	ranks_free(&l->by_key);
	ranks_free(&l->by_fill);
	ranks_free(&l->by_due);
	if (l->borrowed)
		l->waiting.v = NULL;
	vec_free(&l->waiting);
}

size_t line_bytes(const struct sched *s)
{
	const struct line *l = &s->line;

	return ranks_bytes(&l->by_key) + ranks_bytes(&l->by_fill) + ranks_bytes(&l->by_due) +
	       (l->waiting.n + ROOM) * sizeof(struct waiting) + SCRATCH_ALIGN;
}

/* Makes the records owned, if they are borrowed and full, before one is added. */
static void waiting_own(struct line *l)
{
	struct line old = *l;

	if (!l->borrowed || l->waiting.n < l->waiting.cap)
		return;
	vec_copy(&l->waiting, &old.waiting);
	l->borrowed = false;
}

/* ---- adding and removing ---- */

size_t queue_size(const struct sched *s)
{
	return s->line.waiting.n - s->line.spare.n;
}

bool queue_has(const struct sched *s, uint32_t job)
{
	return job != JOB_NONE && cluster_job(s->c, job)->waiting != WAITING_NONE && !queue_get(s, job)->line;
}

/* Returns true if a list holds too many stale records: while no cycle runs, thousands of jobs
 * may come and leave again. */
static bool is_stale(const struct sched *s, const job_vec *v)
{
	return v->n > STALE && v->n > 2 * queue_size(s);
}

void queue_add(struct sched *s, uint32_t id)
{
	struct job *job = cluster_job(s->c, id);
	struct waiting *w;

	if (is_stale(s, &s->line.came) || is_stale(s, &s->line.fresh))
		queue_settle(s);
	if (s->line.spare.n) {
		job->waiting = s->line.spare.v[--s->line.spare.n];
	} else {
		waiting_own(&s->line);
		job->waiting = (uint32_t)s->line.waiting.n;
		vec_push(&s->line.waiting, (struct waiting){0});
	}
	s->line.bound |= job->bound != 0;
	w = &s->line.waiting.v[job->waiting];
	*w = (struct waiting){.job = id, .length = sched_length(s, job), .fresh = true, .kept = TIME_NEVER};
	w->size = (uint8_t)size_class(s, job);
	if (s->policy->know == KNOW_PREDICTION) {
		w->pred = history_predict(s, job);
		w->length = (int64_t)w->pred + sched_overhead(s, job);
	}
	if (s->due.dates) {
		due_submit(s, w);
		history_wait(s, job, w->pred);
	} else {
		w->key = order_key(s, s->order, job, w->length);
		w->next = w->key;
		w->fill = s->backfill == s->order ? w->key : order_key(s, s->backfill, job, w->length);
	}
	vec_push(&s->line.came, id);
	vec_push(&s->line.fresh, id);
}

/* Removes a job from one of the sorted lists, and counts the cost. */
static void entry_drop(struct sched *s, struct ranks *r, double key, uint32_t job)
{
	s->p->work += (ranks_remove(r, key, job) + 1) / ENTRIES_A_NODE;
}

/* Removes a job from the sorted lists and from `wide`. */
static void queue_take_out(struct sched *s, const struct waiting *w)
{
	if (!w->sorted)
		return;
	entry_drop(s, &s->line.by_key, w->key, w->job);
	if (queue_has_fill(s))
		entry_drop(s, &s->line.by_fill, w->fill, w->job);
	if (s->due.dates)
		entry_drop(s, &s->line.by_due, w->due, w->job);
	for (size_t i = 0; w->wide && i < s->line.wide.n; i++)
		if (s->line.wide.v[i] == w->job)
			vec_remove(&s->line.wide, i);
}

/* Removes a job from the queue, except for the sorted lists. */
static bool queue_retire(struct sched *s, uint32_t id, struct waiting *ret)
{
	struct job *job = cluster_job(s->c, id);

	if (job->waiting == WAITING_NONE)
		return false;
	*ret = s->line.waiting.v[job->waiting];
	s->line.kept -= ret->kept != TIME_NEVER;
	if (s->due.dates && !ret->line)
		history_unwait(s, job, ret->pred);
	if (s->limits && !ret->line) /* a job that waits in line behind it may be next */
		limits_stir(s->limits, job->limits);
	if (s->ears.marks && ret->line)
		marks_set(s->ears.marks, id);
	vec_push(&s->line.spare, job->waiting);
	job->waiting = WAITING_NONE;
	s->line.mixed = true;
	return true;
}

void queue_remove(struct sched *s, uint32_t id)
{
	struct waiting w;

	if (queue_retire(s, id, &w))
		queue_take_out(s, &w);
}

/* Gives an entry of one of the sorted lists the class, and the key, of its job's record. */
static void entry_renew(struct ranks *r, const struct waiting *w, double was, double key)
{
	struct spot at = ranks_find(r, was, w->job);
	struct queued e = *ranks_at(r, &at);

	ranks_remove(r, was, w->job);
	e.class = w->size;
	e.key = key;
	ranks_insert(r, &e);
}

void queue_reclass(struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);
	struct waiting *w = job->waiting == WAITING_NONE ? NULL : queue_get(s, id);
	unsigned class = w ? size_class(s, job) : 0;
	double was = w ? w->key : 0;

	if (!w || class == w->size)
		return;
	w->size = (uint8_t) class;
	if (s->order == ORDER_WFP3)
		w->key = w->next = order_key(s, s->order, job, w->length);
	if (!w->sorted)
		return;
	entry_renew(&s->line.by_key, w, was, w->key);
	if (queue_has_fill(s))
		entry_renew(&s->line.by_fill, w, w->fill, w->fill);
	if (s->due.dates)
		entry_renew(&s->line.by_due, w, w->due, w->due);
}

/* ---- limits ---- */

/* Hashes what decides whether a job fits: of two jobs with equal values one fits if the other does,
 * apart from keys to reservations that name jobs. Other jobs of one class have the same keys. */
static uint64_t job_shape(const struct job *job)
{
	uint64_t of[5] = {job->request, (uint64_t)job->walltime, job->allowed, job->attempt > 0, job->bound};

	return hash_bytes(of, sizeof of);
}

/* Returns the rank among jobs that wait for the same limits: by rank, or by present priority. */
static int64_t line_rank(const struct sched *s, const struct job *job, const struct waiting *w)
{
	double rank = s->order == ORDER_PRIORITY ? w->key * 1e3 : job->rank * 1e6;

	return llround(fmax(-9e18, fmin(9e18, rank)));
}

void queue_line_up(struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	if (!queue_has(s, id)) /* the job is being started */
		return;
	if (plan_holds(s->p, id)) { /* the place was not promised */
		place_forget(s, id);
		plan_take_job(s->p, id);
		for (size_t i = 0; i < s->reserved.n; i++)
			if (s->reserved.v[i] == id)
				vec_remove(&s->reserved, i);
	}
	if (s->head == id)
		s->head = JOB_NONE;
	struct waiting *w = queue_get(s, id);
	s->p->work += LINE_NODES;
	queue_take_out(s, w);
	w->sorted = w->fresh = w->wide = false;
	w->line = s->line.mixed = true;
	if (s->ears.marks)
		marks_set(s->ears.marks, id);
	if (s->due.dates)
		history_unwait(s, job, w->pred);

	struct limit_need need = sched_need(s, job);
	limits_wait(s->limits, job->limits, &need, job_shape(job), line_rank(s, job, w), id);
}

bool queue_in_line(const struct sched *s, uint32_t job)
{
	return cluster_job(s->c, job)->waiting != WAITING_NONE && queue_get(s, job)->line;
}

static bool line_leave(void *context, uint32_t id)
{
	struct sched *s = context;
	const struct job *job = cluster_job(s->c, id);

	if (!queue_in_line(s, id))
		return false;

	struct waiting *w = queue_get(s, id);
	w->line = false;
	w->fresh = true;
	if (s->ears.marks)
		marks_set(s->ears.marks, id);
	if (s->order == ORDER_PRIORITY)
		w->key = w->next = order_key(s, s->order, job, w->length);
	if (s->due.dates)
		history_wait(s, job, w->pred);
	vec_push(&s->line.came, id);
	vec_push(&s->line.fresh, id);
	if (s->starving)
		patience_begin(s, job);
	return true;
}

void queue_offer(struct sched *s)
{
	uint64_t most = s->effort.pace ? s->effort.pace / LINE_NODES + 1 : SIZE_MAX;

	if (s->limits && !limits_offer(s->limits, most, line_leave, s))
		/* no job starts until all lines have been checked: their order decides */
		s->effort.unfinished = true;
}

/* ---- sorting in ---- */

/* Adds the jobs of `came` to one of the sorted lists, by the key at `offset` of their records. */
static void entries_add(const struct sched *s, struct ranks *r, size_t offset)
{
	queued_vec batch = {0};

	for (size_t i = 0; i < s->line.came.n; i++) {
		const struct waiting *w = queue_get(s, s->line.came.v[i]);
		const double *key = (const double *)((const char *)w + offset);
		struct queued e = entry_of(w, *key, entry_cpus(s, w->job));
		if (s->line.came.n <= FEW)
			ranks_insert(r, &e);
		else
			vec_push(&batch, e);
	}
	if (batch.n)
		ranks_merge(r, &batch);
	vec_free(&batch);
}

/* Keeps jobs that have not left again, each once, at its last position. The flag at offset `flag`
 * of a record has the value `value` until the job is visited. */
static void list_keep(const struct sched *s, job_vec *v, size_t flag, bool value)
{
	size_t to = v->n;

	for (size_t i = v->n; i-- > 0;) {
		bool *own = queue_has(s, v->v[i]) ? (bool *)((char *)queue_get(s, v->v[i]) + flag) : NULL;
		if (!own || *own != value)
			continue;
		*own = !value;
		v->v[--to] = v->v[i];
	}
	if (to == 0)
		return;
	memmove(v->v, v->v + to, (v->n - to) * sizeof *v->v);
	v->n -= to;
}

/* Marks jobs that came, and have not left again, as sorted in. */
static void came_settle(struct sched *s)
{
	if (s->line.mixed) {
		list_keep(s, &s->line.came, offsetof(struct waiting, sorted), false);
		return;
	}
	for (size_t i = 0; i < s->line.came.n; i++)
		queue_get(s, s->line.came.v[i])->sorted = true;
}

void queue_settle_fresh(struct sched *s)
{
	if (!s->line.mixed)
		return;
	list_keep(s, &s->line.fresh, offsetof(struct waiting, fresh), true);
	for (size_t i = 0; i < s->line.fresh.n; i++)
		queue_get(s, s->line.fresh.v[i])->fresh = true;
}

/* Adds a job to `wide`. Most come last; one that returns, after a hold or a start that failed,
 * comes before those that were submitted after it. */
static void wide_add(struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);
	size_t at = s->line.wide.n;

	for (; at > 0; at--) {
		const struct job *before = cluster_job(s->c, s->line.wide.v[at - 1]);
		if (before->rank < job->rank || (before->rank == job->rank && before->id < id))
			break;
	}
	vec_insert(&s->line.wide, at, id);
	queue_get(s, id)->wide = true;
}

void queue_settle(struct sched *s)
{
	s->p->work += s->line.came.n * SORT_NODES;
	came_settle(s);
	if (s->line.came.n) {
		entries_add(s, &s->line.by_key, offsetof(struct waiting, key));
		if (queue_has_fill(s))
			entries_add(s, &s->line.by_fill, offsetof(struct waiting, fill));
		if (s->due.dates)
			entries_add(s, &s->line.by_due, offsetof(struct waiting, due));
		for (size_t i = 0; i < s->line.came.n && s->due.dates; i++)
			if (is_wide(s, entry_cpus(s, s->line.came.v[i])))
				wide_add(s, s->line.came.v[i]);
	}
	vec_clear(&s->line.came);
	queue_settle_fresh(s);
	s->line.mixed = false;
}

bool queue_is_stale(const struct sched *s)
{
	const struct line *l = &s->line;

	if (l->weighing || l->reweigh)
		return true;
	if (l->ordered)
		return false;
	return s->order == ORDER_WFP3 ||
	       (s->order == ORDER_PRIORITY && l->drifts && s->now - l->weighed >= WEIGH_EVERY);
}

static void weigh_begin(struct sched *s)
{
	s->line.weighing = true;
	s->line.reweigh = false;
	s->line.weighed = s->now;
	s->line.weighed_to = 0;
	if (s->order == ORDER_PRIORITY && s->ears.prepare)
		s->ears.prepare(s->ears.weigh_context, s->now);
}

/* Returns true if a record belongs to a job in the sorted lists. */
static bool is_sorted(const struct sched *s, size_t at)
{
	const struct waiting *w = &s->line.waiting.v[at];

	return w->sorted && !w->line && cluster_job(s->c, w->job)->waiting == at;
}

/* Returns true if a record belongs to a job that waits behind a limit in the order of
 * priorities. */
static bool is_lined(const struct sched *s, size_t at)
{
	const struct waiting *w = &s->line.waiting.v[at];

	return w->line && s->order == ORDER_PRIORITY && cluster_job(s->c, w->job)->waiting == at;
}

static int64_t line_rank_again(void *context, uint32_t id, int64_t old)
{
	const struct sched *s = context;

	return queue_in_line(s, id) ? line_rank(s, cluster_job(s->c, id), queue_get(s, id)) : old;
}

/* Ranks jobs behind limits again. They got there at different instants, and only priorities of
 * one instant can be compared. */
static void lines_weighed(struct sched *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->line.waiting.n && s->limits; i++)
		if (is_lined(s, i)) {
			s->line.waiting.v[i].key = s->line.waiting.v[i].next;
			n++;
		}
	if (n)
		limits_rerank(s->limits, line_rank_again, s);
	s->p->work += n * SORT_NODES;
}

/* Rebuilds the list once all jobs have been weighed. Records are visited in memory order, which is
 * not the list's. */
static void weigh_end(struct sched *s)
{
	size_t n = s->line.by_key.n;
	queued_vec v = {0};

	vec_reserve(&v, n);
	for (size_t i = 0; i < s->line.waiting.n; i++) {
		struct waiting *w = &s->line.waiting.v[i];
		struct queued e;
		if (!is_sorted(s, i))
			continue;
		w->key = w->next;
		e = entry_of(w, w->key, entry_cpus(s, w->job));
		if (s->policy->keep)
			e.planned = plan_holds(s->p, w->job) ? plan_piece(s->p, w->job, 0)->start : TIME_NEVER;
		vec_push(&v, e);
	}
	assert(v.n == n);
	ranks_build(&s->line.by_key, &v);
	vec_free(&v);
	lines_weighed(s);
	s->line.weighing = false;
	s->line.ordered = true;
	s->p->work += n * SORT_NODES;
}

bool queue_weigh(struct sched *s)
{
	struct line *l = &s->line;

	if (s->order == ORDER_WFP3) {
		l->weighed = s->now;
		l->ordered = true;
		l->reweigh = false;
		return true;
	}
	if (!l->weighing || l->reweigh)
		weigh_begin(s);
	while (l->weighed_to < l->waiting.n) {
		size_t i = l->weighed_to++;
		struct waiting *w = &l->waiting.v[i];
		if (!is_sorted(s, i) && !is_lined(s, i))
			continue;
		w->next = order_key(s, s->order, cluster_job(s->c, w->job), w->length);
		s->p->work += WEIGH_NODES;
		if (cycle_tired(s))
			return false;
	}
	weigh_end(s);
	return !cycle_tired(s);
}
