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

#include <cmocka.h>

#include "golden/recorded.h"
#include "golden/small.h"
#include "server/loop.h"

#define FILE_NAME SHUNT_ROOT "/tests/golden/shown.txt"

static struct site *site;
static struct strbuf shown;

/* Appends a request with its answer, a member a line. */
static void show(uid_t uid, const char *path)
{
	int status = site_ask(site, uid, "GET", path, NULL);
	json_t *o = json_loads(strbuf_text(&site->a.body), JSON_DECODE_ANY, NULL);
	char *text =
		o ? json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;

	strbuf_printf(&shown, "\n== %s: %d\n", path, status);
	recorded_put(&shown, site, text ? text : strbuf_text(&site->a.body));
	strbuf_puts(&shown, "\n");
	free(text);
	json_decref(o);
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

static void test_shown(void **state)
{
	small_open(state);
	site = *state;
	all_show("submitted");
	small_live(site);
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
	recorded_compare(FILE_NAME, "== ", &shown);
	strbuf_fini(&shown);
	site_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shown)};

	return cmocka_run_group_tests_name("shown", tests, NULL, NULL);
}
