/*
 * names.c - strings by number: a map from hashes, with a chain for those that share one.
 */
#include "base/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void names_fini(struct names *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->name[i]);
	free(s->name);
	free(s->next);
	map_fini(&s->index);
	*s = (struct names){0};
}

static bool chain_find(const struct names *s, uint64_t first, const char *name, uint32_t *ret_id)
{
	for (uint64_t at = first; at; at = s->next[at - 1])
		if (strcmp(s->name[at - 1], name) == 0) {
			*ret_id = (uint32_t)(at - 1);
			return true;
		}
	return false;
}

bool names_find(const struct names *s, const char *name, uint32_t *ret_id)
{
	uint64_t first;

	return map_get(&s->index, hash_bytes(name, strlen(name)), &first) && chain_find(s, first, name, ret_id);
}

uint32_t names_add(struct names *s, const char *name)
{
	uint64_t *first = map_at(&s->index, hash_bytes(name, strlen(name)));
	uint32_t id;

	if (chain_find(s, *first, name, &id))
		return id;
	assert(s->n < UINT32_MAX);
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 16;
		s->name = mem_realloc(s->name, s->cap, sizeof *s->name);
		s->next = mem_realloc(s->next, s->cap, sizeof *s->next);
	}
	id = (uint32_t)s->n++;
	s->name[id] = mem_strdup(name);
	s->next[id] = (uint32_t)*first;
	*first = (uint64_t)id + 1;
	return id;
}

const char *names_get(const struct names *s, uint32_t id)
{
	return id < s->n ? s->name[id] : NULL;
}
