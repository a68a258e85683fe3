/*
 * test_logline.c - lines of the daemons' logs (src/base/logline.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/logline.h"

static void stream_set(int fd)
{
	char text[64];
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
}

static void test_names(void **state)
{
	enum severity found;

	for (enum severity i = 0; i < SEVERITIES; i++) {
		assert_true(severity_parse(severity_names[i], &found));
		assert_int_equal(found, i);
	}
	assert_false(severity_parse("info", &found));
	assert_false(severity_parse("", &found));
	assert_string_equal(SEVERITY_WORDS("|"), "error|warning|notice|debug");
}

static void test_parse(void **state)
{
	static const struct {
		const char *line;
		bool ok;
		enum severity severity;
		const char *text;
	} cases[] = {
		{"2026-11-18 01:29:04 error: a: b", true, SEVERITY_ERROR, "a: b"},
		{"2026-11-18 01:29:04 warning: x", true, SEVERITY_WARNING, "x"},
		{"2026-11-18 01:29:04 notice: error: x", true, SEVERITY_NOTICE, "error: x"},
		{"2026-11-18 01:29:04 debug: ", true, SEVERITY_DEBUG, ""},
		{"2026-11-18 01:29:04 node n1 is up again", true, SEVERITY_NOTICE, "node n1 is up again"},
		{"2026-11-18 01:29:04 errors: 5", true, SEVERITY_NOTICE, "errors: 5"},
		{"2026-11-18 01:29:04 ", true, SEVERITY_NOTICE, ""},
		{"2026-11-18 01:29:04", false, 0, NULL},
		{"2026-11-98 01:29:04 x", false, 0, NULL},
		{"shuntd: 2026-11-18 01:29:04 x", false, 0, NULL},
		{"<3>x", false, 0, NULL},
		{"", false, 0, NULL},
	};
	struct logline x;
	char head[64];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(logline_parse(cases[i].line, &x), cases[i].ok);
		if (!cases[i].ok)
			continue;
		assert_int_equal(x.severity, cases[i].severity);
		assert_string_equal(x.text, cases[i].text);
	}
	for (enum severity i = 0; i < SEVERITIES; i++) {
		assert_true(logline_parse(log_head(i, 1700000000, false, head, sizeof head), &x));
		assert_int_equal(x.time, 1700000000);
		assert_int_equal(x.severity, i);
		assert_string_equal(x.text, "");
	}
}

/* The journal's stream is a socket, as systemd passes one. */
static void test_journal(void **state)
{
	int fds[2];
	char text[200] = "";

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	stream_set(fds[1]);
	int old = dup(STDERR_FILENO);
	assert_true(old >= 0 && dup2(fds[1], STDERR_FILENO) >= 0);
	log_line(SEVERITY_ERROR, "one\n<0>%d", 2);
	log_line(SEVERITY_WARNING, "w");
	log_line(SEVERITY_NOTICE, "n");
	log_line(SEVERITY_DEBUG, "d");
	assert_int_equal(log_fatal("shuntd", "over"), 1);
	assert_true(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	assert_true(read(fds[0], text, sizeof text - 1) > 0);
	assert_string_equal(text, "<3>one\\n<0>2\n<4>w\n<5>n\n<7>d\n<3>over\n");
	assert_false(log_is_journal(fds[0])); /* another socket */
	unsetenv("JOURNAL_STREAM");
	assert_false(log_is_journal(fds[1]));
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_journal),
	};

	return cmocka_run_group_tests_name("logline", tests, NULL, NULL);
}
