/*
 * marks.h - remembers which blocks of a numbered range have changed since a caller last took them,
 * so that it computes the sums of only those blocks again. A block that was never taken counts as
 * changed; {0} is valid, and means that all have changed.
 */
#ifndef BASE_MARKS_H
#define BASE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define MARKS_BLOCK 8192

struct marks {
	VEC(bool) changed;
};

static inline void marks_set(struct marks *m, uint32_t at)
{
	if (at / MARKS_BLOCK < m->changed.n)
		m->changed.v[at / MARKS_BLOCK] = true;
}

static inline void marks_set_all(struct marks *m)
{
	vec_clear(&m->changed);
}

/* Returns true if the block has changed, and clears its mark. Blocks are first taken in order, from
 * 0 on. */
static inline bool marks_take(struct marks *m, uint32_t block)
{
	if (block >= m->changed.n) {
		vec_push(&m->changed, false);
		return true;
	}

	bool changed = m->changed.v[block];

	m->changed.v[block] = false;
	return changed;
}

#endif
