/*
 * test_terminal.c - terminals of interactive jobs: the job's side and the client's side come in any
 * order, leave, and come again; who is refused; and programs that are started in a running job.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/err.h"
#include "run/nursery.h"
#include "run/order.h"
#include "run/pty.h"
#include "run/task.h"
#include "server/api/frame/audience.h"
#include "server/api/stream/terminal.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)
#define USER 1 /* daemon, whom every system has, as bin */
#define OTHER 2

static struct site *now;
static char tag[64]; /* tag of the job started last: at first the interactive job 1 */

static void says(const struct bare_answer *a, int status, const char *text)
{
	if (a->status != status || !strstr(strbuf_text((struct strbuf *)&a->body), text))
		fail_msg("%d %s", a->status, strbuf_text((struct strbuf *)&a->body));
}

static void ask(const char *method, const char *path, const char *body, int status)
{
	if (site_ask(now, USER, method, path, body) != status)
		fail_msg("%s %s: %s", method, path, strbuf_text(&now->a.body));
}

static void turns(void)
{
	for (int i = 0; i < 3; i++)
		server_turn(now->s);
}

static void pass(int64_t seconds)
{
	now->now += seconds;
	bare_clock(now->now * 1000000);
	server_turn(now->s);
}

/* Starts the job that was submitted last. */
static void run(void)
{
	const struct bare_attempt *all;
	size_t n;

	turns();
	n = bare_attempts(&all);
	assert_true(n > 0);
	snprintf(tag, sizeof tag, "%s", all[n - 1].tag);
	bare_started(now->s, tag);
	server_turn(now->s);
}

static void end(void)
{
	bare_forget(tag);
	dispatch_engine.attempt_ended(
		now->s, &(struct result){.tag = tag, .how = RESULT_EXITED, .ended_us = NOW * 1000000, .session = 1});
	server_turn(now->s);
	pass(1); /* its end waits a moment for more to commit */
}

static int setup(void **state)
{
	int rc = site_setup(state, "n1:cpus=4", NOW);
	struct err err;

	now = *state;
	assert_int_equal(terminals_begin(now->s, &err), 0);
	ask("POST", "/v1/jobs", "{\"interactive\":true}", 201);
	run();
	return rc;
}

static int teardown(void **state)
{
	terminals_end(now->s);
	entered_end(now->s);
	uv_run(now->s->loop, UV_RUN_NOWAIT);
	return site_teardown(state);
}

/* ---- the two sides ---- */

struct client {
	struct http_request *r;
	struct bare_answer a;
	int fd; /* its end of the connection */
};

static void begin(struct client *c, uid_t uid, const char *path, const char *protocol)
{
	const struct bare_client from = {.header = {{"Upgrade", protocol}}};

	*c = (struct client){.fd = -1};
	c->r = bare_connect(now->s, uid, &from, path, &c->a);
}

static void terminal(struct client *c, const char *key)
{
	char path[200];

	snprintf(path, sizeof path, "/v1/jobs/1/terminal%s%s", key ? "?key=" : "", key ? key : "");
	begin(c, USER, path, PTY_PROTOCOL);
}

static void forget(struct client *c)
{
	bare_end(c->r);
	strbuf_fini(&c->a.body);
	if (c->fd >= 0)
		close(c->fd);
}

static void pair(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
}

/* Gives the server the client's connection. */
static void upgrade(struct client *c)
{
	int fds[2];

	says(&c->a, 101, PTY_PROTOCOL);
	pair(fds);
	c->fd = fds[0];
	bare_upgrade(c->r, fds[1]);
}

/* Connects the job's terminal; returns its shepherd's end. */
static int job_comes(const char *of)
{
	int fds[2];

	pair(fds);
	bare_terminal(of, fds[1]);
	return fds[0];
}

/* Lets the server relay until something arrives, and compares it; "": the connection is closed. */
static void arrives(int fd, const char *text)
{
	char buf[100];
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (int i = 0; i < 1000 && poll(&p, 1, 5) == 0; i++)
		uv_run(now->s->loop, UV_RUN_NOWAIT);
	ssize_t n = read(fd, buf, sizeof buf);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(buf, text, strlen(text));
}

/* Checks that the two are joined. */
static void joined(const struct client *c, int job)
{
	assert_int_equal(write(c->fd, "typed", 5), 5);
	arrives(job, "typed");
	assert_int_equal(write(job, "shown", 5), 5);
	arrives(c->fd, "shown");
}

static void client_first(void **state)
{
	struct client c;
	int job;

	terminal(&c, NULL);
	turns();
	assert_false(bare_answered(c.r));
	job = job_comes(tag);
	assert_true(bare_answered(c.r));
	upgrade(&c);
	joined(&c, job);
	close(job);
	arrives(c.fd, "");
	forget(&c);
	assert_null(now->s->audience->terminals);
}

static void job_first(void **state)
{
	struct client c;
	int job = job_comes(tag), again;

	again = job_comes(tag); /* replaces the one that broke */
	arrives(job, "");
	close(job);
	terminal(&c, "k");
	upgrade(&c);
	joined(&c, again);
	job = job_comes(tag); /* it broke again: the client will come again as well */
	arrives(c.fd, "");
	arrives(again, "");
	close(again);
	forget(&c);
	terminal(&c, "k");
	upgrade(&c);
	joined(&c, job);
	close(c.fd);
	c.fd = -1;
	arrives(job, "");
	close(job);
	forget(&c);
}

/* A terminal has one client, which may connect again. */
static void one_client(void **state)
{
	struct client first, second;
	int job;

	terminal(&first, "k");
	terminal(&second, "other");
	says(&second.a, 409, "Somebody is at the job's terminal already");
	forget(&second);
	terminal(&second, "");
	says(&second.a, 409, "Somebody is at the job's terminal already");
	forget(&second);
	terminal(&second, "k");
	says(&first.a, 409, "The same client has asked again");
	forget(&first);
	job = job_comes(tag);
	terminal(&first, "other"); /* the one that was called is about to come */
	says(&first.a, 409, "Somebody is at the job's terminal already");
	forget(&first);
	upgrade(&second);
	joined(&second, job);
	terminal(&first, "other");
	says(&first.a, 409, "Somebody is at the job's terminal already");
	forget(&first);
	terminal(&first, "k"); /* its earlier connection is broken */
	arrives(second.fd, "");
	forget(&second);
	arrives(job, "");
	close(job);
	job = job_comes(tag);
	upgrade(&first);
	joined(&first, job);
	close(job);
	forget(&first);
}

/* Either side leaves before they are joined. */
static void sides_leave(void **state)
{
	struct client first, second;
	int job = job_comes(tag);

	terminal(&first, "k");
	close(job);
	for (int i = 0; i < 10; i++)
		uv_run(now->s->loop, UV_RUN_NOWAIT);
	upgrade(&first);
	arrives(first.fd, ""); /* it will ask again */
	forget(&first);
	assert_null(now->s->audience->terminals);
	job = job_comes(tag);
	terminal(&first, "k"); /* was answered, and never comes */
	terminal(&second, "other");
	says(&second.a, 409, "Somebody is at");
	forget(&second);
	pass(5);
	terminal(&second, "other");
	upgrade(&second);
	joined(&second, job);
	upgrade(&first); /* too late */
	arrives(first.fd, "");
	forget(&first);
	joined(&second, job);
	forget(&second);
	close(job);
}

static void jobs_end(void **state)
{
	struct client c;
	int job;

	terminal(&c, NULL);
	pass(60);
	assert_false(bare_answered(c.r));
	pass(1);
	says(&c.a, 503, "The job's terminal has not come: try again.");
	forget(&c);
	terminal(&c, NULL);
	end();
	says(&c.a, 409, "The job has ended.");
	forget(&c);
	terminal(&c, NULL);
	says(&c.a, 409, "The job has ended.");
	forget(&c);
	job = job_comes(tag);
	arrives(job, "");
	close(job);
	assert_null(now->s->audience->terminals);
}

/* What was written last arrives although the job has ended. */
static void last_words(void **state)
{
	struct client c;
	int job = job_comes(tag);

	terminal(&c, NULL);
	upgrade(&c);
	joined(&c, job);
	assert_int_equal(write(job, "bye", 3), 3);
	close(job);
	end();
	arrives(c.fd, "bye");
	arrives(c.fd, "");
	forget(&c);
}

static void refused(void **state)
{
	static const struct {
		uid_t uid;
		const char *path, *protocol;
		int status;
		const char *text;
	} rows[] = {
		{USER, "/v1/jobs/1/terminal", NULL, 400, "send 'Connection: Upgrade' and 'Upgrade: shunt-terminal'"},
		{USER, "/v1/jobs/1/terminal", "websocket", 400, "does not speak HTTP"},
		{USER, "/v1/jobs/1/terminal?key=0123456789012345678901234567890123456789", PTY_PROTOCOL, 400,
		 "The key has more than 39"},
		{OTHER, "/v1/jobs/1/terminal", PTY_PROTOCOL, 403, "A job's terminal is its owner's alone."},
		{USER, "/v1/jobs/2/terminal", PTY_PROTOCOL, 409, "it is not interactive"},
		{USER, "/v1/jobs/3/terminal", PTY_PROTOCOL, 409, "The job has not started yet: there is no terminal."},
		{USER, "/v1/jobs/9/terminal", PTY_PROTOCOL, 404, "no job 9"},
		{OTHER, "/v1/jobs/1/enter", TASK_PROTOCOL, 403, "Only its owner can enter a job."},
		{USER, "/v1/jobs/1/enter", NULL, 400, "A program does not speak HTTP"},
		{USER, "/v1/jobs/2/enter", TASK_PROTOCOL, 409,
		 "The job has not started yet: there is nothing to enter."},
		{USER, "/v1/jobs/1/enter?node=n2", TASK_PROTOCOL, 404, "The job does not run on node n2."},
		{USER, "/v1/jobs/4/enter", TASK_PROTOCOL, 409, "The job has ended."},
	};
	const char *job[] = {tag, "2-xabcdef01.1", "nonsense", "1-xabcdef01.2"};
	struct client c;
	int fd;

	site_set(now, "query_other_jobs", "True");
	ask("POST", "/v1/jobs", "{\"script\":\"true\",\"hold\":\"u\"}", 201);
	ask("POST", "/v1/jobs", "{\"interactive\":true,\"hold\":\"u\"}", 201);
	ask("POST", "/v1/jobs", "{\"script\":\"true\"}", 201);
	run();
	end();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		begin(&c, rows[i].uid, rows[i].path, rows[i].protocol);
		if (!bare_answered(c.r) || c.a.status != rows[i].status ||
		    !strstr(strbuf_text(&c.a.body), rows[i].text))
			fail_msg("%s: %d %s", rows[i].path, c.a.status, strbuf_text(&c.a.body));
		forget(&c);
	}
	for (size_t i = 0; i < sizeof job / sizeof *job; i++) { /* `tag` is job 4's now */
		fd = job_comes(job[i]);
		arrives(fd, "");
		close(fd);
	}
}

/* Without the service of tasks the connection is closed; with it the relay begins. */
static void entered(void **state)
{
	struct client c;

	begin(&c, USER, "/v1/jobs/1/enter?node=n1", TASK_PROTOCOL);
	says(&c.a, 101, TASK_PROTOCOL);
	int fds[2];
	pair(fds);
	bare_upgrade(c.r, fds[1]);
	arrives(fds[0], "");
	close(fds[0]);
	forget(&c);
	assert_null(now->s->audience->entered);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(client_first), TEST(job_first),  TEST(one_client), TEST(sides_leave),
		TEST(jobs_end),	    TEST(last_words), TEST(refused),	TEST(entered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
