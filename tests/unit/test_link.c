/*
 * test_link.c - links, plain and over TLS: order, sizes, back-pressure, ends of every kind, and
 * what no link would send.
 */
#include <arpa/inet.h>
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/wire.h"

static struct trust trust;
static uv_loop_t loop;
static struct end a, b;
static struct raw raw; /* the other end of `b`, in tests of what no link sends */

static bool secure(void **state)
{
	return *state != NULL;
}

static struct tls *session(struct tls_context *c, int fd, const char *alpn)
{
	struct tls *tls;
	struct err err;

	assert_int_equal(tls_start(c, fd, alpn, alpn ? CERT_SERVER : CERT_NOBODY, &tls, &err), 0);
	return tls;
}

static int listen_on(int *ret_port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof at;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void pair_tcp(int fd[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int port, listening = listen_on(&port);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.sin_port = htons((uint16_t)port);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd[0], (struct sockaddr *)&at, sizeof at), 0);
	fd[1] = accept(listening, NULL, NULL);
	assert_true(fd[1] >= 0);
	close(listening);
	for (int i = 0; i < 2; i++) { /* whatever this machine would give */
		setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &(int){65536}, sizeof(int));
		setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &(int){65536}, sizeof(int));
	}
}

static void pair_unix(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
}

/* Like the daemons: TLS over TCP, plain over UNIX. */
static void sockets(void **state, int fd[2])
{
	if (secure(state))
		pair_tcp(fd);
	else
		pair_unix(fd);
}

/* `a` is the client, `b` the server. */
static void links(void **state)
{
	int fd[2];

	pair_tcp(fd);
	a.link =
		link_open(&loop, fd[0], secure(state) ? session(trust.node, fd[0], TLS_FRAMES) : NULL, &end_events, &a);
	b.link = link_open(&loop, fd[1], secure(state) ? session(trust.server, fd[1], NULL) : NULL, &end_events, &b);
}

static void links_ready(void **state)
{
	links(state);
	TURN_UNTIL(&loop, a.readies && b.readies);
}

/* Only `b` is a link. */
static void half_link(void **state)
{
	int fd[2];

	sockets(state, fd);
	raw = (struct raw){.loop = &loop, .fd = fd[0]};
	b.link = link_open(&loop, fd[1], secure(state) ? session(trust.server, fd[1], NULL) : NULL, &end_events, &b);
	if (secure(state)) {
		raw.tls = session(trust.node, fd[0], TLS_FRAMES);
		assert_true(raw_shake(&raw));
	}
	TURN_UNTIL(&loop, b.readies);
}

static int setup(void **state)
{
	a = b = (struct end){0};
	raw = (struct raw){.fd = -1};
	return uv_loop_init(&loop);
}

static int teardown(void **state)
{
	if (a.link)
		link_close(a.link, "the test is over");
	if (b.link)
		link_close(b.link, "the test is over");
	raw_close(&raw);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_null(a.link);
	assert_null(b.link);
	end_fini(&a);
	end_fini(&b);
	return uv_loop_close(&loop);
}

static void send_number(struct link *l, int i)
{
	link_pack(l, &i, sizeof i, "{s:s,s:i}", "t", "number", "n", i);
}

/* ---- what links do ---- */

static void test_order(void **state)
{
	links(state);
	for (int i = 0; i < 500; i++)
		send_number(a.link, i); /* also before the handshake */
	TURN_UNTIL(&loop, a.readies && b.readies);
	for (int i = 500; i < 1000; i++)
		send_number(a.link, i);
	TURN_UNTIL(&loop, b.frames.n == 1000);
	for (int i = 0; i < 1000; i++) {
		char head[64];
		snprintf(head, sizeof head, "{\"t\":\"number\",\"n\":%d}", i);
		assert_string_equal(b.frames.v[i].head, head);
		assert_int_equal(b.frames.v[i].n, sizeof i);
		assert_memory_equal(b.frames.v[i].data, &i, sizeof i);
	}
	assert_int_equal(a.readies, 1);
	assert_int_equal(b.readies, 1);
	assert_int_equal(a.closes + b.closes, 0);
}

static void test_nothing_at_once(void **state)
{
	links(state);
	assert_int_equal(a.readies + b.readies, 0);
	link_close(a.link, "changed my mind");
	assert_int_equal(a.closes, 0);
	TURN_UNTIL(&loop, a.closes && b.closes);
	assert_string_equal(a.reason, "changed my mind");
}

static void test_both_ways_large(void **state)
{
	static char data[LINK_DATA_MAX];

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (char)(i * 7 + i / 1000);
	links_ready(state);
	link_trust(a.link);
	link_trust(b.link);
	for (int i = 0; i < 8; i++) {
		link_pack(a.link, data, sizeof data, "{s:s}", "t", "down");
		link_pack(b.link, data, sizeof data, "{s:s}", "t", "up");
	}
	TURN_UNTIL(&loop, a.frames.n == 8 && b.frames.n == 8);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(a.frames.v[i].n, sizeof data);
		assert_memory_equal(a.frames.v[i].data, data, sizeof data);
		assert_memory_equal(b.frames.v[i].data, data, sizeof data);
	}
	assert_true(a.drains > 0);
	assert_int_equal(link_queued(a.link), 0);
}

/* A head of some megabytes, as an order with its environment may have. */
static void test_large_head(void **state)
{
	struct strbuf text = {0};

	links_ready(state);
	link_trust(b.link);
	while (text.n < (6u << 20))
		strbuf_puts(&text, "NAME=some value of the environment;");
	link_pack(a.link, NULL, 0, "{s:s,s:s}", "t", "order", "env", strbuf_text(&text));
	TURN_UNTIL(&loop, b.frames.n == 1);
	assert_true(strlen(b.frames.v[0].head) > text.n);
	strbuf_fini(&text);
}

static void test_many_writes_are_few(void **state)
{
	struct raw *r = &raw;
	char buf[65536];
	size_t all = 0;

	half_link(state);
	b.quiet = true;
	for (int i = 0; i < 100; i++)
		send_number(b.link, i);
	assert_int_not_equal(link_queued(b.link), 0);
	while (link_queued(b.link) > 0)
		uv_run(&loop, UV_RUN_NOWAIT);
	/* One write: one read gives it all, over a stream socket and as one TLS record. */
	all = (size_t)raw_read(r, buf, sizeof buf);
	assert_true(all > 100 * 28);
}

/* Sent from whichever phase of the loop, it leaves before the loop waits: else this would wait
 * for ever. */
static void sends_in_prepare(uv_prepare_t *p)
{
	send_number(a.link, 1);
	uv_close((uv_handle_t *)p, NULL);
}

static void sends_in_check(uv_check_t *c)
{
	send_number(a.link, 2);
	uv_close((uv_handle_t *)c, NULL);
}

static void stops(struct end *e, json_t *head)
{
	if (e->frames.n == 2)
		uv_stop(&loop);
}

static void test_leaves_before_waiting(void **state)
{
	uv_prepare_t prepare;
	uv_check_t check;

	links_ready(state);
	uv_prepare_init(&loop, &prepare);
	uv_check_init(&loop, &check);
	uv_prepare_start(&prepare, sends_in_prepare);
	uv_check_start(&check, sends_in_check);
	b.on_frame = stops;
	alarm(60);
	uv_run(&loop, UV_RUN_DEFAULT);
	alarm(0);
	assert_int_equal(b.frames.n, 2);
}

/* ---- back-pressure ---- */

static void test_pause_holds_the_sender(void **state)
{
	static char data[65536];

	links_ready(state);
	link_trust(b.link);
	b.quiet = true;
	link_pause(b.link, true);
	for (int i = 0; i < 200; i++) /* 13 MB, more than socket buffers hold */
		link_pack(a.link, data, sizeof data, "{s:s}", "t", "data");
	for (int i = 0; i < 500; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(b.count, 0);
	assert_true(link_queued(a.link) > LINK_LOW);
	int drains = a.drains;
	link_pause(b.link, false);
	TURN_UNTIL(&loop, b.count == 200);
	assert_int_equal(b.bytes, 200 * sizeof data);
	assert_true(a.drains > drains);
}

static void pauses(struct end *e, json_t *head)
{
	link_pause(e->link, true);
}

/* Paused from inside a frame, the next one waits, although it is here already. */
static void test_pause_between_frames(void **state)
{
	links_ready(state);
	b.on_frame = pauses;
	for (int i = 0; i < 50; i++)
		send_number(a.link, i);
	for (size_t i = 1; i <= 50; i++) {
		TURN_UNTIL(&loop, b.frames.n == i);
		for (int j = 0; j < 5; j++)
			uv_run(&loop, UV_RUN_NOWAIT);
		assert_int_equal(b.frames.n, i);
		link_pause(b.link, false);
	}
}

static void test_reader_that_never_reads(void **state)
{
	static char data[LINK_DATA_MAX];

	links_ready(state);
	link_pause(b.link, true);
	for (int i = 0; i < 80 && !a.closes; i++) {
		link_pack(a.link, data, sizeof data, "{s:s}", "t", "data");
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	TURN_UNTIL(&loop, a.closes);
	assert_non_null(strstr(a.reason, "does not read"));
}

/* ---- moving to another loop ---- */

static struct end moved;

static void numbers_are(const struct end *e, int first, int n)
{
	assert_int_equal(e->frames.n, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(*(int *)e->frames.v[i].data, first + i);
}

/* What came already goes along, and neither end notices. */
static void test_moved(void **state)
{
	struct link_detached d = {.fd = -1};

	links_ready(state);
	link_trust(b.link);
	b.on_frame = pauses;
	for (int i = 0; i < 20; i++)
		send_number(a.link, i);
	TURN_UNTIL(&loop, b.frames.n == 1);
	assert_int_equal(link_detach(b.link, &d), 0);
	b.link = NULL;
	assert_true(d.trusted);
	assert_false(d.notices);
	for (int i = 20; i < 40; i++)
		send_number(a.link, i);
	moved = (struct end){0};
	moved.link = link_attach(&loop, &d, &end_events, &moved);
	for (int i = 0; i < 5; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(moved.frames.n, 0); /* paused */
	link_pause(moved.link, false);
	TURN_UNTIL(&loop, moved.frames.n == 39);
	numbers_are(&b, 0, 1);
	numbers_are(&moved, 1, 39);
	send_number(moved.link, 7);
	TURN_UNTIL(&loop, a.frames.n == 1);
	numbers_are(&a, 7, 1);
	assert_int_equal(a.closes + b.closes + moved.readies, 0);
	link_close(moved.link, "that was all");
	assert_int_equal(link_detach(moved.link, &d), -ENOTCONN);
	TURN_UNTIL(&loop, a.closes && moved.closes);
	assert_string_equal(moved.reason, "that was all");
	end_fini(&moved);
}

static void on_echo(struct end *e, json_t *head)
{
	send_number(e->link, 100 + *(int *)e->frames.v[e->frames.n - 1].data);
}

static _Noreturn void echo(struct link_detached *d)
{
	uv_loop_t own;
	struct end e = {.on_frame = on_echo};

	uv_loop_init(&own);
	e.link = link_attach(&own, d, &end_events, &e);
	link_pause(e.link, false);
	while (!e.closes)
		uv_run(&own, UV_RUN_ONCE);
	_exit(e.frames.n == 9 ? 0 : 1);
}

/* Another process continues with the connection; this one forgets it without a word. */
static void test_moved_to_a_process(void **state)
{
	struct link_detached d = {.fd = -1};
	int status;

	links_ready(state);
	b.on_frame = pauses;
	for (int i = 0; i < 5; i++)
		send_number(a.link, i);
	TURN_UNTIL(&loop, b.frames.n == 1);
	assert_int_equal(link_detach(b.link, &d), 0);
	b.link = NULL;
	pid_t pid = fork();
	if (pid == 0)
		echo(&d);
	link_abandon(&d);
	TURN_UNTIL(&loop, a.frames.n == 4);
	for (int i = 5; i < 10; i++)
		send_number(a.link, i);
	TURN_UNTIL(&loop, a.frames.n == 9);
	numbers_are(&a, 101, 9);
	assert_int_equal(a.closes, 0);
	link_close(a.link, "that was all");
	TURN_UNTIL(&loop, a.closes);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- ends ---- */

static void test_queued_leaves_before_closing(void **state)
{
	static char data[65536];

	links_ready(state);
	link_trust(b.link);
	b.quiet = true;
	for (int i = 0; i < 100; i++)
		link_pack(a.link, data, sizeof data, "{s:s}", "t", "data");
	link_close(a.link, "that was all");
	link_close(a.link, "again");
	send_number(a.link, 1); /* too late */
	assert_int_equal(a.closes, 0);
	TURN_UNTIL(&loop, a.closes && b.closes);
	assert_int_equal(b.count, 100);
	assert_string_equal(a.reason, "that was all");
	assert_string_equal(b.reason, "the other side closed the connection");
}

/* Unread input must not make the kernel throw away what was sent before closing. */
static void test_queued_leaves_past_unread_input(void **state)
{
	static char data[60000];

	links_ready(state);
	link_pause(a.link, true);
	b.quiet = true;
	for (int i = 0; i < 100; i++)
		send_number(b.link, i);
	TURN_UNTIL(&loop, link_queued(b.link) == 0);
	link_pause(b.link, true);
	for (int i = 0; i < 40; i++) /* more than the other side's kernel takes */
		link_pack(a.link, data, sizeof data, "{s:s}", "t", "data");
	link_close(a.link, "enough");
	for (int i = 0; i < 50; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	link_pause(b.link, false);
	TURN_UNTIL(&loop, a.closes && b.closes);
	assert_int_equal(b.count, 40);
	assert_int_equal(a.frames.n, 0);
}

static void test_both_close_with_queues(void **state)
{
	static char data[LINK_DATA_MAX];

	links_ready(state);
	for (int i = 0; i < 10; i++) {
		link_pack(a.link, data, sizeof data, "{s:s}", "t", "data");
		link_pack(b.link, data, sizeof data, "{s:s}", "t", "data");
	}
	link_close(a.link, "a");
	link_close(b.link, "b");
	TURN_UNTIL(&loop, a.closes && b.closes);
	assert_string_equal(a.reason, "a");
	assert_string_equal(b.reason, "b");
}

static void closes(struct end *e, json_t *head)
{
	link_close(e->link, "one is enough");
	assert_int_equal(e->closes, 0);
}

static void test_close_from_a_frame(void **state)
{
	links_ready(state);
	b.on_frame = closes;
	for (int i = 0; i < 10; i++)
		send_number(a.link, i);
	TURN_UNTIL(&loop, a.closes && b.closes);
	assert_int_equal(b.frames.n, 1);
	assert_int_equal(a.closes, 1);
	assert_int_equal(b.closes, 1);
}

static void test_other_end_vanishes(void **state)
{
	half_link(state);
	raw_close(&raw);
	TURN_UNTIL(&loop, b.closes);
	assert_int_equal(b.frames.n, 0);
}

/* The last words of one who is gone are heard although writing to it fails first. */
static void test_last_words(void **state)
{
	static const char words[] = "\0\0\0\x11\0\0\0\x0d{\"t\":\"sorry\"}";

	half_link(state);
	assert_true(raw_write(&raw, words, sizeof words - 1));
	raw_close(&raw);
	for (int i = 0; i < 10; i++)
		send_number(b.link, i);
	TURN_UNTIL(&loop, b.closes);
	assert_int_equal(b.frames.n, 1);
	assert_string_equal(b.frames.v[0].head, "{\"t\":\"sorry\"}");
}

static void test_another_owner(void **state)
{
	struct end heir = {0};

	links_ready(state);
	send_number(a.link, 1);
	TURN_UNTIL(&loop, b.frames.n == 1);
	heir.link = b.link;
	link_events_set(b.link, &end_events, &heir);
	b.link = NULL;
	send_number(a.link, 2);
	TURN_UNTIL(&loop, heir.frames.n == 1);
	link_close(heir.link, "done");
	TURN_UNTIL(&loop, heir.closes && a.closes);
	assert_int_equal(b.closes, 0);
	end_fini(&heir);
}

/* ---- what no link sends ---- */

static void refused(void **state, const void *bytes, size_t n, const char *why)
{
	half_link(state);
	raw_write(&raw, bytes, n);
	TURN_UNTIL(&loop, b.closes);
	assert_int_equal(b.frames.n, 0);
	assert_non_null(strstr(b.reason, why));
}

#define REFUSED(bytes, why) refused(state, bytes, sizeof(bytes) - 1, why)

static void test_too_large(void **state)
{
	REFUSED("\x7f\xff\xff\xff", "larger than allowed");
}

static void test_too_large_for_a_stranger(void **state)
{
	REFUSED("\x00\x01\x00\x01", "larger than allowed");
}

static void test_too_much_data(void **state)
{
	struct strbuf frame = {0};
	char *data = mem_zalloc(LINK_DATA_MAX + 1);

	frame_put(&frame, "{}", 2, data, LINK_DATA_MAX + 1);
	half_link(state);
	link_trust(b.link);
	raw_write(&raw, frame.text, frame.n);
	TURN_UNTIL(&loop, b.closes);
	assert_non_null(strstr(b.reason, "larger than allowed"));
	strbuf_fini(&frame);
	free(data);
}

static void test_no_head(void **state)
{
	REFUSED("\0\0\0\0\0\0\0\0", "not a message");
}

static void test_head_past_the_end(void **state)
{
	REFUSED("\0\0\0\x08\0\0\0\x05{}  ", "not a message");
}

static void test_garbage(void **state)
{
	REFUSED("GET / HTTP/1.1\r\n\r\n", "larger than allowed");
}

static void test_array(void **state)
{
	REFUSED("\0\0\0\x06\0\0\0\x02[]", "not a message");
}

static void test_no_json(void **state)
{
	REFUSED("\0\0\0\x06\0\0\0\x02{]", "not a message");
}

static void test_text_after_the_head(void **state)
{
	REFUSED("\0\0\0\x08\0\0\0\x04{}{}", "not a message");
}

static void test_deep(void **state)
{
	struct strbuf head = {0}, frame = {0};

	strbuf_puts(&head, "{\"x\":");
	for (int i = 0; i < 30000; i++)
		strbuf_puts(&head, "[");
	for (int i = 0; i < 30000; i++)
		strbuf_puts(&head, "]");
	strbuf_puts(&head, "}");
	frame_put(&frame, head.text, head.n, NULL, 0);
	refused(state, frame.text, frame.n, "not a message");
	strbuf_fini(&head);
	strbuf_fini(&frame);
}

/* Byte by byte, with turns between: the same frames. */
static void test_crumbs(void **state)
{
	static const char bytes[] = "\0\0\0\x09\0\0\0\x02{}abc\0\0\0\x0d\0\0\0\x09{\"t\":\"x\"}";

	half_link(state);
	for (size_t i = 0; i < sizeof bytes - 1; i++) {
		assert_true(raw_write(&raw, bytes + i, 1));
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	TURN_UNTIL(&loop, b.frames.n == 2);
	assert_string_equal(b.frames.v[0].data, "abc");
	assert_string_equal(b.frames.v[1].head, "{\"t\":\"x\"}");
}

/* Half a frame and then nothing: it waits, holds only what came, and can be closed. */
static void test_half_a_frame(void **state)
{
	half_link(state);
	assert_true(raw_write(&raw, "\0\0\xff\0\0\0\0\x09{\"t\"", 12));
	for (int i = 0; i < 50; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(b.frames.n + (size_t)b.closes, 0);
	assert_true(link_heard(b.link) <= (int64_t)uv_now(&loop));
	raw_close(&raw);
	TURN_UNTIL(&loop, b.closes);
	assert_int_equal(b.frames.n, 0);
}

/* Others of the same user hold all that he may: a large frame that does not come in one piece is
 * too much, a small one is not. */
static void test_share(void **state)
{
	struct link_share share = {.held = LINK_SHARE_MAX - 1};
	static char part[100000];

	half_link(state);
	link_trust(b.link);
	link_share(b.link, &share);
	assert_true(raw_write(&raw, "\0\0\0\x0d\0\0\0\x09{\"t\"", 12));
	TURN_UNTIL(&loop, share.held == LINK_SHARE_MAX + 11);
	assert_true(raw_write(&raw, ":\"x\"}", 5));
	TURN_UNTIL(&loop, b.frames.n == 1);
	assert_int_equal(share.held, LINK_SHARE_MAX - 1);
	memcpy(part, "\0\x20\0\0\0\x1f\0\0{", 9);
	raw_write(&raw, part, sizeof part);
	TURN_UNTIL(&loop, b.closes);
	assert_non_null(strstr(b.reason, "too many large messages"));
	assert_int_equal(share.held, LINK_SHARE_MAX - 1);
}

static void test_what_can_not_be_packed(void **state)
{
	links_ready(state);
	link_pack(a.link, NULL, 0, "{s:s}", "t", "\xff\xfe");
	TURN_UNTIL(&loop, a.closes);
	assert_non_null(strstr(a.reason, "can't write a message"));
}

/* ---- connecting ---- */

static int accept_on(int fd)
{
	int peer;

	TURN_UNTIL(&loop, (peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
	return peer;
}

static void connect_to(const char *host, int port)
{
	char where[64];

	snprintf(where, sizeof where, "%s:%d", host, port);
	a.link = link_connect(&loop, trust.node, where, CERT_SERVER, &end_events, &a);
}

static void test_connect(void **state)
{
	struct cert_names names;
	char address[64];
	int port, fd = listen_on(&port);

	connect_to("localhost", port); /* perhaps ::1 first, where nobody is */
	send_number(a.link, 1);
	int peer = accept_on(fd);
	b.link = link_open(&loop, peer, session(trust.server, peer, NULL), &end_events, &b);
	TURN_UNTIL(&loop, a.readies && b.frames.n == 1);
	link_peer(a.link, &names);
	assert_int_equal(names.role, CERT_SERVER);
	link_peer(b.link, &names);
	assert_int_equal(names.role, CERT_NODE);
	assert_string_equal(names.name, "n1");
	assert_int_equal(names.join, 7);
	link_address(b.link, address, sizeof address);
	assert_string_equal(address, "127.0.0.1");
	close(fd);
}

static void test_connect_refused(void **state)
{
	int port;

	close(listen_on(&port));
	connect_to("127.0.0.1", port);
	assert_int_equal(a.closes, 0);
	TURN_UNTIL(&loop, a.closes);
	assert_non_null(strstr(a.reason, "Connection refused"));
}

static void test_connect_nowhere(void **state)
{
	static const char *const wheres[] = {"",	 "n1",	     ":7722", "n1:",	  "n1:http",
					     "n1:70000", "::1:7722", "[::1]", "[::1:7722"};

	for (size_t i = 0; i < sizeof wheres / sizeof *wheres; i++) {
		struct end e = {0};
		e.link = link_connect(&loop, trust.node, wheres[i], CERT_SERVER, &end_events, &e);
		TURN_UNTIL(&loop, e.closes);
		assert_non_null(strstr(e.reason, "port"));
	}
	connect_to("no-such-host.invalid", 7722);
	TURN_UNTIL(&loop, a.closes);
	assert_non_null(strstr(a.reason, "can't find the address of no-such-host.invalid:7722"));
}

/* Given up at every moment of the way. */
static void test_connect_given_up(void **state)
{
	int port, fd = listen_on(&port);

	for (int turns = 0; turns < 5000; turns = 2 * turns + 1) {
		struct end e = {0};
		char where[64];
		snprintf(where, sizeof where, "localhost:%d", port);
		struct tls_context *c = trust_issue(&trust, &(struct cert_names){CERT_NODE, "n1", 7}, 60, false);
		e.link = link_connect(&loop, c, where, CERT_SERVER, &end_events, &e);
		tls_context_free(c); /* the link has its own reference */
		for (int i = 0; i < turns; i++)
			uv_run(&loop, UV_RUN_NOWAIT);
		link_close(e.link, "given up");
		TURN_UNTIL(&loop, e.closes);
		assert_string_equal(e.reason, "given up");
		assert_int_equal(e.readies, 0);
	}
	close(fd);
}

static void test_connect_to_a_stranger(void **state)
{
	int port, fd = listen_on(&port);

	connect_to("127.0.0.1", port);
	int peer = accept_on(fd);
	assert_true(send(peer, "SSH-2.0-OpenSSH_9.2\r\n", 21, MSG_NOSIGNAL) > 0);
	TURN_UNTIL(&loop, a.closes);
	assert_int_equal(a.readies, 0);
	close(peer);
	close(fd);
}

/* A peer that shows another cluster's certificate gets no frame through; nor does one who shows a
 * node's for the server's. */
static void test_wrong_certificates(void **state)
{
	int fd[2];

	pair_tcp(fd);
	a.link = link_open(&loop, fd[0], session(trust.foreign, fd[0], TLS_FRAMES), &end_events, &a);
	b.link = link_open(&loop, fd[1], session(trust.server, fd[1], NULL), &end_events, &b);
	send_number(a.link, 1);
	send_number(b.link, 1);
	TURN_UNTIL(&loop, a.closes && b.closes);
	assert_int_equal(a.frames.n + b.frames.n, 0);
	assert_int_equal(b.readies, 0);
	assert_non_null(strstr(b.reason, "authority"));
}

static void test_node_for_server(void **state)
{
	const struct cert_names node = {.role = CERT_NODE, .name = "n2", .join = 8};
	struct tls_context *pretender = trust_issue(&trust, &node, 3600, true);
	int fd[2];

	pair_tcp(fd);
	a.link = link_open(&loop, fd[0], session(trust.node, fd[0], TLS_FRAMES), &end_events, &a);
	b.link = link_open(&loop, fd[1], session(pretender, fd[1], NULL), &end_events, &b);
	send_number(a.link, 1);
	TURN_UNTIL(&loop, a.closes && b.closes);
	assert_int_equal(a.readies, 0);
	assert_int_equal(b.frames.n, 0);
	assert_non_null(strstr(a.reason, "a node's"));
	tls_context_free(pretender);
}

/* A certificate that expires while the link is open: neither side gets a frame through any more,
 * unless another instant was set. */
static void test_expiry(void **state)
{
	const struct cert_names node = {.role = CERT_NODE, .name = "n2", .join = 8};
	int64_t end = time(NULL) + 3;
	int fd[2];

	for (int extended = 0; extended < 2; extended++) {
		struct tls_context *brief = trust_issue(&trust, &node, extended ? 1 : 3, false);
		pair_tcp(fd);
		a.link = link_open(&loop, fd[0], session(brief, fd[0], TLS_FRAMES), &end_events, &a);
		b.link = link_open(&loop, fd[1], session(trust.server, fd[1], NULL), &end_events, &b);
		TURN_UNTIL(&loop, a.readies && b.readies);
		if (extended)
			link_expire(b.link, time(NULL) + 1000);
		send_number(a.link, 1);
		TURN_UNTIL(&loop, b.frames.n == 1);
		TURN_UNTIL(&loop, time(NULL) > (extended ? time(NULL) - 1 : end));
		for (int64_t later = time(NULL) + 2; extended && time(NULL) < later;)
			turn(&loop);
		if (!extended) {
			send_number(b.link, 2); /* an order */
			TURN_UNTIL(&loop, a.closes && b.closes);
			assert_int_equal(a.frames.n, 0);
			assert_non_null(strstr(b.reason, "expired"));
		} else {
			send_number(a.link, 2);
			TURN_UNTIL(&loop, b.frames.n == 2);
			link_close(a.link, "done");
			TURN_UNTIL(&loop, a.closes && b.closes);
		}
		end_fini(&a);
		end_fini(&b);
		a = b = (struct end){0};
		tls_context_free(brief);
	}
}

#define PLAIN(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define BOTH(f)                                                                                                        \
	{#f, f, setup, teardown, NULL},                                                                                \
	{                                                                                                              \
#f "_tls", f, setup, teardown, &trust                                                                  \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_order),
		BOTH(test_nothing_at_once),
		BOTH(test_both_ways_large),
		BOTH(test_large_head),
		BOTH(test_many_writes_are_few),
		BOTH(test_leaves_before_waiting),
		BOTH(test_pause_holds_the_sender),
		BOTH(test_pause_between_frames),
		BOTH(test_reader_that_never_reads),
		BOTH(test_moved),
		BOTH(test_moved_to_a_process),
		BOTH(test_queued_leaves_before_closing),
		BOTH(test_queued_leaves_past_unread_input),
		BOTH(test_both_close_with_queues),
		BOTH(test_close_from_a_frame),
		BOTH(test_other_end_vanishes),
		PLAIN(test_last_words), /* OpenSSL does not read after a write has failed */
		BOTH(test_another_owner),
		BOTH(test_too_large),
		BOTH(test_too_large_for_a_stranger),
		BOTH(test_too_much_data),
		BOTH(test_no_head),
		BOTH(test_head_past_the_end),
		BOTH(test_garbage),
		BOTH(test_array),
		BOTH(test_no_json),
		BOTH(test_text_after_the_head),
		BOTH(test_deep),
		BOTH(test_crumbs),
		BOTH(test_half_a_frame),
		BOTH(test_share),
		BOTH(test_what_can_not_be_packed),
		PLAIN(test_connect),
		PLAIN(test_connect_refused),
		PLAIN(test_connect_nowhere),
		PLAIN(test_connect_given_up),
		PLAIN(test_connect_to_a_stranger),
		PLAIN(test_wrong_certificates),
		PLAIN(test_node_for_server),
		PLAIN(test_expiry),
	};

	signal(SIGPIPE, SIG_IGN); /* like the daemons: OpenSSL writes without MSG_NOSIGNAL */
	trust_init(&trust);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	trust_fini(&trust);
	return rc;
}
