/*
 * test_tcp.c - hosts and ports as text, and blocking TCP (src/base/tcp.h).
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/tcp.h"

#define CONNECT_MS 2000
#define MANY 200 /* connections at once */

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **ret);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **ret);

/* Gives the host "mixed" 127.0.0.1, and then an address of a family that no socket has. */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **ret)
{
	bool mixed = strcmp(host, "mixed") == 0;
	int rc = __real_getaddrinfo(mixed ? "127.0.0.1" : host, port, hints, ret);

	if (rc == 0 && mixed) {
		assert_int_equal(__real_getaddrinfo("127.0.0.1", port, hints, &(*ret)->ai_next), 0);
		(*ret)->ai_next->ai_family = AF_UNSPEC;
	}
	return rc;
}

static void test_where(void **state)
{
	static const struct {
		const char *where, *host, *port;
	} good[] = {
		{"n1:7722", "n1", "7722"}, {"[::1]:7722", "::1", "7722"}, {"7722", "", "7722"},
		{":7722", "", "7722"},	   {"n1:0", "n1", "0"},		  {"n1:65535", "n1", "65535"},
	};
	static const char *const bad[] = {
		"", "n1", "n1:", "n1:x", "n1:77x", "n1:-1", "n1:65536", "::1:7722", "0123456789:7722", "n1:007722722",
	};
	char host[10], port[8];
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(where_parse(good[i].where, host, sizeof host, port, sizeof port, &err), 0);
		assert_string_equal(host, good[i].host);
		assert_string_equal(port, good[i].port);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(where_parse(bad[i], host, sizeof host, port, sizeof port, &err), -EINVAL);
		assert_memory_equal(err.text, bad[i], strlen(bad[i]));
	}
}

static long most_waiting(void)
{
	FILE *f = fopen("/proc/sys/net/core/somaxconn", "re");
	char text[32] = "";

	if (f) {
		if (!fgets(text, sizeof text, f))
			text[0] = '\0';
		fclose(f);
	}
	return strtol(text, NULL, 10);
}

/* Many clients connect before the server accepts any. */
static void test_many(void **state)
{
	struct err err;
	char port[8];
	int fd[MANY], number, listener = tcp_listen(0, &number, &err), n = 0;
	long most = most_waiting();

	(void)state;
	assert_true(listener >= 0);
	assert_in_range(number, 1, 65535);
	snprintf(port, sizeof port, "%d", number);
	for (; n < MANY && n < most; n++) {
		fd[n] = tcp_reach("127.0.0.1", port, CONNECT_MS, &err);
		if (fd[n] < 0)
			fail_msg("connection %d: %s", n, err.text);
	}
	while (n > 0)
		close(fd[--n]);
	close(listener);
}

/* Nothing listens on a port that is only bound. */
static void test_unreachable(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char port[8], text[100];
	struct err err;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	snprintf(port, sizeof port, "%d", ntohs(at.sin_port));
	assert_int_equal(tcp_reach("127.0.0.1", port, CONNECT_MS, &err), -ECONNREFUSED);
	snprintf(text, sizeof text, "127.0.0.1:%s can't be reached: %s", port, strerror(ECONNREFUSED));
	assert_string_equal(err.text, text);
	assert_true(tcp_reach("::1", "0", CONNECT_MS, &err) < 0);
	assert_non_null(strstr(err.text, "[::1]:0 can't be reached: "));
	assert_int_equal(tcp_reach("mixed", port, CONNECT_MS, &err), -ECONNREFUSED);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_unreachable),
	};

	return cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
