/*
 * listener.c - one TCP port for everything over TLS.
 *
 * A guest is a connection from accept until it is closed: first in the handshake, then a link that
 * belongs to someone else, or a pump into HTTP. Anyone can connect, start a handshake, and send
 * HTTP requests, so each of these groups has its own limit, in all and for one address. If too many
 * are in the handshake, a new one replaces the oldest, of the same address if that is at its limit:
 * opening connections and stalling shuts out no node, not even one on the same host.
 */
#include "net/listener.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/link_internal.h"
#include "net/pump.h"

#define ACCEPTS 32  /* maximum connections accepted at once, before other work */
#define REST_MS 200 /* ms without accepting after descriptors ran out */

struct port {
	uv_poll_t poll;
	int fd;
};

/* Guests in one state, newest first. */
struct crowd {
	struct guest *first, *last;
	int n;
	struct map by_address; /* key of the address -> number of guests */
};

/* All links with one name in the certificate. */
struct family {
	uint64_t key;
	int links;
	struct link_share share;
};

struct listener {
	uv_loop_t *loop;
	struct tls_context *tls;
	struct listener_limits limits;
	struct listener_events e;
	void *context;
	struct port port[2];
	int nports, number;
	uv_timer_t rest;
	struct crowd shaking, asking, linked;
	struct map families; /* key of the name -> struct family */
	bool closed;
	int refs; /* handles and guests; the last one frees the memory */
};

struct guest {
	struct listener *listener;
	struct crowd *crowd; /* NULL: it is closed */
	struct guest *prev, *next;
	char address[ADDRESS_SIZE];
	uint64_t key;	 /* key of the address */
	struct tls *tls; /* during the handshake; then NULL */
	struct pump *pump;
	struct link *link;     /* the link that it has become */
	struct family *family; /* all links with the same name */
	uv_poll_t poll;
	uv_timer_t late;
	int handles;
};

/* ---- life ---- */

static void listener_unref(struct listener *l)
{
	if (--l->refs > 0)
		return;
	tls_context_free(l->tls);
	map_fini(&l->shaking.by_address);
	map_fini(&l->asking.by_address);
	map_fini(&l->linked.by_address);
	map_fini(&l->families);
	free(l);
}

static void on_listener_handle_closed(uv_handle_t *handle)
{
	listener_unref(handle->data);
}

/* ---- counting ---- */

static void crowd_enter(struct crowd *c, struct guest *g)
{
	g->crowd = c;
	g->next = c->first;
	if (g->next)
		g->next->prev = g;
	else
		c->last = g;
	c->first = g;
	c->n++;
	++*map_at(&c->by_address, g->key);
}

static void crowd_leave(struct guest *g)
{
	struct crowd *c = g->crowd;

	if (g->next)
		g->next->prev = g->prev;
	else
		c->last = g->prev;
	if (g->prev)
		g->prev->next = g->next;
	else
		c->first = g->next;
	g->prev = g->next = NULL;
	g->crowd = NULL;
	c->n--;
	if (--*map_at(&c->by_address, g->key) == 0)
		map_remove(&c->by_address, g->key);
}

static bool crowd_has_share(const struct listener *l, const struct crowd *c, uint64_t key)
{
	uint64_t here = 0;

	map_get(&c->by_address, key, &here);
	return here >= (uint64_t)l->limits.strangers_per_address;
}

/* Links of one name also share the limit for incomplete frames. Returns NULL if there are too many
 * of the name. */
static struct family *family_enter(struct listener *l, const char *name)
{
	uint64_t key = hash_bytes(name, strlen(name)), *place = map_at(&l->families, key);
	struct family *f = (struct family *)(uintptr_t)*place;

	if (!f) {
		f = mem_zalloc(sizeof *f);
		f->key = key;
		*place = (uint64_t)(uintptr_t)f;
	}
	if (l->limits.links_per_host && f->links >= l->limits.links_per_host)
		return NULL;
	f->links++;
	return f;
}

static void family_leave(struct listener *l, struct family *f)
{
	if (--f->links > 0)
		return;
	map_remove(&l->families, f->key);
	free(f);
}

/* Frees a guest that is closed, and stops counting it. */
static void guest_free(struct guest *g)
{
	struct listener *l = g->listener;

	free(g);
	listener_unref(l);
}

/* ---- handshake ---- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct guest *g = handle->data;

	if (--g->handles == 0)
		guest_free(g);
}

static void guest_drop(struct guest *g)
{
	crowd_leave(g);
	uv_close((uv_handle_t *)&g->poll, on_handle_closed);
	uv_close((uv_handle_t *)&g->late, on_handle_closed);
	tls_free(g->tls);
	g->tls = NULL;
}

static void on_late(uv_timer_t *timer)
{
	guest_drop(timer->data);
}

/* Hands polling over to the next stage; the guest remains for counting. */
static struct tls *guest_move(struct guest *g)
{
	struct tls *tls = g->tls;

	uv_close((uv_handle_t *)&g->poll, on_handle_closed);
	uv_close((uv_handle_t *)&g->late, on_handle_closed);
	g->handles++;
	g->tls = NULL;
	return tls;
}

static void on_link_gone(void *of)
{
	struct guest *g = of;

	family_leave(g->listener, g->family);
	crowd_leave(g);
	if (--g->handles == 0)
		guest_free(g);
}

static void on_pump_ended(void *context)
{
	struct guest *g = context;

	crowd_leave(g);
	g->pump = NULL;
	if (--g->handles == 0)
		guest_free(g);
}

static void guest_link(struct guest *g, const char *name)
{
	struct listener *l = g->listener;
	struct link *link;

	g->family = l->linked.n < l->limits.connections ? family_enter(l, name) : NULL;
	if (!g->family) {
		guest_drop(g);
		return;
	}
	crowd_leave(g);
	crowd_enter(&l->linked, g);
	struct tls *tls = guest_move(g);
	link = g->link = link_create(l->loop, NULL, NULL);
	link->gone = on_link_gone;
	link->gone_of = g;
	link_share(link, &g->family->share);
	link_begin(link, tls_fd(tls), tls, true);
	link_expire(link, tls_peer_until(tls));
	l->e.link(l->context, link);
}

/* Closes an HTTP connection: preferably one that has its answer and does not hang up. */
static bool room_ask(struct listener *l)
{
	for (struct guest *g = l->asking.last; g; g = g->prev) {
		if (pump_lingers(g->pump)) {
			pump_stop(g->pump);
			return true;
		}
	}
	return l->e.room && l->e.room(l->context);
}

/* Returns true if one more HTTP connection is allowed; one that is closed for it is still
 * counted. */
static bool asking_admits(struct listener *l, const struct guest *g)
{
	if (!l->limits.askers_by_user && crowd_has_share(l, &l->asking, g->key))
		return false;
	return l->asking.n < l->limits.strangers || room_ask(l);
}

static void guest_pump(struct guest *g, void (*serve)(void *context, int fd, const char *address))
{
	struct listener *l = g->listener;
	int pair[2];

	if (!asking_admits(l, g)) {
		guest_drop(g);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) {
		room_ask(l);
		guest_drop(g);
		return;
	}
	crowd_leave(g);
	crowd_enter(&l->asking, g);
	g->pump = pump_start(l->loop, guest_move(g), pair[0], l->limits.idle_seconds, on_pump_ended, g);
	serve(l->context, pair[1], g->address);
}

static void guest_welcome(struct guest *g)
{
	const struct listener_events *e = &g->listener->e;
	struct cert_names names;

	tls_peer(g->tls, &names);
	if (strcmp(tls_alpn(g->tls), TLS_FRAMES) == 0) {
		if (e->link && names.role != CERT_NOBODY)
			guest_link(g, names.name);
		else
			guest_drop(g);
	} else if (strcmp(tls_alpn(g->tls), TLS_SPOOL) == 0 && e->spool) {
		guest_pump(g, e->spool);
	} else if (strcmp(tls_alpn(g->tls), TLS_HTTP) == 0 && e->http) {
		guest_pump(g, e->http);
	} else {
		guest_drop(g);
	}
}

static void on_shake(uv_poll_t *poll, int status, int events)
{
	struct guest *g = poll->data;
	struct err err;
	int rc = tls_handshake(g->tls, &err);

	if (rc > 0)
		guest_welcome(g);
	else if (rc < 0 || status < 0) /* TLS has sent the refusal */
		guest_drop(g);
	else
		uv_poll_start(poll, tls_events(g->tls) & POLLOUT ? UV_WRITABLE : UV_READABLE, on_shake);
}

/* ---- accepting ---- */

/* Returns true if one more is allowed; may close another for it. */
static bool room_make(struct listener *l, uint64_t key)
{
	struct crowd *c = &l->shaking;
	bool share = crowd_has_share(l, c, key);
	struct guest *g = c->last;

	if (!share && c->n < l->limits.strangers)
		return true;
	while (g && share && g->key != key)
		g = g->prev;
	if (g)
		guest_drop(g);
	return g;
}

static void guest_create(struct listener *l, int fd, const char *address)
{
	uint64_t key = address_key(address);
	struct tls *tls;
	struct err err;

	if (!room_make(l, key) || tls_start(l->tls, fd, NULL, CERT_NOBODY, &tls, &err) < 0) {
		close(fd);
		return;
	}
	struct guest *g = mem_zalloc(sizeof *g);
	*g = (struct guest){.listener = l, .tls = tls, .handles = 2, .key = key};
	strcpy(g->address, address);
	l->refs++;
	crowd_enter(&l->shaking, g);
	socket_tune(fd);
	uv_poll_init(l->loop, &g->poll, fd);
	uv_timer_init(l->loop, &g->late);
	g->poll.data = g->late.data = g;
	uv_poll_start(&g->poll, UV_READABLE, on_shake);
	uv_timer_start(&g->late, on_late, (uint64_t)l->limits.handshake_seconds * 1000, 0);
}

static void on_accept(uv_poll_t *poll, int status, int events);

static void listener_listen(struct listener *l, bool listens)
{
	for (int i = 0; i < l->nports; i++) {
		if (listens)
			uv_poll_start(&l->port[i].poll, UV_READABLE, on_accept);
		else
			uv_poll_stop(&l->port[i].poll);
	}
}

static void on_rested(uv_timer_t *timer)
{
	listener_listen(timer->data, true);
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
	struct port *port = (struct port *)poll;
	struct listener *l = poll->data;
	char address[ADDRESS_SIZE];

	for (int i = 0; i < ACCEPTS && !l->closed; i++) {
		struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
		socklen_t n = sizeof from;
		int fd = accept4(port->fd, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
			/* The connection stays in the queue, and would be reported again and
			 * again. */
			room_ask(l);
			listener_listen(l, false);
			uv_timer_start(&l->rest, on_rested, REST_MS, 0);
			return;
		}
		if (fd < 0 && errno == EAGAIN)
			return;
		if (fd < 0)
			continue; /* the client gave up while it waited */
		address_text(&from, address, sizeof address);
		guest_create(l, fd, address);
	}
}

/* ---- open and close ---- */

int listener_open(uv_loop_t *loop, const char *where, struct tls_context *c, const struct listener_limits *limits,
		  const struct listener_events *e, void *context, struct listener **ret, struct err *err)
{
	struct listener *l = mem_zalloc(sizeof *l);

	*l = (struct listener){.loop = loop, .limits = *limits, .e = *e, .context = context};
	int fd[2], n = sockets_listen(where, fd, &l->number, err);
	if (n < 0) {
		free(l);
		return n;
	}
	l->tls = tls_context_ref(c);
	l->nports = n;
	for (int i = 0; i < n; i++) {
		l->port[i].fd = fd[i];
		uv_poll_init(loop, &l->port[i].poll, l->port[i].fd);
		l->port[i].poll.data = l;
	}
	uv_timer_init(loop, &l->rest);
	l->rest.data = l;
	l->refs = l->nports + 1;
	listener_listen(l, true);
	*ret = l;
	return 0;
}

void listener_identity(struct listener *l, struct tls_context *c)
{
	struct tls_context *old = l->tls;

	l->tls = tls_context_ref(c);
	tls_context_free(old);
}

/* A link that is being closed takes no input, and may still have to send the reason. */
void listener_revoke(struct listener *l, const struct revoked *r)
{
	struct cert_names who;

	for (struct guest *g = l->linked.first; g; g = g->next) {
		link_peer(g->link, &who);
		if (!g->link->closing && revoked_has(r, &who))
			link_abort(g->link, "this node was removed from the cluster");
	}
}

int listener_port(const struct listener *l)
{
	return l->number;
}

void listener_close(struct listener *l)
{
	if (!l || l->closed)
		return;
	l->closed = true;
	for (int i = 0; i < l->nports; i++) {
		uv_close((uv_handle_t *)&l->port[i].poll, on_listener_handle_closed);
		close(l->port[i].fd);
	}
	uv_close((uv_handle_t *)&l->rest, on_listener_handle_closed);
	while (l->shaking.first)
		guest_drop(l->shaking.first);
	for (struct guest *g = l->asking.first; g; g = g->next)
		pump_stop(g->pump);
}
