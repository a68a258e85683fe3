/*
 * test_bag_filler.c - holes for a filler, when it is in the way; over random plans, that nobody
 * starts later because of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bag/filler.h"
#include "base/rng.h"
#include "base/timetext.h"

enum { NODES = 3, CPUS = 4, JOBS = 6 };

static void nodes_add(struct filler_plan *p, int n)
{
	*p = (struct filler_plan){.whole = true};
	for (int i = 0; i < n; i++)
		vec_push(&p->nodes, (struct filler_node){CPUS, TIME_NEVER});
}

static void plan_free(struct filler_plan *p)
{
	vec_free(&p->nodes);
	vec_free(&p->pieces);
}

static const struct filler_wish wish = {.each = 1, .task = 10, .tasks = 100, .cpus = 16, .seconds = 1000};

static void in_the_way(void **state)
{
	struct filler_plan p;

	(void)state;
	nodes_add(&p, 2);
	assert_false(filler_in_the_way(&p, 100));
	vec_push(&p.pieces, (struct filler_piece){0, 0, 3, 50, 500, .running = true});
	vec_push(&p.pieces, (struct filler_piece){1, 1, 4, 90, 300, .running = true, .ours = true});
	assert_false(filler_in_the_way(&p, 100));
	/* it waits for the other, not for us */
	vec_push(&p.pieces, (struct filler_piece){0, 2, 4, 500, 600, .running = false});
	vec_push(&p.pieces, (struct filler_piece){1, 2, 4, 500, 600, .running = false});
	assert_false(filler_in_the_way(&p, 100));
	/* it could start now */
	vec_push(&p.pieces, (struct filler_piece){1, 3, 4, 300, 400, .running = false});
	assert_true(filler_in_the_way(&p, 100));
	p.pieces.v[4].start = 101; /* it does */
	assert_false(filler_in_the_way(&p, 100));
	/* it could start when another ends */
	p.pieces.n = 2;
	p.pieces.v[1].end = 700;
	vec_push(&p.pieces, (struct filler_piece){0, 2, 4, 700, 800, .running = false});
	vec_push(&p.pieces, (struct filler_piece){1, 2, 4, 700, 800, .running = false});
	assert_true(filler_in_the_way(&p, 100));
	p.pieces.n = 2;
	p.whole = false;
	assert_true(filler_in_the_way(&p, 100));
	plan_free(&p);
}

static void holes(void **state)
{
	struct filler_wish w = wish;
	struct filler_plan p;

	(void)state;
	nodes_add(&p, 2);
	struct filler_hole h = filler_hole(&p, 100, &w);
	assert_int_equal(h.cpus, 8);
	assert_int_equal(h.seconds, 1000);
	w.tasks = 3;
	assert_int_equal(filler_hole(&p, 100, &w).cpus, 3);
	w = wish;
	w.each = 3; /* one on each node */
	assert_int_equal(filler_hole(&p, 100, &w).cpus, 6);
	w.each = 5;
	assert_int_equal(filler_hole(&p, 100, &w).cpus, 0);
	/* until somebody comes, unless that is too short for a task */
	w = wish;
	vec_push(&p.pieces, (struct filler_piece){0, 0, 3, 50, 205, .running = true});
	vec_push(&p.pieces, (struct filler_piece){0, 1, 4, 205, 500, .running = false});
	vec_push(&p.pieces, (struct filler_piece){1, 1, 4, 205, 500, .running = false});
	h = filler_hole(&p, 100, &w);
	assert_int_equal(h.cpus, 5);
	assert_int_equal(h.seconds, 205 - 100 - FILLER_MARGIN);
	w.task = 101;
	assert_int_equal(filler_hole(&p, 100, &w).cpus, 0);
	/* a node that leaves is as one where somebody comes */
	p.pieces.n = 0;
	p.nodes.v[1].until = 150;
	h = filler_hole(&p, 100, &wish);
	assert_int_equal(h.cpus, 4);
	assert_int_equal(h.seconds, 1000);
	plan_free(&p);
}

/* A plan that is too large to be searched offers no hole, and the filler is in its way. */
static void too_large(void **state)
{
	enum { PIECES = 3000 };
	struct filler_plan p;

	(void)state;
	nodes_add(&p, 1);
	for (uint32_t i = 0; i < PIECES; i++)
		vec_push(&p.pieces, (struct filler_piece){0, i, 0, 200 + i, 210 + i, .running = false});
	assert_int_equal(filler_hole(&p, 100, &wish).cpus, 0);
	p.pieces.n = 20;
	assert_int_equal(filler_hole(&p, 100, &wish).cpus, 4);
	p.pieces.n = 0;
	vec_push(&p.pieces, (struct filler_piece){0, 0, CPUS, 50, 5000, .running = true});
	for (uint32_t i = 0; i < PIECES; i++)
		vec_push(&p.pieces,
			 (struct filler_piece){0, i + 1, CPUS, 5000 + 10 * i, 5010 + 10 * i, .running = false});
	assert_true(filler_in_the_way(&p, 100));
	p.pieces.n = 20;
	assert_false(filler_in_the_way(&p, 100));
	plan_free(&p);
}

/* ---- random plans, by a planner as plain as can be ---- */

struct job {
	int64_t start, length; /* start -1: it waits */
	int fragments;
	int64_t cpus; /* CPUs of each */
};

static int64_t used(const struct filler_plan *p, uint32_t node, int64_t at)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->pieces.n; i++)
		if (p->pieces.v[i].node == node && p->pieces.v[i].start <= at && at < p->pieces.v[i].end)
			sum += p->pieces.v[i].cpus;
	return sum;
}

static int64_t room(const struct filler_plan *p, uint32_t node, int64_t from, int64_t to)
{
	int64_t most = used(p, node, from);

	for (size_t i = 0; i < p->pieces.n; i++)
		if (p->pieces.v[i].node == node && p->pieces.v[i].start > from && p->pieces.v[i].start < to &&
		    used(p, node, p->pieces.v[i].start) > most)
			most = used(p, node, p->pieces.v[i].start);
	return CPUS - most;
}

static bool put(struct filler_plan *p, const struct job *j, uint32_t number, int64_t at, bool running, bool ours)
{
	size_t before = p->pieces.n;

	for (uint32_t node = 0; node < NODES; node++)
		for (int64_t free = room(p, node, at, at + j->length);
		     free >= j->cpus && p->pieces.n - before < (size_t)j->fragments; free -= j->cpus)
			vec_push(&p->pieces, (struct filler_piece){node, number, j->cpus, at, at + j->length,
								   .running = running, .ours = ours});
	if (p->pieces.n - before == (size_t)j->fragments)
		return true;
	p->pieces.n = before;
	return false;
}

/* Those that run stay; the others are put in their order where they fit first. */
static void plan_make(struct filler_plan *p, size_t fixed, const struct job *jobs, size_t from, int64_t *starts)
{
	p->pieces.n = fixed;
	for (size_t i = from; i < JOBS; i++) {
		int64_t at = 0;
		while (!put(p, &jobs[i], (uint32_t)i, at, false, false))
			at++;
		starts[i] = at;
	}
}

static struct job job_random(struct rng *r)
{
	return (struct job){
		.length = rng_range(r, 5, 40), .fragments = (int)rng_range(r, 1, NODES), .cpus = rng_range(r, 1, CPUS)};
}

/* A bag that takes the holes it is offered changes no start; a job that comes later is
 * distinguished from one that it delays. */
static void nobody_starts_later(void **state)
{
	int filled = 0, ways = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct job jobs[JOBS + 1];
		int64_t without[JOBS], with[JOBS];
		struct filler_plan p;
		struct rng r;
		rng_seed(&r, seed);
		nodes_add(&p, NODES);
		size_t running = (size_t)rng_range(&r, 2, 5);
		for (size_t i = 0; i < JOBS; i++)
			jobs[i] = job_random(&r);
		for (size_t i = 0; i < running; i++)
			if (!put(&p, &jobs[i], (uint32_t)i, 0, true, false))
				jobs[i].fragments = 0;
		size_t fixed = p.pieces.n;
		plan_make(&p, fixed, jobs, running, without);
		struct filler_wish w = {
			.each = rng_range(&r, 1, 2), .task = 5, .tasks = 100, .cpus = 12, .seconds = 60};
		struct filler_hole h = filler_hole(&p, 0, &w);
		if (h.cpus > 0) {
			struct job ours = {0, h.seconds, (int)(h.cpus / w.each), w.each};
			assert_true(put(&p, &ours, JOBS, 0, true, true)); /* it starts now */
			struct filler_piece mine[NODES * CPUS];
			size_t n = (size_t)ours.fragments;
			for (size_t i = 0; i < n; i++)
				mine[i] = p.pieces.v[p.pieces.n - n + i];
			p.pieces.n = fixed;
			for (size_t i = 0; i < n; i++)
				vec_push(&p.pieces, mine[i]);
			plan_make(&p, fixed + n, jobs, running, with);
			for (size_t i = running; i < JOBS; i++)
				assert_int_equal(with[i], without[i]);
			assert_false(filler_in_the_way(&p, 0));
			filled++;
			/* another one comes, and is planned behind all others */
			jobs[JOBS] = job_random(&r);
			int64_t late = 0, soon = 0;
			while (!put(&p, &jobs[JOBS], JOBS + 1, late, false, false))
				late++;
			bool way = filler_in_the_way(&p, 0);
			plan_make(&p, fixed, jobs, running, without);
			while (!put(&p, &jobs[JOBS], JOBS + 1, soon, false, false))
				soon++;
			if (way != (late > soon + 1))
				fail_msg("seed %d: planned at %d, without us at %d, but it is told %d", (int)seed,
					 (int)late, (int)soon, way);
			ways += way;
		}
		plan_free(&p);
	}
	assert_true(filled > 50 && ways > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_way),
		cmocka_unit_test(holes),
		cmocka_unit_test(too_large),
		cmocka_unit_test(nobody_starts_later),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
