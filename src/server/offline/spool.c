/*
 * spool.c - see spool.h.
 */
#include "server/offline/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "client/tray.h"
#include "core/cluster.h"
#include "net/http.h"
#include "net/link.h"
#include "server/api/frame/api.h"
#include "server/api/frame/audience.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/work.h"
#include "server/job/jobs.h"
#include "server/link/agents.h"
#include "server/node/nodes.h"
#include "server/offline/regrets.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/objects.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "store/store.h"
#include "tls/pki.h"

#define BATCH 64	 /* maximum changes committed together */
#define PAUSE_US 1000000 /* pause before users are looked up again after a failure */
#define HOST_MOST 256	 /* maximum queued changes of one host */

/* State of a host, by the number of its join. */
struct spool_host {
	uint64_t join;
	int64_t closed;	   /* leases with numbers below this are closed */
	int64_t given;	   /* number of the last lease this server gave it */
	uint64_t next;	   /* numbers below this were used */
	int64_t last_us;   /* time of the last change it delivered */
	size_t waiting;	   /* its changes in the queue */
	struct strbuf in;  /* pieces of the next change */
	uint64_t incoming; /* number of that change */
};

static const struct field host_rows[] = {
	{"closed", .in = ALWAYS, MEMBER(struct spool_host, closed)},
	{"next", .in = ALWAYS, MEMBER(struct spool_host, next)},
	{0},
};

/* Record of a change that was made. */
struct mark {
	char seal[64];
	uint64_t join;
	int64_t lease;
};

static const struct field mark_rows[] = {
	{"join", .in = ALWAYS, MEMBER(struct mark, join)},
	{"lease", .in = ALWAYS, MEMBER(struct mark, lease)},
	{0},
};

/* A delivered change that is still to be made. */
struct brought {
	struct server *s;
	uint32_t node;
	uint64_t join, number;
	int64_t time_us, lease;
	struct kept x;
	uid_t uid; /* its user, once the seal was verified; before that (uid_t)-1 */
	bool submission, asked, over;
};

/* Owned by the server's audience. */
struct spool {
	VEC(struct spool_host *) hosts;
	struct map by_join; /* join -> index in hosts + 1 */
	VEC(struct mark) marks;
	struct map by_seal; /* hash -> index + 1 */
	VEC(struct brought *) queue;
	size_t next;	/* index of the first change not yet sent */
	size_t waiting; /* changes sent and not yet answered */
	bool lookup;
	int64_t pause_us;
	struct regrets regrets;
};

static struct spool *spool_of(struct server *s)
{
	if (!s->audience->spool)
		s->audience->spool = mem_zalloc(sizeof *s->audience->spool);
	return s->audience->spool;
}

static struct spool_host *host_of(struct server *s, uint64_t join)
{
	struct spool *p = spool_of(s);
	uint64_t *at = map_at(&p->by_join, join);

	if (*at == 0) {
		struct spool_host *h = mem_zalloc(sizeof *h);
		h->join = join;
		h->next = LEASED_FIRST + join * LEASED_EACH;
		vec_push(&p->hosts, h);
		*at = p->hosts.n;
	}
	return p->hosts.v[*at - 1];
}

static const char *name_of(const struct server *s, uint32_t node)
{
	return names_get(&s->cluster->node_names, node);
}

/* ---- leases ---- */

static void lease_format(const struct server *s, uint64_t join, int64_t number, char ret[TRAY_LEASE])
{
	char text[96], mac[64];

	snprintf(text, sizeof text, "lease %" PRIu64 " %" PRId64, join, number);
	secret_mac(s->realm->authority.secret, text, mac);
	snprintf(ret, TRAY_LEASE, "%" PRIu64 "-%" PRId64 "-%s", join, number, mac);
}

/* Returns the number of a lease of that host; -1: this server's cluster did not issue it. */
static int64_t lease_check(const struct server *s, uint64_t join, const char *lease)
{
	uint64_t whose;
	int64_t number;
	char right[TRAY_LEASE];

	if (!lease || sscanf(lease, "%" SCNu64 "-%" SCNd64, &whose, &number) != 2 || whose != join || number < 0)
		return -1;
	lease_format(s, join, number, right);
	return secret_equal(right, lease) ? number : -1;
}

/* Returns the number of a new lease: the time in microseconds, or the next number if an earlier
 * lease is already past that because the clock was ahead. It is above all closed leases. */
static int64_t lease_next(const struct server *s, const struct spool_host *h)
{
	int64_t last = h->given > h->closed ? h->given : h->closed;

	return s->clock->now_us > last ? s->clock->now_us : last + 1;
}

json_t *spool_lease(struct server *s, uint32_t node)
{
	uint64_t join = s->hosts->nodes.v[node].join;
	struct spool_host *h = host_of(s, join);
	uint64_t end = LEASED_FIRST + (join + 1) * LEASED_EACH;
	struct offer o = {
		.next = h->next, .end = end, .shared = s->instance->multi, .wait = (int)s->conf->offline_wait};

	h->waiting = 0;
	strbuf_clear(&h->in);
	if (!s->conf->offline || end > INT64_MAX >> JOB_KEY_SHIFT || h->next >= end)
		return json_object();
	h->given = lease_next(s, h);
	lease_format(s, join, h->given, o.lease);
	snprintf(o.cluster, sizeof o.cluster, "%.*s", SHOWN_DIGITS, s->realm->authority.fingerprint);
	snprintf(o.server, sizeof o.server, "%s", s->instance->name);
	return schema_json(&offer_schema, &o);
}

/* ---- marks ---- */

static uint64_t seal_key(const char *seal)
{
	return hash_bytes(seal, strlen(seal)) | 1;
}

static void mark_add(struct server *s, const char *seal, uint64_t join, int64_t lease)
{
	struct spool *p = spool_of(s);
	struct mark m = {.join = join, .lease = lease};

	snprintf(m.seal, sizeof m.seal, "%s", seal);
	vec_push(&p->marks, m);
	map_set(&p->by_seal, seal_key(seal), p->marks.n);
}

static bool mark_find(struct server *s, const char *seal)
{
	const struct spool *p = spool_of(s);
	uint64_t at;

	return map_get(&p->by_seal, seal_key(seal), &at) && strcmp(p->marks.v[at - 1].seal, seal) == 0;
}

static void mark_store(struct server *s, const struct brought *b)
{
	mark_add(s, b->x.seal, b->join, b->lease);
	record_put(s, "spooled", b->x.seal, mark_rows, 0, &(struct mark){.join = b->join, .lease = b->lease});
}

int spool_restore_mark(struct server *s, const char *seal, const json_t *o, struct err *err)
{
	struct mark m;

	if (record_load(mark_rows, 0, o, &m, NULL, err) < 0 || strlen(seal) >= sizeof m.seal)
		return err_set(err, -EINVAL, "it is not a mark of the spool");
	mark_add(s, seal, m.join, m.lease);
	return 0;
}

static void host_store(struct server *s, const struct spool_host *h)
{
	char name[24];

	snprintf(name, sizeof name, "%" PRIu64, h->join);
	record_put(s, "spool", name, host_rows, 0, h);
}

int spool_restore_host(struct server *s, const char *join, const json_t *o, struct err *err)
{
	return record_load(host_rows, 0, o, host_of(s, strtoull(join, NULL, 10)), NULL, err);
}

/* Closes all leases before this one: the host has delivered everything it accepted under them. */
static void host_close(struct server *s, struct spool_host *h, int64_t lease)
{
	struct spool *p = spool_of(s);
	size_t kept = 0;

	h->closed = lease;
	host_store(s, h);
	map_fini(&p->by_seal);
	p->by_seal = (struct map){0};
	for (size_t i = 0; i < p->marks.n; i++) {
		const struct mark m = p->marks.v[i];
		if (m.join == h->join && m.lease < lease) {
			store_drop_object(s->store, "spooled", m.seal);
			continue;
		}
		p->marks.v[kept++] = m;
		map_set(&p->by_seal, seal_key(m.seal), kept);
	}
	p->marks.n = kept;
	turn_wake(s);
}

/* ---- making a change ---- */

/* Answers the agent. `why`: reason for a refusal; NULL: the change was made. `again`: neither; the
 * agent is to send it again later. */
static void brought_answer(struct server *s, const struct brought *b, const char *why, bool again)
{
	struct link *l = s->hosts->nodes.v[b->node].join == b->join ? agents_link_of(s, b->node) : NULL;

	if (l)
		link_record(l, "done", &spool_frames,
			    &(struct spool_frame){.number = b->number, .why = why, .again = again});
}

static void brought_end(struct server *s, struct brought *b)
{
	struct spool_host *h = host_of(s, b->join);

	b->over = true;
	if (h->waiting)
		h->waiting--;
	turn_wake(s);
}

static void brought_regret(struct server *s, const struct brought *b, const char *why, const json_t *answer)
{
	char what[REGRET_NAME];
	struct fate x = {.uid = b->uid, .number = b->number, .what = what, .why = why, .answer = answer};

	regrets_name(b->x.path, b->x.body, what);
	regrets_add(s, &spool_of(s)->regrets, &x);
}

static void brought_refuse(struct server *s, struct brought *b, const char *why)
{
	if (b->uid == (uid_t)-1)
		server_log(s, SEVERITY_WARNING, "change %" PRIu64 " from node %s was refused: %s", b->number,
			   name_of(s, b->node), why);
	else
		brought_regret(s, b, why, NULL);
	brought_answer(s, b, why, false);
	brought_end(s, b);
}

static void on_answer(void *context, int status, const char *body, size_t n)
{
	struct brought *b = context;
	struct server *s = b->s;
	json_t *json = json_loadb(body, n, 0, NULL);
	const char *why = json_string_value(json_object_get(json_object_get(json, "error"), "message"));
	json_int_t number = json_integer_value(json_object_get(json, "number"));

	spool_of(s)->waiting--;
	/* the store can't be written or the server is ending */
	if (status == 503 || status == 504) {
		brought_answer(s, b, NULL, true);
		brought_end(s, b);
	} else {
		mark_store(s, b);
		if (status / 100 != 2) {
			brought_refuse(s, b, why ? why : "the reason is not known");
		} else {
			char lost[100];
			snprintf(lost, sizeof lost, "its number was in use, and it became job %" PRIu64,
				 (uint64_t)number);
			brought_regret(s, b, b->submission && (uint64_t)number != b->number ? lost : NULL, json);
			brought_answer(s, b, NULL, false);
			brought_end(s, b);
		}
	}
	json_decref(json);
}

static void brought_send(struct server *s, struct brought *b, const struct user *user)
{
	char key[64], address[64] = "";
	struct link *l = agents_link_of(s, b->node);
	struct inner inner = {.peer = {user->uid, user->gid, 0},
			      .method = "POST",
			      .path = b->x.path,
			      .key = key,
			      .body = b->x.sealed,
			      .n = strlen(b->x.sealed),
			      .number = b->number,
			      .time_us = b->time_us,
			      .token = b->x.token,
			      .address = address,
			      .done = on_answer,
			      .context = b};

	if (l)
		link_address(l, address, sizeof address);
	snprintf(key, sizeof key, "seal:%.50s", b->x.seal);
	spool_of(s)->waiting++;
	api_receive(s, http_inner(s->http, &inner)); /* cannot fail: the path is valid */
}

static void on_lookup(struct server *s, void *context)
{
	spool_of(s)->lookup = false;
	turn_wake(s);
}

/* Looks up the owner and sends or refuses the change. Returns false while the owner is not known
 * yet. */
static bool brought_begin(struct server *s, struct brought *b, uid_t uid, const char *name)
{
	struct spool *p = spool_of(s);
	struct user_key k = {USER_BY_ID, uid, NULL};
	const struct user *user = NULL;
	struct err err;
	enum lookup l = users_find(s, k, &user, &err);

	if (l == LOOKUP_PENDING) {
		p->lookup = true;
		users_wait(s, k, on_lookup, NULL);
		return false;
	}
	if (l == LOOKUP_FAILED) {
		p->pause_us = s->clock->now_us + PAUSE_US;
		server_log(s, SEVERITY_WARNING, "changes from node %s have to wait: %s", name_of(s, b->node), err.text);
		return false;
	}
	if (!user || strcmp(user->name, name) != 0) /* the uid may belong to another user by now */
		brought_refuse(s, b, "its owner has no account any more");
	else {
		b->uid = uid;
		brought_send(s, b, user);
	}
	return true;
}

/* Returns true if the same change has been in progress since before the host reconnected. */
static bool is_under_way(const struct spool *p, const struct brought *b)
{
	for (size_t i = 0; i < p->queue.n && p->queue.v[i] != b; i++)
		if (!p->queue.v[i]->over && p->queue.v[i]->x.seal && strcmp(p->queue.v[i]->x.seal, b->x.seal) == 0)
			return true;
	return false;
}

/* Checks a change and begins to make it. Returns false if it has to wait. */
static bool brought_ask(struct server *s, struct brought *b)
{
	struct strbuf text = {0};
	const char *name = NULL;
	uid_t uid;
	bool begun = true;

	seal_text(b->x.lease, b->x.nonce, b->x.path, b->x.sealed, &text);
	if (b->lease < host_of(s, b->join)->closed)
		brought_refuse(s, b, "its host had said that it has no more of that time");
	else if (!token_sealed(s, b->x.token, text.text, b->x.seal, b->time_us / 1000000, &uid, &name))
		brought_refuse(s, b, "its seal is not that of a login token that was valid then");
	else if (mark_find(s, b->x.seal)) {
		brought_answer(s, b, NULL, false);
		brought_end(s, b);
	} else if (is_under_way(spool_of(s), b)) {
		brought_answer(s, b, NULL, true);
		brought_end(s, b);
	} else
		begun = brought_begin(s, b, uid, name);
	strbuf_fini(&text);
	return begun;
}

static void queue_sweep(struct spool *p)
{
	size_t kept = 0, next = 0;

	for (size_t i = 0; i < p->queue.n; i++) {
		struct brought *b = p->queue.v[i];
		if (b->over) {
			kept_fini(&b->x);
			free(b);
			continue;
		}
		next += i < p->next;
		p->queue.v[kept++] = b;
	}
	p->queue.n = kept;
	p->next = next;
}

int64_t spool_next(const struct server *s)
{
	const struct spool *p = s->audience->spool;

	return !p || p->lookup || p->next == p->queue.n || s->turn->merging || s->turn->trouble ? TIME_NEVER
												: p->pause_us;
}

/* Makes changes in the order of their arrival. Ordinary submissions complete at once, so that one
 * commit holds many; a change that takes several turns is sent alone. */
void spool_turn(struct server *s)
{
	struct spool *p = s->audience->spool;

	if (!p || p->queue.n == 0 || s->turn->trouble || s->turn->terminating || s->turn->emptying ||
	    s->turn->merging || p->lookup || s->clock->now_us < p->pause_us)
		return;
	for (; p->next < p->queue.n && p->waiting < BATCH && s->slices->works.n == 0; p->next++)
		if (!p->queue.v[p->next]->over && !brought_ask(s, p->queue.v[p->next]))
			break;
	queue_sweep(p);
	if (p->queue.n == 0)
		regrets_send(s, &p->regrets);
}

/* ---- frames ---- */

/* Returns a change's time, limited to between its lease, or the change before it if that is later,
 * and now: within a host the order is that of the numbers. */
static int64_t time_settle(const struct server *s, struct spool_host *h, int64_t lease, int64_t age_us)
{
	int64_t time_us = s->clock->now_us - (age_us > 0 && age_us < s->clock->now_us ? age_us : 0);
	int64_t least = lease > h->last_us ? lease : h->last_us;

	if (time_us < least)
		time_us = least < s->clock->now_us ? least : s->clock->now_us;
	h->last_us = time_us;
	return time_us;
}

static void brought_add(struct server *s, struct spool_host *h, uint32_t node, int64_t age_us)
{
	struct spool *p = spool_of(s);
	struct brought *b = mem_zalloc(sizeof *b);
	uint64_t first = LEASED_FIRST + h->join * LEASED_EACH;
	struct err err;
	int rc = kept_parse(strbuf_text(&h->in), h->in.n, &b->x, &err);

	b->s = s;
	b->node = node;
	b->join = h->join;
	b->number = h->incoming;
	b->uid = (uid_t)-1;
	b->submission = rc == 0 && strcmp(b->x.path, "/v1/jobs") == 0;
	b->lease = rc == 0 ? lease_check(s, h->join, b->x.lease) : -1;
	h->waiting++;
	vec_push(&p->queue, b);
	if (rc < 0)
		brought_refuse(s, b, err.text);
	else if (b->lease < 0)
		brought_refuse(s, b, "it has no lease of this cluster for that host");
	else if (b->number < first || b->number - first >= LEASED_EACH)
		brought_refuse(s, b, "its number is not that host's");
	if (b->number >= h->next && b->number - h->next <= TRAY_GAP && b->number - first < LEASED_EACH)
		h->next = b->number + 1;
	b->time_us = time_settle(s, h, b->lease, age_us);
}

static void on_kept(struct server *s, struct spool_host *h, uint32_t node, const struct spool_frame *x,
		    const char *data, size_t n)
{
	if (x->number < 1 || x->size < 1 || x->size > TRAY_MOST || h->waiting >= HOST_MOST) {
		agents_cut(s, node, 10, "it sends changes that can't be");
		return;
	}
	if (h->incoming != x->number)
		strbuf_clear(&h->in);
	h->incoming = x->number;
	strbuf_add(&h->in, data, n);
	if (h->in.n > (size_t)x->size) {
		strbuf_clear(&h->in);
		agents_cut(s, node, 10, "it sends more of a change than there is");
	} else if (h->in.n == (size_t)x->size) {
		brought_add(s, h, node, x->age);
		strbuf_clear(&h->in);
		turn_wake(s);
	}
}

void spool_frame(struct server *s, uint32_t node, const json_t *head, const char *data, size_t n)
{
	struct spool_host *h = host_of(s, s->hosts->nodes.v[node].join);
	const char *type = json_string_value(json_object_get(head, "t"));
	struct spool_frame x;
	int64_t lease;

	spool_frame_read(head, &x);
	if (strcmp(type, "kept") == 0) {
		on_kept(s, h, node, &x, data, n);
		return;
	}
	/* a lease from another server, which may be above this server's, does not count */
	lease = lease_check(s, h->join, x.lease);
	if (lease > h->closed && lease == h->given && h->waiting == 0)
		host_close(s, h, lease);
}
