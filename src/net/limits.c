/*
 * limits.c - how much one user, one address, and all together, may ask of the server.
 *
 * A connection too many takes the place of one that idles: of the same user if he has his share, else of the user who has the most, so that
 * nobody keeps others out by holding connections; root has some of its own. If none idles it is let in and told so (503, 429),
 * because a closed one tells a user nothing; but not without end: a flood is cut off without a word. Requests a second are a token bucket for each user, or,
 * of those who came over TLS, for each address.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/address.h"
#include "net/http_internal.h"

#define BURST_SECONDS 10
#define IDLE_MS 1000 /* without a complete request: it may have to go for another's sake */

/* Beyond the limits so many connections are told why they are refused. */
static int spare(int limit)
{
	return limit / 8 + 8;
}

static struct share *share_find(struct http *h, uint64_t key, struct share **list)
{
	uint64_t *place = map_at(&h->share_of, key);
	struct share *a = (struct share *)(uintptr_t)*place;

	if (a)
		return a;
	a = mem_zalloc(sizeof *a);
	*a = (struct share){
		.key = key, .next = *list, .tokens = h->limits.rate * BURST_SECONDS, .filled = uv_now(h->loop)};
	if (a->next)
		a->next->prev = a;
	*list = a;
	*place = (uint64_t)(uintptr_t)a;
	return a;
}

static void list_free(struct share *a)
{
	for (struct share *next; a; a = next) {
		next = a->next;
		free(a);
	}
}

void shares_free(struct http *h)
{
	list_free(h->users);
	list_free(h->addresses);
	map_fini(&h->share_of);
}

/* Addresses are many, and come and go: one without connections whose tokens are all back need not be remembered. */
static void addresses_sweep(struct http *h)
{
	for (struct share *a = h->addresses, *next; a; a = next) {
		next = a->next;
		if (a->connections > 0 || uv_now(h->loop) - a->filled < BURST_SECONDS * 1000)
			continue;
		map_remove(&h->share_of, a->key);
		if (next)
			next->prev = a->prev;
		if (a->prev)
			a->prev->next = next;
		else
			h->addresses = next;
		free(a);
	}
}

/* Who is at the other end. Only a connection that was accepted at our socket's path has a user behind it: the end of a socket pair has no
 * name, and its credentials are those of this very process, which must never count as anybody's. */
static struct peer peer_of(int fd)
{
	struct ucred ucred = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	struct sockaddr_un name = {.sun_family = AF_UNSPEC};
	socklen_t n = sizeof name;

	if (getsockname(fd, (struct sockaddr *)&name, &n) == 0 && name.sun_family == AF_UNIX &&
	    n > offsetof(struct sockaddr_un, sun_path)) {
		n = sizeof ucred;
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &n);
	}
	return (struct peer){.uid = ucred.uid, .gid = ucred.gid, .pid = ucred.pid};
}

/* Keys of addresses are apart from uids, which have 32 bits. */
static uint64_t address_share(const char *address)
{
	return address_key(address) | (uint64_t)1 << 63;
}

static struct share *share_of(struct connection *c)
{
	if (!c->remote)
		return share_find(c->http, c->peer.uid, &c->http->users);
	return share_find(c->http, address_share(c->remote), &c->http->addresses);
}

/* ---- room for one more ---- */

static bool connection_idles(const struct connection *c, uint64_t now)
{
	return !c->evicted && (!c->r || c->r->stage < STAGE_HANDED) && now - c->since >= IDLE_MS;
}

/* Who goes first: one that is only told to go, then one of the share that has the most, then the one that idles for longest. */
static bool goes_before(const struct connection *a, const struct connection *b)
{
	if (!a->refusal != !b->refusal)
		return a->refusal;
	if (a->share->connections != b->share->connections)
		return a->share->connections > b->share->connections;
	return a->since < b->since;
}

/* Cuts one off: of this share, or of any (NULL). False: none idles. */
static bool evict(struct http *h, const struct share *of)
{
	uint64_t now = uv_now(h->loop);
	struct connection *first = NULL;

	for (struct connection *c = h->connections; c; c = c->next)
		if ((!of || c->share == of) && connection_idles(c, now) && (!first || goes_before(c, first)))
			first = c;
	if (!first)
		return false;
	first->evicted = true;
	first->share->leaving++;
	h->leaving++;
	shutdown(first->fd, SHUT_RDWR);
	return true;
}

bool http_make_room(struct http *h, const char *address)
{
	uint64_t at;

	if (!address)
		return evict(h, NULL);
	return map_get(&h->share_of, address_share(address), &at) && evict(h, (const struct share *)(uintptr_t)at);
}

void connections_evict(struct http *h, int n)
{
	while (n-- > 0 && evict(h, NULL))
		;
}

/* Takes a place in the reserve. */
static bool reserve_take(struct http *h, struct connection *c)
{
	bool entitled = !c->remote && (c->peer.uid == 0 || c->peer.uid == geteuid());

	if (!entitled || h->reserved >= h->limits.reserve)
		return false;
	h->reserved++;
	return c->reserved = true;
}

struct connection *connection_create(struct http *h, int fd)
{
	struct connection *c = mem_zalloc(sizeof *c);
	const struct http_limits *limits = &h->limits;

	*c = (struct connection){.http = h, .fd = fd, .next = h->connections, .since = uv_now(h->loop)};
	if (h->adopts) {
		c->peer = (struct peer){.uid = (uid_t)-1, .gid = (gid_t)-1};
		c->remote = mem_strdup(h->adopts);
		c->page = h->adopts_page;
	} else {
		c->peer = peer_of(fd);
	}
	if (c->next)
		c->next->prev = c;
	h->connections = c;
	c->share = share_of(c);

	int all = ++h->stats.connections, own = ++c->share->connections;
	/* Over TLS the listener has made room already. */
	if (own - c->share->leaving > limits->per_uid && !evict(h, c->share))
		c->refusal = CODE_TOO_MANY;
	else if (all - h->reserved - h->leaving > limits->connections && !evict(h, NULL) && !reserve_take(h, c))
		c->refusal = CODE_UNAVAILABLE;
	if (own > limits->per_uid + spare(limits->per_uid) || all > limits->connections + spare(limits->connections)) {
		h->stats.rejected++;
		shutdown(fd, SHUT_RDWR);
	}
	return c;
}

void connection_destroy(struct connection *c)
{
	struct http *h = c->http;

	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else
		h->connections = c->next;
	h->stats.connections--;
	h->reserved -= c->reserved;
	c->share->connections--;
	c->share->leaving -= c->evicted;
	h->leaving -= c->evicted;
	free(c->remote);
	free(c);
}

/* MHD's own timeout begins anew with each byte, which lets a client hold its connection for ever at a byte a minute. */
void connections_sweep(struct http *h)
{
	uint64_t now = uv_now(h->loop), most = (uint64_t)h->limits.idle_seconds * 1000;

	for (struct connection *c = h->connections; c; c = c->next)
		if ((!c->r || c->r->stage < STAGE_HANDED) && now - c->since > (c->refusal ? most / 8 : most))
			shutdown(c->fd, SHUT_RDWR);
	addresses_sweep(h);
}

/* Takes a token. Returns 0, or after how many seconds there will be one. */
static int share_take(struct http *h, struct share *a)
{
	double rate = h->limits.rate;
	uint64_t now = uv_now(h->loop);

	if (rate <= 0)
		return 0;
	a->tokens += (double)(now - a->filled) / 1000 * rate;
	a->filled = now;
	if (a->tokens > rate * BURST_SECONDS)
		a->tokens = rate * BURST_SECONDS;
	if (a->tokens < 1)
		return 1 + (int)((1 - a->tokens) / rate);
	a->tokens--;
	return 0;
}

static bool connection_admit(struct http_request *r)
{
	struct connection *c = r->connection;
	int seconds;

	if (c->refusal) {
		http_header(r, "Connection", "close");
		http_header(r, "Retry-After", "1");
	}
	if (c->refusal == CODE_TOO_MANY) {
		request_refuse(r, CODE_TOO_MANY, "%s more than %d connections to the server: close some.",
			       c->remote ? "Your host has" : "You have", r->http->limits.per_uid);
	} else if (c->refusal) {
		request_refuse(r, CODE_UNAVAILABLE,
			       "The server has %d connections, as many as it takes: try again soon.",
			       r->http->limits.connections);
	} else if ((seconds = share_take(r->http, c->share)) > 0) {
		http_header(r, "Retry-After", arena_printf(r->arena, "%d", seconds));
		request_refuse(
			r, CODE_TOO_MANY,
			"%s sent more than %g requests a second: slow down, or ask for many jobs in one request.",
			c->remote ? "Your host" : "You", r->http->limits.rate);
	}
	return r->stage < STAGE_ANSWERED;
}

static bool body_admit(struct http_request *r)
{
	const char *length = request_header(r, "Content-Length");

	if (length && strtoull(length, NULL, 10) > r->http->limits.body)
		request_refuse(r, CODE_TOO_LARGE, "The request has %s bytes; %zu are allowed.", length,
			       r->http->limits.body);
	return r->stage < STAGE_ANSWERED;
}

bool request_admit(struct http_request *r)
{
	return connection_admit(r) && body_admit(r);
}
