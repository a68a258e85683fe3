/*
 * test_limit.c - limits on what runs: counters, classes, lines, amounts, accounts; and random
 * worlds, in which counters equal a recomputation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "rules/limit.h"

typedef VEC(uint32_t) left_vec;

static bool leave(void *context, uint32_t job)
{
	left_vec *v = context;

	if (job >= 1000) /* gone meanwhile */
		return false;
	vec_push(v, job);
	return true;
}

/* How many of them there is room for, which the quick question must agree with. */
static int64_t room_for(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	int64_t n = limits_room(l, class, need);

	assert_int_equal(limits_allow(l, class, need), n > 0);
	return n;
}

static int64_t room_hard(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	int64_t n = limits_room_hard(l, class, need);

	assert_int_equal(limits_allow_hard(l, class, need), n > 0);
	return n;
}

static uint32_t class_of(struct limits *l, uint32_t user, uint32_t queue, uint64_t array)
{
	return limits_class(l, &(struct limit_party){.user = user, .queue = queue, .array = array});
}

static const struct limit_need one = {{1, 1, 0, 0}};

/* Among jobs that all request the same, the class is enough to know which gives its slot back. */
static void count(struct limits *l, uint32_t class, int sign)
{
	if (sign > 0)
		limits_take(l, class, class, &one);
	else
		limits_give(l, class);
}

static void no_limit_is_any_number(void **state)
{
	struct limits *l = limits_create();

	assert_int_equal(room_for(l, LIMITS_NONE, &one), INT64_MAX);
	assert_int_equal(room_for(l, class_of(l, 1, 1, 0), &one), INT64_MAX);
	limits_destroy(l);
}

/* limits_any() follows limits that are set, lifted, inherited, soft, copied, or of arrays that are
 * forgotten. */
static void whether_anything_is_limited_follows_the_limits(void **state)
{
	struct limits *l = limits_create(), *copy;
	const struct limit_party party = {.user = 1, .queue = 1, .array = 7};
	uint32_t class = limits_class(l, &party);

	assert_false(limits_any(l));
	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPUS, 3);
	assert_true(limits_any(l));
	assert_int_equal(room_for(l, class, &(struct limit_need){{1, 2}}), 1); /* the limit of all users */
	limits_soft(l, LIMIT_OF_USER, 1, LIMIT_JOBS, 0);
	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPUS, -1);
	assert_true(limits_any(l));
	assert_int_equal(room_for(l, class, &one), 0);
	assert_int_equal(room_hard(l, class, &one), INT64_MAX);
	limits_soft(l, LIMIT_OF_USER, 1, LIMIT_JOBS, -1);
	assert_false(limits_any(l));
	limits_set(l, LIMIT_ARRAY, 7, 2);
	copy = limits_clone(l);
	assert_true(limits_any(copy));
	limits_drop_array(l, &party);
	assert_false(limits_any(l));
	limits_destroy(copy);
	limits_destroy(l);
}

static void every_limit_counts_its_own(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = class_of(l, 1, 1, 0), b = class_of(l, 2, 1, 0), c = class_of(l, 1, 2, 0), d = class_of(l, 1, 1, 7);
	struct limit_reached r;

	limits_set(l, LIMIT_USER, 0, 2);
	limits_set(l, LIMIT_QUEUE, 1, 3);
	limits_set(l, LIMIT_ARRAY, 7, 1);
	count(l, d, 1);
	assert_int_equal(room_for(l, d, &one), 0);
	assert_true(limits_reached(l, d, &one, &r));
	assert_int_equal(r.kind, LIMIT_ARRAY);
	assert_int_equal(r.most, 1);
	assert_int_equal(room_for(l, a, &one), 1);
	count(l, c, 1);
	assert_int_equal(room_for(l, a, &one), 0);
	assert_int_equal(room_for(l, b, &one), 2);
	count(l, d, -1);
	assert_int_equal(room_for(l, a, &one), 1);
	assert_false(limits_reached(l, a, &one, &r));
	limits_destroy(l);
}

/* A new class counts with those that were there. */
static void a_limit_holds_for_classes_to_come(void **state)
{
	struct limits *l = limits_create();

	limits_set(l, LIMIT_QUEUE_USER, 4, 1);
	count(l, class_of(l, 9, 4, 0), 1);
	assert_int_equal(room_for(l, class_of(l, 9, 4, 12), &one), 0);
	assert_int_equal(room_for(l, class_of(l, 8, 4, 0), &one), 1);
	limits_destroy(l);
}

/* From each line as many leave as may start, by rank; a line of another shape is not kept by the
 * first. */
static void lines_do_not_wait_for_each_other(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = class_of(l, 1, 0, 0);
	left_vec v = {0};

	limits_set(l, LIMIT_ALL, 0, 1);
	count(l, a, 1);
	limits_wait(l, a, &one, 1, 30, 3);
	limits_wait(l, a, &one, 1, 10, 1);
	limits_wait(l, a, &one, 1, 5, 1000);
	limits_wait(l, a, &one, 2, 20, 2);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 0);
	count(l, a, -1);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 2);
	assert_int_equal(v.v[0] + v.v[1], 3);
	limits_offer(l, SIZE_MAX, leave, &v); /* nothing has changed */
	assert_int_equal(v.n, 2);
	limits_set(l, LIMIT_ALL, 0, -1);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 3);
	vec_free(&v);
	limits_destroy(l);
}

/* Some lines at a time: each is asked once, also when those that were asked wait again, and once
 * more when another slot is given back. */
static void lines_are_asked_in_slices(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = class_of(l, 1, 0, 0);
	left_vec v = {0};
	int calls = 1;

	limits_set(l, LIMIT_ALL, 0, 2);
	count(l, a, 1);
	count(l, a, 1);
	for (uint32_t k = 0; k < 30; k++)
		limits_wait(l, a, &one, 1 + k % 10, k, 1 + k);
	count(l, a, -1);
	for (; !limits_offer(l, 3, leave, &v); calls++)
		assert_true(calls < 10);
	assert_int_equal(calls, 4);
	assert_int_equal(v.n, 10);
	for (uint32_t i = 0; i < v.n; i++)
		assert_true(v.v[i] <= 10);
	assert_true(limits_offer(l, 3, leave, &v));
	limits_stir(l, a);
	assert_false(limits_offer(l, 3, leave, &v));
	count(l, a, -1); /* all are asked again, for two */
	while (!limits_offer(l, 3, leave, &v))
		;
	assert_int_equal(v.n, 30);
	vec_free(&v);
	limits_destroy(l);
}

static void a_clone_goes_on_by_itself(void **state)
{
	struct limits *l = limits_create(), *t;
	uint32_t a = class_of(l, 1, 0, 5);
	left_vec v = {0};

	limits_set(l, LIMIT_ARRAY, 5, 1);
	count(l, a, 1);
	limits_wait(l, a, &one, 0, 1, 1);
	t = limits_clone(l);
	count(t, a, -1);
	limits_offer(t, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 1);
	assert_int_equal(room_for(l, a, &one), 0);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 1);
	vec_free(&v);
	limits_destroy(t);
	limits_destroy(l);
}

/* Millions of arrays come and go. */
static void what_is_dropped_is_used_again(void **state)
{
	struct limits *l = limits_create();
	uint32_t first = class_of(l, 1, 1, 1);

	for (uint64_t n = 1; n < 1000; n++) {
		struct limit_party p = {.user = 1, .queue = 1, .array = n};
		limits_set(l, LIMIT_ARRAY, n, 2);
		assert_int_equal(limits_class(l, &p), first);
		assert_int_equal(room_for(l, first, &one), 2);
		limits_drop_array(l, &p);
		class_of(l, 1, 1, n + 1);
	}
	limits_destroy(l);
}

/* A class that is only asked about goes with the trial, and what a job has stays. */
static void what_is_tried_is_used_again(void **state)
{
	struct limits *l = limits_create();
	struct limits_trial a = {0}, b = {0};
	struct limit_party p = {.user = 1, .group = 2};
	uint32_t first;

	limits_try(l, &a);
	first = limits_class(l, &p);
	limits_try(l, &b);
	assert_int_equal(limits_class(l, &p), first);
	limits_try(l, NULL);
	limits_trial_end(l, &a, false); /* the other holds it */
	assert_int_equal(limits_class(l, &p), first);
	limits_trial_end(l, &b, false); /* a job has it by now */
	assert_int_not_equal(class_of(l, 3, 0, 0), first);
	limits_cap(l, LIMIT_OF_GROUP, 2, LIMIT_JOBS, 4);
	assert_int_equal(room_for(l, first, &one), 4);

	limits_try(l, &a);
	p.group = 4;
	first = limits_class(l, &p);
	limits_try(l, NULL);
	limits_cap(l, LIMIT_OF_GROUP, 4, LIMIT_JOBS, 3); /* which outlasts the trial */
	limits_trial_end(l, &a, false);
	assert_int_equal(class_of(l, 4, 0, 0), first);
	assert_int_equal(room_for(l, limits_class(l, &p), &one), 3);
	limits_destroy(l);
}

/* ---- amounts, and whose they are ---- */

static const struct limit_need wide = {{1, 8, 1024}};

static void amounts_count(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = limits_class(l, &(struct limit_party){.user = 1, .group = 5}),
		 b = limits_class(l, &(struct limit_party){.user = 2, .group = 5});
	struct limit_reached r;

	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPUS, 16);
	limits_cap(l, LIMIT_OF_USER, 2, LIMIT_CPUS, 64);
	limits_cap(l, LIMIT_OF_GROUP, 5, LIMIT_MEMORY, 4 * 1024);
	assert_int_equal(room_for(l, a, &wide), 2);
	assert_int_equal(room_for(l, b, &wide), 4);
	limits_take(l, 10, a, &wide);
	limits_take(l, 11, a, &wide);
	assert_true(limits_reached(l, a, &wide, &r));
	assert_int_equal(r.kind, LIMIT_OF_USER);
	assert_int_equal(r.measure, LIMIT_CPUS);
	assert_int_equal(r.most, 16);
	assert_int_equal(r.used, 16);
	assert_int_equal(r.of, 1);
	assert_int_equal(room_for(l, b, &wide), 2);
	limits_cap(l, LIMIT_OF_USER, 1, LIMIT_CPUS, -1); /* its own: any number */
	assert_int_equal(room_for(l, a, &wide), 2);
	limits_cap(l, LIMIT_OF_USER, 1, LIMIT_CPUS, LIMIT_INHERIT);
	assert_int_equal(room_for(l, a, &wide), 0);
	limits_give(l, 10);
	assert_int_equal(room_for(l, a, &wide), 1);
	assert_int_equal(limits_used(l, LIMIT_OF_GROUP, 5, LIMIT_MEMORY), 1024);
	limits_destroy(l);
}

static void accounts_count_what_is_below(void **state)
{
	struct limits *l = limits_create();
	uint32_t low = limits_class(l, &(struct limit_party){.user = 1, .account = 3}),
		 top = limits_class(l, &(struct limit_party){.user = 2, .account = 1});
	struct limit_reached r;

	limits_parent(l, 3, 2);
	limits_parent(l, 2, 1);
	limits_cap(l, LIMIT_OF_ACCOUNT, 1, LIMIT_CPUS, 10);
	limits_take(l, 10, low, &wide);
	assert_int_equal(limits_used(l, LIMIT_OF_ACCOUNT, 1, LIMIT_CPUS), 8);
	assert_int_equal(room_for(l, top, &wide), 0);
	assert_true(limits_reached(l, low, &wide, &r));
	assert_int_equal(r.of, 1);
	limits_parent(l, 2, 0); /* what it has goes with it */
	assert_int_equal(limits_used(l, LIMIT_OF_ACCOUNT, 1, LIMIT_CPUS), 0);
	assert_int_equal(limits_used(l, LIMIT_OF_ACCOUNT, 2, LIMIT_CPUS), 8);
	assert_int_equal(room_for(l, top, &wide), 1);
	limits_parent(l, 3, 1);
	assert_int_equal(limits_used(l, LIMIT_OF_ACCOUNT, 2, LIMIT_CPUS), 0);
	assert_int_equal(limits_used(l, LIMIT_OF_ACCOUNT, 1, LIMIT_CPUS), 8);
	limits_give(l, 10);
	assert_int_equal(limits_used(l, LIMIT_OF_ACCOUNT, 1, LIMIT_CPUS), 0);
	limits_destroy(l);
}

static void an_exempt_qos_ignores_limits(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = limits_class(l, &(struct limit_party){.user = 1, .qos = 4}),
		 b = limits_class(l, &(struct limit_party){.user = 1, .qos = 4, .array = 9});

	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPUS, 4);
	limits_set(l, LIMIT_ARRAY, 9, 1);
	assert_int_equal(room_for(l, a, &wide), 0);
	limits_exempt(l, 4, true);
	assert_int_equal(room_for(l, a, &wide), INT64_MAX);
	assert_int_equal(room_for(l, b, &wide), 1);
	limits_exempt(l, 4, false);
	assert_int_equal(room_for(l, a, &wide), 0);
	limits_destroy(l);
}

/* 4 CPUs for 100 seconds each, of which 1000 may be before them. */
static void cpu_seconds_fall_as_jobs_run(void **state)
{
	static const struct limit_need need = {{1, 4, 0, 400}};
	struct limits *l = limits_create();
	uint32_t a = limits_class(l, &(struct limit_party){.user = 1});
	left_vec v = {0};

	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPU_SECONDS, 1000);
	limits_advance(l, 50);
	assert_int_equal(room_for(l, a, &need), 2);
	limits_take(l, 1, a, &need);
	limits_take(l, 2, a, &need);
	limits_wait(l, a, &need, 1, 1, 3);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(limits_next(l), TIME_NEVER); /* neither of them runs */
	limits_run(l, 1, &need, 150);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(limits_used(l, LIMIT_OF_USER, 1, LIMIT_CPU_SECONDS), 800);
	assert_int_equal(limits_next(l), 100); /* 200 too many, 4 a second */
	assert_int_equal(limits_when(l, a, &need), 100);
	limits_run(l, 2, &need, 170);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(limits_used(l, LIMIT_OF_USER, 1, LIMIT_CPU_SECONDS), 880);
	assert_int_equal(limits_next(l), 85);
	limits_advance(l, 84);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 0);
	limits_advance(l, 85);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 1);
	limits_advance(l, 1000); /* who runs beyond its end has nothing left, not less */
	assert_int_equal(limits_used(l, LIMIT_OF_USER, 1, LIMIT_CPU_SECONDS), 0);
	limits_give(l, 1);
	limits_run(l, 2, &need, 1010); /* its walltime was extended */
	assert_int_equal(limits_used(l, LIMIT_OF_USER, 1, LIMIT_CPU_SECONDS), 40);
	limits_give(l, 2);
	assert_int_equal(limits_used(l, LIMIT_OF_USER, 1, LIMIT_CPU_SECONDS), 0);
	vec_free(&v);
	limits_destroy(l);
}

static enum yielded yield_leave(void *context, uint32_t job)
{
	if (job == 9) /* it does not fit */
		return YIELD_NOT;
	return leave(context, job) ? YIELD_STARTS : YIELD_GONE;
}

static void soft_limits_yield_and_hard_ones_do_not(void **state)
{
	struct limits *l = limits_create();
	uint32_t a = limits_class(l, &(struct limit_party){.user = 1});
	struct limit_reached r;
	left_vec v = {0};

	assert_false(limits_yields(l));
	limits_soft(l, LIMIT_OF_USER, 0, LIMIT_JOBS, 1);
	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_JOBS, 3);
	assert_true(limits_yields(l));
	limits_take(l, 100, a, &one);
	assert_int_equal(room_for(l, a, &one), 0);
	assert_int_equal(room_hard(l, a, &one), 2);
	assert_true(limits_reached(l, a, &one, &r));
	assert_true(r.soft && r.most == 1 && r.used == 1);
	for (uint32_t job = 1; job <= 4; job++)
		limits_wait(l, a, &one, 1, job, job);
	limits_wait(l, a, &wide, 2, 0, 9);
	limits_wait(l, a, &one, 1, 0, 1000);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(v.n, 0);
	limits_yield(l, 0, yield_leave, &v); /* no CPU is free */
	assert_int_equal(v.n, 0);
	limits_take(l, 101, a, &one);
	limits_yield(l, 8, yield_leave, &v); /* who starts does not count yet: that is for the caller */
	assert_int_equal(v.n, 4);
	limits_take(l, 102, a, &one);
	assert_true(limits_reached(l, a, &one, &r));
	assert_true(!r.soft && r.most == 3 && r.used == 3);
	limits_wait(l, a, &one, 1, 5, 5);
	limits_yield(l, 8, yield_leave, &v);
	assert_int_equal(v.n, 4);
	vec_free(&v);
	limits_destroy(l);
}

/* A soft limit yields to a job for which time makes room under a hard one: it needs 200 CPU-seconds
 * more than there are, and 8 pass each second. */
static void time_makes_room_for_those_that_yield(void **state)
{
	static const struct limit_need need = {{1, 4, 0, 400}};
	struct limits *l = limits_create();
	uint32_t a = limits_class(l, &(struct limit_party){.user = 1, .qos = 2});
	left_vec v = {0};

	limits_soft(l, LIMIT_OF_QOS, 2, LIMIT_JOBS, 1);
	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPU_SECONDS, 1000);
	limits_advance(l, 50);
	for (uint32_t job = 1; job <= 2; job++) {
		limits_take(l, job, a, &need);
		limits_run(l, job, &need, 150);
	}
	limits_wait(l, a, &need, 1, 1, 3);
	limits_offer(l, SIZE_MAX, leave, &v);
	assert_int_equal(limits_next(l), TIME_NEVER); /* the soft limit's own room does not grow with time */
	limits_yield(l, 8, yield_leave, &v);
	assert_int_equal(v.n, 0);
	assert_int_equal(limits_next(l), 75);
	limits_advance(l, 75);
	limits_yield(l, 8, yield_leave, &v);
	assert_int_equal(v.n, 1);
	assert_int_equal(limits_next(l), TIME_NEVER);
	vec_free(&v);
	limits_destroy(l);
}

static void what_exceeds_a_hard_limit_alone_is_refused(void **state)
{
	struct limits *l = limits_create();
	struct limit_party p = {.user = 1, .qos = 4};
	struct err err;

	limits_soft(l, LIMIT_OF_USER, 0, LIMIT_CPUS, 4);
	assert_int_equal(limits_admit(l, &p, &wide, &err), 0);
	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPUS, 7);
	assert_int_not_equal(limits_admit(l, &p, &wide, &err), 0);
	assert_string_equal(err.text,
			    "it requests 8 CPUs and could never start: the limit of its user is 7 (max_cpus)");
	limits_exempt(l, 4, true);
	assert_int_equal(limits_admit(l, &p, &wide, &err), 0);
	limits_exempt(l, 4, false);
	limits_cap(l, LIMIT_OF_USER, 0, LIMIT_CPUS, 0); /* stopped for the time being */
	assert_int_equal(limits_admit(l, &p, &wide, &err), 0);
	limits_destroy(l);
}

/* ---- a small scheduler over random parties: counters are the sums of what runs, no limit is
 * exceeded, and nobody is forgotten in a line ---- */

enum { JOBS = 400, USERS = 7, ACCOUNTS = 5 };

struct world {
	struct limits *l;
	struct {
		struct limit_need need;
		uint32_t user, account, class;
		enum { NONE, QUEUED, LINED, RUNS, DONE } state;
		int64_t end; /* end of a running job; TIME_NEVER: it has not begun */
	} job[JOBS];
	int64_t now;
	uint32_t parent[ACCOUNTS + 1];
	int64_t user_most[USERS + 1], user_seconds[USERS + 1], account_most[ACCOUNTS + 1];
};

static bool world_leave(void *context, uint32_t id)
{
	struct world *w = context;

	if (w->job[id].state != LINED)
		return false;
	w->job[id].state = QUEUED;
	return true;
}

static bool account_below(const struct world *w, uint32_t account, uint32_t top)
{
	while (account && account != top)
		account = w->parent[account];
	return account == top;
}

static int64_t user_sum(const struct world *w, uint32_t user)
{
	int64_t sum = 0;

	for (int i = 0; i < JOBS; i++)
		if (w->job[i].state == RUNS && w->job[i].user == user)
			sum += w->job[i].need.v[LIMIT_CPUS];
	return sum;
}

/* CPU-seconds that are left. */
static int64_t user_left(const struct world *w, uint32_t user)
{
	int64_t sum = 0;

	for (int i = 0; i < JOBS; i++)
		if (w->job[i].state == RUNS && w->job[i].user == user)
			sum += w->job[i].end == TIME_NEVER ? w->job[i].need.v[LIMIT_CPU_SECONDS]
			       : w->job[i].end > w->now	   ? w->job[i].need.v[LIMIT_CPUS] * (w->job[i].end - w->now)
							   : 0;
	return sum;
}

static int64_t account_sum(const struct world *w, uint32_t account)
{
	int64_t sum = 0;

	for (int i = 0; i < JOBS; i++)
		if (w->job[i].state == RUNS && account_below(w, w->job[i].account, account))
			sum += w->job[i].need.v[LIMIT_CPUS];
	return sum;
}

static bool world_fits(const struct world *w, int i)
{
	int64_t cpus = w->job[i].need.v[LIMIT_CPUS];

	if (w->user_most[w->job[i].user] >= 0 && user_sum(w, w->job[i].user) + cpus > w->user_most[w->job[i].user])
		return false;
	if (w->user_seconds[w->job[i].user] >= 0 &&
	    user_left(w, w->job[i].user) + w->job[i].need.v[LIMIT_CPU_SECONDS] > w->user_seconds[w->job[i].user])
		return false;
	for (uint32_t a = w->job[i].account; a; a = w->parent[a])
		if (w->account_most[a] >= 0 && account_sum(w, a) + cpus > w->account_most[a])
			return false;
	return true;
}

static void world_cycle(struct world *w)
{
	while (!limits_offer(w->l, 2, world_leave, w)) /* it makes no difference */
		;
	for (int i = 0; i < JOBS; i++) {
		if (w->job[i].state != QUEUED)
			continue;
		bool room = room_for(w->l, w->job[i].class, &w->job[i].need) > 0;
		assert_int_equal(room, world_fits(w, i));
		if (room) {
			w->job[i].state = RUNS;
			w->job[i].end = TIME_NEVER;
			limits_take(w->l, (uint32_t)i, w->job[i].class, &w->job[i].need);
			limits_stir(w->l, w->job[i].class);
		} else {
			w->job[i].state = LINED;
			limits_wait(
				w->l, w->job[i].class, &w->job[i].need,
				(uint64_t)(w->job[i].need.v[LIMIT_CPUS] * 10000 + w->job[i].need.v[LIMIT_CPU_SECONDS]),
				i, (uint32_t)i);
		}
	}
}

static void world_check(const struct world *w)
{
	for (uint32_t u = 1; u <= USERS; u++) {
		assert_int_equal(limits_used(w->l, LIMIT_OF_USER, u, LIMIT_CPUS), user_sum(w, u));
		assert_int_equal(limits_used(w->l, LIMIT_OF_USER, u, LIMIT_CPU_SECONDS), user_left(w, u));
	}
	for (uint32_t a = 1; a <= ACCOUNTS; a++)
		assert_int_equal(limits_used(w->l, LIMIT_OF_ACCOUNT, a, LIMIT_CPUS), account_sum(w, a));
}

static void world_act(struct world *w, struct rng *r)
{
	int i = (int)rng_below(r, JOBS);
	uint32_t a = 1 + (uint32_t)rng_below(r, ACCOUNTS), u = 1 + (uint32_t)rng_below(r, USERS);

	switch (rng_below(r, 12)) {
	case 3:
		w->user_seconds[u] = (int64_t)rng_below(r, 4000) - 1;
		limits_cap(w->l, LIMIT_OF_USER, u, LIMIT_CPU_SECONDS, w->user_seconds[u]);
		break;
	case 4:
	case 5: /* it begins, or has another end */
		if (w->job[i].state != RUNS)
			break;
		w->job[i].end = w->now + 1 + (int64_t)rng_below(r, 200);
		limits_run(w->l, (uint32_t)i, &w->job[i].need, w->job[i].end);
		break;
	case 0:
		w->user_most[u] = (int64_t)rng_below(r, 40) - 1;
		limits_cap(w->l, LIMIT_OF_USER, u, LIMIT_CPUS, w->user_most[u]);
		break;
	case 1:
		w->account_most[a] = (int64_t)rng_below(r, 80) - 1;
		limits_cap(w->l, LIMIT_OF_ACCOUNT, a, LIMIT_CPUS, w->account_most[a]);
		break;
	case 2: /* accounts with lower numbers are above: no circles */
		w->parent[a] = (uint32_t)rng_below(r, a);
		limits_parent(w->l, a, w->parent[a]);
		break;
	default:
		if (w->job[i].state == RUNS)
			limits_give(w->l, (uint32_t)i);
		else if (w->job[i].state == QUEUED)
			limits_stir(w->l, w->job[i].class);
		w->job[i].state = w->job[i].state == NONE || w->job[i].state == DONE ? QUEUED : DONE;
	}
}

/* Time goes by: before limits_next() nobody could have gone. */
static void world_pass(struct world *w, struct rng *r)
{
	int64_t until = w->now + (int64_t)rng_below(r, 20), next = limits_next(w->l);

	if (next <= until) {
		w->now = next - 1;
		for (int i = 0; i < JOBS; i++)
			if (w->job[i].state == LINED)
				assert_false(world_fits(w, i));
		until = next;
	}
	w->now = until;
	limits_advance(w->l, w->now);
}

static void random_worlds_count_right_and_forget_nobody(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world w = {.l = limits_create()};
		struct rng r;

		rng_seed(&r, seed);
		for (uint32_t u = 0; u <= USERS; u++)
			w.user_most[u] = w.user_seconds[u] = -1;
		for (uint32_t a = 0; a <= ACCOUNTS; a++)
			w.account_most[a] = -1;
		for (int i = 0; i < JOBS; i++) {
			w.job[i].user = 1 + (uint32_t)rng_below(&r, USERS);
			w.job[i].account = (uint32_t)rng_below(&r, ACCOUNTS + 1);
			w.job[i].need = (struct limit_need){{1, 1 + (int64_t)rng_below(&r, 4), 0, 0}};
			w.job[i].need.v[LIMIT_CPU_SECONDS] =
				w.job[i].need.v[LIMIT_CPUS] * 100 * (1 + (int64_t)rng_below(&r, 3));
			w.job[i].class = limits_class(
				w.l, &(struct limit_party){.user = w.job[i].user, .account = w.job[i].account});
		}
		for (int step = 0; step < 300; step++) {
			for (uint64_t n = rng_below(&r, 6); n > 0; n--)
				world_act(&w, &r);
			world_cycle(&w);
			for (int more = 0; more < 50; more++) /* each start lets the next of its line come */
				world_cycle(&w);
			world_check(&w);
			for (int i = 0; i < JOBS; i++)
				if (w.job[i].state == LINED)
					assert_false(world_fits(&w, i));
			world_pass(&w, &r);
		}
		limits_destroy(w.l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_limit_is_any_number),
		cmocka_unit_test(whether_anything_is_limited_follows_the_limits),
		cmocka_unit_test(every_limit_counts_its_own),
		cmocka_unit_test(a_limit_holds_for_classes_to_come),
		cmocka_unit_test(lines_do_not_wait_for_each_other),
		cmocka_unit_test(lines_are_asked_in_slices),
		cmocka_unit_test(a_clone_goes_on_by_itself),
		cmocka_unit_test(what_is_dropped_is_used_again),
		cmocka_unit_test(what_is_tried_is_used_again),
		cmocka_unit_test(amounts_count),
		cmocka_unit_test(accounts_count_what_is_below),
		cmocka_unit_test(an_exempt_qos_ignores_limits),
		cmocka_unit_test(cpu_seconds_fall_as_jobs_run),
		cmocka_unit_test(soft_limits_yield_and_hard_ones_do_not),
		cmocka_unit_test(time_makes_room_for_those_that_yield),
		cmocka_unit_test(what_exceeds_a_hard_limit_alone_is_refused),
		cmocka_unit_test(random_worlds_count_right_and_forget_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
