/*
 * test_removed.c - who is in a pool: where a station keeps its files, and tokens to join with;
 * the list of stations that were removed: who signs it, which of two counts, and that a name can be
 * given again; when certificates are renewed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

	/* What the texts held before is gone. */
	strbuf_puts(&text, "x");
	strbuf_puts(&signature, "x");
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
					    "removed 1\nelm 4\noak\n",
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

/* Where a station's files are. */
static void homes(void **state)
{
	char *longest = calloc(1, PATH_MAX + 1);
	struct pool_home h;
	struct err err;

	memset(longest, 'x', PATH_MAX - 63);
	*longest = '/';
	setenv("SHUNT_POOL_HOME", longest, 1);
	assert_int_equal(pool_home_find(&h, &err), -EINVAL);
	longest[PATH_MAX - 64] = '\0';
	setenv("SHUNT_POOL_HOME", longest, 1);
	assert_int_equal(pool_home_find(&h, &err), 0);
	assert_string_equal(h.dir, longest);
	setenv("SHUNT_POOL_HOME", "pool", 1);
	assert_int_equal(pool_home_find(&h, &err), -EINVAL);
	assert_string_equal(err.text, "SHUNT_POOL_HOME=pool: it must be an absolute path of at most 4032 characters");
	setenv("SHUNT_POOL_HOME", "", 1);
	setenv("XDG_DATA_HOME", "/data", 1);
	assert_int_equal(pool_home_find(&h, &err), 0);
	assert_string_equal(h.dir, geteuid() == 0 ? "/var/lib/shunt-pool" : "/data/shunt/pool");
	setenv("XDG_DATA_HOME", "data", 1);
	setenv("HOME", "/home/bob", 1);
	assert_int_equal(pool_home_find(&h, &err), 0);
	assert_string_equal(h.dir, geteuid() == 0 ? "/var/lib/shunt-pool" : "/home/bob/.local/share/shunt/pool");
	free(longest);
}

/* Asks for a certificate; returns what the authority says. */
static int use(const struct pool_home *h, const struct token *t, const char *name, int64_t at, struct cert_names *ret)
{
	struct strbuf key = {0}, csr = {0}, cert = {0};
	struct err err;

	assert_int_equal(pki_key(&key, &err), 0);
	assert_int_equal(pki_request(key.text, &csr, &err), 0);
	int rc = pool_token_use(h, t->id, t->secret, name, csr.text, at, &cert, &err);
	assert_int_equal(rc == 0 ? pki_names(cert.text, ret, &err) : rc, rc);
	if (rc == -EACCES)
		assert_non_null(strstr(err.text, "the token is wrong, was used, or has expired"));
	strbuf_fini(&key);
	strbuf_fini(&csr);
	strbuf_fini(&cert);
	return rc;
}

/* A token works once, until it expires, and gives a number that no other station has. */
static void tokens(void **state)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", text[4][TOKEN_SIZE];
	static const int64_t valid[] = {60, 60, 60, INT64_MAX};
	struct pool_conf c = {.name = "oak", .pool = "lab"};
	struct strbuf file = {0}, cert = {0};
	struct token t[4], other;
	struct cert_names who;
	struct pool_home h;
	struct err err;

	assert_non_null(mkdtemp(dir));
	snprintf(h.dir, sizeof h.dir, "%s/a/b", dir);
	assert_int_equal(pool_home_make(&h, &err), 0);
	assert_int_equal(pool_home_make(&h, &err), 0); /* it is there already */
	assert_int_equal(pool_token_create(&h, 1000, 60, text[0], &err), -ENOTSUP);
	assert_string_equal(err.text, "this station can't let others join: ask the one that created the pool");
	assert_int_equal(pool_station_join(&h, "elm"), 0);
	assert_int_equal(pool_authority_create(&h, &c, &err), 0);
	assert_int_equal(pool_home_read(&h, "node.crt", &cert, &err), 0);
	assert_int_equal(pki_names(cert.text, &who, &err), 0);
	assert_true(who.role == CERT_NODE && strcmp(who.name, "oak") == 0 && who.join == JOIN_AUTHORITY);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pool_token_create(&h, 1000, valid[i], text[i], &err), 0);
		assert_int_equal(token_parse(text[i], &t[i], &err), 0);
		assert_true(t[i].id[0] == 'j' && t[i].id[1] == '2' + i);
	}
	other = t[0];
	strcpy(other.secret, t[1].secret);
	assert_int_equal(use(&h, &other, "elm", 1000, &who), -EACCES);
	strcpy(other.id, "j9");
	assert_int_equal(use(&h, &other, "elm", 1000, &who), -EACCES);
	assert_int_equal(pool_station_join(&h, "elm"), 0);
	assert_int_equal(use(&h, &t[1], "elm", 1060, &who), 0);
	assert_true(who.role == CERT_NODE && strcmp(who.name, "elm") == 0 && who.join == 3);
	assert_int_equal(pool_station_join(&h, "elm"), 3);
	assert_int_equal(pool_station_join(&h, "ash"), 0);
	assert_int_equal(use(&h, &t[1], "ash", 1060, &who), -EACCES); /* used */
	assert_int_equal(use(&h, &t[2], "ash", 1061, &who), -EACCES); /* too late */
	assert_int_equal(use(&h, &t[3], "ash", INT64_MAX, &who), 0);
	assert_int_equal(who.join, 5);
	assert_int_equal(pool_station_join(&h, "elm"), 3);

	who = (struct cert_names){CERT_NODE, "elm", 3};
	assert_int_equal(pool_certificate_renew(&h, &who, "no request", &cert, &err), -EINVAL);
	who.role = CERT_SERVER;
	assert_int_equal(pool_certificate_renew(&h, &who, "", &cert, &err), -EACCES);
	assert_int_equal(pool_home_write(&h, "joins.json", 0600, "{\"next\": 2}", &err), 0);
	assert_int_equal(use(&h, &t[0], "ash", 1000, &who), -EINVAL);
	assert_int_equal(pool_station_join(&h, "elm"), 0);
	static const char *const files[] = {"ca.key", "ca.crt", "joins.json", "node.key", "node.crt", "pool.json", ""};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		pool_home_path(&h, files[i], &file);
		assert_int_equal(remove(file.text), 0);
	}
	h.dir[strlen(dir) + 2] = '\0';
	assert_true(rmdir(h.dir) == 0 && rmdir(dir) == 0); /* nothing else is left */
	strbuf_fini(&file);
	strbuf_fini(&cert);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lists),   cmocka_unit_test(damaged),
					   cmocka_unit_test(renewal), cmocka_unit_test(homes),
					   cmocka_unit_test(tokens),  CLOSED_TEST};
	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
