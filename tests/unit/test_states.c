/*
 * test_states.c - requests that are right in themselves, and not possible in the state that a job,
 * node, queue or object is in: a table of them, in order, with what each answer contains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/nursery.h"
#include "run/order.h"
#include "server/base/instance.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)
#define ROOT 0 /* the server's own user */
#define DAEMON 1
#define BIN 2

static struct site *now;

struct row {
	int uid;
	const char *method, *path, *body;
	int status;
	const char *has;
};

static int ask(const struct row *x)
{
	return site_ask(now, x->uid == ROOT ? getuid() : (uid_t)x->uid, x->method, x->path, x->body);
}

static void requests(const struct row *rows, size_t n)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++) {
		int status = ask(&rows[i]);
		if (status == rows[i].status && strstr(strbuf_text(&now->a.body), rows[i].has))
			continue;
		print_error("%s %s %s: %d %.500s\n", rows[i].method, rows[i].path, rows[i].body ? rows[i].body : "",
			    status, strbuf_text(&now->a.body));
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

#define TABLE(rows) requests(rows, sizeof(rows) / sizeof *(rows))

/* Starts the job that was ordered last; ends it with that status, if it is not negative. */
static void run(int status)
{
	const struct bare_attempt *all;
	char tag[64];

	for (int i = 0; i < 3; i++)
		server_turn(now->s);
	size_t n = bare_attempts(&all);
	assert_true(n > 0);
	snprintf(tag, sizeof tag, "%s", all[n - 1].tag);
	bare_started(now->s, tag);
	if (status >= 0) {
		bare_forget(tag);
		dispatch_engine.attempt_ended(now->s, &(struct result){.tag = tag,
								       .how = RESULT_EXITED,
								       .status = status,
								       .ended_us = NOW * 1000000,
								       .session = 1});
	}
	for (int i = 0; i < 3; i++)
		server_turn(now->s);
}

#define SUBMIT(members) "{\"script\":\"true\"," members "}"

/* 1 has failed, 2 runs, 3 is held, 4 waits, 5 is an array that is held, 6 runs and is not
 * rerunnable. */
static int setup(void **state)
{
	static const struct row jobs[] = {
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"name\":\"a\""), 201, ""},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"resources\":[\"procs=2,walltime=1000\"]"), 201, ""},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"hold\":\"u\""), 201, ""},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"resources\":[\"procs=4,walltime=10\"]"), 201, ""},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"array\":\"1-3\",\"hold\":\"u\""), 201, ""},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"rerunnable\":false,\"resources\":[\"walltime=10\"]"), 201, ""},
	};
	int rc = site_setup(state, "n1:cpus=4", NOW);

	now = *state;
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		assert_int_equal(ask(&jobs[i]), jobs[i].status);
		if (i == 0)
			run(3);
		else if (i == 1 || i == 5)
			run(-1);
	}
	return rc;
}

#define OK(id) "{\"results\":[{\"id\":\"" id "\"}]}"
#define DO(uid, action, id, members, has)                                                                              \
	{                                                                                                              \
		uid, "POST", "/v1/jobs/" action, "{\"ids\":[\"" id "\"]" members "}", 200, has                         \
	}

static void jobs(void **state)
{
	static const struct row rows[] = {
		DO(DAEMON, "delete", "1", "", "Job has finished"),
		DO(DAEMON, "hold", "1", "", "Job has finished"),
		DO(DAEMON, "release", "1", "", "Job has finished"),
		DO(DAEMON, "signal", "1", ",\"signal\":\"TERM\"", "Job has finished"),
		DO(DAEMON, "signal", "3", ",\"signal\":\"TERM\"",
		   "only a running job can be sent a signal (it is in state H)"),
		DO(DAEMON, "signal", "2", ",\"signal\":\"NOSUCH\"", "is neither a name (TERM, SIGUSR1, suspend"),
		DO(DAEMON, "signal", "2", ",\"signal\":999", "is neither a name"),
		DO(DAEMON, "signal", "2", ",\"signal\":\"SIGUSR1\"", OK("2")),
		DO(DAEMON, "rerun", "1", "", "Job has finished"),
		DO(DAEMON, "rerun", "4", "", "only a running job can be run again (it is in state Q)"),
		DO(DAEMON, "rerun", "6", "", "it is not rerunnable (-r n)"),
		DO(BIN, "rerun", "2", "", "\"error\":{"),
		{DAEMON, "POST", "/v1/jobs/run", "{\"ids\":[\"4\"]}", 403, "This needs an operator"},
		DO(ROOT, "run", "1", "", "Job has finished"),
		DO(ROOT, "run", "2", "", "it runs already"),
		DO(ROOT, "run", "3", "", "it is held, or waits for its time or for other jobs (it is in state H)"),
		DO(ROOT, "run", "4", "", "it does not fit now ('shunt why' shows what is in its way)"),
		DO(ROOT, "run", "4", ",\"nodes\":\"n9\"", "There is no node n9."),
		DO(DAEMON, "move", "1", ",\"queue\":\"batch\"", "Job has finished"),
		DO(DAEMON, "move", "2", ",\"queue\":\"batch\"", "a running job can't be moved"),
		DO(DAEMON, "move", "3", ",\"queue\":\"nosuch\"", "Unknown queue nosuch"),
		DO(DAEMON, "move", "3", ",\"queue\":\"\"", "Unknown queue"),
		DO(ROOT, "message", "1", ",\"text\":\"hello\"", "Job has finished"),
		DO(ROOT, "message", "3", ",\"text\":\"hello\"", "only a running job has output to write to"),
		DO(ROOT, "message", "2", ",\"text\":\"hello\"",
		   "in a system instance the server can't write into users' files"),
		DO(DAEMON, "alter", "1", ",\"name\":\"b\"", "Job has finished"),
		DO(DAEMON, "alter", "2", ",\"resources\":[\"procs=1\"]",
		   "of the resources of a running job only the walltime can be changed"),
		DO(DAEMON, "alter", "2", ",\"resources\":[\"walltime=2000\"]", "\"error\":{"), /* a manager may */
		DO(ROOT, "alter", "2", ",\"resources\":[\"walltime=2000\"]", OK("2")),
		DO(DAEMON, "alter", "2", ",\"resources\":[\"walltime=500\"]", OK("2")),
		DO(DAEMON, "alter", "3", ",\"max_run_subjobs\":2", "max_run_subjobs: it is not an array"),
		DO(DAEMON, "alter", "5", ",\"max_run_subjobs\":2", OK("5")),
		DO(DAEMON, "alter", "3", ",\"resources\":[\"nosuch=1\"]", "nosuch"),
		DO(DAEMON, "alter", "3", ",\"depend\":\"afterok:3\"", "\"error\":{"),
		DO(DAEMON, "alter", "3", ",\"depend\":\"afterok:77\"", "\"error\":{"),
		DO(DAEMON, "alter", "9", ",\"name\":\"b\"", "no job 9"),
		DO(DAEMON, "alter", "5[9]", ",\"name\":\"b\"", "no job 5[9]"),
		{DAEMON, "POST", "/v1/jobs/alter", "{\"ids\":[1],\"name\":\"b\"}", 400, "ids"},
		{DAEMON, "POST", "/v1/jobs/alter", "{\"name\":\"b\"}", 400,
		 "ids must be an array of job ids, or filter an object"},
		{DAEMON, "POST", "/v1/jobs/alter", "{\"filter\":{\"queue\":\"nosuch\"},\"name\":\"b\"}", 200,
		 "\"results\":[]"},
		{DAEMON, "POST", "/v1/jobs/alter", "{\"filter\":{\"user\":\"bin\"},\"name\":\"b\"}", 200,
		 "\"results\":[]"},
		{DAEMON, "POST", "/v1/jobs/explode", "{\"ids\":[\"1\"]}", 404, "There is no action \\\"explode\\\""},
		{DAEMON, "PATCH", "/v1/jobs/3", "{\"name\":\"c\"}", 200, "{}"},
		{DAEMON, "PATCH", "/v1/jobs/1", "{\"name\":\"c\"}", 409, "Job has finished"},
		{BIN, "DELETE", "/v1/jobs/3", NULL, 404, "no job 3"},
		{DAEMON, "DELETE", "/v1/jobs/1", NULL, 409, "Job has finished"},
		{DAEMON, "POST", "/v1/jobs/order", "{\"ids\":[\"3\",\"1\"]}", 409, ""},
		{DAEMON, "POST", "/v1/jobs/order", "{\"ids\":[\"3\",\"9\"]}", 404, "no job 9"},
		{DAEMON, "POST", "/v1/jobs/place", "{\"ids\":[\"2\"],\"after\":\"0\"}", 409,
		 "Job 2 does not wait any more."},
		{DAEMON, "POST", "/v1/jobs/place", "{\"ids\":[\"4\"],\"after\":\"4\"}", 409,
		 "A job can't be moved behind itself."},
		{DAEMON, "POST", "/v1/jobs/place", "{\"ids\":[\"4\"],\"after\":\"1\"}", 409, "Job 1 has ended."},
		{DAEMON, "POST", "/v1/jobs/place", "{\"ids\":[\"9\"],\"after\":\"1\"}", 404, "no job 9"},
		{DAEMON, "POST", "/v1/jobs/1/again", "{\"only\":\"failed\"}", 201, "\"id\":\"7.bare\""},
		{DAEMON, "POST", "/v1/jobs/3/again", "{\"only\":\"failed\"}", 422, "job 3 has not failed"},
		{DAEMON, "POST", "/v1/jobs/5/again", "{\"only\":\"failed\"}", 422, "no element of 5 has failed"},
		{BIN, "POST", "/v1/jobs/1/again", NULL, 404, "job 1 does not exist, or the server no longer keeps it"},
		{ROOT, "POST", "/v1/jobs/1/again", NULL, 403, "job 1 is not yours: only daemon can submit it again"},
		{DAEMON, "GET", "/v1/jobs/5[2]/script", NULL, 200, "true"},
		{BIN, "GET", "/v1/jobs/1/submission", NULL, 404, "job 1 does not exist"},
		{ROOT, "PATCH", "/v1/server",
		 "{\"changes\":[{\"op\":\"set\",\"name\":\"query_other_jobs\",\"value\":\"True\"}]}", 200, ""},
		{BIN, "GET", "/v1/jobs/1/submission", NULL, 403, "only its owner and managers may read how job 1 was"},
		{BIN, "GET", "/v1/jobs/1/script", NULL, 403, ""},
		DO(BIN, "delete", "3", "", "not yours"),
		DO(DAEMON, "delete", "2", ",\"purge\":true", "\"error\":{"),
		DO(ROOT, "delete", "3", ",\"message\":\"because\"", OK("3")),
		{DAEMON, "GET", "/v1/jobs/3/events", NULL, 200, "because"},
	};

	TABLE(rows);
}

static void submissions(void **state)
{
	static const struct row rows[] = {
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"queue\":\"nosuch\""), 404, "nosuch"},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"resources\":[\"procs=5\"]"), 422, ""},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"depend\":\"afterok:9\""), 422, "there is no job 9"},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"deadline\":1799999999"), 422, "the deadline has passed already"},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"estimate\":60"), 400, "estimate"},
		{DAEMON, "POST", "/v1/jobs", "{\"jobs\":[" SUBMIT("\"name\":\"a\"") "," SUBMIT("\"name\":\"\\n\"") "]}",
		 400, "jobs[1]: "},
		{DAEMON, "POST", "/v1/jobs", "{\"jobs\":[]}", 400, "jobs"},
		{DAEMON, "POST", "/v1/jobs",
		 "{\"jobs\":[" SUBMIT("\"name\":\"a\"") "," SUBMIT("\"queue\":\"nosuch\"") "]}", 404, "jobs[1]: "},
		{DAEMON, "POST", "/v1/jobs", "{\"interactive\":true,\"resources\":[\"procs=4\"]}", 201, ""},
		{DAEMON, "POST", "/v1/jobs", "{\"name\":\"a\"}", 400, "script"},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"array\":\"1-3\",\"interactive\":true"), 400,
		 "an array can't be interactive"},
		{DAEMON, "POST", "/v1/whatif", "{\"resources\":[\"procs=5\"]}", 200, "\"possible\":false"},
		{DAEMON, "POST", "/v1/whatif", "{\"resources\":[\"procs=4,walltime=60\"]}", 200,
		 "\"possible\":true,\"start\":18000"},
		{DAEMON, "POST", "/v1/whatif", "{\"queue\":\"nosuch\"}", 404, "nosuch"},
	};

	TABLE(rows);
}

#define PATCH(path, changes, status, has)                                                                              \
	{                                                                                                              \
		ROOT, "PATCH", path, "{\"changes\":[" changes "]}", status, has                                        \
	}
#define SET(name, value) "{\"op\":\"set\",\"name\":\"" name "\",\"value\":\"" value "\"}"

/* What ended long ago is looked up in the history: how its last attempt ended, for those who may
 * see it. */
static void past(void **state)
{
#define DEPENDS(text) SUBMIT("\"hold\":\"u\",\"depend\":\"" text "\"")
	static const struct row before[] = {
		{ROOT, "PATCH", "/v1/server",
		 "{\"changes\":[{\"op\":\"set\",\"name\":\"keep_completed\",\"value\":\"1\"}]}", 200, ""},
		DO(DAEMON, "delete", "4", "", OK("4")),
		{BIN, "POST", "/v1/jobs", SUBMIT("\"array\":\"1-2%1\",\"resources\":[\"walltime=10\"]"), 201, "7[]"},
	};
	static const struct row again[] = {
		{BIN, "POST", "/v1/jobs", SUBMIT("\"retries\":\"1\",\"resources\":[\"walltime=10\"]"), 201, "8.bare"},
	};
	static const struct row rows[] = {
		{DAEMON, "GET", "/v1/jobs/1", NULL, 200, "\"past\":true"},
		{BIN, "GET", "/v1/jobs/7[]", NULL, 200, "\"past\":true"},
		{DAEMON, "POST", "/v1/jobs", DEPENDS("afterany:1"), 201, "\"id\":\"9.bare\""},
		{DAEMON, "GET", "/v1/jobs/9", NULL, 200, "\"depend\":null"},
		{DAEMON, "POST", "/v1/jobs", DEPENDS("afternotok:1,after:3"), 201, "\"id\":\"10.bare\""},
		{DAEMON, "GET", "/v1/jobs/10", NULL, 200, "\"depend\":\"after:3\""},
		{DAEMON, "POST", "/v1/jobs", DEPENDS("afterok:1"), 201, "\"id\":\"11.bare\""},
		{DAEMON, "GET", "/v1/jobs/11", NULL, 200, "job 1 ended with exit status 3"},
		{DAEMON, "POST", "/v1/jobs", DEPENDS("before:1"), 422, "job 1 no longer waits"},
		{BIN, "POST", "/v1/jobs", DEPENDS("afterany:1"), 422, "there is no job 1"},
		{BIN, "POST", "/v1/jobs", DEPENDS("before:1"), 422, "there is no job 1"},
		{ROOT, "POST", "/v1/jobs", DEPENDS("afternotok:1"), 201, "\"id\":\"12.bare\""},
		{ROOT, "GET", "/v1/jobs/12", NULL, 200, "\"depend\":null"},
		{BIN, "POST", "/v1/jobs", DEPENDS("afterok:7[1]"), 201, "\"id\":\"13.bare\""},
		{BIN, "GET", "/v1/jobs/13", NULL, 200, "\"depend\":null"},
		{BIN, "POST", "/v1/jobs", DEPENDS("afterok:7[2]"), 201, "\"id\":\"14.bare\""},
		{BIN, "GET", "/v1/jobs/14", NULL, 200, "job 7[2] ended with exit status 5"},
		{BIN, "POST", "/v1/jobs", DEPENDS("afternotok:7[]"), 201, "\"id\":\"15.bare\""},
		{BIN, "GET", "/v1/jobs/15", NULL, 200, "\"depend\":null"},
		{DAEMON, "POST", "/v1/jobs", DEPENDS("afterany:7[1]"), 422, "there is no job 7"},
		{BIN, "GET", "/v1/history?id=8&attempts=1", NULL, 200, "\"state\":\"failed\",\"exit_status\":4,"},
		{BIN, "GET", "/v1/history?id=8&attempts=1", NULL, 200, "\"state\":\"completed\",\"exit_status\":0,"},
		{BIN, "POST", "/v1/jobs", DEPENDS("afterok:8"), 201, "\"id\":\"16.bare\""},
		{BIN, "GET", "/v1/jobs/16", NULL, 200, "\"depend\":null"},
	};

	TABLE(before);
	run(0);
	run(5);
	TABLE(again);
	run(4);
	for (int i = 1; i < 7; i++) {
		bare_clock((NOW + 200 * i + (i == 6 ? 100000 : 0)) * 1000000);
		for (int k = 0; k < 3; k++)
			server_turn(now->s);
		if (i == 2)
			run(0);
	}
	TABLE(rows);
}

static void objects(void **state)
{
	static const struct row rows[] = {
		/* queues */
		{ROOT, "DELETE", "/v1/queues/batch", NULL, 409, "Queue batch has 7 jobs: move or delete them first."},
		{ROOT, "DELETE", "/v1/queues/nosuch", NULL, 404, "Unknown queue nosuch"},
		PATCH("/v1/queues/nosuch", SET("started", "True"), 404, "Unknown queue nosuch"),
		PATCH("/v1/queues/batch", SET("nosuch", "True"), 404, "a queue has no attribute \\\"nosuch\\\""),
		PATCH("/v1/queues/batch", SET("max_running", "-1"), 400, "max_running"),
		{DAEMON, "PATCH", "/v1/queues/batch", "{\"changes\":[" SET("started", "False") "]}", 403, ""},
		/* the server */
		PATCH("/v1/server", SET("default_queue", "nosuch"), 400, "nosuch"),
		PATCH("/v1/server", SET("hook_time", "0"), 400, "hook_time"),
		PATCH("/v1/server", SET("hook_time", "9") "," SET("hook_memory", "x"), 400, "hook_memory"),
		{ROOT, "GET", "/v1/server", NULL, 200, ""},
		/* objects of the site */
		{ROOT, "PUT", "/v1/classes/bad name", NULL, 400, ""},
		{ROOT, "PUT", "/v1/classes/big", NULL, 201, ""},
		{ROOT, "PUT", "/v1/classes/big", NULL, 409, ""},
		PATCH("/v1/classes/nosuch", SET("max_running", "1"), 404, "There is no class nosuch"),
		PATCH("/v1/classes/big", SET("nosuch", "1"), 404, "a class has no attribute"),
		{DAEMON, "PUT", "/v1/classes/other", NULL, 403, ""},
		{ROOT, "PUT", "/v1/accounts/top", NULL, 201, ""},
		{ROOT, "PUT", "/v1/accounts/sub", NULL, 201, ""},
		PATCH("/v1/accounts/sub", SET("parent", "top"), 200, ""),
		PATCH("/v1/accounts/top", SET("parent", "sub"), 400, ""), /* a circle */
		PATCH("/v1/accounts/sub", SET("parent", "nosuch"), 400, "nosuch"),
		{ROOT, "DELETE", "/v1/accounts/top", NULL, 409, "account top is named by account sub"},
		{ROOT, "DELETE", "/v1/accounts/nosuch", NULL, 404, "There is no account nosuch"},
		{ROOT, "DELETE", "/v1/accounts/sub", NULL, 200, ""},
		{ROOT, "DELETE", "/v1/accounts/top", NULL, 200, ""},
		{ROOT, "PUT", "/v1/qos/fast", NULL, 201, ""},
		{DAEMON, "POST", "/v1/jobs", SUBMIT("\"hold\":\"u\""), 201, "\"id\":\"7.bare\""},
		{ROOT, "DELETE", "/v1/jobs/7", NULL, 200, ""},
		{ROOT, "DELETE", "/v1/qos/fast", NULL, 200, ""},
		{ROOT, "PUT", "/v1/reservations/r", NULL, 201, ""},
		PATCH("/v1/reservations/r", SET("start", "nonsense"), 400, "start"),
		{ROOT, "DELETE", "/v1/reservations/r", NULL, 200, ""},
		{ROOT, "PUT", "/v1/partitions/p", NULL, 201, ""},
		PATCH("/v1/partitions/p", SET("nodes", "n9"), 400, "n9"),
		{ROOT, "DELETE", "/v1/partitions/p", NULL, 200, ""},
		/* nodes */
		{ROOT, "PATCH", "/v1/nodes/n9", "{\"offline\":true}", 404, "There is no node n9"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"cpus\":5}", 400,
		 "cpus can't be set: this node is in the server's configuration, change it there"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"gpus\":1}", 400, "gpus"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"drain_at\":1799999999}", 400,
		 "drain_at must be an instant after now (1800000000), or null"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"class\":\"a b\"}", 400, "class"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"speed\":0}", 400, "speed"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"features\":\"a,b c\"}", 400, "features"},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"workstation\":\"nosuch\"}", 400, ""},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"offline\":true,\"note\":\"new memory\"}", 200, ""},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"drain_at\":1800000100}", 400, "the node is offline already"},
		{ROOT, "GET", "/v1/nodes/n1", NULL, 200, "\"note\":\"new memory\""},
		{ROOT, "PATCH", "/v1/nodes/n1", "{\"offline\":false}", 200, ""},
		{ROOT, "DELETE", "/v1/nodes/n1", NULL, 400, "node n1 is in the server's configuration"},
		{DAEMON, "PATCH", "/v1/nodes/n1", "{\"offline\":true}", 403, ""},
		/* a shutdown */
		{ROOT, "POST", "/v1/shutdown", "{\"mode\":\"cancel\"}", 409, "No shutdown is announced."},
		{ROOT, "POST", "/v1/shutdown", "{\"begin\":1800000100,\"until\":1800000100}", 400,
		 "until: the end of a shutdown comes after its beginning"},
		{ROOT, "POST", "/v1/shutdown", "{\"begin\":1800000100,\"until\":1800000200}", 200, ""},
		{ROOT, "POST", "/v1/shutdown", "{\"mode\":\"cancel\"}", 200, ""},
		{DAEMON, "POST", "/v1/shutdown", NULL, 403, ""},
	};

	TABLE(rows);
}

#define LIMIT "{\"normal\":10,\"priority\":0,\"interactive\":0}"

static void books(void **state)
{
	static const struct row rows[] = {
		{BIN, "GET", "/v1/quota?user=daemon", NULL, 403, "You may see your own quota only"},
		{BIN, "GET", "/v1/quota/moves?user=daemon", NULL, 403, "You may see your own quota only"},
		{ROOT, "POST", "/v1/quota",
		 "{\"quota\":[{\"user\":\"ann\",\"limit\":" LIMIT "},{\"user\":\"\",\"limit\":" LIMIT "}]}", 400,
		 "quota[1]"},
		{ROOT, "POST", "/v1/quota", "{\"quota\":[{\"user\":\"ann\",\"limit\":" LIMIT "}]}", 200, ""},
		{ROOT, "GET", "/v1/quota?user=ann", NULL, 200, "\"user\":\"ann\""},
		{ROOT, "GET", "/v1/quota/moves?user=ann&month=202701", NULL, 200, "\"moves\":["},
		{ROOT, "DELETE", "/v1/quota/ann", NULL, 200, ""},
		{ROOT, "DELETE", "/v1/quota/ann", NULL, 404, "User ann has no quota."},
		{ROOT, "PUT", "/v1/accounts/a", NULL, 201, ""},
		{ROOT, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"a\",\"amount\":100}", 409,
		 "account a does not use credits"},
		PATCH("/v1/accounts/a", SET("credit_unit", "cpu_hours"), 200, ""),
		PATCH("/v1/accounts/a", SET("acl_users", "daemon"), 200, ""),
		{ROOT, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"a\",\"amount\":100}", 200, ""},
		{ROOT, "POST", "/v1/credits", "{\"op\":\"transfer\",\"account\":\"a\",\"amount\":10}", 400,
		 "\\\"to\\\" names the receiving account"},
		{ROOT, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"a\",\"to\":\"a\",\"amount\":10}", 400,
		 "\\\"to\\\" names the receiving account"},
		{ROOT, "POST", "/v1/credits", "{\"op\":\"withdraw\",\"account\":\"a\",\"amount\":1000}", 409, ""},
		{BIN, "GET", "/v1/credits/statement?account=a", NULL, 404,
		 "Unknown account a, or you may not charge it."},
		{ROOT, "GET", "/v1/credits/statement?account=a", NULL, 200, "100"},
		{ROOT, "GET", "/v1/jobs/99", NULL, 404, "that number was never given to one"},
		{ROOT, "GET", "/v1/jobs/1[2]", NULL, 404, ""},
		{ROOT, "DELETE", "/v1/tokens/u9", NULL, 404, "There is no token u9"},
		{ROOT, "PATCH", "/v1/overlays/nosuch", "{\"paused\":true}", 404, "There is no overlay nosuch"},
		{ROOT, "DELETE", "/v1/overlays/nosuch", NULL, 404, "There is no overlay nosuch"},
		{ROOT, "PUT", "/v1/overlays/o", "{\"place\":\"nosuch\",\"max_nodes\":1}", 400, ""},
		{ROOT, "PUT", "/v1/sites/east", "{\"servers\":\"e:1\",\"token\":\"nonsense\"}", 400,
		 "That is not a site's token"},
		{ROOT, "DELETE", "/v1/sites/nosuch", NULL, 404, "There is no site nosuch"},
		{DAEMON, "POST", "/v1/page", "{}", 409, ""},
	};

	TABLE(rows);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, site_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(jobs), TEST(submissions), TEST(past), TEST(objects), TEST(books)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
