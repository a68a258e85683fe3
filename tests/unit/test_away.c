/*
 * test_away.c - jobs in queues of other sites (server/life/peers/away.h): what the courier has
 * to do, and what changes of the cluster here mean for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "support/bare.h"
#include "support/site.h"

#define EPOCH INT64_C(1800000000)

static int ask(struct site *f, const char *method, const char *path, const char *body)
{
	int status = site_ask(f, getuid(), method, path, body);

	server_turn(f->s);
	return status;
}

static const char site_body[] =
	"{\"servers\":\"x.example.org\",\"token\":\"s1.secret.0123456789abcdef0123456789abcdef\"}";

static int setup(void **state)
{
	if (site_setup(state, "n[1-2]:cpus=4:mem=8gb", EPOCH) != 0)
		return -1;
	assert_int_equal(ask(*state, "PUT", "/v1/sites/east", site_body), 201);
	assert_int_equal(ask(*state, "PUT", "/v1/sites/west", site_body), 201);
	return 0;
}

static void submit(struct site *f, const char *queue, const char *resources)
{
	char body[300];

	snprintf(body, sizeof body,
		 "{\"script\":\"true\",\"hold\":\"u\",\"queue\":\"%s\",\"resources\":[\"%s\",\"walltime=60\"]}", queue,
		 resources);
	assert_int_equal(ask(f, "POST", "/v1/jobs", body), 201);
}

static void move(struct site *f, const char *queue)
{
	char body[100];

	snprintf(body, sizeof body, "{\"ids\":[\"1\"],\"queue\":\"%s\"}", queue);
	assert_int_equal(ask(f, "POST", "/v1/jobs/move", body), 200);
	assert_null(strstr(f->a.body.text, "error"));
}

/* What an answer says, now and after a restart. */
static void says(struct site *f, const char *path, const char *text)
{
	for (int i = 0; i < 2; i++, site_reopen(f)) {
		assert_int_equal(ask(f, "GET", path, NULL), 200);
		if (!strstr(f->a.body.text, text))
			fail_msg("%s is not in %s", text, f->a.body.text);
	}
}

/* Work of the courier: one row of one job, as often as that job came here. */
static void offered_once(struct site *f, int number)
{
	char body[100], text[32];

	snprintf(body, sizeof body, "{\"ids\":[\"%d\"],\"holds\":\"u\"}", number);
	snprintf(text, sizeof text, "\"name\":\"%d\",", number);
	assert_int_equal(ask(f, "POST", "/v1/jobs/release", body), 200);
	assert_int_equal(ask(f, "POST", "/v1/courier", "{}"), 200);
	const char *row = strstr(f->a.body.text, text);
	assert_non_null(row);
	assert_null(strstr(row + 1, text));
}

/* One that was never in a queue here has no queue to return to. */
static void from_site_to_site(void **state)
{
	struct site *f = *state;

	submit(f, "long@east", "ncpus=1");
	move(f, "short@west");
	says(f, "/v1/jobs/1", "\"queue\":\"short@west\"");
	says(f, "/v1/sites", "\"name\":\"east\",\"servers\":\"x.example.org\",\"jobs\":0");
	offered_once(f, 1);
}

static void there_and_back(void **state)
{
	struct site *f = *state;

	submit(f, "long@west", "ncpus=1"); /* which stays: those behind it are not forgotten */
	submit(f, "long@east", "ncpus=1");
	assert_int_equal(ask(f, "POST", "/v1/jobs/move", "{\"ids\":[\"2\"],\"queue\":\"batch\"}"), 200);
	assert_int_equal(ask(f, "POST", "/v1/jobs/move", "{\"ids\":[\"2\"],\"queue\":\"long@east\"}"), 200);
	says(f, "/v1/sites", "\"name\":\"east\",\"servers\":\"x.example.org\",\"jobs\":1");
	offered_once(f, 2);
}

/* A partition that goes, or whatever else changes here, is nothing to a job that waits to be
 * handed over. */
static void fits_elsewhere(void **state)
{
	struct site *f = *state;

	assert_int_equal(ask(f, "PUT", "/v1/partitions/A", "{}"), 201);
	assert_int_equal(ask(f, "PATCH", "/v1/partitions/A",
			     "{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"n1\"}]}"),
			 200);
	submit(f, "batch", "ncpus=2,partition=A");
	move(f, "@east");
	assert_int_equal(ask(f, "DELETE", "/v1/partitions/A", "{}"), 200);
	says(f, "/v1/jobs/1", "\"blocks\":\"user,queue\"");
	offered_once(f, 1);
}

/* What only another site has is accepted for that one; here it would wait for ever, no
 * matter who moves it. */
static void stays_elsewhere(void **state)
{
	struct site *f = *state;

	submit(f, "long@east", "nodes=1:ppn=64");
	assert_int_equal(ask(f, "POST", "/v1/jobs/move", "{\"ids\":[\"1\"],\"queue\":\"batch\"}"), 200);
	assert_non_null(strstr(f->a.body.text, "\"code\":\"refused\""));
	says(f, "/v1/jobs/1", "\"queue\":\"long@east\"");
}

static void set(struct site *f, const char *path, const char *name, const char *value)
{
	char body[200];

	snprintf(body, sizeof body, "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}", name, value);
	assert_int_equal(ask(f, "PATCH", path, body), 200);
}

/* A job in a routing queue that only another site could hold is blocked here as soon as no way
 * leads there, and only as long. */
static void way_there_changes(void **state)
{
	struct site *f = *state;

	for (int i = 0; i < 2; i++) {
		const char *path = i ? "/v1/queues/first" : "/v1/queues/entry";
		assert_int_equal(ask(f, "PUT", path, "{}"), 201);
		set(f, path, "queue_type", "Route");
		set(f, path, "route_destinations", i ? "entry" : "long@east");
		set(f, path, "enabled", "True");
	}
	submit(f, "first", "nodes=1:ppn=64"); /* neither queue is started: it stays there */
	says(f, "/v1/jobs/1", "\"blocks\":\"user,queue\"");
	set(f, "/v1/queues/entry", "route_destinations", "batch");
	says(f, "/v1/jobs/1", "\"blocks\":\"user,queue,misfit\"");
	set(f, "/v1/queues/entry", "route_destinations", "long@east");
	says(f, "/v1/jobs/1", "\"blocks\":\"user,queue\"");
	assert_int_equal(ask(f, "DELETE", "/v1/sites/east", "{}"), 200);
	says(f, "/v1/jobs/1", "\"blocks\":\"user,queue,misfit\"");
	assert_int_equal(ask(f, "PUT", "/v1/sites/east", site_body), 201);
	says(f, "/v1/jobs/1", "\"blocks\":\"user,queue\"");
	assert_int_equal(ask(f, "DELETE", "/v1/queues/entry", "{}"), 200);
	says(f, "/v1/jobs/1", "\"blocks\":\"user,queue,misfit\"");
}

/* Lets a job run at another site, which reports this of its end. */
static void end_there(struct site *f, const char *job)
{
	char body[1000];

	submit(f, "long@east", "ncpus=1");
	offered_once(f, 1);
	assert_int_equal(ask(f, "POST", "/v1/courier/1", "{\"try\":1,\"result\":\"accepted\",\"there\":\"7.east\"}"),
			 200);
	snprintf(body, sizeof body, "{\"try\":1,\"result\":\"ended\",\"job\":%s}", job);
	assert_int_equal(ask(f, "POST", "/v1/courier/1", body), 200);
}

/* A job that ended at another site has ended here in the same way. */
static void ended_there(void **state)
{
	struct site *f = *state;

	end_there(f, "{\"exit_status\":271,\"cause\":\"walltime\","
		     "\"used\":{\"cput\":5,\"memory\":6,\"walltime\":7}}");
	says(f, "/v1/jobs/1", "\"exit_status\":271,\"cause\":\"walltime\"");
	says(f, "/v1/jobs/1", "\"used_walltime\":7,\"used_cput\":5");
}

/* A site that says of a job's end what no job can have. */
static void ended_absurdly(void **state)
{
	struct site *f = *state;

	end_there(f, "{\"exit_status\":9223372036854775807,"
		     "\"started\":-9223372036854775808,\"ended\":9223372036854775807,\"used\":{"
		     "\"cput\":9223372036854775807,\"memory\":-1,\"walltime\":9223372036854775807}}");
	says(f, "/v1/jobs/1", "ran at site east as job 7.east");
}

/* Asks what became of a key, as another site does. */
static void withdraw_says(struct site *f, const char *token, const char *text)
{
	struct bare_answer a = {0};

	assert_int_equal(
		bare_visit(f->s, token, "nobody", "/v1/jobs/withdraw", NULL, "{\"key\":\"site:north:1:1\"}", &a), 200);
	assert_string_equal(strbuf_text(&a.body), text);
	strbuf_fini(&a.body);
}

/* A job of another site that is known no longer has ended: its key alone would make it look
 * accepted for ever. */
static void forgotten_here(void **state)
{
	struct site *f = *state;
	struct token_record t = {.kind = TOKEN_SITE, .expires = EPOCH + 100 * 86400};
	struct authority *a = &f->s->realm->authority;
	struct bare_answer answer = {0};
	char token[TOKEN_SIZE];

	memset(a->fingerprint, 'a', sizeof a->fingerprint - 1);
	a->secret = mem_strdup("secret");
	t.user = mem_strdup("root");
	t.name = mem_strdup("north");
	token_add(f->s, &t, token);
	assert_int_equal(bare_visit(f->s, token, "nobody", "/v1/jobs", "site:north:1:1",
				    "{\"script\":\"true\",\"hold\":\"u\"}", &answer),
			 201);
	strbuf_fini(&answer.body);
	withdraw_says(f, token, "{\"id\":\"1.bare\"}");
	assert_int_equal(ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"]}"), 200);
	withdraw_says(f, token, "{\"id\":\"1.bare\"}");
	bare_clock((EPOCH + 8 * 86400) * 1000000);
	for (int i = 0; i < 5; i++)
		server_turn(f->s);
	withdraw_says(f, token, "{\"id\":\"1.bare\",\"forgotten\":true}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_site_to_site, setup, site_teardown),
		cmocka_unit_test_setup_teardown(there_and_back, setup, site_teardown),
		cmocka_unit_test_setup_teardown(fits_elsewhere, setup, site_teardown),
		cmocka_unit_test_setup_teardown(stays_elsewhere, setup, site_teardown),
		cmocka_unit_test_setup_teardown(way_there_changes, setup, site_teardown),
		cmocka_unit_test_setup_teardown(ended_there, setup, site_teardown),
		cmocka_unit_test_setup_teardown(ended_absurdly, setup, site_teardown),
		cmocka_unit_test_setup_teardown(forgotten_here, setup, site_teardown),
	};

	return cmocka_run_group_tests_name("away", tests, NULL, NULL);
}
