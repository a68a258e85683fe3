/*
 * work.c - see work.h.
 */
#include "server/work.h"

#include <time.h>

#include "server/server_internal.h"

#define SLICE_US                                                                                                       \
	5000 /* of all works together, in a turn; what follows from it in the same turn takes about as long again */
#define QUANTUM_US 1000 /* of one, before the next */
#define PATIENCE_US (20 * INT64_C(1000000))

static int64_t monotonic_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void work_add(struct server *s, struct work *w, const struct work_kind *kind)
{
	w->kind = kind;
	w->continued_us = s->boot_us;
	vec_push(&s->works, w);
}

/* Whether it has more to do. */
static bool quantum(struct server *s, struct work *w, int64_t end, int64_t *steps)
{
	int64_t begin = monotonic_us(), now = begin;

	w->continued_us = s->boot_us;
	do {
		if (!w->kind->step(s, w))
			return false;
		now = monotonic_us();
	} while (now < end && now - begin < QUANTUM_US && --*steps > 0);
	w->kind->pause(s, w);
	return true;
}

void works_turn(struct server *s)
{
	int64_t end = monotonic_us() + SLICE_US, steps = s->slice_steps ? s->slice_steps : INT64_MAX;

	if (s->terminating) {
		works_stop(s, "the server is shutting down");
		return;
	}
	if (s->trouble) {
		works_wait(s);
		return;
	}
	while (s->works.n && steps > 0 && monotonic_us() < end) {
		struct work *w = s->works.v[0];
		vec_remove(&s->works, 0);
		if (quantum(s, w, end, &steps))
			vec_push(&s->works, w);
	}
}

void works_wait(struct server *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->works.n; i++) {
		struct work *w = s->works.v[i];
		if (w->kind->lasting || (s->boot_us - w->continued_us < PATIENCE_US && !store_lost(s->store)))
			s->works.v[kept++] = w;
		else
			w->kind->stop(s, w, s->trouble ? s->trouble : "another server may lead");
	}
	s->works.n = kept;
}

void works_stop(struct server *s, const char *why)
{
	for (size_t i = 0; i < s->works.n; i++)
		s->works.v[i]->kind->stop(s, s->works.v[i], why);
	vec_clear(&s->works);
}
