/*
 * test_bag_credential.c - credentials: what was put is read; errors are reported with their line,
 * and never repeated.
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

#include "bag/credential.h"
#include "support/closed.h"

#define PRINT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SECRET "00112233445566778899aabbccddeeff"

static int parse(const char *text, int64_t number, struct credential *ret, struct err *err)
{
	return credential_parse(text, strlen(text), number, ret, err);
}

static void round_trip(void **state)
{
	(void)state;
	struct credential c = {.where = {"10.0.0.1:77", "[fe::1]:77"}, .nwhere = 2, .fingerprint = PRINT}, got;
	char secrets[3][SECRET_SIZE];
	struct strbuf out = {0};
	struct err err;

	for (int i = 0; i < 3; i++)
		secret_make(secrets[i]);
	assert_string_not_equal(secrets[0], secrets[1]);
	assert_int_equal(strlen(secrets[0]), SECRET_SIZE - 1);
	credential_put(&c, (const char(*)[SECRET_SIZE])secrets, 3, &out);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(credential_parse(out.text, out.n, i, &got, &err), 0);
		assert_string_equal(got.secret, secrets[i]);
		assert_int_equal(got.nwhere, 2);
		assert_string_equal(got.where[1], "[fe::1]:77");
		assert_string_equal(got.fingerprint, PRINT);
	}
	assert_int_equal(credential_parse(out.text, out.n, 3, &got, &err), -ENOENT);
	strbuf_fini(&out);
}

static void refusals(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"where a:1\n",
		"fingerprint " PRINT "\nsecret " SECRET "\n",
		"where a:1\nfingerprint " PRINT "0\nsecret " SECRET "\n",
		"where -x\nfingerprint " PRINT "\nsecret " SECRET "\n",
		"where a b\nfingerprint " PRINT "\nsecret " SECRET "\n",
		"where a:1\nfingerprint " PRINT "\nsecret " SECRET "0\n",
		"where a:1\nfingerprint " PRINT "\nsecret " SECRET "\nother\n",
		"where a:1\nfingerprint 0" SECRET "\nsecret " SECRET "\n",
		"where a:1\nfingerprint " PRINT "\nsecret 0011\n",
		"where a:1\nfingerprint " PRINT "\nsecret 00112233445566778899AABBCCDDEEFF\n",
		"where a\177\nfingerprint " PRINT "\nsecret " SECRET "\n",
		"where \nfingerprint " PRINT "\nsecret " SECRET "\n",
	};
	static const int line[] = {0, 0, 0, 2, 1, 1, 3, 4, 2, 3, 3, 1, 1};
	char text[4096], wanted[64];
	struct credential got;
	struct err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(parse(bad[i], 0, &got, &err), -EINVAL);
		assert_null(strstr(err.text, SECRET));
		snprintf(wanted, sizeof wanted, "line %d is not", line[i]);
		assert_true(strstr(err.text, line[i] ? wanted : "does not say where") == err.text + (line[i] ? 0 : 15));
	}
	assert_int_equal(parse("# why\n\nwhere a:1\nfingerprint " PRINT "\nsecret " SECRET, 0, &got, &err), 0);
	assert_string_equal(got.secret, SECRET);
	assert_int_equal(parse("where a:1\nfingerprint " PRINT "\n", 0, &got, &err), -ENOENT);
	assert_string_equal(err.text, "the credential has fewer secrets than workers");
	for (int places = CREDENTIAL_PLACES; places <= CREDENTIAL_PLACES + 1; places++) {
		int n = 0;
		for (int i = 0; i < places; i++)
			n += snprintf(text + n, sizeof text - (size_t)n, "where %0127d\n", i);
		snprintf(text + n, sizeof text - (size_t)n, "fingerprint " PRINT "\nsecret " SECRET "\n");
		assert_int_equal(parse(text, 0, &got, &err), places > CREDENTIAL_PLACES ? -EINVAL : 0);
	}
	assert_int_equal(strlen(got.where[CREDENTIAL_PLACES - 1]), 127);
	snprintf(text, sizeof text, "where %0128d\nfingerprint " PRINT "\nsecret " SECRET "\n", 1);
	assert_int_equal(parse(text, 0, &got, &err), -EINVAL);
}

static void files(void **state)
{
	(void)state;
	static const char text[] = "where a:1\nfingerprint " PRINT "\nsecret " SECRET "\n";
	char path[] = "/tmp/shunt-credential-XXXXXX";
	struct credential got;
	struct stat st;
	struct err err;

	close(mkstemp(path));
	chmod(path, 0644);
	assert_int_equal(credential_write(path, text, sizeof text - 1, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(credential_read(path, 0, &got, &err), 0);
	chmod(path, 0640);
	assert_int_equal(credential_read(path, 0, &got, &err), -EACCES);
	assert_non_null(strstr(err.text, "its mode must be 600"));
	chmod(path, 0600);
	assert_int_equal(credential_read(path, 1, &got, &err), -ENOENT);
	assert_memory_equal(err.text, path, strlen(path));
	unlink(path);
	assert_int_equal(credential_read(path, 0, &got, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(refusals),
					   cmocka_unit_test(files), CLOSED_TEST};
	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
