/*
 * filler.c - finds holes in the plan of a Shunt server, and jobs that are kept from them.
 */
#include "bag/filler.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/timetext.h"

#define ALL UINT32_MAX

/* A waiting job that is not a filler's. */
struct waiting {
	int64_t start, length;
	uint32_t job;
	VEC(int64_t) cpus; /* CPUs of its fragments */
};

/* The pieces by node: those of node i are at first[i] .. first[i + 1] - 1. */
struct index {
	const struct filler_plan *p;
	uint32_t *first, *piece;
	int64_t work; /* number of looks left; see FILLER_WORK */
};

static void index_init(struct index *x, const struct filler_plan *p)
{
	size_t n = p->nodes.n;

	*x = (struct index){.p = p,
			    .first = mem_zalloc((n + 2) * sizeof *x->first),
			    .piece = mem_zalloc((p->pieces.n + 1) * sizeof *x->piece),
			    .work = FILLER_WORK};
	for (size_t i = 0; i < p->pieces.n; i++)
		x->first[p->pieces.v[i].node + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		x->first[i] += x->first[i - 1];
	for (size_t i = 0; i < p->pieces.n; i++)
		x->piece[x->first[p->pieces.v[i].node + 1]++] = (uint32_t)i;
}

static void index_fini(struct index *x)
{
	free(x->first);
	free(x->piece);
}

/* Returns true if a piece counts when `job` is placed: not if it belongs to a filler or to the
 * job itself. ALL: every piece counts. */
static bool counts(const struct filler_piece *k, uint32_t job)
{
	return job == ALL || (!k->ours && k->job != job);
}

static int64_t used_at(struct index *x, uint32_t node, int64_t at, uint32_t job)
{
	int64_t sum = 0;

	for (uint32_t i = x->first[node]; i < x->first[node + 1]; i++, x->work--) {
		const struct filler_piece *k = &x->p->pieces.v[x->piece[i]];
		if (k->start <= at && at < k->end && counts(k, job))
			sum += k->cpus;
	}
	return sum;
}

/* Returns the CPUs of a node that are free over [from, to). */
static int64_t room(struct index *x, uint32_t node, int64_t from, int64_t to, uint32_t job)
{
	int64_t most = used_at(x, node, from, job);

	x->work--;
	for (uint32_t i = x->first[node]; i < x->first[node + 1] && x->work > 0; i++) {
		const struct filler_piece *k = &x->p->pieces.v[x->piece[i]];
		if (k->start <= from || k->start >= to || !counts(k, job))
			continue;
		int64_t used = used_at(x, node, k->start, job);
		most = used > most ? used : most;
	}
	int64_t free = x->p->nodes.v[node].until < to ? 0 : x->p->nodes.v[node].cpus - most;
	return free > 0 ? free : 0;
}

/* Returns true if each fragment fits on a node, placing the largest first. */
static bool fits(struct index *x, const struct waiting *w, int64_t at)
{
	size_t nodes = x->p->nodes.n, placed = 0;
	int64_t *rest = mem_zalloc((nodes + 1) * sizeof *rest);

	for (uint32_t i = 0; i < nodes && x->work > 0; i++)
		rest[i] = room(x, i, at, at + w->length, w->job);
	for (size_t node = 0; placed < w->cpus.n && node < nodes; placed++) {
		if (placed > 0 && w->cpus.v[placed] < w->cpus.v[placed - 1])
			node = 0; /* it may fit where larger ones did not */
		for (; node < nodes && rest[node] < w->cpus.v[placed]; node++)
			x->work--;
		if (node == nodes)
			break;
		rest[node] -= w->cpus.v[placed];
	}
	free(rest);
	return placed == w->cpus.n;
}

static bool could_start_earlier(struct index *x, const struct waiting *w, int64_t now)
{
	if (w->start <= now + 1) /* it is about to start */
		return false;
	if (fits(x, w, now))
		return true;
	for (size_t i = 0; i < x->p->pieces.n && x->work > 0; i++, x->work--) {
		const struct filler_piece *k = &x->p->pieces.v[i];
		if (k->end > now && k->end + 1 < w->start && counts(k, w->job) && fits(x, w, k->end))
			return true;
	}
	return false;
}

static int largest_first(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

static size_t jobs_of(const struct filler_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->pieces.n; i++)
		n = p->pieces.v[i].job >= n ? p->pieces.v[i].job + 1u : n;
	return n;
}

typedef VEC(struct waiting) waiting_vec;

static void waiting_find(const struct filler_plan *p, waiting_vec *ret)
{
	for (size_t i = 0, n = jobs_of(p); i < n; i++)
		vec_push(ret, (struct waiting){.job = (uint32_t)i, .start = TIME_NEVER});
	for (size_t i = 0; i < p->pieces.n; i++) {
		const struct filler_piece *k = &p->pieces.v[i];
		struct waiting *w = &ret->v[k->job];
		if (k->running || k->ours)
			continue;
		w->start = k->start;
		w->length = k->end - k->start;
		vec_push(&w->cpus, k->cpus);
	}
	for (size_t i = 0; i < ret->n; i++)
		if (ret->v[i].cpus.n)
			qsort(ret->v[i].cpus.v, ret->v[i].cpus.n, sizeof(int64_t), largest_first);
}

bool filler_in_the_way(const struct filler_plan *p, int64_t now)
{
	waiting_vec all = {0};
	struct index x;
	bool found = !p->whole;

	index_init(&x, p);
	waiting_find(p, &all);
	for (size_t i = 0; i < all.n && !found && x.work > 0; i++)
		found = all.v[i].cpus.n && could_start_earlier(&x, &all.v[i], now);
	found = found || x.work <= 0;
	for (size_t i = 0; i < all.n; i++)
		vec_free(&all.v[i].cpus);
	vec_free(&all);
	index_fini(&x);
	return found;
}

/* Returns the CPUs, in multiples of `each`, that are free from now for that long, limited to
 * what a request may have. */
static int64_t width(struct index *x, int64_t now, int64_t seconds, const struct filler_wish *w)
{
	int64_t sum = 0, wanted = w->tasks < w->cpus ? w->tasks : w->cpus;

	for (uint32_t i = 0; i < x->p->nodes.n && x->work > 0; i++)
		sum += room(x, i, now, now + seconds + FILLER_MARGIN, ALL) / w->each * w->each;
	wanted = (wanted + w->each - 1) / w->each * w->each;
	sum = sum < wanted ? sum : wanted;
	return sum > w->cpus ? w->cpus / w->each * w->each : sum;
}

struct filler_hole filler_hole(const struct filler_plan *p, int64_t now, const struct filler_wish *w)
{
	struct filler_hole best = {0, 0};
	int64_t most = 0;
	VEC(int64_t) ends = {0};
	struct index x;

	index_init(&x, p);
	vec_push(&ends, w->seconds);
	for (size_t i = 0; i < p->pieces.n; i++)
		if (!p->pieces.v[i].running)
			vec_push(&ends, p->pieces.v[i].start - now - FILLER_MARGIN);
	for (size_t i = 0; i < p->nodes.n; i++)
		if (p->nodes.v[i].until != TIME_NEVER)
			vec_push(&ends, p->nodes.v[i].until - now - FILLER_MARGIN);
	qsort(ends.v, ends.n, sizeof *ends.v, largest_first);
	for (size_t i = 0; i < ends.n && x.work > 0; i++) {
		int64_t seconds = ends.v[i];
		if (seconds > w->seconds || seconds < w->task || (i > 0 && seconds == ends.v[i - 1]))
			continue;
		int64_t cpus = width(&x, now, seconds, w), rounds = seconds / (w->task > 0 ? w->task : 1);
		int64_t useful = cpus * rounds < w->tasks ? cpus * rounds : w->tasks;
		if (cpus > 0 && (useful > most || (useful == most && cpus > best.cpus))) {
			most = useful;
			best = (struct filler_hole){cpus, seconds};
		}
	}
	if (x.work <= 0)
		best.cpus = 0;
	vec_free(&ends);
	index_fini(&x);
	return best;
}
