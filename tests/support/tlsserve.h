/*
 * tlsserve.h - a small HTTP server over TLS in a child process, one connection at a time, for the tests of commands on other hosts.
 *
 *	/hello		"hello", and the connection stays
 *	/close		"hello", and it is closed
 *	/who		{"authorization": ..., "method": ..., "bytes": of the body}
 *	/big?N		N bytes
 *	/v1/cluster	{"fingerprint": ...}
 *	/drop		closed without an answer
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
	struct shared *shared; /* with the child */
};

struct shared {
	int connections, requests, drops;
	int standby;	 /* 1: it does not lead */
	char leader[64]; /* whom it names then; "": nobody */
};

void tlsserve_start(const struct authority *a, const struct identity *id, struct tlsserve *ret);
void tlsserve_stop(struct tlsserve *s); /* kills it */
/* A port of this host that nobody listens on. */
void address_unused(char ret[64]);

#endif
