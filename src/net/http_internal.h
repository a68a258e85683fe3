/*
 * http_internal.h - the interface between the listener (http.c), its bounds (limits.c) and its
 * requests (request.c).
 *
 * A request passes through these stages, each once and in this order; MHD calls us at each:
 *
 *	HEAD      the request line was read; headers and then the body come
 *	BODY      headers were accepted
 *	HANDED    complete: the connection is suspended, the handler has it
 *	ANSWERED  the answer is made; it waits for http_flush(), which resumes the connection
 *	SENDING   MHD has the answer; a stream sleeps (suspended) and wakes in this stage
 */
#ifndef NET_HTTP_INTERNAL_H
#define NET_HTTP_INTERNAL_H

#include <microhttpd.h>

#include "base/code.h"
#include "base/map.h"
#include "base/vec.h"
#include "net/http.h"
#include "net/url.h"

#define STREAM_BLOCK 65536 /* bytes asked of a stream's source at a time */

enum stage { STAGE_HEAD, STAGE_BODY, STAGE_HANDED, STAGE_ANSWERED, STAGE_SENDING };

enum door { DOOR_LOCAL, DOOR_TLS, DOOR_PAGE, DOORS };

/* The share of a user of this machine, kept forever, since users are few, or of an address, kept
 * while it is in use. */
struct share {
	uint64_t key;
	struct share *prev, *next; /* list of addresses */
	int connections;
	int leaving;	 /* connections that were cut off and are not closed yet */
	double tokens;	 /* requests that may come at once */
	uint64_t filled; /* ms: when tokens were last added */
};

struct connection {
	struct http *http;
	struct connection *prev, *next;
	int fd;
	struct peer peer;
	/* address of a connection through TLS or the page's port; NULL: the local socket, with a
	 * known uid */
	char *remote;
	enum door door;
	/* true once a request has identified its sender; `share` is then that user's, if the
	 * user is one of this machine */
	bool known;
	struct share *share;
	bool reserved; /* true if it counts in http->reserved */
	/* error for each of its requests, one connection too many; or CODE_NONE */
	enum code refusal;
	struct http_request *r; /* the current request, or NULL */
	uint64_t since;		/* ms: time of the last complete request */
	bool evicted;		/* cut off to admit another; MHD has not noticed yet */
};

/* What is known of a descriptor that MHD was given. MHD makes its connection at once, or in its
 * next run (libmicrohttpd 1.0). */
struct arrival {
	int fd;
	char *remote; /* the connection's address; NULL: the local socket */
	enum door door;
};

struct header {
	const char *name, *value;
};

struct http_request {
	struct http *http;
	struct connection *connection;
	struct MHD_Connection *mhd;
	struct arena *arena;
	enum stage stage;
	const char *target, *method;
	struct url url;
	struct strbuf body;
	bool head;		    /* true if only the head of the answer is wanted */
	bool stranger;		    /* came by TLS from an unknown sender */
	bool too_large;		    /* the body exceeds the limit; the rest is read and dropped */
	VEC(struct header) headers; /* headers of the answer */
	struct MHD_Response *response;
	int status;
	bool queued; /* in http->ready */
	/* fields of a stream */
	bool streams, asleep, gone, ended;
	struct stream_source source;
	struct strbuf out; /* output of the source, sent up to `sent` */
	size_t sent;
	struct upgrade *upgrade;   /* set if the answer leaves HTTP */
	const struct inner *inner; /* set if it did not come from a connection */
	void *attached;		   /* what the handler keeps with it; NULL: nothing */
	void (*leave)(void *attached);
};

struct http {
	uv_loop_t *loop;
	struct MHD_Daemon *daemon;
	struct http_limits limits;
	http_handler handler;
	void *context;
	int listening, page; /* page -1: it has no port */
	/* listening socket; polled here because MHD stops accepting for good once it has run out
	 * of descriptors */
	uv_poll_t accepts;
	uv_poll_t page_accepts;
	uv_timer_t rest; /* pause in accepting when no descriptor is left */
	uv_poll_t poll;	 /* MHD's epoll descriptor */
	/* hang-ups of clients of sleeping streams, which MHD does not notice while a connection
	 * is suspended */
	uv_poll_t leaves;
	int leaves_fd;
	uv_timer_t wake;  /* timeout that MHD asks for */
	uv_idle_t again;  /* runs MHD in the next turn */
	uv_timer_t sweep; /* closes idle connections */
	int handles;	  /* handles not closed yet; memory is freed with the last one */
	bool stopping;
	bool resumed; /* a connection was resumed: MHD must run */
	struct connection *connections;
	VEC(struct arrival) arrivals; /* at most one for each descriptor */
	struct map share_of;	      /* uid or address key -> struct share */
	struct share *users, *addresses;
	int at[DOORS];			  /* connections of each door, without those cut off and not closed yet */
	int reserved;			  /* connections in the reserve */
	VEC(struct http_request *) ready; /* requests answered or woken since the last flush */
	struct http_stats stats;
};

/* http.c */
void http_wake(struct http *h); /* notes that a connection was resumed: MHD must run */

/* limits.c */
struct connection *connection_create(struct http *h, int fd);
/* Returns what is known of a descriptor, and forgets it; its fd is -1 if there is nothing. */
struct arrival arrival_take(struct http *h, int fd);
void connection_destroy(struct connection *c);
void connections_sweep(struct http *h);	       /* cuts off idle connections */
void connections_evict(struct http *h, int n); /* cuts off up to n idle ones to free descriptors */
void shares_free(struct http *h);
/* Identifies the sender of a request, and counts its connection as that user's. */
void request_identify(struct http_request *r);
/* Returns false if it has refused the request and made the answer. */
bool request_admit(struct http_request *r);

/* request.c */
struct http_request *request_create(struct connection *c, struct MHD_Connection *mhd, const char *target);
void request_destroy(struct http_request *r);
void request_refuse(struct http_request *r, enum code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); /* answers without waiting for a flush */

void request_answer(struct http_request *r, int status, const char *type, struct MHD_Response *response);

/* inner.c */
void inner_answer(struct http_request *r, int status, const char *text, size_t n);
void inner_end(struct http_request *r); /* passes the answer on */

/* upgrade.c */
void upgrade_drop(struct upgrade *u); /* for a request that is destroyed */
void upgrade_end(struct upgrade *u);  /* http stops; the descriptor stays with its taker */

/* stream.c */
struct MHD_Response *stream_response(struct http_request *r);
void stream_resume(struct http_request *r);
void streams_left(struct http *h); /* ends streams whose clients hung up */

/* Frees the request and what it owns. It is here because both request.c and inner.c, which
 * request.c calls, end requests. */
static inline void request_free(struct http_request *r)
{
	if (r->attached)
		r->leave(r->attached);
	url_fini(&r->url);
	strbuf_fini(&r->body);
	strbuf_fini(&r->out);
	vec_free(&r->headers);
	arena_destroy(r->arena);
	free(r);
}

#endif
