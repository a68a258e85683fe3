/*
 * listener.h - one TCP port for everything over TLS: frames (agents), HTTP (the API), and users of
 * an agent's spool, distinguished by ALPN.
 *
 * HTTP is decrypted here and copied through a socket pair, whose other end goes to http_adopt():
 * one TLS library, one certificate, one port to open in a firewall.
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "net/http.h"
#include "net/link.h"

struct listener;

struct listener_limits {
	/* Each kind of connection has a limit of its own, so that none keeps another out. */
	int connections; /* links; more are closed at once */
	/* connections in the handshake: beyond this the oldest is closed; and the same number of
	 * HTTP: more are closed, unless an idle one can be closed instead */
	int strangers;
	int strangers_per_address; /* the same from one address (IPv6: /64) */
	/* no limit per address for HTTP: its server limits users and addresses */
	bool askers_by_user;
	/* links with one name in the certificate; more are closed. 0: unlimited */
	int links_per_host;
	int handshake_seconds;
	/* HTTP: without accepting what is sent to it. http, which knows streams and requests,
	 * ends silent clients */
	int idle_seconds;
};

struct listener_events {
	/* Gets a link whose handshake is done and whose peer has a certificate of this cluster.
	 * The owner calls link_events_set() at once; `ready` is not called. NULL: frames are not
	 * served. */
	void (*link)(void *context, struct link *l);
	/* Gets a decrypted connection, to be given to http_adopt(). NULL: HTTP is not served. */
	void (*http)(void *context, int fd, const char *address);
	/* Gets a decrypted connection that speaks TLS_SPOOL. NULL: that is not served. */
	void (*spool)(void *context, int fd, const char *address);
	/* Closes an idle HTTP connection, if there are too many or no descriptor is left.
	 * Returns false if none is idle. NULL: there never is one. */
	bool (*room)(void *context);
};

/* Takes a reference of `c`. `where`: "7722", "0.0.0.0:7722", "[::]:7722", "127.0.0.1:0". Listens
 * on all addresses of both families if none is named. */
int listener_open(uv_loop_t *loop, const char *where, struct tls_context *c, const struct listener_limits *limits,
		  const struct listener_events *e, void *context, struct listener **ret, struct err *err);
/* Uses another identity for later connections: a certificate was renewed. */
void listener_identity(struct listener *l, struct tls_context *c);
/* Ends the links of nodes that are now revoked, no matter who owns them, except those being
 * closed. */
void listener_revoke(struct listener *l, const struct revoked *r);
int listener_port(const struct listener *l);
void listener_close(struct listener *l); /* links that were delivered stay open */

#endif
