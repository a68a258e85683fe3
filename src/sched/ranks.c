/*
 * ranks.c - sorted blocks of entries.
 */
#include "sched/ranks.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/keysort.h"
#include "base/mem.h"
#include "base/timetext.h"

#define FILLED (RANKS_BLOCK * 7 / 8) /* entries of a new block, so that some more find room */
#define FEW (RANKS_BLOCK / 4)	     /* a block with fewer is joined with a neighbour */
#define MANY 4096		     /* minimum entries sorted by their digits */
#define REBUILD 8		     /* a batch of more than 1 / REBUILD of the entries is merged with all of them */

struct ranks_block {
	struct summary summary;
	size_t n;
	bool borrowed; /* is in a scratch */
	/* the entries, in `room`: the first one can be removed without moving the others */
	struct queued *v;
	struct queued room[RANKS_BLOCK];
};

static int entry_cmp(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static bool is_before(const struct queued *e, double key, uint32_t job)
{
	return e->key < key || (e->key == key && e->job < job);
}

/* ---- summaries ---- */

static int32_t reach_of(int64_t length)
{
	return (int32_t)(length < REACH_MOST ? length : REACH_MOST);
}

static void summary_clear(struct summary *s)
{
	s->made = true;
	memset(s->stale, 0, sizeof s->stale);
	for (int k = 0; k < RANKS_CLASSES; k++)
		s->least[k].length = s->least[k].cpus = INT32_MAX;
}

static void least_add(struct summary *s, unsigned class, int32_t length, int32_t cpus)
{
	if (length < s->least[class].length)
		s->least[class].length = length;
	if (cpus < s->least[class].cpus)
		s->least[class].cpus = cpus;
}

static void summary_add(struct summary *s, const struct queued *e)
{
	least_add(s, e->class, reach_of(e->length), e->cpus);
}

/* Notes that an entry has left. */
static void summary_left(struct summary *s, const struct queued *e)
{
	if (reach_of(e->length) == s->least[e->class].length || e->cpus == s->least[e->class].cpus)
		s->stale[e->class / 64] |= UINT64_C(1) << e->class % 64;
}

/* Returns true if a class is marked as stale; it is empty then, and no longer marked. */
static bool summary_reset(struct summary *s, unsigned class)
{
	uint64_t bit = UINT64_C(1) << class % 64;

	if (!(s->stale[class / 64] & bit))
		return false;
	s->stale[class / 64] &= ~bit;
	s->least[class].length = s->least[class].cpus = INT32_MAX;
	return true;
}

/* Clears the summary of a block or span that has lost all its entries. */
static void summary_empty(struct summary *s)
{
	for (unsigned i = 0; i < RANKS_CLASSES / 64; i++)
		while (s->stale[i])
			summary_reset(s, i * 64 + (unsigned)__builtin_ctzll(s->stale[i]));
}

/* Makes the summary of a block, which is clear. */
static void summary_make(struct ranks *r, size_t block)
{
	struct ranks_block *b = r->block[block];

	r->first[block] = b->n ? b->v->key : 0;
	r->planned[block] = 0;
	for (size_t i = 0; i < b->n; i++) {
		summary_add(&b->summary, &b->v[i]);
		r->planned[block] += b->v[i].planned != TIME_NEVER;
	}
}

/* Makes the summary of a block exact for a class. */
static void block_renew(struct ranks_block *b, unsigned class)
{
	if (!summary_reset(&b->summary, class))
		return;
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i].class == class)
			summary_add(&b->summary, &b->v[i]);
}

static void span_make(const struct ranks *r, size_t span)
{
	struct summary *s = &r->span[span];

	summary_clear(s);
	for (size_t k = span * RANKS_SPAN; k < (span + 1) * RANKS_SPAN; k++) {
		const struct summary *b = &r->block[k]->summary;
		for (unsigned i = 0; i < RANKS_CLASSES / 64; i++)
			s->stale[i] |= b->stale[i];
		for (unsigned i = 0; i < RANKS_CLASSES; i++)
			least_add(s, i, b->least[i].length, b->least[i].cpus);
	}
}

static void span_renew(const struct ranks *r, size_t span, unsigned class)
{
	struct summary *s = &r->span[span];

	if (!summary_reset(s, class))
		return;
	for (size_t k = span * RANKS_SPAN; k < (span + 1) * RANKS_SPAN; k++) {
		const struct summary *b = &r->block[k]->summary;
		block_renew(r->block[k], class);
		least_add(s, class, b->least[class].length, b->least[class].cpus);
	}
}

/* Returns the summary of the span of a block, or NULL if there is none. */
static struct summary *span_of(const struct ranks *r, size_t block)
{
	size_t span = block / RANKS_SPAN;

	return span < r->nblocks / RANKS_SPAN && r->span[span].made ? &r->span[span] : NULL;
}

/* Notes that the blocks from one on will be others. */
static void spans_drop(struct ranks *r, size_t block)
{
	for (size_t k = block / RANKS_SPAN; k < r->nblocks / RANKS_SPAN; k++)
		r->span[k].made = false;
}

/* Makes room for the spans of `cap` blocks. */
static void spans_reserve(struct ranks *r, size_t cap)
{
	if (cap >= RANKS_SPAN)
		r->span = mem_realloc(r->span, cap / RANKS_SPAN, sizeof *r->span);
	for (size_t k = r->nblocks / RANKS_SPAN; k < cap / RANKS_SPAN; k++)
		r->span[k].made = false;
}

static bool may_fit(const struct summary *s, unsigned class, const struct gap *gap)
{
	return s->least[class].length <= gap->length[class] && s->least[class].cpus <= gap->cpus;
}

bool ranks_block_fits(const struct ranks *r, size_t block, const struct gap *gap)
{
	struct ranks_block *b = r->block[block];

	for (unsigned i = 0; i < gap->n; i++) {
		if (!may_fit(&b->summary, gap->open[i], gap))
			continue;
		block_renew(b, gap->open[i]);
		if (may_fit(&b->summary, gap->open[i], gap))
			return true;
	}
	return false;
}

/* Returns true if a job of a span, all of whose blocks are there, may fit. */
static bool span_fits(const struct ranks *r, size_t span, const struct gap *gap)
{
	if (!r->span[span].made)
		span_make(r, span);
	for (unsigned i = 0; i < gap->n; i++) {
		if (!may_fit(&r->span[span], gap->open[i], gap))
			continue;
		span_renew(r, span, gap->open[i]);
		if (may_fit(&r->span[span], gap->open[i], gap))
			return true;
	}
	return false;
}

bool gap_fits(const struct gap *gap, unsigned class, int64_t length)
{
	return reach_of(length) <= gap->length[class];
}

bool ranks_entry_fits(const struct queued *e, const struct gap *gap)
{
	return e->cpus <= gap->cpus && gap_fits(gap, e->class, e->length);
}

/* ---- blocks ---- */

static void note_drop(struct ranks *r, size_t at)
{
	free(r->note[at].made);
	r->note[at] = (struct ranks_note){0};
	r->shape++;
}

/* Notes that an entry was added at (more 1), or removed from (-1), a position of a block. */
static void note_change(struct ranks *r, size_t at, size_t i, int more)
{
	struct ranks_note *x = &r->note[at];
	unsigned group = 0;

	if (!x->made)
		return;
	while (x->end[group] < i + (more < 0))
		group++;
	x->changed |= (uint16_t)(1 << group);
	for (unsigned k = group; k < RANKS_GROUPS; k++)
		x->end[k] = (uint16_t)(x->end[k] + more);
	if (x->end[group] - (group ? x->end[group - 1] : 0) > RANKS_GROUP)
		note_drop(r, at);
}

static void block_free(struct ranks *r, size_t at)
{
	note_drop(r, at);
	if (!r->block[at]->borrowed)
		free(r->block[at]);
}

size_t ranks_entries(const struct ranks *r, size_t block, const struct queued **ret)
{
	*ret = r->block[block]->v;
	return r->block[block]->n;
}

struct ranks_note *ranks_note(const struct ranks *r, size_t block)
{
	return &r->note[block];
}

/* Moves all blocks from one position on. */
static void blocks_move(struct ranks *r, size_t to, size_t from)
{
	size_t n = r->nblocks - (from < to ? from : to);

	if (!n)
		return;
	memmove(r->block + to, r->block + from, n * sizeof *r->block);
	memmove(r->planned + to, r->planned + from, n * sizeof *r->planned);
	memmove(r->first + to, r->first + from, n * sizeof *r->first);
	memmove(r->note + to, r->note + from, n * sizeof *r->note);
}

static void blocks_reserve(struct ranks *r)
{
	if (r->nblocks < r->cap)
		return;
	r->cap = r->cap * 2 + 4;
	spans_reserve(r, r->cap);
	r->block = mem_realloc(r->block, r->cap, sizeof *r->block);
	r->planned = mem_realloc(r->planned, r->cap, sizeof *r->planned);
	r->first = mem_realloc(r->first, r->cap, sizeof *r->first);
	r->note = mem_realloc(r->note, r->cap, sizeof *r->note);
}

/* Adds an empty block at a position; the caller fills it and adds to its summary. */
static struct ranks_block *block_add(struct ranks *r, size_t at)
{
	struct ranks_block *b = r->spare;

	r->spare = NULL;
	if (!b) {
		b = mem_alloc(sizeof *b);
		summary_clear(&b->summary);
	}
	blocks_reserve(r);
	spans_drop(r, at);
	blocks_move(r, at + 1, at);
	r->nblocks++;
	r->shape++;
	b->n = 0;
	b->borrowed = false;
	b->v = b->room;
	r->block[at] = b;
	r->planned[at] = 0;
	r->note[at] = (struct ranks_note){0};
	return b;
}

/* Moves the entries so that `more` can follow them. */
static void block_room(struct ranks_block *b, size_t more)
{
	if (b->v + b->n + more <= b->room + RANKS_BLOCK)
		return;
	memmove(b->room, b->v, b->n * sizeof *b->v);
	b->v = b->room;
}

static void block_drop(struct ranks *r, size_t at)
{
	if (r->nblocks > 1 || r->block[at]->borrowed) {
		block_free(r, at);
	} else {
		note_drop(r, at);
		r->spare = r->block[at];
		summary_empty(&r->spare->summary);
	}
	spans_drop(r, at);
	r->nblocks--;
	r->shape++;
	blocks_move(r, at, at + 1);
}

/* Divides a full block before an entry is added to it. At the end of the list, where jobs usually
 * arrive, the block stays as it is and a new one follows. */
static void block_split(struct ranks *r, size_t at, bool end)
{
	struct ranks_block *next = block_add(r, at + 1), *b = r->block[at];

	note_drop(r, at);
	spans_drop(r, at);
	next->n = end ? 0 : b->n / 2;
	b->n -= next->n;
	memcpy(next->v, b->v + b->n, next->n * sizeof *b->v);
	summary_clear(&b->summary);
	summary_make(r, at);
	summary_make(r, at + 1);
}

/* Joins a small block with the next one if they fit into one. */
static void block_join(struct ranks *r, size_t at)
{
	struct ranks_block *b, *next;

	if (at + 1 >= r->nblocks)
		return;
	b = r->block[at];
	next = r->block[at + 1];
	if ((b->n >= FEW && next->n >= FEW) || b->n + next->n > FILLED)
		return;
	note_drop(r, at);
	spans_drop(r, at);
	block_room(b, next->n);
	memcpy(b->v + b->n, next->v, next->n * sizeof *b->v);
	b->n += next->n;
	block_drop(r, at + 1);
	summary_clear(&b->summary);
	summary_make(r, at);
}

/* ---- finding ---- */

struct queued *ranks_at(const struct ranks *r, struct spot *at)
{
	if (at->block < r->nblocks && at->at >= r->block[at->block]->n)
		*at = (struct spot){at->block + 1, 0};
	return at->block < r->nblocks ? &r->block[at->block]->v[at->at] : NULL;
}

const struct queued *ranks_ahead(const struct ranks *r, const struct spot *at, size_t n)
{
	const struct ranks_block *b = r->block[at->block];

	return at->at + n < b->n ? &b->v[at->at + n] : NULL;
}

struct queued *ranks_nth(const struct ranks *r, size_t i)
{
	size_t k = 0;

	while (i >= r->block[k]->n)
		i -= r->block[k++]->n;
	return &r->block[k]->v[i];
}

/* Returns the position of (key, job) in the last block that does not begin behind it. */
static struct spot spot_of(const struct ranks *r, double key, uint32_t job)
{
	size_t lo = 0, hi = r->nblocks;
	struct spot at = {0};

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;
		if (r->first[mid] < key || (r->first[mid] == key && r->block[mid]->v->job <= job))
			lo = mid;
		else
			hi = mid;
	}
	at.block = lo;
	if (r->nblocks == 0)
		return at;
	for (lo = 0, hi = r->block[at.block]->n; lo < hi;) {
		size_t mid = (lo + hi) / 2;
		if (is_before(&r->block[at.block]->v[mid], key, job))
			lo = mid + 1;
		else
			hi = mid;
	}
	at.at = lo;
	return at;
}

struct spot ranks_find(const struct ranks *r, double key, uint32_t job)
{
	struct spot at = spot_of(r, key, job);

	ranks_at(r, &at);
	return at;
}

struct spot ranks_after(const struct ranks *r, double key, uint32_t job)
{
	struct spot at = spot_of(r, key, job);
	const struct queued *e = ranks_at(r, &at);

	at.at += e && e->key == key && e->job == job;
	return at;
}

/* Returns the first block, from one on, that is not in a span in which no job fits. */
static size_t block_from(const struct ranks *r, size_t block, const struct gap *gap, size_t *scanned)
{
	for (; block % RANKS_SPAN == 0 && block + RANKS_SPAN <= r->nblocks; block += RANKS_SPAN) {
		++*scanned;
		if (span_fits(r, block / RANKS_SPAN, gap))
			break;
	}
	return block;
}

struct queued *ranks_fit(const struct ranks *r, struct spot *at, const struct gap *gap, size_t *scanned)
{
	for (ranks_at(r, at); at->block < r->nblocks; *at = (struct spot){at->block + 1, 0}) {
		const struct ranks_block *b;
		size_t from = at->at;
		if (from == 0 && (at->block = block_from(r, at->block, gap, scanned)) == r->nblocks)
			break;
		b = r->block[at->block];
		++*scanned;
		if (b->n - from > gap->n && !ranks_block_fits(r, at->block, gap)) /* else it costs no more to look */
			continue;
		while (at->at < b->n && !ranks_entry_fits(&b->v[at->at], gap))
			at->at++;
		*scanned += at->at - from;
		if (at->at < b->n)
			return &r->block[at->block]->v[at->at];
	}
	return NULL;
}

struct queued *ranks_next(const struct ranks *r, struct spot *at, bool planned)
{
	for (ranks_at(r, at); at->block < r->nblocks; *at = (struct spot){at->block + 1, 0}) {
		struct ranks_block *b = r->block[at->block];
		if (r->planned[at->block] == (planned ? 0 : b->n))
			continue;
		for (; at->at < b->n; at->at++)
			if ((b->v[at->at].planned != TIME_NEVER) == planned)
				return &b->v[at->at];
	}
	return NULL;
}

void ranks_plan(struct ranks *r, struct queued *e, int64_t start)
{
	int more = (start != TIME_NEVER) - (e->planned != TIME_NEVER);

	e->planned = start;
	if (!more)
		return;
	r->nplanned += (size_t)more;
	r->planned[spot_of(r, e->key, e->job).block] += (uint32_t)more;
}

/* ---- changing ---- */

void ranks_insert(struct ranks *r, const struct queued *e)
{
	struct spot at;
	struct ranks_block *b;
	struct summary *span;

	if (r->nblocks == 0)
		block_add(r, 0);
	at = spot_of(r, e->key, e->job);
	if (r->block[at.block]->n == RANKS_BLOCK) {
		block_split(r, at.block, at.block + 1 == r->nblocks && at.at == RANKS_BLOCK);
		if (at.at >= r->block[at.block]->n)
			at = (struct spot){at.block + 1, at.at - r->block[at.block]->n};
	}
	b = r->block[at.block];
	span = span_of(r, at.block);
	note_change(r, at.block, at.at, 1);
	block_room(b, 1);
	memmove(b->v + at.at + 1, b->v + at.at, (b->n - at.at) * sizeof *b->v);
	b->v[at.at] = *e;
	r->first[at.block] = b->v->key;
	b->n++;
	r->n++;
	r->nplanned += e->planned != TIME_NEVER;
	r->planned[at.block] += e->planned != TIME_NEVER;
	summary_add(&b->summary, e);
	if (span)
		summary_add(span, e);
}

/* Returns the position of an entry that is there. */
static struct spot spot_there(const struct ranks *r, double key, uint32_t job)
{
	const struct ranks_block *b = r->gone.block < r->nblocks ? r->block[r->gone.block] : NULL;

	if (b && r->gone.at < b->n && b->v[r->gone.at].job == job && b->v[r->gone.at].key == key)
		return r->gone; /* many jobs are removed one after the other */
	return spot_of(r, key, job);
}

size_t ranks_remove(struct ranks *r, double key, uint32_t job)
{
	struct spot at = spot_there(r, key, job);
	struct ranks_block *b = r->block[at.block];
	struct summary *span = span_of(r, at.block);
	size_t moved = b->n - at.at - 1;
	bool planned = b->v[at.at].planned != TIME_NEVER;

	assert(at.at < b->n && b->v[at.at].job == job);
	summary_left(&b->summary, &b->v[at.at]);
	if (span)
		summary_left(span, &b->v[at.at]);
	note_change(r, at.block, at.at, -1);
	r->nplanned -= planned;
	r->planned[at.block] -= planned;
	if (at.at < moved) {
		memmove(b->v + 1, b->v, at.at * sizeof *b->v);
		b->v++;
	} else {
		memmove(b->v + at.at, b->v + at.at + 1, moved * sizeof *b->v);
	}
	r->gone = at;
	b->n--;
	r->n--;
	if (b->n == 0) {
		block_drop(r, at.block);
		return moved;
	}
	r->first[at.block] = b->v->key;
	if (b->n < FEW) {
		block_join(r, at.block);
		if (at.block > 0)
			block_join(r, at.block - 1);
	}
	return moved;
}

static void entries_sort(queued_vec *v)
{
	size_t i = 1;

	while (i < v->n && entry_cmp(&v->v[i - 1], &v->v[i]) < 0) /* elements of a job array arrive sorted */
		i++;
	if (i >= v->n)
		return;
	if (v->n < MANY) {
		qsort(v->v, v->n, sizeof *v->v, entry_cmp);
		return;
	}

	struct keyed *order = mem_alloc(v->n * sizeof *order);
	struct queued *sorted = mem_alloc(v->n * sizeof *sorted);

	for (i = 0; i < v->n; i++)
		order[i] = (struct keyed){v->v[i].key, v->v[i].job, (uint32_t)i};
	keyed_sort(order, v->n);
	for (i = 0; i < v->n; i++)
		sorted[i] = v->v[order[i].at];
	memcpy(v->v, sorted, v->n * sizeof *sorted);
	free(sorted);
	free(order);
}

/* Makes a list of sorted entries. */
static void ranks_fill(struct ranks *r, const struct queued *v, size_t n)
{
	for (size_t i = 0; i < n; i += FILLED) {
		struct ranks_block *b = block_add(r, r->nblocks);
		b->n = n - i < FILLED ? n - i : FILLED;
		memcpy(b->v, v + i, b->n * sizeof *v);
		summary_make(r, r->nblocks - 1);
		r->nplanned += r->planned[r->nblocks - 1];
	}
	r->n = n;
}

void ranks_build(struct ranks *r, queued_vec *entries)
{
	ranks_free(r);
	entries_sort(entries);
	ranks_fill(r, entries->v, entries->n);
}

void ranks_merge(struct ranks *r, queued_vec *batch)
{
	queued_vec all = {0};
	struct queued *e;
	size_t k = 0;

	entries_sort(batch);
	if (batch->n * REBUILD <= r->n || (r->n && entry_cmp(ranks_nth(r, r->n - 1), &batch->v[0]) < 0)) {
		for (; k < batch->n; k++)
			ranks_insert(r, &batch->v[k]);
		return;
	}
	vec_reserve(&all, r->n + batch->n);
	for (struct spot i = {0}; (e = ranks_at(r, &i)); i.at++) {
		for (; k < batch->n && entry_cmp(&batch->v[k], e) < 0; k++)
			vec_push(&all, batch->v[k]);
		vec_push(&all, *e);
	}
	for (; k < batch->n; k++)
		vec_push(&all, batch->v[k]);
	ranks_free(r);
	ranks_fill(r, all.v, all.n);
	vec_free(&all);
}

/* ---- copying ---- */

void ranks_copy(struct ranks *to, const struct ranks *from, struct scratch *scratch)
{
	*to = (struct ranks){.cap = from->nblocks, .n = from->n, .nplanned = from->nplanned};
	if (from->nblocks == 0)
		return;
	spans_reserve(to, to->cap);
	to->nblocks = from->nblocks;
	to->block = mem_alloc(to->cap * sizeof *to->block);
	to->planned = mem_alloc(to->cap * sizeof *to->planned);
	to->first = mem_alloc(to->cap * sizeof *to->first);
	to->note = mem_zalloc(to->cap * sizeof *to->note);
	memcpy(to->planned, from->planned, to->nblocks * sizeof *to->planned);
	memcpy(to->first, from->first, to->nblocks * sizeof *to->first);
	for (size_t i = 0; i < to->nblocks; i++) {
		struct ranks_block *b = scratch ? scratch_take(scratch, sizeof *b) : mem_alloc(sizeof *b);
		b->n = from->block[i]->n;
		b->borrowed = scratch != NULL;
		b->v = b->room;
		b->summary = from->block[i]->summary;
		memcpy(b->v, from->block[i]->v, b->n * sizeof *b->v);
		to->block[i] = b;
	}
}

size_t ranks_bytes(const struct ranks *r)
{
	return r->nblocks * (sizeof(struct ranks_block) + SCRATCH_ALIGN);
}

void ranks_free(struct ranks *r)
{
	for (size_t i = 0; i < r->nblocks; i++)
		block_free(r, i);
	free(r->spare);
	free(r->block);
	free(r->span);
	free(r->planned);
	free(r->first);
	free(r->note);
	*r = (struct ranks){.shape = r->shape + 1};
}
