/*
 * test_pki.c - keys, certificates and tokens: what is made can be read, what is not ours is
 * refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "support/certs.h"

#define DAY 86400

static struct authority home;

static int setup(void **state)
{
	authority_make("home", &home);
	return 0;
}

static int teardown(void **state)
{
	authority_fini(&home);
	return 0;
}

/* ---- certificates ---- */

static void authority_says_what_it_is(void **state)
{
	struct cert_names names;
	struct err err;
	int64_t from, until, now = time(NULL);

	assert_int_equal(strlen(home.fingerprint), 64);
	assert_int_equal(strspn(home.fingerprint, "0123456789abcdef"), 64);
	assert_int_equal(pki_names(home.cert.text, &names, &err), 0);
	assert_int_equal(names.role, CERT_NOBODY);
	assert_int_equal(pki_validity(home.cert.text, &from, &until, &err), 0);
	assert_true(from <= now - DAY && from > now - 2 * DAY);
	assert_true(until > now + INT64_C(29) * 365 * DAY);

	/* Names of clusters are people's: long, or in any script, or no text at all. */
	const char *odd[] = {"", "Rechenzentrum Größe 北京", "a,O=b/CN=c", "\xff\xfe",
			     "ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää"};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct authority other;
		authority_make(odd[i], &other);
		authority_fini(&other);
	}
}

static void names_round(enum cert_role role, const char *name, uint64_t join)
{
	struct identity id;
	struct cert_names names;
	struct err err;

	identity_make(&home, role, name, join, DAY, &id);
	assert_int_equal(pki_names(id.cert.text, &names, &err), 0);
	assert_int_equal(names.role, role);
	assert_string_equal(names.name, name);
	assert_int_equal(names.join, role == CERT_NODE ? join : 0);
	identity_fini(&id);
}

static void names_with_odd_characters(void **state)
{
	char longest[256];

	memset(longest, '%', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	names_round(CERT_SERVER, "head.example.org", 7);
	names_round(CERT_NODE, "n1", 0);
	names_round(CERT_NODE, "n1", UINT64_MAX);
	names_round(CERT_NODE, "n1:2", 3);
	names_round(CERT_NODE, "a,URI:shunt:server:b", 3);
	names_round(CERT_NODE, "a%3A", 3);
	names_round(CERT_NODE, "x\n\t\x01 \"'\\;=/@", 3);
	names_round(CERT_NODE, "Größe-北京", 3);
	names_round(CERT_NODE, "\xff\x80", 3);
	names_round(CERT_NODE, longest, 3);
}

static int issue(const struct cert_names *who, const char *hosts, struct err *err)
{
	struct strbuf key = {0}, csr = {0}, cert = {0};

	assert_int_equal(pki_key(&key, err), 0);
	assert_int_equal(pki_request(key.text, &csr, err), 0);
	int rc = pki_issue(home.key.text, home.cert.text, csr.text, csr.n, who, hosts, DAY, &cert, err);
	assert_int_equal(cert.n > 0, rc == 0);
	strbuf_fini(&key);
	strbuf_fini(&csr);
	strbuf_fini(&cert);
	return rc;
}

static void names_that_are_none(void **state)
{
	struct cert_names who = {.role = CERT_NODE, .name = ""};
	struct err err;

	assert_int_equal(issue(&who, NULL, &err), -EINVAL);
	strcpy(who.name, "n1");
	assert_int_equal(issue(&who, NULL, &err), 0);
	assert_int_equal(issue(&who, "n1 10.0.0.1 fd00::1  n1.example.org ", &err), 0);
	assert_int_equal(issue(&who, "n1,URI:shunt:server:x", &err), -EINVAL);
	assert_int_equal(issue(&who, "n1:7722", &err), -EINVAL);
	assert_non_null(strstr(err.text, "n1:7722"));
	assert_int_equal(issue(&who, "n\xc3\xa4", &err), -EINVAL);
	who.role = CERT_NOBODY;
	assert_int_equal(issue(&who, NULL, &err), -EINVAL);
	who.role = CERT_NODE;
	memset(who.name, 'a', sizeof who.name);
	assert_int_equal(issue(&who, NULL, &err), -EINVAL);
}

/* A certificate with these URIs, signed by nobody that counts: only for how it is read. */
static void uri_cert(const char *const *uris, const size_t *sizes, int n, struct strbuf *out)
{
	X509 *cert = X509_new();
	EVP_PKEY *key = EVP_EC_gen("P-256");
	GENERAL_NAMES *all = GENERAL_NAMES_new();
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;

	for (int i = 0; i < n; i++) {
		GENERAL_NAME *name = GENERAL_NAME_new();
		ASN1_IA5STRING *uri = ASN1_IA5STRING_new();
		ASN1_STRING_set(uri, uris[i], sizes ? (int)sizes[i] : -1);
		GENERAL_NAME_set0_value(name, GEN_URI, uri);
		sk_GENERAL_NAME_push(all, name);
	}
	X509_set_version(cert, 2);
	X509_set_pubkey(cert, key);
	X509_gmtime_adj(X509_getm_notBefore(cert), 0);
	X509_gmtime_adj(X509_getm_notAfter(cert), DAY);
	X509_add1_ext_i2d(cert, NID_subject_alt_name, all, 0, X509V3_ADD_DEFAULT);
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
	long size = BIO_get_mem_data(bio, &text);
	strbuf_add(out, text, (size_t)size);
	BIO_free(bio);
	GENERAL_NAMES_free(all);
	EVP_PKEY_free(key);
	X509_free(cert);
}

static enum cert_role role_of(const char *const *uris, const size_t *sizes, int n)
{
	struct strbuf text = {0};
	struct cert_names names;
	struct err err;

	uri_cert(uris, sizes, n, &text);
	assert_int_equal(pki_names(text.text, &names, &err), 0);
	strbuf_fini(&text);
	return names.role;
}

static void uris_that_name_nobody(void **state)
{
	const char *good[] = {"shunt:node:n1:3"}, *mixed[] = {"https://x", "shunt:server:a", "spiffe://x/y"},
		   *two[] = {"shunt:node:n1:3", "shunt:server:a"}, *bad_second[] = {"shunt:server:a", "shunt:x"};
	const char *bad[] = {"shunt:node:n1",
			     "shunt:node::3",
			     "shunt:node:n1:",
			     "shunt:node:n1:-1",
			     "shunt:node:n1:3 ",
			     "shunt:node:n1:3:4",
			     "shunt:node:n1:18446744073709551616",
			     "shunt:node:%41:1",
			     "shunt:node:%0:1",
			     "shunt:node:%00:1",
			     "shunt:node:%4a:1",
			     "shunt:node:a%:1",
			     "shunt:server:",
			     "shunt:server:a b",
			     "shunt:server:a:1",
			     "shunt:boss:a",
			     "Shunt:server:a",
			     " shunt:server:a",
			     "shunt:"};
	const char *nul[] = {"shunt:server:a\0b"};
	const size_t nul_size[] = {16};

	assert_int_equal(role_of(good, NULL, 1), CERT_NODE);
	assert_int_equal(role_of(mixed, NULL, 3), CERT_SERVER);
	assert_int_equal(role_of(two, NULL, 2), CERT_NOBODY);
	assert_int_equal(role_of(bad_second, NULL, 2), CERT_NOBODY);
	assert_int_equal(role_of(nul, nul_size, 1), CERT_NOBODY);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(role_of(&bad[i], NULL, 1), CERT_NOBODY);
}

static void validity_is_as_asked(void **state)
{
	struct identity id;
	struct err err;
	int64_t from, until, before = time(NULL);

	identity_make(&home, CERT_NODE, "n1", 1, 3600, &id);
	assert_int_equal(pki_validity(id.cert.text, &from, &until, &err), 0);
	int64_t after = time(NULL);
	assert_true(from >= before - DAY && from <= after - DAY);
	assert_true(until >= before + 3600 && until <= after + 3600);
	identity_fini(&id);
	identity_make(&home, CERT_NODE, "n1", 1, INT64_MAX, &id); /* as long as the authority at most */
	identity_fini(&id);
}

/* What a node shows that joins again. */
static void nodes_that_were(void **state)
{
	struct authority other;
	struct identity expired, foreign;
	struct strbuf proof = {0};
	struct err err;

	authority_make("home", &other);
	identity_make(&home, CERT_NODE, "n1", 7, -60, &expired);
	identity_make(&other, CERT_NODE, "n1", 7, 3600, &foreign);
	assert_int_equal(pki_issued(home.cert.text, expired.cert.text, &err), 0);
	assert_int_equal(pki_issued(home.cert.text, foreign.cert.text, &err), -EKEYREJECTED);
	assert_int_equal(pki_issued(expired.cert.text, foreign.cert.text, &err), -EKEYREJECTED);
	assert_int_equal(pki_issued(home.cert.text, "-----BEGIN", &err), -EINVAL);
	assert_int_equal(pki_sign(expired.key.text, "csr", 3, &proof, &err), 0);
	assert_int_equal(pki_verify(expired.cert.text, "csr", 3, proof.text, proof.n, &err), 0);
	assert_int_equal(pki_verify(expired.cert.text, "csR", 3, proof.text, proof.n, &err), -EKEYREJECTED);
	assert_int_equal(pki_verify(foreign.cert.text, "csr", 3, proof.text, proof.n, &err), -EKEYREJECTED);
	strbuf_fini(&proof);
	identity_fini(&expired);
	identity_fini(&foreign);
	authority_fini(&other);
}

/* ---- requests: someone else's text ---- */

static int request_try(const char *csr, size_t n, struct err *err)
{
	struct cert_names who = {.role = CERT_NODE, .name = "n1"};
	struct strbuf cert = {0};
	int rc = pki_issue(home.key.text, home.cert.text, csr, n, &who, NULL, DAY, &cert, err);

	assert_int_equal(cert.n > 0, rc == 0);
	strbuf_fini(&cert);
	return rc;
}

static void rsa_request(struct strbuf *out)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	X509_REQ *request = X509_REQ_new();
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;

	X509_REQ_set_pubkey(request, key);
	X509_REQ_sign(request, key, EVP_sha256());
	PEM_write_bio_X509_REQ(bio, request);
	long n = BIO_get_mem_data(bio, &text);
	strbuf_add(out, text, (size_t)n);
	BIO_free(bio);
	X509_REQ_free(request);
	EVP_PKEY_free(key);
}

static void requests_that_are_wrong(void **state)
{
	struct strbuf key = {0}, csr = {0}, rsa = {0};
	struct err err;

	assert_int_equal(pki_key(&key, &err), 0);
	assert_int_equal(pki_request(key.text, &csr, &err), 0);
	assert_int_equal(request_try(csr.text, csr.n, &err), 0);
	assert_int_equal(request_try(csr.text, csr.n / 2, &err), -EINVAL);
	assert_int_equal(request_try("", 0, &err), -EINVAL);
	assert_int_equal(request_try(home.cert.text, home.cert.n, &err), -EINVAL);
	rsa_request(&rsa);
	assert_int_equal(request_try(rsa.text, rsa.n, &err), -EINVAL);
	assert_non_null(strstr(err.text, "EC P-256"));

	/* Another key in it than the one that signed: its signature is changed near the end. */
	char *end = strstr(csr.text, "\n-----END") - 6;
	*end = *end == 'A' ? 'B' : 'A';
	assert_int_equal(request_try(csr.text, csr.n, &err), -EINVAL);

	/* Much of nothing; and one that would make OpenSSL ask for a passphrase. */
	size_t n = 10 << 20;
	char *much = malloc(n);
	assert_non_null(much);
	memset(much, '-', n);
	assert_int_equal(request_try(much, n, &err), -EINVAL);
	free(much);
	const char *locked = "-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4,ENCRYPTED\n"
			     "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA\n"
			     "-----END CERTIFICATE REQUEST-----\n";
	assert_int_equal(request_try(locked, strlen(locked), &err), -EINVAL);
	strbuf_fini(&key);
	strbuf_fini(&csr);
	strbuf_fini(&rsa);
}

static void keys_that_are_wrong(void **state)
{
	struct cert_names who = {.role = CERT_NODE, .name = "n1"};
	struct authority other;
	struct strbuf out = {0}, csr = {0};
	struct cert_names names;
	char print[FINGERPRINT_SIZE];
	int64_t from, until;
	struct err err;

	authority_make("home", &other);
	assert_int_equal(pki_request(other.key.text, &csr, &err), 0);
	assert_int_equal(pki_issue(other.key.text, home.cert.text, csr.text, csr.n, &who, NULL, DAY, &out, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "belong together"));
	assert_int_equal(pki_issue("x", home.cert.text, csr.text, csr.n, &who, NULL, DAY, &out, &err), -EINVAL);
	assert_int_equal(pki_issue(home.key.text, "x", csr.text, csr.n, &who, NULL, DAY, &out, &err), -EINVAL);
	assert_int_equal(pki_request(home.cert.text, &out, &err), -EINVAL);
	assert_int_equal(pki_names(home.key.text, &names, &err), -EINVAL);
	assert_int_equal(pki_fingerprint("", print, &err), -EINVAL);
	assert_int_equal(pki_validity("-----BEGIN CERTIFICATE-----\n", &from, &until, &err), -EINVAL);
	assert_int_equal(out.n, 0);
	assert_string_not_equal(home.fingerprint, other.fingerprint);
	authority_fini(&other);
	strbuf_fini(&csr);
}

/* ---- tokens ---- */

#define PRINT "0123456789abcdef0123456789abcdef"

static void tokens_round(void **state)
{
	const char *ids[] = {"j3", "u7", "a12-3.1", "a1.2.3"};
	struct token t, back;
	char text[TOKEN_SIZE], again[TOKEN_SIZE];
	struct err err;

	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		strcpy(t.id, ids[i]);
		secret_random(t.secret);
		strcpy(t.fingerprint, home.fingerprint);
		token_write(&t, text);
		assert_int_equal(token_parse(text, &back, &err), 0);
		assert_string_equal(back.id, t.id);
		assert_string_equal(back.secret, t.secret);
		assert_int_equal(strlen(back.fingerprint), 32);
		assert_memory_equal(back.fingerprint, t.fingerprint, 32);
		token_write(&back, again);
		assert_string_equal(text, again);
	}
	assert_int_equal(token_parse("j1.s.0123456789ABCDEF0123456789ABCDEF", &back, &err), 0);
	assert_string_equal(back.fingerprint, PRINT);
}

static void tokens_that_are_none(void **state)
{
	const char *bad[] = {"",
			     ".",
			     "..",
			     "j3",
			     "j3.secret",
			     "j3.secret.",
			     "j3.secret.0123",
			     "j3.secret." PRINT "g",
			     "j3.secret." PRINT "\n",
			     "j3.." PRINT,
			     ".secret." PRINT,
			     "j3.sec ret." PRINT,
			     "j3.sec+ret." PRINT,
			     "j 3.secret." PRINT,
			     "j3/x.secret." PRINT,
			     "j3.secret." PRINT PRINT "0",
			     "j3.0123456789012345678901234567890123456789012345678901234567890123." PRINT,
			     "j012345678901234567890123456789012345678901234567890123456789012.secret." PRINT};
	struct token t = {.id = "kept"};
	struct err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(token_parse(bad[i], &t, &err), -EINVAL);
		assert_null(strstr(err.text, "sec"));
	}
	assert_string_equal(t.id, "kept");
}

static void secrets(void **state)
{
	char a[64], b[64], hash[FINGERPRINT_SIZE];

	secret_random(a);
	secret_random(b);
	assert_int_equal(strlen(a), 22);
	assert_string_not_equal(a, b);
	assert_int_equal(strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 22);
	secret_hash("abc", hash);
	assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	/* RFC 4231, case 2: 5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843. */
	secret_mac("Jefe", "what do ya want for nothing?", a);
	assert_string_equal(a, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM");
	assert_true(secret_equal("", ""));
	assert_true(secret_equal("abc", "abc"));
	assert_false(secret_equal("abc", "abd"));
	assert_false(secret_equal("abc", "ab"));
	assert_false(secret_equal("ab", "abc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(authority_says_what_it_is), cmocka_unit_test(names_with_odd_characters),
		cmocka_unit_test(names_that_are_none),	     cmocka_unit_test(uris_that_name_nobody),
		cmocka_unit_test(validity_is_as_asked),	     cmocka_unit_test(requests_that_are_wrong),
		cmocka_unit_test(keys_that_are_wrong),	     cmocka_unit_test(tokens_round),
		cmocka_unit_test(tokens_that_are_none),	     cmocka_unit_test(secrets),
		cmocka_unit_test(nodes_that_were),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
