/*
 * test_script.c - directives of scripts, and words as a shell splits them.
 */
#include "client/script.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

/* All words of all directives, joined: "3: -N|x; 5: -l|y". */
static const char *join(const struct directives *d, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < d->list.n; i++) {
		n += (size_t)snprintf(buf + n, size - n, "%s%d:", i ? "; " : "", d->list.v[i].line);
		for (int k = 0; k < d->list.v[i].words.n; k++)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", k ? "|" : " ", d->list.v[i].words.v[k]);
	}
	return buf;
}

static void expect(const char *text, const char *prefix, const char *wanted)
{
	struct arena *arena = arena_create();
	struct directives d;
	struct err err = {.text = ""};
	char buf[1000];
	int rc = directives_read(text, strlen(text), prefix, arena, &d, &err);

	if (rc == 0)
		assert_string_equal(join(&d, buf, sizeof buf), wanted);
	else
		assert_string_equal(err.text, wanted);
	directives_fini(&d);
	arena_destroy(arena);
}

static void test_directives(void **state)
{
	expect("#!/bin/sh\n#PBS -N x -l nodes=2\n\n# c\n#PBS -m e\nmake\n#PBS -q late\n", "#PBS",
	       "2: -N|x|-l|nodes=2; 5: -m|e");
	expect("", "#PBS", "");
	expect("#PBS", "#PBS", "");
	expect("#PBS -N x", "#PBS", "1: -N|x");
	expect("  #PBS -N x", "#PBS", "1: -N|x");
	expect("#PBS-N x\n#PBSX -N y\n##PBS -N z\n", "#PBS", "1: -N|x");
	expect("echo\n#PBS -N x\n", "#PBS", "");
	expect(":\n#PBS -N x\n:\n#PBS -N y\n", "#PBS", "2: -N|x");
	expect("#!/bin/sh\r\n#PBS -N x\r\n\r\n#PBS -m e\r\n", "#PBS", "2: -N|x; 4: -m|e");
	expect("#PBS -N x\n#$ -N y\n", "#$", "2: -N|y");
	expect("#PBS -N x\n", "", "");
}

static void test_continued(void **state)
{
	expect("#PBS -N x \\\n#PBS -m e\n#PBS -q a\n", "#PBS", "1: -N|x|-m|e; 3: -q|a");
	expect("#PBS -N x \\\n -m e\necho\n", "#PBS", "1: -N|x|-m|e");
	expect("#PBS -l nodes=\\\n2\n", "#PBS", "1: -l|nodes=2");
	expect("#PBS -N x \\\r\n#PBS -m e\r\n", "#PBS", "1: -N|x|-m|e");
	expect("#PBS -N x\\", "#PBS", "1: -N|x");
	expect("#PBS -N x\\\\\necho\n", "#PBS", "1: -N|x\\");
}

static void test_words(void **state)
{
	expect("#PBS -N \"a b\" -v 'A=\"1\"'\n", "#PBS", "1: -N|a b|-v|A=\"1\"");
	expect("#PBS -v A=\"x y\"'z w' \\# '' # rest\n", "#PBS", "1: -v|A=x yz w|#|");
	expect("#PBS -N a\\ b \"c\\\"d\\n\"\n", "#PBS", "1: -N|a b|c\"d\\n");
	expect("#PBS -N a#b\n", "#PBS", "1: -N|a#b");
	expect("#!/bin/sh\n#PBS -N \"a\n", "#PBS", "line 2: a quote (\") is not closed");
	expect("#PBS -N 'a\n", "#PBS", "line 1: a quote (') is not closed");
}

static void test_nul(void **state)
{
	static const char text[] = "#PBS -N a\0b\n";
	struct arena *arena = arena_create();
	struct directives d;
	struct err err;

	assert_int_equal(directives_read(text, sizeof text - 1, "#PBS", arena, &d, &err), -EINVAL);
	assert_string_equal(err.text, "line 1: there is a NUL byte in it");
	directives_fini(&d);
	arena_destroy(arena);
}

static void test_remarks(void **state)
{
	static const char text[] = "#!/bin/sh\n#SBATCH --time=1\n# PBS -l x=1\nmake\n#SBATCH x\n#PBS -N x\n#PBS -N y\n";
	struct arena *arena = arena_create();
	struct directives d;
	struct err err;

	assert_int_equal(directives_read(text, strlen(text), "#PBS", arena, &d, &err), 0);
	assert_int_equal(d.list.n, 0);
	assert_int_equal(d.foreign, 2);
	assert_int_equal(d.spaced, 3);
	assert_int_equal(d.late, 6);
	directives_fini(&d);
	arena_destroy(arena);
}

static void test_many(void **state)
{
	struct arena *arena = arena_create();
	struct strbuf text = {0};
	struct directives d;
	struct err err;

	for (int i = 0; i < SCRIPT_DIRECTIVES_MAX; i++)
		strbuf_puts(&text, "#PBS -z\n");
	assert_int_equal(directives_read(text.text, text.n, "#PBS", arena, &d, &err), 0);
	assert_int_equal(d.list.n, SCRIPT_DIRECTIVES_MAX);
	directives_fini(&d);
	strbuf_puts(&text, "#PBS -z\n");
	assert_int_equal(directives_read(text.text, text.n, "#PBS", arena, &d, &err), -EINVAL);
	directives_fini(&d);
	strbuf_fini(&text);
	arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directives), cmocka_unit_test(test_continued), cmocka_unit_test(test_words),
		cmocka_unit_test(test_nul),	   cmocka_unit_test(test_remarks),   cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
