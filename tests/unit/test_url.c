/*
 * test_url.c - targets of requests are taken apart, and bytes written as base64 and hex.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "net/url.h"

static void takes_urls_apart(void **state)
{
	struct arena *a = arena_create();
	struct url u;
	struct err err;

	assert_int_equal(url_parse("/a%2Fb/c+d?x=1&&y&=z&x=2&e=%e2%82%ac#frag?&no=1", a, &u, &err), 0);
	assert_string_equal(u.path, "/a/b/c+d");
	assert_int_equal(u.query.n, 5);
	assert_string_equal(url_query(&u, "x"), "1");
	assert_string_equal(url_query(&u, "y"), "");
	assert_string_equal(url_query(&u, ""), "z");
	assert_string_equal(url_query(&u, "e"), "\xe2\x82\xac");
	assert_null(url_query(&u, "no"));
	url_fini(&u);
	static const char *const bad[] = {"", "a", "/%", "/%1", "/%g1", "/%1g", "/%00", "/?%", "/?a=%00", "/?a=%-1"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(url_parse(bad[i], a, &u, &err), -EINVAL);
		url_fini(&u);
	}
	arena_destroy(a);
}

static void codes_base64(void **state)
{
	static const char *const pairs[][2] = {
		{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
	static const char *const bad[] = {
		"Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zh==", "Zm9=", "Zm9v\n", "Zm-v", "=Zg="};
	struct strbuf out = {0}, back = {0};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		strbuf_clear(&out);
		strbuf_clear(&back);
		base64_encode(pairs[i][0], strlen(pairs[i][0]), &out);
		assert_string_equal(strbuf_text(&out), pairs[i][1]);
		assert_int_equal(base64_decode(strbuf_text(&out), out.n, &back), 0);
		assert_string_equal(strbuf_text(&back), pairs[i][0]);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &back), -EINVAL);
		assert_string_equal(strbuf_text(&back), "foobar");
	}
	char bytes[256], hex[513];
	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	hex_encode(bytes, sizeof bytes, hex);
	assert_int_equal(strlen(hex), 512);
	assert_memory_equal(hex + 2 * 0x9a, "9a9b9c9d9e9fa0", 14);
	strbuf_clear(&out);
	strbuf_clear(&back);
	base64_encode(bytes, sizeof bytes, &out);
	assert_int_equal(base64_decode(out.text, out.n, &back), 0);
	assert_memory_equal(back.text, bytes, sizeof bytes);
	strbuf_fini(&out);
	strbuf_fini(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_urls_apart),
		cmocka_unit_test(codes_base64),
	};

	return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
