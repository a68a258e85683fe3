/*
 * test_room.c - what showbf offers: a job of exactly such a window starts at once, one with a CPU
 * or a second more does not.
 *
 * Each question gets a small site of its own, from a seed. SHUNT_SEED=n shows one, SHUNT_CASES=n
 * tries that many.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)
#define CASES 40

/* The state of the last job that was submitted. */
static char submit(struct site *f, int64_t cpus, int64_t walltime)
{
	char body[200], path[40];
	const char *p;

	snprintf(body, sizeof body, "{\"script\":\"true\",\"resources\":[\"nodes=%lld:ppn=1,walltime=%lld\"]}",
		 (long long)cpus, (long long)walltime);
	if (site_ask(f, getuid(), "POST", "/v1/jobs", body) != 201)
		return '?'; /* more than there is */
	p = strstr(strbuf_text(&f->a.body), "\"id\":\"");
	snprintf(path, sizeof path, "/v1/jobs/%d", p ? atoi(p + 6) : 0);
	server_turn(f->s);
	site_ask(f, getuid(), "GET", path, NULL);
	p = strstr(strbuf_text(&f->a.body), "\"state\":\"");
	return p ? p[9] : '?';
}

static void world(struct site **ret, uint64_t seed)
{
	static const char *const policy[] = {"easy", "conservative", "fcfs"};
	struct rng rng;

	rng_seed(&rng, seed);
	site_setup((void **)ret, "n[1-3]:cpus=4:mem=8gb", NOW);
	site_set(*ret, "policy", policy[rng_below(&rng, 3)]);
	if (rng_below(&rng, 2))
		assert_int_equal(site_ask(*ret, getuid(), "PATCH", "/v1/queues/batch",
					  "{\"changes\":[{\"op\":\"set\",\"name\":\"kill_delay\",\"value\":\"90\"}]}"),
				 200);
	for (int n = (int)rng_range(&rng, 1, 5); n > 0; n--) {
		int64_t cpus = rng_range(&rng, 1, 7);
		submit(*ret, cpus, rng_range(&rng, 1, 6) * 600);
	}
	if (rng_below(&rng, 3) == 0)
		site_ask(*ret, getuid(), "PATCH", "/v1/nodes/n2", "{\"drain_at\":1800003000}");
	server_turn((*ret)->s);
}

static json_t *windows_ask(struct site *f)
{
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/backfill", NULL), 200);

	json_t *answer = json_loads(strbuf_text(&f->a.body), 0, NULL);
	json_t *windows = json_incref(json_object_get(answer, "windows"));

	json_decref(answer);
	return windows;
}

/* The windows, which are the same after a restart, before anything has been decided. */
static json_t *windows_of(uint64_t seed)
{
	struct site *f;

	world(&f, seed);
	json_t *windows = windows_ask(f);
	site_reopen(f);
	json_t *again = windows_ask(f);
	assert_true(json_equal(windows, again));
	json_decref(again);
	site_teardown((void **)&f);
	return windows;
}

static bool starts(uint64_t seed, int64_t cpus, int64_t walltime)
{
	struct site *f;
	char state;

	world(&f, seed);
	state = submit(f, cpus, walltime);
	site_teardown((void **)&f);
	return state == 'R';
}

static int window_check(uint64_t seed, const json_t *w)
{
	int64_t cpus = json_integer_value(json_object_get(w, "cpus")),
		length = json_integer_value(json_object_get(w, "duration"));
	bool any = json_is_null(json_object_get(w, "duration"));
	int wrong = 0;

	length = any ? 1000000 : length;
	wrong += !starts(seed, cpus, length);
	wrong += starts(seed, cpus + 1, length);
	wrong += !any && starts(seed, cpus, length + 1);
	if (wrong)
		printf("# seed %llu: %lld CPUs for %lld s: %d wrong\n", (unsigned long long)seed, (long long)cpus,
		       (long long)length, wrong);
	return wrong;
}

static void exact(void **state)
{
	const char *seed = getenv("SHUNT_SEED"), *many = getenv("SHUNT_CASES");
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1,
		 last = seed ? first : (uint64_t)(many ? atoi(many) : CASES);
	int wrong = 0;
	size_t all = 0;

	for (uint64_t i = first; i <= last; i++) {
		json_t *windows = windows_of(i), *w;
		size_t k;
		json_array_foreach(windows, k, w) wrong += window_check(i, w);
		all += k;
		json_decref(windows);
	}
	printf("# %zu windows, %d wrong\n", all, wrong);
	assert_true(all > 0);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(exact)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
