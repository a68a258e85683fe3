/*
 * client_internal.h - what client.c (asking), route.c (over TLS) and choose.c (which server) share.
 */
#ifndef CLIENT_CLIENT_INTERNAL_H
#define CLIENT_CLIENT_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "client/client.h"
#include "client/clusters.h"
#include "client/far.h"
#include "client/offline.h"
#include "client/response.h"

#define CLIENT_BUFFER 65536

/* The way to a server on another host: `shunt-connect`, which speaks TLS, over a socketpair. */
struct route {
	char *name;		/* of the cluster, for sentences */
	VEC(char *) servers;	/* in the order in which they are tried */
	char *ca, *fingerprint; /* whom to trust: one of them */
	char *token;
	pid_t pid;	  /* of shunt-connect; 0: none */
	char where[300];  /* the server that answered */
	char leader[300]; /* whom it was told to ask, and has not been asked since */
};
struct route *route_create(const char *name, const char *servers);
void route_free(struct route *r);
/* Starts shunt-connect: the socket to it, or -errno. Then comes its line: "ok WHERE", "error SENTENCE" or "absent SENTENCE". */
int route_start(struct route *r, struct err *err);
int route_answered(struct route *r, const char *line, struct err *err);
void route_end(struct route *r); /* ends shunt-connect */
/* The server that answered does not lead. `leader`: who does, or "". Returns how long to wait (ms) before the next is tried. */
int route_follow(struct route *r, const char *leader);

/* Starts shunt-connect with these arguments: the socket to it, or -errno. `ca_text`: a certificate that it gets as ARGUMENT_CA, or NULL. */
#define ARGUMENT_CA "/proc/self/fd/3"
int connect_start(char *const *argv, const char *ca_text, pid_t *ret, struct err *err);

/* The seal of a change (tray.h), which shunt-connect makes: commands don't load OpenSSL. */
#define SEAL_SIZE 64
struct token;
int text_seal(const struct token *t, const char *text, char ret[SEAL_SIZE], struct err *err); /* of any text */
int seal_make(const struct token *t, const char *lease, const struct change *c, char ret[SEAL_SIZE], struct err *err);

struct client {
	char *socket;		  /* its path; of a route: what to call it */
	struct route *route;	  /* or NULL: a socket of this host */
	char *offline;		  /* the directory of the spool, for when it does not run; or NULL */
	struct far *far;	  /* the spool of another host's agent, if this one has none; or NULL */
	bool far_used;		  /* that is the spool that answers */
	struct offline_seen seen; /* what is in it */
	char *name;		  /* of the server that does not run, after an answer without it; or NULL */
	char *user;		  /* for whom a site asks; or NULL */
	char *standby;		  /* its server's address, if that stands by; or NULL */
	int fd;			  /* -1: not connected */
	bool used;		  /* this connection has carried a request before */
	int timeout;		  /* seconds */
	bool waits_anyway;	  /* `wait` is the user's choice */
	int wait;		  /* seconds that a server which is not there is waited for */
	bool doubt;		  /* the present request was sent, and no answer has come */
	int64_t asked;		  /* ms: when the present request began */
	bool told;		  /* the user knows that we wait */
	bool may_sleep;		  /* a stream that has begun */
	bool yields;		  /* a signal ends the waiting */
	bool upgraded;		  /* the connection is the caller's */
	int at, n;		  /* unread bytes in `buffer` */
	struct response answer;
	struct strbuf head;
	char code[40];
	char buffer[CLIENT_BUFFER];
};
struct client *client_create(const char *socket, struct route *route); /* takes the route over */

#endif
