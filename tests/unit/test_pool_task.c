/*
 * test_pool_task.c - a task of a pool on its host: what it gets and leaves, and that nothing of it
 * outlives its lease or its daemon.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/lease.h"
#include "station/pool_task.h"
#include "support/closed.h"

static void start_within(const char *script, int64_t memory, struct pool_lease *lease, struct pool_task *ret)
{
	const char *argv[] = {"sh", "-c", script, NULL}, *env[] = {"PATH=/usr/bin:/bin", "X=1", NULL};
	struct peer_start s = {.id = 1, .argv = argv, .env = env, .dir = "/tmp", .memory = memory};
	struct err err;

	assert_int_equal(pool_task_start(&s, &(struct pool_user){0}, lease, ret, &err), 0);
}

static void start(const char *script, struct pool_lease *lease, struct pool_task *ret)
{
	start_within(script, 0, lease, ret);
}

/* All up to the end. */
static size_t drain(int fd, char *buf, size_t size)
{
	size_t n = 0;

	for (;;) {
		poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
		ssize_t got = read(fd, buf + n, size - 1 - n);
		if (got == 0)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	buf[n] = '\0';
	close(fd);
	return n;
}

static char said[1024]; /* the standard error of the last task that finished */

/* Waits for the end of its keeper: the bytes of the result. */
static size_t finish(struct pool_task *t, struct pool_result *ret, char *out, size_t size)
{
	char text[1024];
	size_t n;

	drain(t->out, out, size);
	drain(t->err, said, sizeof said);
	n = drain(t->result, text, sizeof text);
	memcpy(ret, text, sizeof *ret);
	assert_int_equal(waitpid(t->keeper, NULL, 0), t->keeper);
	if (t->control >= 0)
		close(t->control);
	return n;
}

static void streams(void **state)
{
	struct pool_lease *lease = pool_lease_create();
	struct pool_task t;
	struct pool_result r;
	char out[1024];

	lease->until = INT64_MAX;
	start("cat; echo $X `pwd`; exit 3", lease, &t);
	assert_int_equal(write(t.in, "hello\n", 6), 6);
	close(t.in);
	assert_int_equal(finish(&t, &r, out, sizeof out), sizeof r);
	assert_string_equal(out, "hello\n1 /tmp\n");
	assert_int_equal(WEXITSTATUS(r.status), 3);

	start("trap 'echo got; exit 0' USR1; echo up; while :; do sleep 0.01; done", lease, &t);
	poll(&(struct pollfd){.fd = t.out, .events = POLLIN}, 1, -1);
	assert_int_equal(write(t.control, &(char){SIGUSR1}, 1), 1);
	close(t.in);
	finish(&t, &r, out, sizeof out);
	assert_true(WIFEXITED(r.status) || WTERMSIG(r.status) == SIGUSR1);
	pool_lease_free(lease);
}

/* A process that has left its group, its session and its parent ends with the task all the same. */
static void nothing_is_left(void **state)
{
	static const char script[] = "(setsid sh -c 'echo $$; exec sleep 1000' &) ; sleep 1000";
	struct pool_lease *lease = pool_lease_create();
	struct pool_task t;
	struct pool_result r;
	char out[1024];

	for (int how = 0; how < 3; how++) {
		lease->until = INT64_MAX;
		start(script, lease, &t);
		poll(&(struct pollfd){.fd = t.out, .events = POLLIN}, 1, -1);
		if (how == 0) { /* the daemon dies */
			close(t.control);
			t.control = -1;
		} else if (how == 1) { /* it says so */
			assert_int_equal(write(t.control, &(char){SIGKILL}, 1), 1);
		} else { /* the lease ends; the daemon only wakes the keeper, which else looks at the end that it knows */
			lease->until = boot_us();
			assert_int_equal(write(t.control, &(char){SIGCONT}, 1), 1);
		}
		close(t.in);
		assert_int_equal(finish(&t, &r, out, sizeof out), how == 1 ? sizeof r : 0);
		assert_int_equal(kill(atoi(out), 0), -1);
	}
	pool_lease_free(lease);
}

/* Returns true if a process still runs after ten seconds. Its files are closed before it has
 * ended. */
static bool lives(pid_t pid)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool ended = end.fd < 0 || poll(&end, 1, 10000) == 1;

	if (end.fd >= 0)
		close(end.fd);
	return !ended;
}

/* A keeper that is stopped does not notice the end of its lease: the daemon ends both. */
static void keeper_stopped(void **state)
{
	struct pool_lease *lease = pool_lease_create();
	struct pool_task t;
	struct pool_result r;
	char out[1024];

	lease->until = INT64_MAX;
	start("(setsid sh -c 'echo $$; exec sleep 1000' &) ; sleep 1000", lease, &t);
	poll(&(struct pollfd){.fd = t.out, .events = POLLIN}, 1, -1);
	assert_int_equal(kill(t.keeper, SIGSTOP), 0);
	assert_int_equal(waitpid(t.keeper, NULL, WUNTRACED), t.keeper);
	lease->until = boot_us();
	pool_task_end(&t, &(struct pool_user){0});
	close(t.in);
	assert_int_equal(finish(&t, &r, out, sizeof out), 0);
	assert_false(lives(atoi(out)));
	pool_lease_free(lease);
}

/* Without a control group: the keeper looks. */
static void memory(void **state)
{
	struct pool_lease *lease = pool_lease_create();
	struct pool_task t;
	struct pool_result r;
	char out[1024];

	lease->until = INT64_MAX;
	start_within("head -c 100m /dev/zero | tail | sleep 1000", 50 << 10, lease, &t);
	close(t.in);
	assert_int_equal(finish(&t, &r, out, sizeof out), sizeof r);
	assert_int_equal(r.status, SIGKILL);
	assert_memory_equal(said, "shunt-pool: the task was ended: it used ", 40);
	assert_non_null(strstr(said, " of memory, and may use 50 MB (mem=)\n"));
	assert_string_equal(strchr(said, '\n'), "\n"); /* once */
	start_within("head -c 1m /dev/zero | tail | wc -c", 50 << 10, lease, &t);
	close(t.in);
	assert_int_equal(finish(&t, &r, out, sizeof out), sizeof r);
	assert_string_equal(out, "1048576\n");
	pool_lease_free(lease);
}

static void run(const char *program, const char *dir, struct pool_result *ret, char *out, size_t size)
{
	const char *argv[] = {program, NULL}, *env[] = {"PATH=/usr/bin:/bin", NULL};
	struct peer_start s = {.id = 1, .argv = argv, .env = env, .dir = dir};
	struct pool_lease *lease = pool_lease_create();
	struct pool_task t;
	struct err err;

	lease->until = INT64_MAX;
	assert_int_equal(pool_task_start(&s, &(struct pool_user){0}, lease, &t, &err), 0);
	close(t.in);
	assert_int_equal(finish(&t, ret, out, size), sizeof *ret);
	pool_lease_free(lease);
}

/* The status of a program that can't be run, as of a shell; a missing directory is replaced. */
static void programs(void **state)
{
	static const struct {
		const char *program;
		int status;
		const char *said;
	} cases[] = {
		{"no-such-program", 127, "shunt-pool: no-such-program: No such file or directory\n"},
		{"/no/such/program", 127, "shunt-pool: /no/such/program: No such file or directory\n"},
		{"/etc/passwd", 126, "shunt-pool: /etc/passwd: Permission denied\n"},
		{"/tmp", 126, "shunt-pool: /tmp: Permission denied\n"},
	};
	struct pool_result r;
	char out[1024];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		run(cases[i].program, "/", &r, out, sizeof out);
		assert_int_equal(WEXITSTATUS(r.status), cases[i].status);
		assert_string_equal(said, cases[i].said);
	}
	run("pwd", "/no/such/directory", &r, out, sizeof out);
	assert_string_equal(out, "/\n");
	run("pwd", "/usr", &r, out, sizeof out);
	assert_string_equal(out, "/usr\n");
	assert_true(r.cpu_ms >= 0 && r.cpu_ms < 60000);
}

/* A task's processor time is that of all its processes. */
static void processor_time(void **state)
{
	static const char script[] =
		"while read -r s </proc/$$/stat; set -- $s; [ $((${14} + ${15})) -lt 6 ]; do :; done";
	struct pool_lease *lease = pool_lease_create();
	char text[256], out[1024];
	struct pool_task t;
	struct pool_result r;

	lease->until = INT64_MAX;
	snprintf(text, sizeof text, "sh -c '%s' & %s; wait", script, script);
	start(text, lease, &t);
	close(t.in);
	assert_int_equal(finish(&t, &r, out, sizeof out), sizeof r);
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	assert_true(r.cpu_ms >= 2 * 5 * 1000 / sysconf(_SC_CLK_TCK) && r.cpu_ms < 60000);
	pool_lease_free(lease);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(streams),
					   cmocka_unit_test(programs),
					   cmocka_unit_test(nothing_is_left),
					   cmocka_unit_test(keeper_stopped),
					   cmocka_unit_test(memory),
					   cmocka_unit_test(processor_time),
					   CLOSED_TEST};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
