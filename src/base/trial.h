/*
 * trial.h - entries interned only for a trial, and removed when nothing else needs them.
 *
 * A table of interned entries (names.h, the cluster's shapes and requests) counts for each how many
 * trials hold it; 0: it is permanent. Interning outside a trial makes an entry permanent. A trial
 * ends by keeping all that it holds, or by giving it back: entries that no other trial holds are
 * then removed, and their numbers are reused.
 */
#ifndef BASE_TRIAL_H
#define BASE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Numbers that a trial holds, one for each time it interned them. */
typedef VEC(uint32_t) trial_vec;

/* Records that an entry was interned, in a trial or outside (NULL). */
static inline void trial_note(trial_vec *trial, uint32_t id, bool fresh, uint32_t *held)
{
	if (!trial) {
		*held = 0;
	} else if (fresh || *held) {
		++*held;
		vec_push(trial, id);
	}
}

/* Releases an entry from a trial. Returns true if the entry must be removed. */
static inline bool trial_release(uint32_t *held, bool keep)
{
	if (*held && keep)
		*held = 0;
	return *held && --*held == 0;
}

#endif
