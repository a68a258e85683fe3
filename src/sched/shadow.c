/*
 * shadow.c - EASY on counts of CPUs, one event after another.
 */
#include "sched/shadow.h"

#include <math.h>
#include <string.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/timetext.h"
#include "base/vec.h"

#define EVENTS_MAX 64		      /* events in one call */
#define BLOCK 128		      /* waiting jobs that share a summary */
#define GONE_FEW 8		      /* jobs that have left which do not matter */
#define CAUTION 300		      /* number of jobs at which half of a difference counts */
#define BRIEF 10		      /* shortest run time in the bounded slowdown, seconds */
#define LAG_MAX (60 * INT64_C(86400)) /* seconds behind reality after which the shadow begins again */

enum { UNKNOWN = -1 };

struct follower {
	uint32_t job, serial; /* serial: distinguishes the jobs that used this record */
	int64_t cpus, length;
	int64_t submit;
	int64_t begin, end; /* in reality; UNKNOWN: not yet */
	int64_t start;	    /* in the shadow; UNKNOWN: not yet */
	bool used;
};

struct candidate {
	int64_t length;
	int64_t cpus; /* UNKNOWN: it has left */
	uint32_t who, serial;
};

/* The least of some waiting jobs; removals leave it too small, which only costs time. */
struct summary {
	int64_t cpus, length;
};

struct holder {
	int64_t until; /* planned end */
	int64_t cpus;
	uint32_t who;
};

struct shadow {
	int64_t clock, cpus, free;
	int64_t planned;  /* instant up to which planned ends have given back their CPUs */
	struct map index; /* job -> record + 1 */
	VEC(struct follower) record;
	VEC(uint32_t) spare;
	uint32_t serial;
	struct heap coming;	     /* (submission, serial, record) */
	VEC(struct candidate) queue; /* by arrival, from `first` on */
	VEC(struct summary) blocks;
	size_t first, fresh;	    /* first that waits; first that no pass has seen */
	size_t gone;		    /* number of those that have left */
	VEC(struct holder) running; /* by planned end */
	struct heap ends;	    /* (end, serial, record) of running jobs that have ended in reality */
	struct heap unstarted;	    /* (start, serial, record) of running jobs that wait in reality */
	struct heap unfinished;	    /* (start - begin, serial, record) of those that run in reality */
	int64_t reserved, extra;    /* start of the head's reservation; CPUs that it leaves then */
	bool freed;
	struct shadow_sums ours, easy;
	struct shadow_sums ratios; /* ours divided by easy (shadow_ratios); kept up to date */
	int64_t ended;
};

struct shadow *shadow_create(void)
{
	struct shadow *h = mem_zalloc(sizeof *h);

	h->ratios = (struct shadow_sums){.turnaround = 1, .slowdown = 1, .area = 1};
	return h;
}

static void jobs_forget(struct shadow *h)
{
	map_fini(&h->index);
	vec_free(&h->record);
	vec_free(&h->spare);
	heap_fini(&h->coming);
	vec_free(&h->queue);
	vec_free(&h->blocks);
	vec_free(&h->running);
	heap_fini(&h->ends);
	heap_fini(&h->unstarted);
	heap_fini(&h->unfinished);
}

void shadow_destroy(struct shadow *h)
{
	if (!h)
		return;
	jobs_forget(h);
	free(h);
}

/* Begins again with an empty machine; the sums stay. */
static void begin_again(struct shadow *h)
{
	struct shadow fresh = {.clock = h->clock,
			       .planned = h->planned,
			       .cpus = h->cpus,
			       .free = h->cpus,
			       .serial = h->serial,
			       .ours = h->ours,
			       .easy = h->easy,
			       .ratios = h->ratios,
			       .ended = h->ended};

	jobs_forget(h);
	*h = fresh;
}

static struct follower *follower_find(const struct shadow *h, uint32_t job)
{
	uint64_t at;

	return map_get(&h->index, job, &at) ? &h->record.v[at] : NULL;
}

static void follower_drop(struct shadow *h, struct follower *f)
{
	map_remove(&h->index, f->job);
	f->used = false;
	vec_push(&h->spare, (uint32_t)(f - h->record.v));
}

void shadow_wait(struct shadow *h, uint32_t job, int64_t when, int64_t cpus, int64_t length)
{
	uint32_t at;

	shadow_leave(h, job);
	if (h->spare.n) {
		at = h->spare.v[--h->spare.n];
	} else {
		at = (uint32_t)h->record.n;
		vec_push(&h->record, (struct follower){0});
	}
	h->record.v[at] = (struct follower){.job = job,
					    .serial = h->serial++,
					    .cpus = cpus,
					    .length = length,
					    .submit = when > h->clock ? when : h->clock,
					    .begin = UNKNOWN,
					    .end = UNKNOWN,
					    .start = UNKNOWN,
					    .used = true};
	map_set(&h->index, job, at);
	heap_push(&h->coming, h->record.v[at].submit, h->record.v[at].serial, at);
}

/* Puts a job that runs in the shadow where it belongs by what is known of it. */
static void follower_watch(struct shadow *h, const struct follower *f)
{
	uint64_t at = (uint64_t)(f - h->record.v);

	if (f->end != UNKNOWN)
		heap_push(&h->ends, f->start + f->end - f->begin, f->serial, at);
	else if (f->begin != UNKNOWN)
		heap_push(&h->unfinished, f->start - f->begin, f->serial, at);
	else
		heap_push(&h->unstarted, f->start, f->serial, at);
}

void shadow_start(struct shadow *h, uint32_t job, int64_t when)
{
	struct follower *f = follower_find(h, job);

	if (!f)
		return;
	f->begin = when;
	if (f->start != UNKNOWN)
		follower_watch(h, f);
}

void shadow_finish(struct shadow *h, uint32_t job, int64_t when)
{
	struct follower *f = follower_find(h, job);

	if (!f)
		return;
	if (f->begin == UNKNOWN)
		f->begin = when;
	f->end = when;
	if (f->start != UNKNOWN)
		follower_watch(h, f);
}

/* Gives back the CPUs of a job that runs, unless its planned end has done so. */
static void holder_remove(struct shadow *h, const struct follower *f)
{
	uint32_t who = (uint32_t)(f - h->record.v);
	size_t low = 0, high = h->running.n;

	h->freed = true;
	if (f->start + f->length <= h->planned)
		return;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (h->running.v[mid].until < f->start + f->length)
			low = mid + 1;
		else
			high = mid;
	}
	while (h->running.v[low].who != who)
		low++;
	h->free += h->running.v[low].cpus;
	vec_remove(&h->running, low);
}

/* Takes planned ends for ends, as EASY does. */
static void planned_take(struct shadow *h)
{
	size_t n = 0;

	while (n < h->running.n && h->running.v[n].until <= h->clock)
		h->free += h->running.v[n++].cpus;
	h->planned = h->clock;
	if (!n)
		return;
	h->freed = true;
	memmove(h->running.v, h->running.v + n, (h->running.n - n) * sizeof *h->running.v);
	h->running.n -= n;
}

void shadow_leave(struct shadow *h, uint32_t job)
{
	struct follower *f = follower_find(h, job);

	if (!f)
		return;
	if (f->start != UNKNOWN)
		holder_remove(h, f);
	else
		h->freed = true; /* it may be the head */
	follower_drop(h, f);
}

/* Returns true if an item of a heap is about a job that is still what it was when pushed. */
static bool item_holds(const struct shadow *h, const struct heap_item *x, bool begun, bool ended)
{
	const struct follower *f = &h->record.v[x->value];

	return f->used && f->serial == x->tie && (f->begin != UNKNOWN) == begun && (f->end != UNKNOWN) == ended;
}

/* Returns the instant up to which no job that runs in the shadow can have ended unseen. At an
 * instant that the shadow has reached nothing else can end. */
static int64_t horizon(struct shadow *h, int64_t now)
{
	struct heap_item x;
	int64_t until = now - 1; /* more may be submitted now */

	while (heap_peek(&h->unstarted, &x) && !item_holds(h, &x, false, false))
		heap_pop(&h->unstarted, &x);
	if (h->unstarted.n && x.time < until)
		until = x.time;
	while (heap_peek(&h->unfinished, &x) && !item_holds(h, &x, true, false))
		heap_pop(&h->unfinished, &x);
	if (h->unfinished.n && x.time + now <= until)
		until = x.time + now - 1; /* it may end now */
	return until > h->clock ? until : h->clock;
}

static void sums_add(struct shadow_sums *s, const struct follower *f, int64_t start)
{
	double run = (double)(f->end - f->begin), stay = (double)(start - f->submit) + run;

	s->turnaround += stay;
	s->longest = fmax(s->longest, stay - run);
	s->slowdown += fmax(1, stay / fmax(run, BRIEF));
	s->area += stay * run * (double)f->cpus;
}

static double ratio(double ours, double easy, int64_t jobs)
{
	return easy > 0 ? 1 + (ours / easy - 1) * (double)jobs / (double)(jobs + CAUTION) : 1;
}

static void end_take(struct shadow *h)
{
	struct heap_item x;
	struct follower *f;

	heap_pop(&h->ends, &x);
	f = &h->record.v[x.value];
	if (!f->used || f->serial != x.tie)
		return;
	holder_remove(h, f);
	h->ended++;
	sums_add(&h->ours, f, f->begin);
	sums_add(&h->easy, f, f->start);
	h->ratios = (struct shadow_sums){
		.turnaround = ratio(h->ours.turnaround, h->easy.turnaround, h->ended),
		.slowdown = ratio(h->ours.slowdown, h->easy.slowdown, h->ended),
		.area = ratio(h->ours.area, h->easy.area, h->ended),
		.longest = h->easy.longest,
	};
	follower_drop(h, f);
}

static void queue_append(struct shadow *h, uint32_t who)
{
	const struct follower *f = &h->record.v[who];

	if (h->queue.n % BLOCK == 0)
		vec_push(&h->blocks, (struct summary){INT64_MAX, INT64_MAX});

	struct summary *b = &h->blocks.v[h->queue.n / BLOCK];

	if (f->cpus < b->cpus)
		b->cpus = f->cpus;
	if (f->length < b->length)
		b->length = f->length;
	vec_push(&h->queue, (struct candidate){f->length, f->cpus, who, f->serial});
}

static void submission_take(struct shadow *h)
{
	struct heap_item x;

	heap_pop(&h->coming, &x);
	if (h->record.v[x.value].used && h->record.v[x.value].serial == x.tie)
		queue_append(h, (uint32_t)x.value);
}

static void candidate_leaves(struct shadow *h, size_t i)
{
	h->queue.v[i].cpus = UNKNOWN;
	h->gone++;
}

/* Returns the record of a waiting job. If the job has left, marks the candidate and returns
 * NULL. */
static struct follower *candidate_of(struct shadow *h, size_t i)
{
	struct candidate *x = &h->queue.v[i];

	if (x->cpus != UNKNOWN && (!h->record.v[x->who].used || h->record.v[x->who].serial != x->serial))
		candidate_leaves(h, i);
	return x->cpus == UNKNOWN ? NULL : &h->record.v[x->who];
}

/* Drops those that have left, once most have. */
static void queue_compact(struct shadow *h)
{
	size_t n = h->queue.n, from = h->first;

	if (h->gone < GONE_FEW || 2 * h->gone < n)
		return;
	h->queue.n = h->blocks.n = h->first = 0;
	for (size_t i = from; i < n; i++) {
		uint32_t who = h->queue.v[i].who;
		if (i == h->fresh)
			h->fresh = h->queue.n;
		if (candidate_of(h, i))
			queue_append(h, who);
	}
	h->gone = 0;
	if (h->fresh > h->queue.n)
		h->fresh = h->queue.n;
}

static void candidate_start(struct shadow *h, size_t i)
{
	struct follower *f = &h->record.v[h->queue.v[i].who];
	int64_t until = h->clock + f->length;
	size_t at = h->running.n;

	candidate_leaves(h, i);
	f->start = h->clock;
	h->free -= f->cpus;
	while (at > 0 && h->running.v[at - 1].until > until)
		at--;
	vec_insert(&h->running, at, (struct holder){until, f->cpus, (uint32_t)(f - h->record.v)});
	follower_watch(h, f);
}

/* Starts jobs in order while they fit. Returns false if none is left. */
static bool heads_start(struct shadow *h)
{
	for (; h->first < h->queue.n; h->first++) {
		const struct follower *f = candidate_of(h, h->first);
		if (!f)
			continue;
		if (f->cpus > h->free && f->cpus <= h->cpus)
			return true;
		if (f->cpus <= h->free) /* one too wide for the machine is passed over */
			candidate_start(h, h->first);
	}
	return false;
}

/* Finds where the first job that does not fit can start by the planned ends. */
static void head_reserve(struct shadow *h)
{
	int64_t need = h->queue.v[h->first].cpus, free = h->free;
	size_t i = 0;

	while (i < h->running.n && free < need) {
		h->reserved = h->running.v[i].until;
		while (i < h->running.n && h->running.v[i].until == h->reserved)
			free += h->running.v[i++].cpus;
	}
	h->extra = free - need;
}

static bool fits(const struct shadow *h, int64_t cpus, int64_t length)
{
	return cpus <= h->free && (cpus <= h->extra || h->clock + length <= h->reserved);
}

static void fill(struct shadow *h, size_t from)
{
	for (size_t i = from; i < h->queue.n && h->free > 0; i++) {
		const struct summary *b = &h->blocks.v[i / BLOCK];
		const struct candidate *x = &h->queue.v[i];
		if (!fits(h, b->cpus, b->length)) {
			i = i / BLOCK * BLOCK + BLOCK - 1;
			continue;
		}
		if (x->cpus == UNKNOWN || !fits(h, x->cpus, x->length) || !candidate_of(h, i))
			continue;
		if (h->clock + x->length > h->reserved)
			h->extra -= x->cpus;
		candidate_start(h, i);
	}
}

static void shadow_pass(struct shadow *h)
{
	size_t fresh = h->fresh;
	bool full = h->freed || h->first >= h->fresh;

	h->freed = false;
	if (!full) {
		fill(h, fresh);
	} else if (heads_start(h)) {
		head_reserve(h);
		fill(h, h->first + 1);
	}
	h->fresh = h->queue.n;
	queue_compact(h);
}

static void resize(struct shadow *h, int64_t cpus)
{
	if (cpus == h->cpus)
		return;
	h->free += cpus - h->cpus;
	h->cpus = cpus;
	h->freed = true;
}

/* Returns the time of the next event, TIME_NEVER if there is none. At one instant submissions come
 * before ends, and a pass follows each, as in the simulator. */
static int64_t next_event(const struct shadow *h, bool *ret_submission)
{
	struct heap_item x;
	int64_t next = TIME_NEVER;

	if (heap_peek(&h->ends, &x))
		next = x.time;
	*ret_submission = heap_peek(&h->coming, &x) && x.time <= next;
	return *ret_submission ? x.time : next;
}

bool shadow_advance(struct shadow *h, int64_t now, int64_t cpus)
{
	bool submission;
	int64_t next;
	int left = EVENTS_MAX;

	resize(h, cpus);
	while ((next = next_event(h, &submission)) <= horizon(h, now)) {
		if (left-- == 0)
			return true;
		if (next > h->clock) {
			h->clock = next;
			planned_take(h);
		}
		if (submission)
			submission_take(h);
		else
			end_take(h);
		shadow_pass(h);
	}
	if (now - h->clock > LAG_MAX && h->record.n > h->spare.n)
		begin_again(h);
	return false;
}

struct shadow_sums shadow_easy(const struct shadow *h, int64_t *ret_jobs)
{
	*ret_jobs = h->ended;
	return h->easy;
}

struct shadow_sums shadow_ratios(const struct shadow *h, int64_t *ret_jobs)
{
	*ret_jobs = h->ended;
	return h->ratios;
}
