/*
 * test_relay.c - bytes between two connections: all of them, in order, however slow a side is; and
 * what becomes of it when one ends. The far ends are held here. With a link between there are two
 * relays, as between an agent and its server.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/relay.h"

#define MUCH (3 << 20)

struct line {
	uv_loop_t loop;
	int a, b; /* the far ends */
	struct relay *relay[2];
	int ended, released;
};

static void on_ended(void *context)
{
	struct line *l = context;

	l->ended++;
}

static void on_second_ended(void *context)
{
	struct line *l = context;

	l->relay[1] = NULL;
}

static void on_release(void *handle)
{
	struct line *l = handle;

	l->released++;
}

static void pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
}

static void line_open(struct line *l, bool linked, bool final)
{
	int first[2], second[2], between[2];

	*l = (struct line){0};
	uv_loop_init(&l->loop);
	pair(first);
	pair(second);
	l->a = first[0];
	l->b = second[0];
	struct relay_end a = {.fd = first[1], .final = final}, b = {.fd = second[1]};
	if (!linked) {
		l->relay[0] = relay_sockets(&l->loop, &a, &b, on_ended, l);
		return;
	}
	pair(between);
	struct link *x = link_open(&l->loop, between[0], NULL, NULL, NULL);
	struct link *y = link_open(&l->loop, between[1], NULL, NULL, NULL);
	link_trust(x);
	link_trust(y);
	l->relay[0] = relay_link(&l->loop, &a, x, on_ended, l);
	l->relay[1] = relay_link(&l->loop, &b, y, on_second_ended, l);
}

static void turn(struct line *l)
{
	for (int i = 0; i < 20; i++)
		uv_run(&l->loop, UV_RUN_NOWAIT);
}

static void line_close(struct line *l)
{
	if (!l->ended)
		relay_close(l->relay[0]);
	relay_close(l->relay[1]);
	close(l->a);
	close(l->b);
	assert_int_equal(uv_run(&l->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&l->loop), 0);
}

/* Sends as much as is taken, and reads by pieces, with rests between: the relay must not hold it
 * all. */
static void carry(struct line *l, int from, int to)
{
	char *data = malloc(MUCH), part[7777];
	size_t sent = 0, got = 0, most = 0;

	for (int i = 0; i < MUCH; i++)
		data[i] = (char)(i * 31 + (i >> 8));
	for (int idle = 0; got < MUCH && idle < 100000; idle++) {
		ssize_t n = send(from, data + sent, MUCH - sent, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		uv_run(&l->loop, UV_RUN_NOWAIT);
		most = sent - got > most ? sent - got : most;
		if (idle < 200)
			continue; /* nobody reads yet */
		n = recv(to, part, sizeof part, 0);
		if (n <= 0)
			continue;
		assert_memory_equal(part, data + got, n);
		got += (size_t)n;
	}
	assert_int_equal(got, MUCH);
	assert_true(most < MUCH); /* somebody was held back */
	free(data);
}

static void test_much(void **state)
{
	for (int linked = 0; linked < 2; linked++) {
		struct line l;
		line_open(&l, linked, false);
		carry(&l, l.a, l.b);
		carry(&l, l.b, l.a);
		line_close(&l);
	}
}

static bool is_at_end(int fd)
{
	char c;

	return recv(fd, &c, 1, 0) == 0;
}

/* One direction ends, after what was said in it; the other continues. */
static void test_half(void **state)
{
	char text[8] = "";

	for (int linked = 0; linked < 2; linked++) {
		struct line l;
		line_open(&l, linked, false);
		assert_int_equal(send(l.a, "last", 4, 0), 4);
		shutdown(l.a, SHUT_WR);
		turn(&l);
		assert_int_equal(recv(l.b, text, sizeof text, 0), 4);
		assert_true(is_at_end(l.b));
		assert_int_equal(send(l.b, "more", 4, 0), 4);
		turn(&l);
		assert_int_equal(recv(l.a, text, sizeof text, 0), 4);
		assert_int_equal(l.ended, 0);
		close(l.b);
		l.b = open("/dev/null", O_RDWR | O_CLOEXEC);
		turn(&l);
		assert_int_equal(l.ended, 1);
		line_close(&l);
	}
}

/* Closed altogether, all ends; unless that is how this side hangs up. */
static void test_closed(void **state)
{
	for (int linked = 0; linked < 2; linked++)
		for (int final = 0; final < 2; final++) {
			struct pollfd p;
			struct line l;
			line_open(&l, linked, final);
			close(l.a);
			l.a = open("/dev/null", O_RDWR | O_CLOEXEC);
			turn(&l);
			assert_int_equal(l.ended, !final);
			assert_true(is_at_end(l.b));
			p = (struct pollfd){.fd = l.b};
			poll(&p, 1, 0);
			assert_int_equal(!(p.revents & POLLHUP), final); /* a break is seen at the other end */
			line_close(&l);
		}
}

/* A descriptor that belongs to somebody else is given back, once. */
static void test_release(void **state)
{
	int first[2], second[2];
	struct line l = {0};

	uv_loop_init(&l.loop);
	pair(first);
	pair(second);
	struct relay_end a = {.fd = first[1], .release = on_release, .handle = &l}, b = {.fd = second[1]};
	l.relay[0] = relay_sockets(&l.loop, &a, &b, on_ended, &l);
	l.a = first[0];
	l.b = second[0];
	close(l.b);
	l.b = dup(l.a);
	turn(&l);
	assert_int_equal(l.ended, 1);
	assert_int_equal(l.released, 1);
	assert_int_equal(fcntl(first[1], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC); /* still there */
	close(first[1]);
	line_close(&l);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_much),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_release),
	};

	return cmocka_run_group_tests_name("relay", all, NULL, NULL);
}
