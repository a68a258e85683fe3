/*
 * heap.h - a binary min-heap of (time, tie, value). Items with equal times are ordered by their
 * tie, so that runs are reproducible.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_item {
	int64_t time;
	uint64_t tie;
	uint64_t value;
};

struct heap {
	struct heap_item *v;
	size_t n, cap;
};

void heap_fini(struct heap *h); /* {0} is empty */
void heap_push(struct heap *h, int64_t time, uint64_t tie, uint64_t value);
bool heap_peek(const struct heap *h, struct heap_item *ret);
bool heap_pop(struct heap *h, struct heap_item *ret);

#endif
