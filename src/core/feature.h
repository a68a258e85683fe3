/*
 * feature.h - sets of features: of a node, and those that a fragment asks for.
 *
 * A feature is a number (cluster.feature_names has its name). Sets are interned: equal sets have one number, the empty set is
 * FEATURES_NONE, and a scan of the nodes compares numbers unless a fragment asks for features.
 */
#ifndef CORE_FEATURE_H
#define CORE_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/trial.h"
#include "base/vec.h"

#define FEATURES_NONE 0
#define FEATURES_MAX 4096     /* of a cluster: a set takes at most 512 bytes */
#define NODE_FEATURES_MAX 256 /* of a node */

struct feature_set {
	uint64_t *word; /* bit i % 64 of word[i / 64]: feature i; the last word is not 0 */
	uint32_t nwords;
	uint32_t held; /* number of trials that hold it; 0: it is kept */
	uint64_t hash; /* its key in features.index */
};

/* All sets that were ever used; {0} has the empty one. */
struct features {
	VEC(struct feature_set) sets; /* set i + 1 */
	struct map index;	      /* hash -> set, chained by re-hashing */
	trial_vec spare;	      /* sets that were removed */
	trial_vec *trial;	      /* the one that new sets are held by now; NULL: they are kept */
};

void features_fini(struct features *f);
void features_keep(struct features *f, uint32_t set); /* for good, whichever trials hold it */
/* Ends a trial (base/trial.h), which is empty then. */
void features_end(struct features *f, trial_vec *trial, bool keep);

/* Returns a hash of what is in the set; 0 for the empty one. */
uint64_t features_hash(const struct features *f, uint32_t set);

/* The set with one more feature (less than FEATURES_MAX); what is in one or the other. */
uint32_t features_add(struct features *f, uint32_t set, uint32_t feature);
uint32_t features_union(struct features *f, uint32_t a, uint32_t b);

bool features_has(const struct features *f, uint32_t set, uint32_t feature);

/* The first feature of a set from a number on; FEATURES_MAX: there is none. */
uint32_t features_next(const struct features *f, uint32_t set, uint32_t from);

/* For features_cover(). */
bool features_include(const struct features *f, uint32_t have, uint32_t want);

/* Whether a node with the one set has all that the other asks for. */
static inline bool features_cover(const struct features *f, uint32_t have, uint32_t want)
{
	return want == FEATURES_NONE || have == want || (have != FEATURES_NONE && features_include(f, have, want));
}

#endif
