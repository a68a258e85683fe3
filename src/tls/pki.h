/*
 * pki.h - keys, certificates and tokens of a cluster. Callers see everything as PEM text.
 */
#ifndef TLS_PKI_H
#define TLS_PKI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

enum cert_role { CERT_NOBODY, CERT_SERVER, CERT_NODE };

/* The subject of a certificate: "shunt:server:NAME", "shunt:node:NAME:JOIN". */
struct cert_names {
	enum cert_role role;
	char name[256];
	uint64_t join; /* a node's join number */
};

#define FINGERPRINT_SIZE 65 /* SHA-256 of the certificate: 64 hexadecimal digits and a NUL */

int pki_key(struct strbuf *ret_key, struct err *err); /* creates an EC P-256 key */
/* Creates an authority that is valid for 30 years. */
int pki_authority(const char *cluster, struct strbuf *ret_key, struct strbuf *ret_cert, struct err *err);
/* Creates a request without names: the issuer assigns them. */
int pki_request(const char *key, struct strbuf *ret_csr, struct err *err);
/* Issues a certificate. `hosts` (may be NULL): blank-separated names and addresses for programs
 * that check them, such as curl. It is valid from a day ago (clocks differ) until `life` seconds
 * from now. The request is untrusted: any error in it returns -EINVAL with a message. */
int pki_issue(const char *authority_key, const char *authority_cert, const char *csr, size_t n,
	      const struct cert_names *who, const char *hosts, int64_t life, struct strbuf *ret_cert, struct err *err);
/* Reads the names of the first certificate in a text. -EINVAL if there are none. */
int pki_names(const char *cert, struct cert_names *ret, struct err *err);
int pki_fingerprint(const char *cert, char ret[FINGERPRINT_SIZE], struct err *err);
int pki_validity(const char *cert, int64_t *ret_from, int64_t *ret_until, struct err *err);
/* Checks that the authority issued the certificate, even if it has expired: -EKEYREJECTED if
 * not. */
int pki_issued(const char *authority_cert, const char *cert, struct err *err);
/* Sign a text with a key (base64), and verify a signature with the key of a certificate:
 * -EKEYREJECTED if it does not match. */
int pki_sign(const char *key, const char *text, size_t n, struct strbuf *ret, struct err *err);
int pki_verify(const char *cert, const char *text, size_t n, const char *signature, size_t nsignature, struct err *err);

/* ---- tokens: "ID.SECRET.FINGERPRINT" ---- */

/* The secret is shown once; only its hash is stored. FINGERPRINT is the first 32 digits of the
 * authority's, so that a newcomer knows which authority to trust. */
#define TOKEN_SIZE 256
struct token {
	/* letters and digits: "j3" lets a node join, "u7" is a user's, "a12-3.1" (may contain .
	 * and -) a job's */
	char id[64];
	char secret[64];		    /* URL-safe base64 */
	char fingerprint[FINGERPRINT_SIZE]; /* possibly only the first digits */
};
int token_parse(const char *text, struct token *ret, struct err *err);
void token_write(const struct token *t, char ret[TOKEN_SIZE]);
/* Reads a token from the first line of a file, or of standard input for "-", prompting on a
 * terminal. Returns malloc'd text, or NULL with a message if there is none. */
char *token_read(const char *file, struct err *err);
void secret_random(char ret[64]);				  /* 128 random bits */
void secret_hash(const char *secret, char ret[FINGERPRINT_SIZE]); /* SHA-256 */
/* Derives a secret that need not be stored: HMAC-SHA-256 of `text`, URL-safe base64. */
void secret_mac(const char *key, const char *text, char ret[64]);
bool secret_equal(const char *a, const char *b); /* compares in constant time */

#endif
