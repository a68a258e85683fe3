/*
 * test_removed.c - the list of stations that were removed from a pool: who signs it, which of two
 * counts, and that a name can be given again; when certificates are renewed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "station/pool_home.h"
#include "station/removed.h"
#include "support/closed.h"

struct authority {
	struct strbuf key, cert;
};

static void make(struct authority *a)
{
	struct err err;

	assert_int_equal(pki_authority("lab", &a->key, &a->cert, &err), 0);
}

static void drop(struct authority *a)
{
	strbuf_fini(&a->key);
	strbuf_fini(&a->cert);
}

static void lists(void **state)
{
	struct authority lab = {0}, other = {0};
	struct removed there = {0}, here = {0};
	struct strbuf text = {0}, signature = {0}, old = {0}, old_signature = {0};
	struct err err;

	(void)state;
	make(&lab);
	make(&other);
	assert_false(removed_has(&here, "elm", 4));
	assert_int_equal(removed_next(&there, strbuf_text(&lab.key), "elm", 4, &old, &old_signature, &err), 0);
	assert_string_equal(strbuf_text(&old), "removed 1\nelm 4\n");
	assert_int_equal(removed_take(&there, strbuf_text(&lab.cert), old.text, old_signature.text, &err), 1);
	assert_int_equal(removed_next(&there, strbuf_text(&lab.key), "oak", 2, &text, &signature, &err), 0);

	/* From another pool, changed on the way, or not signed at all. */
	assert_int_equal(removed_take(&here, strbuf_text(&other.cert), text.text, signature.text, &err), -EKEYREJECTED);
	assert_int_equal(removed_take(&here, strbuf_text(&lab.cert), "removed 9\noak 2\n", signature.text, &err),
			 -EKEYREJECTED);
	assert_int_equal(removed_take(&here, strbuf_text(&lab.cert), text.text, "", &err), -EKEYREJECTED);
	assert_int_equal(here.number, 0);

	assert_int_equal(removed_take(&here, strbuf_text(&lab.cert), text.text, signature.text, &err), 1);
	assert_int_equal(removed_take(&here, strbuf_text(&lab.cert), text.text, signature.text, &err), 0);
	assert_int_equal(removed_take(&here, strbuf_text(&lab.cert), old.text, old_signature.text, &err), 0);
	assert_int_equal(here.number, 2);
	assert_string_equal(here.text.text, text.text);
	assert_true(removed_has(&here, "elm", 4) && removed_has(&here, "elm", 0) && removed_has(&here, "oak", 1));
	assert_false(removed_has(&here, "elm", 5) || removed_has(&here, "pine", 1));
	removed_fini(&here);
	removed_fini(&there);
	strbuf_fini(&text);
	strbuf_fini(&signature);
	strbuf_fini(&old);
	strbuf_fini(&old_signature);
	drop(&lab);
	drop(&other);
}

static void damaged(void **state)
{
	static const char *const texts[] = {"",
					    "removed",
					    "removed 0\n",
					    "removed x\n",
					    "removed 1",
					    "removed 1\nelm\n",
					    "removed 1\n\n",
					    "removed 1\nelm 0\n",
					    "removed 1\nelm 4",
					    "elm 4\n",
					    "removed 1\n 4\n",
					    "removed -1\n",
					    "removed 1\nelm 4 5\n",
					    "removed 99999999999999999999\n"};
	struct revoked r = {0};
	uint64_t number;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(removed_parse(texts[i], &number, &r, &err), -EINVAL);
	assert_int_equal(removed_parse("removed 1\n", &number, &r, &err), 0);
	revoked_fini(&r);
}

static void renewal(void **state)
{
	const int64_t day = 86400, made = 1000 * day, until = made + 900 * day; /* and valid a day before it was made */

	(void)state;
	assert_false(pool_certificate_due(made - day, until, made));
	assert_false(pool_certificate_due(made - day, until, made + 600 * day));
	assert_true(pool_certificate_due(made - day, until, made + 600 * day + 1));
	assert_true(pool_certificate_due(made - day, until, until + day));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lists), cmocka_unit_test(damaged),
					   cmocka_unit_test(renewal), CLOSED_TEST};
	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
