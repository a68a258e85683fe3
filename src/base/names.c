/*
 * names.c - strings by number: a map from hashes, with a chain for names that share a hash.
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
	free(s->held);
	vec_free(&s->spare);
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

static uint32_t id_take(struct names *s)
{
	if (s->spare.n)
		return s->spare.v[--s->spare.n];
	assert(s->n < UINT32_MAX);
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 16;
		s->name = mem_realloc(s->name, s->cap, sizeof *s->name);
		s->next = mem_realloc(s->next, s->cap, sizeof *s->next);
		s->held = mem_realloc(s->held, s->cap, sizeof *s->held);
	}
	return (uint32_t)s->n++;
}

uint32_t names_add(struct names *s, const char *name)
{
	uint64_t *first = map_at(&s->index, hash_bytes(name, strlen(name)));
	uint32_t id;

	if (chain_find(s, *first, name, &id)) {
		trial_note(s->trial, id, false, &s->held[id]);
		return id;
	}
	id = id_take(s);
	s->name[id] = mem_strdup(name);
	s->next[id] = (uint32_t)*first;
	s->held[id] = 0;
	*first = (uint64_t)id + 1;
	trial_note(s->trial, id, true, &s->held[id]);
	return id;
}

static void name_remove(struct names *s, uint32_t id)
{
	uint64_t hash = hash_bytes(s->name[id], strlen(s->name[id])), *first = map_at(&s->index, hash);

	if (*first == (uint64_t)id + 1) {
		*first = s->next[id];
	} else {
		uint32_t at = (uint32_t)*first;
		while (s->next[at - 1] != id + 1)
			at = s->next[at - 1];
		s->next[at - 1] = s->next[id];
	}
	if (*first == 0)
		map_remove(&s->index, hash);
	free(s->name[id]);
	s->name[id] = NULL;
	vec_push(&s->spare, id);
}

void names_end(struct names *s, trial_vec *trial, bool keep)
{
	for (size_t i = 0; i < trial->n; i++)
		if (trial_release(&s->held[trial->v[i]], keep))
			name_remove(s, trial->v[i]);
	vec_free(trial);
}

const char *names_get(const struct names *s, uint32_t id)
{
	return id < s->n ? s->name[id] : NULL;
}
