/*
 * tlsserve.h - a small HTTP server over TLS in a child process, one connection at a time, for the
 * tests of commands that connect to other hosts.
 *
 *	/hello		"hello"; the connection stays open
 *	/close		"hello"; then closes the connection
 *	/who		{"authorization": ..., "method": ..., "bytes": of the body}
 *	/big?N		N bytes
 *	/v1/cluster	{"fingerprint": ...}
 *	/drop		closes without an answer
 *
 * A standby answers everything with 503 "not_leader".
 */
#ifndef SUPPORT_TLSSERVE_H
#define SUPPORT_TLSSERVE_H

#include <sys/types.h>

#include "support/certs.h"

struct tlsserve {
	pid_t pid;
	char where[64];	       /* 127.0.0.1:PORT */
	struct shared *shared; /* shared with the child */
};

struct shared {
	int connections, requests, drops;
	int standby;	 /* 1: it does not lead */
	char leader[64]; /* leader that it names then; "": none */
};

void tlsserve_start(const struct authority *a, const struct identity *id, struct tlsserve *ret);
void tlsserve_stop(struct tlsserve *s); /* kills it */
/* Writes an address of this host on which nothing listens. */
void address_unused(char ret[64]);

#endif
