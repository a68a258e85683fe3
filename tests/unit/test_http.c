/*
 * test_http.c - the HTTP server under clients of every kind: many, impatient, slow, rude. Server
 * and clients share the test's process and turn by turn its loop, so that every moment can be
 * chosen.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/descriptors.h"
#include "base/unixsock.h"
#include "client/response.h"
#include "net/address.h"
#include "net/url.h"
#include "support/serve.h"

/* A client's end of a connection, and what it has not looked at yet. */
struct end {
	int fd, at, n;
	char buffer[65536];
};

static struct end *dial(struct serve *s)
{
	struct end *e = mem_alloc(sizeof *e);
	struct err err;

	e->at = e->n = 0;
	e->fd = unix_connect(s->path, 0, &err);
	assert_true(e->fd >= 0);
	return e;
}

static void hang_up(struct end *e)
{
	close(e->fd);
	free(e);
}

/* Sends, turning the server's loop while its buffers are full. False if the server closed. */
static bool put_bytes(struct serve *s, struct end *e, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t rc = send(e->fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (rc < 0 && errno != EAGAIN)
			return false;
		if (rc > 0) {
			data += rc;
			n -= (size_t)rc;
		}
		serve_turn(s);
	}
	return true;
}

static bool put(struct serve *s, struct end *e, const char *text)
{
	return put_bytes(s, e, text, strlen(text));
}

/* One recv, not waiting: the bytes, 0 at the end, -1 if there is nothing yet. */
static int look(struct end *e)
{
	ssize_t n = recv(e->fd, e->buffer, sizeof e->buffer, MSG_DONTWAIT);

	if (n < 0 && errno == ECONNRESET)
		n = 0;
	e->at = 0;
	e->n = n > 0 ? (int)n : 0;
	return (int)n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads one answer; its status, or 0 if the server closed instead. */
static int take(struct serve *s, struct end *e, struct strbuf *body)
{
	struct response p;
	struct err err;
	const char *piece = NULL;
	double end = now() + 60;
	int n;

	response_init(&p);
	while (p.state != RESPONSE_DONE) {
		if (e->at == e->n) {
			int rc = look(e);
			if (rc == 0)
				return response_end(&p, &err) == 0 ? p.status : 0;
			assert_true(now() < end);
		}
		int took = response_feed(&p, e->buffer + e->at, e->n - e->at, &piece, &n, &err);
		if (took < 0)
			print_message("# %s\n", err.text);
		assert_true(took >= 0);
		e->at += took;
		if (n > 0 && body)
			strbuf_add(body, piece, (size_t)n);
		serve_turn(s);
	}
	return p.status;
}

static int ask(struct serve *s, struct end *e, const char *request, struct strbuf *body)
{
	if (body)
		strbuf_clear(body);
	put(s, e, request);
	return take(s, e, body);
}

static void turns(struct serve *s, int n)
{
	while (n-- > 0)
		serve_turn(s);
}

/* Turns until the counter has this value. */
static void until(struct serve *s, const int *counter, int value)
{
	double end = now() + 60;

	while (*counter != value) {
		serve_turn(s);
		assert_true(now() < end);
	}
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

/* On the page's port the uid of a client is never known. */
static void listens_for_the_page(void **state)
{
	struct serve *s = *state;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct end *e = mem_zalloc(sizeof *e), *local = dial(s);
	struct strbuf body = {0};
	struct err err;
	int fd[2], port;

	assert_int_equal(sockets_listen("127.0.0.1:0", fd, &port, &err), 1);
	http_listen_page(s->http, fd[0]);
	to.sin_port = htons((uint16_t)port);
	e->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(e->fd, (struct sockaddr *)&to, sizeof to), 0);
	assert_int_equal(ask(s, e, GET("/echo"), &body), 200);
	assert_non_null(strstr(body.text, "\"uid\":4294967295"));
	assert_non_null(strstr(body.text, "\"remote\":\"127.0.0.1\",\"page\":true"));
	assert_int_equal(ask(s, local, GET("/echo"), &body), 200);
	assert_non_null(strstr(body.text, "\"remote\":null,\"page\":false"));
	strbuf_fini(&body);
	hang_up(e);
	hang_up(local);
}

/* One client has one key, however many addresses of its network it takes; names of families. */
static void addresses(void **state)
{
	static const struct {
		int family;
		const char *address, *text;
	} of[] = {{AF_INET, "10.1.2.3", "10.1.2.3"},
		  {AF_INET6, "2001:db8::5", "2001:db8::5"},
		  {AF_INET6, "::ffff:10.1.2.3", "10.1.2.3"}};
	char text[64], where[64], wanted[160];
	int fd[2], other[2], port, n;
	struct err err;

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		struct sockaddr_storage a = {.ss_family = (sa_family_t)of[i].family};
		void *to = of[i].family == AF_INET ? (void *)&((struct sockaddr_in *)&a)->sin_addr
						   : (void *)&((struct sockaddr_in6 *)&a)->sin6_addr;
		assert_int_equal(inet_pton(of[i].family, of[i].address, to), 1);
		address_text(&a, text, sizeof text);
		assert_string_equal(text, of[i].text);
	}
	address_text(&(struct sockaddr_storage){.ss_family = AF_UNIX}, text, sizeof text);
	assert_string_equal(text, "");
	assert_true(address_key("2001:db8:0:1::1") == address_key("2001:db8:0:1:ffff::2"));
	assert_true(address_key("2001:db8:0:1::1") != address_key("2001:db8:0:2::1"));
	assert_true(address_key("10.1.2.3") == address_key("10.1.2.3"));
	assert_true(address_key("10.1.2.3") != address_key("10.1.2.4"));
	assert_int_equal(sockets_listen("127.0.0.1:0", fd, &port, &err), 1);
	assert_true(port > 0);
	snprintf(where, sizeof where, "127.0.0.1:%d", port);
	snprintf(wanted, sizeof wanted, "can't listen on %s: another program does; end it, or set another port", where);
	assert_int_equal(sockets_listen(where, other, &n, &err), -EADDRINUSE);
	assert_string_equal(err.text, wanted);
	close(fd[0]);
	assert_int_equal(sockets_listen("192.0.2.1:0", other, &n, &err), -EADDRNOTAVAIL);
	assert_true(sockets_listen("no port", other, &n, &err) < 0);
	n = sockets_listen(":0", fd, &port, &err); /* one socket for each family, with the same number */
	assert_true(n == 1 || n == 2);
	for (int i = 0; i < n; i++) {
		struct sockaddr_storage a;
		socklen_t size = sizeof a;
		assert_int_equal(getsockname(fd[i], (struct sockaddr *)&a, &size), 0);
		assert_int_equal(ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
							       : ((struct sockaddr_in *)&a)->sin_port),
				 port);
		close(fd[i]);
	}
}

static int setup(void **state)
{
	*state = serve_start(&serve_limits);
	return 0;
}

static int teardown(void **state)
{
	serve_stop(*state);
	return 0;
}

/* ---- asking and answering ---- */

static void hands_over_whole_requests(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);
	struct strbuf body = {0};
	static const char post[] =
		"POST /echo/12%5b%5D?x=1&q=a+b%26%3d&q=2 HTTP/1.1\r\nHost: x\r\nX-Test: v\r\nContent-Length: 5\r\n\r\na\0b\"c";

	for (size_t i = 0; i < sizeof post - 1; i++) /* byte by byte */
		put_bytes(s, e, post + i, 1);
	assert_int_equal(take(s, e, &body), 200);
	json_t *j = json_loads(strbuf_text(&body), 0, NULL);
	assert_string_equal(json_string_value(json_object_get(j, "method")), "POST");
	assert_string_equal(json_string_value(json_object_get(j, "path")), "/echo/12[]");
	assert_string_equal(json_string_value(json_object_get(j, "q")), "a b&=");
	assert_string_equal(json_string_value(json_object_get(j, "header")), "v");
	assert_string_equal(json_string_value(json_object_get(j, "body")), "YQBiImM=");
	assert_int_equal(json_integer_value(json_object_get(j, "uid")), getuid());
	assert_int_equal(json_integer_value(json_object_get(j, "gid")), getgid());
	assert_int_equal(json_integer_value(json_object_get(j, "pid")), getpid());
	json_decref(j);

	assert_int_equal(
		ask(s, e,
		    "PATCH /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n",
		    &body),
		200);
	assert_non_null(strstr(strbuf_text(&body), "\"body\":\"aGkh\""));
	assert_int_equal(ask(s, e,
			     "PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
			     &body),
			 200);
	assert_int_equal(ask(s, e, "DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n", &body), 200);
	assert_non_null(strstr(strbuf_text(&body), "\"DELETE\""));
	assert_int_equal(ask(s, e, GET("/error"), &body), 409);
	assert_string_equal(strbuf_text(&body),
			    "{\"error\":{\"code\":\"bad_state\",\"message\":\"Job 12 is \\\"running\\\".\","
			    "\"template\":\"Job {1} is \\\"running\\\".\",\"values\":[\"12\"]}}");
	assert_int_equal(ask(s, e, GET("/later"), &body), 200);
	assert_int_equal(ask(s, e, "GET /hello HTTP/1.0\r\n\r\n", &body), 200); /* which closes */
	assert_string_equal(strbuf_text(&body), "hello");
	strbuf_fini(&body);
	hang_up(e);
}

/* HEAD: headers as of a GET, and no body. */
static void answers_heads(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);

	put(s, e, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
	int n = -1;
	while (n < 0) {
		serve_turn(s);
		n = look(e);
	}
	e->buffer[n] = '\0';
	assert_non_null(strstr(e->buffer, "Content-Length: 5"));
	assert_non_null(strstr(e->buffer, "X-Answer: yes"));
	assert_string_equal(e->buffer + n - 4, "\r\n\r\n");
	e->at = e->n;
	put(s, e, "HEAD /silent HTTP/1.1\r\nHost: x\r\n\r\n");
	while ((n = look(e)) < 0)
		serve_turn(s);
	e->buffer[n] = '\0';
	assert_non_null(
		strstr(e->buffer, "Connection: close")); /* there may be an empty chunk, which is not the next answer */
	until(s, &s->streams, 0);
	while ((n = look(e)) != 0)
		serve_turn(s);
	hang_up(e);
}

static void sends_nothing_before_the_flush(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s), *other = dial(s);

	s->hold = true;
	put(s, e, GET("/hello"));
	put(s, other, GET("/stream?n=3"));
	until(s, &s->handled, 2);
	turns(s, 100);
	assert_int_equal(look(e), -1);
	assert_int_equal(look(other), -1);
	s->hold = false;
	assert_int_equal(take(s, e, NULL), 200);
	assert_int_equal(take(s, other, NULL), 200);
	hang_up(e);
	hang_up(other);
}

static void sends_in_the_turn_of_the_flush(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);

	put(s, e, GET("/hello"));
	until(s, &s->handled, 1);
	assert_true(look(e) > 0);
	hang_up(e);
}

/* Requests of a pipeline are read while the answers before them are sent: nothing else wakes the
 * loop for them. */
static void does_not_sleep_over_answers(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);
	struct strbuf all = {0};

	uv_timer_stop(&s->tick);
	for (int i = 0; i < 20; i++)
		strbuf_puts(&all, GET("/hello"));
	put_bytes(s, e, all.text, all.n);
	while (!s->handled)
		serve_turn(s);
	while (uv_backend_timeout(&s->loop) == 0)
		serve_turn(s);
	assert_int_equal(s->handled, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(take(s, e, NULL), 200);
	strbuf_fini(&all);
	hang_up(e);
}

static void serves_ten_thousand_on_a_connection(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);

	for (int i = 0; i < 10000; i++)
		assert_int_equal(ask(s, e, GET("/hello"), NULL), 200);
	assert_int_equal(http_stats(s->http).requests, 10000);
	assert_int_equal(http_stats(s->http).connections, 1);
	hang_up(e);
}

static void answers_pipelines_in_order(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);
	struct strbuf all = {0}, body = {0};
	char want[32];

	for (int i = 0; i < 500; i++) {
		strbuf_printf(&all, "GET /echo/%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
		if (i % 10 == 0)
			strbuf_puts(&all, GET("/stream?n=2&by=wake"));
	}
	put_bytes(s, e, all.text, all.n);
	for (int i = 0; i < 500; i++) {
		strbuf_clear(&body);
		assert_int_equal(take(s, e, &body), 200);
		snprintf(want, sizeof want, "\"/echo/%d\"", i);
		assert_non_null(strstr(strbuf_text(&body), want));
		if (i % 10 == 0)
			assert_int_equal(take(s, e, NULL), 200);
	}
	strbuf_fini(&all);
	strbuf_fini(&body);
	hang_up(e);
}

static void serves_a_thousand_connections(void **state)
{
	enum { N = 1000 };
	struct serve *s = *state;
	struct end *e[N];

	if (descriptors_left() < 2 * N + 10) {
		print_message("# needs more open files than this user may have\n");
		skip();
	}
	for (int i = 0; i < N; i++) {
		e[i] = dial(s);
		serve_turn(s);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++)
			put(s, e[i], round == 1 ? GET("/later") : GET("/hello"));
		for (int i = 0; i < N; i++)
			assert_int_equal(take(s, e[i], NULL), 200);
	}
	assert_int_equal(http_stats(s->http).connections, N);
	for (int i = 0; i < N; i++)
		hang_up(e[i]);
	double end = now() + 60;
	while (http_stats(s->http).connections > 0) {
		serve_turn(s);
		assert_true(now() < end);
	}
}

/* A source that pauses lets the loop's other work go first. */
static void streams_yield(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);
	int n = 0;

	put(s, e, GET("/stream?n=50&by=pause"));
	while (!s->streams)
		serve_turn(s);
	for (; s->streams; n++)
		serve_turn(s);
	assert_true(n >= 40);
	assert_int_equal(take(s, e, NULL), 200);
	hang_up(e);
}

static void streams_much_and_little(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);
	struct strbuf body = {0};

	assert_int_equal(ask(s, e, GET("/stream?n=1000000"), &body), 200);
	assert_int_equal(body.n, 10 * 8 + 90 * 9 + 900 * 10 + 9000 * 11 + 90000 * 12 + 900000 * 13);
	assert_int_equal(ask(s, e, GET("/stream?n=20&by=wake"), &body), 200);
	assert_int_equal(ask(s, e, GET("/stream?n=20&by=pause"), &body), 200);
	assert_non_null(strstr(strbuf_text(&body), "piece 19\n"));
	assert_int_equal(ask(s, e, GET("/stream?n=0"), &body), 200);
	assert_int_equal(ask(s, e, "GET /stream?n=20&by=wake HTTP/1.0\r\n\r\n", &body), 200);
	assert_non_null(strstr(strbuf_text(&body), "piece 19\n"));
	assert_int_equal(s->streams, 0);
	strbuf_fini(&body);
	hang_up(e);
}

/* ---- clients that leave ---- */

/* Turns until the server has noticed that all have left. */
static void until_empty(struct serve *s)
{
	double end = now() + 60;

	while (http_stats(s->http).connections > 0) {
		serve_turn(s);
		assert_true(now() < end);
	}
}

static void expect_alive(struct serve *s)
{
	until_empty(s);
	struct end *e = dial(s);
	assert_int_equal(ask(s, e, GET("/hello"), NULL), 200);
	hang_up(e);
	until_empty(s);
}

static void bears_leaving_at_every_byte(void **state)
{
	static const char post[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
	struct serve *s = *state;

	for (size_t n = 0; n < sizeof post; n++) {
		for (int few = 0; few < 4; few++) { /* some turns later */
			struct end *e = dial(s);
			put_bytes(s, e, post, n);
			turns(s, few);
			hang_up(e);
			turns(s, 2);
		}
	}
	expect_alive(s);
}

static void bears_leaving_before_the_answer(void **state)
{
	struct serve *s = *state;
	struct end *e[3] = {dial(s), dial(s), dial(s)};

	s->hold = true;
	put(s, e[0], GET("/hello"));
	put(s, e[1], GET("/big?n=1000000"));
	put(s, e[2], GET("/stream?n=1000000"));
	until(s, &s->handled, 3);
	for (int i = 0; i < 3; i++)
		hang_up(e[i]);
	turns(s, 20);
	s->hold = false;
	turns(s, 20);
	e[0] = dial(s);
	put(s, e[0], GET("/later"));
	until(s, &s->handled, 4);
	hang_up(e[0]);
	expect_alive(s);
	assert_int_equal(s->streams, 0);
}

static void bears_leaving_in_the_answer(void **state)
{
	static const char *const requests[] = {GET("/big?n=10000000"), GET("/stream?n=1000000"),
					       GET("/stream?n=1000&by=wake"), GET("/stream?n=1000&by=pause"),
					       GET("/silent")};
	struct serve *s = *state;

	for (int i = 0; i < 5 * 8; i++) {
		struct end *e = dial(s);
		put(s, e, requests[i % 5]);
		turns(s, i / 5 * 3);
		look(e);
		turns(s, i / 5);
		if (i % 2)
			shutdown(e->fd, SHUT_RDWR);
		hang_up(e);
	}
	until(s, &s->streams, 0); /* nobody has to wake them */
	expect_alive(s);
}

/* A stream that is woken and left in the same turn. */
static void bears_leaving_while_woken(void **state)
{
	struct serve *s = *state;

	for (int i = 0; i < 50; i++) {
		struct end *e = dial(s);
		put(s, e, GET("/stream?n=1000&by=wake"));
		until(s, &s->streams, 1);
		turns(s, 10);
		s->hold = true; /* woken by the timer, but not flushed */
		double soon = now() + 0.004;
		while (now() < soon)
			serve_turn(s);
		hang_up(e);
		turns(s, 5);
		s->hold = false;
		until(s, &s->streams, 0);
	}
	expect_alive(s);
}

/* The client ends its side and still reads. */
static void answers_half_closed(void **state)
{
	struct serve *s = *state;
	struct end *e = dial(s);

	put(s, e, GET("/later"));
	shutdown(e->fd, SHUT_WR);
	assert_int_equal(take(s, e, NULL), 200);
	hang_up(e);
	e = dial(s);
	put(s, e, GET("/stream?n=50&by=wake"));
	shutdown(e->fd, SHUT_WR);
	assert_int_equal(take(s, e, NULL), 200);
	hang_up(e);
}

/* ---- bounds ---- */

static void refuses_what_is_malformed(void **state)
{
	static const struct {
		const char *request;
		int status; /* 0: closed without an answer will also do */
	} cases[] = {
		{"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"GET /% HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"GET /?q=%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"GET hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"OPTIONS /hello HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		{"BREW /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 405},
		{"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n", 400},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n", 413},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc", 400},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		 400},
		{"GET /hello HTTP/1.1\r\nHost : x\r\n\r\n", 400},
		{"GET /hello HTTP/1.1\r\nHost: x\r\nX\tY: x\r\n\r\n", 400},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc", 400},
		{"GET /hello HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n", 400},
		{"GET /hello HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\r\n c\r\nY: b\r\n\r\n", 400},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n 4\r\n\r\nabc", 400},
		{"GET /hello HTTP/1.1\r\nHost:\t x\r\nX:\r\nY:a\r\n\r\n", 200},
		{"GET\r\n\r\n", 0},
		{"\r\n\r\n\r\nGET\r\n\r\n", 0},
		{"GET /hello SPDY/9\r\n\r\n", 0},
		{"GET /hello HTTP/1.1\r\n: x\r\n\r\n", 0},
		{"GET /hello HTTP/1.1\r\nno colon\r\n\r\n", 0},
		{"\x16\x03\x01\x02\x01\x01\xfc\r\n\r\n", 0},
	};
	struct serve *s = *state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct end *e = dial(s);
		put(s, e, cases[i].request);
		shutdown(e->fd, SHUT_WR);
		int status = take(s, e, NULL);
		if (cases[i].status && status != cases[i].status)
			print_message("# case %zu\n", i);
		if (cases[i].status)
			assert_int_equal(status, cases[i].status);
		hang_up(e);
	}
	expect_alive(s);
}

/* What the answers to requests say that are refused before a handler reads them. */
static void says_why_it_refuses(void **state)
{
	static const struct {
		const char *request, *status, *headers, *message;
		bool closes;
	} cases[] = {
		{"OPTIONS /hello HTTP/1.1\r\nHost: x\r\n\r\n", "405",
		 "\r\nAllow: GET, HEAD, POST, PUT, PATCH, DELETE\r\n",
		 "\"method_not_allowed\",\"message\":\"There is no method OPTIONS.\"", false},
		{"BREWBREWBREWBREWBREWBREW /hello HTTP/1.1\r\nHost: x\r\n\r\n", "405", "\r\nAllow: GET, ",
		 "\"There is no method BREWBREWBREWBREWBREW.\"", false},
		{"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400", "", "\"bad_request\"", false},
		{"GET /hello HTTP/1.1\r\nHost : x\r\n\r\n", "400", "\r\nConnection: close\r\n",
		 "The name of a header has a space or another character that is not allowed there.", true},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "400", "\r\nConnection: close\r\n",
		 NULL, true},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		 "400", "\r\nConnection: close\r\n", NULL, true},
		{"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400",
		 "\r\nConnection: close\r\n", NULL, true},
	};
	struct serve *s = *state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct end *e = dial(s);
		struct strbuf text = {0};
		const char *body = NULL;
		int n = -1;
		put(s, e, cases[i].request);
		while (n != 0 && (cases[i].closes || !body || !strchr(body, '}'))) {
			serve_turn(s);
			if ((n = look(e)) > 0)
				strbuf_add(&text, e->buffer, (size_t)n);
			body = strstr(strbuf_text(&text), "\r\n\r\n");
		}
		if (strncmp(strbuf_text(&text) + 9, cases[i].status, 3) != 0 || !strstr(text.text, cases[i].headers) ||
		    (cases[i].message && !strstr(text.text, cases[i].message)))
			fail_msg("%s: %s", cases[i].request, strbuf_text(&text));
		if (!cases[i].closes) {
			e->at = e->n;
			assert_int_equal(ask(s, e, GET("/hello"), NULL), 200);
		}
		strbuf_fini(&text);
		hang_up(e);
	}
}

static void bounds_requests(void **state)
{
	struct serve *s = *state;
	struct strbuf request = {0}, body = {0};
	char *much = mem_zalloc(3 << 20);

	/* by its length: before it comes; in chunks: after it came */
	for (int chunked = 0; chunked < 2; chunked++) {
		struct end *e = dial(s);
		strbuf_clear(&body);
		put(s, e,
		    chunked ? "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n"
			    : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n\r\n");
		put_bytes(s, e, much, 2 << 20);
		if (chunked)
			put(s, e, "\r\n0\r\n\r\n");
		assert_int_equal(take(s, e, &body), 413);
		assert_non_null(strstr(strbuf_text(&body), "too_large"));
		hang_up(e);
	}
	struct end *e = dial(s);
	strbuf_puts(&request, "GET /hello?a");
	for (int i = 0; i < URL_QUERY_MAX; i++)
		strbuf_printf(&request, "&p%d=1", i);
	strbuf_puts(&request, " HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_int_equal(ask(s, e, request.text, &body), 400);
	assert_int_equal(ask(s, e, GET("/hello"), NULL), 200); /* the connection stays */
	hang_up(e);

	memset(much, 'a', 100000);
	for (int in_target = 0; in_target < 2; in_target++) {
		e = dial(s);
		strbuf_clear(&request);
		strbuf_printf(&request, in_target ? "GET /%.100000s" : "GET / HTTP/1.1\r\nX: %.100000s", much);
		put_bytes(s, e, request.text, request.n);
		assert_int_equal(take(s, e, NULL), in_target ? 414 : 431);
		hang_up(e);
	}
	free(much);
	strbuf_fini(&request);
	strbuf_fini(&body);
	expect_alive(s);
}

static void bounds_connections(void **state)
{
	struct http_limits limits = serve_limits;

	for (int by_user = 0; by_user < 2; by_user++) {
		struct strbuf body = {0};
		limits.connections = by_user ? 100 : 4;
		limits.per_uid = by_user ? 4 : 100;
		struct serve *s = serve_start(&limits);
		struct end *e[200];
		for (int i = 0; i < 200; i++)
			e[i] = dial(s);
		turns(s, 50);
		for (int i = 0; i < 4; i++)
			assert_int_equal(ask(s, e[i], GET("/hello"), NULL), 200);
		assert_int_equal(ask(s, e[4], GET("/hello"), &body), by_user ? 429 : 503);
		assert_non_null(strstr(strbuf_text(&body), by_user ? "too_many" : "unavailable"));
		assert_int_equal(ask(s, e[199], GET("/hello"), NULL), 0); /* a flood: closed */
		for (int i = 0; i < 200; i++)
			hang_up(e[i]);
		expect_alive(s);
		strbuf_fini(&body);
		serve_stop(s);
	}
}

static void turn_for(struct serve *s, double seconds)
{
	for (double end = now() + seconds; now() < end;)
		serve_turn(s);
}

/* At the limit of one user, or of all, a connection that idles makes room for a new one; one
 * that is in use does not. */
static void makes_room(void **state)
{
	struct http_limits limits = serve_limits;

	for (int by_user = 0; by_user < 2; by_user++) {
		limits.connections = by_user ? 100 : 4;
		limits.per_uid = by_user ? 4 : 100;
		struct serve *s = serve_start(&limits);
		struct end *e[4], *new;
		for (int i = 0; i < 4; i++)
			assert_int_equal(ask(s, e[i] = dial(s), GET("/hello"), NULL), 200);
		put(s, e[0], GET("/never"));
		turn_for(s, 1.2);
		assert_int_equal(ask(s, e[1], GET("/hello"), NULL), 200); /* the idlest is another now */
		new = dial(s);
		assert_int_equal(ask(s, new, GET("/hello"), NULL), 200);
		assert_int_equal((look(e[2]) == 0) + (look(e[3]) == 0), 1);
		assert_int_equal(look(e[0]), -1);
		assert_int_equal(look(e[1]), -1);
		for (int i = 0; i < 4; i++)
			hang_up(e[i]);
		assert_int_equal(ask(s, new, GET("/hello"), NULL), 200);
		hang_up(new);
		serve_stop(s);
	}
}

static void has_a_reserve(void **state)
{
	struct http_limits limits = serve_limits;

	limits.connections = 4;
	limits.reserve = 2;
	struct serve *s = serve_start(&limits);
	struct end *e[7];
	for (int i = 0; i < 7; i++)
		assert_int_equal(ask(s, e[i] = dial(s), GET("/hello"), NULL), i < 6 ? 200 : 503);
	for (int i = 0; i < 7; i++)
		hang_up(e[i]);
	expect_alive(s);
	serve_stop(s);
}

/* No descriptor is left for those who come: who idles goes, and all are served; and when
 * everybody has gone, so is the next. */
static void bears_lack_of_descriptors(void **state)
{
	enum { N = 24 };
	struct serve *s = serve_start(&serve_limits);
	struct rlimit before, few;
	struct end *e[N];

	for (int i = 0; i < N; i++)
		e[i] = dial(s);
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = (rlim_t)e[N - 1]->fd + 4; /* three can be accepted */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	turn_for(s, 0.3);
	assert_true(http_stats(s->http).connections <= 3);
	assert_int_equal(ask(s, e[N - 1], GET("/hello"), NULL), 200);
	for (int i = 0; i < N; i++)
		hang_up(e[i]);
	turns(s, 50);
	expect_alive(s);
	setrlimit(RLIMIT_NOFILE, &before);
	serve_stop(s);
}

static void bounds_rates(void **state)
{
	struct http_limits limits = serve_limits;
	struct strbuf body = {0};
	int good = 0, status = 200;

	limits.rate = 20;
	struct serve *s = serve_start(&limits);
	struct end *e = dial(s);
	double end = now() + 60;
	while (status == 200 && now() < end) {
		status = ask(s, e, GET("/hello"), &body);
		good += status == 200;
	}
	assert_int_equal(status, 429);
	assert_non_null(strstr(strbuf_text(&body), "too_many"));
	assert_true(good >= 200);	     /* ten seconds' worth */
	while (status == 429 && now() < end) /* and a token comes back, on the same connection */
		status = ask(s, e, GET("/hello"), NULL);
	assert_int_equal(status, 200);
	strbuf_fini(&body);
	hang_up(e);
	serve_stop(s);
}

static void ends_connections_that_idle(void **state)
{
	static const char *const kept[] = {GET("/never"), GET("/silent")};
	struct http_limits limits = serve_limits;

	limits.idle_seconds = 1;
	struct serve *s = serve_start(&limits);
	struct end *stay[2], *mute = dial(s), *idle = dial(s), *slow = dial(s), *slow_body = dial(s), *deaf = dial(s);
	for (int i = 0; i < 2; i++)
		put(s, stay[i] = dial(s), kept[i]);
	assert_int_equal(ask(s, idle, GET("/hello"), NULL), 200);
	put(s, slow, "GET / HTTP/1.1\r\nX: ");
	put(s, slow_body, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
	put(s, deaf, GET("/big?n=10000000")); /* never read */
	double end = now() + 60;
	while (http_stats(s->http).connections > 2) {
		put(s, slow, "a"); /* it trickles */
		put(s, slow_body, "a");
		turns(s, 10);
		assert_true(now() < end);
	}
	assert_int_equal(look(mute), 0);
	assert_int_equal(look(idle), 0);
	for (int i = 0; i < 2; i++) {
		while (look(stay[i]) > 0) /* the head of the stream */
			;
		assert_int_equal(look(stay[i]), -1);
		hang_up(stay[i]);
	}
	hang_up(mute);
	hang_up(idle);
	hang_up(slow);
	hang_up(slow_body);
	hang_up(deaf);
	serve_stop(s);
}

/* ---- the end ---- */

static void stops_in_the_middle(void **state)
{
	static const char *const requests[] = {GET("/never"),
					       GET("/silent"),
					       GET("/later"),
					       GET("/hello"),
					       GET("/stream?n=5&by=wake"),
					       GET("/big?n=9000000"),
					       GET("/stream?n=900000"),
					       "GET /he",
					       "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nh"};
	enum { N = sizeof requests / sizeof *requests };

	for (int turn = 0; turn < 12; turn++) {
		struct serve *s = serve_start(&serve_limits);
		struct end *e[N];
		for (int i = 0; i < N; i++) {
			e[i] = dial(s);
			put(s, e[i], requests[i]);
		}
		s->hold = turn % 2;
		turns(s, turn);
		serve_stop(s);
		for (int i = 0; i < N; i++) {
			while (look(e[i]) > 0)
				;
			assert_int_equal(look(e[i]), 0);
			hang_up(e[i]);
		}
	}
}

/* ---- requests without a connection ---- */

struct told {
	int status, times;
	char body[100];
};

static void on_told(void *context, int status, const char *body, size_t n)
{
	struct told *t = context;

	t->status = status;
	t->times++;
	snprintf(t->body, sizeof t->body, "%.*s", (int)n, body);
}

/* The server makes a request itself: it is like another, has what its user gave with it, and is
 * answered in the flush. */
static void makes_requests_itself(void **state)
{
	struct serve *s = *state;
	char path[] = "/v1/jobs?a=1&b=x%20y", method[] = "POST", body[] = "{}", key[] = "key", token[] = "t1",
	     address[] = "10.0.0.7";
	struct told told = {0};
	struct inner x = {.peer = {.uid = 1234},
			  .method = method,
			  .path = path,
			  .key = key,
			  .body = body,
			  .n = 2,
			  .number = 77,
			  .time_us = 123456789,
			  .token = token,
			  .address = address,
			  .done = on_told,
			  .context = &told};
	const char *from;
	uint64_t before = http_stats(s->http).requests;

	struct http_request *r = http_inner(s->http, &x);
	memset(path, 'x', 5); /* everything was copied */
	method[0] = body[0] = key[0] = token[0] = address[0] = 'x';
	assert_int_equal(http_stats(s->http).requests, before + 1);
	assert_string_equal(request_method(r), "POST");
	assert_string_equal(request_path(r), "/v1/jobs");
	assert_string_equal(request_query(r, "b"), "x y");
	assert_string_equal(request_header(r, "Idempotency-Key"), "key");
	assert_int_equal(request_peer(r).uid, 1234);
	assert_int_equal(request_number(r), 77);
	assert_int_equal(request_time_us(r), 123456789);
	assert_string_equal(request_token(r, &from), "t1");
	assert_string_equal(from, "10.0.0.7");
	size_t n;
	const void *got = request_body(r, &n);
	assert_int_equal(n, 2);
	assert_memory_equal(got, "{}", 2);
	http_reply(r, 201, "application/json", "[7]", 3);
	assert_int_equal(told.times, 0);
	http_flush(s->http);
	assert_int_equal(told.times, 1);
	assert_int_equal(told.status, 201);
	assert_string_equal(told.body, "[7]");

	x = (struct inner){.method = "GET", .path = "/v1/nodes", .done = on_told, .context = &told};
	r = http_inner(s->http, &x);
	assert_null(request_header(r, "Idempotency-Key"));
	assert_null(request_token(r, &from));
	assert_null(from);
	assert_int_equal(request_number(r), 0);
	request_body(r, &n);
	assert_int_equal(n, 0);
	http_reply(r, 404, "text/plain", "", 0);
	http_flush(s->http);
	assert_int_equal(told.times, 2);
	assert_int_equal(told.status, 404);
	assert_string_equal(told.body, "");
	x.path = "/v1/%zz";
	assert_null(http_inner(s->http, &x));
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(hands_over_whole_requests),
		WITH_SERVER(makes_requests_itself),
		WITH_SERVER(answers_heads),
		WITH_SERVER(sends_nothing_before_the_flush),
		WITH_SERVER(sends_in_the_turn_of_the_flush),
		WITH_SERVER(does_not_sleep_over_answers),
		WITH_SERVER(serves_ten_thousand_on_a_connection),
		WITH_SERVER(answers_pipelines_in_order),
		WITH_SERVER(serves_a_thousand_connections),
		WITH_SERVER(listens_for_the_page),
		cmocka_unit_test(addresses),
		WITH_SERVER(streams_yield),
		WITH_SERVER(streams_much_and_little),
		WITH_SERVER(bears_leaving_at_every_byte),
		WITH_SERVER(bears_leaving_before_the_answer),
		WITH_SERVER(bears_leaving_in_the_answer),
		WITH_SERVER(bears_leaving_while_woken),
		WITH_SERVER(answers_half_closed),
		WITH_SERVER(refuses_what_is_malformed),
		WITH_SERVER(says_why_it_refuses),
		WITH_SERVER(bounds_requests),
		cmocka_unit_test(bounds_connections),
		cmocka_unit_test(makes_room),
		cmocka_unit_test(has_a_reserve),
		cmocka_unit_test(bears_lack_of_descriptors),
		cmocka_unit_test(bounds_rates),
		cmocka_unit_test(ends_connections_that_idle),
		cmocka_unit_test(stops_in_the_middle),
	};
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
