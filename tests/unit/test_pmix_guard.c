/*
 * test_pmix_guard.c - whom accept() of shunt-pmix lets in: connections of its own user. Those of
 * others, which anyone on the machine can make, are shut before the library reads from them.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/skip.h"

#define OTHER 1 /* daemon */

/* Connects in a process of a user, which has sent a byte before the connection is accepted, and
 * waits for its end. Returns how many bytes can be read. */
static ssize_t heard(uid_t user)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), sent[2], status;
	socklen_t n = sizeof a;
	char byte;

	assert_int_equal(bind(listener, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &n), 0);
	assert_int_equal(pipe(sent), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int owned = user == getuid() ? 0 : setresuid(user, user, user), fd = socket(AF_INET, SOCK_STREAM, 0);
		if (owned < 0 || connect(fd, (struct sockaddr *)&a, n) < 0)
			_exit(1);
		if (send(fd, "x", 1, MSG_NOSIGNAL) != 1 || write(sent[1], "x", 1) != 1)
			_exit(1);
		_exit(recv(fd, &byte, 1, 0) > 0);
	}
	close(sent[1]);
	assert_int_equal(read(sent[0], &byte, 1), 1);
	close(sent[0]);
	int fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	ssize_t got = recv(fd, &byte, 1, 0);
	close(fd);
	close(listener);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return got;
}

static void test_own(void **state)
{
	assert_int_equal(heard(getuid()), 1);
}

static void test_others(void **state)
{
	if (getuid() != 0)
		skip_because("only root can act as another user");
	assert_int_equal(heard(OTHER), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
