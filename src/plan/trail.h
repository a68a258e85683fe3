/*
 * trail.h - the intervals in which nodes got or lost something, numbered in the order of changes.
 *
 * A caller that notes the number of the next change can ask later what has changed since then.
 * Nothing is recorded unless a caller follows, and only the latest changes are kept: what is older
 * than `first` is unknown.
 */
#ifndef PLAN_TRAIL_H
#define PLAN_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct trail_change {
	int64_t start, end;
};

struct trail {
	VEC(struct trail_change) v;
	uint64_t first; /* number of v[0]; at least 1 */
	size_t sealed;	/* changes whose numbers are known to a caller: an equal one needs a new number */
	bool on;
};

void trail_init(struct trail *t);
void trail_fini(struct trail *t);
/* Lets an empty trail follow from now on if `from` does; what came before is unknown to it. */
void trail_copy(struct trail *t, const struct trail *from);
void trail_follow(struct trail *t, bool on);

void trail_add(struct trail *t, int64_t start, int64_t end);
/* Returns the number of the next change; 0: nobody follows. */
uint64_t trail_next(struct trail *t);
/* Drops the changes from a number on, which together changed nothing. */
void trail_undo(struct trail *t, uint64_t from);
/* Forgets the changes before a number. */
void trail_forget(struct trail *t, uint64_t before);

/* Returns true if something changed within [start, end) since a change of that number was the next
 * one, or if that is unknown. */
bool trail_touches(const struct trail *t, uint64_t since, int64_t start, int64_t end);

#endif
