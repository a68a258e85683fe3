/*
 * test_census.c - the owner's processes are recognized, and those of our tasks are not counted.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "station/census.h"

/* A process that always wants a processor; nice: it is batch work then. */
static pid_t busy(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (setpriority(PRIO_PROCESS, 0, 19) < 0)
			_exit(1);
		for (volatile unsigned long i = 0;; i++)
			;
	}
	return pid;
}

static void told_apart(void **state)
{
	pid_t pid = busy();
	pid_list ours = {0};
	int interactive, batch, before;

	for (;;) { /* it may not have begun */
		census_take(&ours, &interactive, &batch);
		if (batch > 0)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	before = batch;
	assert_true(before >= 1);
	vec_push(&ours, pid);
	vec_push(&ours, getpid());
	census_sort(&ours);
	assert_true(ours.v[0] <= ours.v[1]);
	census_take(&ours, &interactive, &batch); /* others come and go: only that it can be called so */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	vec_free(&ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
