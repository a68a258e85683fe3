/*
 * pki_internal.h - the interface between pki.c, names.c and tls.c: certificates as OpenSSL objects.
 */
#ifndef TLS_PKI_INTERNAL_H
#define TLS_PKI_INTERNAL_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "tls/pki.h"

/* Parse a certificate or a key. `what` begins the error message: "the certificate". They never
 * ask for a passphrase. -EINVAL if the text is malformed. */
int cert_read(const char *text, const char *what, X509 **ret, struct err *err);
int key_read(const char *text, const char *what, EVP_PKEY **ret, struct err *err);
void cert_write(X509 *cert, struct strbuf *out);

/* Adds the role's URI and the hosts (may be NULL) as subject alternative names. -EINVAL: a name
 * is not valid. */
int cert_names_add(X509 *cert, const struct cert_names *who, const char *hosts, struct err *err);
/* Reads the subject; CERT_NOBODY unless it has exactly one well-formed URI of ours. */
void cert_names_get(X509 *cert, struct cert_names *ret);
void cert_fingerprint(X509 *cert, char ret[FINGERPRINT_SIZE]);
int64_t cert_time(const ASN1_TIME *t); /* seconds since 1970; INT64_MIN if it can't be read */

#endif
