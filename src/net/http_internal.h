/*
 * http_internal.h - what the listener (http.c), its bounds (limits.c) and its requests (request.c) share.
 *
 * A request goes through these stages, each once and in this order; MHD calls us at every one of them:
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

/* The share of a user of this machine, kept for good, since they are few; or that of an address, kept while it is in use. */
struct share {
	uint64_t key;
	struct share *prev, *next; /* of addresses */
	int connections;
	int leaving;	 /* of these: were cut off, and are not gone yet */
	double tokens;	 /* requests that may come at once */
	uint64_t filled; /* ms: when tokens were last added */
};

struct connection {
	struct http *http;
	struct connection *prev, *next;
	int fd;
	struct peer peer;
	char *remote; /* the address of one that came through TLS or by the page's port; NULL: of the local socket, with a user behind it */
	enum door door;
	bool known; /* a request has shown who is behind it; `share` is then that user's, if it is one of this machine */
	struct share *share;
	bool reserved;		/* it is one of http->reserved */
	enum code refusal;	/* or CODE_NONE: what each of its requests gets: one connection too many */
	struct http_request *r; /* the present one, or NULL */
	uint64_t since;		/* ms: no complete request since then */
	bool evicted;		/* it was cut off to make room, and MHD has not noticed yet */
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
	bool head;		    /* only the head of the answer is wanted */
	bool stranger;		    /* it came by TLS, and nobody knows from whom */
	bool too_large;		    /* the body went past the limit, and the rest is read and dropped */
	VEC(struct header) headers; /* of the answer */
	struct MHD_Response *response;
	int status;
	bool queued; /* in http->ready */
	/* of a stream */
	bool streams, asleep, gone, ended;
	struct stream_source source;
	struct strbuf out; /* what the source gave, sent up to `sent` */
	size_t sent;
	struct upgrade *upgrade;   /* the answer leaves HTTP */
	const struct inner *inner; /* it came from no connection; else NULL */
};

struct http {
	uv_loop_t *loop;
	struct MHD_Daemon *daemon;
	struct http_limits limits;
	http_handler handler;
	void *context;
	int listening, page; /* page -1: it has no port */
	uv_poll_t accepts;   /* the listening socket: MHD stops accepting for good once it had no descriptor left */
	uv_poll_t page_accepts;
	uv_timer_t rest; /* without accepting, when there is none */
	uv_poll_t poll;	 /* MHD's epoll descriptor */
	uv_poll_t
		leaves; /* of sleeping streams: clients that hang up (MHD does not look while a connection is suspended) */
	int leaves_fd;
	uv_timer_t wake;  /* when MHD asks for it */
	uv_idle_t again;  /* in the next turn */
	uv_timer_t sweep; /* ends connections that idle */
	int handles;	  /* not closed yet; with the last one the memory goes */
	bool stopping;
	bool resumed; /* a connection was, and MHD must run for it */
	struct connection *connections;
	const char *adopts;  /* the address of the connection that is just being added */
	bool adopts_page;    /* it came by the page's port */
	struct map share_of; /* uid, or the key of an address -> struct share */
	struct share *users, *addresses;
	int at[DOORS]; /* connections of each door, but for those that were cut off and are not gone yet */
	int reserved;  /* connections in the reserve */
	VEC(struct http_request *) ready; /* answered or woken since the last flush */
	struct http_stats stats;
};

/* http.c */
void http_wake(struct http *h); /* a connection was resumed: MHD must run for it */

/* limits.c */
struct connection *connection_create(struct http *h, int fd);
void connection_destroy(struct connection *c);
void connections_sweep(struct http *h);	       /* cuts off those that idle */
void connections_evict(struct http *h, int n); /* cuts off up to n that are idle, since descriptors are needed */
void shares_free(struct http *h);
/* Finds out who sends a request, and counts its connection as that user's. */
void request_identify(struct http_request *r);
/* Returns false after it has made an answer: the request is refused. */
bool request_admit(struct http_request *r);

/* request.c */
struct http_request *request_create(struct connection *c, struct MHD_Connection *mhd, const char *target);
void request_destroy(struct http_request *r);
void request_refuse(struct http_request *r, enum code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); /* answers without waiting for a flush */

void request_answer(struct http_request *r, int status, const char *type, struct MHD_Response *response);

/* inner.c */
void inner_answer(struct http_request *r, int status, const char *text, size_t n);
void inner_end(struct http_request *r); /* hands the answer over */

/* upgrade.c */
void upgrade_drop(struct upgrade *u); /* of a request that is destroyed */
void upgrade_end(struct upgrade *u);  /* http stops; the descriptor stays with who took it */

/* stream.c */
struct MHD_Response *stream_response(struct http_request *r);
void stream_resume(struct http_request *r);
void streams_left(struct http *h); /* ends those whose clients hung up */

/* What it owns, and itself. Here, since both request.c and inner.c, which request.c calls, end requests. */
static inline void request_free(struct http_request *r)
{
	url_fini(&r->url);
	strbuf_fini(&r->body);
	strbuf_fini(&r->out);
	vec_free(&r->headers);
	arena_destroy(r->arena);
	free(r);
}

#endif
