/*
 * pki.h - keys, certificates and tokens of a cluster. Everything is PEM text outside of here.
 */
#ifndef TLS_PKI_H
#define TLS_PKI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

enum cert_role { CERT_NOBODY, CERT_SERVER, CERT_NODE };

/* Whom a certificate names: "shunt:server:NAME", "shunt:node:NAME:JOIN". */
struct cert_names {
	enum cert_role role;
	char name[256];
	uint64_t join; /* of a node: the number of its join */
};

#define FINGERPRINT_SIZE 65 /* SHA-256 of the certificate, 64 hexadecimal digits and a NUL */

int pki_key(struct strbuf *ret_key, struct err *err); /* a new EC P-256 key */
int pki_authority(const char *cluster, struct strbuf *ret_key, struct strbuf *ret_cert, struct err *err); /* 30 years */
int pki_request(const char *key, struct strbuf *ret_csr, struct err *err); /* the names are the issuer's to give */
/* Signs. `hosts` (may be NULL): names and addresses joined by blanks, for programs that look at them, as curl does. Valid from a day
 * ago (clocks differ), for `life` seconds from now. The request is someone else's text: anything wrong with it is -EINVAL and a sentence. */
int pki_issue(const char *authority_key, const char *authority_cert, const char *csr, size_t n,
	      const struct cert_names *who, const char *hosts, int64_t life, struct strbuf *ret_cert, struct err *err);
/* Of the first certificate in a text. -EINVAL. */
int pki_names(const char *cert, struct cert_names *ret, struct err *err);
int pki_fingerprint(const char *cert, char ret[FINGERPRINT_SIZE], struct err *err);
int pki_validity(const char *cert, int64_t *ret_from, int64_t *ret_until, struct err *err);
/* By that authority, be it expired by now: -EKEYREJECTED if not. */
int pki_issued(const char *authority_cert, const char *cert, struct err *err);
/* A signature of a text, base64, with a key; whether it is one with the key of that certificate: -EKEYREJECTED if not. */
int pki_sign(const char *key, const char *text, size_t n, struct strbuf *ret, struct err *err);
int pki_verify(const char *cert, const char *text, size_t n, const char *signature, size_t nsignature, struct err *err);

/* ---- tokens: "ID.SECRET.FINGERPRINT" ---- */

/* A secret that is shown once; whoever keeps it keeps its hash. FINGERPRINT: the first 32 digits of the authority's, so that a
 * newcomer knows whom to trust. */
#define TOKEN_SIZE 256
struct token {
	char id[64]; /* letters and digits: "j3" lets a node join, "u7" is a user's, "a12-3.1" (may hold . and -) a job's */
	char secret[64];		    /* URL-safe base64 */
	char fingerprint[FINGERPRINT_SIZE]; /* as many digits as there are */
};
int token_parse(const char *text, struct token *ret, struct err *err);
void token_write(const struct token *t, char ret[TOKEN_SIZE]);
/* The first line of a file; "-": of the standard input, which is asked for it if it is a terminal. Malloc'd; NULL and a sentence if there is none. */
char *token_read(const char *file, struct err *err);
void secret_random(char ret[64]);				  /* 128 random bits */
void secret_hash(const char *secret, char ret[FINGERPRINT_SIZE]); /* SHA-256 */
void secret_mac(const char *key, const char *text,
		char ret[64]); /* HMAC-SHA-256 of `text`, URL-safe base64: secrets that are derived, not kept */
bool secret_equal(const char *a, const char *b); /* in constant time */

#endif
