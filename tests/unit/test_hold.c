/*
 * test_hold.c - everything below a shepherd stands still, and resumes: by signals, and by the
 * freezer of version 1 where the test may make groups.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/cgroup.h"
#include "run/hold.h"
#include "run/tree.h"
#include "support/skip.h"

/* What each of its programs counts as long as it runs. */
static volatile unsigned long *counts;
#define PROGRAMS 3

static void count(int i)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		counts[i]++;
		usleep(1000);
	}
}

/* A child, a grandchild and one more that has a session of its own. `group`: a directory whose
 * processes they become, or NULL. */
static pid_t shepherd_start(const char *group)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fork() == 0) {
		char path[4400];
		snprintf(path, sizeof path, "%s/tasks", group ? group : "");
		int fd = group ? open(path, O_WRONLY) : -1;
		if (group && (fd < 0 || write(fd, "0", 1) != 1))
			_exit(1);
		if (fork() == 0) {
			if (fork() == 0) {
				setsid();
				count(2);
			}
			count(1);
		}
		count(0);
	}
	for (;;)
		pause();
}

static void shepherd_end(pid_t pid)
{
	tree_kill(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void until_all_count(void)
{
	unsigned long before[PROGRAMS];

	for (int i = 0; i < PROGRAMS; i++)
		before[i] = counts[i];
	for (int i = 0; i < PROGRAMS;) {
		usleep(1000);
		i += counts[i] > before[i] + 2;
	}
}

static void none_counts(void)
{
	unsigned long before[PROGRAMS];

	for (int i = 0; i < PROGRAMS; i++)
		before[i] = counts[i];
	usleep(50000);
	for (int i = 0; i < PROGRAMS; i++)
		assert_int_equal(before[i], counts[i]);
}

static void stop_and_continue(const char *group, const char *tag)
{
	pid_t pid = shepherd_start(group);
	int64_t ms;

	until_all_count();
	while (!hold_stop(pid, tag))
		usleep(1000);
	none_counts();
	assert_int_equal(hold_running(pid, &ms), 0);
	assert_true(ms >= 0);
	assert_true(hold_stop(pid, tag));
	hold_continue(pid, tag, false);
	until_all_count();
	shepherd_end(pid);
}

static void test_signals(void **state)
{
	stop_and_continue(NULL, "7.1");
}

/* What its user has stopped stays so. */
static void test_stopped(void **state)
{
	pid_t pid = shepherd_start(NULL);

	until_all_count();
	while (!hold_stop(pid, "7.1"))
		usleep(1000);
	hold_continue(pid, "7.1", true);
	none_counts();
	shepherd_end(pid);
}

static void *spin(void *context)
{
	for (;;)
		counts[0]++;
	return NULL;
}

/* Waits until that number of its threads run. Returns its CPU time in ms. */
static int64_t running_await(pid_t pid, int threads)
{
	int64_t ms;

	for (int i = 0; hold_running(pid, &ms) != threads; i++) {
		if (i > 10000)
			fail_msg("%d threads do not run", threads);
		usleep(1000);
	}
	return ms;
}

/* What its tasks want of the processors: threads that run or could run, and the time they had. */
static void test_running(void **state)
{
	pid_t pid = fork();
	int64_t first, ms;

	if (pid == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fork() == 0) {
			pthread_t t;
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pthread_create(&t, NULL, spin, NULL);
			pthread_create(&t, NULL, spin, NULL);
			pause();
		}
		for (;;)
			pause();
	}
	first = running_await(pid, 2);
	for (int i = 0; running_await(pid, 2) < first + 50; i++)
		assert_true(i < 10000);
	while (!hold_stop(pid, "7.1"))
		usleep(1000);
	ms = running_await(pid, 0); /* other threads stop after the first one */
	assert_true(ms >= first + 50);
	assert_int_equal(running_await(pid, 0), ms);
	shepherd_end(pid);
	assert_int_equal(hold_running(pid, &ms), 0); /* it is gone */
	assert_int_equal(ms, 0);
}

static void test_freezer(void **state)
{
	char *own = cgroup_of(0, "freezer"), dir[4200], tag[40];

	snprintf(tag, sizeof tag, "7-x%d.1", getpid());
	snprintf(dir, sizeof dir, "%s/%s", own ? own : "", tag);
	bool made = own && mkdir(dir, 0755) == 0;
	free(own);
	if (!made)
		skip_because("no freezer of version 1 here that the test may use");
	stop_and_continue(dir, tag);
	for (int i = 0; i < 1000 && rmdir(dir) && errno == EBUSY; i++)
		usleep(2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_freezer),
	};

	counts = mmap(NULL, sizeof *counts * PROGRAMS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
