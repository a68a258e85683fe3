/*
 * test_foresee.c - what is said of a job that a forecast of a long queue did not get to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(behind_what_was_foreseen, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
