/*
 * test_offline.c - the offer by which commands leave work while no server runs, over starts that
 * are cut short; and changes that another host's agent delivers more than once.
 */
#include <jansson.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "client/offline.h"
#include "client/tray.h"
#include "server/base/turn.h"
#include "server/link/nodes.h"
#include "server/loop.h"
#include "server/node/nodes.h"
#include "server/offline/offline.h"
#include "server/offline/spool.h"
#include "server/offline/view.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "support/site.h"
#include "tls/pki.h"

static int setup(void **state)
{
	int rc = site_setup(state, "n1:cpus=4", INT64_C(1800000000));
	struct site *f = *state;
	char dir[128];

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	return rc || mkdir(dir, 0700);
}

static void offer_get(const struct site *f, struct offer *ret)
{
	char dir[128];
	struct err err;

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	if (offer_read(dir, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static uint64_t put(const struct site *f, const struct offer *l)
{
	struct change c = {.path = "/v1/jobs", .body = "{\"script\":\"true\"}"};
	uint64_t number;
	struct err err;
	char dir[128];

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	if (tray_put(dir, l, &c, &number, &err) < 0)
		fail_msg("%s", err.text);
	return number;
}

/* A server that is killed before it has written its first number leaves an offer with a tray and
 * numbers of its own, and what was left before is still there for the next one. */
static void killed_while_it_begins(void **state)
{
	struct site *f = *state;
	struct offer first, second;
	uint64_t last = 0;
	struct err err;

	f->s->conf->offline = true;
	assert_int_equal(offline_begin(f->s, &err), 0);
	assert_int_equal(offline_open(f->s, &err), 0);
	offer_get(f, &first);
	site_reopen(f);
	for (int i = 0; i < 150; i++)
		last = put(f, &first);
	f->s->conf->offline = true;
	assert_int_equal(offline_begin(f->s, &err), 0);
	offer_get(f, &second);
	assert_string_not_equal(first.tray, second.tray);
	assert_true(second.next > last);
	site_reopen(f);
	assert_true(put(f, &second) > last);
	f->s->conf->offline = true;
	assert_int_equal(offline_begin(f->s, &err), 0);
	assert_int_equal(offline_open(f->s, &err), 0);
	offer_get(f, &first);
	assert_string_not_equal(first.tray, second.tray);
	assert_true(first.next > second.next);
	assert_true(f->s->turn->merging);
}

#define USER 1
#define OTHER 2

/* Checks which of the two jobs a file has, and whether its head says that it has all. */
static void view_has(const struct site *f, const char *name, bool first, bool second, bool all)
{
	struct strbuf text = {0};
	char path[128];

	snprintf(path, sizeof path, "%s/offline/%s", f->dir, name);
	assert_int_equal(file_read(path, 0, 1 << 20, &text), 0);
	assert_int_equal(strstr(text.text, "\n{\"id\":\"1.bare\",") != NULL, first);
	assert_int_equal(strstr(text.text, "\n{\"id\":\"2.bare\",") != NULL, second);
	assert_int_equal(strstr(text.text, "\"all_jobs\":true") != NULL, all);
	strbuf_fini(&text);
}

/* The queue as commands find it while no server runs: all of it, and one's own jobs where users do
 * not see those of others. */
static void queue_is_left(void **state)
{
	struct site *f = *state;
	struct err err;

	f->s->conf->offline = true;
	assert_int_equal(site_set(f, "query_other_jobs", "False"), 200);
	assert_int_equal(offline_begin(f->s, &err), 0);
	assert_int_equal(offline_open(f->s, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(site_ask(f, i ? OTHER : USER, "POST", "/v1/jobs",
					  "{\"script\":\"true\",\"hold\":\"u\",\"name\":\"n\"}"),
				 201);
	view_end(f->s);
	view_has(f, "view", true, true, true);
	view_has(f, "view.1", true, false, false);
	view_has(f, "view.2", false, true, false);
}

/* Leaves a change, as a command does. */
static void leave(const struct site *f, const struct offer *l, const char *path, const char *body)
{
	struct change c = {.path = path, .body = body};
	uint64_t number;
	struct err err;
	char dir[128];

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	if (tray_put(dir, l, &c, &number, &err) < 0)
		fail_msg("%s", err.text);
}

/* Leaves a change of all jobs of the other user that a filter matches. */
static void leave_for(const struct site *f, const struct offer *l, const char *path, const char *filter)
{
	const struct passwd *pw = getpwuid(OTHER);
	char body[200];

	assert_non_null(pw);
	snprintf(body, sizeof body, "{\"filter\":{\"user\":\"%s\",%s}}", pw->pw_name, filter);
	leave(f, l, path, body);
}

/* Compares what the user is shown of the jobs: these members, in the order of the numbers. */
static void jobs_are(const struct site *f, const struct offer *l, const char *expected)
{
	static const char *const shown[] = {"state",	"name",	      "queue",	  "holds",    "type",
					    "deadline", "nice_until", "priority", "walltime", "resources",
					    "cpus",	"array_spec", "host",	  "comment"};
	struct strbuf text = {0};
	char dir[128], number[16];
	struct err err;
	int64_t as_of;
	json_t *jobs, *row;

	snprintf(dir, sizeof dir, "%s/offline", f->dir);
	assert_int_equal(offline_jobs(dir, l, &jobs, &as_of, &err), 0);
	for (int i = 1; i < 2000; i++)
		for (int array = 0; array < 2; array++) {
			snprintf(number, sizeof number, "%d%s", i, array ? "[]" : "");
			if (!(row = json_object_get(jobs, number)))
				continue;
			strbuf_puts(&text, json_string_value(json_object_get(row, "id")));
			for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
				json_t *value = json_object_get(row, shown[k]);
				char *dump = value && !json_is_null(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
				if (dump)
					strbuf_printf(&text, " %s=%s", shown[k], dump);
				free(dump);
			}
			strbuf_puts(&text, "\n");
		}
	assert_string_equal(strbuf_text(&text), expected);
	strbuf_fini(&text);
	json_decref(jobs);
}

/* Two held jobs, and one that runs: what commands find of them, and of what was left since. */
static void queue_has_what_was_left(void **state)
{
	struct site *f = *state;
	const struct bare_attempt *all;
	struct offer l, written; /* the server was killed before it removed a submission */
	struct err err;
	char tag[64];

	f->s->conf->offline = true;
	assert_int_equal(offline_begin(f->s, &err), 0);
	assert_int_equal(offline_open(f->s, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(site_ask(f, i ? OTHER : USER, "POST", "/v1/jobs",
					  "{\"script\":\"true\",\"hold\":\"u\",\"name\":\"n\"}"),
				 201);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", "{\"script\":\"true\"}"), 201);
	for (int i = 0; i < 3; i++)
		server_turn(f->s);
	assert_int_equal(bare_attempts(&all), 1);
	snprintf(tag, sizeof tag, "%s", all[0].tag);
	bare_started(f->s, tag);
	server_turn(f->s);
	view_end(f->s);
	offer_get(f, &l);
	jobs_are(
		f, &l,
		"1.bare state=\"H\" name=\"n\" queue=\"batch\" holds=\"u\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\" comment=\"held: qrls releases it\"\n"
		"2.bare state=\"H\" name=\"n\" queue=\"batch\" holds=\"u\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\" comment=\"held: qrls releases it\"\n"
		"3.bare state=\"R\" name=\"STDIN\" queue=\"batch\" holds=\"n\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\"\n");
	written = l;
	written.next = 3;
	leave(f, &written, "/v1/jobs", "{\"script\":\"true\",\"name\":\"known\"}");
	leave(f, &l, "/v1/jobs",
	      "{\"script\":\"true\",\"name\":\"four\",\"queue\":\"long\",\"priority\":5,\"submit_host\":\"pine\","
	      "\"resources\":[\"nodes=2:ppn=3\",\"walltime=90\"]}");
	leave(f, &l, "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\",\"array\":\"1-3\",\"resources\":[\"procs=7\"]}");
	leave(f, &l, "/v1/jobs", "{\"script\":\"true\",\"name\":\"six\",\"deadline\":2000000000}");
	leave(f, &l, "/v1/jobs", "{\"script\":\"true\",\"name\":\"seven\",\"type\":\"N\",\"deadline\":2000000000}");
	jobs_are(
		f, &l,
		"1.bare state=\"H\" name=\"n\" queue=\"batch\" holds=\"u\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\" comment=\"held: qrls releases it\"\n"
		"2.bare state=\"H\" name=\"n\" queue=\"batch\" holds=\"u\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\" comment=\"held: qrls releases it\"\n"
		"3.bare state=\"R\" name=\"STDIN\" queue=\"batch\" holds=\"n\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\"\n"
		"101.bare state=\"Q\" name=\"four\" queue=\"long\" priority=5 walltime=90 resources=\"nodes=2:ppn=3,walltime=90\" cpus=6 host=\"pine\" comment=\"it was submitted while the server was down\"\n"
		"102[].bare state=\"H\" name=\"STDIN\" holds=\"u\" resources=\"procs=7\" cpus=7 array_spec=\"1-3\" comment=\"it was submitted while the server was down\"\n"
		"103.bare state=\"Q\" name=\"six\" type=\"Q\" deadline=2000000000 cpus=1 comment=\"it was submitted while the server was down\"\n"
		"104.bare state=\"Q\" name=\"seven\" type=\"N\" nice_until=2000000000 cpus=1 comment=\"it was submitted while the server was down\"\n");
	leave(f, &l, "/v1/jobs/hold", "{\"ids\":[\"101\",\"3\",\"nothing\",\".\"],\"holds\":\"uo\"}");
	leave(f, &l, "/v1/jobs/release", "{\"ids\":[\"1.bare\",\"102[]\"]}");
	leave(f, &l, "/v1/jobs/move", "{\"ids\":[\"2\",\"3\"],\"queue\":\"short\"}");
	leave(f, &l, "/v1/jobs/alter",
	      "{\"ids\":[\"101.bare\",\"3\"],\"name\":\"new\",\"priority\":-3,\"resources\":[\"walltime=30\"]}");
	leave(f, &l, "/v1/jobs/alter", "{\"ids\":[\"104\"],\"type\":\"Q\",\"deadline\":1900000000}");
	leave(f, &l, "/v1/jobs/alter", "{\"ids\":[\"103\"],\"type\":\"N\"}");
	leave(f, &l, "/v1/jobs/place", "{\"ids\":[\"103\",\"3\"],\"after\":\"0\"}");
	leave(f, &l, "/v1/jobs/release", "{\"ids\":[\"101\"]}");
	leave(f, &l, "/v1/jobs/hold", "{\"ids\":[\"103\"],\"holds\":\"x\"}");
	jobs_are(
		f, &l,
		"1.bare state=\"Q\" name=\"n\" queue=\"batch\" holds=\"n\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\"\n"
		"2.bare state=\"H\" name=\"n\" queue=\"short\" holds=\"u\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\" comment=\"held: qrls releases it\"\n"
		"3.bare state=\"R\" name=\"new\" queue=\"batch\" holds=\"n\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\"\n"
		"101.bare state=\"H\" name=\"new\" queue=\"long\" holds=\"o\" priority=-3 walltime=30 resources=\"nodes=2:ppn=3,walltime=00:00:30\" cpus=6 host=\"pine\" comment=\"it was submitted while the server was down\"\n"
		"102[].bare state=\"Q\" name=\"STDIN\" holds=\"n\" resources=\"procs=7\" cpus=7 array_spec=\"1-3\" comment=\"it was submitted while the server was down\"\n"
		"103.bare state=\"Q\" name=\"six\" type=\"N\" cpus=1 comment=\"it is moved when the server is started\"\n"
		"104.bare state=\"Q\" name=\"seven\" type=\"Q\" deadline=1900000000 cpus=1 comment=\"it was submitted while the server was down\"\n");
	leave(f, &l, "/v1/jobs/release", "{\"ids\":[\"101\",\"103\"],\"holds\":\"o\"}");
	leave(f, &l, "/v1/jobs/move", "{\"ids\":[\"101\"],\"queue\":\"short\"}");
	leave(f, &l, "/v1/jobs/delete", "{\"ids\":[\"1\",\"3\"]}");
	leave_for(f, &l, "/v1/jobs/delete", "\"queue\":\"long\"");
	leave_for(f, &l, "/v1/jobs/delete", "\"queue\":\"short\",\"state\":\"QW\"");
	leave_for(f, &l, "/v1/jobs/delete", "\"name\":\"new\"");
	leave_for(f, &l, "/v1/jobs/release", "\"queue\":\"short\",\"state\":\"RH\",\"name\":\"n\"");
	leave(f, &l, "/v1/jobs/delete", "{\"filter\":{\"mine\":true,\"name\":\"seven\",\"state\":\"QH\"}}");
	jobs_are(
		f, &l,
		"2.bare state=\"Q\" name=\"n\" queue=\"short\" holds=\"n\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\"\n"
		"3.bare state=\"R\" name=\"new\" queue=\"batch\" holds=\"n\" type=\"C\" priority=0 walltime=3600 cpus=1 host=\"bare\" comment=\"it is deleted when the server is started\"\n"
		"101.bare state=\"Q\" name=\"new\" queue=\"short\" holds=\"n\" priority=-3 walltime=30 resources=\"nodes=2:ppn=3,walltime=00:00:30\" cpus=6 host=\"pine\" comment=\"it was submitted while the server was down\"\n"
		"102[].bare state=\"Q\" name=\"STDIN\" holds=\"n\" resources=\"procs=7\" cpus=7 array_spec=\"1-3\" comment=\"it was submitted while the server was down\"\n"
		"103.bare state=\"Q\" name=\"six\" holds=\"n\" type=\"N\" cpus=1 comment=\"it is moved when the server is started\"\n");
}

/* ---- changes that an agent brings ---- */

/* A host whose users may leave changes, and the token of one of them. */
struct host {
	uint32_t node;
	json_t *lease;
	struct token token;
};

static void host_make(struct site *f, struct host *h)
{
	json_t *facts = json_pack("{s:i,s:i,s:i}", "cpus", 4, "memory", 1 << 20, "gpus", 0), *made;
	struct err err;
	uint64_t join;

	assert_int_equal(conf_set(f->s->conf, "cluster.listen", "7722", &err), 0);
	assert_int_equal(conf_set(f->s->conf, "cluster.address", "head.example.org:7722", &err), 0);
	f->s->conf->offline = true;
	assert_int_equal(realm_begin(f->s, &err), 0);
	realm_locate(f->s);
	assert_int_equal(nodes_join(f->s, "x1", facts, "test", &join, &err), 0);
	json_decref(facts);
	h->node = (uint32_t)f->s->hosts->nodes.n - 1;
	h->lease = spool_lease(f->s, h->node);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/tokens", "{\"kind\":\"login\"}"), 201);
	made = json_loads(f->a.body.text, 0, NULL);
	assert_int_equal(token_parse(json_string_value(json_object_get(made, "token")), &h->token, &err), 0);
	json_decref(made);
}

/* Delivers a change that the user sealed. The nonce makes it another one. */
static void bring(struct site *f, const struct host *h, int number, const char *path, const char *body,
		  const char *nonce)
{
	struct strbuf sealed = {0}, text = {0};
	char hash[FINGERPRINT_SIZE], seal[64];
	struct offer o;
	struct err err;

	assert_int_equal(offer_load(h->lease, &o, &err), 0);
	seal_text(o.lease, nonce, path, body, &sealed);
	secret_hash(h->token.secret, hash);
	secret_mac(hash, sealed.text, seal);
	change_format(&o, &(struct change){path, body, nonce, h->token.id, seal}, &text);
	json_t *head = json_pack("{s:s,s:I,s:I,s:i}", "t", "kept", "number", (json_int_t)o.next + number, "size",
				 (json_int_t)text.n, "age", 0);
	spool_frame(f->s, h->node, head, text.text, text.n);
	for (int i = 0; i < 3; i++)
		server_turn(f->s);
	json_decref(head);
	strbuf_fini(&sealed);
	strbuf_fini(&text);
}

static void holds_are(struct site *f, const char *expected)
{
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs/1", NULL), 200);
	if (!strstr(f->a.body.text, expected))
		fail_msg("%s is not in %s", expected, f->a.body.text);
}

/* The answer was lost, so the agent delivers the change again: some days later, when the keys of
 * requests are forgotten, and after a restart. Meanwhile the user has taken it back. */
static void brought_again(void **state)
{
	static const char hold[] = "{\"ids\":[\"1\"]}";
	struct site *f = *state;
	struct host h;

	host_make(f, &h);
	assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs", "{\"script\":\"true\",\"at\":1900000000}"), 201);
	bring(f, &h, 0, "/v1/jobs/hold", hold, "first");
	holds_are(f, "\"holds\":\"u\"");
	for (int restarts = 0; restarts < 2; restarts++) {
		assert_int_equal(site_ask(f, USER, "POST", "/v1/jobs/release", hold), 200);
		f->now += 3 * 86400;
		bare_clock(f->now * 1000000);
		server_turn(f->s);
		bring(f, &h, 0, "/v1/jobs/hold", hold, "first");
		holds_are(f, "\"holds\":\"n\"");
		bring(f, &h, 1 + restarts, "/v1/jobs/hold", hold, restarts ? "third" : "second");
		holds_are(f, "\"holds\":\"u\"");
		site_reopen(f);
	}
	json_decref(h.lease);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_while_it_begins, setup, site_teardown),
		cmocka_unit_test_setup_teardown(queue_is_left, setup, site_teardown),
		cmocka_unit_test_setup_teardown(queue_has_what_was_left, setup, site_teardown),
		cmocka_unit_test_setup_teardown(brought_again, setup, site_teardown),
	};

	return cmocka_run_group_tests_name("offline", tests, NULL, NULL);
}
