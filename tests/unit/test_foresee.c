/*
 * test_foresee.c - what is said of a job that a forecast of a long queue did not get to, and of
 * jobs that come in the second of a forecast.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "server/job/jobs.h"
#include "server/life/wait/foresee.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)

static int setup(void **state)
{
	return site_setup(state, "n1:cpus=1", NOW);
}

static void says(struct site *f, const char *expected)
{
	struct strbuf why = {0};

	assert_true(foresee_not(f->s, (uint32_t)f->s->jobs->entries.n - 1, &why));
	assert_string_equal(strbuf_text(&why), expected);
	strbuf_fini(&why);
}

/* It is not said that no node could hold it. */
static void behind_what_was_foreseen(void **state)
{
	struct site *f = *state;
	struct starts *whole = &f->s->outlook->whole;

	for (int i = 0; i < 3; i++)
		assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs", "{\"script\":\"true\"}"), 201);
	server_turn(f->s);
	map_set(&whole->at, 2, NOW + 3600);
	whole->made = NOW;
	whole->partial = true;
	says(f, "very many jobs are ahead of it; the forecast reaches only the next 1 starts");
	whole->rough = NOW + 3601;
	assert_false(foresee_rough(f->s, 2));
	whole->rough = NOW + 3600;
	assert_true(foresee_rough(f->s, 2));
	assert_false(foresee_rough(f->s, 3)); /* it has no start at all */
	bare_clock((NOW + FORECAST_OLDEST + 1) * 1000000);
	server_turn(f->s);
	says(f, "it has not been computed yet");
}

/* Several jobs of one second that wait: each has an expected start at once. */
static void submitted_in_one_second(void **state)
{
	struct site *f = *state;
	char path[64], start[64];

	for (int i = 1; i <= 4; i++) {
		assert_int_equal(
			site_ask(f, getuid(), "POST", "/v1/jobs",
				 "{\"script\":\"true\",\"resources\":[\"nodes=n1,walltime=100\"],\"workdir\":\"/\"}"),
			201);
		snprintf(path, sizeof path, "/v1/jobs/%d", i);
		snprintf(start, sizeof start, "\"expected_start\":%lld,", (long long)(NOW + (i - 1) * 100));
		assert_int_equal(site_ask(f, getuid(), "GET", path, NULL), 200);
		if (i > 1 && !strstr(f->a.body.text, start))
			fail_msg("%s is missing: %s", start, f->a.body.text);
	}
}

#define MANY 1200 /* more than a forecast beside requests is made for */

/* Many jobs one after another on one CPU: a process foresees them, and says it in the order in
 * which they start. */
static void beside_the_server(void **state)
{
	struct site *f = *state;
	struct strbuf body = {0};
	const struct starts *whole = &f->s->outlook->whole;
	char path[64], start[64];

	site_waits(f);
	strbuf_puts(&body, "{\"jobs\":[");
	for (int i = 0; i <= MANY; i++)
		strbuf_printf(&body,
			      "%s{\"script\":\"true\",\"resources\":[\"nodes=n1,walltime=100\"],\"workdir\":\"/\"}",
			      i ? "," : "");
	strbuf_puts(&body, "]}");
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs", body.text), 201);
	strbuf_fini(&body);
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/2", NULL), 200);
	for (int i = 0; i < 1000 && !whole->made; i++)
		site_pause(f);
	assert_int_equal(whole->made, NOW);
	assert_false(whole->partial);
	for (int i = 2; i <= MANY + 1; i++) {
		uint64_t at;
		assert_true(map_get(&whole->at, (uint64_t)i, &at));
		assert_int_equal(at, NOW + (i - 1) * 100);
		assert_false(foresee_rough(f->s, (uint32_t)i));
	}
	for (int i = 2; i <= MANY + 1; i += 399) {
		snprintf(path, sizeof path, "/v1/jobs/%d", i);
		snprintf(start, sizeof start, "\"expected_start\":%lld,", (long long)(NOW + (i - 1) * 100));
		assert_int_equal(site_ask(f, getuid(), "GET", path, NULL), 200);
		if (!strstr(f->a.body.text, start))
			fail_msg("%s is missing: %s", start, f->a.body.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(submitted_in_one_second, setup, site_teardown),
		cmocka_unit_test_setup_teardown(beside_the_server, setup, site_teardown),
		cmocka_unit_test_setup_teardown(behind_what_was_foreseen, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
