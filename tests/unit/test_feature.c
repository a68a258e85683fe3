/*
 * test_feature.c - sets of features, also of more than a machine word has bits.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "core/cluster.h"
#include "plan/insert.h"

#define MANY 200

/* A cluster of MANY nodes: node i has the features f0 to f<i>. */
static struct cluster *staircase(void)
{
	struct cluster *c = cluster_create();
	struct res total = {.v = {[RES_CPU] = 4}};
	char name[16];
	struct err err;

	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "n%u", i);
		assert_int_equal(cluster_add_node(c, name, &total, &err), 0);
		for (uint32_t k = 0; k <= i; k++) {
			snprintf(name, sizeof name, "f%u", k);
			assert_int_equal(cluster_add_feature(c, i, name, &err), 0);
		}
	}
	return c;
}

static uint32_t request_of(struct cluster *c, const char *resources)
{
	struct arena *a = arena_create();
	struct reqtext text = {0};
	struct err err;
	uint32_t ret = 0;

	if (reqtext_parse(&text, resources, a, &err) < 0 || cluster_request(c, &text, &ret, &err) < 0)
		fail_msg("%s: %s", resources, err.text);
	arena_destroy(a);
	return ret;
}

/* A job that asks for feature k goes to one of the nodes from k on, and two features are asked
 * for at once. */
static void two_hundred_features(void **state)
{
	(void)state;
	struct cluster *c = staircase();
	struct plan *p = plan_create(c);
	struct manner m = {.alloc = ALLOC_FIRST};
	char text[64];

	plan_advance(p, 0);
	for (uint32_t k = 0; k < MANY; k++) {
		struct job *job = cluster_add_job(c);
		snprintf(text, sizeof text, "nodes=1:ppn=3:f%u:f%u", k / 2, k);
		job->request = request_of(c, text);
		assert_true(plan_insert(p, &m, job->id, 0, 10));
		assert_int_equal(plan_place(p, job->id, 0)->node, k);
	}
	plan_check(p);

	struct job *last = cluster_add_job(c);

	last->request = request_of(c, "nodes=1:ppn=3:f199");
	assert_false(plan_insert(p, &m, last->id, 0, 10));
	plan_destroy(p);
	cluster_destroy(c);
}

static void random_sets(void **state)
{
	(void)state;
	struct features f = {0};
	bool has[64][MANY] = {0};
	uint32_t set[64] = {0};
	struct rng r;

	rng_seed(&r, 7);
	for (int step = 0; step < 2000; step++) {
		uint64_t i = rng_below(&r, 64), k = rng_below(&r, MANY), j = rng_below(&r, 64);
		if (rng_below(&r, 50) == 0) {
			set[i] = features_union(&f, set[i], set[j]);
			for (int n = 0; n < MANY; n++)
				has[i][n] |= has[j][n];
		} else {
			set[i] = features_add(&f, set[i], (uint32_t)k);
			has[i][k] = true;
		}
	}
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 64; j++) {
			bool cover = true;
			for (int n = 0; n < MANY; n++)
				cover &= has[i][n] || !has[j][n];
			assert_int_equal(features_cover(&f, set[i], set[j]), cover);
			assert_int_equal(set[i] == set[j], memcmp(has[i], has[j], sizeof has[i]) == 0);
		}
	for (int i = 0; i < 64; i++) {
		uint32_t n = 0;
		for (uint32_t k = 0; k < MANY; k++) {
			assert_int_equal(features_has(&f, set[i], k), has[i][k]);
			if (has[i][k]) {
				assert_int_equal(features_next(&f, set[i], n), k);
				n = k + 1;
			}
		}
		assert_int_equal(features_next(&f, set[i], n), FEATURES_MAX);
	}
	features_fini(&f);
}

static void too_many(void **state)
{
	(void)state;
	struct cluster *c = cluster_create();
	struct res total = {.v = {[RES_CPU] = 4}};
	char name[16];
	struct err err = {.text = ""};

	assert_int_equal(cluster_add_node(c, "n", &total, &err), 0);
	for (int i = 0; i < FEATURES_MAX; i++) {
		snprintf(name, sizeof name, "f%d", i);
		assert_int_equal(cluster_add_feature(c, 0, name, &err), 0);
	}
	assert_int_equal(cluster_add_feature(c, 0, "f7", &err), 0);
	assert_int_equal(cluster_add_feature(c, 0, "more", &err), -ENOSPC);
	assert_string_equal(err.text, "feature more: a cluster can have at most 4096 different features");
	assert_int_equal(c->feature_names.n, FEATURES_MAX); /* and it stays unknown */
	cluster_destroy(c);
}

/* What is interned for a trial goes with it, unless another trial holds it or it is kept. */
static void trials(void **state)
{
	(void)state;
	struct cluster *c = staircase();
	struct cluster_trial a = {0}, b = {0};
	size_t shapes = c->shapes.n, requests = c->requests.n, sets = c->features.sets.n;
	uint32_t r;

	for (int kept = 0; kept < 2; kept++) {
		c->trial = &a;
		c->features.trial = &a.features;
		r = request_of(c, "nodes=1:ppn=3:f3:f5");
		assert_true(a.shapes.n && a.requests.n && a.features.n);
		c->trial = &b;
		c->features.trial = &b.features;
		assert_int_equal(request_of(c, "nodes=1:ppn=3:f3:f5"), r);
		c->trial = NULL;
		c->features.trial = NULL;
		cluster_trial_end(c, &a, false);
		assert_int_equal(a.shapes.n + a.requests.n + a.features.n, 0);
		assert_int_equal(c->requests.v[r].nfrags, 1);
		cluster_trial_end(c, &b, kept);
		assert_int_equal(c->trials, 1);
		assert_int_equal(c->shapes.n - shapes, 1);
		assert_int_equal(c->requests.n - requests, 1);
		assert_int_equal(c->features.sets.n - sets, 2);
		assert_int_equal(c->spare_shapes.n, !kept);
		assert_int_equal(c->spare_requests.n, !kept);
		assert_int_equal(c->features.spare.n, kept ? 0 : 2);
	}
	assert_int_equal(request_of(c, "nodes=1:ppn=3:f3:f5"), r);
	cluster_destroy(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_hundred_features),
		cmocka_unit_test(random_sets),
		cmocka_unit_test(too_many),
		cmocka_unit_test(trials),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
