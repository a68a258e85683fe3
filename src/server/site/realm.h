/*
 * realm.h - the cluster that this server leads, or stands by for: its authority, and who may be a part of it.
 */
#ifndef SERVER_REALM_H
#define SERVER_REALM_H

#include "tls/pki.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asker;
struct err;
struct http_request;
struct json;
struct link;
struct server;
struct strbuf;
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

/* The cluster's own (realm.c). */
struct authority {
	char *key, *cert, *secret; /* PEM; PEM; what job tokens are derived from */
	char fingerprint[FINGERPRINT_SIZE];
};

struct realm {
	struct authority authority;
	struct identity *identity;			/* realm.c: this server's certificate */
	struct courier *courier, *keeper;		/* courier.c; NULL: there has been none */
	struct simulator *simulator;			/* simulator.c; NULL: none was asked for */
	int (*open)(struct server *s, struct err *err); /* opens the port, where it is needed only now */
	struct tokens *tokens;				/* tokens.c */
	struct sessions *sessions;			/* sessions.c */
	int page_port;					/* where the page is served; 0: nowhere */
	struct listener *page;				/* over TLS; NULL: not, or not so */
	struct signin *signin;				/* signin.c; NULL: passwords can't be checked */
	struct revocations *revocations;		/* revoke.c */
	struct listener *listener;			/* TLS; NULL: none */
	struct tasks *tasks;				/* of jobs on this machine and others; NULL: none */
	char owner[320];   /* what the store calls us: the same after a restart, another's never */
	struct lead *lead; /* standby.c; NULL: nobody has asked who leads */
	int64_t lead_us;   /* boot_us when this server began to lead */
	uint64_t epoch;
	uint64_t next_token;
	uint64_t
		join_floor; /* next_join as it was when this server began to lead: what is above may be unknown to a restored store */
};

/* What recover() has not found is made. */
int realm_begin(struct server *s, struct err *err);
int realm_load(struct server *s, struct err *err); /* what a standby needs to know before recovery */
void realm_locate(struct server *s);		   /* realm_address() by the configuration and the open port */
int realm_register(struct server *s, bool stopped, struct err *err);  /* tells the other servers of this one */
int realm_look(struct server *s, bool *ret_changed, struct err *err); /* what the others have told; NULL: whatever */
/* Another that runs, or may: any, or one with jobs on its own machine. NULL: there is none. */
const char *realm_other(const struct server *s, bool any, bool *ret_jobs);
int realm_object(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
/* Opens the port, if there is one to open: API and agents. */
int realm_listen(struct server *s, void (*link)(void *context, struct link *l), struct err *err);
int realm_certify(struct server *s, const char *csr, size_t n, const char *node, uint64_t join, struct strbuf *ret_cert,
		  struct err *err);
extern const struct schema peer_schema;			    /* a server of the cluster */
void realm_roles(const struct server *s, struct json *j);   /* elements of a list of them, this one first */
void realm_servers(const struct server *s, struct json *j); /* addresses into an open list, this one first */
const char *
realm_address(const struct server *s); /* what others call this server, with its port; "": no port is open */
struct tls_context *
realm_tls(struct server *s);	    /* for connections to others; borrowed until it is renewed; NULL: no port is open */
void realm_files(struct server *s); /* who this machine is among those that files are carried between */
void realm_close(struct server *s); /* the port; agents' links live on */
int64_t realm_certified(const struct server *s); /* when this server's certificate expires; 0: it has none */
json_t *agents_servers(const struct server *s);	 /* an array of addresses, this one first */

#endif
