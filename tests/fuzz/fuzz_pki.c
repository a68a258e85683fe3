/*
 * fuzz_pki.c - any text as a request, a certificate or a token, and any bytes as the content of the
 * first two: they are read or refused. A certificate names the subject it was issued for, whatever
 * the request contains.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "tls/pki.h"

static struct strbuf authority_key, authority_cert;

/* Wraps the bytes as PEM, so that the input need not be base64. */
static void armour(const char *label, const uint8_t *data, size_t size, struct strbuf *out)
{
	struct strbuf text = {0};

	base64_encode(data, size, &text);
	strbuf_printf(out, "-----BEGIN %s-----\n", label);
	for (size_t i = 0; i < text.n; i += 64)
		strbuf_printf(out, "%.64s\n", text.text + i);
	strbuf_printf(out, "-----END %s-----\n", label);
	strbuf_fini(&text);
}

static void request_check(const char *text, size_t n)
{
	struct cert_names who = {.role = CERT_NODE, .name = "n1", .join = 7}, back;
	struct strbuf cert = {0};
	struct err err;

	int rc = pki_issue(strbuf_text(&authority_key), strbuf_text(&authority_cert), text, n, &who, "n1", 3600, &cert,
			   &err);
	assert((rc == 0) == (cert.n > 0));
	if (rc == 0) {
		assert(pki_names(cert.text, &back, &err) == 0);
		assert(back.role == CERT_NODE && back.join == 7 && strcmp(back.name, "n1") == 0);
	}
	strbuf_fini(&cert);
}

static void cert_check(const char *text)
{
	struct cert_names names;
	char print[FINGERPRINT_SIZE];
	int64_t from, until;
	struct err err;

	if (pki_names(text, &names, &err) == 0)
		assert((names.role == CERT_NOBODY) == (names.name[0] == '\0') &&
		       memchr(names.name, '\0', sizeof names.name));
	if (pki_fingerprint(text, print, &err) == 0)
		assert(strlen(print) == FINGERPRINT_SIZE - 1);
	pki_validity(text, &from, &until, &err);
	pki_issued(strbuf_text(&authority_cert), text, &err);
}

static void token_check(const char *text)
{
	struct token t, again;
	char written[TOKEN_SIZE];
	struct err err;

	if (token_parse(text, &t, &err) < 0)
		return;
	token_write(&t, written);
	assert(token_parse(written, &again, &err) == 0);
	assert(secret_equal(t.id, again.id) && secret_equal(t.secret, again.secret));
	assert(strlen(t.fingerprint) >= 32 && strncmp(t.fingerprint, again.fingerprint, 32) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct err err;

	return pki_authority("fuzz", &authority_key, &authority_cert, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf text = {0};

	strbuf_add(&text, (const char *)data, size);
	request_check(strbuf_text(&text), text.n);
	cert_check(strbuf_text(&text));
	token_check(strbuf_text(&text));
	strbuf_clear(&text);
	armour("CERTIFICATE REQUEST", data, size, &text);
	request_check(text.text, text.n);
	strbuf_clear(&text);
	armour("CERTIFICATE", data, size, &text);
	cert_check(text.text);
	strbuf_fini(&text);
	return 0;
}
