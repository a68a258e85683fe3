/*
 * test_base.c - errors, strings, lines, JSON and lists of hosts of src/base.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/file.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/phrase.h"
#include "base/program.h"
#include "base/sha256.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"

static void test_err(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_set(&err, -EINVAL, "%s must be %d", "ppn", 1), -EINVAL);
	assert_string_equal(err.text, "ppn must be 1");
	assert_int_equal(err_prefix(&err, -EIO, "nodes=%d", 2), -EIO);
	assert_string_equal(err.text, "nodes=2: ppn must be 1");
	err_set(&err, -1, "[%s]", err.text);
	assert_string_equal(err.text, "[nodes=2: ppn must be 1]");
	assert_int_equal(err_set(NULL, -EINVAL, "nobody listens"), -EINVAL);
	assert_int_equal(err_prefix(NULL, -EINVAL, "nobody listens"), -EINVAL);

	char longer[2000];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	err_set(&err, -1, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof err.text - 1);
	err_prefix(&err, -1, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void assert_phrase(const char *form, const char *text, const char *expected)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	phrase_json(&j, form, text);
	json_close_object(&j);
	assert_string_equal(out.text, expected);
	strbuf_fini(&out);
}

static void test_phrase(void **state)
{
	struct strbuf out = {0};
	struct err err;
	struct json j;

	(void)state;
	assert_phrase("There is no queue %.64s.", "There is no queue a.b.",
		      "{\"template\":\"There is no queue {1}.\",\"values\":[\"a.b\"]}");
	assert_phrase("%s=%lld is %zu%% of it", "x=1 is 50% of it",
		      "{\"template\":\"{1}={2} is {3}% of it\",\"values\":[\"x\",\"1\",\"50\"]}");
	assert_phrase("the node is up", "the node is up", "{\"template\":\"the node is up\",\"values\":[]}");
	assert_phrase("%s is empty", "", "{}");
	assert_phrase("%s%s is empty", "ab is empty", "{}"); /* which is which? */
	assert_phrase("%s: %s", "a: b", "{}");		     /* no words of its own */
	assert_phrase("it is cut %s short", "it is cut at 500 by", "{}");
	assert_phrase("100%", "100%", "{}");
	assert_phrase(NULL, "x", "{}");

	err_code(&err, CODE_UNKNOWN_QUEUE, "unknown queue %s", "x: y");
	err_prefix(&err, -EINVAL, "job %d", 2);
	err_prefix(&err, -EINVAL, "line 7");
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	err_json(&j, &err);
	json_close_object(&j);
	assert_string_equal(out.text,
			    "{\"code\":\"unknown_queue\",\"message\":\"line 7: job 2: unknown queue x: y\","
			    "\"where\":\"line 7: job 2\",\"template\":\"unknown queue {1}\",\"values\":[\"x: y\"]}");
	strbuf_fini(&out);
}

/* A code stays with its sentence until another sentence is set, and every code is a word that
 * only it has. */
static void test_code(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_code(&err, CODE_REFUSED, "no room for %d", 7), -EDQUOT);
	assert_string_equal(err.text, "no room for 7");
	err_prefix(&err, -EDQUOT, "jobs[2]");
	assert_int_equal(err.code, CODE_REFUSED);
	err_set(&err, -EINVAL, "something else");
	assert_int_equal(err.code, CODE_NONE);
	assert_int_equal(err_code(NULL, CODE_FINISHED, "nobody listens"), -EALREADY);
	for (enum code i = CODE_BAD_REQUEST; i < CODES; i++) {
		assert_int_equal(code_find(code_row(i)->word), i);
		assert_in_range(code_row(i)->status, 400, 599);
		/* /openapi.json writes each status once, when it changes */
		assert_true(code_row(i)->status >= code_row(i - 1)->status);
		assert_true(code_row(i)->error > 0 && *code_row(i)->about);
	}
	assert_ptr_equal(code_row(CODE_NONE), code_row(CODE_BAD_REQUEST));
	assert_int_equal(code_find("no_such_word"), CODE_NONE);
}

static void test_strbuf_int(void **state)
{
	static const int64_t numbers[] = {0, 9, 10, -1, -10, 1234567890123, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct strbuf b = {0};
		char expected[32];
		snprintf(expected, sizeof expected, "%lld", (long long)numbers[i]);
		strbuf_int(&b, numbers[i]);
		assert_string_equal(strbuf_text(&b), expected);
		strbuf_fini(&b);
	}
}

static void test_strbuf(void **state)
{
	struct strbuf b = {0};
	struct strbuf model = {0};

	(void)state;
	assert_string_equal(strbuf_text(&b), "");
	strbuf_add(&b, NULL, 0);
	assert_string_equal(strbuf_text(&b), "");
	for (int i = 0; i < 500; i++) {
		char word[16];
		int n = snprintf(word, sizeof word, "%d,", i);
		strbuf_printf(&b, "%d,", i);
		strbuf_add(&model, word, (size_t)n);
	}
	assert_string_equal(b.text, model.text);
	assert_int_equal(b.n, strlen(b.text));
	strbuf_clear(&b);
	assert_string_equal(strbuf_text(&b), "");
	strbuf_printf(&b, "%5000d", 1);
	assert_int_equal(b.n, 5000);
	strbuf_fini(&b);
	strbuf_fini(&model);
}

/* ---- lines ---- */

static void expect_line(struct lines *l, const char *want, int64_t number)
{
	char *line;
	struct err err;

	assert_int_equal(lines_next(l, &line, &err), 1);
	assert_string_equal(line, want);
	assert_int_equal(lines_number(l), number);
}

static void expect_end(struct lines *l)
{
	char *line;

	assert_int_equal(lines_next(l, &line, NULL), 0);
	assert_int_equal(lines_next(l, &line, NULL), 0);
	lines_close(l);
}

static void test_lines_buffer(void **state)
{
	static const char text[] = "one\n\ntwo\r\nthree";

	(void)state;
	expect_end(lines_over(NULL, 0));
	struct lines *l = lines_over(text, sizeof text - 1);
	expect_line(l, "one", 1);
	expect_line(l, "", 2);
	expect_line(l, "two", 3);
	expect_line(l, "three", 4);
	expect_end(l);
	l = lines_over("\n", 1);
	expect_line(l, "", 1);
	expect_end(l);
	lines_close(NULL);
}

/* Lines around the length that is kept, and around the buffer, with an ordinary line behind. */
static void test_lines_long(void **state)
{
	static const size_t length[] = {65535, 65536, 65537, 131072, 262143, 262144, 262145, 1000000};

	(void)state;
	for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
		for (int ended = 0; ended < 2; ended++) {
			struct strbuf b = {0};
			char *line;
			size_t kept = length[i] < 65536 ? length[i] : 65536;
			strbuf_puts(&b, "first\n");
			for (size_t k = 0; k < length[i]; k++)
				strbuf_add(&b, "x", 1);
			if (ended)
				strbuf_puts(&b, "\nlast\n");
			struct lines *l = lines_over(b.text, b.n);
			expect_line(l, "first", 1);
			assert_int_equal(lines_next(l, &line, NULL), 1);
			assert_int_equal(strlen(line), kept);
			if (ended)
				expect_line(l, "last", 3);
			expect_end(l);
			strbuf_fini(&b);
		}
	}
}

static void write_lines(const char *path, const char *mode, int n)
{
	gzFile f = gzopen(path, mode);

	assert_non_null(f);
	for (int i = 0; i < n; i++)
		gzprintf(f, "%d some words of line %d\n", i, i * 7);
	assert_int_equal(gzclose(f), Z_OK);
}

static void test_lines_files(void **state)
{
	char path[] = "/tmp/test_base.XXXXXX";
	struct err err;
	struct lines *l = NULL;
	char *line;
	int fd = mkstemp(path), rc;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (int gz = 0; gz < 2; gz++) {
		write_lines(path, gz ? "wb" : "wT", 50000);
		assert_int_equal(lines_open(path, &l, &err), 0);
		for (int i = 0; i < 50000; i++) {
			char want[64];
			snprintf(want, sizeof want, "%d some words of line %d", i, i * 7);
			assert_int_equal(lines_next(l, &line, &err), 1);
			assert_string_equal(line, want);
		}
		expect_end(l);
	}

	/* The gzip file without its second half. */
	FILE *f = fopen(path, "r");
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	fclose(f);
	assert_int_equal(truncate(path, size / 2), 0);
	assert_int_equal(lines_open(path, &l, &err), 0);
	while ((rc = lines_next(l, &line, &err)) == 1)
		;
	assert_int_equal(rc, -EIO);
	assert_non_null(strstr(err.text, "the compressed file is cut short"));
	assert_non_null(strstr(err.text, path));
	lines_close(l);
	unlink(path);

	assert_int_equal(lines_open(path, &l, &err), -ENOENT);
	assert_non_null(strstr(err.text, "No such file"));
	assert_int_equal(lines_open("/tmp", &l, &err), 0);
	assert_int_equal(lines_next(l, &line, &err), -EISDIR);
	assert_string_equal(err.text, "/tmp: Is a directory");
	lines_close(l);
}

/* ---- json ---- */

static void json_of(const char *text, struct strbuf *out)
{
	struct json j;

	strbuf_clear(out);
	json_init(&j, out, false);
	json_text(&j, NULL, text);
}

/* Texts are copied by words: a character must be written alike alone and anywhere among others. */
static void test_json_places(void **state)
{
	struct strbuf alone = {0}, among = {0}, expected = {0};

	for (int c = 1; c < 256; c++) {
		json_of((const char[]){(char)c, '\0'}, &alone);
		for (size_t at = 0; at < 20; at++) {
			char text[] = "aaaaaaaaaaaaaaaaaaaa";
			text[at] = (char)c;
			json_of(text, &among);
			strbuf_clear(&expected);
			strbuf_printf(&expected, "\"%.*s", (int)at, "aaaaaaaaaaaaaaaaaaaa");
			strbuf_add(&expected, alone.text + 1, alone.n - 2);
			strbuf_printf(&expected, "%.*s\"", (int)(19 - at), "aaaaaaaaaaaaaaaaaaaa");
			assert_string_equal(among.text, expected.text);
		}
	}
	strbuf_fini(&alone);
	strbuf_fini(&among);
	strbuf_fini(&expected);
}

static void test_json(void **state)
{
	static const char *const want[] = {
		"{\"name\":\"a\\\"b\\\\c\\n\\t\\u0001é\\ufffd\",\"none\":null,"
		"\"list\":[-9223372036854775808,0.1,0.33333333333333331,null,true],\"empty\":{}}",
		"{\n  \"name\": \"a\\\"b\\\\c\\n\\t\\u0001é\\ufffd\",\n  \"none\": null,\n  \"list\": [\n"
		"    -9223372036854775808,\n    0.1,\n    0.33333333333333331,\n    null,\n    true\n  ],\n"
		"  \"empty\": {}\n}",
	};
	struct strbuf b = {0};
	static const struct {
		double value;
		const char *text;
	} doubles[] = {{0, "0"},	{-0.0, "-0"},	  {12, "12"},
		       {-12, "-12"},	{0.5, "0.5"},	  {999999999999999, "999999999999999"},
		       {1e15, "1e+15"}, {1e300, "1e+300"}};
	struct json j;

	(void)state;
	for (int pretty = 0; pretty < 2; pretty++) {
		strbuf_clear(&b);
		json_init(&j, &b, pretty);
		json_open_object(&j, NULL);
		json_text(&j, "name", "a\"b\\c\n\t\x01é\xff");
		json_text(&j, "none", NULL);
		json_open_array(&j, "list");
		json_int(&j, NULL, INT64_MIN);
		json_double(&j, NULL, 0.1);
		json_double(&j, NULL, 1.0 / 3);
		json_double(&j, NULL, NAN);
		json_bool(&j, NULL, true);
		json_close_array(&j);
		json_open_object(&j, "empty");
		json_close_object(&j);
		json_close_object(&j);
		assert_string_equal(b.text, want[pretty]);
	}
	strbuf_clear(&b);
	json_init(&j, &b, false);
	json_int(&j, NULL, 1);
	json_int(&j, NULL, 2);
	assert_string_equal(b.text, "1\n2");
	for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
		strbuf_clear(&b);
		json_init(&j, &b, false);
		json_double(&j, NULL, doubles[i].value);
		assert_string_equal(b.text, doubles[i].text);
	}
	strbuf_fini(&b);
}

static void test_utf8(void **state)
{
	static const char *const broken[] = {"\xff",	 "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
					     "\xe2\x82", "\xc3",     "\x80"};
	int32_t c;

	(void)state;
	assert_int_equal(utf8_next("", &c), 0);
	assert_int_equal(utf8_next("€", &c), 3);
	assert_int_equal(c, 0x20ac);
	assert_int_equal(utf8_next("😀", &c), 4);
	assert_int_equal(utf8_columns(c), 2);
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		assert_int_equal(utf8_next(broken[i], &c), 1);
		assert_int_equal(c, -1);
	}
}

/* ---- host lists ---- */

static char *joined(const name_list *l)
{
	struct strbuf b = {0};

	for (size_t i = 0; i < l->n; i++)
		strbuf_printf(&b, "%s%s", i ? " " : "", l->v[i]);
	return b.text;
}

static void test_hostlist(void **state)
{
	static const struct {
		const char *text, *names, *canonical;
	} good[] = {
		{"gw", "gw", "gw"},
		{"n[1-3,07],gw", "n1 n2 n3 n07 gw", "n[1-3,07],gw"},
		{"n[08-11]", "n08 n09 n10 n11", "n[08-11]"},
		{"n[8-11]", "n8 n9 n10 n11", "n[8-11]"},
		{"n9,n10", "n9 n10", "n[9-10]"},
		{"n09,n010", "n09 n010", "n[09,010]"},
		{"n1.site, n2.site", "n1.site n2.site", "n[1-2].site"},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]"},
		{"n3,n1,n2", "n3 n1 n2", "n[3,1-2]"},
		{"n1-ib,n2-ib,m3-ib", "n1-ib n2-ib m3-ib", "n[1-2]-ib,m3-ib"},
		{"10.0.0.1,10.0.0.2", "10.0.0.1 10.0.0.2", "10.0.0.1,10.0.0.2"},
		{"n12345678901234567890,n12345678901234567891", "n12345678901234567890 n12345678901234567891",
		 "n12345678901234567890,n12345678901234567891"},
	};
	static const char *const bad[] = {
		"",
		",",
		"a,",
		",a",
		"a,,b",
		"n[1-3",
		"n[]",
		"n[3-1]",
		"n[1-]",
		"n[a]",
		"n[1,]",
		"n[1]]",
		"a b",
		"a;b",
		"n[-1]",
		"n[1-100001]",
		"n[1-400][1-400]",
		"n[1234567890123456789]",
		"n[1-3]x[",
		"n[1[2]]",
	};
	struct err err;
	name_list l;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct strbuf b = {0};
		assert_int_equal(hostlist_parse(good[i].text, &l, &err), 0);
		char *names = joined(&l);
		assert_string_equal(names, good[i].names);
		hostlist_format(l.v, l.n, &b);
		assert_string_equal(b.text, good[i].canonical);
		free(names);
		name_list_free(&l);
		strbuf_fini(&b);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		name_list none = {0};
		assert_int_equal(hostlist_parse(bad[i], &none, &err), -EINVAL);
		assert_true(err.text[0] && none.n == 0 && !none.v);
	}
	assert_int_equal(hostlist_parse("n[1-100000]", &l, &err), 0);
	assert_int_equal(l.n, 100000);
	assert_string_equal(l.v[99999], "n100000");
	name_list_free(&l);
}

static void cleaned(const char *text, size_t n, enum text_shape shape, const char *expected)
{
	struct strbuf once = {0}, twice = {0};

	text_clean(&once, text, n, shape);
	assert_string_equal(strbuf_text(&once), expected);
	assert_int_equal(text_is_clean(text, n, shape), n == once.n && memcmp(text, strbuf_text(&once), n) == 0);
	text_clean(&twice, once.text, once.n, shape);
	assert_string_equal(strbuf_text(&twice), expected);
	strbuf_fini(&once);
	strbuf_fini(&twice);
}

static void test_text(void **state)
{
	cleaned("", 0, TEXT_LINE, "");
	cleaned("plain \xc3\xa9 \xf0\x9f\x98\x80 \\", 13, TEXT_LINE, "plain \xc3\xa9 \xf0\x9f\x98\x80");
	cleaned("a\nb\tc", 5, TEXT_LINE, "a\\nb\\tc");
	cleaned("a\nb\tc", 5, TEXT_LINES, "a\nb\tc");
	cleaned("\033[0m\r\0\177", 7, TEXT_LINES, "\\u001b[0m\\u000d\\u0000\\u007f");
	cleaned("\xc2\x9b\x9b\xc2\xa0", 5, TEXT_LINE, "\\u009b\\x9b\xc2\xa0");
	cleaned("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8", 9, TEXT_LINE, "\\u202e\\u2066\\u2028");
	cleaned("\xf3\xa0\x81\x81", 4, TEXT_LINE, "\\udb40\\udc41");
	cleaned("x\xe2\x80", 3, TEXT_LINE, "x\\xe2\\x80");
	cleaned("\xc0\x9b\xed\xa0\x80", 5, TEXT_LINE, "\\xc0\\x9b\\xed\\xa0\\x80");
	for (int i = 0; i < 20; i++) /* eight are looked at together */
		for (int c = 0; c < 256; c++) {
			char text[] = "0123456789abcdefghi~";
			text[i] = (char)c;
			assert_int_equal(text_is_clean(text, 20, TEXT_LINE), c >= 0x20 && c < 0x7f);
			assert_int_equal(text_is_clean(text, 20, TEXT_LINES),
					 (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t');
		}
	assert_int_equal(utf8_unfinished("a\xe2\x80", 3), 2);
	assert_int_equal(utf8_unfinished("a\xe2\x80\xae", 4), 0);
	assert_int_equal(utf8_unfinished("\x80\x80\x80\x80", 4), 0);
	assert_int_equal(utf8_unfinished("\xf0\x9f\x98", 3), 3);
	assert_int_equal(utf8_unfinished("", 0), 0);
}

static void test_program(void **state)
{
	char self[PATH_MAX], other[PATH_MAX];
	struct err err;

	assert_int_equal(program_self(self, sizeof self, &err), 0);
	assert_string_equal(strrchr(self, '/'), "/test_base");
	assert_int_equal(program_beside("test_base", other, sizeof other, &err), 0);
	assert_string_equal(other, self);
	assert_int_equal(program_beside("shunt-nothing", other, sizeof other, &err), -ENOENT);
	assert_non_null(strstr(err.text, "the program shunt-nothing is missing"));
}

/* Checks digests against those of sha256sum, whole and in pieces of all sizes. */
static void test_sha256(void **state)
{
	static const struct {
		size_t n; /* number of 'a' in the text */
		const char *digest;
	} rows[] = {
		{0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
		{55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
		{56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
		{63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
		{64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
		{65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
		{119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
		{120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
		{1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
	};
	static char text[1000000];

	memset(text, 'a', sizeof text);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece <= 130; piece++) {
			unsigned char digest[SHA256_SIZE];
			char hex[2 * SHA256_SIZE + 1];
			struct sha256 s;
			if (rows[i].n > 1000 && piece < 130)
				continue;
			sha256_init(&s);
			for (size_t at = 0; at < rows[i].n; at += piece)
				sha256_add(&s, text + at, rows[i].n - at < piece ? rows[i].n - at : piece);
			sha256_finish(&s, digest);
			for (size_t k = 0; k < SHA256_SIZE; k++)
				snprintf(hex + 2 * k, 3, "%02x", digest[k]);
			assert_string_equal(hex, rows[i].digest);
		}
}

/* What is written comes back, up to the limit; a closed pipe is an error. */
static void test_whole_files(void **state)
{
	static char data[40000];
	struct strbuf got = {0};
	int fd = memfd_create("whole", MFD_CLOEXEC);

	memset(data, 'x', sizeof data);
	assert_int_equal(fd_write(fd, data, sizeof data), 0);
	for (size_t most = sizeof data - 1; most <= sizeof data; most++) {
		lseek(fd, 0, SEEK_SET);
		strbuf_clear(&got);
		assert_int_equal(fd_read(fd, most, &got), most < sizeof data ? -EFBIG : 0);
		assert_int_equal(got.n, most);
		assert_memory_equal(got.text, data, most);
	}
	close(fd);
	assert_int_equal(fd_write(fd, "x", 1), -EBADF);
	assert_int_equal(fd_read(fd, 1, &got), -EBADF);
	strbuf_fini(&got);
}

/* A file is replaced as a whole, and one that can't be written stays; nothing is left beside it. */
static void test_replace(void **state)
{
	static const unsigned ways[] = {0, REPLACE_SYNC, REPLACE_SHARED, REPLACE_SYNC | REPLACE_SHARED};
	char dir[] = "/tmp/test_replace.XXXXXX", path[64], fresh[80];
	struct strbuf got = {0};
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/file", dir);
	snprintf(fresh, sizeof fresh, "%s.new", path);
	close(creat(fresh, 0644)); /* left by a process that was killed */
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		char text[8];
		int n = snprintf(text, sizeof text, "way %zu", i);
		assert_int_equal(file_replace(path, 0600, text, (size_t)n, ways[i]), 0);
		strbuf_clear(&got);
		assert_int_equal(file_read(path, 0, 5, &got), 0);
		assert_string_equal(got.text, text);
		int fd = replacement_open(path, 0600, ways[i]);
		assert_int_equal(fd_write(fd, "half", 4), 0);
		assert_int_equal(replacement_close(fd, path, -ENOSPC, ways[i]), -ENOSPC);
		strbuf_clear(&got);
		assert_int_equal(file_read(path, 0, 5, &got), 0);
		assert_string_equal(got.text, text);
	}
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(file_read(path, 0, 4, &got), -EFBIG);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(file_read(path, 0, 4, &got), -ENOENT);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(file_replace(path, 0600, "x", 1, 0), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0); /* it is empty */
	assert_int_equal(file_replace(path, 0600, "x", 1, 0), -ENOENT);
	strbuf_fini(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replace),	     cmocka_unit_test(test_whole_files),
		cmocka_unit_test(test_program),	     cmocka_unit_test(test_err),
		cmocka_unit_test(test_phrase),	     cmocka_unit_test(test_code),
		cmocka_unit_test(test_strbuf),	     cmocka_unit_test(test_strbuf_int),
		cmocka_unit_test(test_lines_buffer), cmocka_unit_test(test_lines_long),
		cmocka_unit_test(test_lines_files),  cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_places),  cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_text),	     cmocka_unit_test(test_hostlist),
		cmocka_unit_test(test_sha256),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
