/* realm.h - the cluster that this server leads or stands by for: its authority and its members. */
#ifndef SERVER_REALM_H
#define SERVER_REALM_H

#include "tls/pki.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct link;
struct server;
struct tls_context;
struct identity;
struct lead;
struct listener;
struct revocations;
struct schema;
struct tasks;
struct courier;
struct sessions;
struct simulator;
struct signin;
struct tokens;

/* The cluster's certificate authority (realm.c). */
struct authority {
	char *key, *cert, *secret; /* PEM; PEM; secret that job tokens are derived from */
	char fingerprint[FINGERPRINT_SIZE];
};

struct realm {
	struct authority authority;
	struct identity *identity;			/* this server's certificate (realm.c) */
	struct courier *courier, *keeper;		/* NULL: not started yet (courier.c) */
	struct simulator *simulator;			/* NULL: not used yet (simulator.c) */
	int (*open)(struct server *s, struct err *err); /* opens the port when it is first needed */
	struct tokens *tokens;				/* tokens.c */
	struct sessions *sessions;			/* sessions.c */
	int page_port;					/* port of the web page; 0: none */
	struct listener *page;				/* TLS listener of the page; NULL: none */
	/* NULL: passwords cannot be checked (signin.c) */
	struct signin *signin;
	struct revocations *revocations; /* revoke.c */
	struct listener *listener;	 /* TLS listener; NULL: none */
	/* tasks of jobs on this machine and others; NULL: none */
	struct tasks *tasks;
	/* our name in the store: the same after a restart, never another server's */
	char owner[320];
	struct lead *lead; /* NULL: the lead was not requested yet (standby.c) */
	int64_t lead_us;   /* boot_us when this server began to lead */
	uint64_t epoch;
	uint64_t next_token;
	/* next_join when this server began to lead: a restored store may not know greater
	 * numbers */
	uint64_t join_floor;
};

/* Creates whatever recovery has not found. */
int realm_begin(struct server *s, struct err *err);
int realm_load(struct server *s, struct err *err); /* loads what a standby needs before recovery */
/* Computes realm_address() from the configuration and the open port. */
void realm_locate(struct server *s);
/* Registers this server with the other servers. */
int realm_register(struct server *s, bool stopped, struct err *err);
/* Reads the registrations of the others; ret_changed may be NULL. */
int realm_look(struct server *s, bool *ret_changed, struct err *err);
/* Returns another server that runs or may run: any, or one with jobs on its own machine. NULL:
 * there is none. */
const char *realm_other(const struct server *s, bool any, bool *ret_jobs);
/* Restores a part of the authority, at recovery. */
int realm_object(struct server *s, const char *name, const json_t *o, struct err *err);
/* Opens the port for API and agents, if one is configured. */
int realm_listen(struct server *s, void (*link)(void *context, struct link *l), struct err *err);
int realm_certify(struct server *s, const char *csr, size_t n, const char *node, uint64_t join, struct strbuf *ret_cert,
		  struct err *err);
extern const struct schema peer_schema; /* a server of the cluster */
/* Writes the elements of a list of servers, this one first. */
void realm_roles(const struct server *s, struct json *j);
/* Writes addresses into an open list, this one first. */
void realm_servers(const struct server *s, struct json *j);
/* Address of this server for others, with its port; "": no port is open. */
const char *realm_address(const struct server *s);
/* Returns the TLS context for connections to others; borrowed until it is renewed; NULL: no port
 * is open. */
struct tls_context *realm_tls(struct server *s);
void realm_files(struct server *s); /* sets this machine's identity for file transfers */
void realm_close(struct server *s); /* closes the port; agents' links stay open */
/* Returns the expiry of this server's certificate; 0: it has none. */
int64_t realm_certified(const struct server *s);
/* Returns a new array of addresses, this server's first. */
json_t *agents_servers(const struct server *s);

#endif
