/*
 * test_jobfile.c - job descriptions: what is taken, and what is said of the rest.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "client/jobfile.h"

static void keys_and_values(void **state)
{
	static const char text[] =
		"# a job\n\n  Program = ./dynamol -n 12 --eq=1  \r\nMAXIMUM RUN_TIME=2:30\nProgram class =script\n"
		"type= priority\nprocessors = 8\nDead line = +5h\ncheckpoint-interval = 0:45\n"
		"Checkpoint duration = 90s\npartition = A";
	static const char *const want[JOB_ITEMS] = {
		"./dynamol -n 12 --eq=1", "script", "priority", "A", "8", "2:30", "+5h", "0:45", "90s"};
	struct jobfile f;
	struct err err;

	assert_int_equal(jobfile_parse(text, strlen(text), &f, &err), 0);
	for (int i = 0; i < JOB_ITEMS; i++)
		assert_string_equal(f.value[i], want[i]);
	assert_int_equal(f.line[ITEM_PROGRAM], 3);
	jobfile_fini(&f);
	assert_int_equal(jobfile_parse("", 0, &f, &err), 0);
	for (int i = 0; i < JOB_ITEMS; i++)
		assert_null(f.value[i]);
}

static void mistakes(void **state)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"Program ./a\n", "line 1: write Key = value"},
		{"\nProgramm = a\n", "line 2: unknown item \"Programm\" (items: Program, Program class, Type, "},
		{"Program =\n", "line 1: Program has no value"},
		{"= a\n", "line 1: unknown item \"\""},
		{"Type = normal\nJob type = nice\n", "line 2: Type is in line 1 already"},
	};
	struct jobfile f;
	struct err err;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(jobfile_parse(rows[i].text, strlen(rows[i].text), &f, &err) < 0);
		assert_memory_equal(err.text, rows[i].said, strlen(rows[i].said));
		jobfile_fini(&f);
	}
	assert_true(jobfile_parse("a\0b", 3, &f, &err) < 0);
	assert_string_equal(err.text, "line 1: there is a NUL byte");
	jobfile_fini(&f);
}

/* Every name of every item, written in other ways; the longest description; files. */
static void names(void **state)
{
	static const struct {
		const char *key;
		enum job_item item;
	} all[] = {{"PROGRAM", ITEM_PROGRAM},
		   {"program-class", ITEM_CLASS},
		   {"class", ITEM_CLASS},
		   {"Type", ITEM_TYPE},
		   {"job_type", ITEM_TYPE},
		   {"partition", ITEM_PARTITION},
		   {"processors", ITEM_PROCESSORS},
		   {"number of processors", ITEM_PROCESSORS},
		   {"maximum runtime", ITEM_RUNTIME},
		   {"run time", ITEM_RUNTIME},
		   {"wall-time", ITEM_RUNTIME},
		   {"deadline", ITEM_DEADLINE},
		   {"niceuntil", ITEM_DEADLINE},
		   {"checkpoint interval", ITEM_INTERVAL},
		   {"CheckpointDuration", ITEM_DURATION}};
	static const char *const other[] = {"Programs", "Progra", "Program x", "Number", "Nice", "Checkpoint", ""};
	char *text = mem_zalloc(JOBFILE_MOST + 2), line[80];
	struct jobfile f;
	struct err err;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(line, sizeof line, "%s=x", all[i].key);
		assert_int_equal(jobfile_parse(line, strlen(line), &f, &err), 0);
		for (int k = 0; k < JOB_ITEMS; k++)
			assert_int_equal(f.value[k] != NULL, k == (int)all[i].item);
		jobfile_fini(&f);
	}
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		snprintf(line, sizeof line, "%s=x", other[i]);
		assert_int_equal(jobfile_parse(line, strlen(line), &f, &err), -EINVAL);
		jobfile_fini(&f);
	}
	memset(text, '#', JOBFILE_MOST + 1);
	assert_int_equal(jobfile_parse(text, JOBFILE_MOST, &f, &err), 0);
	assert_int_equal(jobfile_parse(text, JOBFILE_MOST + 1, &f, &err), -EFBIG);
	free(text);
	assert_int_equal(jobfile_read("/no/such/file", &f, &err), -ENOENT);
	assert_string_equal(err.text, "job description /no/such/file: No such file or directory");
	assert_true(jobfile_read("/etc/passwd", &f, &err) < 0);
	assert_memory_equal(err.text, "/etc/passwd: line 1: ", 21);
	jobfile_fini(&f);
	assert_int_equal(jobfile_read("/dev/zero", &f, &err), -EFBIG);
}

static void hours(void **state)
{
	struct err err;
	int64_t t;

	assert_int_equal(hours_parse("0:45", &t, &err), 0);
	assert_int_equal(t, 45 * 60);
	assert_int_equal(hours_parse("200:00", &t, &err), 0);
	assert_int_equal(t, 200 * 3600);
	assert_int_equal(hours_parse("1:02:03", &t, &err), 0);
	assert_int_equal(t, 3723);
	assert_int_equal(hours_parse("90s", &t, &err), 0);
	assert_int_equal(t, 90);
	assert_true(hours_parse("1:75", &t, &err) < 0);
	assert_true(hours_parse("soon", &t, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_values),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(names),
		cmocka_unit_test(hours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
