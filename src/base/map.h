/*
 * map.h - an open-addressing hash map from 64-bit keys to 64-bit values, and
 * names: strings numbered densely from 0 in the order they were first seen.
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
void map_copy(struct map *to, const struct map *from);	   /* `to` holds nothing */
void map_set(struct map *m, uint64_t key, uint64_t value); /* adds or replaces */
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
bool map_remove(struct map *m, uint64_t key); /* false if it was not there */
/* The value's place, 0 if new; valid until the next change. */
uint64_t *map_at(struct map *m, uint64_t key);

/* The same on every machine. Against accidents, not against somebody who looks for two texts with one hash. */
uint64_t hash_bytes(const void *p, size_t n);

struct names {
	char **name;
	size_t n, cap;
	struct map index; /* hash of the name -> id + 1 of the first name with it */
	uint32_t *next;	  /* id + 1 of the next name with the same hash */
};

void names_fini(struct names *s);		       /* {0} is empty */
uint32_t names_add(struct names *s, const char *name); /* the id, new or old */
bool names_find(const struct names *s, const char *name, uint32_t *ret_id);
const char *names_get(const struct names *s, uint32_t id); /* borrowed; NULL if there is none */

#endif
