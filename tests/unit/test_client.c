/*
 * test_client.c - the client against a real server in a child process, and against servers that
 * misbehave.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/unixsock.h"
#include "client/client.h"
#include "client/response.h"
#include "support/serve.h"
#include "support/skip.h"

struct fixture {
	char directory[64], path[96];
	pid_t server;
	struct client *client;
};

static int setup(void **state)
{
	struct fixture *f = mem_zalloc(sizeof *f);
	struct err err;

	strcpy(f->directory, "/tmp/shunt-client-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->path, sizeof f->path, "%s/shuntd.sock", f->directory);
	f->server = serve_fork(f->path, &serve_limits);
	assert_int_equal(client_open_at(f->path, &f->client, &err), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	client_close(f->client);
	int status = f->server ? serve_end(f->server) : 0;
	unlink(f->path);
	rmdir(f->directory);
	free(f);
	return status;
}

static void asks(void **state)
{
	struct fixture *f = *state;
	struct reply r;
	struct err err;

	assert_int_equal(client_ask(f->client, "POST", "/echo/12%5B3%5D?q=a%20b", "{\"x\":1}", 7, &r, &err), 0);
	assert_int_equal(r.status, 200);
	assert_string_equal(json_string_value(json_object_get(r.json, "method")), "POST");
	assert_string_equal(json_string_value(json_object_get(r.json, "path")), "/echo/12[3]");
	assert_string_equal(json_string_value(json_object_get(r.json, "q")), "a b");
	assert_string_equal(json_string_value(json_object_get(r.json, "body")), "eyJ4IjoxfQ==");
	assert_int_equal(json_integer_value(json_object_get(r.json, "uid")), getuid());
	assert_int_equal(json_integer_value(json_object_get(r.json, "pid")), getpid());
	reply_fini(&r);

	assert_int_equal(client_ask(f->client, "GET", "/hello", NULL, 0, &r, &err), 0);
	assert_string_equal(strbuf_text(&r.body), "hello");
	assert_null(r.json);
	reply_fini(&r);
	assert_int_equal(client_ask(f->client, "GET", "/later", NULL, 0, NULL, &err), 0);

	json_t *body = json_pack("{s:s}", "script", "echo \"hi\"\n");
	assert_int_equal(client_ask_json(f->client, "PUT", "/echo", body, &r, &err), 0);
	reply_fini(&r);
	json_decref(body);
}

static void keeps_its_connection(void **state)
{
	struct fixture *f = *state;
	struct reply r;
	struct err err;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(client_ask(f->client, "GET", "/hello", NULL, 0, NULL, &err), 0);
	assert_int_equal(client_ask(f->client, "GET", "/stats", NULL, 0, &r, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(r.json, "connections")), 1);
	assert_int_equal(json_integer_value(json_object_get(r.json, "requests")), 1001);
	reply_fini(&r);
}

static void closes_after_one(void **state)
{
	struct fixture *f = *state;
	struct reply r;
	struct err err;

	client_once(f->client);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(client_ask(f->client, "GET", i ? "/error" : "/stats", NULL, 0, &r, &err),
				 i ? -EBUSY : 0);
		if (i == 0)
			assert_int_equal(json_integer_value(json_object_get(r.json, "connections")), 1);
		reply_fini(&r);
	}
	assert_int_equal(client_ask(f->client, "GET", "/stats", NULL, 0, &r, &err), 0);
	assert_int_equal(client_connections(f->client), 4);
	/* the server has closed the others, and nobody has waited for that */
	assert_int_equal(json_integer_value(json_object_get(r.json, "connections")), 1);
	assert_int_equal(json_integer_value(json_object_get(r.json, "requests")), 4);
	reply_fini(&r);
}

static void tells_errors(void **state)
{
	struct fixture *f = *state;
	struct reply r;
	struct err err;

	assert_int_equal(client_ask(f->client, "GET", "/error", NULL, 0, &r, &err), -EBUSY);
	assert_string_equal(err.text, "Job 12 is \"running\".");
	assert_string_equal(client_code(f->client), "bad_state");
	assert_int_equal(r.status, 409);
	reply_fini(&r);
	assert_int_equal(client_ask(f->client, "GET", "/nowhere", NULL, 0, NULL, &err), -ENOENT);
	assert_string_equal(client_code(f->client), "not_found");
	assert_int_equal(client_ask(f->client, "GET", "/hello", NULL, 0, NULL, &err), 0);
	assert_string_equal(client_code(f->client), "");
	assert_int_equal(client_ask(f->client, "GET", "/a b", NULL, 0, NULL, &err), -EINVAL);
	assert_int_equal(client_ask(f->client, "GET", "/a\r\nX: y", NULL, 0, NULL, &err), -EINVAL);
	/* The library under the server has its own answers to what it can't read: no JSON, but a
	 * status. */
	char *path = mem_alloc(200000);
	memset(path, 'a', 199999);
	path[0] = '/';
	path[199999] = '\0';
	assert_int_equal(client_ask(f->client, "GET", path, NULL, 0, &r, &err), -EINVAL);
	assert_int_equal(r.status, 414);
	reply_fini(&r);
	free(path);
}

static void sends_and_takes_much(void **state)
{
	struct fixture *f = *state;
	struct reply r;
	struct err err;
	size_t n = 1 << 20;
	char *body = mem_alloc(n + 1);

	memset(body, 'x', n + 1);
	assert_int_equal(client_ask(f->client, "POST", "/echo", body, n, &r, &err), 0);
	assert_int_equal(strlen(json_string_value(json_object_get(r.json, "body"))), (n + 2) / 3 * 4);
	reply_fini(&r);
	assert_int_equal(client_ask(f->client, "POST", "/echo", body, n + 1, &r, &err), -EFBIG);
	assert_int_equal(r.status, 413);
	assert_string_equal(client_code(f->client), "too_large");
	reply_fini(&r);
	free(body);
	assert_int_equal(client_ask(f->client, "GET", "/big?n=20000000", NULL, 0, &r, &err), 0);
	assert_int_equal(r.body.n, 20000000);
	assert_int_equal(r.body.text[19999999], 'a' + 19999999 % 26);
	reply_fini(&r);
}

static int append(void *context, const char *data, size_t n)
{
	strbuf_add(context, data, n);
	return 0;
}

static int refuse(void *context, const char *data, size_t n)
{
	return -ECANCELED;
}

static void expect_pieces(const struct strbuf *got, int n)
{
	struct strbuf want = {0};

	for (int i = 0; i < n; i++)
		strbuf_printf(&want, "piece %d\n", i);
	assert_int_equal(got->n, want.n);
	assert_memory_equal(strbuf_text(got), strbuf_text(&want), want.n);
	strbuf_fini(&want);
}

static void reads_streams(void **state)
{
	static const struct {
		const char *path;
		int n;
	} cases[] = {{"/stream?n=0", 0},
		     {"/stream?n=300000", 300000},
		     {"/stream?n=10&by=wake", 10},
		     {"/stream?n=10&by=pause", 10}};
	struct fixture *f = *state;
	struct err err;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct strbuf got = {0};
		assert_int_equal(client_read(f->client, cases[i].path, "text/plain", append, &got, &err), 0);
		expect_pieces(&got, cases[i].n);
		strbuf_fini(&got);
	}
	assert_int_equal(client_read(f->client, "/error", NULL, append, NULL, &err), -EBUSY);
	assert_int_equal(client_read(f->client, "/stream?n=1000000", NULL, refuse, NULL, &err), -ECANCELED);
	assert_int_equal(client_ask(f->client, "GET", "/hello", NULL, 0, NULL, &err), 0);
}

static void knows_that_nobody_is_there(void **state)
{
	char directory[] = "/tmp/shunt-client-XXXXXX", path[96], want[300];
	struct client *c;
	struct err err;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/shuntd.sock", directory);
	snprintf(want, sizeof want,
		 "no Shunt server is running for this user (looked at %s): start one with 'shunt up'", path);
	client_open_at(path, &c, &err);
	assert_int_equal(client_ask(c, "GET", "/", NULL, 0, NULL, &err), -ENOENT);
	assert_string_equal(err.text, want);
	int fd = unix_listen(path, 0600, &err);
	assert_true(fd >= 0);
	close(fd);
	client_patience(c, 0);
	assert_int_equal(client_ask(c, "GET", "/", NULL, 0, NULL, &err), -ECONNREFUSED);
	assert_string_equal(err.text, want);
	client_close(c);
	unlink(path);
	rmdir(directory);
}

/* Another user's server: only root can play both. */
static void is_told_that_it_may_not(void **state)
{
	struct fixture *f = *state;
	int status;

	if (geteuid() != 0)
		skip_because("needs root");
	pid_t pid = fork();
	if (pid == 0) {
		struct err err;
		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(1);
		int rc = client_ask(f->client, "GET", "/hello", NULL, 0, NULL, &err);
		_exit(rc == -EACCES && strstr(err.text, "you may not talk to the Shunt server at") ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void survives_a_restart(void **state)
{
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(client_ask(f->client, "GET", "/hello", NULL, 0, NULL, &err), 0);
	assert_int_equal(serve_end(f->server), 0);
	f->server = 0;
	client_patience(f->client, 0);
	assert_int_equal(client_ask(f->client, "GET", "/hello", NULL, 0, NULL, &err), -ECONNREFUSED);
	client_patience(f->client, 1);
	assert_int_equal(client_ask(f->client, "POST", "/echo", "x", 1, NULL, &err), -ECONNREFUSED);
	f->server = serve_fork(f->path, &serve_limits);
	assert_int_equal(client_ask(f->client, "POST", "/echo", "", 0, NULL, &err), 0);
	assert_int_equal(serve_end(f->server), 0);
	f->server = serve_fork(f->path, &serve_limits);
	assert_int_equal(client_ask(f->client, "POST", "/echo", "x", 1, NULL, &err), 0);
}

static void does_not_repeat_a_change(void **state)
{
	struct fixture *f = *state;
	struct err err;
	int status;

	assert_int_equal(client_ask(f->client, "POST", "/crash", "", 0, NULL, &err), -ECONNRESET);
	assert_non_null(strstr(err.text, "may or may not have been carried out"));
	waitpid(f->server, &status, 0);
	f->server = 0;
}

/* A server that answers `n` requests with these texts, in pieces of `step` bytes, and closes after
 * each; nobody listens any more when it answers the last. */
static pid_t play(const char *path, const char *const *answers, int n, size_t step)
{
	struct err err;
	int fd = unix_listen(path, 0600, &err);

	assert_true(fd >= 0);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < n; i++) {
			char buffer[4096];
			int peer = accept(fd, NULL, NULL);
			if (i == n - 1)
				close(fd);
			if (read(peer, buffer, sizeof buffer) < 0)
				_exit(1);
			size_t all = strlen(answers[i]);
			for (size_t at = 0; at < all; at += step)
				if (send(peer, answers[i] + at, all - at < step ? all - at : step, MSG_NOSIGNAL) < 0)
					break;
			close(peer);
		}
		_exit(0);
	}
	close(fd);
	return pid;
}

static void bears_odd_answers(void **state)
{
	static const struct {
		const char *answer, *body; /* body NULL: an error with this code */
		int rc;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", 0},
		{"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "", 0},
		{"HTTP/1.1 204 None\r\n\r\n", "", 0},
		{"HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end", 0},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", 0},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2;x=y\nhi\n1\n!\n0\nT: x\n\n", "hi!", 0},
		/* it is asked again, and is gone by then */
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", NULL, -ECONNREFUSED},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi", NULL, -ECONNREFUSED},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhixx\r\n0\r\n\r\n", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n1", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n1", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nno colon\r\n\r\n1", NULL, -EPROTO},
		{"HTTP/1.1 2000 OK\r\n\r\n1", NULL, -EPROTO},
		{"HTTP/2 200 OK\r\n\r\n1", NULL, -EPROTO},
		{"SSH-2.0-OpenSSH\r\n", NULL, -EPROTO},
		{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{x", NULL, -EPROTO},
		{"HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", NULL, -EIO},
	};
	char directory[] = "/tmp/shunt-client-XXXXXX", path[96];

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/socket", directory);
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		size_t k = i / 2;
		pid_t pid = play(path, &cases[k].answer, 1, i % 2 ? 1 : strlen(cases[k].answer));
		struct client *c;
		struct reply r;
		struct err err;
		client_open_at(path, &c, &err);
		client_patience(c, 0);
		int rc = client_ask(c, "GET", "/", NULL, 0, &r, &err);
		if (rc != cases[k].rc)
			print_message("# case %zu: %s\n", k, rc < 0 ? err.text : "");
		assert_int_equal(rc, cases[k].rc);
		if (rc == 0)
			assert_string_equal(strbuf_text(&r.body), cases[k].body);
		reply_fini(&r);
		client_close(c);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	unlink(path);
	rmdir(directory);
}

static void asks_again_once(void **state)
{
	char directory[] = "/tmp/shunt-client-XXXXXX", path[96];
	struct client *c;
	struct err err;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/socket", directory);
	pid_t pid = play(path, (const char *const[]){"", "", ""}, 3, 1); /* closes without a word */
	client_open_at(path, &c, &err);
	client_patience(c, 0);
	assert_int_equal(client_ask(c, "GET", "/", NULL, 0, NULL, &err), -ECONNRESET); /* two connections */
	assert_int_equal(client_ask(c, "POST", "/", "x", 1, NULL, &err), -ECONNRESET); /* one */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	client_close(c);
	unlink(path);
	rmdir(directory);
}

/* Keeps what was read. */
static int keep(void *context, const char *data, size_t n)
{
	strbuf_add(context, data, n);
	return 0;
}

/* A server that is stopped while it answers: the next one is asked, unless the caller has a part of
 * the answer already. */
static void asks_again_after_half_an_answer(void **state)
{
#define HEAD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
	static const char *const answers[] = {HEAD "h", HEAD "hi", HEAD, HEAD "hi", HEAD "h", HEAD "h"};
	char directory[] = "/tmp/shunt-client-XXXXXX", path[96];
	struct strbuf text = {0};
	struct client *c;
	struct reply r;
	struct err err;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/socket", directory);
	pid_t pid = play(path, answers, sizeof answers / sizeof *answers, 100);
	client_open_at(path, &c, &err);
	client_patience(c, 0);
	assert_int_equal(client_ask(c, "GET", "/", NULL, 0, &r, &err), 0);
	assert_string_equal(strbuf_text(&r.body), "hi");
	reply_fini(&r);
	assert_int_equal(client_read(c, "/", NULL, keep, &text, &err), 0);
	assert_string_equal(strbuf_text(&text), "hi");
	assert_int_equal(client_read(c, "/", NULL, keep, &text, &err), -ECONNRESET);
	assert_string_equal(strbuf_text(&text), "hih");
	assert_int_equal(client_ask(c, "POST", "/", "x", 1, NULL, &err), -ECONNRESET); /* a change is not repeated */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	strbuf_fini(&text);
	client_close(c);
	unlink(path);
	rmdir(directory);
}

/* The key of a request, as a server that plays along has read it. */
static void key_of(int peer, char ret[80])
{
	char buffer[4096];
	ssize_t n = read(peer, buffer, sizeof buffer - 1);

	ret[0] = '\0';
	buffer[n > 0 ? n : 0] = '\0';
	if (strstr(buffer, "Idempotency-Key: "))
		sscanf(strstr(buffer, "Idempotency-Key: "), "Idempotency-Key: %79s", ret);
}

/* Silence, "not now" and "not known": each time the same submission comes again, and another one
 * has another key. */
static void repeats_a_submission(void **state)
{
	static const char *const answers[] = {
		"",
		"",
		"HTTP/1.1 503 x\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n{\"error\":{\"code\":\"unavailable\",\"x\":1}}",
		"HTTP/1.1 504 x\r\nContent-Type: application/json\r\nContent-Length: 42\r\n\r\n{\"error\":{\"code\":\"outcome_unknown\",\"x\":1}}",
		"HTTP/1.1 200 x\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 201 x\r\nContent-Length: 2\r\n\r\nhi",
	};
	enum { N = sizeof answers / sizeof *answers };
	char directory[] = "/tmp/shunt-client-XXXXXX", path[96];
	json_t *body = json_pack("{s:s}", "script", "true");
	struct client *c;
	struct err err;
	int status;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/socket", directory);
	int fd = unix_listen(path, 0600, &err);
	pid_t pid = fork();
	if (pid == 0) {
		char key[N][80];
		for (int i = 0; i < N; i++) {
			int peer = accept(fd, NULL, NULL);
			key_of(peer, key[i]);
			if (send(peer, answers[i], strlen(answers[i]), MSG_NOSIGNAL) < 0)
				_exit(1);
			close(peer);
			if (strlen(key[i]) != 32 || (i > 0 && (strcmp(key[i], key[0]) == 0) != (i < N - 1)))
				_exit(2);
		}
		_exit(0);
	}
	close(fd);
	client_open_at(path, &c, &err);
	assert_int_equal(client_submit(c, "/v1/jobs", body, NULL, &err), 0);
	assert_int_equal(client_submit(c, "/v1/jobs", body, NULL, &err), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	client_close(c);
	json_decref(body);
	unlink(path);
	rmdir(directory);
}

static void gives_up(void **state)
{
	char directory[] = "/tmp/shunt-client-XXXXXX", path[96];
	struct client *c;
	struct err err;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/socket", directory);
	int fd = unix_listen(path, 0600, &err); /* nobody accepts */
	setenv("SHUNT_TIMEOUT", "1", 1);
	client_open_at(path, &c, &err);
	unsetenv("SHUNT_TIMEOUT");
	assert_int_equal(client_ask(c, "GET", "/", NULL, 0, NULL, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "has not answered for 1 s"));
	listen(fd, 0); /* a queue that is soon full */
	client_close(c);
	setenv("SHUNT_TIMEOUT", "1", 1);
	client_open_at(path, &c, &err);
	unsetenv("SHUNT_TIMEOUT");
	client_patience(c, 1);
	for (int rc = 0; rc != -EAGAIN; close(rc)) /* connections stay in the queue, closed or not */
		rc = unix_connect(path, 10, &err);
	assert_int_equal(client_ask(c, "POST", "/", "", 0, NULL, &err), -EAGAIN);
	assert_non_null(strstr(err.text, "busy"));
	client_close(c);
	close(fd);
	unlink(path);
	rmdir(directory);
}

static void quotes(void **state)
{
	struct strbuf out = {0};

	url_quote("12[3].a/b c&d=é%", &out);
	assert_string_equal(strbuf_text(&out), "12%5B3%5D.a%2Fb%20c%26d%3D%C3%A9%25");
	strbuf_fini(&out);
}

/* ---- sockets of any path ---- */

static void takes_long_paths(void **state)
{
	char path[1200] = "/tmp/shunt-client-XXXXXX", part[102];
	struct err err;
	struct stat st;
	size_t base = strlen(path);

	assert_non_null(mkdtemp(path));
	memset(part, 'd', 100);
	part[100] = '\0';
	for (int i = 0; i < 9; i++) {
		strcat(path, "/");
		strcat(path, part);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	strcat(path, "/socket");
	mode_t before = umask(0077);
	int fd = unix_listen(path, 0666, &err);
	umask(before);
	assert_true(fd >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	int peer = unix_connect(path, 0, &err);
	assert_true(peer >= 0);
	close(peer);
	assert_int_equal(unix_listen(path, 0600, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "already listens"));
	close(fd);
	assert_int_equal(unix_connect(path, 0, &err), -ECONNREFUSED);
	fd = unix_listen(path, 0600, &err); /* the abandoned file is replaced */
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(unix_connect(path, 0, &err), -ENOENT);
	while (strlen(path) > base) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
}

static void sends_datagrams(void **state)
{
	char directory[] = "/tmp/shunt-client-XXXXXX", path[96], got[8];
	struct err err;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/socket", directory);
	int fd = unix_bind_datagram(path, 0600, &err);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int peer = socket(AF_UNIX, SOCK_DGRAM, 0);
	strcpy(address.sun_path, path);
	assert_true(fd >= 0 && connect(peer, (const struct sockaddr *)&address, sizeof address) == 0);
	assert_int_equal(unix_bind_datagram(path, 0600, &err), -EADDRINUSE);
	assert_int_equal(write(peer, "abc", 3), 3);
	assert_int_equal(read(fd, got, sizeof got), 3);
	close(peer);
	close(fd);
	fd = unix_bind_datagram(path, 0600, &err);
	assert_true(fd >= 0);
	pid_t child =
		fork(); /* like the child of a server killed in the middle of a fork: it has the socket for a moment */
	if (child == 0) {
		usleep(300000);
		_exit(0);
	}
	close(fd);
	fd = unix_bind_datagram(path, 0600, &err);
	assert_true(fd >= 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(fd);
	unlink(path);
	fd = creat(path, 0600);
	close(fd);
	assert_int_equal(unix_listen(path, 0600, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "not a socket"));
	assert_int_equal(unix_listen("", 0600, &err), -EINVAL);
	assert_int_equal(unix_listen("/nowhere/socket", 0600, &err), -ENOENT);
	unlink(path);
	rmdir(directory);
}

/* ---- where things are ---- */

static void environment(const char *home, const char *xdg, const char *shunt)
{
	static const char *const names[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"};

	for (size_t i = 0; i < 3; i++) {
		unsetenv(names[i]);
		if (xdg)
			setenv(names[i], xdg, 1);
	}
	unsetenv("HOME");
	unsetenv("SHUNT_HOME");
	if (home)
		setenv("HOME", home, 1);
	if (shunt)
		setenv("SHUNT_HOME", shunt, 1);
}

static void knows_where(void **state)
{
	char *home = mem_strdup(getenv("HOME") ? getenv("HOME") : "/"), here[3000], want[3072];
	struct where w;
	struct err err;

	environment("/home/u", NULL, NULL);
	assert_int_equal(where_personal(&w, &err), 0);
	assert_string_equal(w.state, "/home/u/.local/state/shunt");
	assert_string_equal(w.run, "/home/u/.local/state/shunt/run");
	assert_string_equal(w.conf, "/home/u/.config/shunt/shunt.conf");
	assert_string_equal(w.log, "/home/u/.local/state/shunt/log");
	assert_string_equal(w.home, "");
	assert_false(w.system);

	environment("/home/u", "/x", NULL);
	assert_int_equal(where_personal(&w, &err), 0);
	assert_string_equal(w.state, "/x/shunt");
	assert_string_equal(w.run, "/x/shunt");
	assert_string_equal(w.conf, "/x/shunt/shunt.conf");

	environment("/home/u", "relative", NULL); /* ignored, says XDG */
	assert_int_equal(where_personal(&w, &err), 0);
	assert_string_equal(w.state, "/home/u/.local/state/shunt");

	environment(NULL, NULL, NULL); /* from the passwd entry */
	assert_int_equal(where_personal(&w, &err), 0);
	assert_int_equal(w.state[0], '/');

	environment("/home/u", "/x", "/srv/a b//");
	assert_int_equal(where_find(&w, &err), 0);
	assert_string_equal(w.home, "/srv/a b");
	assert_string_equal(w.run, "/srv/a b/run");
	assert_string_equal(w.state, "/srv/a b/state");
	assert_string_equal(w.conf, "/srv/a b/shunt.conf");
	assert_string_equal(w.log, "/srv/a b/log");

	environment("/home/u", "/x", "sub");
	assert_int_equal(where_personal(&w, &err), 0);
	assert_non_null(getcwd(here, sizeof here - 8));
	snprintf(want, sizeof want, "%s/sub/run", here);
	assert_string_equal(w.run, want);

	memset(here, 'x', sizeof here);
	here[0] = '/';
	here[sizeof here - 1] = '\0';
	here[2999] = '\0';
	environment("/home/u", NULL, here);
	assert_int_equal(where_personal(&w, &err), 0);
	char longer[4000];
	memset(longer, 'x', sizeof longer);
	longer[0] = '/';
	longer[sizeof longer - 1] = '\0';
	environment("/home/u", NULL, longer);
	assert_int_equal(where_personal(&w, &err), -ENAMETOOLONG);
	environment(longer, NULL, NULL);
	assert_int_equal(where_personal(&w, &err), -ENAMETOOLONG);

	assert_int_equal(where_system(&w, &err), 0);
	assert_true(w.system);
	assert_string_equal(w.run, "/run/shunt");
	environment(home, NULL, NULL);
	free(home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(asks, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_its_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(closes_after_one, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(sends_and_takes_much, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_streams, setup, teardown),
		cmocka_unit_test_setup_teardown(is_told_that_it_may_not, setup, teardown),
		cmocka_unit_test_setup_teardown(survives_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(does_not_repeat_a_change, setup, teardown),
		cmocka_unit_test(knows_that_nobody_is_there),
		cmocka_unit_test(bears_odd_answers),
		cmocka_unit_test(asks_again_once),
		cmocka_unit_test(asks_again_after_half_an_answer),
		cmocka_unit_test(repeats_a_submission),
		cmocka_unit_test(gives_up),
		cmocka_unit_test(quotes),
		cmocka_unit_test(takes_long_paths),
		cmocka_unit_test(sends_datagrams),
		cmocka_unit_test(knows_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
