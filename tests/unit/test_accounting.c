/*
 * test_accounting.c - accounting records: the line, names that try to break it, files of days,
 * reading others'.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/vec.h"
#include "client/pbsrecord.h"
#include "server/book/accounting.h"

#define NOW INT64_C(1794724973) /* 2026-11-15 06:42:53 UTC */

static struct arena *arena;
static char dir[] = "/tmp/test_accounting.XXXXXX";

static int setup(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	arena = arena_create();
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	arena_destroy(arena);
	return rmdir(dir);
}

static const char *in_dir(const char *name)
{
	return arena_printf(arena, "%s/%s", dir, name);
}

static struct record whole(char type)
{
	return (struct record){
		.time = NOW,
		.type = type,
		.id = "12.server",
		.job = {.user = "ann",
			.group = "staff",
			.name = "STDIN",
			.queue = "batch",
			.text = "out of patience",
			.submitted = NOW - 60,
			.started = NOW - 50,
			.ended = NOW,
			.hosts = "n1/0+n1/1",
			.resources = "nodes=1:ppn=2,mem=8gb,walltime=00:10:00",
			.cpus = 2,
			.nodes = 1,
			.walltime = 600,
			.exit_status = 0,
			.cpu_ms = 75000,
			.ran_ms = 50999,
			.peak_kib = 1024},
		.owner = "ann@gw",
		.requestor = "bob@gw",
		.session = 4242,
	};
}

static void test_lines(void **state)
{
	static const struct {
		char type;
		const char *line;
	} form[] = {
		{'Q', "11/15/2026 06:42:53;Q;12.server;queue=batch\n"},
		{'S', "11/15/2026 06:42:53;S;12.server;user=ann group=staff jobname=STDIN queue=batch ctime=1794724913 "
		      "qtime=1794724913 etime=1794724913 start=1794724923 owner=ann@gw exec_host=n1/0+n1/1 "
		      "Resource_List.ncpus=2 Resource_List.nodect=1 Resource_List.nodes=1:ppn=2 Resource_List.mem=8gb "
		      "Resource_List.walltime=00:10:00\n"},
		{'E', "11/15/2026 06:42:53;E;12.server;user=ann group=staff jobname=STDIN queue=batch ctime=1794724913 "
		      "qtime=1794724913 etime=1794724913 start=1794724923 owner=ann@gw exec_host=n1/0+n1/1 "
		      "Resource_List.ncpus=2 Resource_List.nodect=1 Resource_List.nodes=1:ppn=2 Resource_List.mem=8gb "
		      "Resource_List.walltime=00:10:00 session=4242 end=1794724973 Exit_status=0 "
		      "resources_used.cput=00:01:15 resources_used.mem=1024kb resources_used.walltime=00:00:50\n"},
		{'D', "11/15/2026 06:42:53;D;12.server;requestor=bob@gw reason=\"out of patience\"\n"},
		{'A', "11/15/2026 06:42:53;A;12.server;reason=\"out of patience\"\n"},
		{'R', "11/15/2026 06:42:53;R;12.server;requestor=bob@gw reason=\"out of patience\"\n"},
		{'C', "11/15/2026 06:42:53;C;12.server;requestor=bob@gw\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		struct strbuf b = {0};
		struct record r = whole(form[i].type);
		record_format(&r, &b);
		assert_string_equal(b.text, form[i].line);
		strbuf_fini(&b);
	}
}

static void test_round_trip(void **state)
{
	static const char *const names[] = {"plain",	 "with blank",
					    "quote\"s",	 "back\\slash",
					    "new\nline", "tab\t",
					    "=;=",	 "11/15/2026 06:42:53;E;13.server;user=root",
					    "\x01\x7f",	 "gr\xc3\xbc\xc3\x9f",
					    "\"",	 "\\"};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct strbuf b = {0};
		struct record r = whole('E');
		struct record_line line;
		struct err err = {.text = ""};
		r.job.name = names[i];
		r.job.exit_status = -2;
		record_format(&r, &b);
		assert_ptr_equal(strchr(b.text, '\n'), b.text + b.n - 1);
		b.text[b.n - 1] = '\0';
		assert_int_equal(record_parse(b.text, arena, &line, &err), 0);
		assert_int_equal(line.time, NOW);
		assert_int_equal(line.type, 'E');
		assert_string_equal(line.id, "12.server");
		assert_string_equal(record_get(&line, "jobname"), names[i]);
		assert_string_equal(record_get(&line, "Exit_status"), "-2");
		assert_string_equal(record_get(&line, "Resource_List.nodes"), "1:ppn=2");
		assert_null(record_get(&line, "nothing"));
		strbuf_fini(&b);
	}
}

/* Lines as other systems write them, and noise. */
static void test_tolerant(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "11/15/2026;E;12",
					  "13/45/2026 06:42:53;E;12;",
					  "11/15/2026 06:42:53;;12;",
					  "11/15/2026 06:42:53;EE;12;"};
	struct record_line r;
	struct err err = {.text = ""};

	(void)state;
	assert_int_equal(
		record_parse("11/15/2026 06:42:53;E;12[3].s;user=ann jobname=my job name queue=batch", arena, &r, &err),
		0);
	assert_string_equal(r.id, "12[3].s");
	assert_string_equal(record_get(&r, "jobname"), "my job name");
	assert_string_equal(record_get(&r, "queue"), "batch");
	assert_int_equal(record_parse("11/15/2026 06:42:53;L;license;floating license hour:3 day:3", arena, &r, &err),
			 0);
	assert_string_equal(record_get(&r, "floating"), "license hour:3 day:3");
	assert_int_equal(record_parse("11/15/2026 06:42:53;A;12.s", arena, &r, &err), 0);
	assert_int_equal(r.nfields, 0);
	assert_int_equal(record_parse("11/15/2026 06:42:53;E;12;jobname=\"not closed", arena, &r, &err), 0);
	assert_string_equal(record_get(&r, "jobname"), "not closed");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(record_parse(bad[i], arena, &r, &err), -EINVAL);
}

/* Returns the lines of the days from..to, each with '|' after it. */
static char *lines_of(int64_t from, int64_t to)
{
	struct accounting_reader *r = accounting_open_days(dir, from, to);
	struct strbuf seen = {0};
	struct err err = {.text = ""};
	char *line;
	int rc;

	while ((rc = accounting_next(r, &line, &err)) == 1)
		if (line)
			strbuf_printf(&seen, "%s|", line);
	assert_int_equal(rc, 0);
	accounting_close_days(r);
	return seen.text;
}

static void append(const char *name, const char *lines)
{
	FILE *f = fopen(in_dir(name), "a");

	assert_non_null(f);
	fputs(lines, f);
	fclose(f);
}

static void test_files(void **state)
{
	char *both, *one;

	(void)state;
	append("20261115", "one\ntwo\nth\nfour\n");
	append("20261117", "later\n");
	both = lines_of(NOW - 3 * 86400, NOW + 5 * 86400);
	assert_string_equal(both, "one|two|th|four|later|");
	one = lines_of(NOW, NOW);
	assert_string_equal(one, "one|two|th|four|");
	free(both);
	free(one);
	assert_int_equal(unlink(in_dir("20261115")), 0);
	assert_int_equal(unlink(in_dir("20261117")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_tolerant),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
