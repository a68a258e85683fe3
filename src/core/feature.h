/*
 * feature.h - sets of features, of nodes and required by fragments.
 *
 * A feature is a number (cluster.feature_names has its name). Sets are interned: equal sets have
 * one number, and the empty set is FEATURES_NONE. A scan of the nodes only compares numbers unless
 * a fragment requires features.
 */
#ifndef CORE_FEATURE_H
#define CORE_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/trial.h"
#include "base/vec.h"

#define FEATURES_NONE 0
#define FEATURES_MAX 4096     /* per cluster: a set takes at most 512 bytes */
#define NODE_FEATURES_MAX 256 /* per node */

struct feature_set {
	/* bit i % 64 of word[i / 64] stands for feature i; the last word is not 0 */
	uint64_t *word;
	uint32_t nwords;
	uint32_t held; /* number of trials that hold the set; 0: permanent */
	uint64_t hash; /* key in features.index */
};

/* All sets in use; {0} contains only the empty one. */
struct features {
	VEC(struct feature_set) sets; /* element i is set i + 1 */
	struct map index;	      /* hash -> set, chained by re-hashing */
	trial_vec spare;	      /* removed sets, for reuse */
	trial_vec *trial;	      /* trial that holds new sets; NULL: new sets are permanent */
};

void features_fini(struct features *f);
/* Makes the set permanent, whichever trials hold it. */
void features_keep(struct features *f, uint32_t set);
/* Ends a trial (base/trial.h) and empties it. */
void features_end(struct features *f, trial_vec *trial, bool keep);

/* Returns a hash of the set's members; 0 for the empty set. */
uint64_t features_hash(const struct features *f, uint32_t set);

/* features_add() returns the set with one more feature (below FEATURES_MAX); features_union()
 * returns the union. */
uint32_t features_add(struct features *f, uint32_t set, uint32_t feature);
uint32_t features_union(struct features *f, uint32_t a, uint32_t b);

bool features_has(const struct features *f, uint32_t set, uint32_t feature);

/* Returns the set's first feature that is >= `from`, or FEATURES_MAX if there is none. */
uint32_t features_next(const struct features *f, uint32_t set, uint32_t from);

/* Slow path of features_cover(). */
bool features_include(const struct features *f, uint32_t have, uint32_t want);

/* Returns true if a node with the set `have` has all features in `want`. */
static inline bool features_cover(const struct features *f, uint32_t have, uint32_t want)
{
	return want == FEATURES_NONE || have == want || (have != FEATURES_NONE && features_include(f, have, want));
}

#endif
