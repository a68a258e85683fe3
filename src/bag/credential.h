/*
 * credential.h - what a worker on another host needs in order to join: the broker's addresses, its
 * fingerprint, and a secret that is valid for one worker.
 *
 *	where 10.0.0.5:40123		tried in turn
 *	fingerprint 2f...		of the certificate authority of the broker's gate (gate.c)
 *	secret 9b...			one line per worker; each takes its own
 *
 * Credentials are kept in files that only their owner may read, and never appear on a command line.
 */
#ifndef BAG_CREDENTIAL_H
#define BAG_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

enum {
	CREDENTIAL_PLACES = 16,
	CREDENTIAL_MOST = 1 << 20, /* bytes of a file */
	SECRET_SIZE = 33,	   /* 128 bits as hexadecimal digits, and a NUL */
};

struct credential {
	char where[CREDENTIAL_PLACES][128];
	int nwhere;
	char fingerprint[65];
	char secret[SECRET_SIZE];
};

void secret_make(char ret[SECRET_SIZE]);
/* Writes the text of a credential file for these secrets. */
void credential_put(const struct credential *c, const char (*secrets)[SECRET_SIZE], size_t n, struct strbuf *out);
/* Parses a credential file, with the secret in line `number`, from 0. -EINVAL with the line;
 * -ENOENT: it has no such secret. */
int credential_parse(const char *text, size_t n, int64_t number, struct credential *ret, struct err *err);
/* Reads a credential file; "-": standard input. -EACCES: others may read it. */
int credential_read(const char *path, int64_t number, struct credential *ret, struct err *err);
/* Writes a file that only its owner may read, replacing an existing one. */
int credential_write(const char *path, const char *text, size_t n, struct err *err);

#endif
