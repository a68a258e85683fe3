/*
 * needtree.c - a k-d tree over the needs of a bag: its leaves are needs, and each node has the
 * least of what the waiting tasks below it need, and the lowest of these tasks. A search skips what
 * cannot fit or cannot be lower than what it found.
 */
#include "bag/needtree.h"

#include "base/mem.h"

enum { MEASURES = 4 };

struct branch {
	int64_t least[MEASURES]; /* minimum of each measure over needs with a waiting task */
	uint32_t first;		 /* lowest waiting task; UINT32_MAX: none */
};

struct needtree {
	const struct bag *bag;
	size_t leaves;	       /* a power of two */
	struct branch *branch; /* from 1: a node's children are 2 * node and the next; then the leaves */
	uint32_t *need;	       /* by leaf; those behind the last need are not used */
	uint32_t *leaf;	       /* by need */
	uint64_t steps;
};

static int64_t measure(const struct bag_need *need, int which)
{
	return (const int64_t[]){need->cpus, need->gpus, need->memory, need->seconds}[which];
}

struct sorting {
	const struct bag *bag;
	int measure;
};

static int by_measure(const void *a, const void *b, void *context)
{
	const struct sorting *s = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t m = measure(&s->bag->needs.v[x], s->measure), n = measure(&s->bag->needs.v[y], s->measure);

	return m != n ? (m > n) - (m < n) : (x > y) - (x < y);
}

/* Orders needs so that each half of each half has the lower values of a measure, in turn. `span`:
 * leaves, a power of two, of which the first `n` are used. */
static void leaves_order(struct needtree *t, uint32_t *need, size_t n, size_t span, int which)
{
	struct sorting s = {t->bag, which};
	size_t half = span / 2;

	if (n < 2)
		return;
	qsort_r(need, n, sizeof *need, by_measure, &s);
	leaves_order(t, need, n < half ? n : half, half, (which + 1) % MEASURES);
	if (n > half)
		leaves_order(t, need + half, n - half, half, (which + 1) % MEASURES);
}

struct needtree *needtree_create(const struct bag *bag)
{
	struct needtree *t = mem_zalloc(sizeof *t);

	t->bag = bag;
	for (t->leaves = 1; t->leaves < bag->needs.n;)
		t->leaves *= 2;
	t->branch = mem_alloc(2 * t->leaves * sizeof *t->branch);
	t->need = mem_alloc(t->leaves * sizeof *t->need);
	t->leaf = mem_alloc(t->leaves * sizeof *t->leaf);
	for (size_t i = 0; i < 2 * t->leaves; i++)
		t->branch[i] =
			(struct branch){.least = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, .first = UINT32_MAX};
	for (size_t i = 0; i < t->leaves; i++)
		t->need[i] = (uint32_t)i;
	leaves_order(t, t->need, bag->needs.n, t->leaves, 0);
	for (size_t i = 0; i < t->leaves; i++)
		t->leaf[t->need[i]] = (uint32_t)i;
	return t;
}

void needtree_destroy(struct needtree *t)
{
	if (!t)
		return;
	free(t->branch);
	free(t->need);
	free(t->leaf);
	free(t);
}

void needtree_set(struct needtree *t, uint32_t need, uint32_t first)
{
	size_t at = t->leaves + t->leaf[need];

	t->branch[at].first = first ? first : UINT32_MAX;
	for (int m = 0; m < MEASURES; m++)
		t->branch[at].least[m] = first ? measure(&t->bag->needs.v[need], m) : INT64_MAX;
	while ((at /= 2) > 0) {
		const struct branch *a = &t->branch[2 * at], *b = a + 1;
		for (int m = 0; m < MEASURES; m++)
			t->branch[at].least[m] = a->least[m] < b->least[m] ? a->least[m] : b->least[m];
		t->branch[at].first = a->first < b->first ? a->first : b->first;
	}
}

/* Returns true if these values fit; no time stated: `seconds` is 0. */
static bool enough(const int64_t *least, const struct needroom *room)
{
	return least[0] <= room->cpus && least[1] <= room->gpus && (room->memory < 0 || least[2] <= room->memory) &&
	       (room->seconds < 0 || least[3] <= room->seconds);
}

bool need_fits(const struct bag_need *need, const struct needroom *room)
{
	const int64_t values[MEASURES] = {need->cpus, need->gpus, need->memory,
					  need->seconds ? need->seconds : room->usual};

	return enough(values, room);
}

struct search {
	const struct needroom *room;
	bool (*accepts)(void *context, uint32_t need);
	void *context;
	uint32_t best, need; /* found so far; best: only lower ones count */
};

static void search_below(struct needtree *t, struct search *s, size_t at)
{
	const struct branch *b = &t->branch[at];

	t->steps++;
	if (b->first >= s->best || !enough(b->least, s->room))
		return;
	if (at < t->leaves) { /* the lower task first: then most of the rest can be skipped */
		size_t child = 2 * at + (t->branch[2 * at + 1].first < t->branch[2 * at].first);
		search_below(t, s, child);
		search_below(t, s, child ^ 1);
		return;
	}
	uint32_t need = t->need[at - t->leaves];
	if (need_fits(&t->bag->needs.v[need], s->room) && s->accepts(s->context, need)) {
		s->best = b->first;
		s->need = need;
	}
}

uint32_t needtree_find(struct needtree *t, const struct needroom *room, uint32_t below,
		       bool (*accepts)(void *context, uint32_t need), void *context, uint32_t *ret_need)
{
	uint32_t limit = below ? below : UINT32_MAX;
	struct search s = {.room = room, .accepts = accepts, .context = context, .best = limit};

	search_below(t, &s, 1);
	*ret_need = s.need;
	return s.best == limit ? 0 : s.best;
}

uint64_t needtree_steps(const struct needtree *t)
{
	return t->steps;
}
