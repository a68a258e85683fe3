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

static void summary_add(struct reach *s, const struct queued *e)
{
	int32_t *shortest = &s->length[e->class];

	if (reach_of(e->length) < *shortest)
		*shortest = reach_of(e->length);
}

static void summary_make(struct ranks *r, size_t block)
{
	const struct ranks_block *b = r->block[block];
	struct reach *s = &r->shortest[block];

	for (int k = 0; k < RANKS_CLASSES; k++)
		s->length[k] = INT32_MAX;
	r->first[block] = b->n ? b->v->key : 0;
	r->planned[block] = 0;
	for (size_t i = 0; i < b->n; i++) {
		summary_add(s, &b->v[i]);
		r->planned[block] += b->v[i].planned != TIME_NEVER;
	}
}

/* Makes the summary of a block again for one class, after an entry of it was removed. */
static void summary_renew(struct ranks *r, size_t block, unsigned class)
{
	const struct ranks_block *b = r->block[block];
	struct reach *s = &r->shortest[block];

	s->length[class] = INT32_MAX;
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i].class == class)
			summary_add(s, &b->v[i]);
}

bool ranks_block_fits(const struct ranks *r, size_t block, const struct gap *gap)
{
	const struct reach *shortest = &r->shortest[block];

	for (unsigned i = 0; i < gap->n; i++)
		if (shortest->length[gap->open[i]] <= gap->reach.length[gap->open[i]])
			return true;
	return false;
}

bool gap_fits(const struct gap *gap, unsigned class, int64_t length)
{
	return reach_of(length) <= gap->reach.length[class];
}

bool ranks_entry_fits(const struct queued *e, const struct gap *gap)
{
	return gap_fits(gap, e->class, e->length);
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

static void blocks_reserve(struct ranks *r)
{
	if (r->nblocks < r->cap)
		return;
	r->cap = r->cap * 2 + 4;
	r->block = mem_realloc(r->block, r->cap, sizeof *r->block);
	r->shortest = mem_realloc(r->shortest, r->cap, sizeof *r->shortest);
	r->planned = mem_realloc(r->planned, r->cap, sizeof *r->planned);
	r->first = mem_realloc(r->first, r->cap, sizeof *r->first);
	r->note = mem_realloc(r->note, r->cap, sizeof *r->note);
}

/* Adds an empty block at a position; the caller fills it and makes its summary. */
static struct ranks_block *block_add(struct ranks *r, size_t at)
{
	struct ranks_block *b = mem_alloc(sizeof *b);

	blocks_reserve(r);
	memmove(r->block + at + 1, r->block + at, (r->nblocks - at) * sizeof *r->block);
	memmove(r->shortest + at + 1, r->shortest + at, (r->nblocks - at) * sizeof *r->shortest);
	memmove(r->planned + at + 1, r->planned + at, (r->nblocks - at) * sizeof *r->planned);
	memmove(r->first + at + 1, r->first + at, (r->nblocks - at) * sizeof *r->first);
	memmove(r->note + at + 1, r->note + at, (r->nblocks - at) * sizeof *r->note);
	r->nblocks++;
	r->shape++;
	b->n = 0;
	b->borrowed = false;
	b->v = b->room;
	r->block[at] = b;
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
	block_free(r, at);
	r->nblocks--;
	r->shape++;
	memmove(r->block + at, r->block + at + 1, (r->nblocks - at) * sizeof *r->block);
	memmove(r->shortest + at, r->shortest + at + 1, (r->nblocks - at) * sizeof *r->shortest);
	memmove(r->planned + at, r->planned + at + 1, (r->nblocks - at) * sizeof *r->planned);
	memmove(r->first + at, r->first + at + 1, (r->nblocks - at) * sizeof *r->first);
	memmove(r->note + at, r->note + at + 1, (r->nblocks - at) * sizeof *r->note);
}

/* Divides a full block before an entry is added to it. At the end of the list, where jobs usually
 * arrive, the block stays as it is and a new one follows. */
static void block_split(struct ranks *r, size_t at, bool end)
{
	struct ranks_block *next = block_add(r, at + 1), *b = r->block[at];

	note_drop(r, at);
	next->n = end ? 0 : b->n / 2;
	b->n -= next->n;
	memcpy(next->v, b->v + b->n, next->n * sizeof *b->v);
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
	block_room(b, next->n);
	memcpy(b->v + b->n, next->v, next->n * sizeof *b->v);
	b->n += next->n;
	block_drop(r, at + 1);
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

struct queued *ranks_fit(const struct ranks *r, struct spot *at, const struct gap *gap, size_t *scanned)
{
	for (ranks_at(r, at); at->block < r->nblocks; *at = (struct spot){at->block + 1, 0}) {
		const struct ranks_block *b = r->block[at->block];
		size_t from = at->at;
		++*scanned;
		if (!ranks_block_fits(r, at->block, gap))
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

	if (r->nblocks == 0) {
		block_add(r, 0);
		summary_make(r, 0);
	}
	at = spot_of(r, e->key, e->job);
	if (r->block[at.block]->n == RANKS_BLOCK) {
		block_split(r, at.block, at.block + 1 == r->nblocks && at.at == RANKS_BLOCK);
		if (at.at >= r->block[at.block]->n)
			at = (struct spot){at.block + 1, at.at - r->block[at.block]->n};
	}
	b = r->block[at.block];
	note_change(r, at.block, at.at, 1);
	block_room(b, 1);
	memmove(b->v + at.at + 1, b->v + at.at, (b->n - at.at) * sizeof *b->v);
	b->v[at.at] = *e;
	r->first[at.block] = b->v->key;
	b->n++;
	r->n++;
	r->nplanned += e->planned != TIME_NEVER;
	r->planned[at.block] += e->planned != TIME_NEVER;
	summary_add(&r->shortest[at.block], e);
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
	size_t moved = b->n - at.at - 1;
	unsigned class = b->v[at.at].class;
	int32_t length = reach_of(b->v[at.at].length);
	bool planned = b->v[at.at].planned != TIME_NEVER;

	assert(at.at < b->n && b->v[at.at].job == job);
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
	if (length == r->shortest[at.block].length[class])
		summary_renew(r, at.block, class);
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
	*to = (struct ranks){.nblocks = from->nblocks, .cap = from->nblocks, .n = from->n, .nplanned = from->nplanned};
	if (from->nblocks == 0)
		return;
	to->block = mem_alloc(to->cap * sizeof *to->block);
	to->shortest = mem_alloc(to->cap * sizeof *to->shortest);
	to->planned = mem_alloc(to->cap * sizeof *to->planned);
	to->first = mem_alloc(to->cap * sizeof *to->first);
	to->note = mem_zalloc(to->cap * sizeof *to->note);
	memcpy(to->shortest, from->shortest, to->nblocks * sizeof *to->shortest);
	memcpy(to->planned, from->planned, to->nblocks * sizeof *to->planned);
	memcpy(to->first, from->first, to->nblocks * sizeof *to->first);
	for (size_t i = 0; i < to->nblocks; i++) {
		struct ranks_block *b = scratch ? scratch_take(scratch, sizeof *b) : mem_alloc(sizeof *b);
		b->n = from->block[i]->n;
		b->borrowed = scratch != NULL;
		b->v = b->room;
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
	free(r->block);
	free(r->shortest);
	free(r->planned);
	free(r->first);
	free(r->note);
	*r = (struct ranks){.shape = r->shape + 1};
}
