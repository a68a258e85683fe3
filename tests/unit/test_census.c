/*
 * test_census.c - which processes are the owner's, and whether they wait for an answer: of a /proc
 * that the test makes.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "station/census.h"

static char proc[64];

DIR *__real_opendir(const char *name);
DIR *__wrap_opendir(const char *name);
DIR *__wrap_opendir(const char *name)
{
	return __real_opendir(strcmp(name, "/proc") == 0 ? proc : name);
}

static const struct process {
	int pid; /* 0: this process */
	const char *name;
	char state;
	int tty, nice;
	const char *group; /* its control group */
	bool root;
} all[] = {
	{21, "sh", 'R', 34816, 0, "/user.slice", false},
	{22, "a) S 1 (b", 'R', 0, -5, "/user.slice/session-3.scope", true},
	{23, "browser", 'R', 0, 0, "/user.slice/app-x.scope", false},
	{31, "make", 'R', 34816, 1, "/user.slice", false},
	{32, "daemon", 'R', 0, 0, "/system.slice", false},
	{33, "cron", 'R', 0, 19, "/system.slice", true},
	{41, "sleeps", 'S', 34816, 0, "/user.slice", false},
	{42, "kworker", 'R', 0, 0, "/", true},
	{51, "ours", 'R', 34816, 0, "/user.slice", false},
	{5, "ours", 'R', 0, 5, "/system.slice", false},
	{0, "test", 'R', 34816, 0, "/user.slice", false},
};

static void file_put(const char *dir, const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(file_replace(path, 0600, text, strlen(text), 0), 0);
}

static void process_make(const struct process *x)
{
	int pid = x->pid ? x->pid : getpid();
	char dir[96], text[256];

	snprintf(dir, sizeof dir, "%s/%d", proc, pid);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(text, sizeof text, "%d (%s) %c 1 2 3 %d 4 5 6 7 8 9 10 11 12 13 14 %d 15 16\n", pid, x->name, x->state,
		 x->tty, x->nice);
	file_put(dir, "stat", text);
	snprintf(text, sizeof text, "0::%s\n", x->group);
	file_put(dir, "cgroup", text);
	if (geteuid() == 0 && !x->root)
		assert_int_equal(chown(dir, 1000, 1000), 0);
}

static void process_remove(const struct process *x)
{
	static const char *const names[] = {"stat", "cgroup", ""};
	char path[160];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%d/%s", proc, x->pid ? x->pid : getpid(), names[i]);
		remove(path);
	}
}

static int setup(void **state)
{
	char path[96];

	snprintf(proc, sizeof proc, "/tmp/test_census.XXXXXX");
	if (!mkdtemp(proc))
		return -1;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		process_make(&all[i]);
	snprintf(path, sizeof path, "%s/self", proc);
	return mkdir(path, 0700);
}

static int teardown(void **state)
{
	char path[96];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		process_remove(&all[i]);
	snprintf(path, sizeof path, "%s/self", proc);
	remove(path);
	return remove(proc);
}

static void told_apart(void **state)
{
	const int roots = geteuid() == 0 ? 0 : 1; /* the kernel's threads can't be played without root */
	pid_list ours = {0};
	int interactive, batch;

	census_take(&ours, &interactive, &batch);
	assert_int_equal(interactive, 4);
	assert_int_equal(batch, 4 + roots);
	vec_push(&ours, 60);
	vec_push(&ours, 51);
	vec_push(&ours, 5);
	vec_push(&ours, 7);
	census_sort(&ours);
	for (size_t i = 1; i < ours.n; i++)
		assert_true(ours.v[i - 1] < ours.v[i]);
	census_take(&ours, &interactive, &batch);
	assert_int_equal(interactive, 3);
	assert_int_equal(batch, 3 + roots);
	vec_free(&ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(told_apart, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
