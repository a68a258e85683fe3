/*
 * client_internal.h - shared by client.c (requests), route.c (TLS) and choose.c (which server).
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

/* A connection to a server on another host through `shunt-connect`, which speaks TLS, over a
 * socketpair. */
struct route {
	char *name;		/* name of the cluster, for messages */
	VEC(char *) servers;	/* in the order to try */
	char *ca, *fingerprint; /* trust anchor: one of the two is set */
	char *token;
	pid_t pid;	  /* process id of shunt-connect; 0: none */
	char where[300];  /* the server that answered */
	char leader[300]; /* last leader followed without a pause; or "" */
};
struct route *route_create(const char *name, const char *servers);
void route_free(struct route *r);
/* Starts shunt-connect. Returns the socket to it, or -errno. It first writes a line: "ok WHERE",
 * "error SENTENCE" or "absent SENTENCE". */
int route_start(struct route *r, struct err *err);
int route_answered(struct route *r, const char *line, struct err *err);
void route_end(struct route *r); /* ends shunt-connect */
/* Records that the server that answered does not lead; `leader` does, or "". Returns how long to
 * wait before the next attempt, ms. */
int route_follow(struct route *r, const char *leader);

/* Starts shunt-connect with these arguments. Returns the socket to it, or -errno. `ca_text` is a
 * certificate that it reads from ARGUMENT_CA, or NULL. */
#define ARGUMENT_CA "/proc/self/fd/3"
int connect_start(char *const *argv, const char *ca_text, pid_t *ret, struct err *err);

/* Makes the seal of a change (tray.h). shunt-connect computes it: commands do not load OpenSSL. */
#define SEAL_SIZE 64
struct token;
/* Seals any text. */
int text_seal(const struct token *t, const char *text, char ret[SEAL_SIZE], struct err *err);
int seal_make(const struct token *t, const char *lease, const struct change *c, char ret[SEAL_SIZE], struct err *err);

struct client {
	char *socket;	     /* path of the socket; with a route: its name for messages */
	struct route *route; /* NULL: a socket of this host */
	/* directory of the spool for when the server does not run; or NULL */
	char *offline;
	/* spool of another host's agent, if this host has none; or NULL */
	struct far *far;
	bool far_used;		  /* `far` is the spool in use */
	struct offline_seen seen; /* contents of the spool */
	/* name of the absent server, after an answer without it; or NULL */
	char *name;
	char *user;	   /* user on whose behalf a site sends requests; or NULL */
	char *standby;	   /* address of this machine's server if that stands by; or NULL */
	int fd;		   /* -1: not connected */
	int connections;   /* number of connections made */
	bool used;	   /* this connection has carried a request before */
	bool once;	   /* the connection is for one request */
	int timeout;	   /* seconds */
	bool waits_anyway; /* the user chose `wait` */
	int wait;	   /* how long to wait for an absent server, s */
	bool doubt;	   /* the current request was sent and no answer has come */
	int64_t asked;	   /* when the current request began, ms */
	bool told;	   /* the user knows that we are waiting */
	bool may_sleep;	   /* a stream has begun: it may be silent */
	bool yields;	   /* a signal ends the wait */
	bool upgraded;	   /* the connection belongs to the caller */
	int at, n;	   /* unread bytes in `buffer` */
	struct response answer;
	struct strbuf head;
	char code[40];
	char buffer[CLIENT_BUFFER];
};
/* Takes ownership of the route. */
struct client *client_create(const char *socket, struct route *route);

#endif
