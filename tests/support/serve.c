/*
 * serve.c - a small HTTP server over net/http, for the tests of both ends.
 */
#include "support/serve.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/unixsock.h"

const struct http_limits serve_limits = {.body = 1 << 20, .connections = 2000, .per_uid = 2000, .idle_seconds = 30};

struct serve_stream {
	struct serve *serve;
	struct http_request *r;
	int next, end;
	bool by_wake, silent;
	int pauses; /* pauses before each piece */
	bool awake;
	int pause;
};

static long number(const struct http_request *r, const char *name)
{
	const char *text = request_query(r, name);

	return text ? atol(text) : 0;
}

static int stream_fill(void *context, struct strbuf *out, size_t want)
{
	struct serve_stream *s = context;
	size_t before = out->n;

	if (s->silent)
		return 0;
	if (s->pause > 0) {
		s->pause--;
		return 1;
	}
	s->pause = s->pauses;
	if (s->by_wake && !s->awake)
		return 0;
	s->awake = false;
	while (s->next < s->end && out->n - before < want) {
		strbuf_printf(out, "piece %d\n", s->next++);
		if (s->by_wake || s->pauses)
			break;
	}
	return s->next < s->end ? 1 : -1;
}

static void stream_close(void *context)
{
	struct serve_stream *s = context;

	s->serve->streams--;
	for (size_t i = 0; i < s->serve->sleepers.n; i++)
		if (s->serve->sleepers.v[i] == s)
			vec_remove(&s->serve->sleepers, i);
	free(s);
}

static void stream_open(struct serve *serve, struct http_request *r, bool silent)
{
	struct serve_stream *s = mem_zalloc(sizeof *s);
	const char *by = request_query(r, "by");

	*s = (struct serve_stream){.serve = serve, .r = r, .end = (int)number(r, "n"), .silent = silent};
	s->by_wake = by && strcmp(by, "wake") == 0;
	s->pause = s->pauses = by && strcmp(by, "pause") == 0 ? 3 : 0;
	serve->streams++;
	vec_push(&serve->sleepers, s);
	http_stream(r, 200, "text/plain", &(struct stream_source){stream_fill, stream_close, s});
}

static void echo(struct http_request *r)
{
	struct strbuf out = {0}, body = {0};
	struct peer peer = request_peer(r);
	struct json j;
	size_t n;

	const char *bytes = request_body(r, &n);
	base64_encode(bytes, n, &body);
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "method", request_method(r));
	json_text(&j, "path", request_path(r));
	json_text(&j, "q", request_query(r, "q"));
	json_text(&j, "header", request_header(r, "x-test"));
	json_text(&j, "body", strbuf_text(&body));
	json_int(&j, "uid", peer.uid);
	json_int(&j, "gid", peer.gid);
	json_int(&j, "pid", peer.pid);
	json_text(&j, "remote", request_remote(r));
	json_bool(&j, "page", request_page(r));
	json_close_object(&j);
	http_reply_strbuf(r, 200, "application/json", &out);
	strbuf_fini(&body);
}

static void stats(struct serve *s, struct http_request *r)
{
	struct http_stats got = http_stats(s->http);
	char text[200];
	int n = snprintf(text, sizeof text, "{\"connections\":%d,\"requests\":%llu,\"rejected\":%llu,\"streams\":%d}",
			 got.connections, (unsigned long long)got.requests, (unsigned long long)got.rejected,
			 s->streams);

	http_reply(r, 200, "application/json", text, (size_t)n);
}

static void big(struct http_request *r)
{
	size_t n = (size_t)number(r, "n");
	char *bytes = mem_alloc(n);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)('a' + i % 26);
	http_reply(r, 200, "text/plain", bytes, n);
	free(bytes);
}

static void shout_taken(void *context, int fd, void *upgraded)
{
	struct serve *s = context;

	vec_push(&s->shouts, (struct shout){fd, upgraded});
}

/* Returns false when it is over. */
static bool shout_run(struct shout *shout)
{
	char text[1000];
	ssize_t n = recv(shout->fd, text, sizeof text, MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++)
		text[i] = (char)toupper((unsigned char)text[i]);
	if (n > 0)
		send(shout->fd, text, (size_t)n, MSG_NOSIGNAL);
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static void shouts_run(struct serve *s)
{
	for (size_t i = s->shouts.n; i-- > 0;) {
		if (!shout_run(&s->shouts.v[i])) {
			http_release(s->shouts.v[i].handle);
			vec_remove(&s->shouts, i);
		}
	}
}

static void handle(void *context, struct http_request *r)
{
	struct serve *s = context;
	const char *path = request_path(r);

	s->handled++;
	if (strncmp(path, "/echo", 5) == 0) {
		echo(r);
	} else if (strcmp(path, "/hello") == 0) {
		http_header(r, "X-Answer", "yes");
		http_reply(r, 200, "text/plain", "hello", 5);
	} else if (strcmp(path, "/big") == 0) {
		big(r);
	} else if (strcmp(path, "/error") == 0) {
		http_error(r, CODE_BAD_STATE, "Job %d is \"running\".", 12);
	} else if (strcmp(path, "/later") == 0) {
		vec_push(&s->later, r);
	} else if (strcmp(path, "/never") == 0) {
		/* left to http_stop() */
	} else if (strcmp(path, "/stream") == 0 || strcmp(path, "/silent") == 0) {
		stream_open(s, r, strcmp(path, "/silent") == 0);
	} else if (strcmp(path, "/shout") == 0) {
		http_upgrade(r, "shout", shout_taken, s);
	} else if (strcmp(path, "/crash") == 0) {
		_exit(1);
	} else if (strcmp(path, "/stats") == 0) {
		stats(s, r);
	} else {
		http_error(r, CODE_NOT_FOUND, "There is no %s.", path);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct serve *s = timer->data;

	for (size_t i = 0; i < s->later.n; i++)
		http_reply(s->later.v[i], 200, "text/plain", "later", 5);
	vec_clear(&s->later);
	shouts_run(s);
	for (size_t i = 0; i < s->sleepers.n; i++) {
		if (!s->sleepers.v[i]->silent) {
			s->sleepers.v[i]->awake = true;
			stream_wake(s->sleepers.v[i]->r);
		}
	}
}

static void on_check(uv_check_t *check)
{
	struct serve *s = check->data;

	if (s->hold)
		return;
	http_flush(s->http);
	http_send(s->http);
}

static struct serve *serve_at(const char *path, const struct http_limits *limits)
{
	struct serve *s = mem_zalloc(sizeof *s);
	struct err err;
	int fd = unix_listen(path, 0600, &err);

	uv_loop_init(&s->loop);
	if (fd < 0 || http_start(&s->loop, fd, limits, handle, s, &s->http, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	uv_timer_init(&s->loop, &s->tick);
	uv_check_init(&s->loop, &s->check);
	s->tick.data = s->check.data = s;
	uv_timer_start(&s->tick, on_tick, 2, 2);
	uv_check_start(&s->check, on_check);
	return s;
}

static void serve_close(struct serve *s)
{
	http_stop(s->http);
	uv_close((uv_handle_t *)&s->tick, NULL);
	uv_close((uv_handle_t *)&s->check, NULL);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&s->loop) != 0 || s->streams != 0)
		abort();
	for (size_t i = 0; i < s->shouts.n; i++) /* they may outlive the server */
		http_release(s->shouts.v[i].handle);
	vec_free(&s->shouts);
	vec_free(&s->later);
	vec_free(&s->sleepers);
}

struct serve *serve_start(const struct http_limits *limits)
{
	char directory[] = "/tmp/shunt-http-XXXXXX", path[96];

	if (!mkdtemp(directory))
		abort();
	snprintf(path, sizeof path, "%s/socket", directory);
	struct serve *s = serve_at(path, limits);
	strcpy(s->directory, directory);
	strcpy(s->path, path);
	return s;
}

void serve_turn(struct serve *s)
{
	uv_run(&s->loop, UV_RUN_NOWAIT);
}

void serve_stop(struct serve *s)
{
	serve_close(s);
	unlink(s->path);
	rmdir(s->directory);
	free(s);
}

static void on_term(uv_signal_t *handle, int number_of_it)
{
	uv_close((uv_handle_t *)handle, NULL);
	uv_stop(handle->loop);
}

pid_t serve_fork(const char *path, const struct http_limits *limits)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		uv_signal_t term;
		struct serve *s = serve_at(path, limits);
		uv_signal_init(&s->loop, &term);
		uv_signal_start(&term, on_term, SIGTERM);
		close(ready[0]);
		close(ready[1]);
		uv_run(&s->loop, UV_RUN_DEFAULT);
		serve_close(s);
		free(s);
		/* skips the leak check, which takes seconds in a child; tests with the server in
		 * their own process do it */
		_exit(0);
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 0)
		abort();
	close(ready[0]);
	return pid;
}

int serve_end(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
