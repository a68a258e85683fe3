/*
 * test_shown.c - what the API shows of a small site in which everything occurs, compared with what
 * was recorded: each member of each answer, at two instants and after a restart; then answers to
 * other parameters, wrong requests and changes.
 *
 * The clock stands still between the steps, so all of it is the same each time. If a change of what
 * is shown is intended, run
 *	SHUNT_GOLDEN=write meson test -C build shown
 * and look at the difference. New members are one too.
 *
 * In the same way orders.txt has what is ordered for jobs of every kind.
 */
#include <jansson.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "golden/recorded.h"
#include "golden/small.h"
#include "run/nursery.h"
#include "run/order.h"
#include "server/api/stream/journal.h"
#include "server/base/log.h"
#include "server/life/world/dispatch.h"
#include "server/link/nodes.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "store/quota.h"
#include "store/store.h"
#include "support/skip.h"

#define FILE_NAME SHUNT_ROOT "/tests/golden/shown.txt"
#define ORDERS_NAME SHUNT_ROOT "/tests/golden/orders.txt"
#define NOW INT64_C(1800000000)

static struct site *site;
static struct strbuf shown;

/* Appends a request with its answer, a member a line. */
static void show_change(uid_t uid, const char *method, const char *path, const char *body)
{
	int status = site_ask(site, uid, method, path, body);
	json_t *o = json_loads(strbuf_text(&site->a.body), JSON_DECODE_ANY, NULL);
	char *text =
		o ? json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;

	strbuf_printf(&shown, "\n== %s%s%s%s%s: %d\n", strcmp(method, "GET") == 0 ? "" : method,
		      strcmp(method, "GET") == 0 ? "" : " ", path, body ? " " : "", body ? body : "", status);
	recorded_put(&shown, site, text ? text : strbuf_text(&site->a.body));
	strbuf_puts(&shown, "\n");
	free(text);
	json_decref(o);
}

static void show(uid_t uid, const char *path)
{
	show_change(uid, "GET", path, NULL);
}

static void jobs_show(void)
{
	char path[32];

	for (int id = 1; id <= SMALL_JOBS; id++) {
		snprintf(path, sizeof path, "/v1/jobs/%d", id);
		show(SMALL_DAEMON, path);
	}
}

static void all_show(const char *when)
{
	static const char *const paths[] = {
		"/v1/jobs?fields=id,state,comment,nodect,exit_status,cause,array_counts",
		"/v1/jobs?states=R&fields=id,exec_host",
		"/v1/jobs/11[2]",
		"/v1/jobs/11/elements",
		"/v1/jobs/14",
		"/v1/jobs/14[2]",
		"/v1/jobs/14/elements",
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
	for (int id = 1; id <= SMALL_JOBS; id++) {
		snprintf(path, sizeof path, "/v1/jobs/%d/events", id);
		show(SMALL_DAEMON, path);
		if (id > 3) {
			snprintf(path, sizeof path, "/v1/jobs/%d/why", id);
			show(SMALL_DAEMON, path);
		}
	}
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		show(SMALL_DAEMON, paths[i]);
}

#define ROOT 0
#define SET(name, value) "{\"changes\":[{\"op\":\"set\",\"name\":\"" name "\",\"value\":\"" value "\"}]}"
#define IDS(ids, more) "{\"ids\":[" ids "]" more "}"
#define WORK(members) "{\"script\":\"true\\n\",\"workdir\":\"/tmp\"" members "}"

/* Parameters, what others than users may ask, what is refused, and the answers to changes. */
static void rest_show(void)
{
	static const struct {
		uid_t uid;
		const char *method, *path, *body;
	} rows[] = {
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id,state&state=Q,H", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id&user=bin,nobody", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id&queue=long", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id&name=held", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id&completed=0&blocked=1&arrays=expand", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id,state&completed=recent", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id,state,expected_start&order=schedule", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id&limit=3", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id&limit=3&after=4", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id&ids=1,11[],11[3],99", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?fields=id,nothing", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?state=Z", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?limit=0", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?limit=x", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?order=size", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs?queue=nowhere", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs/99", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs/11[9]", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs/x", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs/1/nothing", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs/4/script", NULL},
		{SMALL_DAEMON, "GET", "/v1/jobs/4/submission", NULL},
		{SMALL_DAEMON, "PATCH", "/v1/jobs", "{}"},
		{SMALL_DAEMON, "GET", "/v1/nothing", NULL},
		{SMALL_DAEMON, "GET", "/v1/nodes/n9", NULL},
		{SMALL_DAEMON, "GET", "/v1/queues/nowhere", NULL},
		{SMALL_DAEMON, "GET", "/v1/queues/long/events", NULL},
		{SMALL_DAEMON, "GET", "/v1/plan?nodes=0", NULL},
		{SMALL_DAEMON, "GET", "/v1/history?id=2", NULL},
		{SMALL_DAEMON, "GET", "/v1/history?state=memory&attempts=1", NULL},
		{SMALL_DAEMON, "GET", "/v1/history?name=e*&user=daemon&account=money", NULL},
		{SMALL_DAEMON, "GET", "/v1/history?since=1800000120&until=1800000140", NULL},
		{SMALL_DAEMON, "GET", "/v1/history?queue=long", NULL},
		{SMALL_DAEMON, "GET", "/v1/history?state=lost", NULL},
		{SMALL_DAEMON, "GET", "/v1/history/sums?by=account", NULL},
		{SMALL_DAEMON, "GET", "/v1/history/sums?by=size", NULL},
		{SMALL_DAEMON, "GET", "/v1/usage?first=20270101&last=20270131", NULL},
		{SMALL_DAEMON, "GET", "/v1/backfill?duration=600&queue=long", NULL},
		{SMALL_DAEMON, "GET", "/v1/priority?limit=1", NULL},
		{SMALL_DAEMON, "GET", "/v1/credits/statement?account=none", NULL},
		{SMALL_DAEMON, "GET", "/v1/templates", NULL},
		{SMALL_DAEMON, "GET", "/v1/audit", NULL},
		{ROOT, "GET", "/v1/audit?object=node", NULL},
		{ROOT, "GET", "/v1/audit?since=1800000001", NULL},
		{ROOT, "GET", "/v1/quota?user=daemon", NULL},
		{ROOT, "GET", "/v1/quota/moves", NULL},
		{ROOT, "GET", "/v1/tokens", NULL},
		{ROOT, "GET", "/v1/machine", NULL},
		{ROOT, "GET", "/v1/jobs/3", NULL},
		{ROOT, "GET", "/v1/jobs/4/script", NULL},
		{SMALL_DAEMON, "POST", "/v1/whatif", WORK(",\"resources\":[\"nodes=1:ppn=4,walltime=60\"]")},
		{SMALL_DAEMON, "POST", "/v1/whatif", WORK(",\"resources\":[\"nodes=9\"]")},
		{SMALL_DAEMON, "POST", "/v1/jobs", WORK(",\"name\":\"a\",\"hold\":\"u\",\"label\":\"b\"")},
		{SMALL_DAEMON, "POST", "/v1/jobs", WORK(",\"name\":5")},
		{SMALL_DAEMON, "POST", "/v1/jobs", WORK(",\"hold\":\"u\"")},
		{SMALL_DAEMON, "POST", "/v1/jobs",
		 "{\"jobs\":[" WORK(",\"hold\":\"u\"") "," WORK(",\"array\":\"1-2\",\"hold\":\"u\"") "]}"},
		{SMALL_DAEMON, "POST", "/v1/jobs", "{\"jobs\":[" WORK("") "," WORK(",\"queue\":\"nowhere\"") "]}"},
		{SMALL_DAEMON, "POST", "/v1/jobs", "{"},
		{SMALL_DAEMON, "POST", "/v1/jobs", "[]"},
		{SMALL_DAEMON, "POST", "/v1/jobs/hold", IDS("\"6\",\"12\",\"99\",\"11[2]\",\"1\"", "")},
		{SMALL_DAEMON, "POST", "/v1/jobs/hold", IDS("\"6\"", ",\"holds\":\"x\"")},
		{SMALL_DAEMON, "POST", "/v1/jobs/hold", "{\"filter\":{\"state\":\"Q\"}}"},
		{SMALL_DAEMON, "POST", "/v1/jobs/hold", "{}"},
		{SMALL_DAEMON, "POST", "/v1/jobs/release", "{\"filter\":{\"state\":\"H\",\"name\":\"w*\"}}"},
		{SMALL_DAEMON, "POST", "/v1/jobs/alter",
		 IDS("\"7\"", ",\"resources\":[\"walltime=90\"],\"comment\":\"d\"")},
		{SMALL_DAEMON, "POST", "/v1/jobs/alter", IDS("\"3\",\"7\"", ",\"queue\":\"long\"")},
		{SMALL_DAEMON, "POST", "/v1/jobs/signal", IDS("\"3\",\"7\"", ",\"signal\":\"USR1\"")},
		{SMALL_DAEMON, "POST", "/v1/jobs/move", IDS("\"7\"", ",\"queue\":\"long\"")},
		{SMALL_DAEMON, "POST", "/v1/jobs/order", IDS("\"6\",\"13\"", "")},
		{SMALL_DAEMON, "POST", "/v1/jobs/place", IDS("\"10\"", ",\"after\":\"6\"")},
		{ROOT, "POST", "/v1/jobs/run", IDS("\"6\",\"9\"", "")},
		{ROOT, "POST", "/v1/jobs/rerun", IDS("\"3\",\"9\"", "")},
		{SMALL_DAEMON, "POST", "/v1/jobs/2/again", "{\"only\":\"failed\"}"},
		{SMALL_DAEMON, "POST", "/v1/jobs/delete", IDS("\"8\",\"9\",\"11[1]\",\"1\"", ",\"message\":\"m\"")},
		{ROOT, "PATCH", "/v1/qos/high?dry_run=true", SET("priority", "11")},
		{ROOT, "PATCH", "/v1/qos/high?dry_run=true", SET("priority", "x")},
		{ROOT, "PATCH", "/v1/queues/long?dry_run=true", SET("priority", "3")},
		{ROOT, "PATCH", "/v1/nodes/n1?dry_run=true", "{\"note\":\"x\"}"},
		{ROOT, "PATCH", "/v1/qos/high?new=true", SET("priority", "12")},
		{ROOT, "PATCH", "/v1/qos/low?new=false", SET("priority", "12")},
		{ROOT, "GET", "/v1/qos", NULL},
		{ROOT, "PATCH", "/v1/queues/long", SET("nothing", "1")},
		{ROOT, "PUT", "/v1/queues/long", NULL},
		{ROOT, "DELETE", "/v1/queues/long", NULL},
		{ROOT, "PATCH", "/v1/reservations/soon?dry_run=true",
		 "{\"changes\":[{\"op\":\"set\",\"name\":\"nodes\",\"value\":\"n2\"},"
		 "{\"op\":\"set\",\"name\":\"start\",\"value\":\"2027-01-15T09:00:00\"},{\"op\":\"set\",\"name\":\"duration\",\"value\":\"1h\"}]}"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"state\":\"odd\"}"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"note\":\"x\",\"speed\":2}"},
		{ROOT, "GET", "/v1/nodes/n1", NULL},
		{ROOT, "POST", "/v1/credits", "{\"op\":\"withdraw\",\"account\":\"money\",\"amount\":60}"},
		{ROOT, "POST", "/v1/credits", "{\"op\":\"transfer\",\"account\":\"money\",\"amount\":60}"},
		{ROOT, "POST", "/v1/shutdown", "{\"mode\":\"odd\"}"},
		{ROOT, "GET", "/v1/audit?since=1800000001", NULL},
	};

	strbuf_puts(&shown, "\n==== the rest\n");
	show(ROOT, "/v1/events"); /* from now on events are kept */
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		show_change(rows[i].uid, rows[i].method, rows[i].path, rows[i].body);
	server_turn(site->s);
	show(ROOT, "/v1/events?after=0");
}

/* Appends a file that the server wrote. */
static void file_show(const char *name)
{
	struct strbuf text = {0};
	char path[128];

	snprintf(path, sizeof path, "%s/%s", site->dir, name);
	assert_int_equal(file_read(path, 0, 1 << 20, &text), 0);
	strbuf_printf(&shown, "\n== the file %s\n", name);
	recorded_put(&shown, site, strbuf_text(&text));
	strbuf_fini(&text);
}

/* Appends the metrics, except those that depend on the machine's speed and memory. */
static void metrics_show(void)
{
	strbuf_puts(&shown, "\n== /v1/metrics\n");
	assert_int_equal(site_ask(site, SMALL_DAEMON, "GET", "/v1/metrics", NULL), 200);
	for (char *line = strtok(site->a.body.text, "\n"); line; line = strtok(NULL, "\n")) {
		const char *value = strrchr(line, ' ');
		bool varies = *line != '#' && (strstr(line, "cycle_seconds") || strstr(line, "turn") ||
					       strstr(line, "commit_seconds") || strstr(line, "memory_kib"));
		strbuf_printf(&shown, "%.*s %s\n", (int)(value - line), line, varies ? "..." : value + 1);
	}
}

/* Makes the event log have the lines that only a whole server adds. */
static void rest_log(void)
{
	struct store_move move = {.user = "daemon",
				  .time = site->now,
				  .type = "normal",
				  .cause = "job",
				  .job = job_key(3, -1),
				  .seconds = -60};

	journal_startup(site->s);
	journal_heard(site->s, SEVERITY_WARNING, "a \"warning\"");
	journal_move(site->s, &move);
	move.job = 0;
	journal_move(site->s, &move);
	for (int complete = 0; complete < 2; complete++) {
		assert_true(journal_shutdown(site->s, complete));
		assert_false(journal_shutdown(site->s, complete));
	}
}

/* Appends what the server logged, and ends its log. */
static void log_show(void)
{
	const struct log_kept *k;

	strbuf_puts(&shown, "\n== the server's log\n");
	for (uint64_t at = 0; (k = log_next(site->s->log, SEVERITY_DEBUG, &at));) {
		strbuf_printf(&shown, "%s: ", severity_names[k->severity]);
		recorded_put(&shown, site, k->text);
		strbuf_puts(&shown, "\n");
	}
	log_destroy(site->s->log);
	site->s->log = NULL;
}

static void test_shown(void **state)
{
	small_open(state);
	site = *state;
	site->s->log = log_create(SEVERITY_DEBUG);
	all_show("submitted");
	small_live(site);
	all_show("later");
	metrics_show();
	rest_log();
	assert_int_equal(site_set(site, "log_format", "json"), 200);
	log_show();
	site_reopen(site);
	site->s->log = log_create(SEVERITY_DEBUG);
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
	rest_log();
	rest_show();
	strbuf_puts(&shown, "\n==== what was written\n");
	log_show();
	file_show("accounting/20270115");
	file_show("events.log");
	recorded_compare(FILE_NAME, "== ", &shown);
	strbuf_fini(&shown);
	site_teardown(state);
}

/* ---- orders ---- */

static bool files_alone; /* only what orders say of files is shown */

/* Leaves what an order says of files. */
static void files_leave(json_t *o)
{
	static const char *const files[] = {"append", "carried", "err", "keep", "out", "ticket", "umask"};
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(o, next, name, value)
	{
		bool leave = false;
		for (size_t i = 0; i < sizeof files / sizeof *files; i++)
			leave |= strcmp(name, files[i]) == 0;
		if (!leave)
			json_object_del(o, name);
	}
}

/* Appends an order, a member a line. */
static void order_show(const struct part_order *parts, int n)
{
	struct strbuf text = {0};

	for (int i = 0; i < n; i++) {
		strbuf_clear(&text);
		order_write(&parts[i].order, &text);
		json_t *o = json_loads(text.text, 0, NULL);
		if (parts[i].order.carry.ticket)
			json_object_set_new(o, "ticket", json_string(parts[i].order.carry.ticket));
		if (files_alone)
			files_leave(o);
		char *members = json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS);
		strbuf_printf(&shown, "\n== part %d of %d, on \"%s\"\n", i, n, parts[i].host);
		recorded_put(&shown, site, members);
		strbuf_printf(&shown, "\n%.*s", (int)parts[i].nscript, parts[i].script ? parts[i].script : "");
		json_decref(o);
		free(members);
	}
	strbuf_fini(&text);
}

/* Submits a job, which starts and ends. */
static void job_order(const char *body)
{
	const struct bare_attempt *all;
	char tag[64];

	strbuf_printf(&shown, "\n==== %s\n", body);
	if (site_ask(site, SMALL_DAEMON, "POST", "/v1/jobs", body) != 201)
		fail_msg("%s: %s", body, site->a.body.text);
	for (int i = 0; i < 5; i++)
		server_turn(site->s);
	if (bare_attempts(&all) == 0) {
		site_ask(site, SMALL_DAEMON, "GET", "/v1/jobs?fields=id,state,comment", NULL);
		fail_msg("%s: %s", body, site->a.body.text);
	}
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_started(site->s, tag);
	bare_forget(tag);
	dispatch_engine.attempt_ended(
		site->s, &(struct result){.tag = tag, .started_us = NOW * 1000000, .ended_us = NOW * 1000000});
	for (int i = 0; i < 5; i++)
		server_turn(site->s);
}

/* Adds a machine whose agent is connected, and what its jobs' tokens are made of. */
static void far_join(void)
{
	static const char facts[] = "{\"cpus\":4,\"memory\":4194304,\"gpus\":2,\"hostname\":\"far.example.org\"}";
	json_t *known = json_loads(facts, 0, NULL);
	uint64_t join = 0;

	site->s->realm->authority.secret = mem_strdup("secret");
	assert_int_equal(nodes_join(site->s, "far", known, "root", &join, NULL), 0);
	bare_agent_hear(site->s, &(struct cert_names){CERT_NODE, "far", join}, facts, NULL);
	json_decref(known);
}

/* What is ordered for jobs, on this machine and on another. */
static void test_ordered(void **state)
{
	static const char *const jobs[] = {
		WORK(""),
		WORK(",\"name\":\"all\",\"queue\":\"batch\",\"args\":[\"a b\",\"c\"],\"environment\":[\"A=b\",\"LANG=de\"],"
		     "\"umask\":\"027\",\"shell\":\"/bin/bash\",\"output\":\"o\",\"error\":\"/e\",\"join\":\"oe\","
		     "\"rerunnable\":false,\"account\":\"money\",\"project\":\"p\",\"submit_host\":\"pine\","
		     "\"resources\":[\"nodes=1:ppn=3,walltime=600,mem=2gb,file=1gb,cput=90\"]"),
		WORK(",\"name\":\"kept\",\"keep\":\"oe\",\"checkpoint\":\"interval=60,duration=5\",\"exclusive\":\"node\""),
		WORK(",\"array\":\"3\",\"join\":\"eo\""),
		WORK(",\"resources\":[\"nodes=2:ppn=2,walltime=60\"]"),
		"{\"interactive\":true,\"workdir\":\"/tmp\",\"resources\":[\"walltime=60\"]}",
		WORK(",\"resources\":[\"nodes=far:ppn=2:gpus=1,mem=1gb,walltime=60\"],\"args\":[\"x\"]"),
		WORK(",\"resources\":[\"nodes=n1:ppn=2+far:ppn=1,walltime=60\"]"),
		WORK(",\"resources\":[\"nodes=far:ppn=1+n2:ppn=2\"],\"stagein\":\"in@localhost:a\",\"class\":\"spmd\""),
		WORK(",\"resources\":[\"nodes=far:ppn=1,walltime=60\"],"
		     "\"stagein\":\"in@localhost:/a,$TMPDIR/x@far.example.org:b\",\"stageout\":\"/out@FAR:c\""),
		WORK(",\"stageout\":\"out@far:/c\""),
	};
#define FAR "\"resources\":[\"nodes=far:ppn=1,walltime=60\"],"
	static const char *const carried[] = {
		WORK(",\"output\":\"/tmp/o\",\"error\":\"/tmp/e\""),
		WORK("," FAR "\"output\":\"/tmp/o\",\"error\":\"/tmp/e\""),
		WORK("," FAR "\"umask\":\"027\",\"join\":\"oe\""),
		WORK("," FAR "\"join\":\"eo\",\"error\":\"e\""),
		WORK("," FAR "\"keep\":\"o\""),
		WORK("," FAR "\"keep\":\"e\""),
		WORK("," FAR "\"output\":\"far:/tmp/o\",\"error\":\"bare:/tmp/e\""),
		WORK(",\"output\":\"far.example.org:/tmp/o\",\"error\":\":/tmp/e\""),
		WORK("," FAR "\"submit_host\":\"pine\""),
		WORK(",\"output\":\"pine:/tmp/o\""),
		WORK(",\"submit_host\":\"far\",\"stagein\":\"in@bare:/a\""),
		WORK("," FAR "\"output\":\"/dev/null\",\"error\":\"/shared\""),
		WORK("," FAR "\"output\":\"/shared/o\",\"error\":\"/shared2/e\""),
		WORK("," FAR "\"output\":\"/sw/o\",\"error\":\"/s/e\",\"stageout\":\"a@bare:b\""),
	};
	const struct passwd *user = getpwuid(SMALL_DAEMON);

	if (getuid() != 0)
		skip_because("users other than root can't start jobs of others");
	if (!user || strcmp(user->pw_dir, "/usr/sbin") != 0 || strcmp(user->pw_shell, "/usr/sbin/nologin") != 0)
		skip_because("the user daemon has another home or shell than what was recorded");
	setenv("TZ", "UTC", 1);
	tzset();
	site_setup(state, "n[1-2]:cpus=4", NOW);
	site = *state;
	far_join();
	bare_ordered = order_show;
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
		job_order(jobs[i]);
	files_alone = true;
	site->s->realm->listener = (struct listener *)&bare_port; /* other machines can reach this one */
	assert_int_equal(site_set(site, "shared_paths", "/shared, /sw//"), 200);
	for (size_t i = 0; i < sizeof carried / sizeof *carried; i++)
		job_order(carried[i]);
	site->s->realm->listener = NULL;
	bare_ordered = NULL;
	recorded_compare(ORDERS_NAME, "==== ", &shown);
	strbuf_fini(&shown);
	site_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shown), cmocka_unit_test(test_ordered)};

	return cmocka_run_group_tests_name("shown", tests, NULL, NULL);
}
