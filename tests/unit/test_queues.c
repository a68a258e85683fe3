/*
 * test_queues.c - the rules of queues in the whole server: at submission, when a job is altered or
 * moved, and after a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/clock.h"
#include "server/base/work.h"
#include "server/job/jobs.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NODES "n[1-4]:cpus=8:mem=8gb"
#define USER 65534

static int setup(void **state)
{
	return site_setup(state, NODES, 0);
}

static void queue(struct site *f, const char *name, const char *changes)
{
	char path[80], body[1024];

	snprintf(path, sizeof path, "/v1/queues/%s", name);
	site_ask(f, getuid(), "PUT", path, "{}");
	snprintf(body, sizeof body,
		 "{\"changes\":[{\"op\":\"set\",\"name\":\"enabled\",\"value\":\"True\"},"
		 "{\"op\":\"set\",\"name\":\"started\",\"value\":\"True\"}%s%s]}",
		 *changes ? "," : "", changes);
	if (site_ask(f, getuid(), "PATCH", path, body) != 200)
		fail_msg("%s: %s", body, strbuf_text(&f->a.body));
}

#define SET(name, value) "{\"op\":\"set\",\"name\":\"" name "\",\"value\":\"" value "\"}"

/* The number of the job; 0: it was refused. */
static unsigned long long submit(struct site *f, const char *more)
{
	char body[512];
	unsigned long long number = 0;

	snprintf(body, sizeof body, "{\"script\":\"true\",\"hold\":\"u\"%s%s}", *more ? "," : "", more);
	if (site_ask(f, USER, "POST", "/v1/jobs", body) != 201)
		return 0;
	const char *id = strstr(f->a.body.text, "\"id\":\"");
	assert_non_null(id);
	sscanf(id + 6, "%llu", &number);
	return number;
}

static int alter(struct site *f, uid_t uid, unsigned long long job, const char *body)
{
	char path[80];

	snprintf(path, sizeof path, "/v1/jobs/%llu", job);
	return site_ask(f, uid, "PATCH", path, body);
}

static bool move(struct site *f, uid_t uid, unsigned long long job, const char *to)
{
	char body[100];

	snprintf(body, sizeof body, "{\"ids\":[\"%llu\"],\"queue\":\"%s\"}", job, to);
	return site_ask(f, uid, "POST", "/v1/jobs/move", body) == 200 && !strstr(f->a.body.text, "\"error\":{");
}

static void shows(struct site *f, unsigned long long job, const char *text)
{
	char path[80];

	snprintf(path, sizeof path, "/v1/jobs/%llu", job);
	assert_int_equal(site_ask(f, getuid(), "GET", path, NULL), 200);
	if (!strstr(f->a.body.text, text))
		fail_msg("%s is not in %s", text, f->a.body.text);
}

static void says(struct site *f, const char *text)
{
	if (!strstr(strbuf_text(&f->a.body), text))
		fail_msg("%s is not in %s", text, strbuf_text(&f->a.body));
}

/* A job gets the defaults of the queue that takes it, and its limits are judged with them. */
static void routed(void **state)
{
	struct site *f = *state;
	unsigned long long job;

	queue(f, "short", SET("resources_max.walltime", "600") "," SET("resources_default.walltime", "300"));
	queue(f, "long", SET("resources_default.mem", "1gb"));
	queue(f, "feed", SET("queue_type", "Route") "," SET("route_destinations", "short,long"));
	job = submit(f, "\"queue\":\"feed\"");
	assert_true(job > 0);
	shows(f, job, "\"queue\":\"short\"");
	shows(f, job, "\"walltime\":300");
	job = submit(f, "\"queue\":\"feed\",\"resources\":[\"walltime=601\"]");
	shows(f, job, "\"queue\":\"long\"");
	shows(f, job, "\"memory\":1048576");
	queue(f, "long", SET("enabled", "False"));
	assert_int_equal(submit(f, "\"queue\":\"feed\",\"resources\":[\"walltime=601\"]"), 0);
	says(f,
	     "no destination of queue feed accepts it: walltime=00:10:01 is more than queue short allows: at most 00:10:00 "
	     "(resources_max.walltime); queue long is not enabled");
}

/* What a queue asks of those who come in it does not ask again of those who are there. */
static void altered(void **state)
{
	struct site *f = *state;
	unsigned long long job;

	queue(f, "inner",
	      SET("from_route_only", "True") "," SET("resources_max.walltime", "600") "," SET("max_queuable", "1"));
	queue(f, "feed", SET("queue_type", "Route") "," SET("route_destinations", "inner"));
	job = submit(f, "\"queue\":\"feed\",\"resources\":[\"walltime=100\"]");
	assert_true(job > 0);
	queue(f, "inner", SET("enabled", "False") "," SET("acl_user_enable", "True"));
	if (alter(f, USER, job, "{\"resources\":[\"walltime=200\"]}") != 200)
		fail_msg("%s", strbuf_text(&f->a.body));
	shows(f, job, "\"walltime\":200");
	assert_int_not_equal(alter(f, USER, job, "{\"resources\":[\"walltime=601\"]}"), 200);
	says(f, "walltime=00:10:01 is more than queue inner allows");
	assert_int_equal(alter(f, getuid(), job, "{\"resources\":[\"walltime=601\"]}"),
			 200); /* limits are not for managers */
}

static void moved(void **state)
{
	struct site *f = *state;
	unsigned long long job;

	queue(f, "a", "");
	queue(f, "b", SET("resources_max.ncpus", "2") "," SET("resources_default.mem", "1gb"));
	queue(f, "feed", SET("queue_type", "Route") "," SET("route_destinations", "b,a"));
	job = submit(f, "\"queue\":\"a\",\"resources\":[\"ncpus=2\"]");
	assert_int_equal(site_ask(f, getuid(), "PATCH", "/v1/server", "{\"changes\":[" SET("max_queued", "1") "]}"),
			 200);
	assert_int_equal(submit(f, "\"queue\":\"a\""), 0);
	if (!move(f, USER, job, "b")) /* the server has no more jobs than before */
		fail_msg("%s", strbuf_text(&f->a.body));
	shows(f, job, "\"queue\":\"b\"");
	shows(f, job, "\"memory\":1048576");
	assert_true(move(f, USER, job, "a"));
	shows(f, job, "\"memory\":1048576"); /* it keeps what it has */
	/* a routing queue keeps no job, even one that an operator moves there */
	assert_true(move(f, getuid(), job, "feed"));
	shows(f, job, "\"queue\":\"b\"");
	assert_true(move(f, USER, job, "a"));
	queue(f, "b", SET("resources_max.ncpus", "1"));
	assert_false(move(f, USER, job, "b"));
	says(f, "ncpus=2 is more than queue b allows: at most 1 (resources_max.ncpus)");
	assert_true(move(f, getuid(), job, "b"));
}

static double rank_of(struct site *f, unsigned long long job)
{
	uint32_t id;

	assert_true(entry_find(f->s, job, -1, &id));
	return entry_job(f->s, id)->rank;
}

/* The priority of a queue counts for jobs that are moved there as for those that are submitted
 * there. */
static void moved_ranks(void **state)
{
	struct site *f = *state;
	unsigned long long here, there;

	bare_clock(INT64_C(1800000000) * 1000000);
	queue(f, "fast", SET("priority", "3"));
	here = submit(f, "\"queue\":\"batch\"");
	there = submit(f, "\"queue\":\"fast\"");
	assert_true(rank_of(f, here) == rank_of(f, there) + 180);
	assert_true(move(f, USER, here, "fast"));
	assert_true(rank_of(f, here) == rank_of(f, there));
	site_reopen(f);
	assert_true(rank_of(f, here) == rank_of(f, there));
	assert_true(move(f, USER, there, "batch"));
	assert_true(rank_of(f, there) == rank_of(f, here) + 180);
	bare_clock(0);
}

/* Defaults are for jobs that come in: those that wait stay as they are, also when the server is
 * restarted. */
/* Turns, until what is done in slices is done. */
static void settle(struct site *f)
{
	for (int i = 0; i == 0 || (f->s->slices->works.n && i < 1000); i++)
		server_turn(f->s);
}

static void start(struct site *f, const char *queue, bool started)
{
	char path[80];

	snprintf(path, sizeof path, "/v1/queues/%s", queue);
	assert_int_equal(site_ask(f, getuid(), "PATCH", path,
				  started ? "{\"changes\":[" SET("started", "True") "]}"
					  : "{\"changes\":[" SET("started", "False") "]}"),
			 200);
	settle(f);
}

/* A stopped routing queue `in` with the destination `small`. */
static void route_make(struct site *f, const char *small)
{
	queue(f, "small", small);
	queue(f, "in", SET("queue_type", "Route") "," SET("route_destinations", "small"));
	start(f, "in", false);
}

/* A routing queue that is stopped keeps its jobs; started, it passes them on, as far as somebody
 * takes them. */
static void route_stopped(void **state)
{
	struct site *f = *state;
	unsigned long long one, many, large;

	route_make(f, SET("resources_max.walltime", "100"));
	one = submit(f, "\"queue\":\"in\",\"resources\":[\"walltime=50\"]");
	many = submit(f, "\"queue\":\"in\",\"resources\":[\"walltime=60\"],\"array\":\"1-3\"");
	large = submit(f, "\"queue\":\"in\",\"resources\":[\"walltime=500\"]");
	assert_true(one && many && large);
	shows(f, one, "\"queue\":\"in\"");
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs/release", "{\"filter\":{},\"holds\":\"u\"}"), 200);
	settle(f);
	shows(f, one, "\"state\":\"Q\"");
	shows(f, one, "its queue is stopped");
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs/run", "{\"ids\":[\"1\"]}"), 200);
	says(f, "routing queue, where no job runs");

	site_reopen(f); /* the same after a restart */
	shows(f, one, "\"queue\":\"in\"");

	start(f, "in", true);
	shows(f, one, "\"queue\":\"small\"");
	assert_int_equal(site_ask(f, getuid(), "GET", "/v1/jobs?arrays=collapse&fields=id,queue", NULL), 200);
	assert_null(strstr(f->a.body.text, "[].bare\",\"queue\":\"in\""));
	shows(f, large, "\"queue\":\"in\"");
	shows(f, large, "no destination of its routing queue accepts it");

	queue(f, "large", "");
	queue(f, "in", SET("route_destinations", "small,large"));
	settle(f);
	shows(f, large, "\"queue\":\"large\"");
	site_reopen(f);
	shows(f, large, "\"queue\":\"large\"");
}

/* One that no destination accepted is offered again when a job has left one, and when nodes have
 * changed. */
static void route_again(void **state)
{
	struct site *f = *state;
	unsigned long long first, second, third;

	route_make(f, SET("max_queuable", "1"));
	first = submit(f, "\"queue\":\"in\"");
	second = submit(f, "\"queue\":\"in\"");
	start(f, "in", true);
	shows(f, first, "\"queue\":\"small\"");
	shows(f, second, "\"queue\":\"in\"");
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs/delete", "{\"ids\":[\"1\"]}"), 200);
	settle(f);
	shows(f, second, "\"queue\":\"small\"");

	queue(f, "small", SET("max_queuable", "9"));
	start(f, "in", false);
	third = submit(f, "\"queue\":\"in\",\"resources\":[\"nodes=4:ppn=8\"]");
	assert_int_equal(site_ask(f, getuid(), "PUT", "/v1/partitions/A", "{}"), 201);
	assert_int_equal(site_ask(f, getuid(), "PATCH", "/v1/partitions/A", "{\"changes\":[" SET("nodes", "n1") "]}"),
			 200);
	start(f, "in", true);
	shows(f, third, "\"queue\":\"in\"");
	assert_int_equal(site_ask(f, getuid(), "DELETE", "/v1/partitions/A", "{}"), 200);
	settle(f);
	shows(f, third, "\"queue\":\"small\"");

	start(f, "in", false); /* nor does one stay whose deadline has passed */
	third = submit(f, "\"queue\":\"in\",\"resources\":[\"walltime=60\"],\"type\":\"Q\",\"deadline\":\"+00:20:00\"");
	bare_clock((f->s->clock->now + 7200) * 1000000);
	start(f, "in", true);
	shows(f, third, "\"queue\":\"small\"");
}

static void end(struct site *f, unsigned long long job)
{
	char body[80];

	snprintf(body, sizeof body, "{\"ids\":[\"%llu\"]}", job);
	assert_int_equal(site_ask(f, getuid(), "POST", "/v1/jobs/delete", body), 200);
	settle(f);
}

/* Jobs that wait in a routing queue move on, by their ids, when a destination has room: submitted
 * there, moved there, elements of an array. */
static void routed_on(void **state)
{
	struct site *f = *state;
	unsigned long long in, first, array, other, last;

	queue(f, "inner", SET("max_queuable", "1"));
	queue(f, "plain", "");
	queue(f, "feed", SET("queue_type", "Route") "," SET("route_destinations", "inner") "," SET("started", "False"));
	other = submit(f, "\"queue\":\"plain\"");
	in = submit(f, "\"queue\":\"inner\"");
	first = submit(f, "\"queue\":\"feed\"");
	array = submit(f, "\"queue\":\"feed\",\"array\":\"1-3\"");
	last = submit(f, "\"queue\":\"feed\"");
	assert_true(first && array && last);
	start(f, "feed", true);
	end(f, submit(f, "\"queue\":\"plain\"")); /* no use to them */
	shows(f, first, "\"queue\":\"feed\"");
	end(f, in);
	shows(f, first, "\"queue\":\"inner\"");
	shows(f, last, "\"queue\":\"feed\"");
	start(f, "feed", false);
	assert_true(move(f, getuid(), other, "feed")); /* it came before all of them */
	start(f, "feed", true);
	end(f, first);
	shows(f, other, "\"queue\":\"inner\"");
	end(f, other);
	shows(f, last, "\"queue\":\"feed\"");
	queue(f, "inner", SET("max_queuable", "3"));
	end(f, submit(f, "\"queue\":\"plain\""));
	shows(f, last, "\"queue\":\"feed\""); /* the elements come first */
	queue(f, "inner", SET("max_queuable", "4"));
	end(f, submit(f, "\"queue\":\"plain\""));
	shows(f, last, "\"queue\":\"inner\"");
}

static void restarted(void **state)
{
	struct site *f = *state;
	unsigned long long job = submit(f, "\"queue\":\"batch\",\"resources\":[\"walltime=100\"]");

	assert_true(job > 0);
	queue(f, "batch", SET("resources_default.mem", "1gb") "," SET("resources_default.nodes", "2:ppn=3"));
	shows(f, job, "\"cpus\":1");
	site_reopen(f); /* the old one is gone as after a crash */
	shows(f, job, "\"cpus\":1");
	assert_null(strstr(f->a.body.text, "1048576"));
}

/* A routing queue that takes no more jobs still passes those on that it has. */
static void routed_out(void **state)
{
	struct site *f = *state;
	unsigned long long job;

	queue(f, "inner", "");
	queue(f, "feed", SET("queue_type", "Route") "," SET("route_destinations", "inner") "," SET("started", "False"));
	job = submit(f, "\"queue\":\"feed\",\"resources\":[\"walltime=100\"]");
	assert_true(job > 0);
	queue(f, "feed",
	      SET("enabled", "False") "," SET("acl_user_enable", "True") "," SET("resources_max.walltime", "50"));
	start(f, "feed", true);
	settle(f);
	shows(f, job, "\"queue\":\"inner\"");
	assert_int_equal(submit(f, "\"queue\":\"feed\",\"resources\":[\"walltime=10\"]"), 0);
	says(f, "queue feed is not enabled");
}

/* Jobs of a queue that becomes a routing queue do not start from it; they may when it becomes an
 * execution queue again. */
static void retyped(void **state)
{
	struct site *f = *state;
	unsigned long long job;

	queue(f, "in", SET("queue_type", "Execution"));
	job = submit(f, "\"queue\":\"in\",\"resources\":[\"walltime=100\"]");
	assert_true(job > 0);
	shows(f, job, "\"blocks\":\"user\"");
	for (int i = 0; i < 2; i++) {
		queue(f, "in", i ? SET("queue_type", "Execution") : SET("queue_type", "Route"));
		settle(f);
		shows(f, job, i ? "\"blocks\":\"user\"" : "\"blocks\":\"user,queue\"");
		site_reopen(f);
		shows(f, job, i ? "\"blocks\":\"user\"" : "\"blocks\":\"user,queue\"");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(routed, setup, site_teardown),
		cmocka_unit_test_setup_teardown(altered, setup, site_teardown),
		cmocka_unit_test_setup_teardown(moved, setup, site_teardown),
		cmocka_unit_test_setup_teardown(moved_ranks, setup, site_teardown),
		cmocka_unit_test_setup_teardown(route_stopped, setup, site_teardown),
		cmocka_unit_test_setup_teardown(route_again, setup, site_teardown),
		cmocka_unit_test_setup_teardown(routed_on, setup, site_teardown),
		cmocka_unit_test_setup_teardown(routed_out, setup, site_teardown),
		cmocka_unit_test_setup_teardown(restarted, setup, site_teardown),
		cmocka_unit_test_setup_teardown(retyped, setup, site_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
