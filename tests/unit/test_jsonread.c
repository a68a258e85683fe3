/*
 * test_jsonread.c - json_read() gives for every text what json_loadb() gives, and json_write() for
 * every value what json_dumps() gives; json_cut() gives the text of an object without some members:
 * texts by hand, and random changes of one text.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/jsonread.h"
#include "base/jsonwrite.h"
#include "base/rng.h"
#include "base/strbuf.h"

#define CASES 200000

/* Returns true if the text could be cut. */
static bool cut(const json_t *a, const char *text, size_t n)
{
	static const char *const without[] = {"n", "e", NULL};
	json_t *expected = json_copy((json_t *)a), *b;
	struct strbuf out = {0};
	bool good = json_cut(text, n, without, &out);

	json_object_del(expected, "n");
	json_object_del(expected, "e");
	b = json_loadb(strbuf_text(&out), out.n, 0, NULL);
	if (good && !json_equal(expected, b))
		fail_msg("%.*s: cut to %s", (int)n, text, strbuf_text(&out));
	json_decref(expected);
	json_decref(b);
	strbuf_fini(&out);
	return good;
}

static void compare(const char *text, size_t n, size_t flags)
{
	char *exact = malloc(n ? n : 1); /* a byte behind the text is found by the sanitizer */
	json_error_t expected = {0}, error = {0};

	memcpy(exact, text, n);
	json_t *a = json_loadb(exact, n, flags, &expected), *b = json_read(exact, n, flags, &error);
	if (!a != !b || (a && !json_equal(a, b)))
		fail_msg("%.*s: jansson %s, json_read %s", (int)n, text, a ? "reads" : "refuses",
			 a && b ? "reads otherwise"
			 : b	? "reads"
				: "refuses");
	assert_int_equal(error.position, expected.position);
	assert_int_equal(error.line, expected.line);
	assert_string_equal(error.text, expected.text);
	assert_string_equal(error.source, expected.source);
	if (a) {
		struct strbuf out = {0};
		char *dump = json_dumps(a, JSON_COMPACT | JSON_ENCODE_ANY);
		json_write(a, &out);
		assert_string_equal(strbuf_text(&out), dump);
		free(dump);
		strbuf_fini(&out);
		if (json_is_object(a) && flags == 0)
			cut(a, exact, n);
	}
	json_decref(a);
	json_decref(b);
	free(exact);
}

static void compare_all(const char *text, size_t n)
{
	static const size_t flags[] = {0, JSON_ALLOW_NUL, JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, JSON_DECODE_ANY,
				       JSON_REJECT_DUPLICATES};

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		compare(text, n, flags[i]);
}

static void test_texts(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"{}",
		"[]",
		" {} ",
		"{}x",
		"{",
		"[",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":1",
		"{\"a\":1,}",
		"[1,]",
		"[1 2]",
		"{\"a\":1,\"a\":2}",
		"{\"a\" : [ 1 , {\"b\":null} ] , \"c\":true}\n",
		"[0,-1,-0,00,01]",
		"[-0]",
		"[00]",
		"[-]",
		"[999999999999999999,-999999999999999999]",
		"[9223372036854775807,-9223372036854775808]",
		"[9223372036854775808]",
		"[1.5,1e3,-2E-2]",
		"[1.]",
		"[truex]",
		"[tru]",
		"[true",
		"[nul",
		"\"text\"",
		"17",
		"[\"a\\n\\t\\\"\\\\\\/\\b\\f\\r\"]",
		"[\"\\u0041\\u00e4\\ud83d\\ude00\"]",
		"[\"\\u0000\"]",
		"[\"\\u0001\\u000b\\u000a\\u001f\\u001Fx\\u0019\"]",
		"[\"\\u001g\"]",
		"[\"\\u0020\\u007f\"]",
		"[\"\\u001\"]",
		"[\"\\u000",
		"{\"\\u0001\":\"a\\u0001\"}",
		"[\"\\x\"]",
		"[\"\\",
		"[\"a\nb\"]",
		"{\"a\n\":1}",
		"{\"a\\n\":1}",
		"{\"\":1}",
		"[\"\xc3\xa4\"]",
		"[\"\xc3\"]",
		"[\"\xc3\xa4\\n\xff\"]",
		"{\"\xc3\xa4\":1}",
		"[\"\x7f\"]",
		"{\"a key of more than sixty-three bytes, which few programs ever write in an object\":1}",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		compare_all(texts[i], strlen(texts[i]));
	compare_all("[\"a\0b\"]", 7);
	compare_all("[1\0]", 4);
	compare_all("[true\0]", 7);
}

/* Deep lists are read up to jansson's limit, and refused beyond it. */
static void test_depth(void **state)
{
	static const size_t depths[] = {63, 64, 65, 66, 2047, 2048, 2049};
	char text[2 * 2049];

	for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
		memset(text, '[', depths[i]);
		memset(text + depths[i], ']', depths[i]);
		compare_all(text, 2 * depths[i]);
	}
}

static void test_changes(void **state)
{
	static const char text[] =
		"{\"name\":\"b\\\"c\", \"n\":[1,-20,{\"x\":null,\"\xc3\xa4\":true}],\"e\":[\"A=\\n\",\"\\u001b[\"]}";
	static const char letters[] = "\"\\{}[]:,0123-.eEtrufalsn \n\t/bx\x80\xc3\xa4\x7f";
	json_t *whole = json_loads(text, 0, NULL);
	struct rng r;

	assert_true(cut(whole, text, sizeof text - 1));
	json_decref(whole);
	rng_seed(&r, 1);
	for (int i = 0; i < CASES; i++) {
		char changed[sizeof text];
		size_t n = sizeof text - 1 - (rng_below(&r, 4) ? 0 : rng_below(&r, sizeof text - 1));
		memcpy(changed, text, sizeof text);
		for (uint64_t k = rng_below(&r, 4); k > 0; k--)
			changed[rng_below(&r, sizeof text - 1)] = letters[rng_below(&r, sizeof letters)];
		compare(changed, n, rng_below(&r, 2) ? 0 : JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
