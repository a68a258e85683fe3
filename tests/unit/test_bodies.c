/*
 * test_bodies.c - bodies of jobs of up to 2 MiB each: what turns read of them in lists, mail and at
 * ends is bounded, and is right.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/order.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/book/books.h"
#include "server/book/ended.h"
#include "server/book/mail.h"
#include "server/job/jobs.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)
#define LARGE (1 << 20) /* bytes of an environment */
#define JOBS 6

static int setup(void **state)
{
	return site_setup(state, "n1:cpus=4", NOW);
}

static void ask(struct site *f, const char *method, const char *path, const char *body, int status)
{
	int got = site_ask(f, getuid(), method, path, body);

	if (got != status)
		fail_msg("%s %s: %d %.300s", method, path, got, strbuf_text(&f->a.body));
}

/* Submits a job with a large environment of its own; `more`: members of the submission. */
static void submit(struct site *f, int i, const char *more)
{
	struct strbuf body = {0};

	strbuf_printf(&body,
		      "{\"script\":\"true\",%s,\"environment\":[\"B=\\\",\\\"retries\\\":\\\"9\\\",[{\",\"A%d=", more,
		      i);
	memset(strbuf_room(&body, LARGE), 'x', LARGE);
	body.n += LARGE;
	strbuf_puts(&body, "\"]}");
	ask(f, "POST", "/v1/jobs", body.text, 201);
	strbuf_fini(&body);
}

static uint64_t bytes_read(const struct site *f)
{
	return f->s->jobs->last_body.bytes;
}

/* ---- lists ---- */

static void lists(void **state)
{
	struct site *f = *state;

	for (int i = 0; i < JOBS; i++)
		submit(f, i, "\"hold\":\"u\",\"workdir\":\"/tmp\",\"submit_args\":\"-h\"");
	ask(f, "GET", "/v1/jobs?fields=id,workdir,submit_args", NULL, 200);
	assert_in_range(bare_fills, JOBS / 2, 2 * JOBS); /* each reads 2 MiB at most, and ends there */

	json_t *whole = json_loads(f->a.body.text, 0, NULL), *all = json_object_get(whole, "jobs"), *job;
	size_t i;

	assert_int_equal(json_array_size(all), JOBS);
	json_array_foreach(all, i, job)
	{
		assert_string_equal(json_string_value(json_object_get(job, "workdir")), "/tmp");
		assert_string_equal(json_string_value(json_object_get(job, "submit_args")), "-h");
	}
	json_decref(whole);
}

/* The body of an array is read once for all of its elements. */
static void elements(void **state)
{
	struct site *f = *state;

	submit(f, 0, "\"hold\":\"u\",\"array\":\"0-99\"");
	submit(f, 1, "\"hold\":\"u\""); /* the last body that was written is not read */
	ask(f, "GET", "/v1/jobs?arrays=expand&fields=id,workdir", NULL, 200);
	assert_in_range(bytes_read(f), 1, 3 * LARGE);
}

/* ---- mail ---- */

static void say(void *context, const char *text)
{
}

static void mails(void **state)
{
	struct site *f = *state;
	uint64_t begin, before, most = 0;
	struct err err;

	conf_set(f->s->conf, "mail.program", "/bin/true", &err);
	f->s->books->mailer = mailer_start(f->s->loop, say, NULL);
	assert_int_equal(site_set(f, "keep_completed", "0"), 200);
	ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\",\"mail\":\"n\"}", 201);
	for (int i = 0; i < JOBS; i++)
		submit(f, i, "\"depend\":\"afterok:1\"");
	begin = before = bytes_read(f);
	ask(f, "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"]}", 200);
	for (int i = 0; i < 4 * JOBS; i++) {
		most = bytes_read(f) - before > most ? bytes_read(f) - before : most;
		before = bytes_read(f);
		assert_true(f->s->post->mails.n == 0 || mails_next(f->s) <= f->s->clock->now_us);
		server_turn(f->s);
	}
	assert_int_equal(f->s->post->mails.n, 0);
	assert_in_range(most, LARGE, 4 * LARGE);
	/* all were written, and no job was forgotten before */
	assert_true(bytes_read(f) - begin > (uint64_t)JOBS * LARGE);
	mailer_stop(f->s->books->mailer);
}

/* ---- ends ---- */

static void attempt_fail(struct site *f)
{
	const struct bare_attempt *all;
	struct result r = {.how = RESULT_EXITED, .status = 1};
	char tag[64];

	for (int i = 0; i < 3; i++)
		server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_started(f->s, tag);
	server_turn(f->s);
	bare_forget(tag);
	r.tag = tag;
	dispatch_engine.attempt_ended(f->s, &r);
}

static void retried(struct site *f, int number, const char *member)
{
	char path[32];

	snprintf(path, sizeof path, "/v1/jobs/%d", number);
	ask(f, "GET", path, NULL, 200);
	if (!strstr(f->a.body.text, member))
		fail_msg("%s is not in %.2000s", member, f->a.body.text);
}

/* The end of a job that the server ordered itself reads nothing; after a restart retries are found
 * in the store. */
static void ends(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;
	uint64_t before;

	submit(f, 0, "\"workdir\":\"/tmp\"");
	for (int i = 0; i < 3; i++)
		server_turn(f->s);
	before = bytes_read(f);
	attempt_fail(f);
	assert_int_equal(bytes_read(f), before);
	retried(f, 1, "\"exit_status\":1");
	submit(f, 1, "\"retries\":\"2\"");
	attempt_fail(f);
	retried(f, 2, "\"retried\":1");
	for (int i = 0; i < 3; i++)
		server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	bare_started(f->s, all[0].tag);
	server_turn(f->s);
	site_reopen(f);
	attempt_fail(f);
	retried(f, 2, "\"retried\":2");
	attempt_fail(f);
	retried(f, 2, "\"exit_status\":1");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, site_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(lists), TEST(elements), TEST(mails), TEST(ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
