/*
 * feature.c - interned sets of features.
 */
#include "core/feature.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void features_fini(struct features *f)
{
	for (size_t i = 0; i < f->sets.n; i++)
		free(f->sets.v[i].word);
	vec_free(&f->sets);
	vec_free(&f->spare);
	map_fini(&f->index);
}

static struct feature_set set_get(const struct features *f, uint32_t set)
{
	assert(set <= f->sets.n);
	return set == FEATURES_NONE ? (struct feature_set){0} : f->sets.v[set - 1];
}

static size_t set_size(const struct feature_set *s)
{
	return s->nwords * sizeof *s->word;
}

/* Returns the number of a set whose last word is not 0. Takes ownership of its words. */
static uint32_t set_intern(struct features *f, struct feature_set s)
{
	uint64_t hash = hash_bytes(s.word, set_size(&s)), id;

	for (; map_get(&f->index, hash, &id); hash++) {
		struct feature_set x = set_get(f, (uint32_t)id);
		if (x.nwords == s.nwords && memcmp(x.word, s.word, set_size(&s)) == 0) {
			free(s.word);
			trial_note(f->trial, (uint32_t)id, false, &f->sets.v[id - 1].held);
			return (uint32_t)id;
		}
	}
	s.hash = hash;
	id = f->spare.n ? f->spare.v[--f->spare.n] : f->sets.n + 1;
	if (id > f->sets.n)
		vec_push(&f->sets, s);
	f->sets.v[id - 1] = s;
	map_set(&f->index, hash, id);
	trial_note(f->trial, (uint32_t)id, true, &f->sets.v[id - 1].held);
	return (uint32_t)id;
}

void features_keep(struct features *f, uint32_t set)
{
	if (set != FEATURES_NONE)
		f->sets.v[set - 1].held = 0;
}

void features_end(struct features *f, trial_vec *trial, bool keep)
{
	for (size_t i = 0; i < trial->n; i++) {
		struct feature_set *s = &f->sets.v[trial->v[i] - 1];
		if (!trial_release(&s->held, keep))
			continue;
		map_remove(&f->index, s->hash);
		free(s->word);
		*s = (struct feature_set){0};
		vec_push(&f->spare, trial->v[i]);
	}
	vec_free(trial);
}

uint64_t features_hash(const struct features *f, uint32_t set)
{
	return set_get(f, set).hash;
}

/* Returns a copy with space for at least `nwords`. */
static struct feature_set set_copy(struct feature_set s, uint32_t nwords)
{
	struct feature_set copy = {.nwords = nwords > s.nwords ? nwords : s.nwords};

	copy.word = mem_zalloc(copy.nwords * sizeof *copy.word);
	if (s.nwords)
		memcpy(copy.word, s.word, set_size(&s));
	return copy;
}

uint32_t features_add(struct features *f, uint32_t set, uint32_t feature)
{
	struct feature_set s;

	assert(feature < FEATURES_MAX);
	if (features_has(f, set, feature))
		return set;
	s = set_copy(set_get(f, set), feature / 64 + 1);
	s.word[feature / 64] |= UINT64_C(1) << feature % 64;
	return set_intern(f, s);
}

uint32_t features_union(struct features *f, uint32_t a, uint32_t b)
{
	struct feature_set x = set_get(f, a), y = set_get(f, b), s;

	if (features_cover(f, a, b))
		return a;
	if (features_cover(f, b, a))
		return b;
	s = set_copy(x, y.nwords);
	for (uint32_t i = 0; i < y.nwords; i++)
		s.word[i] |= y.word[i];
	return set_intern(f, s);
}

bool features_has(const struct features *f, uint32_t set, uint32_t feature)
{
	struct feature_set s = set_get(f, set);

	return feature / 64 < s.nwords && s.word[feature / 64] >> feature % 64 & 1;
}

uint32_t features_next(const struct features *f, uint32_t set, uint32_t from)
{
	struct feature_set s = set_get(f, set);

	for (uint32_t i = from / 64; i < s.nwords; i++) {
		uint64_t left = i == from / 64 ? s.word[i] >> from % 64 << from % 64 : s.word[i];
		if (left)
			return i * 64 + (uint32_t)__builtin_ctzll(left);
	}
	return FEATURES_MAX;
}

bool features_include(const struct features *f, uint32_t have, uint32_t want)
{
	struct feature_set h = set_get(f, have), w = set_get(f, want);

	if (w.nwords > h.nwords)
		return false;
	for (uint32_t i = 0; i < w.nwords; i++)
		if (w.word[i] & ~h.word[i])
			return false;
	return true;
}
