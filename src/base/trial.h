/*
 * trial.h - what is interned only to try something, and gone when nobody else wants it.
 *
 * A table of interned things (names.h, the cluster's shapes and requests) counts for each how many trials hold it; 0: it is kept for good. Whoever interns
 * outside of a trial keeps it. A trial ends by keeping all that it holds, or by giving it back: what no other holds is then removed, and its number is used again.
 */
#ifndef BASE_TRIAL_H
#define BASE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* The numbers that a trial holds, one for each time. */
typedef VEC(uint32_t) trial_vec;

/* A thing was interned, within a trial or not (NULL). */
static inline void trial_note(trial_vec *trial, uint32_t id, bool fresh, uint32_t *held)
{
	if (!trial) {
		*held = 0;
	} else if (fresh || *held) {
		++*held;
		vec_push(trial, id);
	}
}

/* A trial no longer holds a thing. Returns true if that is to be removed. */
static inline bool trial_release(uint32_t *held, bool keep)
{
	if (*held && keep)
		*held = 0;
	return *held && --*held == 0;
}

#endif
