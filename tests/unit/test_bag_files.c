/*
 * test_bag_files.c - files that go with tasks: which are found and sent, and what is taken from
 * others.
 */
#include <errno.h>
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

#include "bag/files.h"
#include "support/closed.h"

static void matched(void **state)
{
	struct strbuf out = {0};

	(void)state;
	files_patterns("a{#}.csv,b{#}{#}", 12, &out);
	assert_string_equal(out.text, "a12.csv,b1212");
	strbuf_fini(&out);
	assert_true(files_match("x,out.*", "out.1"));
	assert_true(files_match("d/*", "d/a"));
	assert_false(files_match("d/*", "d/a/b"));
	assert_false(files_match("*", "../a"));
	assert_false(files_match("*/*", "../a"));
	assert_false(files_match("../*", "../a"));
	assert_false(files_match("/tmp/*", "/tmp/a"));
	assert_false(files_match("", "a"));
	assert_true(files_match(",,x,,a", "x"));
	assert_true(files_match("*", "..a"));
	assert_false(files_match("*/*", "a/.."));
}

static void keep(void *arg, const struct wire *m)
{
	wire_add(arg, m);
}

/* From one directory to another, with its mode and all of its pieces. */
static void there_and_back(void **state)
{
	char from[] = "/tmp/shunt-te[s]t-XXXXXX", to[] = "/tmp/shunt-test-XXXXXX", path[64];
	struct stat st;
	size_t size = 3 * WIRE_OUTPUT + 5, at = 0;
	char *bytes = calloc(1, size);
	struct strbuf out = {0};
	name_list list = {0};
	int64_t left = FILES_BYTES;
	struct err err;
	struct wire m;
	ssize_t step;

	(void)state;
	assert_true(mkdtemp(from) && mkdtemp(to));
	assert_int_equal(
		files_write(from, &(struct wire){.text = "d/a b", .ntext = 5, .attempt = 0750, .err = "x", .nerr = 1}),
		0);
	assert_int_equal(
		files_write(from,
			    &(struct wire){.text = "d/a b", .ntext = 5, .to_err = true, .err = bytes, .nerr = size}),
		0);
	assert_int_equal(files_find(from, "d/a*", &list, &err), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0], "d/a b");
	assert_int_equal(files_send(from, list.v[0], 7, &left, keep, &out, &err), 0);
	assert_int_equal(FILES_BYTES - left, size + 1);
	for (; (step = wire_next(out.text + at, out.n - at, &m)) > 0; at += (size_t)step)
		assert_int_equal(files_write(to, &m), 0);
	snprintf(path, sizeof path, "%s/d/a b", to);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	FILE *f = fopen(path, "r");
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	assert_int_equal(ftell(f), size + 1);
	fclose(f);
	left = (int64_t)size + 1; /* just enough */
	strbuf_clear(&out);
	assert_int_equal(files_send(from, list.v[0], 7, &left, keep, &out, &err), 0);
	assert_true(wire_next(out.text, out.n, &m) > 0 && !m.to_err && m.task == 7);
	left = (int64_t)size;
	assert_int_equal(files_send(from, list.v[0], 7, &left, keep, &out, &err), -EFBIG);
	assert_string_equal(err.text, "d/a b: the files of a task have more than 256 MB");
	left = 10;
	assert_int_equal(files_send(from, list.v[0], 7, &left, keep, &out, &err), -EFBIG);
	name_list_free(&list);
	assert_int_equal(files_write(from, &(struct wire){.text = "d/none", .ntext = 6, .attempt = 0644}), 0);
	left = 0; /* an empty file goes as well */
	strbuf_clear(&out);
	assert_int_equal(files_send(from, "d/none", 7, &left, keep, &out, &err), 0);
	assert_true(wire_next(out.text, out.n, &m) > 0);
	assert_int_equal(m.nerr, 0);
	assert_int_equal(files_move(from, to, "d/none", &err), 0);
	assert_int_equal(files_find(to, "d/a b,d/n*", &list, &err), 0);
	assert_int_equal(list.n, 2);
	name_list_free(&list);
	assert_int_equal(files_move(from, to, "d/none", &err), -ENOENT);
	assert_string_equal(err.text, "d/none: No such file or directory");
	assert_int_equal(files_send(from, "d/none", 7, &left, keep, &out, &err), -ENOENT);
	assert_int_equal(files_find(from, "../x", &list, &err), -EINVAL);
	assert_string_equal(err.text, "../x: must be a path below the current directory");
	assert_int_equal(files_find(from, "none", &list, &err), -ENOENT);
	assert_int_equal(files_find(from, "d", &list, &err), -EINVAL);
	assert_string_equal(err.text, "d: not a file");
	strbuf_fini(&out);
	free(bytes);
	files_remove(from);
	files_remove(to);
	assert_int_equal(access(from, F_OK), -1);
}

static void refused(void **state)
{
	static const char *const bad[] = {"../x", "/x", "a/../../x", "", "..", "a/.."};
	char dir[] = "/tmp/shunt-test-XXXXXX", other[] = "/tmp/shunt-test-XXXXXX", path[64], kept[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(files_write(dir, &(struct wire){.text = bad[i], .ntext = strlen(bad[i])}), -EPROTO);
	assert_int_equal(files_write(dir, &(struct wire){.text = "a\0b", .ntext = 3}), -EPROTO);
	snprintf(path, sizeof path, "%s/link", dir);
	assert_int_equal(symlink("/tmp/elsewhere", path), 0);
	assert_int_equal(files_write(dir, &(struct wire){.text = "link", .ntext = 4}), -ELOOP);
	/* what a link leads to is not removed */
	assert_non_null(mkdtemp(other));
	assert_int_equal(files_write(other, &(struct wire){.text = "kept", .ntext = 4, .attempt = 0600}), 0);
	snprintf(path, sizeof path, "%s/other", dir);
	snprintf(kept, sizeof kept, "%s/kept", other);
	assert_int_equal(symlink(other, path), 0);
	files_remove(dir);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(access(kept, F_OK), 0);
	files_remove(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(matched), cmocka_unit_test(there_and_back),
					   cmocka_unit_test(refused), CLOSED_TEST};

	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
