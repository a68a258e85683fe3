/*
 * test_sharing.c - fairshare in the whole server: use that the ledger has and that running jobs
 * add, over midnight and restarts, and who starts next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/order.h"
#include "server/base/clock.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NODES "n1:cpus=4:mem=8gb"
#define DAY INT64_C(86400)
#define NOW (INT64_C(20833) * DAY + 23 * 3600) /* an hour before midnight, UTC */
#define A 65534
#define B 1

static int setup(void **state)
{
	setenv("TZ", "UTC", 1);
	return site_setup(state, NODES, NOW);
}

static void submit(struct site *f, uid_t uid, const char *resources)
{
	char body[200];

	snprintf(body, sizeof body, "{\"script\":\"true\",\"resources\":[\"%s\"]}", resources);
	if (site_ask(f, uid, "POST", "/v1/jobs", body) != 201)
		fail_msg("%s: %s", body, strbuf_text(&f->a.body));
}

static void at(struct site *f, int64_t seconds)
{
	bare_clock((NOW + seconds) * 1000000);
	server_turn(f->s);
}

/* The only attempt begins. */
static void begins(struct site *f)
{
	const struct bare_attempt *all;

	assert_int_equal(bare_attempts(&all), 1);
	bare_started(f->s, all[0].tag);
	server_turn(f->s);
}

static void ends(struct site *f, int64_t ran_ms)
{
	const struct bare_attempt *all;
	char tag[64];

	assert_int_equal(bare_attempts(&all), 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_forget(tag);
	dispatch_engine.attempt_ended(f->s, &(struct result){.tag = tag,
							     .how = RESULT_EXITED,
							     .started_us = f->s->clock->now_us - ran_ms * 1000,
							     .ended_us = f->s->clock->now_us,
							     .ran_ms = ran_ms,
							     .session = 1});
	server_turn(f->s);
	bare_clock(f->s->clock->now_us + 1000000); /* a turn may leave its commit to the next */
	server_turn(f->s);
}

/* What a user has used, in CPU hours; -1: nothing. */
static double used(struct site *f, const char *user)
{
	char name[80], *p;

	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/fairshare", NULL), 200);
	if (!strstr(f->a.body.text, "\"complete\":true"))
		fail_msg("%s", f->a.body.text);
	snprintf(name, sizeof name, "\"name\":\"%s\"", user);
	p = strstr(f->a.body.text, name);
	return p ? atof(strstr(p, "\"cpu_hours\":") + 12) : -1;
}

/* Four CPUs for two hours over midnight: one window each, the older counts half. The same while
 * it runs, when it has ended, and after restarts. */
static void over_midnight(void **state)
{
	struct site *f = *state;

	assert_int_equal(site_set(f, "fairshare_decay", "50"), 200);
	submit(f, A, "ncpus=4,walltime=10:00:00");
	begins(f);
	assert_float_equal(used(f, "nobody"), -1, 1e-9);
	at(f, 1800);
	assert_float_equal(used(f, "nobody"), 2, 1e-6);
	at(f, 7200);
	assert_float_equal(used(f, "nobody"), 4 * 0.5 + 4, 1e-6);
	site_reopen(f);
	server_turn(f->s);
	assert_float_equal(used(f, "nobody"), 4 * 0.5 + 4, 1e-6);
	ends(f, 7200000);
	assert_float_equal(used(f, "nobody"), 4 * 0.5 + 4, 1e-6);
	site_reopen(f);
	for (int i = 0; i < 50; i++) /* a few days a turn */
		server_turn(f->s);
	assert_float_equal(used(f, "nobody"), 4 * 0.5 + 4, 1e-6);
	at(f, 7200 + 2 * DAY);
	assert_float_equal(used(f, "nobody"), (4 * 0.5 + 4) / 4, 1e-6);
	/* longer windows: read again, since days may have been forgotten */
	assert_int_equal(site_set(f, "fairshare_window", "10"), 200);
	for (int i = 0; i < 50; i++)
		server_turn(f->s);
	assert_float_equal(used(f, "nobody"), 8, 1e-6);
	/* more windows than there were days since the first job anywhere */
	assert_int_equal(site_set(f, "fairshare_window", "366"), 200);
	assert_int_equal(site_set(f, "fairshare_depth", "3660"), 200);
	for (int i = 0; i < 50; i++)
		server_turn(f->s);
	assert_float_equal(used(f, "nobody"), 8, 1e-6);
	assert_int_equal(site_set(f, "fairshare_window", "10"), 200);
	assert_int_equal(site_set(f, "fairshare_depth", "30"), 200);
	for (int i = 0; i < 50; i++)
		server_turn(f->s);
	at(f, 7200 + 400 * DAY);
	assert_float_equal(used(f, "nobody"), -1, 1e-9);
}

/* Fairshare alone orders jobs, and a job of A has all CPUs. */
static void first_runs(struct site *f)
{
	assert_int_equal(site_set(f, "priority_order", "sum"), 200);
	assert_int_equal(site_set(f, "priority_weight.queue_time", "0"), 200);
	assert_int_equal(site_set(f, "priority_weight.fairshare", "1"), 200);
	submit(f, A, "ncpus=4,walltime=1:00:00");
	begins(f);
}

/* Who has used less starts next, though submitted later; also after a restart. */
static void least_use_first(void **state)
{
	struct site *f = *state;

	first_runs(f);
	submit(f, A, "ncpus=4,walltime=1:00:00");
	submit(f, B, "ncpus=4,walltime=1:00:00");
	at(f, 600);
	site_reopen(f);
	server_turn(f->s);
	ends(f, 600000);
	at(f, 620);
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/3", NULL), 200);
	assert_non_null(strstr(f->a.body.text, "\"state\":\"R\""));
	/* B runs for longer than A did: then A's turn has come */
	begins(f);
	submit(f, B, "ncpus=4,walltime=1:00:00");
	at(f, 620 + 1200);
	ends(f, 1200000);
	at(f, 620 + 1220);
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/2", NULL), 200);
	assert_non_null(strstr(f->a.body.text, "\"state\":\"R\""));
}

/* One of two users is to get three times as much. The target holds at once, and after a restart. */
static void targets(void **state)
{
	struct site *f = *state;

	first_runs(f);
	submit(f, B, "ncpus=4,walltime=1:00:00");
	at(f, 600);
	ends(f, 600000);
	begins(f); /* B's */
	submit(f, A, "ncpus=4,walltime=1:00:00");
	submit(f, B, "ncpus=4,walltime=1:00:00");
	at(f, 601 + 400); /* B has used less; but it is to get only a quarter */
	assert_int_equal(site_ask(f, getuid(), "PATCH", "/v1/users/nobody",
				  "{\"changes\":[{\"op\":\"set\",\"name\":\"fairshare\",\"value\":\"75\"}]}"),
			 200);
	site_reopen(f);
	server_turn(f->s);
	assert_true(used(f, "nobody") > used(f, "daemon"));
	assert_non_null(strstr(f->a.body.text, "\"target\":75,\"own\":true"));
	assert_non_null(strstr(f->a.body.text, "\"target\":25,\"own\":false"));
	ends(f, 400000);
	at(f, 601 + 420);
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/3", NULL), 200);
	assert_non_null(strstr(f->a.body.text, "\"state\":\"R\""));
}

/* Users who may not see others' jobs see no other users. */
static void only_oneself(void **state)
{
	struct site *f = *state;

	submit(f, A, "ncpus=4,walltime=1:00:00");
	begins(f);
	at(f, 600);
	assert_int_equal(site_set(f, "query_other_jobs", "False"), 200);
	assert_true(used(f, "nobody") > 0);
	assert_int_equal(site_ask(f, B, "GET", "/v1/fairshare", NULL), 200);
	assert_null(strstr(f->a.body.text, "nobody"));
	assert_int_equal(site_ask(f, A, "GET", "/v1/fairshare", NULL), 200);
	assert_non_null(strstr(f->a.body.text, "nobody"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(over_midnight, setup, site_teardown),
		cmocka_unit_test_setup_teardown(least_use_first, setup, site_teardown),
		cmocka_unit_test_setup_teardown(targets, setup, site_teardown),
		cmocka_unit_test_setup_teardown(only_oneself, setup, site_teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
