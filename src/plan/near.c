/*
 * near.c - chooses the fewest switches.
 *
 * All parts are equal, so taking the leaves with the most room yields the fewest leaves. The last
 * one taken is then replaced by the leaf with the least room that still suffices.
 */
#include "plan/near.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct roomy {
	int64_t room;
	uint32_t leaf;
};

static int roomy_cmp(const void *a, const void *b)
{
	const struct roomy *x = a, *y = b;

	if (x->room != y->room)
		return x->room > y->room ? -1 : 1;
	return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

/* Collects the leaves of one switch, those with the most room first. Returns how many of them the
 * job needs; 0 if all together are too small for it. */
static uint32_t leaves_needed(const struct switch_ *s, const int64_t *room, const bool *own, int64_t count,
			      struct roomy *v, uint32_t *ret_n)
{
	uint32_t n = 0;

	for (uint32_t i = s->from; i < s->to; i++)
		if (room[i] > 0 && !(own && own[i]))
			v[n++] = (struct roomy){room[i], i};
	if (n)
		qsort(v, n, sizeof *v, roomy_cmp);
	*ret_n = n;
	for (uint32_t i = 0; i < n; i++) {
		count -= v[i].room;
		if (count <= 0)
			return i + 1;
	}
	return 0;
}

static void mark(const struct roomy *v, uint32_t n, uint32_t needed, int64_t count, bool *ret)
{
	uint32_t last = needed - 1;

	for (uint32_t i = 0; i + 1 < needed; i++) {
		ret[v[i].leaf] = true;
		count -= v[i].room;
	}
	while (last + 1 < n && v[last + 1].room >= count)
		last++;
	ret[v[last].leaf] = true;
}

bool near_choose(const struct topology *t, const int64_t *room, const bool *own, int64_t count, bool *ret)
{
	struct switch_ all = {.level = UINT32_MAX, .to = (uint32_t)t->leaf.n}, best = {0};
	struct roomy *v = mem_alloc((t->leaf.n + 1) * sizeof *v);
	uint32_t least = UINT32_MAX, n, needed;
	int64_t least_room = 0;

	memset(ret, 0, t->leaf.n * sizeof *ret);
	for (uint32_t i = 0; own && i < t->leaf.n; i++)
		if (own[i]) {
			ret[i] = true;
			count -= room[i];
		}
	/* finally all leaves together: there may be several trees */
	for (size_t i = 0; i <= t->v.n && count > 0; i++) {
		const struct switch_ *s = i < t->v.n ? &t->v.v[i] : &all;
		int64_t sum = 0;
		needed = leaves_needed(s, room, own, count, v, &n);
		if (!needed || needed > least)
			continue;
		for (uint32_t k = 0; k < n; k++)
			sum += v[k].room;
		if (needed < least || s->level < best.level || (s->level == best.level && sum < least_room)) {
			least = needed;
			least_room = sum;
			best = *s;
		}
	}
	if (count > 0 && least != UINT32_MAX) {
		needed = leaves_needed(&best, room, own, count, v, &n);
		mark(v, n, needed, count, ret);
	}
	free(v);
	return count <= 0 || least != UINT32_MAX;
}

static int leaf_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

uint32_t near_span(const uint32_t *leaf, uint32_t n)
{
	uint32_t *v = mem_alloc((n + 1) * sizeof *v), span = 0;

	memcpy(v, leaf, n * sizeof *v);
	if (n)
		qsort(v, n, sizeof *v, leaf_cmp);
	for (uint32_t i = 0; i < n; i++)
		span += i == 0 || v[i] != v[i - 1];
	free(v);
	return span;
}
