/*
 * test_rights.c - every route of the API, asked by every role: who is refused. A route without a
 * row here fails.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/api/frame/route.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

/* In the order of a row's `who`. The coordinator is that of queue `long` and of account `low`, in
 * which all jobs are. */
enum { OTHER, OWNER, COORDINATOR, OPERATOR, MANAGER, ROLES };
static const char letters[] = "uOQom";
/* users that every system has; the manager is the one whose server it is */
static const uid_t uids[ROLES] = {[OTHER] = 65534, [OWNER] = 1, [COORDINATOR] = 2, [OPERATOR] = 3};

#define ALL "uOQom"
#define OWN ".OQom" /* what is done to a job: its owner and those above */
#define OPERATE "...om"
#define MANAGE "....m"
#define NOBODY "....." /* nobody by the server's own socket */
#define SET(name, value) "{\"changes\":[{\"op\":\"set\",\"name\":\"" name "\",\"value\":\"" value "\"}]}"
#define IDS "{\"ids\":[\"%d\"]}"

/* Every route. `path` and `body` are those of the request; %d: a waiting job of the owner, another
 * one each time. `who`: a letter for each role that is not refused; NULL: not asked here. */
static const struct {
	const char *method, *route, *who, *path, *body;
} rows[] = {
	{"GET", "/openapi.json", ALL, NULL, NULL},
	{"POST", "/v1/jobs", ALL, .body = "{\"script\":\"true\"}"},
	{"GET", "/v1/jobs", ALL, NULL, NULL},
	{"POST", "/v1/jobs/withdraw", NOBODY, .body = "{\"key\":\"x\"}"}, /* sites, by their tokens */
	{"POST", "/v1/jobs/delete", OWN, .body = IDS},
	{"POST", "/v1/jobs/alter", OWN, .body = "{\"ids\":[\"%d\"],\"name\":\"x\"}"},
	{"POST", "/v1/jobs/hold", OWN, .body = "{\"ids\":[\"%d\"],\"holds\":\"u\"}"},
	{"POST", "/v1/jobs/release", OWN, .body = "{\"ids\":[\"%d\"],\"holds\":\"u\"}"},
	{"POST", "/v1/jobs/signal", OWN, .body = "{\"ids\":[\"%d\"],\"signal\":\"SIGUSR1\"}"},
	{"POST", "/v1/jobs/rerun", OWN, .body = IDS},
	{"POST", "/v1/jobs/run", OPERATE, .body = IDS},
	{"POST", "/v1/jobs/move", OWN, .body = "{\"ids\":[\"%d\"],\"queue\":\"long\"}"},
	{"POST", "/v1/jobs/message", ".O.om", .body = "{\"ids\":[\"%d\"],\"text\":\"x\",\"to\":\"err\"}"},
	{"POST", "/v1/jobs/order", OWN, .body = "{\"ids\":[\"%d\",\"%d\"]}"},
	{"POST", "/v1/jobs/place", OWN, .body = "{\"ids\":[\"%d\"],\"after\":\"%d\"}"},
	{"POST", "/v1/jobs/*", ALL, "/v1/jobs/nosuch", "{}"},
	{"GET", "/v1/jobs/*", ALL, "/v1/jobs/%d", NULL},
	{"PATCH", "/v1/jobs/*", OWN, "/v1/jobs/%d", "{\"name\":\"x\"}"},
	{"DELETE", "/v1/jobs/*", OWN, "/v1/jobs/%d", NULL},
	{"GET", "/v1/jobs/*/script", ".O..m", "/v1/jobs/%d/script", NULL},
	{"GET", "/v1/jobs/*/submission", ".O..m", "/v1/jobs/%d/submission", NULL},
	{"POST", "/v1/jobs/*/again", ".O...", "/v1/jobs/%d/again", "{}"},
	{"GET", "/v1/jobs/*/elements", ALL, "/v1/jobs/%d/elements", NULL},
	{"GET", "/v1/jobs/*/events", ALL, "/v1/jobs/%d/events", NULL},
	{"GET", "/v1/jobs/*/usage", ALL, "/v1/jobs/%d/usage", NULL},
	{"GET", "/v1/jobs/*/why", ALL, "/v1/jobs/%d/why", NULL},
	{"GET", "/v1/jobs/*/output", ".O..m", "/v1/jobs/%d/output", NULL},
	{"GET", "/v1/jobs/*/terminal", ".O...", "/v1/jobs/%d/terminal", NULL},
	{"GET", "/v1/jobs/*/enter", ".O...", "/v1/jobs/%d/enter", NULL},
	{"GET", "/v1/jobs/*/program", ".O...", "/v1/jobs/%d/program?key=0123456789abcdef", NULL},
	{"POST", "/v1/jobs/*/program", ".O...", "/v1/jobs/%d/program?key=0123456789abcdef", NULL},
	{"POST", "/v1/whatif", ALL, .body = "{\"resources\":[\"ncpus=1\"]}"},
	{"GET", "/v1/templates", ALL, NULL, NULL},
	{"PUT", "/v1/templates/*", MANAGE, "/v1/templates/x", "{\"site\":true,\"job\":{}}"},
	{"GET", "/v1/templates/*", ALL, "/v1/templates/x", NULL},
	{"DELETE", "/v1/templates/*", MANAGE, "/v1/templates/x", NULL},
	{"GET", "/v1/server", ALL, NULL, NULL},
	{"GET", "/v1/server/log", MANAGE, NULL, NULL},
	{"GET", "/v1/machine", ALL, NULL, NULL},
	{"GET", "/v1/overview", ALL, NULL, NULL},
	{"GET", "/v1/backfill", ALL, NULL, NULL},
	{"GET", "/v1/priority", ALL, NULL, NULL},
	{"GET", "/v1/fairshare", ALL, NULL, NULL},
	{"GET", "/v1/hooks", OPERATE, NULL, NULL},
	{"POST", "/v1/hooks/try", MANAGE, .body = "{}"},
	{"GET", "/v1/audit", MANAGE, NULL, NULL},
	{"GET", "/v1/site", MANAGE, NULL, NULL},
	{"PATCH", "/v1/server", MANAGE, .body = SET("comment", "x")},
	{"POST", "/v1/shutdown", MANAGE, .body = "[]"},
	{"GET", "/v1/attributes", ALL, NULL, NULL},
	{"GET", "/v1/cluster", ALL, NULL, NULL},
	{"GET", "/v1/queues", ALL, NULL, NULL},
	{"GET", "/v1/queues/*", ALL, "/v1/queues/long", NULL},
	{"PUT", "/v1/queues/*", MANAGE, "/v1/queues/new", NULL},
	{"PATCH", "/v1/queues/*", "..Qom", "/v1/queues/long", SET("started", "False")},
	{"DELETE", "/v1/queues/*", MANAGE, "/v1/queues/new", NULL},
	{"GET", "/v1/queues/*/events", ALL, "/v1/queues/long/events", NULL},
#define OBJECTS(kind, changer, name, value)                                                                            \
	{"GET", "/v1/" kind, ALL, NULL, NULL}, {"GET", "/v1/" kind "/*", ALL, "/v1/" kind "/x", NULL},                 \
		{"PUT", "/v1/" kind "/*", MANAGE, "/v1/" kind "/x", NULL},                                             \
		{"PATCH", "/v1/" kind "/*", changer, "/v1/" kind "/x", SET(name, value)},                              \
	{                                                                                                              \
		"DELETE", "/v1/" kind "/*", MANAGE, "/v1/" kind "/x", NULL                                             \
	}
	OBJECTS("classes", MANAGE, "preempt_signal", "15"),
	OBJECTS("users", MANAGE, "priority", "10"),
	OBJECTS("groups", MANAGE, "priority", "10"),
	OBJECTS("accounts", MANAGE, "parent", "low"), /* access lists are below */
	OBJECTS("reservations", MANAGE, "comment", "x"),
	OBJECTS("qos", MANAGE, "priority", "10"),
	OBJECTS("partitions", MANAGE, "comment", "x"),
	{"PATCH", "/v1/accounts/*", "..Q.m", "/v1/accounts/low", SET("acl_users", "daemon")},
	{"GET", "/v1/nodes", ALL, NULL, NULL},
	{"GET", "/v1/nodes/*", ALL, "/v1/nodes/n1", NULL},
	{"PATCH", "/v1/nodes/*", OPERATE, "/v1/nodes/n1", "{\"note\":\"x\"}"},
	{"DELETE", "/v1/nodes/*", MANAGE, "/v1/nodes/n1", NULL},
	{"GET", "/v1/nodes/*/events", ALL, "/v1/nodes/n1/events", NULL},
	{"GET", "/v1/tokens", ALL, NULL, NULL},
	{"POST", "/v1/tokens", ALL, .body = "{\"kind\":\"user\"}"},
	{"DELETE", "/v1/tokens/*", ALL, "/v1/tokens/nosuch", NULL},
	{"POST", "/v1/join", NOBODY, .body = "{}"},  /* other machines, by a token */
	{"POST", "/v1/login", NOBODY, .body = "{}"}, /* other machines, by a password */
	{"GET", "/v1/whoami", ALL, NULL, NULL},
	{"POST", "/v1/page", ALL, .body = "{}"},
	{"GET", "/v1/clusters", ALL, NULL, NULL},
	{"POST", "/v1/clusters/*", ALL, "/v1/clusters/x", "{}"},
	{"GET", "/v1/session", NOBODY, NULL, NULL}, /* visitors of the page */
	{"POST", "/v1/session", NOBODY, .body = "{}"},
	{"DELETE", "/v1/session", ALL, NULL, NULL},
	/* in a process of the user, which a test's own server can't start: tests/scenario/page */
	{"GET", "/v1/files", NULL, NULL, NULL},
	{"GET", "/v1/files/content", NULL, NULL, NULL},
	{"PUT", "/v1/files/content", NULL, NULL, NULL},
	{"POST", "/v1/uploads", NULL, NULL, NULL},
	{"GET", "/v1/overlays", ALL, NULL, NULL},
	{"PUT", "/v1/overlays/*", MANAGE, "/v1/overlays/x", "{}"},
	{"PATCH", "/v1/overlays/*", MANAGE, "/v1/overlays/x", "{}"},
	{"DELETE", "/v1/overlays/*", MANAGE, "/v1/overlays/x", NULL},
	{"POST", "/v1/keeper", MANAGE, .body = "{}"},
	{"POST", "/v1/keeper/*", MANAGE, "/v1/keeper/x", "{}"},
	{"GET", "/v1/simulations", OPERATE, NULL, NULL},
	{"GET", "/v1/simulations/*", OPERATE, "/v1/simulations/x", NULL},
	{"POST", "/v1/simulations", OPERATE, .body = "[]"},
	{"GET", "/v1/sites", ALL, NULL, NULL},
	{"PUT", "/v1/sites/*", MANAGE, "/v1/sites/x", "{}"},
	{"DELETE", "/v1/sites/*", MANAGE, "/v1/sites/x", NULL},
	{"POST", "/v1/courier", MANAGE, .body = "{}"},
	{"GET", "/v1/courier/*", MANAGE, "/v1/courier/x", NULL},
	{"POST", "/v1/courier/*", MANAGE, "/v1/courier/x", "{}"},
	{"POST", "/v1/courier/*/output", MANAGE, "/v1/courier/x/output", "{}"},
	{"GET", "/v1/quota", ALL, NULL, NULL},
	{"GET", "/v1/quota", ".O.om", "/v1/quota?user=daemon", NULL},
	{"POST", "/v1/quota", MANAGE, .body = "{}"},
	{"DELETE", "/v1/quota/*", MANAGE, "/v1/quota/daemon", NULL},
	{"GET", "/v1/quota/moves", ".O.om", "/v1/quota/moves?user=daemon", NULL},
	{"GET", "/v1/credits", ALL, NULL, NULL},
	{"POST", "/v1/credits", MANAGE, .body = "{}"},
	{"GET", "/v1/credits/statement", ALL, "/v1/credits/statement?account=low", NULL},
	{"GET", "/v1/plan", ALL, NULL, NULL},
	{"GET", "/v1/events", ALL, NULL, NULL},
	{"GET", "/v1/log", ALL, NULL, NULL},
	{"GET", "/v1/metrics", ALL, NULL, NULL},
	{"GET", "/v1/history", ALL, NULL, NULL},
	{"POST", "/v1/history", MANAGE, .body = "{}"},
	{"GET", "/v1/history/sums", ALL, NULL, NULL},
	{"GET", "/v1/usage", ALL, NULL, NULL},
};

static void ask(struct site *f, const char *method, const char *path, const char *body, int status)
{
	if (site_ask(f, getuid(), method, path, body) != status)
		fail_msg("%s %s: %s", method, path, strbuf_text(&f->a.body));
}

static int setup(void **state)
{
	int rc = site_setup(state, "n1:cpus=4", 0);
	struct site *f = *state;

	site_set(f, "query_other_jobs", "True");
	site_set(f, "scheduling", "False");
	site_set(f, "operators", "sys");
	ask(f, "PUT", "/v1/queues/long", "{}", 201);
	ask(f, "PATCH", "/v1/queues/long",
	    "{\"changes\":[{\"op\":\"set\",\"name\":\"enabled\",\"value\":\"True\"},"
	    "{\"op\":\"set\",\"name\":\"started\",\"value\":\"True\"},"
	    "{\"op\":\"set\",\"name\":\"coordinators\",\"value\":\"bin\"}]}",
	    200);
	ask(f, "PUT", "/v1/accounts/low", "{}", 201);
	ask(f, "PATCH", "/v1/accounts/low", SET("coordinators", "bin"), 200);
	return rc;
}

/* Returns the number of another waiting job of the owner. */
static int job_make(struct site *f)
{
	int number = 0;

	if (site_ask(f, uids[OWNER], "POST", "/v1/jobs",
		     "{\"script\":\"true\",\"queue\":\"long\",\"account\":\"low\"}") != 201)
		fail_msg("%s", strbuf_text(&f->a.body));
	sscanf(strstr(f->a.body.text, "\"id\":\"") + 6, "%d", &number);
	return number;
}

/* Writes the text with a job in each place of %d. */
static void jobs_put(struct site *f, const char *text, char *ret, size_t size)
{
	const char *at;
	size_t n = 0;

	for (; (at = strstr(text, "%d")); text = at + 2)
		n += (size_t)snprintf(ret + n, size - n, "%.*s%d", (int)(at - text), text, job_make(f));
	snprintf(ret + n, size - n, "%s", text);
}

/* Returns true if the answer says that this client may not. */
static bool refused(const struct site *f, int status)
{
	return status == 401 || status == 403 || strstr(strbuf_text(&f->a.body), "\"code\":\"forbidden\"");
}

static void every_route_refuses_whom_it_should(void **state)
{
	struct site *f = *state;
	char path[256], body[512];
	int wrong = 0;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int who = 0; rows[i].who && who < ROLES; who++) {
			jobs_put(f, rows[i].path ? rows[i].path : rows[i].route, path, sizeof path);
			jobs_put(f, rows[i].body ? rows[i].body : "", body, sizeof body);
			int status = site_ask(f, who == MANAGER ? getuid() : uids[who], rows[i].method, path,
					      *body ? body : NULL);
			if (refused(f, status) != (rows[i].who[who] == '.')) {
				print_error("%s %s %s by %c: %d %.300s\n", rows[i].method, path, body, letters[who],
					    status, strbuf_text(&f->a.body));
				wrong++;
			}
		}
	assert_int_equal(wrong, 0);
}

static void templates_of_one_user_are_hidden_from_others(void **state)
{
	struct site *f = *state;
	const char *path = "/v1/templates/mine";

	assert_int_equal(site_ask(f, uids[OWNER], "PUT", path, "{\"job\":{\"script\":\"true\"}}"), 201);
	assert_int_equal(site_ask(f, uids[OWNER], "GET", path, NULL), 200);
	assert_int_equal(site_ask(f, uids[OTHER], "GET", path, NULL), 404);
	assert_int_equal(site_ask(f, uids[OTHER], "DELETE", path, NULL), 404);
	site_ask(f, uids[OTHER], "GET", "/v1/templates", NULL);
	assert_null(strstr(f->a.body.text, "mine"));
	assert_int_equal(site_ask(f, getuid(), "PUT", path, "{\"site\":true,\"job\":{\"script\":\"false\"}}"), 201);
	assert_int_equal(site_ask(f, uids[OTHER], "GET", path, NULL), 200);
	assert_int_equal(site_ask(f, uids[OWNER], "DELETE", path, NULL), 200); /* one's own */
	assert_int_equal(site_ask(f, uids[OWNER], "DELETE", path, NULL), 403);
}

/* Where users do not see each other's jobs, the stream has the events of one's own jobs, and those
 * of nodes and queues. */
static void events_are_for_those_who_may_see(void **state)
{
	struct site *f = *state;

	site_set(f, "query_other_jobs", "False");
	site_ask(f, uids[OTHER], "GET", "/v1/events", NULL); /* events are kept from now on */
	job_make(f);
	ask(f, "PATCH", "/v1/nodes/n1", "{\"offline\":true}", 200);
	server_turn(f->s);
	for (int who = OTHER; who <= OWNER; who++) {
		assert_int_equal(site_ask(f, uids[who], "GET", "/v1/events?after=0", NULL), 200);
		assert_non_null(strstr(f->a.body.text, "event: node\n"));
		assert_int_equal(strstr(f->a.body.text, "event: submit\n") != NULL, who == OWNER);
	}
}

static void every_route_has_a_row(void **state)
{
	for (size_t i = 0; i < nroutes; i++) {
		bool found = false;
		for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
			found |= strcmp(rows[k].method, routes[i].method) == 0 &&
				 strcmp(rows[k].route, routes[i].path) == 0;
		if (!found)
			fail_msg("%s %s has no row in the table of rights", routes[i].method, routes[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_route_has_a_row),
		cmocka_unit_test_setup_teardown(templates_of_one_user_are_hidden_from_others, setup, site_teardown),
		cmocka_unit_test_setup_teardown(events_are_for_those_who_may_see, setup, site_teardown),
		cmocka_unit_test_setup_teardown(every_route_refuses_whom_it_should, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
