/*
 * test_shown.c - what the API shows of a small site in which everything occurs, compared with what
 * was recorded: each member of each answer, at two instants and after a restart.
 *
 * The clock stands still between the steps, so all of it is the same each time. If a change of what
 * is shown is intended, run
 *	SHUNT_GOLDEN=write meson test -C build shown
 * and look at the difference. New members are one too.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "run/nursery.h"
#include "run/order.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/site.h"
#include "support/skip.h"

#define NOW INT64_C(1800000000)
#define FILE_NAME SHUNT_ROOT "/tests/golden/shown.txt"
#define DAEMON 1
#define BIN 2

static struct site *site;
static struct strbuf shown;

/* ---- the text ---- */

/* Appends a text without what differs from run to run: the directory, and random parts of tags. */
static void put(const char *text)
{
	for (size_t n; *text; text += n) {
		n = strncmp(text, "-x", 2) == 0 ? strspn(text + 2, "0123456789abcdef") : 0;
		if (strncmp(text, site->dir, strlen(site->dir)) == 0) {
			n = strlen(site->dir);
			strbuf_puts(&shown, "DIR");
		} else if (n >= 8) {
			n += 2;
			strbuf_puts(&shown, "-x");
		} else {
			n = 1;
			strbuf_add(&shown, text, 1);
		}
	}
}

/* Appends a request with its answer, a member a line. */
static void show(uid_t uid, const char *path)
{
	int status = site_ask(site, uid, "GET", path, NULL);
	json_t *o = json_loads(strbuf_text(&site->a.body), JSON_DECODE_ANY, NULL);
	char *text =
		o ? json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;

	strbuf_printf(&shown, "\n== %s: %d\n", path, status);
	put(text ? text : strbuf_text(&site->a.body));
	strbuf_puts(&shown, "\n");
	free(text);
	json_decref(o);
}

/* ---- the site ---- */

static void ask(uid_t uid, const char *method, const char *path, const char *body, int wanted)
{
	int status = site_ask(site, uid, method, path, body);

	if (status != wanted)
		fail_msg("%s %s %s: %d %s", method, path, body ? body : "", status, strbuf_text(&site->a.body));
}

static void pass(int64_t seconds)
{
	site->now += seconds;
	bare_clock(site->now * 1000000);
	for (int i = 0; i < 3; i++)
		server_turn(site->s);
}

#define SET(name, value) "{\"changes\":[{\"op\":\"set\",\"name\":\"" name "\",\"value\":\"" value "\"}]}"
#define JOB(members) "{\"script\":\"true\\n\",\"workdir\":\"/tmp\"," members "}"

static void objects_make(void)
{
	static const char *const rows[][3] = {
		{"/v1/server", SET("resources_default.walltime", "3600"), ""},
		{"/v1/server", SET("query_other_jobs", "True"), ""},
		{"/v1/server", SET("resources_available.matlab", "4"), ""},
		{"/v1/server", SET("quota", "False"), ""},
		{"/v1/queues/long", SET("priority", "50"), "PUT"},
		{"/v1/queues/long", SET("enabled", "True"), ""},
		{"/v1/queues/long", SET("started", "True"), ""},
		{"/v1/queues/long", SET("max_user_run", "3"), ""},
		{"/v1/accounts/money", SET("credit_unit", "cpu_hours"), "PUT"},
		{"/v1/accounts/money", SET("acl_users", "daemon"), ""},
		{"/v1/accounts/plain", SET("parent", "money"), "PUT"},
		{"/v1/qos/high", SET("priority", "10"), "PUT"},
		{"/v1/users/daemon", SET("priority", "5"), "PUT"},
		{"/v1/groups/bin", SET("max_running", "7"), "PUT"},
		{"/v1/classes/own", SET("preempt_signal", "15"), "PUT"},
		{"/v1/reservations/later", SET("nodes", "n3"), "PUT"},
		{"/v1/reservations/later", SET("acl_users", "daemon"), ""},
		{"/v1/nodes/n4", "{\"offline\":true,\"note\":\"a disk\"}", ""},
		{"/v1/nodes/n2", "{\"drain_at\":1800500000}", ""},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (*rows[i][2])
			ask(getuid(), "PUT", rows[i][0], NULL, 201);
		ask(getuid(), "PATCH", rows[i][0], rows[i][1], 200);
	}
	ask(getuid(), "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"money\",\"amount\":360000}", 200);
	ask(DAEMON, "PUT", "/v1/templates/kept", "{\"job\":{\"script\":\"true\",\"comment\":\"kept\"}}", 201);
}

/* 1 to 5 run, 1 and 2 come to their end; the others wait, each for a reason of its own. */
static void jobs_make(void)
{
	static const char *const jobs[] = {
		JOB("\"name\":\"ends\",\"resources\":[\"nodes=1:ppn=2,walltime=600\"],\"account\":\"money\""),
		JOB("\"name\":\"fails\",\"rerunnable\":false,\"mail\":\"abe\",\"mail_to\":\"ann\""),
		JOB("\"name\":\"runs\",\"queue\":\"long\",\"resources\":[\"nodes=1:ppn=3,walltime=9000,mem=2gb\"],"
		    "\"environment\":[\"A=b\",\"C=d e\"],\"project\":\"p\",\"label\":\"l\",\"comment\":\"c\""),
		JOB("\"name\":\"stops\",\"resources\":[\"ncpus=1\"],\"output\":\"o\",\"error\":\"e\",\"join\":\"oe\""),
		JOB("\"name\":\"whole\",\"resources\":[\"nodes=1:ppn=4,walltime=700\"],\"exclusive\":\"node\""),
		JOB("\"name\":\"wide\",\"resources\":[\"nodes=2:ppn=4,walltime=500\"]"),
		JOB("\"name\":\"held\",\"hold\":\"u\",\"umask\":\"027\",\"shell\":\"/bin/bash\",\"arguments\":[\"a b\",\"c\"]"),
		JOB("\"name\":\"at\",\"at\":1800090000,\"priority\":-5,\"resources\":[\"nodes=1,walltime=60\"]"),
		JOB("\"name\":\"after\",\"depend\":\"afterok:3\",\"resources\":[\"walltime=60\"]"),
		JOB("\"name\":\"due\",\"deadline\":1800050000,\"resources\":[\"nodes=2:ppn=2,walltime=1200\"]"),
		JOB("\"name\":\"many\",\"array\":\"1-4%2\",\"hold\":\"u\",\"resources\":[\"walltime=50\"]"),
		JOB("\"name\":\"licensed\",\"resources\":[\"matlab=3,mem=1gb,walltime=60\"]"),
		JOB("\"name\":\"saves\",\"checkpoint\":\"interval=60,duration=5\",\"qos\":\"high\",\"resources\":[\"nodes=4:ppn=4,walltime=60\"]"),
	};

	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
		ask(i % 4 == 3 ? BIN : DAEMON, "POST", "/v1/jobs", jobs[i], 201);
	for (int i = 0; i < 3; i++)
		server_turn(site->s);
}

/* Reports the start of all that was ordered. */
static void starts(void)
{
	const struct bare_attempt *all;

	for (size_t i = 0; i < bare_attempts(&all); i++)
		if (!all[i].started)
			bare_started(site->s, all[i].tag);
	server_turn(site->s);
}

static void ends(const char *id, struct result r)
{
	const struct bare_attempt *all;
	char tag[64] = "";

	for (size_t i = 0; i < bare_attempts(&all); i++)
		if (strncmp(all[i].tag, id, strlen(id)) == 0)
			snprintf(tag, sizeof tag, "%s", all[i].tag);
	if (!*tag)
		fail_msg("job %s was not started", id);
	bare_forget(tag);
	r.tag = tag;
	r.ended_us = site->now * 1000000;
	dispatch_engine.attempt_ended(site->s, &r);
	for (int i = 0; i < 3; i++)
		server_turn(site->s);
}

static void jobs_show(void)
{
	char path[32];

	for (int id = 1; id <= 13; id++) {
		snprintf(path, sizeof path, "/v1/jobs/%d", id);
		show(DAEMON, path);
	}
}

static void all_show(const char *when)
{
	static const char *const paths[] = {
		"/v1/jobs?fields=id,state,comment,nodect,exit_status,cause,array_counts",
		"/v1/jobs?states=R&fields=id,exec_host",
		"/v1/jobs/11[2]",
		"/v1/jobs/11/elements",
		"/v1/jobs/3/script",
		"/v1/jobs/3/submission",
		"/v1/jobs/1/usage",
		"/v1/nodes",
		"/v1/nodes/n4",
		"/v1/nodes/n4/events",
		"/v1/queues",
		"/v1/queues/long",
		"/v1/plan",
		"/v1/overview",
		"/v1/history",
		"/v1/history/sums?by=user",
		"/v1/accounts",
		"/v1/credits",
		"/v1/credits/statement?account=money",
		"/v1/quota",
		"/v1/reservations",
		"/v1/priority",
		"/v1/fairshare",
		"/v1/backfill",
		"/v1/partitions",
		"/v1/qos",
		"/v1/users",
		"/v1/groups",
		"/v1/classes",
		"/v1/templates/kept",
		"/v1/whoami",
		"/v1/sites",
		"/v1/overlays",
	};
	char path[64];

	strbuf_printf(&shown, "\n==== %s\n", when);
	jobs_show();
	for (int id = 1; id <= 13; id++) {
		snprintf(path, sizeof path, "/v1/jobs/%d/events", id);
		show(DAEMON, path);
		if (id > 3) {
			snprintf(path, sizeof path, "/v1/jobs/%d/why", id);
			show(DAEMON, path);
		}
	}
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		show(DAEMON, paths[i]);
}

/* Compares line by line; prints the first differences. */
static void compare(const char *now, const char *recorded)
{
	int line = 1, differ = 0;
	char request[200] = "";

	for (; *now || *recorded; line++) {
		size_t n = strcspn(now, "\n"), m = strcspn(recorded, "\n");
		if (strncmp(now, "== ", 3) == 0)
			snprintf(request, sizeof request, "%.*s", (int)n, now);
		if ((n != m || memcmp(now, recorded, n) != 0) && differ++ < 20)
			print_error("%s line %d, %s: recorded \"%.*s\", now \"%.*s\"\n", FILE_NAME, line, request,
				    (int)m, recorded, (int)n, now);
		now += n + (now[n] == '\n');
		recorded += m + (recorded[m] == '\n');
	}
	assert_int_equal(differ, 0);
}

static void test_shown(void **state)
{
	struct strbuf recorded = {0};
	const char *golden = getenv("SHUNT_GOLDEN");

	if (getuid() != 0)
		skip_because("root's group was recorded");
	setenv("TZ", "UTC", 1);
	tzset();
	site_setup(state, "n[1-4]:cpus=4", NOW);
	site = *state;
	objects_make();
	jobs_make();
	all_show("submitted");
	pass(10);
	starts();
	pass(100);
	ends("1", (struct result){.how = RESULT_EXITED, .cpu_ms = 90000, .memory_kib = 2048, .session = 77});
	pass(20);
	ends("2",
	     (struct result){
		     .how = RESULT_SIGNALED, .status = 9, .cause = CAUSE_MEMORY, .session = 78, .memory_kib = 9999});
	ask(BIN, "POST", "/v1/jobs/signal", "{\"ids\":[\"4\"],\"signal\":\"suspend\"}", 200);
	starts();
	pass(1000);
	all_show("later");
	site_reopen(site);
	for (int i = 0; i < 3; i++)
		server_turn(site->s);
	size_t end = shown.n;
	jobs_show();
	const char *again = shown.text + end, *before = strstr(strstr(shown.text, "==== later\n"), "\n\n== ") + 1;
	for (size_t i = 0; again[i]; i++)
		if (again[i] != before[i])
			fail_msg("after a restart: %.200s\nbefore: %.200s", again + (i > 80 ? i - 80 : 0),
				 before + (i > 80 ? i - 80 : 0));
	shown.text[shown.n = end] = '\0';
	if (golden && strcmp(golden, "write") == 0) {
		assert_int_equal(file_replace(FILE_NAME, 0644, shown.text, shown.n, 0), 0);
	} else {
		assert_int_equal(file_read(FILE_NAME, 0, 4 << 20, &recorded), 0);
		compare(shown.text, strbuf_text(&recorded));
	}
	strbuf_fini(&recorded);
	strbuf_fini(&shown);
	site_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shown)};

	return cmocka_run_group_tests_name("shown", tests, NULL, NULL);
}
