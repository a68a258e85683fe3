/*
 * limit_count.c - counts what jobs take and give back, including CPU-seconds that decrease while a
 * job runs.
 */
#include <assert.h>
#include <string.h>

#include "rules/limit_internal.h"

/* Adds (1) or subtracts (-1) a job's slot in one counter. */
static void counter_add(struct counter *c, const struct held *h, int sign)
{
	for (int m = 0; m < LIMIT_CPU_SECONDS; m++) {
		c->active[m] += sign * h->need.v[m];
		assert(c->active[m] >= 0);
	}
	for (int m = LIMIT_CREDIT; m < LIMIT_MEASURES; m++)
		c->active[m] += sign * h->need.v[m];
	if (!h->runs) {
		c->active[LIMIT_CPU_SECONDS] += sign * h->need.v[LIMIT_CPU_SECONDS];
	} else if (h->end != TIME_NEVER) {
		c->falling += sign * h->need.v[LIMIT_CPUS];
		c->ends += sign * h->need.v[LIMIT_CPUS] * h->end;
	}
}

/* Adds or subtracts a slot in all counters of a class; NULL: only marks them for another look. */
static void class_count(struct limits *l, uint32_t class, const struct held *h, int sign)
{
	const struct class *k = &l->classes.v[class];

	for (uint32_t i = 0; i < k->n; i++)
		for (uint32_t at = k->counter[i]; at != INDEX_NONE; at = l->counters.v[at].up) {
			if (h)
				counter_add(&l->counters.v[at], h, sign);
			if (sign <= 0)
				counter_fell(l, at);
		}
}

void limits_take(struct limits *l, uint32_t job, uint32_t class, const struct limit_need *need)
{
	uint64_t at;

	if (!map_get(&l->held_at, job, &at)) {
		at = spare_or_new(&l->spare_held, &l->held, (struct held){.class = class, .need = *need});
		map_set(&l->held_at, job, at);
	}
	l->held.v[at].times++;
	class_count(l, l->held.v[at].class, &l->held.v[at], 1);
}

void limits_give(struct limits *l, uint32_t job)
{
	uint64_t at = 0;
	bool has = map_get(&l->held_at, job, &at);

	assert(has && l->held.v[at].times > 0);
	class_count(l, l->held.v[at].class, &l->held.v[at], -1);
	if (--l->held.v[at].times == 0) {
		map_remove(&l->held_at, job);
		vec_push(&l->spare_held, (uint32_t)at);
	}
}

void limits_stir(struct limits *l, uint32_t class)
{
	class_count(l, class, NULL, 0);
}

/* ---- CPU-seconds that decrease ---- */

/* Records a running job's need and end, and marks its counters, because waiting jobs may now go
 * at another time. */
static void held_runs(struct limits *l, struct held *h, const struct limit_need *need, int64_t end)
{
	for (uint32_t i = 0; i < h->times; i++)
		class_count(l, h->class, h, -1);
	h->need = *need;
	h->runs = true;
	h->end = end > l->now ? end : TIME_NEVER;
	for (uint32_t i = 0; i < h->times; i++)
		class_count(l, h->class, h, 1);
}

static void held_ends(struct limits *l, struct held *h)
{
	struct limit_need need = h->need;

	held_runs(l, h, &need, h->end);
}

void limits_run(struct limits *l, uint32_t job, const struct limit_need *need, int64_t end)
{
	uint64_t at;

	if (!map_get(&l->held_at, job, &at) ||
	    (l->held.v[at].runs && l->held.v[at].end == end && memcmp(&l->held.v[at].need, need, sizeof *need) == 0))
		return;
	held_runs(l, &l->held.v[at], need, end);
	if (l->held.v[at].end != TIME_NEVER)
		heap_push(&l->ends, end, job, 0);
}

void limits_advance(struct limits *l, int64_t now)
{
	struct heap_item x;
	uint64_t at;

	if (now <= l->now)
		return;
	l->now = now;
	if (l->yield_due <= now)
		l->yield_due = TIME_NEVER; /* limits_yield() follows */
	while (heap_peek(&l->ends, &x) && x.time <= now) {
		heap_pop(&l->ends, &x);
		if (map_get(&l->held_at, x.tie, &at) && l->held.v[at].runs && l->held.v[at].end == x.time)
			held_ends(l, &l->held.v[at]);
	}
	while (heap_peek(&l->due, &x) && x.time <= now) {
		heap_pop(&l->due, &x);
		/* recomputed from the lines then behind it */
		l->counters.v[x.tie].due = TIME_NEVER;
		counter_fell(l, (uint32_t)x.tie);
	}
}

int64_t limits_next(const struct limits *l)
{
	struct heap_item x;

	return heap_peek(&l->due, &x) && x.time < l->yield_due ? x.time : l->yield_due;
}

/* Returns the earliest instant at which a counter has fallen enough for such a job if running
 * jobs continue; it may take longer. */
static int64_t counter_when(const struct limits *l, const struct counter *c, const struct limit_need *need,
			    enum firm firm)
{
	int64_t most = rule_most(l, &l->rules.v[c->rule], LIMIT_CPU_SECONDS, firm),
		over = counter_active(l, c, LIMIT_CPU_SECONDS) + need->v[LIMIT_CPU_SECONDS] - most;

	if (most < need->v[LIMIT_CPU_SECONDS] || c->falling == 0 || over <= 0)
		return TIME_NEVER;
	return l->now + (over + c->falling - 1) / c->falling;
}

int64_t limits_when(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	int64_t room;
	int measure;
	uint32_t at = limits_tightest(l, class, need, HARD, &room, &measure);

	return at != INDEX_NONE && room == 0 ? counter_when(l, &l->counters.v[at], need, HARD) : TIME_NEVER;
}

void counter_due(struct limits *l, uint32_t at, const struct limit_need *need)
{
	int64_t when = counter_when(l, &l->counters.v[at], need, SOFT);

	if (when >= l->counters.v[at].due)
		return;
	l->counters.v[at].due = when;
	heap_push(&l->due, when, at, 0);
}
