/*
 * timeline.c - sorted steps. A node holds few fragments, so linear scans over contiguous memory
 * beat any tree.
 */
#include "plan/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timetext.h"

void timeline_init(struct timeline *t, int nres, const struct res *total)
{
	*t = (struct timeline){.cap = 4, .n = 1, .stride = 1 + (uint32_t)nres};
	t->buf = mem_alloc(sizeof(int64_t) * t->cap * t->stride);
	t->buf[0] = TIME_BEGIN;
	memcpy(t->buf + 1, total->v, sizeof(int64_t) * (size_t)nres);
}

void timeline_fini(struct timeline *t)
{
	free(t->buf);
	t->buf = NULL;
}

uint32_t timeline_search(const struct timeline *t, int64_t when)
{
	const int64_t *base = timeline_step(t, 0);
	uint32_t lo = 0, len = t->n;

	while (len > 1) { /* branch-free: the compiler makes this a conditional move */
		uint32_t half = len / 2;
		lo = base[(uint64_t)(lo + half) * t->stride] <= when ? lo + half : lo;
		len -= half;
	}
	return lo;
}

static void timeline_room(struct timeline *t)
{
	if (t->n + 2 <= t->cap)
		return;
	t->cap = t->cap * 2 + 2;
	t->buf = mem_realloc(t->buf, (size_t)t->cap * t->stride, sizeof(int64_t));
}

/* Makes a step begin at `when` and returns its index. The caller has made sure that there is
 * room. */
static uint32_t timeline_split(struct timeline *t, int64_t when)
{
	uint32_t i = timeline_find(t, when);
	int64_t *s = timeline_step(t, i);

	if (s[0] == when)
		return i;
	memmove(s + t->stride, s, sizeof(int64_t) * (t->n - i) * t->stride);
	t->n++;
	s[t->stride] = when;
	return i + 1;
}

/* Drops step i if it is equal to the one before it. */
static void timeline_join(struct timeline *t, uint32_t i)
{
	if (i == 0 || i >= t->n)
		return;

	int64_t *s = timeline_step(t, i);

	for (uint32_t d = 1; d < t->stride; d++)
		if (s[d] != s[(int64_t)d - t->stride])
			return;
	memmove(s, s + t->stride, sizeof(int64_t) * (t->n - i - 1) * t->stride);
	t->n--;
}

void timeline_change(struct timeline *t, int64_t start, int64_t end, const struct res *need, int sign)
{
	if (start >= end)
		return;
	timeline_room(t);

	uint32_t a = start == TIME_BEGIN ? 0 : timeline_split(t, start);
	uint32_t b = end == TIME_NEVER ? t->n : timeline_split(t, end);
	int64_t *s = timeline_step(t, a);

	if (t->stride == 2) {
		int64_t x = sign * need->v[0];
		for (uint32_t i = 0; i < b - a; i++)
			s[2 * i + 1] += x;
	} else {
		for (uint32_t i = a; i < b; i++, s += t->stride)
			for (uint32_t d = 1; d < t->stride; d++)
				s[d] += sign * need->v[d - 1];
	}
	timeline_join(t, b);
	timeline_join(t, a);
}

static inline bool step_covers(const int64_t *s, const struct res *need, uint32_t stride)
{
	for (uint32_t d = 1; d < stride; d++)
		if (s[d] < need->v[d - 1])
			return false;
	return true;
}

bool timeline_fits(const struct timeline *t, int64_t start, int64_t end, const struct res *need)
{
	const int64_t *s = timeline_step(t, timeline_find(t, start)), *stop = timeline_step(t, t->n);

	do {
		if (!step_covers(s, need, t->stride))
			return false;
		s += t->stride;
	} while (s < stop && s[0] < end);
	return true;
}

int64_t timeline_earliest_before(const struct timeline *t, int64_t from, int64_t before, int64_t length,
				 const struct res *need)
{
	const int64_t *s = timeline_step(t, timeline_find(t, from)), *stop = timeline_step(t, t->n);
	int64_t start = from;

	while (start < before) {
		if (!step_covers(s, need, t->stride)) {
			s += t->stride; /* cannot start before the next step that has enough */
			while (s < stop && !step_covers(s, need, t->stride))
				s += t->stride;
			if (s >= stop)
				return TIME_NEVER;
			start = s[0];
		}
		s += t->stride;
		if (s >= stop || s[0] - start >= length)
			return start;
	}
	return TIME_NEVER;
}

int64_t timeline_earliest(const struct timeline *t, int64_t from, int64_t length, const struct res *need)
{
	return timeline_earliest_before(t, from, INT64_MAX, length, need);
}

int64_t timeline_measure(const struct timeline *t, int64_t start, int64_t end, const struct res *need, double *ret_area)
{
	const int64_t *s = timeline_step(t, timeline_find(t, start)), *stop = timeline_step(t, t->n);
	int64_t copies = INT64_MAX;
	double area = 0;

	while (start < end) {
		const int64_t *next = s + t->stride;
		int64_t until = next < stop && next[0] < end ? next[0] : end;
		for (uint32_t d = 1; d < t->stride; d++) {
			if (s[d] < need->v[d - 1])
				return 0;
			if (need->v[d - 1] && s[d] / need->v[d - 1] < copies)
				copies = s[d] / need->v[d - 1];
		}
		area += (double)s[1 + RES_CPU] * (double)(until - start);
		start = until;
		s = next;
	}
	*ret_area = area;
	return copies;
}

void timeline_least(const struct timeline *t, int64_t start, int64_t end, struct res *ret)
{
	const int64_t *s = timeline_step(t, timeline_find(t, start)), *stop = timeline_step(t, t->n);

	*ret = (struct res){0};
	memcpy(ret->v, s + 1, sizeof(int64_t) * (t->stride - 1));
	for (s += t->stride; s < stop && s[0] < end; s += t->stride)
		for (uint32_t d = 1; d < t->stride; d++)
			if (s[d] < ret->v[d - 1])
				ret->v[d - 1] = s[d];
}

bool timeline_equal(const struct timeline *a, const struct timeline *b)
{
	return a->n == b->n && a->stride == b->stride &&
	       memcmp(timeline_step(a, 0), timeline_step(b, 0), sizeof(int64_t) * a->n * a->stride) == 0;
}

void timeline_copy(struct timeline *to, const struct timeline *from)
{
	if (to->cap < from->n + 2) {
		to->cap = from->n + 2;
		to->buf = mem_realloc(to->buf, (size_t)to->cap * to->stride, sizeof(int64_t));
	}
	to->n = from->n;
	memcpy(to->buf, timeline_step(from, 0), sizeof(int64_t) * from->n * from->stride);
}
