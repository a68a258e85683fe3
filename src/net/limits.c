/*
 * limits.c - limits on what one user, one address, and all together may use of the server.
 *
 * A connection beyond the limits replaces an idle one: of the same user if he is at his limit, else
 * of the user who has the most, so that no one shuts out others by holding connections; root has a
 * reserve. If none is idle it is accepted and its requests are refused (503, 429), because a closed
 * connection gives the user no reason; but a flood is cut off silently. Requests per second are
 * limited by a token bucket for each user or, for unknown senders, for each address.
 *
 * Connections come through three doors. Each keeps an eighth of all, so a crowd at one of them does
 * not block the others. A connection over TLS or to the page counts as its address's until a
 * request identifies the user: then it counts as that user's, together with those through other
 * doors and from other addresses.
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/chain.h"
#include "net/address.h"
#include "net/http_internal.h"

#define BURST_SECONDS 10
#define IDLE_MS 1000 /* ms without a complete request after which it may be closed for another */
/* ms without a complete request after which a connection that has never identified itself is
 * closed */
#define STRANGER_MS 15000

/* Returns how many connections beyond a limit are accepted in order to tell them why they are
 * refused. */
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
	*a = (struct share){.key = key, .tokens = h->limits.rate * BURST_SECONDS, .filled = uv_now(h->loop)};
	chain_add(*list, a);
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

/* Addresses come and go in large numbers: forgets those without connections whose tokens are all
 * back. */
static void addresses_sweep(struct http *h)
{
	for (struct share *a = h->addresses, *next; a; a = next) {
		next = a->next;
		if (a->connections > 0 || uv_now(h->loop) - a->filled < BURST_SECONDS * 1000)
			continue;
		map_remove(&h->share_of, a->key);
		chain_remove(h->addresses, a);
		free(a);
	}
}

/* Returns who is at the other end. Only a connection accepted at our socket's path has a user: the
 * end of a socket pair has no name, and its credentials are those of this process, which must never
 * count as a user's. */
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

/* Sets the top bit, to keep keys of addresses apart from uids, which have 32 bits. */
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

/* ---- making space for one more ---- */

/* Returns how many connections of a door exceed the ones it keeps for itself. */
static int door_beyond(const struct http *h, enum door d)
{
	int n = h->at[d] - (d == DOOR_LOCAL ? h->reserved : 0) - h->limits.connections / 8;

	return n > 0 ? n : 0;
}

/* Returns true if a door has one connection more than allowed. */
static bool door_full(const struct http *h, enum door d)
{
	int beyond = 0;

	for (int i = 0; i < DOORS; i++)
		beyond += door_beyond(h, i);
	return door_beyond(h, d) > 0 && beyond > h->limits.connections - h->limits.connections / 8 * DOORS;
}

static bool is_stranger(const struct connection *c)
{
	return c->remote && c->http->limits.known && !c->known;
}

/* Strangers get only small answers, so a stranger who reads one slowly counts as idle. */
static bool connection_idles(const struct connection *c, uint64_t now)
{
	bool waits = !c->r || c->r->stage < STAGE_HANDED || (is_stranger(c) && c->r->stage == STAGE_SENDING);

	return !c->evicted && waits && now - c->since >= IDLE_MS;
}

int http_connections_idle(const struct http *h)
{
	int n = 0;

	for (const struct connection *c = h->connections; c; c = c->next)
		n += connection_idles(c, uv_now(h->loop));
	return n;
}

/* Returns true if `a` is closed before `b`: first refused connections, then those of the share that
 * has the most, then the one that has been idle longest. */
static bool goes_before(const struct connection *a, const struct connection *b)
{
	if (!a->refusal != !b->refusal)
		return a->refusal;
	if (a->share->connections != b->share->connections)
		return a->share->connections > b->share->connections;
	return a->since < b->since;
}

/* Cuts off an idle connection that `may` accepts. Returns false if none is idle. */
static bool evict(struct http *h, bool (*may)(const struct connection *c, const void *of), const void *of)
{
	uint64_t now = uv_now(h->loop);
	struct connection *first = NULL;

	for (struct connection *c = h->connections; c; c = c->next)
		if (connection_idles(c, now) && may(c, of) && (!first || goes_before(c, first)))
			first = c;
	if (!first)
		return false;
	first->evicted = true;
	first->share->leaving++;
	h->at[first->door]--;
	shutdown(first->fd, SHUT_RDWR);
	return true;
}

static bool any_may(const struct connection *c, const void *of)
{
	return true;
}

static bool of_share(const struct connection *c, const void *of)
{
	return c->share == of;
}

static bool of_door(const struct connection *c, const void *of)
{
	return c->door == *(const enum door *)of;
}

static bool of_full_door(const struct connection *c, const void *of)
{
	return door_beyond(c->http, c->door) > 0;
}

bool http_make_room(struct http *h, bool page)
{
	return evict(h, of_door, &(enum door){page ? DOOR_PAGE : DOOR_TLS});
}

void connections_evict(struct http *h, int n)
{
	while (n-- > 0 && evict(h, any_may, NULL))
		;
}

/* Takes a place in the reserve; returns false if there is none, or the user may not. */
static bool reserve_take(struct http *h, struct connection *c)
{
	bool entitled = !c->remote && (c->peer.uid == 0 || c->peer.uid == geteuid());

	if (!entitled || h->reserved >= h->limits.reserve)
		return false;
	h->reserved++;
	return c->reserved = true;
}

/* Cuts off connections that keep coming although they are refused. */
static void flood_cut(struct http *h, const struct connection *c)
{
	int user = h->limits.per_uid, door = h->limits.connections - h->limits.connections / 8 * (DOORS - 1);

	if (!c->refusal || (c->share->connections <= user + spare(user) && h->at[c->door] <= door + spare(door)))
		return;
	h->stats.rejected++;
	shutdown(c->fd, SHUT_RDWR);
}

struct arrival arrival_take(struct http *h, int fd)
{
	struct arrival a = {.fd = -1};

	for (size_t i = 0; i < h->arrivals.n && a.fd < 0; i++)
		if (h->arrivals.v[i].fd == fd) {
			a = h->arrivals.v[i];
			vec_remove(&h->arrivals, i);
		}
	return a;
}

struct connection *connection_create(struct http *h, int fd)
{
	struct connection *c = mem_zalloc(sizeof *c);
	struct arrival a = arrival_take(h, fd);

	assert(a.fd == fd);
	*c = (struct connection){.http = h, .fd = fd, .remote = a.remote, .door = a.door, .since = uv_now(h->loop)};
	c->peer = a.remote ? (struct peer){.uid = (uid_t)-1, .gid = (gid_t)-1} : peer_of(fd);
	chain_add(h->connections, c);
	c->share = share_of(c);

	h->stats.connections++;
	h->at[c->door]++;
	if (++c->share->connections - c->share->leaving > h->limits.per_uid && !evict(h, of_share, c->share))
		c->refusal = CODE_TOO_MANY;
	else if (door_full(h, c->door) && !evict(h, of_full_door, NULL) && !reserve_take(h, c))
		c->refusal = CODE_UNAVAILABLE;
	flood_cut(h, c);
	return c;
}

/* Counts a connection as a user's: it is accepted if he has one left, even if its address has
 * none. */
static void connection_move(struct connection *c, struct share *to)
{
	if (c->share == to)
		return;
	if (to->connections - to->leaving >= c->http->limits.per_uid && !evict(c->http, of_share, to))
		c->refusal = CODE_TOO_MANY;
	else if (c->refusal == CODE_TOO_MANY)
		c->refusal = CODE_NONE;
	c->share->connections--;
	c->share->leaving -= c->evicted;
	to->connections++;
	to->leaving += c->evicted;
	c->share = to;
}

void request_identify(struct http_request *r)
{
	struct connection *c = r->connection;
	struct http *h = r->http;
	uid_t uid = (uid_t)-1;

	if (!c->remote || !h->limits.known)
		return;
	r->stranger = !h->limits.known(h->context, r, &uid);
	c->known = c->known || !r->stranger;
	if (!r->stranger && uid != (uid_t)-1)
		connection_move(c, share_find(h, uid, &h->users));
}

void connection_destroy(struct connection *c)
{
	struct http *h = c->http;

	chain_remove(h->connections, c);
	h->stats.connections--;
	h->at[c->door] -= !c->evicted;
	h->reserved -= c->reserved;
	c->share->connections--;
	c->share->leaving -= c->evicted;
	free(c->remote);
	free(c);
}

/* Closes slow connections. MHD's own timeout restarts with each byte, so a client could hold a
 * connection forever with a byte a minute. */
void connections_sweep(struct http *h)
{
	uint64_t now = uv_now(h->loop), most = (uint64_t)h->limits.idle_seconds * 1000;

	for (struct connection *c = h->connections; c; c = c->next) {
		uint64_t own = is_stranger(c) && most > STRANGER_MS ? STRANGER_MS : most;
		if ((!c->r || c->r->stage < STAGE_HANDED) && now - c->since > (c->refusal ? most / 8 : own))
			shutdown(c->fd, SHUT_RDWR);
	}
	addresses_sweep(h);
}

/* Takes a token. Returns 0, or the seconds until there will be one. */
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
			       c->remote && !c->known ? "Your host has" : "You have", r->http->limits.per_uid);
	} else if (c->refusal) {
		request_refuse(r, CODE_UNAVAILABLE,
			       "The server has %d connections, as many as it takes: try again soon.",
			       r->http->limits.connections);
	} else if ((seconds = share_take(r->http, c->share)) > 0) {
		http_header(r, "Retry-After", arena_printf(r->arena, "%d", seconds));
		request_refuse(
			r, CODE_TOO_MANY,
			"%s sent more than %g requests a second: slow down, or ask for many jobs in one request.",
			c->remote && !c->known ? "Your host" : "You", r->http->limits.rate);
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
