/*
 * test_depend.c - dependencies: texts, and what they say of jobs in every state.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/depend.h"

static void test_texts(void **state)
{
	static const struct {
		const char *text, *canonical;
	} form[] = {
		{"", ""},
		{"afterok:12", "afterok:12"},
		{"afterok:12:13[]:14.server,afterany:15[3].x", "afterok:12:13[]:14,afterany:15[3]"},
		{"after:1,afternotok:2,before:3,beforeok:4,beforenotok:5,beforeany:6",
		 "after:1,afternotok:2,before:3,beforeok:4,beforenotok:5,beforeany:6"},
		{"on:3", "on:3"},
		{"AfterOK:1", "afterok:1"},
		{"afterokarray:12[],afterstartarray:13[]", "afterok:12[],after:13[]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		struct depends d;
		struct strbuf b = {0};
		struct err err = {.text = ""};
		if (depends_parse(form[i].text, &d, &err) != 0)
			fail_msg("%s", err.text);
		depends_format(&d, &b);
		assert_string_equal(strbuf_text(&b), form[i].canonical);
		depends_fini(&d);
		strbuf_fini(&b);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"afterok", "needs a job"},
		{"afterok:", "is not a job id"},
		{"afterok:x", "is not a job id"},
		{"afterok:12,13", "joined by ':'"},
		{"afterok:12,", "no such dependency"},
		{"syncwith:12", "in one job"},
		{"synccount:2", "in one job"},
		{"on", "needs a number"},
		{"on:0", "from 1 to 10000"},
		{"on:10001", "from 1 to 10000"},
		{"on:2:3", "from 1 to 10000"},
		{"afterok:12[1-3]", "12[]"},
		{"sometimes:12", "use after, afterok"},
	};
	struct strbuf many = {0};
	struct depends d = {.n = 77};
	struct err err = {.text = ""};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(depends_parse(bad[i].text, &d, &err), -EINVAL);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
		assert_int_equal(d.n, 77);
	}
	strbuf_puts(&many, "afterok");
	for (int i = 0; i < 10000; i++)
		strbuf_printf(&many, ":%d", i);
	assert_int_equal(depends_parse(many.text, &d, &err), 0);
	depends_fini(&d);
	strbuf_puts(&many, ",afterany:1");
	assert_int_equal(depends_parse(many.text, &d, &err), -EINVAL);
	strbuf_fini(&many);
}

/* Every type against every fate. */
static void test_table(void **state)
{
	enum { S = DEPEND_SATISFIED, W = DEPEND_WAITING, I = DEPEND_IMPOSSIBLE };
	static const struct {
		struct depend_fate fate;
		int after, ok, notok, any;
	} row[] = {
		{{.started = false}, W, W, W, W},
		{{.started = true}, S, W, W, W},
		{{.started = true, .ended = true, .status = 0}, S, S, I, S},
		{{.started = true, .ended = true, .status = 1}, S, I, S, S},
		{{.started = true, .ended = true, .status = 271}, S, I, S, S},
		{{.ended = true, .status = -3}, I, I, S, S}, /* deleted before it ran */
		{{.gone = true}, S, I, I, S},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		assert_int_equal(depend_judge(DEPEND_AFTER, &row[i].fate), row[i].after);
		assert_int_equal(depend_judge(DEPEND_AFTEROK, &row[i].fate), row[i].ok);
		assert_int_equal(depend_judge(DEPEND_AFTERNOTOK, &row[i].fate), row[i].notok);
		assert_int_equal(depend_judge(DEPEND_AFTERANY, &row[i].fate), row[i].any);
	}
	assert_int_equal(depend_mirror(DEPEND_BEFORE), DEPEND_AFTER);
	assert_int_equal(depend_mirror(DEPEND_BEFORENOTOK), DEPEND_AFTERNOTOK);
	assert_true(depend_is_before(DEPEND_BEFOREANY));
	assert_false(depend_is_before(DEPEND_ON));
}

/* Jobs below 100 wait, below 200 run, below 300 ended well, below 400 failed, others are gone. */
static struct depend_fate fate_of(void *context, const struct jobid *id)
{
	++*(int *)context;
	return (struct depend_fate){.started = id->number >= 100,
				    .ended = id->number >= 200,
				    .status = id->number >= 300 ? 1 : 0,
				    .gone = id->number >= 400};
}

static void test_judging(void **state)
{
	static const struct {
		const char *text;
		enum depend_state state;
		const char *why;
	} row[] = {
		{"", DEPEND_SATISFIED, ""},
		{"afterok:200:201,after:100", DEPEND_SATISFIED, ""},
		{"afterok:200:100", DEPEND_WAITING, "afterok:100: waits for job 100 to end with exit status 0"},
		{"after:1,afterok:300", DEPEND_IMPOSSIBLE, "afterok:300: job 300 ended with exit status 1"},
		{"afternotok:400", DEPEND_IMPOSSIBLE,
		 "afternotok:400: job 400 is no longer known, and so is its exit status"},
		{"afterany:1[]", DEPEND_WAITING, "afterany:1[]: waits for job 1[] to end"},
		{"before:1,beforeok:300", DEPEND_SATISFIED, ""},
		{"on:2", DEPEND_SATISFIED, ""},
		{"on:3", DEPEND_WAITING, "on:3: waits for 1 more of other jobs' before dependencies"},
		{"on:3,afterok:300", DEPEND_IMPOSSIBLE, "afterok:300: job 300 ended with exit status 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct depends d;
		struct strbuf why = {0};
		struct err err = {.text = ""};
		int asked = 0;
		assert_int_equal(depends_parse(row[i].text, &d, &err), 0);
		assert_int_equal(depends_judge(&d, fate_of, &asked, 2, &why), row[i].state);
		assert_string_equal(strbuf_text(&why), row[i].why);
		assert_int_equal(depends_judge(&d, fate_of, &asked, 2, NULL), row[i].state);
		depends_fini(&d);
		strbuf_fini(&why);
	}
}

static void test_arrays(void **state)
{
	struct depend_fate well = {.started = true, .ended = true}, bad = {.started = true, .ended = true, .status = 2},
			   runs = {.started = true}, waits = {0};
	struct depend_fate sum = DEPEND_FATE_NONE;

	(void)state;
	depend_fate_add(&sum, &well);
	depend_fate_add(&sum, &well);
	assert_int_equal(depend_judge(DEPEND_AFTEROK, &sum), DEPEND_SATISFIED);
	depend_fate_add(&sum, &runs);
	assert_int_equal(depend_judge(DEPEND_AFTER, &sum), DEPEND_SATISFIED);
	assert_int_equal(depend_judge(DEPEND_AFTEROK, &sum), DEPEND_WAITING);
	depend_fate_add(&sum, &waits);
	assert_int_equal(depend_judge(DEPEND_AFTER, &sum), DEPEND_WAITING);
	sum = DEPEND_FATE_NONE;
	depend_fate_add(&sum, &well);
	depend_fate_add(&sum, &bad);
	depend_fate_add(&sum, &well);
	assert_int_equal(depend_judge(DEPEND_AFTEROK, &sum), DEPEND_IMPOSSIBLE);
	assert_int_equal(depend_judge(DEPEND_AFTERNOTOK, &sum), DEPEND_SATISFIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),	cmocka_unit_test(test_refused), cmocka_unit_test(test_table),
		cmocka_unit_test(test_judging), cmocka_unit_test(test_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
