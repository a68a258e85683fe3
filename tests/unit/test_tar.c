/*
 * test_tar.c - archives that may be unpacked, and those that may not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/tar.h"

static const struct tar_limits limits = {.bytes = 1 << 20, .members = 10};

/* Adds a header whose size is these 12 bytes, if not NULL. */
static void header_sized(struct strbuf *out, const char *name, char type, const char *link, long long size,
			 const char bytes[12])
{
	char block[512] = "";
	unsigned sum = 8 * ' ';

	snprintf(block, 101, "%s", name);
	snprintf(block + 124, 13, "%011llo", size & 077777777777);
	if (bytes)
		memcpy(block + 124, bytes, 12);
	block[156] = type;
	snprintf(block + 157, 101, "%s", link);
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	for (int i = 0; i < 512; i++)
		sum += i < 148 || i >= 156 ? (unsigned char)block[i] : 0;
	snprintf(block + 148, 8, "%06o", sum);
	strbuf_add(out, block, sizeof block);
}

static void header_add(struct strbuf *out, const char *name, char type, const char *link, long long size)
{
	header_sized(out, name, type, link, size, NULL);
}

static void body_add(struct strbuf *out, const char *text, size_t n)
{
	static const char zero[512];

	strbuf_add(out, text, n);
	strbuf_add(out, zero, (512 - n % 512) % 512);
}

static void file_add(struct strbuf *out, const char *name, const char *text)
{
	header_add(out, name, '0', "", (long long)strlen(text));
	body_add(out, text, strlen(text));
}

static int verdict(struct strbuf *tar, struct tar_facts *ret, struct err *err)
{
	static const char zero[1024];

	strbuf_add(tar, zero, sizeof zero);
	int rc = tar_check(tar->text, tar->n, &limits, ret, err);
	strbuf_fini(tar);
	return rc;
}

static void test_good(void **state)
{
	struct strbuf tar = {0};
	struct tar_facts facts;
	struct err err;

	header_add(&tar, "mesh/", '5', "", 0);
	file_add(&tar, "mesh/Makefile", "all:\n\ttrue\n");
	file_add(&tar, "mesh/..hidden", "x");
	header_add(&tar, "mesh/latest", '2', "data/1", 0);
	assert_int_equal(verdict(&tar, &facts, &err), 0);
	assert_int_equal(facts.members, 4);
	assert_int_equal(facts.bytes, 12);
	assert_false(facts.gzip);
}

static void test_leads_out(void **state)
{
	static const char *const names[] = {"/etc/passwd", "../x", "a/../../x", "a/..", "..", "a\nb", ""};
	static const char *const targets[] = {"/etc", "../..", "a/../../b", ""};
	struct tar_facts facts;
	struct err err;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct strbuf tar = {0};
		file_add(&tar, names[i], "x");
		assert_int_equal(verdict(&tar, &facts, &err), -EPERM);
	}
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
		for (char type = '1'; type <= '2'; type++) {
			struct strbuf tar = {0};
			header_add(&tar, "link", type, targets[i], 0);
			assert_int_equal(verdict(&tar, &facts, &err), -EPERM);
		}
	for (const char *type = "346SDVM"; *type; type++) {
		struct strbuf tar = {0};
		header_add(&tar, "odd", *type, "", 0);
		assert_int_equal(verdict(&tar, &facts, &err), -EPERM);
	}
}

/* The names that come before a member count for it, whatever its own header says. */
static void test_long_names(void **state)
{
	static const char pax[] = "19 path=../../evil\n", sparse[] = "24 GNU.sparse.major=1\n\n\n",
			  broken[] = "99 path=x\n";
	struct tar_facts facts;
	struct err err;
	struct strbuf tar = {0};

	header_add(&tar, "././@LongLink", 'L', "", 8);
	body_add(&tar, "../evil", 8);
	file_add(&tar, "good", "x");
	assert_int_equal(verdict(&tar, &facts, &err), -EPERM);

	header_add(&tar, "PaxHeaders/x", 'x', "", sizeof pax - 1);
	body_add(&tar, pax, sizeof pax - 1);
	file_add(&tar, "good", "x");
	assert_int_equal(verdict(&tar, &facts, &err), -EPERM);
	assert_non_null(strstr(err.text, "../../evil"));

	header_add(&tar, "PaxHeaders/x", 'x', "", sizeof sparse - 1);
	body_add(&tar, sparse, sizeof sparse - 1);
	assert_true(verdict(&tar, &facts, &err) < 0);

	header_add(&tar, "PaxHeaders/x", 'x', "", sizeof broken - 1);
	body_add(&tar, broken, sizeof broken - 1);
	assert_int_equal(verdict(&tar, &facts, &err), -EINVAL);
}

static void test_too_large(void **state)
{
	struct tar_facts facts;
	struct err err;
	struct strbuf tar = {0};
	char name[16];

	header_add(&tar, "huge", '0', "", 1 << 21);
	assert_int_equal(verdict(&tar, &facts, &err), -E2BIG);
	header_add(&tar, "huge", '0', "", 077777777777);
	assert_int_equal(verdict(&tar, &facts, &err), -E2BIG);
	for (int i = 0; i < 11; i++) {
		snprintf(name, sizeof name, "f%d", i);
		file_add(&tar, name, "x");
	}
	assert_int_equal(verdict(&tar, &facts, &err), -E2BIG);
	header_add(&tar, "cut", '0', "", 5000);
	assert_int_equal(verdict(&tar, &facts, &err), -EINVAL);
}

/* GNU's binary sizes: a right one, and those of which 64 bits have only the end. */
static void test_binary_sizes(void **state)
{
	static const char right[12] = "\x80\0\0\0\0\0\0\0\0\0\0\x01", wide[12] = "\x80\0\x01\0\0\0\0\0\0\0\0\x01",
			  wider[12] = "\x80\0\0\x80\0\0\0\0\0\0\0\x01";
	struct tar_facts facts;
	struct err err;
	struct strbuf tar = {0};

	header_sized(&tar, "f", '0', "", 0, right);
	body_add(&tar, "x", 1);
	assert_int_equal(verdict(&tar, &facts, &err), 0);
	assert_int_equal(facts.bytes, 1);
	header_sized(&tar, "f", '0', "", 0, wide);
	body_add(&tar, "x", 1);
	assert_int_equal(verdict(&tar, &facts, &err), -EINVAL);
	header_sized(&tar, "f", '0', "", 0, wider);
	body_add(&tar, "x", 1);
	assert_int_equal(verdict(&tar, &facts, &err), -EINVAL);
}

static int compressed(const void *data, size_t n, struct tar_facts *ret, struct err *err)
{
	size_t size = compressBound((uLong)n) + 64;
	unsigned char *packed = malloc(size);
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)data;
	z.avail_in = (uInt)n;
	z.next_out = packed;
	z.avail_out = (uInt)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	int rc = tar_check(packed, z.total_out, &limits, ret, err);
	deflateEnd(&z);
	free(packed);
	return rc;
}

/* A bomb: kilobytes that say they are, and are, megabytes. */
static void test_gzip(void **state)
{
	struct tar_facts facts;
	struct err err;
	struct strbuf tar = {0};
	char *zeros = calloc(1, 4 << 20);

	file_add(&tar, "a", "text");
	strbuf_add(&tar, zeros, 1024);
	assert_int_equal(compressed(tar.text, tar.n, &facts, &err), 0);
	assert_true(facts.gzip);
	assert_int_equal(compressed(tar.text, tar.n - 1024, &facts, &err), -EINVAL);
	strbuf_clear(&tar);
	header_add(&tar, "bomb", '0', "", 4 << 20);
	strbuf_add(&tar, zeros, 4 << 20);
	assert_int_equal(compressed(tar.text, tar.n, &facts, &err), -E2BIG);
	assert_int_equal(tar_check("\x1f\x8bgarbage", 9, &limits, &facts, &err), -EINVAL);
	assert_int_equal(tar_check("", 0, &limits, &facts, &err), -EINVAL);
	assert_int_equal(tar_check(zeros, 1024, &limits, &facts, &err), -EINVAL);
	strbuf_fini(&tar);
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	     cmocka_unit_test(test_leads_out),
		cmocka_unit_test(test_long_names),   cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_binary_sizes), cmocka_unit_test(test_gzip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
