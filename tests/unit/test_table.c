/*
 * test_table.c - tables as text (src/base/table.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/table.h"

static void expect_table(const struct table *t, int width, const char *want)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	table_print(t, f, width);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

/* A column marked '!' is cut last. */
static void test_table_ranks(void **state)
{
	static const char *const columns[] = {"id", "~name", "state", ">n", "!why"};
	struct table *t = table_create(columns, 5);

	(void)state;
	table_cell(t, "1");
	table_cell(t, "abcdefghijklmnopqrst");
	table_cell(t, "running, 10 of 20");
	table_cell(t, "1000");
	table_cell(t, "needs 8 CPUs, 2 are free");
	expect_table(t, 66,
		     "id  name         state                 n  why\n"
		     "1   abcdefghij…  running, 10 of 20  1000  needs 8 CPUs, 2 are free\n");
	expect_table(t, 54,
		     "id  name      state        n  why\n"
		     "1   abcdefg…  running…  1000  needs 8 CPUs, 2 are free\n");
	expect_table(t, 40,
		     "id  name     state       n  why\n"
		     "1   abcdef…  runnin…  1000  needs 8 CPU…\n");
	table_destroy(t);
}

/* More than is written at once; blanks at the end of a line are left out, also where the next
 * line follows at once. */
static void test_table_long(void **state)
{
	static const char *const columns[] = {">n", "name", "empty"};
	struct table *t = table_create(columns, 3);
	struct strbuf want = {0};

	(void)state;
	strbuf_puts(&want, "   n  name    empty\n");
	for (int i = 0; i < 9000; i++) {
		table_cell(t, "%d", i);
		table_cell(t, "%s", i % 3 ? "abcdef" : i % 2 ? "" : "ä  ");
		table_cell(t, "%s", "");
		strbuf_printf(&want, "%4d%s\n", i, i % 3 ? "  abcdef" : i % 2 ? "" : "  ä");
	}
	expect_table(t, 0, want.text);
	strbuf_fini(&want);
	table_destroy(t);
}

static void test_table(void **state)
{
	static const char *const columns[] = {"id", "~name", ">cpus"};
	struct table *t = table_create(columns, 3);

	(void)state;
	expect_table(t, 0, "id  name  cpus\n");
	table_rule(t);
	table_cell(t, "%d", 1);
	table_cell(t, "héllo wörld 日本");
	table_cell(t, "%d", 12345);
	table_cell(t, "22");
	table_cell(t, "a\033\xff");
	table_cell(t, "7");
	table_rule(t);
	table_cell(t, "sum");
	expect_table(t, 200,
		     "id   name               cpus\n"
		     "---  ----------------  -----\n"
		     "1    héllo wörld 日本  12345\n"
		     "22   a\\u001b\\xff           7\n"
		     "---  ----------------  -----\n"
		     "sum\n");
	expect_table(t, 22,
		     "id   name         cpus\n"
		     "---  ----------  -----\n"
		     "1    héllo wör…  12345\n"
		     "22   a\\u001b\\x…      7\n"
		     "---  ----------  -----\n"
		     "sum\n");
	/* A wide character that would be cut in half gives way whole. */
	expect_table(t, 26,
		     "id   name             cpus\n"
		     "---  --------------  -----\n"
		     "1    héllo wörld …   12345\n"
		     "22   a\\u001b\\xff         7\n"
		     "---  --------------  -----\n"
		     "sum\n");
	expect_table(t, 1,
		     "id   na…  cp…\n"
		     "---  ---  ---\n"
		     "1    hé…  12…\n"
		     "22   a\\…    7\n"
		     "---  ---  ---\n"
		     "sum\n");
	table_destroy(t);
	table_destroy(NULL);
}

static bool mark(FILE *out, const char *text)
{
	fputs(!text ? ">" : *text == 'f' ? "<" : "", out);
	return text && *text == 'f';
}

/* Marks surround the texts that were chosen, and count for no width. */
static void test_table_style(void **state)
{
	static const char *const columns[] = {"id", "state", "n"};
	struct table *t = table_create(columns, 3);

	(void)state;
	table_style(t, "state", mark);
	for (int i = 1; i <= 3; i++) {
		table_cell(t, "%d", i);
		table_cell(t, "%s", i == 2 ? "failed" : "runs");
		table_cell(t, "%s", i == 3 ? "" : "x");
	}
	expect_table(t, 0,
		     "id  state   n\n"
		     "1   runs    x\n"
		     "2   <failed>  x\n"
		     "3   runs\n");
	expect_table(t, 11,
		     "id  sta…  n\n"
		     "1   runs  x\n"
		     "2   <fai…>  x\n"
		     "3   runs\n");
	table_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_long),
		cmocka_unit_test(test_table_ranks),
		cmocka_unit_test(test_table_style),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
