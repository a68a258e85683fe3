/*
 * failure.h - translates OpenSSL's errors into sentences that a user understands, and into errno.
 *
 *	-EKEYEXPIRED	a certificate has expired, or is not valid yet
 *	-EKEYREJECTED	a certificate is wrong in another way, or the peer rejected ours
 *	-EPROTO		the peer does not speak TLS 1.3, or not our protocol
 *	-ECONNRESET	the peer closed without an alert
 */
#ifndef TLS_FAILURE_H
#define TLS_FAILURE_H

#include <openssl/x509.h>

#include "base/err.h"

/* Translates the error after X509_verify_cert() has failed. */
int failure_of_chain(X509_STORE_CTX *store, struct err *err);
int failure_of_queue(struct err *err); /* error of the last call; empties OpenSSL's error queue */
const char *failure_reason(void);      /* OpenSSL's own wording */

#endif
