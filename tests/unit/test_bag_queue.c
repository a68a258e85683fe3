/*
 * test_bag_queue.c - which task runs next, and what becomes of its results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bag/queue.h"
#include "base/rng.h"

static struct bag bag;

static struct queue *made(const char *text, struct queue_rules rules)
{
	struct err err;

	assert_int_equal(bag_parse(text, strlen(text), &bag, &err), 0);
	return task_queue_create(&bag, &rules);
}

static void done(struct queue *q)
{
	queue_check(q);
	task_queue_destroy(q);
	bag_fini(&bag);
}

static struct offer room(int worker, int64_t cpus, int64_t all)
{
	return (struct offer){.cpus = cpus * BAG_CPU,
			      .all_cpus = all * BAG_CPU,
			      .memory = -1,
			      .seconds = -1,
			      .worker = worker,
			      .workers = 3};
}

static const struct queue_rules plain = {.attempts = 2, .losses = 2, .replicas = 1, .agree = 1};

static void retries(void **state)
{
	(void)state;
	struct queue *q = made("a\nb\nc\n", plain);
	struct offer o = room(0, 1, 1);

	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_result(q, 1, 0, false, 0), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 2); /* behind the others */
	assert_int_equal(queue_result(q, 2, 0, true, 0), VERDICT_DONE);
	assert_int_equal(queue_take(q, &o), 3);
	assert_int_equal(queue_lost(q, 3, 0, true, true), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_result(q, 1, 0, false, 0), VERDICT_ASIDE);
	assert_int_equal(queue_take(q, &o), 0);
	assert_int_equal(queue_take_alone(q, &o), 3);
	assert_int_equal(queue_lost(q, 3, 0, true, true), VERDICT_ASIDE); /* it takes its workers with it */
	assert_int_equal(queue_take(q, &o), 0);
	assert_int_equal(queue_retry(q), 2);
	assert_int_equal(queue_take(q, &o), 1);
	queue_return(q, 1, 0);
	assert_int_equal(queue_take(q, &o), 1);
	done(q);
}

static void restored(void **state)
{
	(void)state;
	struct queue *q = made("a\nb\nc\nd\n", plain);
	struct offer o = room(0, 1, 1);

	queue_restore(q, 1, TASK_DONE, 0);
	queue_restore(q, 3, TASK_ASIDE, 2);
	queue_restore(q, 4, TASK_WAITING, 1);
	assert_int_equal(queue_take(q, &o), 2);
	assert_int_equal(queue_take(q, &o), 4);
	assert_int_equal(queue_result(q, 4, 0, false, 0), VERDICT_ASIDE);
	assert_int_equal(queue_counts(q).aside, 2);
	assert_int_equal(queue_failures(q, 4), 2);
	assert_int_equal(queue_failures(q, 3), 2);
	assert_int_equal(queue_counts(q).failures, 1);
	assert_int_equal(queue_state(q, 1), TASK_DONE);
	assert_int_equal(queue_copies(q, 2), 1);
	assert_int_equal(queue_retry(q), 2);
	assert_int_equal(queue_failures(q, 3), 0);
	done(q);
}

static void copies(void **state)
{
	(void)state;
	struct queue *q = made("a\n", (struct queue_rules){.attempts = 1, .losses = 2, .replicas = 2, .agree = 1});
	struct offer o = room(0, 1, 1), other = room(1, 1, 1), third = room(2, 1, 1);

	assert_int_equal(queue_take(q, &o), 1);
	assert_true(queue_copy(q, 1, &other));
	assert_false(queue_copy(q, 1, &third));
	assert_int_equal(queue_lost(q, 1, 0, true, false), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 0); /* the copy is in flight */
	assert_int_equal(queue_result(q, 1, 1, true, 0), VERDICT_DONE);
	done(q);
	q = made("a\n", (struct queue_rules){.attempts = 1, .losses = 2, .replicas = 2, .agree = 1});
	assert_int_equal(queue_take(q, &o), 1);
	assert_true(queue_copy(q, 1, &other));
	assert_int_equal(queue_result(q, 1, 0, true, 0), VERDICT_DONE);
	assert_int_equal(queue_result(q, 1, 1, true, 0), VERDICT_IGNORE);
	done(q);
}

static void agreement(void **state)
{
	(void)state;
	struct queue *q = made("a\nb\n", (struct queue_rules){.attempts = 1, .losses = 2, .replicas = 1, .agree = 2});
	struct offer o = room(0, 1, 1), other = room(1, 1, 1), third = room(2, 1, 1);

	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_result(q, 1, 0, true, 11), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 2); /* not the same worker twice */
	assert_int_equal(queue_take(q, &o), 0);
	assert_int_equal(queue_take(q, &other), 1);
	assert_int_equal(queue_result(q, 1, 1, true, 12), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &third), 1);
	assert_int_equal(queue_result(q, 1, 2, true, 11), VERDICT_DONE);
	assert_int_equal(queue_result(q, 2, 0, true, 1), VERDICT_AGAIN);
	o.workers = 1; /* it is the only one left */
	for (uint64_t i = 2; i <= 5; i++) {
		assert_int_equal(queue_take(q, &o), 2);
		assert_int_equal(queue_result(q, 2, 0, true, i), i < 5 ? VERDICT_AGAIN : VERDICT_ASIDE);
	}
	done(q);
}

/* Two workers whose results differ give more of them, rather than wait for a third. */
static void disagreement(void **state)
{
	(void)state;
	struct queue *q = made("a\n", (struct queue_rules){.attempts = 1, .losses = 2, .replicas = 1, .agree = 2});
	struct offer o[2] = {room(0, 1, 1), room(1, 1, 1)};

	o[0].workers = o[1].workers = 2;
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(queue_take(q, &o[i % 2]), 1);
		assert_int_equal(queue_result(q, 1, (int)(i % 2), true, i), i < 4 ? VERDICT_AGAIN : VERDICT_ASIDE);
	}
	done(q);
}

/* A task of four CPUs among many of one: a worker is kept free for it, the others keep working. */
static void large(void **state)
{
	(void)state;
	struct strbuf text = {0};

	strbuf_puts(&text, "#bag cpus=4\nbig\n#bag\n");
	for (int i = 0; i < 1000; i++)
		strbuf_puts(&text, "small\n");
	struct queue *q = made(text.text, plain);
	struct offer o[2] = {room(0, 4, 4), room(1, 2, 2)};

	o[0].cpus = 3 * BAG_CPU; /* something small runs there already */
	assert_true(queue_take(q, &o[0]) > 1);
	for (int i = 0;; i++) {
		assert_true(i < 100);
		uint32_t task = queue_take(q, &o[0]);
		if (task == 1)
			break;
		if (task)
			queue_result(q, task, 0, true, 0);
		else
			o[0].cpus = 4 * BAG_CPU; /* it drained */
		assert_true(queue_take(q, &o[1]) > 1);
	}
	assert_int_equal(queue_refuse(q, 1), 0);
	queue_return(q, 1, 0);
	assert_int_equal(queue_refuse(q, 1), 1);
	assert_int_equal(queue_state(q, 1), TASK_ASIDE);
	assert_int_equal(queue_refuse(q, 1), 0);
	strbuf_fini(&text);
	done(q);
}

static void time_left(void **state)
{
	(void)state;
	struct queue *q = made("#bag time=100\nlong\n#bag time=5 mem=2gb gpus=1\nshort\n", plain);
	struct offer o = room(0, 1, 1);

	o.seconds = 50;
	assert_int_equal(queue_take(q, &o), 0);
	o.gpus = 1;
	o.memory = 1 << 20;
	assert_int_equal(queue_take(q, &o), 0);
	o.memory = 4 << 20;
	assert_int_equal(queue_take(q, &o), 2);
	o.seconds = 100;
	assert_int_equal(queue_take(q, &o), 1);
	done(q);
}

/* A task that was cut off needs more than it had; one that outlasts every worker is set aside. */
static void cut_off(void **state)
{
	(void)state;
	struct queue *q = made("one\ntwo\n", plain);
	struct offer o = room(0, 1, 1);

	o.seconds = 20;
	o.usual = 30;
	assert_int_equal(queue_take(q, &o), 0); /* usually a task takes longer */
	o.usual = 0;
	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_cut(q, 1, 15, 100), VERDICT_AGAIN);
	assert_int_equal(queue_waits(q, 0), 2);
	assert_int_equal(queue_take(q, &o), 2);
	assert_int_equal(queue_take(q, &o), 0); /* 30 s for the first one */
	o.seconds = 30;
	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_cut(q, 1, 60, 100), VERDICT_AGAIN);
	o.seconds = 89;
	assert_int_equal(queue_take(q, &o), 0);
	o.seconds = 90; /* not more than there can be */
	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_cut(q, 1, 90, 100), VERDICT_ASIDE);
	assert_int_equal(queue_cut(q, 2, 1000, -1), VERDICT_AGAIN); /* others have no end */
	o.seconds = -1;
	assert_int_equal(queue_take(q, &o), 2);
	done(q);
}

/* One of two tasks kills their worker: only that one is set aside. */
static void poison(void **state)
{
	(void)state;
	struct queue *q =
		made("bad\ngood\n", (struct queue_rules){.attempts = 1, .losses = 4, .replicas = 2, .agree = 1});
	struct offer o = room(0, 2, 2), other = room(1, 2, 2);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(queue_take(q, &o), 1);
		assert_int_equal(queue_take(q, &o), 2);
		assert_int_equal(queue_take_alone(q, &other), 0);
		assert_int_equal(queue_lost(q, 1, 0, true, false), VERDICT_AGAIN);
		assert_int_equal(queue_lost(q, 2, 0, true, false), VERDICT_AGAIN);
	}
	assert_int_equal(queue_waits(q, 0), 2);
	assert_int_equal(queue_take(q, &o), 0); /* from now on each runs alone */
	assert_int_equal(queue_take_alone(q, &o), 1);
	assert_false(queue_copy(q, 1, &other));
	assert_int_equal(queue_take_alone(q, &other), 2);
	assert_int_equal(queue_lost(q, 1, 0, true, true), VERDICT_AGAIN);
	assert_int_equal(queue_take_alone(q, &o), 1);
	assert_int_equal(queue_lost(q, 1, 0, false, true), VERDICT_AGAIN); /* its allocation was taken */
	assert_int_equal(queue_take_alone(q, &o), 1);
	assert_int_equal(queue_lost(q, 1, 0, true, true), VERDICT_ASIDE);
	assert_int_equal(queue_result(q, 2, 1, true, 0), VERDICT_DONE);
	done(q);
}

/* Losses are counted later, once their reason is known. */
static void blame(void **state)
{
	(void)state;
	struct queue *q = made("a\nb\n", (struct queue_rules){.attempts = 1, .losses = 3, .replicas = 1, .agree = 1});
	struct offer o = room(0, 2, 2);

	assert_int_equal(queue_take(q, &o), 1);
	assert_int_equal(queue_lost(q, 1, 0, false, false), VERDICT_AGAIN);
	assert_int_equal(queue_blame(q, 1, false), VERDICT_AGAIN);
	assert_int_equal(queue_blame(q, 1, false), VERDICT_AGAIN);
	assert_int_equal(queue_take(q, &o), 2); /* the other waits for a worker of its own */
	assert_int_equal(queue_take(q, &o), 0);
	assert_int_equal(queue_result(q, 2, 0, true, 0), VERDICT_DONE);
	assert_int_equal(queue_blame(q, 2, true), VERDICT_IGNORE);
	assert_int_equal(queue_take_alone(q, &o), 1);
	assert_int_equal(queue_blame(q, 1, true), VERDICT_AGAIN); /* it runs: that decides */
	assert_int_equal(queue_lost(q, 1, 0, false, true), VERDICT_AGAIN);
	assert_int_equal(queue_blame(q, 1, true), VERDICT_ASIDE);
	assert_int_equal(queue_take_alone(q, &o), 0);
	done(q);
}

/* Among as many needs as tasks, each worker gets the lowest task that fits, and far fewer needs are
 * looked at than there are, also where nothing fits. */
static void many_needs(void **state)
{
	enum { TASKS = 4096 };
	struct strbuf text = {0};
	struct rng r;
	uint32_t left = TASKS;

	(void)state;
	rng_seed(&r, 1);
	for (int i = 0; i < TASKS; i++)
		strbuf_printf(&text, "#bag cpus=%d gpus=%d mem=%dkb time=%d in=f%d\ntrue\n", (int)rng_range(&r, 1, 64),
			      (int)rng_below(&r, 3), (int)rng_range(&r, 1, 4096), (int)rng_range(&r, 1, 4096), i);
	struct queue *q = made(text.text, plain);
	assert_int_equal(bag.needs.n, TASKS + 1); /* and the default */
	for (int i = 0; i < TASKS; i++) {
		bool all = i >= TASKS / 2;
		struct offer o = room(i, all ? 64 : rng_range(&r, 1, 64), 64);
		uint32_t lowest = 0;
		o.gpus = all ? 2 : (int)rng_below(&r, 3);
		o.memory = all ? -1 : rng_range(&r, 1, 4096);
		o.seconds = all ? -1 : rng_range(&r, 1, 4096);
		for (uint32_t task = 1; task <= TASKS && !lowest; task++) {
			const struct bag_need *need = &bag.needs.v[bag.tasks.v[task - 1].need];
			if (queue_state(q, task) == TASK_WAITING && need->cpus <= o.cpus && need->gpus <= o.gpus &&
			    (all || (need->memory <= o.memory && need->seconds <= o.seconds)))
				lowest = task;
		}
		assert_int_equal(queue_take(q, &o), lowest);
		left -= lowest > 0;
	}
	assert_int_equal(queue_counts(q).waiting, left);
	print_message("# %llu steps for %d tasks with as many needs\n", (unsigned long long)queue_steps(q), TASKS);
	assert_true(queue_steps(q) < TASKS * UINT64_C(200));
	strbuf_fini(&text);
	done(q);
}

/* Whatever happens in whatever order, every task ends, and is counted once. */
static void random_lives(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng r;
		rng_seed(&r, seed);
		struct queue *q = made("a\nb\n#bag cpus=2\nc\nd\n#bag cpus=0.5\ne\nf\ng\n",
				       (struct queue_rules){.attempts = 2,
							    .losses = 3,
							    .replicas = 1 + (int)(seed % 3),
							    .agree = 1 + (int)(seed / 3 % 3)});
		VEC(struct {
			uint32_t task;
			int worker;
		}) flying = {0};
		struct queue_counts c;
		for (int step = 0; c = queue_counts(q), c.waiting + c.flying > 0; step++) {
			assert_true(step < 10000);
			struct offer o = room((int)rng_below(&r, 3), 2, 2);
			uint32_t task = queue_take(q, &o);
			task = task ? task : queue_take_alone(q, &o);
			if (!task && flying.n && queue_copy(q, flying.v[0].task, &o))
				task = flying.v[0].task;
			if (task) {
				vec_reserve(&flying, flying.n + 1);
				flying.v[flying.n].task = task;
				flying.v[flying.n++].worker = o.worker;
			}
			if (flying.n && (!task || rng_below(&r, 2))) {
				size_t at = rng_below(&r, flying.n);
				uint32_t t = flying.v[at].task;
				int w = flying.v[at].worker;
				vec_remove(&flying, at);
				switch (rng_below(&r, 7)) {
				case 2:
					queue_cut(q, t, (int64_t)rng_below(&r, 100), 100);
					break;
				case 0:
					queue_return(q, t, w);
					break;
				case 1:
					queue_lost(q, t, w, rng_below(&r, 4) > 0, rng_below(&r, 2));
					if (rng_below(&r, 3) == 0)
						queue_blame(q, t, rng_below(&r, 2));
					break;
				default:
					queue_result(q, t, w, rng_below(&r, 4) > 0, rng_below(&r, 2));
				}
			}
			queue_check(q);
		}
		assert_int_equal(c.done + c.aside, 7);
		vec_free(&flying);
		done(q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retries),   cmocka_unit_test(restored),     cmocka_unit_test(copies),
		cmocka_unit_test(agreement), cmocka_unit_test(disagreement), cmocka_unit_test(large),
		cmocka_unit_test(time_left), cmocka_unit_test(cut_off),	     cmocka_unit_test(random_lives),
		cmocka_unit_test(poison),    cmocka_unit_test(blame),	     cmocka_unit_test(many_needs),
	};
	return cmocka_run_group_tests_name("bag_queue", tests, NULL, NULL);
}
