/*
 * test_words.c - words of the API, table by table: every word occurs, and means what it says.
 */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outcome.h"
#include "rules/gate.h"
#include "server/api/jobs/show.h"
#include "server/api/jobs/show_internal.h"
#include "server/api/stream/events.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/life/world/block.h"
#include "server/loop.h"
#include "server/server.h"
#include "store/store.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)

static int setup(void **state)
{
	setenv("TZ", "UTC", 1);
	return site_setup(state, "n1:cpus=4+n2:cpus=8", NOW);
}

static void ask(struct site *f, const char *method, const char *path, const char *body)
{
	int status = site_ask(f, getuid(), method, path, body);

	if (status != 200 && status != 201)
		fail_msg("%s %s %s: %s", method, path, body, strbuf_text(&f->a.body));
}

#define SET(name, value) "{\"op\":\"set\",\"name\":\"" name "\",\"value\":\"" value "\"}"
#define CHANGES(list) "{\"changes\":[" list "]}"

static void queue_make(struct site *f, const char *name, const char *changes)
{
	char path[80], body[400];

	snprintf(path, sizeof path, "/v1/queues/%s", name);
	snprintf(body, sizeof body, CHANGES("%s"), changes);
	ask(f, "PUT", path, "{}");
	ask(f, "PATCH", path, body);
}

/* Checks that a list of jobs shows this reason for a job. */
static void reason_is(struct site *f, int job, const char *code, const char *text)
{
	char path[80], reason[200];

	snprintf(path, sizeof path, "/v1/jobs/%d", job);
	snprintf(reason, sizeof reason, "\"reason\":{\"code\":\"%s\",\"text\":\"%s\"", code, text);
	ask(f, "GET", path, NULL);
	if (!strstr(f->a.body.text, reason))
		fail_msg("%s is not in %s", reason, f->a.body.text);
}

/* Jobs that wait while 9 of 12 CPUs are idle and nothing is started, in the order of
 * REASON_CODES. */
static const struct {
	const char *code, *text, *members;
} waiting[] = {
	{"misfit", "no node could hold it, since the nodes have changed", "\"resources\":[\"nodes=1:ppn=8\"]"},
	{"held", "held: qrls releases it", "\"hold\":\"u\""},
	{"depend", "waits for jobs that it depends on", "\"depend\":\"afterok:1\""},
	{"time", "waits for its time (-a)", "\"at\":1800003600"},
	{"retry", "failed, and is not tried again yet", "\"name\":\"again\""},
	{"route", "no destination of its routing queue accepts it", "\"queue\":\"entry\""},
	{"stopped", "its queue is stopped", "\"queue\":\"closed\""},
	{"bound", "it is bound to reservation exam, which begins in 2h",
	 "\"queue\":\"course\",\"resources\":[\"walltime=600\"]"},
	{"limit", "the limit of 0 running jobs of its queue is reached (max_running)", "\"queue\":\"narrow\""},
	{"said", "after the exam", "\"comment\":\"after the exam\""},
	{"cpus", "needs 10 CPUs, 9 are free", "\"resources\":[\"procs=10\"]"},
	{"machines", "waits for empty machines", "\"exclusive\":\"host\""},
	{"nodes", "waits for empty nodes", "\"exclusive\":\"node\""},
	{"turn", "waits for its turn", "\"name\":\"plain\""},
};
enum { WAITING = sizeof waiting / sizeof *waiting };

static void every_reason_is_shown(void **state)
{
	struct site *f = *state;
	struct strbuf codes = {0};
	char body[400];

	queue_make(f, "closed", SET("enabled", "True"));
	queue_make(f, "narrow", SET("enabled", "True") "," SET("started", "True") "," SET("max_running", "0"));
	queue_make(f, "full", SET("enabled", "True"));
	queue_make(f, "entry",
		   SET("queue_type", "Route") "," SET("route_destinations", "full") "," SET("enabled", "True"));
	ask(f, "PUT", "/v1/reservations/exam", "{}");
	snprintf(body, sizeof body,
		 CHANGES(SET("nodes", "n1") "," SET("start", "2027-01-15T10:00") "," SET("duration", "3600") "," SET(
			 "acl_users", "%s")),
		 getpwuid(getuid())->pw_name);
	ask(f, "PATCH", "/v1/reservations/exam", body);
	ask(f, "PUT", "/v1/qos/students", "{}");
	ask(f, "PATCH", "/v1/qos/students", CHANGES(SET("reservation", "exam")));
	queue_make(f, "course", SET("enabled", "True") "," SET("started", "True") "," SET("default_qos", "students"));
	ask(f, "POST", "/v1/jobs", "{\"script\":\"true\",\"resources\":[\"nodes=1:ppn=3\"]}");
	server_turn(f->s);
	site_set(f, "scheduling", "False");
	for (int i = 0; i < WAITING; i++) {
		strbuf_printf(&codes, "%s%s", i ? "|" : "", waiting[i].code);
		snprintf(body, sizeof body, "{\"script\":\"true\",%s}", waiting[i].members);
		ask(f, "POST", "/v1/jobs", body);
	}
	assert_string_equal(strbuf_text(&codes), REASON_CODES);
	strbuf_fini(&codes);
	ask(f, "PATCH", "/v1/queues/full", CHANGES(SET("enabled", "False")));
	ask(f, "PATCH", "/v1/queues/entry", CHANGES(SET("started", "True")));
	block_set(f->s, (uint32_t)f->s->jobs->entries.n - WAITING + 4, BLOCK_RETRY);
	server_turn(f->s);
	for (int i = 1; i < WAITING; i++)
		reason_is(f, i + 2, waiting[i].code, waiting[i].text);
	f->nodes = "n1:cpus=4";
	site_reopen(f);
	server_turn(f->s);
	reason_is(f, 2, waiting[0].code, waiting[0].text);
}

/* Every event, by the number that the store has, with the sentence that is shown. */
static const struct {
	int type;
	const char *name, *words;
	struct payload p;
} events[] = {
	{0, "submit", "submitted by ana", {.who = "ana"}},
	{1, "hold", "not eligible to run", {0}},
	{2, "release", "eligible to run", {0}},
	{3, "starve", "has waited too long: it reserves from now on", {0}},
	{4, "allocate", "planned to start 2027-01-15 08:00:00 on n1+n2", {0}},
	{5, "deallocate", "lost its planned place for job 1.bare", {0}},
	{6, "guarantee", "its deadline is guaranteed", {0}},
	{7, "start", "ordered to start on n1+n2", {0}},
	{8, "started", "runs", {0}},
	{9, "start-failed", "could not be started: no such shell", {.text = "no such shell"}},
	{10, "preempt", "stopped, to run again for job 1.bare", {0}},
	{10, "preempt", "stopped, to continue elsewhere: n1 is needed", {.moves = true, .text = "n1 is needed"}},
	{10, "retry", "failed: 3", {.retried = true, .text = "failed: 3"}},
	{11, "migrate", "continues until 2027-01-15 08:00:00, when its place is needed for job 1.bare", {0}},
	{12, "finish", "ended with exit status 3: late", {.exit_status = 3, .text = "late"}},
	{12, "finish", "ended with exit status 255", {.exit_status = 255}},
	{12, "finish", "ended by signal 9", {.exit_status = 256 + 9}},
	{12, "finish", "ended: its processes were lost", {.exit_status = EXIT_LOST}},
	{13, "expire", "its deadline could no longer be met", {0}},
	{14, "delete", "deleted before it ran: too long by ana", {.exit_status = -1, .text = "too long", .who = "ana"}},
	{14, "delete", "ended with exit status 0", {0}},
	{15, "keep", "will start by 2027-01-15 08:00:00, on n1+n2", {0}},
	{32, "placed", "got its CPUs", {0}},
	{33, "asked", "asked to run again by ana", {.intent = INTENT_RERUN, .who = "ana"}},
	{33, "asked", "asked to be deleted", {.intent = INTENT_DELETE}},
	{34, "note", "a note", {.text = "a note"}},
	{35, "alter", "walltime was changed by ana", {.text = "walltime was changed", .who = "ana"}},
	{36, "holds", "held", {.text = "held"}},
	{37, "signal", "suspended", {.text = "suspended"}},
	{38, "rank", "moved within the queue by ana", {.who = "ana"}},
	{39, "checkpoint", "checkpoint begun (periodic)", {.saves.last = {.state = SAVE_BEGUN}}},
	{39, "checkpoint", "checkpoint saved (periodic)", {.saves.last = {.state = SAVE_GOOD}}},
	{39, "checkpoint", "checkpoint failed (periodic)", {.saves.last = {.state = SAVE_FAILED}}},
	{39, "checkpoint", "restarted from checkpoint 4", {.saves.last = {.restarted = 4}}},
	{39, "checkpoint", "work was lost that no checkpoint covers", {0}},
	{40, "site", "runs at east", {.text = "runs at east"}},
	{41, "gone", "its CPUs are free", {0}},
};

static void every_event_has_words(void **state)
{
	struct site *f = *state;
	int next = 0;

	ask(f, "POST", "/v1/jobs", "{\"script\":\"true\"}");
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		bool by = strstr(events[i].words, "for job") != NULL;
		struct store_event e = {
			.type = events[i].type, .at = NOW, .nodes = "n1+n2", .by = by ? job_key(1, -1) : 0};
		struct strbuf out = {0};
		assert_true(e.type == next || e.type == next - 1); /* none is left out */
		next = e.type + 1 == EVENT_COUNT ? EVENT_PLACED : e.type + 1;
		assert_string_equal(event_name(e.type, &events[i].p), events[i].name);
		event_words(f->s, &e, &events[i].p, &out);
		assert_string_equal(strbuf_text(&out), events[i].words);
		strbuf_fini(&out);
	}
	assert_int_equal(next, SERVER_EVENT_END);
}

/* A sentence does not grow with the number of nodes. */
static void many_nodes_are_counted(void **state)
{
	struct site *f = *state;
	struct strbuf nodes = {0}, out = {0};

	for (int i = 0; i < 5000; i++)
		strbuf_printf(&nodes, "%snode%05d", i ? "+" : "", i);
	struct store_event e = {.type = EVENT_START, .nodes = nodes.text};
	event_words(f->s, &e, &(struct payload){0}, &out);
	assert_true(out.n < 1100);
	assert_non_null(strstr(out.text, "ordered to start on node00000+node00001+"));
	assert_non_null(strstr(out.text, "+node00099 and 4900 more nodes"));
	strbuf_fini(&nodes);
	strbuf_fini(&out);
}

static void every_end_has_words(void **state)
{
	static const struct {
		int64_t status;
		const char *cause, *words;
	} rows[] = {
		{0, "", "succeeded"},
		{1, "", "failed (1)"},
		{256, "", "failed (256)"},
		{256 + 9, "", "failed (signal 9)"},
		{-1, "deleted", "cancelled"},
		{256 + 15, "walltime", "killed (walltime)"},
		{256 + 9, "memory", "killed (memory)"},
		{-1, "dependency", "cancelled (dependency)"},
		{-1, "not_started", "not started"},
		{256 + 1, "hung_up", "hung up"},
		{0, "checkpointed", "checkpointed"},
	};
	char buf[40];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_string_equal(outcome_text(rows[i].status, rows[i].cause, buf, sizeof buf), rows[i].words);
}

/* The CPUs of each node, in the order of the nodes; one name begins with another. */
static void vnodes(void **state)
{
	static const char *const rows[][2] = {
		{"n1/0", "(n1:ncpus=1)"},
		{"n1/0+n1/1+n10/0+n2/3+n2/4+n2/5", "(n1:ncpus=2)+(n10:ncpus=1)+(n2:ncpus=3)"},
		{"n10/0+n1/0", "(n10:ncpus=1)+(n1:ncpus=1)"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct strbuf text = {0};
		vnodes_format(rows[i][0], &text);
		assert_string_equal(strbuf_text(&text), rows[i][1]);
		strbuf_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vnodes),
		cmocka_unit_test_setup_teardown(every_reason_is_shown, setup, site_teardown),
		cmocka_unit_test_setup_teardown(every_event_has_words, setup, site_teardown),
		cmocka_unit_test_setup_teardown(many_nodes_are_counted, setup, site_teardown),
		cmocka_unit_test(every_end_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
