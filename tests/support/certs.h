/*
 * certs.h - a cluster's authority and certificates, for tests.
 */
#ifndef SUPPORT_CERTS_H
#define SUPPORT_CERTS_H

#include "tls/pki.h"

struct authority {
	struct strbuf key, cert;
	char fingerprint[FINGERPRINT_SIZE];
};
void authority_make(const char *cluster, struct authority *ret);
void authority_fini(struct authority *a);

struct identity {
	struct strbuf key, cert;
};
/* Issues a certificate valid for `life` seconds; a negative value makes an expired one. */
void identity_make(const struct authority *a, enum cert_role role, const char *name, uint64_t join, int64_t life,
		   struct identity *ret);
void identity_fini(struct identity *i);

#endif
