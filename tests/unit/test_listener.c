/*
 * test_listener.c - one port for agents and for the API, and for other clients: strangers,
 * dawdlers, crowds. Server and clients share the test's process and its loop.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/unixsock.h"
#include "client/response.h"
#include "net/listener.h"
#include "support/serve.h"
#include "support/wire.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static const struct listener_limits usual = {.connections = 2000,
					     .strangers = 1000,
					     .strangers_per_address = 1000,
					     .handshake_seconds = 30,
					     .idle_seconds = 30};

static struct trust trust;
static struct serve *serve;
static struct listener *listener;
static uv_loop_t *loop;
static struct end here; /* the link that came last */
static int came;	/* links */

static void on_link(void *context, struct link *l)
{
	came++;
	here.link = l;
	link_events_set(l, &end_events, &here);
}

static void on_http(void *context, int fd, const char *address)
{
	struct err err;

	assert_int_equal(http_adopt(serve->http, fd, address, &err), 0);
}

static const struct listener_events events = {.link = on_link, .http = on_http};

static void begin(const struct listener_limits *limits, const struct http_limits *http)
{
	struct err err;

	serve = serve_start(http);
	loop = &serve->loop;
	here = (struct end){0};
	came = 0;
	if (listener_open(loop, "127.0.0.1:0", trust.server, limits, &events, NULL, &listener, &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	begin(&usual, &serve_limits);
	return 0;
}

static int teardown(void **state)
{
	listener_close(listener);
	if (here.link)
		link_close(here.link, "the test is over");
	serve_stop(serve);
	end_fini(&here);
	return 0;
}

/* Other bounds than the usual. */
static void again(const struct listener_limits *limits, const struct http_limits *http)
{
	teardown(NULL);
	begin(limits, http);
}

static int port(void)
{
	return listener_port(listener);
}

/* ---- a client ---- */

static struct raw dial(struct tls_context *c, const char *alpn)
{
	struct raw r = raw_connect(loop, port(), c, alpn);

	assert_true(raw_shake(&r));
	return r;
}

/* Reads one answer; its status, or 0 if the server closed instead. */
static int take(struct raw *r, struct strbuf *body)
{
	struct response p;
	struct err err;
	const char *piece = NULL;
	char buf[30000];
	int n;

	response_init(&p);
	while (p.state != RESPONSE_DONE) {
		ssize_t got = raw_read(r, buf, sizeof buf);
		if (got == 0)
			return response_end(&p, &err) == 0 ? p.status : 0;
		for (int at = 0, took; at < got; at += took) {
			took = response_feed(&p, buf + at, (int)got - at, &piece, &n, &err);
			if (took <= 0)
				fail_msg("%s", took < 0 ? err.text : "more than one answer");
			if (n > 0 && body)
				strbuf_add(body, piece, (size_t)n);
		}
	}
	return p.status;
}

static int ask(struct raw *r, const char *request, struct strbuf *body)
{
	if (body)
		strbuf_clear(body);
	return raw_write(r, request, strlen(request)) ? take(r, body) : 0;
}

static bool closed(struct raw *r)
{
	char byte;

	return raw_read(r, &byte, 1) == 0;
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Until nobody is connected any more. */
static void settle(void)
{
	TURN_UNTIL(loop, http_stats(serve->http).connections == 0);
	for (int i = 0; i < 50; i++)
		uv_run(loop, UV_RUN_NOWAIT);
}

/* ---- one port for both ---- */

static void test_frames_and_http(void **state)
{
	struct end there = {0};
	struct cert_names names;
	struct raw api = dial(trust.stranger, TLS_HTTP);
	char where[64], address[64];

	snprintf(where, sizeof where, "127.0.0.1:%d", port());
	there.link = link_connect(loop, trust.node, where, CERT_SERVER, &end_events, &there);
	link_pack(there.link, "data", 4, "{s:s}", "t", "hello");
	TURN_UNTIL(loop, here.frames.n == 1);
	assert_int_equal(came, 1);
	assert_int_equal(here.readies, 0); /* it was handed over ready */
	assert_string_equal(here.frames.v[0].data, "data");
	link_peer(here.link, &names);
	assert_int_equal(names.role, CERT_NODE);
	assert_string_equal(names.name, "n1");
	link_address(here.link, address, sizeof address);
	assert_string_equal(address, "127.0.0.1");
	assert_int_equal(ask(&api, GET("/hello"), NULL), 200);
	link_pack(here.link, NULL, 0, "{s:s}", "t", "welcome");
	TURN_UNTIL(loop, there.frames.n == 1);
	link_close(there.link, "done");
	TURN_UNTIL(loop, there.closes && here.closes);
	raw_close(&api);
	end_fini(&there);
}

/* Nobody's uid is behind a connection that came over the network, least of all the server's own. */
static void test_nobody_behind_it(void **state)
{
	struct tls_context *const clients[] = {trust.stranger, trust.node};
	struct strbuf body = {0};

	for (int i = 0; i < 2; i++) {
		struct raw r = dial(clients[i], i ? NULL : TLS_HTTP); /* without ALPN it is also HTTP */
		assert_int_equal(ask(&r, GET("/echo"), &body), 200);
		json_t *echo = json_loads(strbuf_text(&body), 0, NULL);
		assert_int_equal((uid_t)json_integer_value(json_object_get(echo, "uid")), (uid_t)-1);
		assert_int_equal((gid_t)json_integer_value(json_object_get(echo, "gid")), (gid_t)-1);
		assert_int_equal(json_integer_value(json_object_get(echo, "pid")), 0);
		assert_string_equal(json_string_value(json_object_get(echo, "remote")), "127.0.0.1");
		json_decref(echo);
		raw_close(&r);
	}
	strbuf_fini(&body);
}

/* The same if somebody forgets to say that a socket pair's end was adopted: it has no name. */
static void test_nobody_behind_a_pair(void **state)
{
	struct strbuf body = {0};
	struct err err;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(http_adopt(serve->http, pair[1], NULL, &err), 0);
	struct raw r = {.loop = loop, .fd = pair[0]};
	assert_int_equal(ask(&r, GET("/echo"), &body), 200);
	assert_null(strstr(strbuf_text(&body), "\"uid\":0,"));
	json_t *echo = json_loads(strbuf_text(&body), 0, NULL);
	assert_int_equal((uid_t)json_integer_value(json_object_get(echo, "uid")), (uid_t)-1);
	json_decref(echo);
	raw_close(&r);
	strbuf_fini(&body);
}

static void test_large_both_ways(void **state)
{
	struct strbuf body = {0}, request = {0};
	struct raw r = dial(trust.stranger, TLS_HTTP);
	char *post = mem_alloc(900000);

	assert_int_equal(ask(&r, GET("/big?n=5000000"), &body), 200);
	assert_int_equal(body.n, 5000000);
	for (size_t i = 0; i < body.n; i++)
		if (body.text[i] != (char)('a' + i % 26))
			fail_msg("byte %zu is wrong", i);
	memset(post, 'x', 900000);
	strbuf_puts(&request, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n");
	strbuf_add(&request, post, 900000);
	assert_int_equal(ask(&r, strbuf_text(&request), &body), 200);
	assert_true(body.n > 1200000);
	assert_int_equal(ask(&r, GET("/hello"), &body), 200); /* and the connection stays */
	raw_close(&r);
	free(post);
	strbuf_fini(&body);
	strbuf_fini(&request);
}

static void test_streams(void **state)
{
	struct strbuf body = {0};
	struct raw r = dial(trust.stranger, TLS_HTTP);

	assert_int_equal(ask(&r, GET("/stream?n=50&by=wake"), &body), 200);
	assert_int_equal(body.n, 10 * strlen("piece 1\n") + 40 * strlen("piece 10\n"));
	/* A silent one is heard of again when its client goes. */
	assert_true(raw_write(&r, GET("/silent"), strlen(GET("/silent"))));
	TURN_UNTIL(loop, serve->streams == 1);
	raw_close(&r);
	TURN_UNTIL(loop, serve->streams == 0);
	strbuf_fini(&body);
}

/* A client that says its last word and shuts its direction still gets the answer. */
static void test_half_closed(void **state)
{
	struct raw r = dial(trust.stranger, TLS_HTTP);

	assert_true(raw_write(&r, GET("/later"), strlen(GET("/later"))));
	tls_shutdown(r.tls);
	assert_int_equal(take(&r, NULL), 200);
	raw_close(&r);
}

static void test_both_families(void **state)
{
	struct listener *l;
	struct err err;
	char where[64];

	assert_int_equal(listener_open(loop, "0", trust.server, &usual, &events, NULL, &l, &err), 0);
	for (int i = 0; i < 2; i++) {
		struct end there = {0};
		snprintf(where, sizeof where, "%s:%d", i ? "[::1]" : "127.0.0.1", listener_port(l));
		there.link = link_connect(loop, trust.node, where, CERT_SERVER, &end_events, &there);
		TURN_UNTIL(loop, there.readies || there.closes);
		if (there.closes && i == 1 && strstr(there.reason, "Cannot assign")) {
			print_message("# no IPv6 on this host\n");
			continue;
		}
		assert_int_equal(there.readies, 1);
		TURN_UNTIL(loop, came == i + 1);
		link_close(there.link, "done");
		TURN_UNTIL(loop, there.closes && here.closes == i + 1);
	}
	snprintf(where, sizeof where, "%d", listener_port(l));
	struct listener *second;
	assert_int_equal(listener_open(loop, where, trust.server, &usual, &events, NULL, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, where));
	assert_int_equal(listener_open(loop, "nonsense", trust.server, &usual, &events, NULL, &second, &err), -EINVAL);
	assert_int_equal(listener_open(loop, "192.0.2.1:0", trust.server, &usual, &events, NULL, &second, &err),
			 -EADDRNOTAVAIL);
	listener_close(l);
}

static void test_new_identity(void **state)
{
	struct raw old = dial(trust.stranger, TLS_HTTP);
	struct tls_context *c = trust_issue(&trust, &(struct cert_names){CERT_SERVER, "anew", 0}, 3600, true);
	struct cert_names names;

	listener_identity(listener, c);
	tls_context_free(c);
	struct raw new = dial(trust.stranger, TLS_HTTP);
	tls_peer(new.tls, &names);
	assert_string_equal(names.name, "anew");
	assert_int_equal(ask(&old, GET("/hello"), NULL), 200);
	assert_int_equal(ask(&new, GET("/hello"), NULL), 200);
	raw_close(&old);
	raw_close(&new);
}

/* ---- leaving HTTP ---- */

#define SHOUT "GET /shout HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n"

/* What comes until this text was seen. */
static void expect(struct raw *r, const char *text)
{
	struct strbuf got = {0};
	char buf[4096];

	while (!strstr(strbuf_text(&got), text)) {
		ssize_t n = raw_read(r, buf, sizeof buf);
		if (n == 0)
			fail_msg("closed after \"%s\"", strbuf_text(&got));
		strbuf_add(&got, buf, (size_t)n);
	}
	strbuf_fini(&got);
}

static struct raw local(void)
{
	struct err err;
	struct raw r = {.loop = loop, .fd = unix_connect(serve->path, 0, &err)};

	assert_true(r.fd >= 0);
	return r;
}

static void shout(struct raw *r)
{
	assert_true(raw_write(r, SHOUT, strlen(SHOUT)));
	expect(r, "101 Switching Protocols");
	TURN_UNTIL(loop, serve->shouts.n == 1);
	for (int i = 0; i < 20; i++) {
		assert_true(raw_write(r, "hello", 5));
		expect(r, "HELLO");
	}
	assert_int_equal(http_stats(serve->http).connections, 1);
}

static void test_upgrade(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct raw r = i % 2 ? local() : dial(trust.stranger, TLS_HTTP);
		shout(&r);
		if (i < 2) { /* the other side ends it when we shut our direction */
			if (r.tls)
				tls_shutdown(r.tls);
			else
				shutdown(r.fd, SHUT_WR);
			assert_true(closed(&r));
		}
		raw_close(&r);
		TURN_UNTIL(loop, serve->shouts.n == 0);
		settle();
	}
}

/* Open when http stops: its owner can release it afterwards (serve_stop() does). */
static void test_upgrade_outlives_http(void **state)
{
	struct raw a = dial(trust.stranger, TLS_HTTP), b;

	shout(&a);
	b = local();
	assert_true(raw_write(&b, SHOUT, strlen(SHOUT)));
	TURN_UNTIL(loop, serve->shouts.n == 2);
	again(&usual, &serve_limits);
	raw_close(&a);
	raw_close(&b);
}

static void test_upgrade_gone_before(void **state)
{
	struct raw r = dial(trust.stranger, TLS_HTTP);

	serve->hold = true;
	assert_true(raw_write(&r, SHOUT, strlen(SHOUT)));
	TURN_UNTIL(loop, serve->handled == 1);
	raw_close(&r);
	for (int i = 0; i < 100; i++)
		uv_run(loop, UV_RUN_NOWAIT);
	serve->hold = false;
	TURN_UNTIL(loop, http_stats(serve->http).connections == 0 || serve->shouts.n == 1);
	settle(); /* if it was taken before the end was seen, it is released */
	assert_int_equal(serve->shouts.n, 0);
}

/* Unanswered, and answered but not sent, when http stops. */
static void test_upgrade_never_sent(void **state)
{
	struct raw r = local();

	serve->hold = true;
	assert_true(raw_write(&r, SHOUT, strlen(SHOUT)));
	TURN_UNTIL(loop, serve->handled == 1);
	again(&usual, &serve_limits);
	raw_close(&r);
}

/* Who does not wait for the answer is cut off: what came too early can't be handed on. */
static void test_upgrade_too_eager(void **state)
{
	static const char both[] = SHOUT "hello";
	struct raw r = local();
	char buf[1000];

	assert_true(raw_write(&r, both, sizeof both - 1));
	while (raw_read(&r, buf, sizeof buf) > 0)
		assert_null(strstr(buf, "HELLO"));
	raw_close(&r);
	settle();
	assert_int_equal(serve->shouts.n, 0);
}

/* ---- strangers ---- */

static void test_frames_without_certificate(void **state)
{
	struct raw r = raw_connect(loop, port(), trust.stranger, TLS_FRAMES);
	char frame[] = "\0\0\0\x06\0\0\0\x02{}";

	if (raw_shake(&r)) {
		raw_write(&r, frame, sizeof frame - 1);
		assert_true(closed(&r));
	}
	assert_int_equal(came, 0);
	raw_close(&r);
}

static void test_foreign_certificate(void **state)
{
	const char *const protocols[] = {TLS_FRAMES, TLS_HTTP};

	for (int i = 0; i < 2; i++) {
		struct raw r = raw_connect(loop, port(), trust.foreign, protocols[i]);
		if (raw_shake(&r)) { /* a client is done before the server has looked at its certificate */
			raw_write(&r, GET("/hello"), strlen(GET("/hello")));
			assert_true(closed(&r));
		}
		raw_close(&r);
	}
	assert_int_equal(came, 0);
	assert_int_equal(serve->handled, 0);
}

static void test_garbage(void **state)
{
	static const char words[][20] = {"GET / HTTP/1.1\r\n\r\n", "\0\0\0\x06\0\0\0\x02{}", "SSH-2.0-x\r\n",
					 "\x16\x03\x01\x00\x05hello", "\x16\x03\x01\xff\xff"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct raw r = raw_connect(loop, port(), NULL, NULL);
		raw_write(&r, words[i], sizeof words[i]);
		shutdown(r.fd, SHUT_WR);
		while (!closed(&r)) /* an alert may come first */
			;
		raw_close(&r);
	}
	assert_int_equal(came + serve->handled, 0);
}

static void link_call(struct end *there)
{
	char where[64];

	snprintf(where, sizeof where, "127.0.0.1:%d", port());
	there->link = link_connect(loop, trust.node, where, CERT_SERVER, &end_events, there);
}

/* One address has only its share of those who shake hands, the last that came; another's stay.
 * Nobody on it keeps out the node that it is. */
static void test_share_of_an_address(void **state)
{
	struct listener_limits few = usual;
	struct raw r[8], other;
	struct end there = {0};

	few.strangers_per_address = 4;
	again(&few, &serve_limits);
	other = raw_connect_from(loop, "127.0.0.2", port(), trust.stranger, TLS_HTTP);
	for (int i = 0; i < 8; i++) {
		r[i] = raw_connect(loop, port(), i % 2 ? trust.stranger : NULL, TLS_HTTP);
		for (int j = 0; j < 20; j++)
			uv_run(loop, UV_RUN_NOWAIT);
	}
	for (int i = 0; i < 4; i++)
		TURN_UNTIL(loop, recv(r[i].fd, (char[1]){0}, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET);
	assert_true(raw_shake(&r[7]));
	assert_true(raw_shake(&other));
	assert_int_equal(ask(&other, GET("/hello"), NULL), 200);
	link_call(&there);
	TURN_UNTIL(loop, there.readies == 1 && came == 1);
	link_close(here.link, "done");
	TURN_UNTIL(loop, there.closes == 1);
	for (int i = 0; i < 8; i++)
		raw_close(&r[i]);
	raw_close(&other);
	end_fini(&there);
}

/* Those who ask by HTTP, and stay, are bounded by themselves: all of their places are taken, and
 * a node comes in. */
static void test_askers_keep_no_node_out(void **state)
{
	struct listener_limits few = usual;
	struct raw r[4];
	struct end there = {0};

	few.strangers = 3;
	again(&few, &serve_limits);
	for (int i = 0; i < 4; i++)
		r[i] = dial(trust.stranger, TLS_HTTP);
	assert_true(closed(&r[3]));
	assert_int_equal(ask(&r[0], GET("/hello"), NULL), 200);
	link_call(&there);
	TURN_UNTIL(loop, there.readies == 1 && came == 1);
	link_close(here.link, "done");
	TURN_UNTIL(loop, there.closes == 1);
	for (int i = 0; i < 4; i++)
		raw_close(&r[i]);
	end_fini(&there);
}

/* A host has a limited number of links; when one is gone it may have another. */
static void test_links_of_a_host(void **state)
{
	struct listener_limits few = usual;
	struct end there[4] = {0};
	struct link *first = NULL;

	few.links_per_host = 2;
	again(&few, &serve_limits);
	for (int i = 0; i < 3; i++) {
		link_call(&there[i]);
		TURN_UNTIL(loop, there[i].readies == 1);
		if (i == 0) {
			TURN_UNTIL(loop, came == 1);
			first = here.link;
		}
	}
	TURN_UNTIL(loop, there[2].closes == 1);
	assert_int_equal(came, 2);
	link_close(first, "done");
	TURN_UNTIL(loop, there[0].closes == 1);
	for (int i = 0; i < 50; i++)
		uv_run(loop, UV_RUN_NOWAIT);
	link_call(&there[3]);
	TURN_UNTIL(loop, came == 3);
	link_close(there[1].link, "done");
	link_close(there[3].link, "done");
	TURN_UNTIL(loop, there[1].closes && there[3].closes && here.closes == 3);
	for (int i = 0; i < 4; i++)
		end_fini(&there[i]);
}

static bool is_known(void *context, const struct http_request *r, uid_t *ret_uid)
{
	const char *shown = request_header(r, "Authorization");

	if (shown)
		*ret_uid = (uid_t)atoi(shown);
	return shown;
}

/* A body as large as the limit is kept only if the head says whose it is; else the request comes
 * without it. */
static void test_body_of_a_stranger(void **state)
{
	static char body[STRANGER_BODY + 1];
	const char *heads[] = {"Authorization: x\r\n", "", ""};
	const size_t sizes[] = {sizeof body, sizeof body, sizeof body - 1};
	struct http_limits limits = serve_limits;
	struct strbuf text = {0}, answer = {0};

	limits.body = 4 << 20;
	limits.known = is_known;
	again(&usual, &limits);
	memset(body, 'x', sizeof body);
	for (int i = 0; i < 3; i++) {
		struct raw r = dial(trust.stranger, TLS_HTTP);
		strbuf_clear(&text);
		strbuf_printf(&text, "POST /echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n", heads[i],
			      sizes[i]);
		strbuf_add(&text, body, sizes[i]);
		assert_true(raw_write(&r, text.text, text.n));
		strbuf_clear(&answer);
		assert_int_equal(take(&r, &answer), 200);
		assert_int_equal(answer.n > STRANGER_BODY, i != 1);
		raw_close(&r);
	}
	strbuf_fini(&text);
	strbuf_fini(&answer);
}

/* HTTP counts those who came over TLS by address: one has its share, another and the users of
 * this machine have theirs. */
static void test_share_of_http(void **state)
{
	struct http_limits few = serve_limits;
	struct strbuf body = {0};
	struct raw r[4], other, user;

	few.per_uid = 3;
	again(&usual, &few);
	for (int i = 0; i < 4; i++)
		r[i] = dial(trust.stranger, TLS_HTTP);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ask(&r[i], GET("/hello"), &body), i < 3 ? 200 : 429);
	assert_non_null(strstr(strbuf_text(&body), "Your host has more than 3 connections"));
	other = raw_connect_from(loop, "127.0.0.2", port(), trust.stranger, TLS_HTTP);
	assert_true(raw_shake(&other));
	assert_int_equal(ask(&other, GET("/hello"), NULL), 200);
	user = local();
	assert_int_equal(ask(&user, GET("/hello"), NULL), 200);
	for (int i = 0; i < 4; i++)
		raw_close(&r[i]);
	raw_close(&other);
	raw_close(&user);
	settle();
	strbuf_fini(&body);
}

static struct raw dial_from(const char *address)
{
	struct raw r = raw_connect_from(loop, address, port(), trust.stranger, TLS_HTTP);

	assert_true(raw_shake(&r));
	return r;
}

#define GET_AS(uid, path) "GET " path " HTTP/1.1\r\nHost: x\r\nAuthorization: " uid "\r\n\r\n"

/* A user who is known has a share of his own, whatever addresses he comes from; it is not taken
 * from others at these addresses. */
static void test_share_of_a_user(void **state)
{
	struct http_limits few = serve_limits;
	struct strbuf body = {0};
	struct raw r[4], other[3], stranger;

	few.per_uid = 3;
	few.known = is_known;
	again(&usual, &few);
	for (int i = 0; i < 4; i++) {
		r[i] = dial_from(i % 2 ? "127.0.0.2" : "127.0.0.3");
		assert_int_equal(ask(&r[i], GET_AS("70001", "/hello"), &body), i < 3 ? 200 : 429);
	}
	assert_non_null(strstr(strbuf_text(&body), "You have more than 3 connections"));
	for (int i = 0; i < 3; i++) {
		other[i] = dial_from("127.0.0.2");
		assert_int_equal(ask(&other[i], GET_AS("70002", "/hello"), NULL), 200);
	}
	stranger = dial_from("127.0.0.2");
	assert_int_equal(ask(&stranger, GET("/hello"), NULL), 200);
	for (int i = 0; i < 4; i++)
		raw_close(&r[i]);
	for (int i = 0; i < 3; i++)
		raw_close(&other[i]);
	raw_close(&stranger);
	settle();
	strbuf_fini(&body);
}

/* Connections over TLS that are all in use shut neither the local socket, nor can those of the
 * local socket take what is kept for TLS. */
static void test_doors(void **state)
{
	enum { ALL = 16, MOST = 12 };
	struct http_limits few = serve_limits;
	struct raw r[ALL], late;

	few.connections = ALL;
	few.per_uid = ALL;
	for (int tls = 0; tls < 2; tls++) {
		again(&usual, &few);
		for (int i = 0; i < MOST; i++) {
			r[i] = tls ? dial(trust.stranger, TLS_HTTP) : local();
			assert_true(raw_write(&r[i], GET("/never"), strlen(GET("/never"))));
		}
		late = tls ? dial(trust.stranger, TLS_HTTP) : local();
		assert_int_equal(ask(&late, GET("/hello"), NULL), 503);
		for (int i = MOST; i < MOST + 2; i++) {
			r[i] = tls ? local() : dial(trust.stranger, TLS_HTTP);
			assert_int_equal(ask(&r[i], GET("/hello"), NULL), 200);
		}
		for (int i = 0; i < MOST + 2; i++)
			raw_close(&r[i]);
		raw_close(&late);
	}
}

/* All places are taken by those who say nothing: the one who has been silent for longest makes
 * room. */
static void test_the_oldest_makes_room(void **state)
{
	struct listener_limits few = usual;
	struct raw silent[5], r;

	few.strangers = 5;
	again(&few, &serve_limits);
	for (int i = 0; i < 5; i++) {
		silent[i] = raw_connect(loop, port(), NULL, NULL);
		for (int j = 0; j < 20; j++)
			uv_run(loop, UV_RUN_NOWAIT);
	}
	r = dial(trust.stranger, TLS_HTTP);
	assert_int_equal(ask(&r, GET("/hello"), NULL), 200);
	assert_true(closed(&silent[0]));
	assert_int_equal(recv(silent[1].fd, (char[1]){0}, 1, MSG_DONTWAIT), -1);
	for (int i = 0; i < 5; i++)
		raw_close(&silent[i]);
	raw_close(&r);
}

/* A byte now and then: of a handshake, and of a request. All of them are closed, and others are
 * served meanwhile. */
static void test_dawdlers(void **state)
{
	enum { N = 40 };
	static const char hello[] =
		"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03"; /* length of 16 KB, which never come */
	struct listener_limits hasty = usual;
	struct http_limits http = serve_limits;
	struct raw shaking[N], asking[N], r;
	int left = 2 * N;

	hasty.handshake_seconds = 1;
	http.idle_seconds = 1;
	again(&hasty, &http);
	for (int i = 0; i < N; i++) {
		shaking[i] = raw_connect(loop, port(), NULL, NULL);
		asking[i] = dial(trust.stranger, TLS_HTTP);
	}
	for (int round = 0; left > 0; round++) {
		char byte = "GET /hello HTTP/1.1\r\nX: "[round < 24 ? round : 23];
		left = 0;
		for (int i = 0; i < N; i++) {
			/* A raw end whose other end has closed refuses to write, sooner or
			 * later. */
			left += send(shaking[i].fd, hello + (round < 10 ? round : 10), 1,
				     MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
			left += tls_write(asking[i].tls, &byte, 1) == 1;
		}
		for (int i = 0; i < 20; i++) {
			usleep(1000);
			uv_run(loop, UV_RUN_NOWAIT);
		}
		if (round % 10 == 0) {
			r = dial(trust.stranger, TLS_HTTP);
			assert_int_equal(ask(&r, GET("/hello"), NULL), 200);
			raw_close(&r);
		}
		assert_true(round < 1000);
	}
	for (int i = 0; i < N; i++) {
		raw_close(&shaking[i]);
		raw_close(&asking[i]);
	}
	settle();
}

/* Asks for much and does not read it. */
static void test_never_reads(void **state)
{
	struct listener_limits hasty = usual;
	struct http_limits http = serve_limits;

	hasty.idle_seconds = 1;
	http.idle_seconds = 1;
	again(&hasty, &http);
	int before = descriptors();
	struct raw r = dial(trust.stranger, TLS_HTTP);
	assert_true(raw_write(&r, GET("/big?n=20000000"), strlen(GET("/big?n=20000000"))));
	TURN_UNTIL(loop, serve->handled == 1);
	settle();
	TURN_UNTIL(loop, descriptors() == before + 1); /* our own end */
	raw_close(&r);
}

/* ---- crowds ---- */

static void test_hundreds(void **state)
{
	enum { N = 200 }; /* four descriptors each: a user may have 1,024 */
	struct raw *r = mem_alloc(N * sizeof *r);
	int before = descriptors();

	for (int i = 0; i < N; i++)
		r[i] = dial(trust.stranger, TLS_HTTP);
	for (int i = 0; i < N; i++)
		assert_true(raw_write(&r[i], GET("/later"), strlen(GET("/later"))));
	for (int i = 0; i < N; i++)
		assert_int_equal(take(&r[i], NULL), 200);
	for (int i = 0; i < N; i++)
		raw_close(&r[i]);
	settle();
	TURN_UNTIL(loop, descriptors() == before);
	free(r);
}

static void test_begun_and_dropped(void **state)
{
	int before = descriptors();

	for (int i = 0; i < 2000; i++) {
		struct raw r = raw_connect(loop, port(), i % 4 ? NULL : trust.stranger, TLS_HTTP);
		struct err err;
		if (r.tls)
			tls_handshake(r.tls, &err);
		else if (i % 2)
			send(r.fd, "\x16\x03\x01", 3, MSG_NOSIGNAL);
		uv_run(loop, UV_RUN_NOWAIT);
		raw_close(&r);
	}
	TURN_UNTIL(loop, descriptors() == before);
	assert_int_equal(came + serve->handled, 0);
	struct raw r = dial(trust.stranger, TLS_HTTP);
	assert_int_equal(ask(&r, GET("/hello"), NULL), 200);
	raw_close(&r);
}

static void on_time(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

/* Without a descriptor for one more it rests, and does not turn in circles; with one it
 * continues. */
static void test_no_descriptor_left(void **state)
{
	struct rlimit old, low;
	struct raw r = raw_connect(loop, port(), trust.stranger, TLS_HTTP);
	bool over = false;
	uv_timer_t timer;
	int turns = 0;

	uv_timer_init(loop, &timer);
	timer.data = &over;
	uv_timer_stop(&serve->tick);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)r.fd + 1; /* the lowest free one is beyond */
	int fill[64], n = 0;
	while (n < 64 && (fill[n] = dup(0)) >= 0 && fill[n] < r.fd)
		n++;
	if (n < 64 && fill[n] >= 0)
		close(fill[n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	uv_timer_start(&timer, on_time, 500, 0);
	while (!over) {
		uv_run(loop, UV_RUN_ONCE);
		turns++;
	}
	assert_true(turns < 200);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	while (n > 0)
		close(fill[--n]);
	uv_close((uv_handle_t *)&timer, NULL);
	assert_true(raw_shake(&r));
	raw_close(&r);
	settle();
}

/* ---- the end ---- */

/* Closed with guests in every state: links live on, the others are gone. */
static void test_close(void **state)
{
	struct raw shaking = raw_connect(loop, port(), NULL, NULL), http = dial(trust.stranger, TLS_HTTP);
	struct end there = {0};
	char where[64];

	snprintf(where, sizeof where, "127.0.0.1:%d", port());
	there.link = link_connect(loop, trust.node, where, CERT_SERVER, &end_events, &there);
	TURN_UNTIL(loop, there.readies && came == 1);
	assert_int_equal(ask(&http, GET("/hello"), NULL), 200);
	listener_close(listener);
	assert_true(closed(&shaking));
	assert_true(closed(&http));
	link_pack(there.link, NULL, 0, "{s:s}", "t", "still there?");
	TURN_UNTIL(loop, here.frames.n == 1);
	link_close(there.link, "done");
	TURN_UNTIL(loop, there.closes && here.closes);
	raw_close(&shaking);
	raw_close(&http);
	end_fini(&there);
	listener = NULL;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_frames_and_http),
		TEST(test_nobody_behind_it),
		TEST(test_nobody_behind_a_pair),
		TEST(test_large_both_ways),
		TEST(test_streams),
		TEST(test_half_closed),
		TEST(test_both_families),
		TEST(test_new_identity),
		TEST(test_upgrade),
		TEST(test_upgrade_outlives_http),
		TEST(test_upgrade_gone_before),
		TEST(test_upgrade_never_sent),
		TEST(test_upgrade_too_eager),
		TEST(test_frames_without_certificate),
		TEST(test_foreign_certificate),
		TEST(test_garbage),
		TEST(test_share_of_an_address),
		TEST(test_askers_keep_no_node_out),
		TEST(test_links_of_a_host),
		TEST(test_body_of_a_stranger),
		TEST(test_share_of_http),
		TEST(test_share_of_a_user),
		TEST(test_doors),
		TEST(test_the_oldest_makes_room),
		TEST(test_dawdlers),
		TEST(test_never_reads),
		TEST(test_hundreds),
		TEST(test_begun_and_dropped),
		TEST(test_no_descriptor_left),
		TEST(test_close),
	};

	signal(SIGPIPE, SIG_IGN); /* like the daemons */
	trust_init(&trust);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	trust_fini(&trust);
	return rc;
}
