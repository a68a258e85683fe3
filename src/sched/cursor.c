/*
 * cursor.c - see cursor.h.
 *
 * The cube root of a priority of WFP3, cbrt(cpus) / length x wait, is a line in time. So the
 * highest priority in a group of jobs is the upper envelope of their lines: it is computed when the
 * group has changed, and read at any later instant; that of a block of groups is the envelope of
 * theirs. The block with the best bound is replaced with its groups in a heap, and a group that
 * comes to the top of it with its jobs, by their exact keys.
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

/* A line that is the highest of its envelope. */
struct line_part {
	double value, slope; /* at `since` */
	double from;	     /* seconds since `since` */
};

/* Upper envelopes of the lines of a block's groups, from `since` on, and that of the block behind
 * them. */
struct envelopes {
	double since, scale;
	uint32_t cap;
	uint32_t begin[RANKS_GROUPS + 2]; /* position of each envelope; the end of the last one */
	struct line_part part[];
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

/* Makes the envelope of lines. Returns how many of them it has. */
static uint32_t envelope_make(const struct line_part *all, size_t n, struct line_part *ret)
{
	const struct line_part *last = NULL;
	uint32_t count = 0;
	double from;

	while ((last = envelope_next(all, n, last, &from))) {
		ret[count] = *last;
		ret[count++].from = from;
	}
	return count;
}

/* Replaces one of the envelopes. Returns all of them, which may have moved. */
static struct envelopes *envelope_put(struct envelopes *x, unsigned at, const struct line_part *parts, uint32_t n)
{
	uint32_t last = x->begin[RANKS_GROUPS + 1], end = x->begin[at + 1], more = n - (end - x->begin[at]);

	if (last + more > x->cap) {
		x->cap = last + more + RANKS_GROUPS;
		x = mem_realloc(x, 1, sizeof *x + x->cap * sizeof *x->part);
	}
	memmove(&x->part[end + more], &x->part[end], (last - end) * sizeof *x->part);
	memcpy(&x->part[x->begin[at]], parts, n * sizeof *parts);
	for (unsigned k = at + 1; k <= RANKS_GROUPS + 1; k++)
		x->begin[k] += more;
	return x;
}

/* Returns the line of an envelope that is the highest `after` seconds; there is one. */
static const struct line_part *envelope_at(const struct envelopes *x, unsigned at, double after)
{
	uint32_t lo = x->begin[at];

	for (uint32_t hi = x->begin[at + 1]; hi - lo > 1;) {
		uint32_t mid = (lo + hi) / 2;
		*(x->part[mid].from <= after ? &lo : &hi) = mid;
	}
	return &x->part[lo];
}

/* Returns the number of entries of a group and writes the first. */
static size_t group_entries(const struct cursor *i, size_t block, unsigned group, const struct queued **ret)
{
	const struct ranks_note *x = ranks_note(i->queue, block);
	size_t from = group ? x->end[group - 1] : 0;

	ranks_entries(i->queue, block, ret);
	*ret += from;
	return x->end[group] - from;
}

/* Makes the envelope of a group again. */
static struct envelopes *group_renew(const struct cursor *i, struct envelopes *x, size_t block, unsigned group)
{
	struct line_part all[RANKS_GROUP], ret[RANKS_GROUP];
	const struct queued *v;
	size_t n = group_entries(i, block, group, &v);
	double root = 0;

	for (size_t k = 0; k < n; k++) {
		root = k && v[k].cpus == v[k - 1].cpus ? root : cbrt(v[k].cpus);
		double slope = root / (double)v[k].length;
		all[k] = (struct line_part){.value = slope * (x->since - cluster_job(i->s->c, v[k].job)->rank),
					    .slope = slope};
		x->scale = fmax(x->scale, fabs(all[k].value));
	}
	return envelope_put(x, group, ret, envelope_make(all, n, ret));
}

/* Divides a block into groups. */
static void groups_make(const struct cursor *i, size_t block, struct ranks_note *ret)
{
	struct envelopes *x = mem_zalloc(sizeof *x);
	const struct queued *v;
	size_t n = ranks_entries(i->queue, block, &v);

	x->since = (double)i->s->line.weighed;
	ret->made = x;
	ret->changed = UINT16_MAX;
	for (size_t k = 0; k < RANKS_GROUPS; k++)
		ret->end[k] = (uint16_t)(n * (k + 1) / RANKS_GROUPS);
}

/* Makes the envelopes that are out of date. */
static void envelopes_renew(const struct cursor *i, size_t block, struct ranks_note *note)
{
	struct envelopes *x = note->made;
	struct line_part ret[RANKS_BLOCK];
	uint32_t n;

	if (x->since > (double)i->s->line.weighed) {
		x->since = (double)i->s->line.weighed;
		note->changed = UINT16_MAX;
	}
	if (!note->changed)
		return;
	for (unsigned k = 0; k < RANKS_GROUPS; k++)
		if (note->changed & 1 << k)
			x = group_renew(i, x, block, k);
	n = envelope_make(x->part, x->begin[RANKS_GROUPS], ret);
	note->made = envelope_put(x, RANKS_GROUPS, ret, n);
	note->changed = 0;
}

/* Notes the line of a block that is the highest at the instant line.weighed, and for how long. */
static void line_note(const struct cursor *i, size_t block, struct ranks_note *ret)
{
	const struct line_part *line;
	const struct envelopes *x;

	if (!ret->made)
		groups_make(i, block, ret);
	envelopes_renew(i, block, ret);
	x = ret->made;
	line = envelope_at(x, RANKS_GROUPS, (double)i->s->line.weighed - x->since);
	ret->from = i->s->line.weighed;
	ret->until = line + 1 < x->part + x->begin[RANKS_GROUPS + 1]
			     ? (int64_t)fmin(ceil(x->since + line[1].from), LAST)
			     : INT64_MAX;
	ret->since = x->since;
	ret->value = line->value;
	ret->slope = line->slope;
	ret->slack = x->scale * CANCELLING;
}

/* Returns a key that no job is before whose line is not above one. */
static double line_bound(double value, double slope, double after, double slack)
{
	value += slope * after;
	value += fabs(value) * ROUNDING + slack;
	return -value * value * value;
}

/* Returns a key that no job of the block is before. */
static double block_bound(const struct cursor *i, size_t block)
{
	struct ranks_note *x = ranks_note(i->queue, block);

	if (!x->made || x->changed || i->s->line.weighed < x->from || i->s->line.weighed >= x->until)
		line_note(i, block, x);
	return line_bound(x->value, x->slope, (double)i->s->line.weighed - x->since, x->slack);
}

/* Does the same for a group that is not empty. */
static double group_bound(const struct cursor *i, size_t block, unsigned group)
{
	const struct envelopes *x = ranks_note(i->queue, block)->made;
	double after = (double)i->s->line.weighed - x->since;
	const struct line_part *line = envelope_at(x, group, after);

	return line_bound(line->value, line->slope, after, x->scale * CANCELLING);
}

/* ---- the heap ---- */

/* A group may hold a job of the key that bounds it: it comes first. */
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

/* Computes the least bound of a span of blocks. */
static void least_make(struct cursor *i, size_t span)
{
	size_t end = (span + 1) * RANKS_SPAN;
	double least = INFINITY;

	for (size_t k = span * RANKS_SPAN; k < end && k < i->bounds.n; k++)
		least = i->bounds.v[k] < least ? i->bounds.v[k] : least;
	i->least.v[span] = least;
}

/* Finds the block with the least bound; SIZE_MAX: none is left. */
static void bounds_first(struct cursor *i)
{
	double least = INFINITY;

	i->first = SIZE_MAX;
	for (size_t k = 0; k < i->least.n; k++)
		if (i->least.v[k] < least) {
			least = i->least.v[k];
			i->first = k * RANKS_SPAN;
		}
	while (i->first != SIZE_MAX && i->bounds.v[i->first] != least)
		i->first++;
}

/* Does so after all bounds were changed. */
static void bounds_made(struct cursor *i)
{
	size_t n = (i->bounds.n + RANKS_SPAN - 1) / RANKS_SPAN;

	vec_reserve(&i->least, n);
	for (i->least.n = 0; i->least.n < n; i->least.n++)
		least_make(i, i->least.n);
	bounds_first(i);
}

static void heap_make(struct cursor *i)
{
	vec_clear(&i->heap);
	vec_clear(&i->bounds);
	i->narrow = false;
	i->shape = i->queue->shape;
	vec_reserve(&i->bounds, i->queue->nblocks);
	for (size_t k = 0; k < i->queue->nblocks; k++)
		i->bounds.v[k] = block_bound(i, k);
	i->bounds.n = i->queue->nblocks;
	bounds_made(i);
}

/* Returns true if an entry of a group may fit into the gap (NULL: anything). The jobs are sorted by
 * class, then by length: the first one of a class says if any is short enough. */
static bool group_fits(const struct cursor *i, size_t block, unsigned group, const struct gap *gap)
{
	const struct queued *v;
	size_t n = group_entries(i, block, group, &v), k = 0;

	if (n && gap && v[0].class == v[n - 1].class)
		return gap_fits(gap, v->class, v->length);
	while (k < n && gap && !ranks_entry_fits(&v[k], gap))
		k++;
	return k < n;
}

/* Replaces the block with the least bound with its groups that may fit into the gap (NULL: all). */
static void block_open(struct cursor *i, const struct gap *gap)
{
	uint32_t block = (uint32_t)i->first;

	for (uint32_t k = 0; k < RANKS_GROUPS; k++)
		if (group_fits(i, block, k, gap))
			heap_add(i, (struct cursor_item){.key = group_bound(i, block, k), .job = k, .block = block});
	i->bounds.v[block] = INFINITY;
	least_make(i, block / RANKS_SPAN);
	bounds_first(i);
}

/* Replaces a group at the top with its jobs that may fit into the gap (NULL: all). */
static void group_open(struct cursor *i, const struct gap *gap)
{
	struct cursor_item top = i->heap.v[0];
	const struct queued *v;
	size_t n = group_entries(i, top.block, top.job, &v);

	heap_drop(i);
	for (size_t k = 0; k < n; k++) {
		if (gap && !ranks_entry_fits(&v[k], gap))
			continue;
		double key = key_of(i, &v[k]);
		if (key > i->key || (key == i->key && v[k].job >= i->job))
			heap_add(i, (struct cursor_item){key, v[k].key, v[k].job, NO_BLOCK});
	}
}

static bool shape_fits(double shape, const struct gap *gap)
{
	unsigned class = (unsigned)(shape / SHAPE_CLASS);

	return gap_fits(gap, class, (int64_t)(shape - class * SHAPE_CLASS));
}

/* Returns true if what is at a position of the heap may fit into the gap. */
static bool item_fits(const struct cursor *i, const struct cursor_item *x, const struct gap *gap)
{
	return x->block == NO_BLOCK ? shape_fits(x->shape, gap) : group_fits(i, x->block, x->job, gap);
}

/* Returns true if a job of a block may fit into the gap. */
static bool block_fits(const struct cursor *i, size_t block, const struct gap *gap)
{
	const double *first = &i->queue->first[block];
	bool alone = block + 1 < i->queue->nblocks && floor(first[0] / SHAPE_CLASS) == floor(first[1] / SHAPE_CLASS);

	return alone ? shape_fits(first[0], gap) : ranks_block_fits(i->queue, block, gap);
}

/* Drops everything that does not fit into the gap. */
static void heap_narrow(struct cursor *i, const struct gap *gap)
{
	size_t kept = 0;

	for (size_t k = 0; k < i->bounds.n; k++)
		if (i->bounds.v[k] < INFINITY && !block_fits(i, k, gap))
			i->bounds.v[k] = INFINITY;
	bounds_made(i);
	for (size_t k = 0; k < i->heap.n; k++)
		if (item_fits(i, &i->heap.v[k], gap))
			i->heap.v[kept++] = i->heap.v[k];
	i->heap.n = kept;
	for (size_t k = kept / 2; k-- > 0;)
		heap_sink(i, k);
	i->narrow = true;
}

/* Returns true if a block comes before what is at the top of the heap. */
static bool block_comes(const struct cursor *i)
{
	return i->first != SIZE_MAX && (!i->heap.n || i->bounds.v[i->first] <= i->heap.v[0].key);
}

static struct queued *rising_at(struct cursor *i, const struct gap *gap, size_t *scanned)
{
	if (i->shape != i->queue->shape) /* jobs have left, and blocks with them */
		heap_make(i);
	if (gap && !i->narrow)
		heap_narrow(i, gap);
	for (; i->heap.n || i->first != SIZE_MAX; ++*scanned) {
		if (block_comes(i)) {
			*scanned += RANKS_GROUPS;
			block_open(i, gap);
			continue;
		}
		struct cursor_item top = i->heap.v[0];
		if (gap && !item_fits(i, &top, gap)) {
			heap_drop(i);
			continue;
		}
		if (top.block != NO_BLOCK) {
			*scanned += RANKS_GROUPS;
			group_open(i, gap);
			continue;
		}
		struct spot at = ranks_find(i->queue, top.shape, top.job);
		struct queued *e = ranks_at(i->queue, &at);
		if (e && e->job == top.job && (!gap || ranks_entry_fits(e, gap)))
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
	vec_copy(&to->bounds, &from->bounds);
	vec_copy(&to->least, &from->least);
	vec_copy(&to->heap, &from->heap);
}

void cursor_close(struct cursor *i)
{
	vec_free(&i->bounds);
	vec_free(&i->least);
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
	if (!i->rising) {
		i->at.at++;
		return;
	}
	i->key = i->heap.v[0].key;
	i->job = i->heap.v[0].job + 1;
	heap_drop(i);
}

void cursor_left(struct cursor *i, const struct queued *e)
{
	if (!i->rising) {
		i->at = ranks_find(i->queue, e->key, e->job);
		return;
	}
	i->key = key_of(i, e);
	i->job = e->job + 1;
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
