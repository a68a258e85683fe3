/*
 * cursor.c - see cursor.h.
 *
 * The cube root of a priority of WFP3, cbrt(cpus) / length x wait, is a line in time. So the
 * highest priority in a block of jobs is the upper envelope of their lines: it is computed when the
 * block has changed, and read at any later instant. A heap holds the blocks by that bound; a block
 * that comes to its top is replaced with its jobs, by their exact keys.
 */
#include "sched/cursor.h"

#include <math.h>
#include <stdlib.h>

#include "sched/sched_internal.h"

#define NO_BLOCK UINT32_MAX
#define LAST 0x1p62	   /* an instant that never comes */
#define SHAPE_CLASS 0x1p40 /* more than the length of any job, seconds */
/* shares of a bound, and of the largest number that it was computed from, that rounding may cost */
#define ROUNDING 1e-9
#define CANCELLING 1e-12

/* Upper envelope of the lines of a block, from `since` on. */
struct envelope {
	double since, scale;
	size_t n;
	struct line_part {
		double value, slope; /* at `since` */
		double from;	     /* seconds since `since` */
	} part[];
};

double rising_shape(unsigned class, int64_t length)
{
	return class * SHAPE_CLASS + (double)length;
}

double rising_key(int64_t at, double rank, int64_t length, int64_t cpus)
{
	double x = ((double)at - rank) / (double)length;

	return -x * x * x * (double)cpus;
}

static double key_of(const struct cursor *i, const struct queued *e)
{
	return rising_key(i->s->line.weighed, cluster_job(i->s->c, e->job)->rank, e->length, e->cpus);
}

/* ---- envelopes ---- */

/* Returns the line that becomes the highest after `last` (NULL: the first one), and writes
 * when. */
static const struct line_part *envelope_next(const struct line_part *all, size_t n, const struct line_part *last,
					     double *ret_from)
{
	const struct line_part *best = NULL;

	*ret_from = last ? INFINITY : 0;
	for (size_t k = 0; k < n; k++) {
		const struct line_part *l = &all[k];
		double from = 0;
		if (last && l->slope <= last->slope)
			continue;
		if (last)
			from = (last->value - l->value) / (l->slope - last->slope);
		if (!best || from < *ret_from ||
		    (from == *ret_from &&
		     (l->value > best->value || (l->value == best->value && l->slope > best->slope)))) {
			best = l;
			*ret_from = from;
		}
	}
	return best;
}

static struct envelope *envelope_make(const struct cursor *i, const struct queued *v, size_t n)
{
	struct envelope *x = mem_alloc(sizeof *x + n * sizeof *x->part);
	struct line_part all[RANKS_BLOCK];
	const struct line_part *last = NULL;
	double from, root = 0;

	*x = (struct envelope){.since = (double)i->s->line.weighed};
	for (size_t k = 0; k < n; k++) {
		root = k && v[k].cpus == v[k - 1].cpus ? root : cbrt(v[k].cpus);
		double slope = root / (double)v[k].length;
		all[k] = (struct line_part){.value = slope * (x->since - cluster_job(i->s->c, v[k].job)->rank),
					    .slope = slope};
		x->scale = fmax(x->scale, fabs(all[k].value));
	}
	while ((last = envelope_next(all, n, last, &from))) {
		x->part[x->n] = *last;
		x->part[x->n++].from = from;
	}
	return x;
}

/* Notes the line of a block that is the highest at the instant line.weighed, and for how long. */
static void line_note(const struct cursor *i, size_t block, struct ranks_note *ret)
{
	double now = (double)i->s->line.weighed;
	const struct envelope *x = ret->made;
	size_t lo = 0;

	if (x && x->since > now) {
		free(ret->made);
		x = ret->made = NULL;
	}
	if (!x) {
		const struct queued *v;
		size_t n = ranks_entries(i->queue, block, &v);
		x = ret->made = envelope_make(i, v, n);
	}
	for (size_t hi = x->n; hi - lo > 1;) {
		size_t mid = (lo + hi) / 2;
		*(x->part[mid].from <= now - x->since ? &lo : &hi) = mid;
	}
	ret->from = i->s->line.weighed;
	ret->until = lo + 1 < x->n ? (int64_t)fmin(ceil(x->since + x->part[lo + 1].from), LAST) : INT64_MAX;
	ret->since = x->since;
	ret->value = x->part[lo].value;
	ret->slope = x->part[lo].slope;
	ret->slack = x->scale * CANCELLING;
}

/* Returns a key that no job of the block is before. */
static double block_bound(const struct cursor *i, size_t block)
{
	struct ranks_note *x = ranks_note(i->queue, block);
	double value;

	if (!x->made || i->s->line.weighed < x->from || i->s->line.weighed >= x->until)
		line_note(i, block, x);
	value = x->value + x->slope * ((double)i->s->line.weighed - x->since);
	value += fabs(value) * ROUNDING + x->slack;
	return -value * value * value;
}

/* ---- the heap ---- */

/* A block may hold a job of the key that bounds it: it comes first. */
static bool item_before(const struct cursor_item *x, const struct cursor_item *y)
{
	if (x->key != y->key)
		return x->key < y->key;
	if ((x->block == NO_BLOCK) != (y->block == NO_BLOCK))
		return y->block == NO_BLOCK;
	return x->job < y->job;
}

static void heap_sink(struct cursor *i, size_t at)
{
	struct cursor_item *v = i->heap.v, x = v[at];

	for (size_t child; (child = 2 * at + 1) < i->heap.n; at = child) {
		child += child + 1 < i->heap.n && item_before(&v[child + 1], &v[child]);
		if (!item_before(&v[child], &x))
			break;
		v[at] = v[child];
	}
	v[at] = x;
}

static void heap_add(struct cursor *i, struct cursor_item x)
{
	size_t at = i->heap.n;

	vec_push(&i->heap, x);
	for (; at > 0 && item_before(&x, &i->heap.v[(at - 1) / 2]); at = (at - 1) / 2)
		i->heap.v[at] = i->heap.v[(at - 1) / 2];
	i->heap.v[at] = x;
}

static void heap_drop(struct cursor *i)
{
	i->heap.v[0] = i->heap.v[--i->heap.n];
	if (i->heap.n)
		heap_sink(i, 0);
}

static void heap_make(struct cursor *i)
{
	vec_clear(&i->heap);
	i->narrow = false;
	vec_reserve(&i->heap, i->queue->nblocks + RANKS_BLOCK);
	i->shape = i->queue->shape;
	for (size_t k = 0; k < i->queue->nblocks; k++)
		vec_push(&i->heap, (struct cursor_item){.key = block_bound(i, k), .block = (uint32_t)k});
	for (size_t k = i->heap.n / 2; k-- > 0;)
		heap_sink(i, k);
}

/* Replaces a block at the top with its jobs that may fit into the gap (NULL: all). */
static void block_open(struct cursor *i, const struct gap *gap, size_t *scanned)
{
	const struct queued *v;
	size_t block = i->heap.v[0].block, n;

	heap_drop(i);
	n = ranks_entries(i->queue, block, &v);
	*scanned += n;
	for (size_t k = 0; k < n; k++) {
		double key = key_of(i, &v[k]);
		if (key < i->key || (key == i->key && v[k].job < i->job) || (gap && !ranks_entry_fits(&v[k], gap)))
			continue;
		heap_add(i, (struct cursor_item){key, v[k].key, v[k].job, NO_BLOCK});
	}
}

/* Returns true if what is at a position of the heap may fit into the gap. */
static bool item_fits(const struct cursor *i, const struct cursor_item *x, const struct gap *gap)
{
	unsigned class = (unsigned)(x->shape / SHAPE_CLASS);

	if (x->block != NO_BLOCK)
		return ranks_block_fits(i->queue, x->block, gap);
	return gap_fits(gap, class, (int64_t)(x->shape - class * SHAPE_CLASS));
}

/* Drops everything that does not fit into the gap. */
static void heap_narrow(struct cursor *i, const struct gap *gap)
{
	size_t kept = 0;

	for (size_t k = 0; k < i->heap.n; k++)
		if (item_fits(i, &i->heap.v[k], gap))
			i->heap.v[kept++] = i->heap.v[k];
	i->heap.n = kept;
	for (size_t k = kept / 2; k-- > 0;)
		heap_sink(i, k);
	i->narrow = true;
}

static struct queued *rising_at(struct cursor *i, const struct gap *gap, size_t *scanned)
{
	if (gap && !i->narrow)
		heap_narrow(i, gap);
	for (; i->heap.n; ++*scanned) {
		struct cursor_item top = i->heap.v[0];
		if (gap && !item_fits(i, &top, gap)) {
			heap_drop(i);
			continue;
		}
		if (top.block != NO_BLOCK) {
			block_open(i, gap, scanned);
			continue;
		}
		struct spot at = ranks_find(i->queue, top.shape, top.job);
		struct queued *e = ranks_at(i->queue, &at);
		if (e && e->job == top.job)
			return e;
		heap_drop(i);
	}
	return NULL;
}

/* ---- cursors ---- */

void cursor_open(struct cursor *i, const struct sched *s, const struct ranks *queue)
{
	*i = (struct cursor){.s = s, .queue = queue, .key = -INFINITY};
	i->rising = s->order == ORDER_WFP3 && queue == &s->line.by_key;
	if (i->rising)
		heap_make(i);
}

void cursor_copy(struct cursor *to, const struct cursor *from)
{
	*to = *from;
	vec_copy(&to->heap, &from->heap);
}

void cursor_close(struct cursor *i)
{
	vec_free(&i->heap);
}

struct queued *cursor_at(struct cursor *i)
{
	size_t scanned = 0;

	return i->rising ? rising_at(i, NULL, &scanned) : ranks_at(i->queue, &i->at);
}

struct queued *cursor_fit(struct cursor *i, const struct gap *gap, size_t *scanned)
{
	return i->rising ? rising_at(i, gap, scanned) : ranks_fit(i->queue, &i->at, gap, scanned);
}

void cursor_step(struct cursor *i)
{
	if (i->rising)
		heap_drop(i);
	else
		i->at.at++;
}

void cursor_left(struct cursor *i, const struct queued *e)
{
	if (!i->rising) {
		i->at = ranks_find(i->queue, e->key, e->job);
		return;
	}
	if (i->shape == i->queue->shape) /* rising_at() passes over jobs that have left */
		return;
	i->key = key_of(i, e);
	i->job = e->job + 1;
	heap_make(i);
}

double cursor_key(const struct cursor *i, const struct queued *e)
{
	return i->rising ? key_of(i, e) : e->key;
}

void cursor_seek(struct cursor *i, double key, uint32_t job)
{
	i->key = key;
	i->job = job;
	if (!i->rising)
		i->at = ranks_find(i->queue, key, job);
}
