/*
 * map.c - linear probing over a power of two of slots, at most three quarters full.
 *
 * A slot with key 0 is empty. The key 0 itself is therefore stored in an extra slot after the last,
 * whose key field is 1 if the key is present. Removal shifts the rest of the run back, so that
 * there are no tombstones: every key can be reached from its home slot without crossing an empty
 * one.
 */
#include "base/map.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct map_slot {
	uint64_t key, value;
};

static inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* Returns the slot that holds `key`, or the empty one where it belongs. The map must have slots. */
static inline struct map_slot *slot_find(const struct map *m, uint64_t key)
{
	size_t mask = m->cap - 1;

	if (key == 0)
		return &m->slot[m->cap];
	for (size_t i = mix(key) & mask;; i = (i + 1) & mask)
		if (m->slot[i].key == key || m->slot[i].key == 0)
			return &m->slot[i];
}

static void map_grow(struct map *m)
{
	struct map old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->slot = mem_realloc(NULL, m->cap + 1, sizeof *m->slot);
	memset(m->slot, 0, (m->cap + 1) * sizeof *m->slot);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i].key)
			*slot_find(m, old.slot[i].key) = old.slot[i];
	if (old.cap)
		m->slot[m->cap] = old.slot[old.cap];
	free(old.slot);
}

void map_fini(struct map *m)
{
	free(m->slot);
	*m = (struct map){0};
}

void map_copy(struct map *to, const struct map *from)
{
	*to = *from;
	if (!from->slot)
		return;
	to->slot = mem_realloc(NULL, from->cap + 1, sizeof *to->slot);
	memcpy(to->slot, from->slot, (from->cap + 1) * sizeof *to->slot);
}

uint64_t *map_at(struct map *m, uint64_t key)
{
	if (m->n >= m->cap / 4 * 3)
		map_grow(m);

	struct map_slot *s = slot_find(m, key);
	if (!s->key) {
		s->key = key ? key : 1;
		s->value = 0;
		m->n++;
	}
	return &s->value;
}

void map_set(struct map *m, uint64_t key, uint64_t value)
{
	*map_at(m, key) = value;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value)
{
	if (!m->n)
		return false;

	const struct map_slot *s = slot_find(m, key);
	if (!s->key)
		return false;
	if (ret_value)
		*ret_value = s->value;
	return true;
}

bool map_remove(struct map *m, uint64_t key)
{
	if (!m->n)
		return false;

	struct map_slot *s = slot_find(m, key);
	if (!s->key)
		return false;
	m->n--;
	if (key) {
		size_t mask = m->cap - 1, hole = (size_t)(s - m->slot);
		for (size_t i = (hole + 1) & mask; m->slot[i].key; i = (i + 1) & mask) {
			size_t home = mix(m->slot[i].key) & mask;
			if (((i - home) & mask) >= ((i - hole) & mask)) {
				m->slot[hole] = m->slot[i];
				hole = i;
			}
		}
		s = &m->slot[hole];
	}
	s->key = 0;
	return true;
}

uint64_t hash_bytes(const void *p, size_t n)
{
	const unsigned char *c = p;
	uint64_t h = 0x9e3779b97f4a7c15 ^ n, word;

	for (; n >= sizeof word; n -= sizeof word, c += sizeof word) {
		memcpy(&word, c, sizeof word);
		h = mix(h ^ le64toh(word)) + 0x9e3779b97f4a7c15;
	}
	word = 0;
	if (n)
		memcpy(&word, c, n);
	return mix(h ^ le64toh(word));
}
