/*
 * realm.h - the cluster that this server leads, or stands by for: its authority, and who may be a part of it.
 */
#ifndef SERVER_REALM_H
#define SERVER_REALM_H

#include <stdint.h>

#include "tls/pki.h"

struct identity;
struct lead;
struct listener;
struct revocations;
struct tasks;
struct tokens;

/* The cluster's own (cluster.c). */
struct authority {
	char *key, *cert, *secret; /* PEM; PEM; what job tokens are derived from */
	char fingerprint[FINGERPRINT_SIZE];
};

struct realm {
	struct authority authority;
	struct identity *identity;	 /* cluster.c: this server's certificate */
	struct tokens *tokens;		 /* tokens.c */
	struct revocations *revocations; /* revoke.c */
	struct listener *listener;	 /* TLS; NULL: none */
	struct tasks *tasks;		 /* of jobs on this machine and others; NULL: none */
	char owner[320];		 /* what the store calls us: the same after a restart, another's never */
	struct lead *lead;		 /* standby.c; NULL: nobody has asked who leads */
	int64_t lead_us;		 /* boot_us when this server began to lead */
	uint64_t epoch;
	uint64_t next_token;
	uint64_t
		join_floor; /* next_join as it was when this server began to lead: what is above may be unknown to a restored store */
};

#endif
