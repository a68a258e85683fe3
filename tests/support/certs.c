/*
 * certs.c - a cluster's authority and certificates, for tests.
 */
#include "support/certs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void authority_make(const char *cluster, struct authority *ret)
{
	struct err err;

	memset(ret, 0, sizeof *ret);
	assert_int_equal(pki_authority(cluster, &ret->key, &ret->cert, &err), 0);
	assert_int_equal(pki_fingerprint(ret->cert.text, ret->fingerprint, &err), 0);
}

void authority_fini(struct authority *a)
{
	strbuf_fini(&a->key);
	strbuf_fini(&a->cert);
}

void identity_make(const struct authority *a, enum cert_role role, const char *name, uint64_t join, int64_t life,
		   struct identity *ret)
{
	struct cert_names who = {.role = role, .join = join};
	struct strbuf csr = {0};
	struct err err;

	memset(ret, 0, sizeof *ret);
	snprintf(who.name, sizeof who.name, "%s", name);
	assert_int_equal(pki_key(&ret->key, &err), 0);
	assert_int_equal(pki_request(ret->key.text, &csr, &err), 0);
	if (pki_issue(a->key.text, a->cert.text, csr.text, csr.n, &who, "localhost 127.0.0.1 ::1", life, &ret->cert,
		      &err) < 0)
		fail_msg("%s", err.text);
	strbuf_fini(&csr);
}

void identity_fini(struct identity *i)
{
	strbuf_fini(&i->key);
	strbuf_fini(&i->cert);
}
