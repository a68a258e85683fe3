/*
 * work.c - see work.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ticks.h"
#include "base/vec.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/server.h"
#include "store/store.h"

/* time for all works together, per turn; the rest of the turn takes about as long again */
#define SLICE_US 5000
#define QUANTUM_US 1000 /* time for one work before the next */
#define PATIENCE_US (20 * INT64_C(1000000))

void work_add(struct server *s, struct work *w, const struct work_kind *kind)
{
	w->kind = kind;
	w->continued_us = s->clock->boot_us;
	vec_push(&s->slices->works, w);
}

/* Runs one work for a quantum. Returns true if it has more to do. */
static bool quantum(struct server *s, struct work *w, int64_t end, int64_t *steps)
{
	int64_t begin = clock_us(CLOCK_MONOTONIC), now = begin;

	w->continued_us = s->clock->boot_us;
	w->waits = w->sleeps = false;
	do {
		if (!w->kind->step(s, w))
			return false;
		now = clock_us(CLOCK_MONOTONIC);
	} while (!w->waits && !w->sleeps && now < end && now - begin < QUANTUM_US && --*steps > 0);
	if (w->kind->pause)
		w->kind->pause(s, w);
	return true;
}

static bool goes_on(const struct server *s, const struct work *w)
{
	return !s->turn->trouble || w->kind->reads;
}

bool works_ready(const struct server *s)
{
	for (size_t i = 0; i < s->slices->works.n; i++)
		if (goes_on(s, s->slices->works.v[i]) && !s->slices->works.v[i]->sleeps)
			return true;
	return false;
}

void works_turn(struct server *s)
{
	int64_t end = clock_us(CLOCK_MONOTONIC) + SLICE_US,
		steps = s->slices->slice_steps ? s->slices->slice_steps : INT64_MAX;

	if (s->turn->terminating) {
		works_stop(s, "the server is shutting down");
		return;
	}
	if (s->turn->trouble)
		works_wait(s);
	for (size_t idle = 0; idle < s->slices->works.n && steps > 0 && clock_us(CLOCK_MONOTONIC) < end;) {
		struct work *w = s->slices->works.v[0];
		bool able = goes_on(s, w), more;
		vec_remove(&s->slices->works, 0);
		more = !able || quantum(s, w, end, &steps);
		if (more)
			vec_push(&s->slices->works, w);
		idle = more && (!able || w->waits || w->sleeps) ? idle + 1 : 0;
	}
}

void works_wait(struct server *s)
{
	for (size_t i = s->slices->works.n; i-- > 0;) {
		struct work *w = s->slices->works.v[i];
		bool waits = w->kind->lasting || (w->kind->reads && s->turn->trouble) ||
			     (s->clock->boot_us - w->continued_us < PATIENCE_US && !store_lost(s->store));
		if (waits)
			continue;
		vec_remove(&s->slices->works, i);
		w->kind->stop(s, w, s->turn->trouble ? s->turn->trouble : "another server may lead");
	}
}

void works_stop(struct server *s, const char *why)
{
	while (s->slices->works.n) { /* a work that stops may change the list */
		struct work *w = s->slices->works.v[--s->slices->works.n];
		w->kind->stop(s, w, why);
	}
}
