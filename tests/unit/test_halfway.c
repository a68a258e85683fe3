/*
 * test_halfway.c - requests to the whole server that fail halfway, meet others, or come after a
 * restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "rules/quota.h"
#include "server/base/users.h"
#include "server/base/work.h"
#include "server/book/quotas.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NODES "n[1-4]:cpus=8:mem=8gb"
#define USER 65534
#define HOUR 3600
#define NOW INT64_C(1800000000)

static int setup(void **state)
{
	setenv("TZ", "UTC", 1);
	return site_setup(state, NODES, 0);
}

static int ask(struct site *f, uid_t uid, const char *path, const char *body)
{
	return site_ask(f, uid, "POST", path, body);
}

static int64_t left(struct site *f, enum quota_type type)
{
	struct quota q;

	assert_true(quotas_get(f->s, "nobody", &q));
	return q.left[type];
}

static void give(struct site *f, int hours, int priority_hours)
{
	char body[200];

	snprintf(body, sizeof body,
		 "{\"quota\":[{\"user\":\"nobody\",\"limit\":{\"normal\":%d,\"priority\":%d,\"interactive\":0}}]}",
		 hours * HOUR, priority_hours * HOUR);
	assert_int_equal(ask(f, getuid(), "/v1/quota", body), 200);
}

/* There is enough for two of three elements: those return all that was taken for them. */
static void altered_in_part(void **state)
{
	struct site *f = *state;

	give(f, 5, 0);
	assert_int_equal(
		ask(f, USER, "/v1/jobs",
		    "{\"script\":\"true\",\"hold\":\"u\",\"array\":\"1-3\",\"resources\":[\"walltime=1:00:00\"]}"),
		201);
	assert_int_equal(ask(f, USER, "/v1/jobs/alter", "{\"ids\":[\"1[]\"],\"resources\":[\"walltime=2:00:00\"]}"),
			 200);
	assert_non_null(strstr(f->a.body.text, "it needs 01:00:00 of normal quota, and 00:00:00 of 05:00:00 is left"));
	assert_int_equal(left(f, QUOTA_NORMAL), 0);
	assert_int_equal(ask(f, USER, "/v1/jobs/delete", "{\"ids\":[\"1[]\"]}"), 200);
	assert_int_equal(left(f, QUOTA_NORMAL), 5 * HOUR);
}

#define URGENT                                                                                                         \
	"{\"script\":\"true\",\"resources\":[\"walltime=1:00:00\"],\"type\":\"Q\",\"deadline\":\"+09:00:00\",\"require_guarantee\":true"

/* Lets turns pass until they are answered, and ends them. */
static void finish(struct site *f, struct http_request **r, int n)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 1000 && !bare_answered(r[i]); k++)
			server_turn(f->s);
		assert_true(bare_answered(r[i]));
		bare_end(r[i]);
	}
}

/* Both were read when there was enough for one. */
static void quota_taken_meanwhile(void **state)
{
	struct site *f = *state;
	struct bare_answer a[2] = {{0}};
	struct http_request *r[2];

	give(f, 0, 1);
	for (int i = 0; i < 2; i++)
		r[i] = bare_begin(f->s, USER, "POST", "/v1/jobs", NULL, URGENT "}", &a[i]);
	finish(f, r, 2);
	assert_int_equal(a[0].status, 201);
	assert_int_equal(a[1].status, 422);
	assert_non_null(
		strstr(a[1].body.text, "it needs 01:00:00 of priority quota, and 00:00:00 of 01:00:00 is left"));
	assert_int_equal(left(f, QUOTA_PRIORITY), 0);
	site_reopen(f);
	assert_int_equal(site_ask(f, USER, "GET", "/v1/jobs/1", NULL), 200);
	assert_int_equal(site_ask(f, USER, "GET", "/v1/jobs/2", NULL), 404); /* what was stored of it is gone */
	for (int i = 0; i < 2; i++)
		strbuf_fini(&a[i].body);
}

/* There is enough for each of the jobs, but not for all of them: none is in the store. */
static void refused_together(void **state)
{
#define LONG "{\"script\":\"true\",\"hold\":\"u\",\"resources\":[\"walltime=3:00:00\"]}"
	struct site *f = *state;

	give(f, 5, 0);
	assert_int_equal(ask(f, USER, "/v1/jobs", "{\"jobs\":[" LONG "," LONG "]}"), 422);
	assert_int_equal(left(f, QUOTA_NORMAL), 5 * HOUR);
	for (int restarts = 0; restarts < 2; restarts++) {
		assert_int_equal(site_ask(f, USER, "GET", "/v1/jobs", NULL), 200);
		assert_non_null(strstr(f->a.body.text, "\"jobs\":[]"));
		site_reopen(f);
	}
}

/* A job that came just before, about which nothing is decided yet, takes the nodes first: a
 * deadline that could be kept without it can't be guaranteed. */
static void guaranteed_after_another(void **state)
{
	static const char *const bodies[] = {
		"{\"script\":\"true\",\"resources\":[\"nodes=4:ppn=8,walltime=1:00:00\"]}",
		"{\"script\":\"true\",\"resources\":[\"walltime=1:00:00\"],\"type\":\"Q\",\"deadline\":\"+01:30:00\",\"require_guarantee\":true}"};
	struct site *f = *state;
	struct bare_answer a[2] = {{0}};
	struct http_request *r[2];

	assert_int_equal(ask(f, USER, "/v1/jobs", bodies[1]), 201);
	assert_int_equal(ask(f, getuid(), "/v1/jobs/delete", "{\"ids\":[\"1\"],\"purge\":true}"), 200);
	bare_clear();
	for (int i = 0; i < 2; i++)
		r[i] = bare_begin(f->s, USER, "POST", "/v1/jobs", NULL, bodies[i], &a[i]);
	finish(f, r, 2);
	assert_int_equal(a[0].status, 201);
	assert_int_equal(a[1].status, 422);
	assert_non_null(strstr(a[1].body.text, "the deadline can't be guaranteed now"));
	for (int i = 0; i < 2; i++)
		strbuf_fini(&a[i].body);
}

/* Sends a request with a key. */
static int ask_keyed(struct site *f, const char *path, const char *key, const char *body)
{
	struct bare_answer a = {0};
	struct http_request *r = bare_begin(f->s, USER, "POST", path, key, body, &a);

	finish(f, &r, 1);
	strbuf_fini(&f->a.body);
	f->a = a;
	return a.status;
}

/* Deletes jobs, and lets the server forget them. */
static void forget(struct site *f, int64_t now)
{
	ask(f, getuid(), "/v1/jobs/delete", "{\"ids\":[\"1\",\"3[]\"],\"purge\":true}");
	bare_clock(now * 1000000);
	for (int i = 0; i < 5; i++)
		server_turn(f->s);
}

/* The answer was lost, and the request comes again with its key: nothing is submitted twice, though
 * the server has forgotten the jobs by then. */
static void again_with_its_key(void **state)
{
	struct site *f = *state;

	bare_clock(NOW * 1000000);
	site_reopen(f);
	assert_int_equal(site_set(f, "keep_completed", "1"), 200);
	assert_int_equal(ask(f, USER, "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}"), 201);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask_keyed(f, "/v1/jobs/1/again", "one", "{}"), i ? 200 : 201);
		assert_int_equal(f->a.replayed, i);
		assert_non_null(strstr(f->a.body.text, "\"number\":2,"));
		assert_int_equal(
			ask_keyed(f, "/v1/jobs", "two", "{\"script\":\"true\",\"hold\":\"u\",\"array\":\"1-2\"}"),
			i ? 200 : 201);
		assert_int_equal(f->a.replayed, i);
		assert_non_null(strstr(f->a.body.text, "\"id\":\"3[].bare\","));
		forget(f, NOW + 10 * (i + 1));
	}
	assert_int_equal(ask_keyed(f, "/v1/jobs/1/again", "three", "{}"), 404);
	bare_clock(0);
}

/* An action that comes again with its key is answered in the same way, with its errors, also by a
 * server that was restarted. */
static void action_again_with_its_key(void **state)
{
	static const char *const actions[][2] = {
		{"alter", "{\"ids\":[\"1\",\"2[]\",\"9\",\"2[7]\"],\"resources\":[\"nosuch=1\"]}"},
		{"alter", "{\"ids\":[\"1\",\"2[2]\",\"3\"],\"name\":\"b\",\"depend\":\"afterok:77\"}"},
		{"alter", "{\"ids\":[\"1\",\"2[]\"],\"name\":\"b\",\"resources\":[\"nodes=9\"]}"},
		{"alter", "{\"filter\":{\"state\":\"H\"},\"resources\":[\"nodes=9\"]}"},
		{"alter", "{\"filter\":{\"state\":\"H\"},\"comment\":\"c\"}"},
		{"alter", "{\"ids\":[\"1\",\"2[]\"],\"checkpoint\":\"interval=x\"}"},
		{"alter", "{\"ids\":[\"1\",\"2[]\"],\"resources\":[\"walltime=x\"]}"},
		{"alter", "{\"ids\":[\"1\",\"2[]\"],\"deadline\":\"x\"}"},
		{"move", "{\"ids\":[\"1\",\"3\"],\"queue\":\"nosuch\"}"},
		{"signal", "{\"ids\":[\"1\",\"2[]\"],\"signal\":\"USR1\"}"},
		{"hold", "{\"ids\":[\"1\",\"9\",\"x\"],\"holds\":\"s\"}"},
		{"run", "{\"ids\":[\"1\",\"2[]\"]}"},
		{"delete", "{\"ids\":[\"1\",\"2[1]\",\"9\"]}"},
		{"delete", "{\"filter\":{}}"},
	};
	struct site *f = *state;

	bare_clock(NOW * 1000000);
	site_reopen(f);
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		struct strbuf first = {0};
		char path[32], key[8];
		int status = 0;
		if (i == 0) {
			assert_int_equal(ask(f, USER, "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}"), 201);
			assert_int_equal(
				ask(f, USER, "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\",\"array\":\"1-2\"}"),
				201);
			assert_int_equal(ask(f, getuid(), "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}"), 201);
		}
		snprintf(path, sizeof path, "/v1/jobs/%s", actions[i][0]);
		snprintf(key, sizeof key, "k%zu", i);
		for (int times = 0; times < 3; times++) {
			int now = ask_keyed(f, path, key, actions[i][1]);
			assert_int_equal(f->a.replayed, times > 0 && now == 200); /* a refused one does nothing */
			if (times == 0) {
				status = now;
				strbuf_puts(&first, f->a.body.text);
			} else if (now != status || strcmp(first.text, f->a.body.text) != 0) {
				fail_msg("%s %s: first %d %s, then %d %s", path, actions[i][1], status, first.text, now,
					 f->a.body.text);
			} else {
				site_reopen(f);
			}
		}
		strbuf_fini(&first);
	}
	bare_clock(0);
}

/* The one who alters it is not its owner, and nobody has looked its owner up since the server
 * began. */
static void altered_by_another(void **state)
{
	struct site *f = *state;
	const struct user *u;
	struct spec *p;

	users_find(f->s, (struct user_key){USER_BY_ID, USER, NULL}, &u, NULL);
	while (users_busy(f->s))
		uv_run(f->s->loop, UV_RUN_ONCE);
	assert_int_equal(ask(f, USER, "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}"), 201);
	site_reopen(f);
	users_forget(f->s);
	p = entry_get(f->s, 1)->spec;
	assert_true(p->group && p->home);
	assert_int_equal(ask(f, getuid(), "/v1/jobs/alter", "{\"ids\":[\"1\"],\"name\":\"other\"}"), 200);
	assert_true(entry_get(f->s, 1)->spec != p);
	p = entry_get(f->s, 1)->spec;
	assert_true(p->group && p->home);
}

/* Nothing is scheduled, and the time of a reservation passes: a restart does not take it for a
 * running job. */
static void overdue(void **state)
{
	static const char body[] = "{\"script\":\"true\",\"resources\":[\"nodes=4:ppn=8,walltime=1:00:00\"]}";
	struct site *f = *state;
	const struct bare_attempt *all;

	bare_clear();
	bare_clock(NOW * 1000000);
	site_reopen(f);
	assert_int_equal(site_set(f, "policy", "artaras"), 200);
	assert_int_equal(ask(f, USER, "/v1/jobs", body), 201);
	assert_int_equal(bare_attempts(&all), 1);
	bare_started(f->s, all[0].tag);
	assert_int_equal(ask(f, USER, "/v1/jobs", body), 201);
	server_turn(f->s);
	assert_true(plan_holds(f->s->plan, 2));
	assert_int_equal(site_set(f, "scheduling", "False"), 200);
	assert_int_equal(ask(f, getuid(), "/v1/jobs/delete", "{\"ids\":[\"1\"],\"purge\":true}"), 200);
	bare_clear();
	bare_clock((NOW + 3700) * 1000000);
	server_turn(f->s);
	for (int round = 0; round < 2; round++) {
		assert_true(plan_holds(f->s->plan, 2));
		assert_int_equal(f->s->plan->free_now[0], 8);
		site_reopen(f);
	}
	bare_clock(0);
}

#define RESERVE                                                                                                                                      \
	"{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"all\"},{\"op\":\"set\",\"name\":\"start\",\"value\":\"2027-01-15T09:00:00\"}," \
	"{\"op\":\"set\",\"name\":\"duration\",\"value\":\"2:00:00\"},{\"op\":\"set\",\"name\":\"acl_users\",\"value\":\"root\"}]}"

static struct http_request *dry_begin(struct site *f, struct bare_answer *ret)
{
	return bare_begin(f->s, getuid(), "PATCH", "/v1/reservations/exam?dry_run=true", NULL, RESERVE, ret);
}

/* What a reservation would do is foreseen step by step, one dry run after the other, from what
 * was there when it was asked for: others are served in between, and may remove it. */
static void dry_run_in_slices(void **state)
{
	static const char body[] = "{\"script\":\"true\",\"resources\":[\"nodes=4:ppn=8,walltime=1:00:00\"]}";
	struct site *f = *state;
	const struct bare_attempt *all;
	struct bare_answer a[3] = {{0}};
	struct http_request *r[3];

	bare_clear();
	bare_clock(NOW * 1000000);
	site_reopen(f);
	assert_int_equal(ask(f, USER, "/v1/jobs", body), 201);
	assert_int_equal(bare_attempts(&all), 1);
	bare_started(f->s, all[0].tag);
	assert_int_equal(ask(f, USER, "/v1/jobs", body), 201);
	assert_int_equal(site_ask(f, getuid(), "PUT", "/v1/reservations/exam", "{}"), 201);
	r[0] = dry_begin(f, &a[0]);
	finish(f, r, 1);
	assert_int_equal(a[0].status, 200);
	assert_non_null(strstr(a[0].body.text, "\"refused\":null"));
	assert_non_null(strstr(a[0].body.text, "\"start\":1800003600,\"start_then\":1800010800"));

	f->s->slices->slice_steps = 1;
	r[1] = dry_begin(f, &a[1]);
	r[2] = dry_begin(f, &a[2]);
	server_turn(f->s);
	assert_false(bare_answered(r[1]) || bare_answered(r[2]));
	assert_int_equal(site_ask(f, getuid(), "DELETE", "/v1/reservations/exam", NULL), 200);
	assert_int_equal(ask(f, USER, "/v1/jobs/delete", "{\"ids\":[\"2\"]}"), 200);
	finish(f, &r[1], 2);
	assert_string_equal(a[1].body.text, a[0].body.text);
	assert_int_equal(a[2].status, 200);
	for (int i = 0; i < 3; i++)
		strbuf_fini(&a[i].body);
	bare_clock(0);
}

/* A job that had a share of a node keeps its request when no node is shared any more, and all
 * are in a partition. */
static void share_outlives_nodes(void **state)
{
	struct site *f = *state;
	char body[200];

	snprintf(
		body, sizeof body,
		"{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=2\"],\"estimate\":60,\"deadline\":%lld,\"budget\":100000}",
		(long long)time(NULL) + 2 * HOUR);
	assert_int_equal(site_ask(f, getuid(), "PATCH", "/v1/nodes/n1", "{\"shared\":true}"), 200);
	assert_int_equal(ask(f, getuid(), "/v1/jobs", body), 201);
	server_turn(f->s);
	assert_int_equal(ask(f, getuid(), "/v1/jobs/delete", "{\"ids\":[\"1\"],\"purge\":true}"), 200);
	server_turn(f->s);
	assert_int_equal(site_ask(f, getuid(), "PATCH", "/v1/nodes/n1", "{\"shared\":false}"), 200);
	server_turn(f->s);
	assert_int_equal(site_ask(f, getuid(), "PUT", "/v1/partitions/A", "{}"), 201);
	assert_int_equal(site_ask(f, getuid(), "PATCH", "/v1/partitions/A",
				  "{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"n[1-4]\"}]}"),
			 200);
	server_turn(f->s);
	for (int i = 0; i < 2; i++, site_reopen(f)) {
		assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/1", NULL), 200);
		if (!strstr(f->a.body.text, "\"cpus\":2,") || strstr(f->a.body.text, "\"share\":null"))
			fail_msg("%s", f->a.body.text);
	}
}

/* Two jobs that come in slices, of which one is to run before job `number` + 1, and one after
 * job `number`, which is forgotten after `turns` turns. */
static void dependency_goes(struct site *f, int number, int turns)
{
	struct bare_answer a = {0};
	struct http_request *r;
	char body[300];

	for (int i = 0; i < 2; i++)
		assert_int_equal(ask(f, getuid(), "/v1/jobs", "{\"script\":\"x\",\"hold\":\"u\"}"), 201);
	f->s->slices->slice_steps = 1;
	snprintf(body, sizeof body,
		 "{\"jobs\":[{\"script\":\"x\",\"hold\":\"u\",\"depend\":\"afterany:%d\"},"
		 "{\"script\":\"x\",\"hold\":\"u\",\"depend\":\"before:%d\"}]}",
		 number, number + 1);
	r = bare_begin(f->s, getuid(), "POST", "/v1/jobs", NULL, body, &a);
	for (int i = 0; i < turns; i++)
		server_turn(f->s);
	snprintf(body, sizeof body, "{\"ids\":[\"%d\"]}", number);
	assert_int_equal(ask(f, getuid(), "/v1/jobs/delete", body), 200);
	finish(f, &r, 1);
	assert_int_equal(a.status, 201);
	strbuf_fini(&a.body);
}

/* What a job depends on may be forgotten after the job's record was written and before it is
 * accepted: a restart knows that as well. */
static void dependency_gone_meanwhile(void **state)
{
	struct site *f = *state;

	bare_clock(NOW * 1000000);
	site_reopen(f);
	assert_int_equal(site_set(f, "keep_completed", "0"), 200);
	for (int turns = 0; turns < 12; turns++) {
		char path[32], depend[2][32];
		dependency_goes(f, 1 + 4 * turns, turns);
		snprintf(path, sizeof path, "/v1/jobs/%d", 3 + 4 * turns);
		for (int i = 0; i < 2; i++, site_reopen(f)) {
			assert_int_equal(site_ask(f, getuid(), "GET", path, NULL), 200);
			snprintf(depend[i], sizeof depend[i], "%s", strstr(f->a.body.text, "\"depend\""));
		}
		assert_string_equal(depend[0], depend[1]);
	}
	bare_clock(0);
}

/* A deletion of all jobs that comes while several are accepted waits for the last of them: it
 * deletes all of them, or they came after it. */
static void accepted_and_deleted(void **state)
{
#define HELD "{\"script\":\"true\",\"hold\":\"u\"}"
	struct site *f = *state;
	int all = 0, none = 0;

	bare_clock(NOW * 1000000);
	site_reopen(f);
	for (int turns = 0; turns < 20; turns++) {
		struct bare_answer a[2] = {{0}};
		struct http_request *r[2];
		int left = 0;
		f->s->slices->slice_steps = 1;
		r[0] = bare_begin(f->s, USER, "POST", "/v1/jobs", NULL,
				  "{\"jobs\":[" HELD "," HELD "," HELD "," HELD "]}", &a[0]);
		for (int i = 0; i < turns; i++)
			server_turn(f->s);
		r[1] = bare_begin(f->s, USER, "POST", "/v1/jobs/delete", NULL, "{\"filter\":{}}", &a[1]);
		finish(f, r, 2);
		assert_int_equal(a[0].status, 201);
		assert_int_equal(a[1].status, 200);
		assert_int_equal(site_ask(f, USER, "GET", "/v1/jobs?state=H&fields=id,state", NULL), 200);
		for (const char *at = f->a.body.text; (at = strstr(at, "\"state\":\"H\"")); at++)
			left++;
		if (left != 0 && left != 4)
			fail_msg("after %d turns: %s, %s", turns, a[1].body.text, f->a.body.text);
		all += left == 0;
		none += left == 4;
		assert_int_equal(ask(f, USER, "/v1/jobs/delete", "{\"filter\":{}}"), 200);
		strbuf_fini(&a[0].body);
		strbuf_fini(&a[1].body);
	}
	assert_true(all > 0 && none > 0);
	bare_clock(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(altered_in_part, setup, site_teardown),
		cmocka_unit_test_setup_teardown(quota_taken_meanwhile, setup, site_teardown),
		cmocka_unit_test_setup_teardown(guaranteed_after_another, setup, site_teardown),
		cmocka_unit_test_setup_teardown(refused_together, setup, site_teardown),
		cmocka_unit_test_setup_teardown(again_with_its_key, setup, site_teardown),
		cmocka_unit_test_setup_teardown(action_again_with_its_key, setup, site_teardown),
		cmocka_unit_test_setup_teardown(altered_by_another, setup, site_teardown),
		cmocka_unit_test_setup_teardown(overdue, setup, site_teardown),
		cmocka_unit_test_setup_teardown(dry_run_in_slices, setup, site_teardown),
		cmocka_unit_test_setup_teardown(share_outlives_nodes, setup, site_teardown),
		cmocka_unit_test_setup_teardown(dependency_gone_meanwhile, setup, site_teardown),
		cmocka_unit_test_setup_teardown(accepted_and_deleted, setup, site_teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
