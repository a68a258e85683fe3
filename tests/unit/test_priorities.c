/*
 * test_priorities.c - priorities in the whole server: which waiting job starts next, what is shown
 * of it, and after a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/turn.h"
#include "server/job/jobs.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NODES "n1:cpus=4:mem=8gb"
#define USER 65534
#define NOW INT64_C(1800000000)

static int setup(void **state)
{
	return site_setup(state, NODES, NOW);
}

static void submit(struct site *f, const char *resources)
{
	char body[200];

	snprintf(body, sizeof body, "{\"script\":\"true\",\"resources\":[\"%s\"]}", resources);
	if (site_ask(f, USER, "POST", "/v1/jobs", body) != 201)
		fail_msg("%s: %s", body, strbuf_text(&f->a.body));
}

static void says(struct site *f, const char *text)
{
	if (!strstr(strbuf_text(&f->a.body), text))
		fail_msg("%s is not in %s", text, strbuf_text(&f->a.body));
}

/* The ids that the list has, in its order: "3 2 4". */
static void listed(struct site *f, const char *path, const char *expected)
{
	char got[200] = "";

	assert_int_equal(site_ask(f, getuid(), "GET", path, NULL), 200);
	for (const char *p = f->a.body.text; (p = strstr(p, "\"id\":\"")); p++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", *got ? " " : "", atoi(p + 6));
	assert_string_equal(got, expected);
}

/* They wait: nothing is started yet. */
static void three_jobs(struct site *f)
{
	assert_int_equal(site_set(f, "scheduling", "False"), 200);
	submit(f, "ncpus=4,walltime=3:00:00");
	submit(f, "ncpus=3,walltime=1:00:00");
	submit(f, "ncpus=4,walltime=2:00:00");
}

static void starts(struct site *f, const char *path)
{
	assert_int_equal(site_set(f, "scheduling", "True"), 200);
	server_turn(f->s);
	assert_int_equal(site_ask(f, getuid(), "GET", path, NULL), 200);
	says(f, "\"state\":\"R\"");
}

static void highest_first(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_set(f, "priority_order", "sum"), 200);
	assert_int_equal(site_set(f, "priority_weight.walltime", "-1000"), 200);
	three_jobs(f);
	listed(f, "/v1/priority", "2 3 1");
	says(f, "\"order\":\"sum\"");
	says(f, "\"waiting\":3");
	assert_int_equal(site_set(f, "priority_weight.cpus", "2000"),
			 200); /* 4 CPUs, 2 hours: 6000; 3 and 1, 4 and 3: 5000 */
	listed(f, "/v1/priority", "3 1 2");
	starts(f, "/v1/jobs/3");
}

static void after_a_restart(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_set(f, "priority_order", "product"), 200);
	assert_int_equal(site_set(f, "priority_weight.walltime", "-1"), 200);
	assert_int_equal(site_set(f, "priority_weight.queue_time", "0"), 200);
	three_jobs(f);
	site_reopen(f);
	listed(f, "/v1/priority", "2 3 1");
	says(f, "\"order\":\"product\"");
	starts(f, "/v1/jobs/2");
}

static void party_set(struct site *f, const char *path, const char *value)
{
	char body[200];

	snprintf(body, sizeof body, "{\"changes\":[{\"op\":\"set\",\"name\":\"priority\",\"value\":\"%s\"}]}", value);
	if (site_ask(f, getuid(), "PATCH", path, body) != 200)
		fail_msg("%s: %s", path, strbuf_text(&f->a.body));
}

/* Jobs of a user, an account or a QoS with a priority come first, at once; and after a restart. */
static void parties(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_set(f, "scheduling", "False"), 200);
	assert_int_equal(site_set(f, "priority_order", "sum"), 200);
	assert_int_equal(site_set(f, "priority_weight.queue_time", "0"), 200);
	for (const char *const *w = (const char *const[]){"user", "account", "qos", NULL}; *w; w++) {
		char name[40];
		snprintf(name, sizeof name, "priority_weight.%s", *w);
		assert_int_equal(site_set(f, name, "10"), 200);
	}
	assert_int_equal(site_ask(f, getuid(), "PUT", "/v1/accounts/lab", NULL), 201);
	assert_int_equal(site_ask(f, getuid(), "PUT", "/v1/qos/high", NULL), 201);
	submit(f, "ncpus=1,walltime=1:00:00");
	assert_int_equal(site_ask(f, 1, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"ncpus=1\"]}"), 201);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs",
				  "{\"script\":\"true\",\"resources\":[\"ncpus=1\"],\"account\":\"lab\"}"),
			 201);
	assert_int_equal(
		site_ask(f, USER, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"ncpus=1,qos=high\"]}"),
		201);
	listed(f, "/v1/priority", "1 2 3 4");
	party_set(f, "/v1/users/daemon", "1");
	party_set(f, "/v1/qos/high", "5");
	party_set(f, "/v1/accounts/lab", "7");
	listed(f, "/v1/priority", "3 4 2 1");
	party_set(f, "/v1/qos/default", "-3"); /* nothing is set for jobs without QoS */
	listed(f, "/v1/priority", "3 4 2 1");
	party_set(f, "/v1/users/default", "2"); /* for all that have none of their own */
	listed(f, "/v1/priority", "3 4 1 2");
	says(f, "\"name\":\"user\",\"value\":2,\"part\":20");
	site_reopen(f);
	listed(f, "/v1/priority", "3 4 1 2");
}

/* Another order takes hold at once. */
static void changed_while_they_wait(void **state)
{
	struct site *f = *state;

	three_jobs(f);
	assert_int_equal(site_set(f, "priority_order", "sum"), 200);
	assert_int_equal(site_set(f, "priority_weight.walltime", "-1000"), 200);
	starts(f, "/v1/jobs/2");
}

static void tried_before_it_is_set(void **state)
{
	struct site *f = *state;

	three_jobs(f);
	listed(f, "/v1/priority", "1 2 3"); /* by queue time: all the same, the first one first */
	says(f, "\"order\":\"policy\"");
	listed(f, "/v1/priority?try=walltime=-1000,queue_time=0", "1 2 3");
	says(f, "\"place\":1,\"priority\":0,\"tried\":3");
	listed(f, "/v1/priority?limit=1", "1");
	says(f, "\"waiting\":3");
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/priority?try=cpu=1", NULL), 400);
	says(f, "unknown factor");
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/priority?try=cpus", NULL), 400);
	says(f, "is not FACTOR=WEIGHT");
}

static void impossible_settings_are_refused(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_set(f, "policy", "artaras"), 200);
	assert_int_equal(site_set(f, "priority_order", "sum"), 400);
	says(f, "knows no priorities");
	assert_int_equal(site_set(f, "policy", "easy"), 200);
	assert_int_equal(site_set(f, "priority_order", "product"), 200);
	assert_int_equal(site_set(f, "policy", "artaras"), 400);
	assert_int_equal(site_set(f, "priority_low.cpus", "5000"), 400);
	says(f, "must be below");
}

static void others_are_not_shown(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_set(f, "query_other_jobs", "False"), 200);
	three_jobs(f);
	assert_int_equal(site_ask(f, 1, "GET", "/v1/priority", NULL), 200);
	assert_null(strstr(f->a.body.text, "\"id\""));
	listed(f, "/v1/priority", "1 2 3"); /* but to managers */
}

static void turn_at(struct site *f, int64_t second)
{
	f->now = NOW + second;
	bare_clock(f->now * 1000000);
	server_turn(f->s);
}

/* Two wait for the same limit since different instants; the one that came first is the first
 * when the limit allows one more. */
static void behind_a_limit(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_set(f, "priority_order", "sum"), 200);
	assert_int_equal(site_set(f, "priority_weight.expansion", "10"), 200);
	assert_int_equal(site_set(f, "max_user_run", "1"), 200);
	submit(f, "ncpus=1,walltime=1:00:00");
	turn_at(f, 0);
	submit(f, "ncpus=1,walltime=1:00:00");
	turn_at(f, 1);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs",
				  "{\"script\":\"true\",\"hold\":\"u\",\"resources\":[\"ncpus=1,walltime=1:00:00\"]}"),
			 201);
	turn_at(f, 100);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs/release", "{\"ids\":[\"3\"],\"holds\":\"u\"}"), 200);
	turn_at(f, 101);
	listed(f, "/v1/priority", "2 3");
	assert_int_equal(site_set(f, "max_user_run", "2"), 200);
	turn_at(f, 102);
	listed(f, "/v1/priority", "3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(highest_first, setup, site_teardown),
		cmocka_unit_test_setup_teardown(after_a_restart, setup, site_teardown),
		cmocka_unit_test_setup_teardown(parties, setup, site_teardown),
		cmocka_unit_test_setup_teardown(changed_while_they_wait, setup, site_teardown),
		cmocka_unit_test_setup_teardown(tried_before_it_is_set, setup, site_teardown),
		cmocka_unit_test_setup_teardown(behind_a_limit, setup, site_teardown),
		cmocka_unit_test_setup_teardown(impossible_settings_are_refused, setup, site_teardown),
		cmocka_unit_test_setup_teardown(others_are_not_shown, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
