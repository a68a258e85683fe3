/*
 * heap.c - a heap in an array; the children of i are at 2i+1 and 2i+2. While an item moves, its
 * place is a hole into which the others move, so that it is written once.
 */
#include "base/heap.h"

#include <stdlib.h>

#include "base/mem.h"

static inline bool before(const struct heap_item *a, const struct heap_item *b)
{
	/* no branch: half would be mispredicted */
	return (a->time < b->time) | ((a->time == b->time) & (a->tie < b->tie));
}

void heap_fini(struct heap *h)
{
	free(h->v);
	*h = (struct heap){0};
}

void heap_push(struct heap *h, int64_t time, uint64_t tie, uint64_t value)
{
	const struct heap_item item = {time, tie, value};

	if (h->n == h->cap) {
		h->cap = h->cap ? h->cap * 2 : 16;
		h->v = mem_realloc(h->v, h->cap, sizeof *h->v);
	}
	size_t hole = h->n++;
	while (hole > 0 && before(&item, &h->v[(hole - 1) / 2])) {
		h->v[hole] = h->v[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	h->v[hole] = item;
}

bool heap_peek(const struct heap *h, struct heap_item *ret)
{
	if (!h->n)
		return false;
	*ret = h->v[0];
	return true;
}

bool heap_pop(struct heap *h, struct heap_item *ret)
{
	if (!heap_peek(h, ret))
		return false;

	const struct heap_item last = h->v[--h->n];
	size_t hole = 0, child;

	/* move the hole down to a leaf, then the last item, which usually belongs near there, up
	 * from it */
	while ((child = 2 * hole + 1) + 1 < h->n) {
		child += before(&h->v[child + 1], &h->v[child]);
		h->v[hole] = h->v[child];
		hole = child;
	}
	if (child < h->n) {
		h->v[hole] = h->v[child];
		hole = child;
	}
	for (; hole > 0 && before(&last, &h->v[(hole - 1) / 2]); hole = (hole - 1) / 2)
		h->v[hole] = h->v[(hole - 1) / 2];
	h->v[hole] = last;
	return true;
}
