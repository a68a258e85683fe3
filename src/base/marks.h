/*
 * marks.h - which blocks of a numbered range have changed since somebody looked: what is summed up
 * for each block is then computed again for those alone. Blocks that nobody has looked at count as
 * changed. {0}: all of them.
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

/* Returns true if the block has changed, and forgets that. Blocks are asked for in order, from 0
 * on. */
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
