/*
 * test_adapter.c - what the adapter of bags requests, in cases that can be followed by hand, and
 * that it keeps its limits in random ones.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bag/adapter_internal.h"
#include "base/rng.h"
#include "base/timetext.h"

#define HOUR 3600

/* A machine of 10 processors: 4 are free for an hour, then none for an hour, then all. */
static const struct adapter_span hole[] = {{0, HOUR, 4}, {HOUR, 2 * HOUR, 0}, {2 * HOUR, TIME_NEVER, 10}};

static struct adapter_view view_of(int64_t pending)
{
	return (struct adapter_view){.free = hole, .nfree = 3, .pending = pending, .idle = pending, .queued = 2};
}

static struct adapter *create(enum adapter_heuristic h, int requests)
{
	return adapter_create(h, &(struct adapter_limits){.requests = requests, .procs = 10, .time = 10 * HOUR}, 0);
}

static void assert_submit(const struct adapter_order *o, int64_t procs, int64_t time)
{
	assert_int_equal(o->what, ADAPTER_SUBMIT);
	assert_int_equal(o->procs, procs);
	assert_int_equal(o->time, time);
}

static void names(void **state)
{
	enum adapter_heuristic h;
	struct err err;

	for (int i = 0; i < ADAPTER_HEURISTICS; i++) {
		assert_int_equal(adapter_find(adapter_name((enum adapter_heuristic)i), &h, &err), 0);
		assert_int_equal(h, i);
	}
	assert_true(adapter_find("magic", &h, &err) < 0);
	assert_non_null(strstr(err.text, "adaptive"));
}

static void estimate_is_learnt(void **state)
{
	struct adapter *a = create(ADAPTER_ADAPTIVE, 1);

	assert_int_equal(adapter_estimate(a), 600);
	adapter_task_cut(a, 500);
	assert_int_equal(adapter_estimate(a), 1000);
	adapter_task_done(a, 2000);
	adapter_task_done(a, 100);
	assert_int_equal(adapter_estimate(a), 2200);
	adapter_task_cut(a, 100 * HOUR); /* a request can't be longer than is allowed */
	assert_int_equal(adapter_estimate(a), 10 * HOUR);
	adapter_destroy(a);
}

/* Whatever was cut off is longer than it was there: the mean of those that finished alone would
 * be too short. */
static void mean_counts_what_was_cut_off(void **state)
{
	struct adapter *a = create(ADAPTER_OURS, 1);

	for (int i = 0; i < 10; i++)
		adapter_task_done(a, 1000);
	assert_true(fabs(adapter_mean(a, 0, 0) - 1000) < 1);
	assert_true(fabs(adapter_mean(a, 10, 500) - 1000) < 1); /* they will take as long */
	assert_in_range(adapter_mean(a, 10, 3000), 2100, 2800);
	for (int i = 0; i < 10; i++)
		adapter_task_cut(a, 3000);
	assert_in_range(adapter_mean(a, 0, 0), 2100, 2800);
	adapter_destroy(a);
}

static void static_shares_the_tasks(void **state)
{
	struct adapter *a = create(ADAPTER_STATIC, 3);
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_view v = view_of(7);
	struct adapter_request out = {.id = 1, .procs = 3, .time = HOUR, .running = true};

	assert_int_equal(adapter_decide(a, &v, o), 3);
	for (int i = 0; i < 3; i++)
		assert_submit(&o[i], 3, 10 * HOUR);
	v = view_of(1000);
	v.request = &out;
	v.nrequests = 1;
	assert_int_equal(adapter_decide(a, &v, o), 2);
	assert_submit(&o[1], 10, 10 * HOUR);
	v.pending = 0;
	assert_int_equal(adapter_decide(a, &v, o), 0);
	adapter_destroy(a);
}

/* With 600 s a task the hole takes 24: enough for 20 but too little for 1,000. As printed, area
 * over end decides: 4 x 1 h by 1 h against 10 x 10 h by 12 h. */
static void adaptive_takes_the_hole_for_few(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_view few = view_of(20), many = view_of(1000);
	struct adapter *a = create(ADAPTER_ADAPTIVE, 1);

	assert_int_equal(adapter_decide(a, &few, o), 1);
	assert_submit(&o[0], 4, HOUR);
	assert_int_equal(adapter_decide(a, &many, o), 1);
	assert_submit(&o[0], 10, 10 * HOUR); /* 600 by 12 h, 24 by 1 h */
	adapter_destroy(a);

	a = create(ADAPTER_AS_PRINTED, 1);
	assert_int_equal(adapter_decide(a, &few, o), 1);
	assert_submit(&o[0], 10, 10 * HOUR);
	adapter_destroy(a);
}

static void adaptive_asks_for_no_more_processors_than_tasks(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_view v = view_of(2);
	struct adapter *a = create(ADAPTER_ADAPTIVE, 1);

	assert_int_equal(adapter_decide(a, &v, o), 1);
	assert_submit(&o[0], 2, HOUR);
	adapter_destroy(a);
}

/* The first decision has a request as static would make it, or the largest in the other reading;
 * later decisions are adaptive's. */
static void mixed_begins_as_static(void **state)
{
	static const struct {
		enum adapter_heuristic h;
		int64_t pending, procs;
	} cases[] = {
		{ADAPTER_MIXED, 4, 2},	    {ADAPTER_MIXED, 5, 3},	 {ADAPTER_MIXED, 1000, 10},
		{ADAPTER_MIXED_MAX, 4, 10}, {ADAPTER_MIXED_MAX, 20, 10}, {ADAPTER_MIXED_MAX, 1000, 10},
	};
	struct adapter_order o[ADAPTER_ORDERS];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct adapter_view v = view_of(cases[i].pending);
		struct adapter *a = create(cases[i].h, 2);

		assert_int_equal(adapter_decide(a, &v, o), 2);
		assert_submit(&o[1], cases[i].procs, 10 * HOUR);
		v = view_of(20);
		assert_int_equal(adapter_decide(a, &v, o), 2);
		assert_true(o[1].time < 10 * HOUR || o[0].time < 10 * HOUR);
		adapter_destroy(a);
	}
}

static void static_max_ignores_the_tasks(void **state)
{
	struct adapter *a = create(ADAPTER_STATIC_MAX, 3);
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_view v = view_of(7);

	assert_int_equal(adapter_decide(a, &v, o), 3);
	for (int i = 0; i < 3; i++)
		assert_submit(&o[i], 10, 10 * HOUR);
	v.pending = 0;
	assert_int_equal(adapter_decide(a, &v, o), 0);
	adapter_destroy(a);
}

static void initial_takes_what_is_free(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_view v = view_of(20);
	struct adapter *a = create(ADAPTER_INITIAL, 2);

	assert_int_equal(adapter_decide(a, &v, o), 2);
	assert_submit(&o[0], 4, HOUR);
	assert_submit(&o[1], 5, 600);
	adapter_destroy(a);
}

/* Nothing is known: one request as static makes it, and a probe of what is free now. */
static void ours_probes(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_view v = view_of(20);
	struct adapter *a = create(ADAPTER_OURS, 2);

	assert_int_equal(adapter_decide(a, &v, o), 2);
	assert_submit(&o[0], 10, 10 * HOUR);
	assert_int_equal(o[1].what, ADAPTER_SUBMIT);
	assert_in_range(o[1].procs, 1, 4);
	assert_in_range(o[1].time, 1, HOUR);
	adapter_destroy(a);
}

/* A task takes 100 s, 10 are left: the request far behind is exchanged for one in the hole. */
static void ours_replaces(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_request out = {.id = 7, .procs = 10, .time = 10 * HOUR, .start = 2 * HOUR};
	static const struct adapter_span spans[] = {
		{0, HOUR, 4}, {HOUR, 2 * HOUR, 0}, {2 * HOUR, 12 * HOUR, 0}, {12 * HOUR, TIME_NEVER, 10}};
	struct adapter_view v = {.free = spans, .nfree = 4, .pending = 10, .idle = 10, .request = &out, .nrequests = 1};
	struct adapter *a = create(ADAPTER_OURS, 1);

	adapter_task_done(a, 100);
	assert_int_equal(adapter_decide(a, &v, o), 2);
	assert_int_equal(o[0].what, ADAPTER_CANCEL);
	assert_int_equal(o[0].id, 7);
	assert_int_equal(o[1].what, ADAPTER_SUBMIT);
	assert_in_range(o[1].procs, 3, 4);
	assert_in_range(o[1].time, 300, HOUR);
	adapter_destroy(a);
}

/* An old bag, and work for more than the request that waits: the other slot is filled, however
 * little that is beside the bag's age. */
static void ours_keeps_its_slots_filled(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	const int64_t now = 1000000000;
	struct adapter_request out = {.id = 7, .procs = 10, .time = 10 * HOUR, .start = now + 50 * HOUR};
	const struct adapter_span spans[] = {{now, now + 60 * HOUR, 0}, {now + 60 * HOUR, TIME_NEVER, 10}};
	struct adapter_view v = {
		.now = now, .free = spans, .nfree = 2, .pending = 150, .idle = 150, .request = &out, .nrequests = 1};
	struct adapter *a = create(ADAPTER_OURS, 2);

	adapter_task_done(a, HOUR);
	assert_int_equal(adapter_decide(a, &v, o), 1);
	assert_int_equal(o[0].what, ADAPTER_SUBMIT);
	assert_true(o[0].procs * (o[0].time / HOUR) >= 50);
	adapter_destroy(a);
}

/* A hole that can't complete the bag still takes tasks off the request that can, at the end of
 * the queue. */
static void ours_takes_what_it_can_get_meanwhile(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_request out = {.id = 7, .procs = 10, .time = 10 * HOUR, .start = 100 * HOUR};
	static const struct adapter_span spans[] = {
		{0, 3 * HOUR, 2}, {3 * HOUR, 110 * HOUR, 0}, {110 * HOUR, TIME_NEVER, 10}};
	struct adapter_view v = {.free = spans, .nfree = 3, .pending = 10, .idle = 10, .request = &out, .nrequests = 1};
	struct adapter *a = create(ADAPTER_OURS, 2);

	adapter_task_done(a, HOUR);
	assert_int_equal(adapter_decide(a, &v, o), 1);
	assert_int_equal(o[0].what, ADAPTER_SUBMIT);
	assert_int_equal(o[0].procs, 2);
	assert_in_range(o[0].time, 2 * HOUR, 3 * HOUR);
	adapter_destroy(a);
}

/* The hole has room for 60 of 62 tasks of an hour. The other two would wait for the whole queue
 * again, so the request that holds all keeps its place. */
static void ours_leaves_no_rest_for_a_second_wait(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	const int64_t begin = 10 * HOUR, time = 72 * HOUR / 10;
	const struct adapter_span spans[] = {{0, 65 * HOUR / 10, 10},
					     {65 * HOUR / 10, begin, 0},
					     {begin, begin + time, 0},
					     {begin + time, TIME_NEVER, 10}};
	struct adapter_request out = {.id = 7, .procs = 10, .time = time, .start = begin};
	struct adapter_view v = {.free = spans, .nfree = 4, .pending = 62, .idle = 62, .request = &out, .nrequests = 1};
	struct adapter *a = create(ADAPTER_OURS, 1);

	adapter_task_done(a, HOUR);
	assert_int_equal(adapter_decide(a, &v, o), 0);
	adapter_destroy(a);
}

/* Nothing is known of a bag that fills the machine. What static would have requested keeps its
 * place, though the hole could take short tasks sooner; once tasks are known to be short, it
 * does not. */
static void ours_keeps_the_place_of_a_large_bag(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	static const struct adapter_span spans[] = {
		{0, 20 * HOUR, 8}, {20 * HOUR, 120 * HOUR, 0}, {120 * HOUR, TIME_NEVER, 10}};
	struct adapter_request out[2] = {
		{.id = 1, .procs = 10, .time = 10 * HOUR, .start = 100 * HOUR},
		{.id = 2, .procs = 10, .time = 10 * HOUR, .start = 110 * HOUR},
	};
	struct adapter_view v = {.free = spans, .nfree = 3, .pending = 50, .idle = 50, .request = out, .nrequests = 2};
	struct adapter *a = create(ADAPTER_OURS, 2);

	assert_int_equal(adapter_decide(a, &v, o), 0);
	for (int i = 0; i < 20; i++)
		adapter_task_done(a, 600);
	assert_int_equal(adapter_decide(a, &v, o), 2);
	assert_int_equal(o[0].what, ADAPTER_CANCEL);
	assert_int_equal(o[1].what, ADAPTER_SUBMIT);
	adapter_destroy(a);
}

/* One request may be out, and nothing is known. */
static int lone(int64_t now, int64_t begin, struct adapter_order *ret)
{
	const struct adapter_span spans[] = {{now, now + begin, 0},
					     {now + begin, now + begin + HOUR, 4},
					     {now + begin + HOUR, now + 20 * HOUR, 0},
					     {now + 20 * HOUR, TIME_NEVER, 10}};
	struct adapter_view v = {.now = now, .free = spans, .nfree = 4, .pending = 50, .idle = 50};
	struct adapter *a = create(ADAPTER_OURS, 1);
	int n = adapter_decide(a, &v, ret);

	adapter_destroy(a);
	return n;
}

/* A short probe costs a large bag little; one that starts late would cost it much if its tasks
 * are long, and so would one more when it has waited for long. */
static void ours_probes_a_large_bag_only_if_it_costs_little(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];

	assert_int_equal(lone(0, 1, o), 1);
	assert_int_equal(o[0].what, ADAPTER_SUBMIT);
	assert_in_range(o[0].procs, 1, 4);
	assert_in_range(o[0].time, 50, HOUR);
	assert_int_equal(lone(0, 10 * HOUR, o), 1);
	assert_submit(&o[0], 10, 10 * HOUR);
	assert_int_equal(lone(10 * HOUR, 1, o), 1);
	assert_submit(&o[0], 10, 10 * HOUR);
}

/* Ten processors finish 90 tasks in ten hours, if a task takes no longer than it did so far:
 * room for 80, not quite for 85. */
static void ours_leaves_room_for_chance(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_request out = {.id = 7, .procs = 10, .time = 10 * HOUR, .start = 50 * HOUR};
	const struct adapter_span spans[] = {{0, 70 * HOUR, 0}, {70 * HOUR, TIME_NEVER, 10}};
	struct adapter_view v = {.free = spans, .nfree = 2, .pending = 85, .idle = 85, .request = &out, .nrequests = 1};
	struct adapter *a = create(ADAPTER_OURS, 2);

	for (int i = 0; i < 1000; i++)
		adapter_task_done(a, HOUR);
	assert_int_equal(adapter_decide(a, &v, o), 1);
	assert_int_equal(o[0].what, ADAPTER_SUBMIT);
	v.pending = v.idle = 80;
	assert_int_equal(adapter_decide(a, &v, o), 0);
	adapter_destroy(a);
}

static void ours_releases_what_is_idle(void **state)
{
	struct adapter_order o[ADAPTER_ORDERS];
	struct adapter_request out[2] = {
		{.id = 1, .procs = 4, .time = HOUR, .start = 0, .running = true},
		{.id = 2, .procs = 4, .time = HOUR, .start = 0, .running = true, .busy = 1},
	};
	struct adapter_view v = {.free = hole, .nfree = 3, .pending = 1, .request = out, .nrequests = 2, .oldest = 10};
	struct adapter *a = create(ADAPTER_OURS, 2);

	adapter_task_done(a, 100);
	assert_int_equal(adapter_decide(a, &v, o), 1);
	assert_int_equal(o[0].what, ADAPTER_RELEASE);
	assert_int_equal(o[0].id, 1);
	adapter_destroy(a);
}

/* ---- random cases ---- */

static struct adapter_view random_view(struct rng *r, struct adapter_span *span, struct adapter_request *out,
				       int requests)
{
	struct adapter_view v = {.now = rng_range(r, 0, 100000), .free = span, .request = out};
	int64_t at = v.now;

	v.nfree = (size_t)rng_range(r, 1, 20);
	for (size_t i = 0; i < v.nfree; i++) {
		int64_t end = i + 1 == v.nfree ? TIME_NEVER : at + rng_range(r, 1, 50000);
		span[i] = (struct adapter_span){at, end, i + 1 == v.nfree ? 100 : rng_range(r, 0, 100)};
		at = end;
	}
	v.nrequests = (size_t)rng_range(r, 0, requests);
	for (size_t i = 0; i < v.nrequests; i++) {
		out[i] = (struct adapter_request){.id = (int64_t)i,
						  .procs = rng_range(r, 1, 100),
						  .time = rng_range(r, 1, 64800),
						  .running = rng_below(r, 2)};
		out[i].start =
			out[i].running ? v.now - rng_range(r, 0, out[i].time - 1) : v.now + rng_range(r, 1, 100000);
		out[i].busy = out[i].running ? rng_range(r, 0, out[i].procs) : 0;
	}
	v.pending = rng_range(r, 1, 1 << rng_range(r, 0, 17));
	v.idle = rng_range(r, 0, v.pending);
	v.oldest = rng_range(r, 0, 20000);
	v.queued = rng_range(r, 0, 50);
	return v;
}

static void check_orders(const struct adapter_view *v, const struct adapter_limits *l, const struct adapter_order *o,
			 int n)
{
	bool gone[ADAPTER_REQUESTS] = {0}, submitted = false;
	int out = (int)v->nrequests;

	assert_in_range(n, 0, ADAPTER_ORDERS);
	for (int i = 0; i < n; i++) {
		if (o[i].what == ADAPTER_SUBMIT) {
			assert_in_range(o[i].procs, 1, l->procs);
			assert_in_range(o[i].time, 1, l->time);
			assert_in_range(++out, 1, l->requests);
			submitted = true;
			continue;
		}
		assert_false(submitted); /* the job that waited may run by then */
		assert_in_range(o[i].id, 0, v->nrequests - 1);
		assert_false(gone[o[i].id]);
		assert_int_equal(v->request[o[i].id].running, o[i].what == ADAPTER_RELEASE);
		if (o[i].what == ADAPTER_SHRINK) {
			assert_in_range(o[i].procs, 1, v->request[o[i].id].procs - 1);
			continue;
		}
		gone[o[i].id] = true;
		out--;
	}
}

static void limits_are_kept(void **state)
{
	for (uint64_t seed = 0; seed < 600; seed++) {
		struct adapter_span span[20];
		struct adapter_request out[ADAPTER_REQUESTS];
		struct adapter_order o[ADAPTER_ORDERS];
		struct rng r;

		rng_seed(&r, seed);
		struct adapter_limits l = {.requests = (int)rng_range(&r, 1, 6),
					   .procs = rng_range(&r, 1, 100),
					   .time = rng_range(&r, 100, 64800)};
		struct adapter *a = adapter_create((enum adapter_heuristic)(seed % ADAPTER_HEURISTICS), &l, 0);
		for (int i = 0; i < 5; i++) {
			struct adapter_view v = random_view(&r, span, out, l.requests);
			int n = adapter_decide(a, &v, o);
			check_orders(&v, &l, o, n);
			if (rng_below(&r, 2))
				adapter_task_done(a, rng_range(&r, 0, 20000));
			if (rng_below(&r, 3) == 0)
				adapter_task_cut(a, rng_range(&r, 0, 20000));
		}
		adapter_destroy(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(estimate_is_learnt),
		cmocka_unit_test(mean_counts_what_was_cut_off),
		cmocka_unit_test(static_shares_the_tasks),
		cmocka_unit_test(adaptive_takes_the_hole_for_few),
		cmocka_unit_test(adaptive_asks_for_no_more_processors_than_tasks),
		cmocka_unit_test(mixed_begins_as_static),
		cmocka_unit_test(static_max_ignores_the_tasks),
		cmocka_unit_test(initial_takes_what_is_free),
		cmocka_unit_test(ours_probes),
		cmocka_unit_test(ours_replaces),
		cmocka_unit_test(ours_keeps_its_slots_filled),
		cmocka_unit_test(ours_takes_what_it_can_get_meanwhile),
		cmocka_unit_test(ours_leaves_no_rest_for_a_second_wait),
		cmocka_unit_test(ours_keeps_the_place_of_a_large_bag),
		cmocka_unit_test(ours_probes_a_large_bag_only_if_it_costs_little),
		cmocka_unit_test(ours_leaves_room_for_chance),
		cmocka_unit_test(ours_releases_what_is_idle),
		cmocka_unit_test(limits_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
