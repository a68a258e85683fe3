/*
 * listener.h - one TCP port for everything that comes over TLS: frames (agents), HTTP (the API), and users at an agent's spool, told apart by ALPN.
 *
 * HTTP is decrypted here and pumped through a socket pair, whose other end is handed to http_adopt(): one TLS library, one certificate, one
 * port to open in a firewall.
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "net/http.h"
#include "net/link.h"

struct listener;

struct listener_limits {
	/* Each crowd has a bound of its own, so that none keeps another out. */
	int connections; /* links; more are closed at once */
	int strangers; /* in the handshake: if there are more, who has been in it for longest is closed; and as many of HTTP: more are closed, unless one that idles makes room; */
	int strangers_per_address; /* ... from one address (of IPv6: /64), */
	bool askers_by_user;	   /* ... but for HTTP: who serves it bounds users and addresses */
	int links_per_host;	   /* with one name in the certificate; more are closed. 0: as many as there may be */
	int handshake_seconds;
	int idle_seconds; /* HTTP: without taking what is sent to it. Silence is for http to end, which knows streams and requests */
};

struct listener_events {
	/* A link whose handshake is done and whose peer showed a certificate of this cluster. The owner calls link_events_set(), at once;
	 * `ready` is not called. NULL: frames are not served. */
	void (*link)(void *context, struct link *l);
	/* A decrypted connection, to be given to http_adopt(). NULL: HTTP is not served. */
	void (*http)(void *context, int fd, const char *address);
	/* The same of one that wants to speak TLS_SPOOL. NULL: that is not served. */
	void (*spool)(void *context, int fd, const char *address);
	/* There are too many of HTTP, or no descriptor is left: closes one that idles. False: none does. NULL: none ever does. */
	bool (*room)(void *context);
};

/* `c` gets one more reference. `where`: "7722", "0.0.0.0:7722", "[::]:7722", "127.0.0.1:0". All addresses of both families if none is named. */
int listener_open(uv_loop_t *loop, const char *where, struct tls_context *c, const struct listener_limits *limits,
		  const struct listener_events *e, void *context, struct listener **ret, struct err *err);
/* Later connections use another identity: a certificate was renewed. */
void listener_identity(struct listener *l, struct tls_context *c);
/* Ends the links of nodes that are revoked by now, whoever owns them; but for those that are being closed. */
void listener_revoke(struct listener *l, const struct revoked *r);
int listener_port(const struct listener *l);
void listener_close(struct listener *l); /* links that were handed over live on */

#endif
