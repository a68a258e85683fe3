/*
 * timeline.c - sorted steps, in parts of at most PART.
 *
 * A node holds few fragments: its steps are one part, and linear scans over contiguous memory beat
 * any tree. The sum over the cluster may have thousands: there a change moves only steps of its own
 * part, and a search skips parts in which nothing is as free as it must be.
 */
#include "plan/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timetext.h"

#define PART 256 /* steps */
#define FEW 64	 /* steps below which a part is joined with a neighbour */

static struct steps *part_of(const struct timeline *t, uint32_t part)
{
	return part ? &t->more[part - 1] : (struct steps *)&t->first;
}

void timeline_init(struct timeline *t, int nres, const struct res *total)
{
	*t = (struct timeline){.first = {.cap = 4, .n = 1}, .stride = 1 + (uint32_t)nres};
	t->first.v = mem_alloc(sizeof(int64_t) * t->first.cap * t->stride);
	t->first.v[0] = TIME_BEGIN;
	memcpy(t->first.v + 1, total->v, sizeof(int64_t) * (size_t)nres);
}

/* Drops all parts but the first `n + 1`. */
static void parts_drop(struct timeline *t, uint32_t n)
{
	while (t->nmore > n)
		free(t->more[--t->nmore].v);
}

void timeline_fini(struct timeline *t)
{
	parts_drop(t, 0);
	free(t->more);
	free(t->first.v);
	t->first.v = NULL;
	t->more = NULL;
}

/* ---- finding ---- */

static uint32_t part_at(const struct timeline *t, int64_t when)
{
	uint32_t part = 0;

	for (uint32_t len = t->nmore + 1, half; len > 1; len -= half) {
		half = len / 2;
		part = t->more[part + half - 1].v[0] <= when ? part + half : part;
	}
	return part;
}

struct step_place timeline_search(const struct timeline *t, int64_t when)
{
	uint32_t part = part_at(t, when);

	return (struct step_place){part, steps_find(part_of(t, part), t->stride, when)};
}

int64_t walk_until(const struct walk *w)
{
	struct walk next = *w;

	return walk_next(&next) ? next.step[0] : TIME_NEVER;
}

/* ---- changing ---- */

static void part_sum(const struct timeline *t, struct steps *x)
{
	int64_t most = x->v[1];

	for (uint32_t i = 1; i < x->n; i++) {
		int64_t free = x->v[(uint64_t)i * t->stride + 1];
		most = free > most ? free : most;
	}
	x->most = most;
}

static void part_grow(const struct timeline *t, struct steps *x, uint32_t cap)
{
	x->cap = cap;
	x->v = mem_realloc(x->v, (size_t)cap * t->stride, sizeof(int64_t));
}

/* Divides a full part in two. */
static void part_divide(struct timeline *t, uint32_t part)
{
	struct steps *x, next = {.n = part_of(t, part)->n / 2};

	if (t->nmore == t->room) {
		t->room = t->room * 2 + 4;
		t->more = mem_realloc(t->more, t->room, sizeof *t->more);
	}
	memmove(t->more + part + 1, t->more + part, (t->nmore - part) * sizeof *t->more);
	t->nmore++;
	x = part_of(t, part);
	part_grow(t, &next, PART);
	x->n -= next.n;
	memcpy(next.v, x->v + (uint64_t)x->n * t->stride, sizeof(int64_t) * next.n * t->stride);
	t->more[part] = next;
	part_sum(t, x);
	part_sum(t, &t->more[part]);
}

/* Makes room for two more steps in a part. */
static void part_room(struct timeline *t, uint32_t part)
{
	struct steps *x = part_of(t, part);

	if (x->n + 2 <= x->cap)
		return;
	if (x->n + 2 <= PART)
		part_grow(t, x, x->cap * 2 + 2 < PART ? x->cap * 2 + 2 : PART);
	else
		part_divide(t, part);
}

/* Joins a small part with the next one if there is room for both. */
static void part_join(struct timeline *t, uint32_t part)
{
	struct steps *x, *next;

	if (part >= t->nmore)
		return;
	x = part_of(t, part);
	next = &t->more[part];
	if ((x->n >= FEW && next->n >= FEW) || x->n + next->n > PART - FEW)
		return;
	if (x->cap < PART)
		part_grow(t, x, PART);
	memcpy(x->v + (uint64_t)x->n * t->stride, next->v, sizeof(int64_t) * next->n * t->stride);
	x->n += next->n;
	x->most = next->most > x->most ? next->most : x->most;
	free(next->v);
	t->nmore--;
	memmove(next, next + 1, (t->nmore - part) * sizeof *next);
}

/* Makes a step begin at `when` and returns its index. There is room for it. */
static uint32_t steps_split(struct steps *x, uint32_t stride, int64_t when)
{
	uint32_t i = x->n < 2 || x->v[stride] > when ? 0 : steps_find(x, stride, when);
	int64_t *s = x->v + (uint64_t)i * stride;

	if (s[0] == when)
		return i;
	memmove(s + stride, s, sizeof(int64_t) * (x->n - i) * stride);
	x->n++;
	s[stride] = when;
	return i + 1;
}

/* Drops step i if it is equal to the one before it, which may be in another part. */
static void steps_join(struct steps *x, uint32_t stride, uint32_t i, const int64_t *before)
{
	int64_t *s = x->v + (uint64_t)i * stride;

	for (uint32_t d = 1; d < stride; d++)
		if (s[d] != before[d])
			return;
	x->n--;
	memmove(s, s + stride, sizeof(int64_t) * (x->n - i) * stride);
}

/* Adds to steps [from, to) of a part. */
static void steps_add(const struct timeline *t, struct steps *x, uint32_t from, uint32_t to, const struct res *need,
		      int sign)
{
	int64_t *s = x->v + (uint64_t)from * t->stride;

	if (t->stride == 2) {
		int64_t more = sign * need->v[0];
		for (uint32_t i = 0; i < to - from; i++)
			s[2 * i + 1] += more;
	} else {
		for (uint32_t i = from; i < to; i++, s += t->stride)
			for (uint32_t d = 1; d < t->stride; d++)
				s[d] += sign * need->v[d - 1];
	}
}

/* Does timeline_change() in a single part, where there is room. */
static void steps_change(const struct timeline *t, struct steps *x, int64_t start, int64_t end, const struct res *need,
			 int sign)
{
	uint32_t a = start == TIME_BEGIN ? 0 : steps_split(x, t->stride, start);
	uint32_t b = end == TIME_NEVER ? x->n : steps_split(x, t->stride, end);

	steps_add(t, x, a, b, need, sign);
	if (b < x->n)
		steps_join(x, t->stride, b, x->v + (uint64_t)(b - 1) * t->stride);
	if (a > 0)
		steps_join(x, t->stride, a, x->v + (uint64_t)(a - 1) * t->stride);
}

/* Drops the step at `when`, if one begins there and is equal to the one before it. */
static void step_join(struct timeline *t, int64_t when)
{
	struct step_place at = timeline_search(t, when);
	struct steps *x = part_of(t, at.part), *last = at.i ? x : part_of(t, at.part - 1);

	if (x->v[(uint64_t)at.i * t->stride] != when)
		return;
	steps_join(x, t->stride, at.i, last->v + (uint64_t)((at.i ? at.i : last->n) - 1) * t->stride);
	if (x->n)
		return;
	free(x->v); /* the first part cannot become empty */
	t->nmore--;
	memmove(x, x + 1, (t->nmore - (at.part - 1)) * sizeof *x);
}

/* Restores what holds for parts after steps were changed between two instants. */
static void parts_settle(struct timeline *t, int64_t start, int64_t end)
{
	uint32_t from = part_at(t, start), to = part_at(t, end);

	for (uint32_t part = from; part <= to; part++)
		part_sum(t, part_of(t, part));
	part_join(t, to);
	part_join(t, from);
	if (from > 0)
		part_join(t, from - 1);
}

/* Does timeline_change() where there are several parts. */
static void parts_change(struct timeline *t, int64_t start, int64_t end, const struct res *need, int sign)
{
	uint32_t a, b;

	part_room(t, part_at(t, end));
	part_room(t, part_at(t, start));
	a = part_at(t, start);
	b = part_at(t, end);
	uint32_t from = start == TIME_BEGIN ? 0 : steps_split(part_of(t, a), t->stride, start);
	uint32_t to = end == TIME_NEVER ? part_of(t, b)->n : steps_split(part_of(t, b), t->stride, end);
	for (uint32_t part = a; part <= b; part++)
		steps_add(t, part_of(t, part), part == a ? from : 0, part == b ? to : part_of(t, part)->n, need, sign);
	if (end != TIME_NEVER)
		step_join(t, end);
	if (start != TIME_BEGIN)
		step_join(t, start);
	parts_settle(t, start, end);
}

void timeline_change(struct timeline *t, int64_t start, int64_t end, const struct res *need, int sign)
{
	if (start >= end)
		return;
	if (!t->nmore)
		part_room(t, 0);
	if (!t->nmore)
		steps_change(t, &t->first, start, end, need, sign);
	else
		parts_change(t, start, end, need, sign);
}

/* ---- asking ---- */

static inline bool step_covers(const int64_t *s, const struct res *need, uint32_t stride)
{
	for (uint32_t d = 1; d < stride; d++)
		if (s[d] < need->v[d - 1])
			return false;
	return true;
}

bool timeline_fits(const struct timeline *t, int64_t start, int64_t end, const struct res *need)
{
	struct walk w = timeline_walk(t, start);

	do {
		if (!step_covers(w.step, need, t->stride))
			return false;
	} while (walk_next(&w) && w.step[0] < end);
	return true;
}

int64_t timeline_until(const struct timeline *t, int64_t start, const struct res *need)
{
	struct walk w = timeline_walk(t, start);

	if (!step_covers(w.step, need, t->stride))
		return start;
	while (walk_next(&w) && step_covers(w.step, need, t->stride))
		;
	return w.step ? w.step[0] : TIME_NEVER;
}

/* Moves to the next step that has enough. Returns false after the last. Skips parts that nowhere
 * have enough. */
static inline bool walk_cover(struct walk *w, const struct res *need, uint32_t stride)
{
	for (;;) {
		for (w->step += stride; w->step < w->stop; w->step += stride)
			if (step_covers(w->step, need, stride))
				return true;
		do
			if (!walk_part(w))
				return false;
		while (w->t->more[w->part - 1].most < need->v[0]);
		if (step_covers(w->step, need, stride))
			return true;
	}
}

/* Returns the earliest start >= from at which `need` is free until `length` seconds later, or until
 * `planned` if that is earlier; if it is not before `before`, any instant that is not. */
static inline int64_t earliest(const struct timeline *t, int64_t from, int64_t before, int64_t length, int64_t planned,
			       const struct res *need, uint32_t stride)
{
	struct walk w = timeline_walk(t, from);
	int64_t start = from;

	while (start < before) {
		if (!step_covers(w.step, need, stride)) {
			if (!walk_cover(&w, need, stride)) /* cannot start before a step that has enough */
				return TIME_NEVER;
			start = w.step[0];
		}
		w.step += stride;
		if ((w.step >= w.stop && !walk_part(&w)) || w.step[0] - start >= length || w.step[0] >= planned)
			return start;
	}
	return TIME_NEVER;
}

int64_t timeline_earliest_before(const struct timeline *t, int64_t from, int64_t before, int64_t length,
				 const struct res *need)
{
	return t->stride == 2 ? earliest(t, from, before, length, TIME_NEVER, need, 2)
			      : earliest(t, from, before, length, TIME_NEVER, need, t->stride);
}

int64_t timeline_earliest(const struct timeline *t, int64_t from, int64_t length, const struct res *need)
{
	return timeline_earliest_before(t, from, INT64_MAX, length, need);
}

int64_t timeline_opening(const struct timeline *t, int64_t from, const struct opening *o)
{
	int64_t at = t->stride == 2 ? earliest(t, from, o->before, o->length, o->planned, &o->need, 2)
				    : earliest(t, from, o->before, o->length, o->planned, &o->need, t->stride);

	return at < o->before ? at : TIME_NEVER;
}

uint32_t timeline_distance(const struct timeline *t, int64_t from, int64_t until)
{
	if (!t->nmore || from >= until)
		return 0;
	return (timeline_search(t, until).part - timeline_search(t, from).part) * PART;
}

static inline int64_t measure(const struct timeline *t, int64_t start, int64_t end, const struct res *need,
			      double *ret_area, uint32_t stride)
{
	struct walk w = timeline_walk(t, start);
	int64_t least[RES_MAX], copies = INT64_MAX;
	double area = 0;

	for (uint32_t d = 1; d < stride; d++)
		least[d - 1] = w.step[d];
	while (start < end) {
		const int64_t *s = w.step;
		for (uint32_t d = 1; d < stride; d++) {
			if (s[d] < need->v[d - 1])
				return 0;
			least[d - 1] = s[d] < least[d - 1] ? s[d] : least[d - 1];
		}
		int64_t until = walk_next(&w) && w.step[0] < end ? w.step[0] : end;
		area += (double)s[1 + RES_CPU] * (double)(until - start);
		start = until;
	}
	for (uint32_t d = 0; d < stride - 1; d++) /* one division each, not one for each step */
		if (need->v[d] && least[d] / need->v[d] < copies)
			copies = least[d] / need->v[d];
	*ret_area = area;
	return copies;
}

int64_t timeline_measure(const struct timeline *t, int64_t start, int64_t end, const struct res *need, double *ret_area)
{
	return t->stride == 2 ? measure(t, start, end, need, ret_area, 2)
			      : measure(t, start, end, need, ret_area, t->stride);
}

void timeline_least(const struct timeline *t, int64_t start, int64_t end, struct res *ret)
{
	struct walk w = timeline_walk(t, start);

	*ret = (struct res){0};
	memcpy(ret->v, w.step + 1, sizeof(int64_t) * (t->stride - 1));
	while (walk_next(&w) && w.step[0] < end)
		for (uint32_t d = 1; d < t->stride; d++)
			if (w.step[d] < ret->v[d - 1])
				ret->v[d - 1] = w.step[d];
}

int64_t timeline_most(const struct timeline *t, int64_t start, int64_t end)
{
	struct walk w = timeline_walk(t, start);
	int64_t most = w.step[1];

	while (walk_next(&w) && w.step[0] < end) {
		const struct steps *x = part_of(t, w.part);
		bool whole = w.step == x->v && x->v[(uint64_t)(x->n - 1) * t->stride] < end;
		int64_t here = whole ? x->most : w.step[1];
		most = here > most ? here : most;
		if (whole)
			w.step = w.stop - t->stride;
	}
	return most;
}

bool timeline_equal(const struct timeline *a, const struct timeline *b)
{
	struct walk x = timeline_walk(a, TIME_BEGIN), y = timeline_walk(b, TIME_BEGIN);
	bool equal = a->stride == b->stride;

	while (equal && x.step && y.step) {
		equal = memcmp(x.step, y.step, sizeof(int64_t) * a->stride) == 0;
		walk_next(&x);
		walk_next(&y);
	}
	return equal && !x.step && !y.step;
}

static void part_copy(const struct timeline *t, struct steps *to, const struct steps *from)
{
	if (to->cap < from->n)
		part_grow(t, to, from->cap);
	to->n = from->n;
	to->most = from->most;
	memcpy(to->v, from->v, sizeof(int64_t) * from->n * t->stride);
}

void timeline_copy(struct timeline *to, const struct timeline *from)
{
	parts_drop(to, from->nmore);
	if (to->room < from->nmore) {
		to->room = from->nmore;
		to->more = mem_realloc(to->more, to->room, sizeof *to->more);
	}
	part_copy(to, &to->first, &from->first);
	for (uint32_t i = 0; i < from->nmore; i++) {
		if (i == to->nmore)
			to->more[to->nmore++] = (struct steps){0};
		part_copy(to, &to->more[i], &from->more[i]);
	}
}
