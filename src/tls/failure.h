/*
 * failure.h - OpenSSL's errors as sentences that a user understands, and as errno.
 *
 *	-EKEYEXPIRED	a certificate has expired, or is not valid yet
 *	-EKEYREJECTED	a certificate is wrong in another way; the other side says so of ours
 *	-EPROTO		this is no TLS 1.3, or not ours
 *	-ECONNRESET	the other side closed without a word
 */
#ifndef TLS_FAILURE_H
#define TLS_FAILURE_H

#include <openssl/x509.h>

#include "base/err.h"

int failure_of_chain(X509_STORE_CTX *store, struct err *err); /* X509_verify_cert() said no */
int failure_of_queue(struct err *err);			      /* of the last call; the queue of errors is emptied */
const char *failure_reason(void);			      /* OpenSSL's own words */

#endif
