/*
 * test_log.c - the lines of its log that the server keeps (src/server/base/log.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/base/log.h"
#include "server/base/post.h"
#include "server/server.h"

/* Puts `fd` in the place of standard error. Returns the old one. */
static int stderr_swap(int fd)
{
	int old = dup(STDERR_FILENO);

	fflush(stderr);
	assert_true(old >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	return old;
}

static void stderr_restore(int old)
{
	assert_true(dup2(old, STDERR_FILENO) >= 0);
	close(old);
}

static int heard;

static void on_heard(struct server *s, enum severity severity, const char *text)
{
	assert_int_equal(severity, SEVERITY_WARNING);
	heard++;
}

/* Counts the kept lines that are at least this severe; *ret_first is the oldest, "" if there is
 * none. */
static int count(const struct log *l, enum severity least, const char **ret_first)
{
	const struct log_kept *k;
	uint64_t at = 0;
	int n = 0;

	*ret_first = "";
	while ((k = log_next(l, least, &at)))
		if (n++ == 0)
			*ret_first = k->text;
	return n;
}

static void test_kept(void **state)
{
	struct post post = {.heard = on_heard};
	struct server s = {.log = log_create(SEVERITY_WARNING), .post = &post};
	const char *first;
	char path[] = "/tmp/shunt-log-XXXXXX";
	int file = mkstemp(path);
	int old = stderr_swap(file);

	server_log(&s, SEVERITY_NOTICE, "too low");
	for (int i = 0; i < 10; i++)
		server_log(&s, SEVERITY_WARNING, "line %d", i);
	dprintf(STDERR_FILENO, "2026-11-18 01:29:04 of an older server\nno time\n2026-11-18 01:29:04 error: e\n");
	dprintf(STDERR_FILENO, "2026-11-18 01:29:04 error: without an end");
	stderr_restore(old);
	assert_int_equal(heard, 10);
	assert_int_equal(count(s.log, SEVERITY_DEBUG, &first), 10);
	assert_string_equal(first, "line 0");
	assert_int_equal(count(s.log, SEVERITY_ERROR, &first), 0);

	struct log *next = log_create(SEVERITY_NOTICE);
	log_restore(next, path); /* standard error is another file */
	assert_int_equal(count(next, SEVERITY_DEBUG, &first), 0);
	old = stderr_swap(file);
	log_restore(next, path);
	stderr_restore(old);
	assert_int_equal(count(next, SEVERITY_NOTICE, &first), 12);
	assert_int_equal(count(next, SEVERITY_WARNING, &first), 11);
	assert_string_equal(first, "line 0");
	assert_int_equal(count(next, SEVERITY_ERROR, &first), 1);
	assert_string_equal(first, "e");
	log_destroy(next);
	log_destroy(s.log);
	close(file);
	unlink(path);
}

static void test_bounded(void **state)
{
	struct server s = {.log = log_create(SEVERITY_DEBUG)};
	const char *first = NULL;
	char path[] = "/tmp/shunt-log-XXXXXX", expected[32];
	int file = mkstemp(path);
	int old = stderr_swap(file);
	int lines = 20 * LOG_KEPT; /* more than log_restore() reads */

	server_log(&s, SEVERITY_DEBUG, "%01500d", 0);
	for (int i = 1; i < lines; i++)
		server_log(&s, SEVERITY_DEBUG, "line %d", i);
	assert_int_equal(count(s.log, SEVERITY_DEBUG, &first), LOG_KEPT);
	snprintf(expected, sizeof expected, "line %d", lines - LOG_KEPT);
	assert_string_equal(first, expected);
	server_log(&s, SEVERITY_ERROR, "%01500d", 0);
	assert_int_equal(count(s.log, SEVERITY_ERROR, &first), 1);
	assert_int_equal(strlen(first), 1000);

	struct log *next = log_create(SEVERITY_NOTICE);
	log_restore(next, path);
	stderr_restore(old);
	assert_int_equal(count(next, SEVERITY_DEBUG, &first), LOG_KEPT);
	snprintf(expected, sizeof expected, "line %d", lines - LOG_KEPT + 1);
	assert_string_equal(first, expected);
	log_destroy(next);
	log_destroy(s.log);
	close(file);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
