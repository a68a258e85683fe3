/*
 * keysort.c - radix sort from the least significant digit: first by the tie, then by the key. Each
 * pass is stable.
 */
#include "base/keysort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FEW 256 /* below this qsort() is faster */
#define BITS 11
#define VALUES (1 << BITS)

static int keyed_cmp(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->tie != y->tie)
		return x->tie < y->tie ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at; /* stable, like the passes */
}

/* Returns the key as an unsigned number with the same order. */
static uint64_t key_bits(double key)
{
	uint64_t bits;

	key += 0.0; /* turns -0.0 into 0.0 */
	memcpy(&bits, &key, sizeof bits);
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static uint32_t digit(const struct keyed *x, bool tie, int shift)
{
	return (uint32_t)((tie ? x->tie : key_bits(x->key)) >> shift) & (VALUES - 1);
}

/* Returns false, with nothing done, if the digit is the same in all items. */
static bool digit_sort(const struct keyed *from, struct keyed *to, size_t n, bool tie, int shift)
{
	size_t place[VALUES] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		place[digit(&from[i], tie, shift)]++;
	if (place[digit(&from[0], tie, shift)] == n)
		return false;
	for (size_t d = 0; d < VALUES; d++) {
		size_t count = place[d];
		place[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[place[digit(&from[i], tie, shift)]++] = from[i];
	return true;
}

void keyed_sort(struct keyed *v, size_t n)
{
	struct keyed *room, *a = v, *b;

	if (n < FEW) {
		if (n > 1)
			qsort(v, n, sizeof *v, keyed_cmp);
		return;
	}
	b = room = mem_alloc(n * sizeof *room);
	for (int tie = 1; tie >= 0; tie--)
		for (int shift = 0; shift < (tie ? 32 : 64); shift += BITS)
			if (digit_sort(a, b, n, tie, shift)) {
				struct keyed *t = a;
				a = b;
				b = t;
			}
	if (a != v)
		memcpy(v, a, n * sizeof *v);
	free(room);
}
