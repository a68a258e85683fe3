/*
 * test_timeline.c - timelines of up to thousands of steps beside a table of every second, through
 * random changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/timetext.h"
#include "plan/timeline.h"

#define SECONDS 4000
#define HELD 900
#define TOTAL 64

/* Free amounts of every second; the last second stands for all later ones, the first for all
 * earlier ones. */
struct table {
	int64_t free[SECONDS][3];
};

struct held {
	int64_t start, end;
	struct res need;
};

static void table_change(struct table *m, const struct held *x, int sign)
{
	int64_t from = x->start == TIME_BEGIN ? 0 : x->start, until = x->end == TIME_NEVER ? SECONDS : x->end;

	for (int64_t t = from; t < until; t++)
		for (int d = 0; d < 3; d++)
			m->free[t][d] += sign * x->need.v[d];
}

static bool table_covers(const struct table *m, int64_t t, const struct res *need, int nres)
{
	for (int d = 0; d < nres; d++)
		if (m->free[t < SECONDS ? t : SECONDS - 1][d] < need->v[d])
			return false;
	return true;
}

/* Returns the first start in [from, before) with `need` free until its end or `planned`. */
static int64_t table_earliest(const struct table *m, int64_t from, int64_t before, int64_t length, int64_t planned,
			      const struct res *need, int nres)
{
	int64_t start = from;

	for (int64_t t = from; start < before && start < SECONDS; t++) {
		if (t >= start + length || t >= planned || t >= SECONDS + length)
			return start;
		if (!table_covers(m, t, need, nres))
			start = t + 1;
	}
	return TIME_NEVER;
}

static struct res need_draw(struct rng *rng)
{
	return (struct res){.v = {(int64_t)rng_below(rng, rng_below(rng, 20) ? 6 : TOTAL), (int64_t)rng_below(rng, 4),
				  (int64_t)rng_below(rng, 2)}};
}

static struct held held_draw(struct rng *rng)
{
	struct held x = {.start = 1 + (int64_t)rng_below(rng, SECONDS - 300), .need = need_draw(rng)};

	x.end = x.start + 1 + (int64_t)rng_below(rng, rng_below(rng, 9) ? 40 : SECONDS - x.start - 2);
	if (rng_below(rng, 200) == 0)
		x.start = TIME_BEGIN;
	if (rng_below(rng, 200) == 0)
		x.end = TIME_NEVER;
	return x;
}

/* Checks the steps: sorted, different from each other, and the same as the table. */
static uint32_t check_steps(const struct timeline *t, const struct table *m, int nres)
{
	int64_t last = TIME_BEGIN;
	const int64_t *before = NULL;
	uint32_t n = 0;

	for (struct walk w = timeline_walk(t, TIME_BEGIN); w.step; before = w.step, walk_next(&w), n++) {
		assert_true(n == 0 ? w.step[0] == TIME_BEGIN : w.step[0] > last);
		assert_true(!before || memcmp(before + 1, w.step + 1, sizeof(int64_t) * (size_t)nres) != 0);
		last = w.step[0];
		for (int d = 0; d < nres; d++)
			assert_int_equal(w.step[1 + d], m->free[last == TIME_BEGIN ? 0 : last][d]);
		if (walk_until(&w) != TIME_NEVER)
			assert_ptr_equal(timeline_at(t, walk_until(&w) - 1), w.step);
	}
	return n;
}

static void check_answers(const struct timeline *t, const struct table *m, struct rng *rng, int nres)
{
	int64_t from = (int64_t)rng_below(rng, SECONDS), length = 1 + (int64_t)rng_below(rng, 100), seen = 0, area = 0;
	int64_t end = from + length < SECONDS ? from + length : SECONDS;
	int64_t planned = from + (int64_t)rng_below(rng, 500), before = from + (int64_t)rng_below(rng, 600);
	struct res need = need_draw(rng), least;
	struct opening o = {need, length, planned, before < planned ? before : planned};
	int64_t copies = INT64_MAX, most = INT64_MIN, want, got;
	bool fits = true;
	double got_area;

	timeline_least(t, from, end, &least);
	for (int64_t s = from; s < end; s++) {
		fits = fits && table_covers(m, s, &need, nres);
		area += m->free[s][0];
		most = m->free[s][0] > most ? m->free[s][0] : most;
		for (int d = 0; d < nres; d++) {
			assert_true(least.v[d] <= m->free[s][d]);
			seen += least.v[d] == m->free[s][d];
			if (need.v[d] && m->free[s][d] / need.v[d] < copies)
				copies = m->free[s][d] / need.v[d];
		}
	}
	assert_true(seen >= nres);
	assert_int_equal(timeline_most(t, from, end), most);
	assert_int_equal(timeline_fits(t, from, end, &need), fits);
	got = timeline_measure(t, from, end, &need, &got_area);
	assert_int_equal(got, fits ? copies : 0);
	assert_true(!fits || got_area == (double)area);
	want = table_earliest(m, from, INT64_MAX, length, TIME_NEVER, &need, nres);
	assert_int_equal(timeline_earliest(t, from, length, &need), want);
	got = timeline_earliest_before(t, from, before, length, &need);
	assert_true(want < before ? got == want : got >= before);
	want = table_earliest(m, from, o.before, length, planned, &need, nres);
	assert_int_equal(timeline_opening(t, from, &o), want);
}

/* Lets things be held and given back, and sometimes almost everything given back at once. */
static void change(struct timeline *t, struct table *m, struct held *held, size_t *n, struct rng *rng)
{
	bool grow = *n < 20 || (*n < HELD && rng_below(rng, 5));
	struct held x = grow ? held_draw(rng) : held[rng_below(rng, *n)];

	if (grow) {
		held[(*n)++] = x;
	} else {
		for (size_t i = 0; i < *n; i++)
			if (memcmp(&held[i], &x, sizeof x) == 0) {
				held[i] = held[--*n];
				break;
			}
	}
	timeline_change(t, x.start, x.end, &x.need, grow ? -1 : 1);
	table_change(m, &x, grow ? -1 : 1);
}

static void timeline_matches_table(void **state)
{
	struct table *m = mem_alloc(sizeof *m);
	struct held *held = mem_alloc(HELD * sizeof *held);
	struct res total = {.v = {TOTAL, TOTAL, TOTAL}};
	uint32_t most = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		int nres = seed % 2 ? 1 : 3;
		struct timeline t, copy, same;
		struct rng rng;
		size_t n = 0;
		rng_seed(&rng, seed);
		timeline_init(&t, nres, &total);
		timeline_init(&copy, nres, &total);
		for (int64_t s = 0; s < SECONDS; s++)
			for (int d = 0; d < 3; d++)
				m->free[s][d] = TOTAL;
		for (int round = 0; round < 100; round++) {
			uint32_t steps;
			size_t keep = rng_below(&rng, 30) ? n : rng_below(&rng, n + 1);
			for (; n > keep; n--) {
				timeline_change(&t, held[n - 1].start, held[n - 1].end, &held[n - 1].need, 1);
				table_change(m, &held[n - 1], 1);
			}
			for (int i = 0; i < 30; i++)
				change(&t, m, held, &n, &rng);
			steps = check_steps(&t, m, nres);
			most = steps > most ? steps : most;
			for (int i = 0; i < 20; i++)
				check_answers(&t, m, &rng, nres);
			timeline_copy(&copy, &t);
			assert_int_equal(check_steps(&copy, m, nres), steps);
			timeline_init(&same, nres, &total); /* the same commitments, in another order */
			for (size_t i = n; i-- > 0;)
				timeline_change(&same, held[i].start, held[i].end, &held[i].need, -1);
			assert_true(timeline_equal(&same, &t) && timeline_equal(&t, &copy));
			timeline_change(&same, 77, 78, &(struct res){.v = {1}}, -1);
			assert_false(timeline_equal(&same, &t));
			timeline_fini(&same);
		}
		timeline_fini(&t);
		timeline_fini(&copy);
	}
	assert_true(most > 1000);
	free(held);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeline_matches_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
