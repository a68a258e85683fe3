/*
 * trail.c - see trail.h.
 */
#include "plan/trail.h"

#include <string.h>

#define TRAIL_MOST 4096 /* changes that are kept */

void trail_init(struct trail *t)
{
	*t = (struct trail){.first = 1};
}

void trail_fini(struct trail *t)
{
	vec_free(&t->v);
}

void trail_copy(struct trail *t, const struct trail *from)
{
	t->first = from->first + from->v.n + 1;
	t->on = from->on;
}

void trail_follow(struct trail *t, bool on)
{
	trail_forget(t, t->first + t->v.n + 1);
	t->on = on;
}

void trail_add(struct trail *t, int64_t start, int64_t end)
{
	const struct trail_change *last;

	if (!t->on)
		return;
	last = t->v.n > t->sealed ? &t->v.v[t->v.n - 1] : NULL;
	if (last && last->start == start && last->end == end)
		return;
	if (t->v.n == TRAIL_MOST)
		trail_forget(t, t->first + t->v.n);
	vec_push(&t->v, (struct trail_change){start, end});
}

uint64_t trail_next(struct trail *t)
{
	t->sealed = t->v.n;
	return t->on ? t->first + t->v.n : 0;
}

void trail_undo(struct trail *t, uint64_t from)
{
	t->v.n = from > t->first ? from - t->first : 0;
	t->sealed = t->v.n;
}

void trail_forget(struct trail *t, uint64_t before)
{
	size_t n = before > t->first ? before - t->first : 0;

	t->first += n;
	n = n < t->v.n ? n : t->v.n;
	t->v.n -= n;
	if (n && t->v.n)
		memmove(t->v.v, t->v.v + n, t->v.n * sizeof *t->v.v);
	t->sealed = t->v.n;
}

bool trail_touches(const struct trail *t, uint64_t since, int64_t start, int64_t end)
{
	if (since < t->first)
		return true;
	for (size_t i = since - t->first; i < t->v.n; i++)
		if (t->v.v[i].start < end && t->v.v[i].end > start)
			return true;
	return false;
}
