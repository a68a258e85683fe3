/*
 * map.h - an open-addressing hash map from 64-bit keys to 64-bit values.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot *slot;
	size_t n, cap;
};

void map_fini(struct map *m);				   /* {0} is an empty map */
void map_copy(struct map *to, const struct map *from);	   /* `to` must be empty */
void map_set(struct map *m, uint64_t key, uint64_t value); /* adds or replaces */
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
bool map_remove(struct map *m, uint64_t key); /* false if the key is absent */
/* Returns a pointer to the value, which is 0 if the key is new; valid until the next change. */
uint64_t *map_at(struct map *m, uint64_t key);

/* Returns the same hash on every machine. Guards against accidental collisions, not deliberate
 * ones. */
uint64_t hash_bytes(const void *p, size_t n);

#endif
