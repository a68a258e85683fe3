/*
 * pool_links.c - the links between stations. Each station connects to all members it knows,
 * including itself, so that a task is placed here as anywhere else; it learns about others through
 * the links they open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/logline.h"
#include "net/address.h"
#include "run/lease.h"
#include "station/pool_internal.h"

#define RETRY_MOST 30 /* maximum intervals between attempts */

/* ---- out: to a host ---- */

static void hello_send(struct host *h)
{
	struct pool *p = h->pool;
	size_t n = p->table.entries.n;
	struct peer_hello hello = {.port = p->port, .run = p->run, .lease_ms = p->conf.lease_ms};
	char *text;

	hello.members = mem_realloc(NULL, n + 1, sizeof *hello.members);
	for (size_t i = 0; i < n; i++) /* all but ourselves: the receiver sees our address itself */
		if (strcmp(p->table.entries.v[i].member.name, p->conf.name) != 0 && !p->table.entries.v[i].removed)
			hello.members[hello.nmembers++] = p->table.entries.v[i].member;
	text = peer_hello_write(&hello);
	link_send(h->link, text, strlen(text), NULL, 0);
	free(text);
	free(hello.members);
}

static void report_send(struct host *h)
{
	link_record(h->link, "report", &peer_report_frame, &h->pool->told);
}

static void on_ready(void *context, struct link *l)
{
	struct host *h = context;
	struct cert_names who;

	link_peer(l, &who);
	if (strcmp(who.name, h->name) != 0) { /* another station has this address now */
		link_close(l, "another station answers there");
		return;
	}
	link_trust(l);
	pool_table_find(&h->pool->table, h->name)->member.join = who.join;
	h->told = 0;
	hello_send(h);
	removed_send(h);
	report_send(h);
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct host *h = context;
	const char *t = json_string_value(json_object_get(head, "t"));
	struct pool_entry *e = pool_table_find(&h->pool->table, h->name);

	if (!t) {
		link_close(l, "a frame without a type");
	} else if (strcmp(t, "ping") == 0) {
		h->answered = pool_now();
		link_pack(l, NULL, 0, "{s:s,s:O}", "t", "pong", "at", json_object_get(head, "at"));
	} else if (strcmp(t, "welcome") == 0) {
		h->welcome = e->linked = true;
		h->failures = 0;
		removed_send(h); /* a newer list may have arrived since the link was opened */
		rumors_send(h);
		origin_welcome(h);
		origin_place(h->pool);
	} else if (strcmp(t, "renewed") == 0 || strcmp(t, "refused") == 0) {
		renewal_take(h, t, head);
	} else {
		origin_frame(h, t, head, data, n);
	}
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct host *h = context;
	struct pool *p = h->pool;
	struct pool_entry *e = pool_table_find(&p->table, h->name);

	if (h->welcome)
		log_line(SEVERITY_NOTICE, "%s: the link is closed: %s", h->name, reason);
	else if (h->failures == 0 && !p->stopping)
		log_line(SEVERITY_WARNING, "%s: no link: %s", h->name, reason);
	e->linked = h->welcome && pool_gossips(p); /* in a large pool, unused links are closed */
	h->link = NULL;
	h->welcome = false;
	if (h->failures < RETRY_MOST)
		h->failures++;
	free(h->rumors);
	h->rumors = NULL;
	h->retry_at = pool_now() + (int64_t)h->failures * p->conf.interval_ms;
	origin_lost(h);
}

static void host_tick(struct host *h, int64_t now, bool news)
{
	static const struct link_events events = {.ready = on_ready, .frame = on_frame, .closed = on_closed};
	struct pool *p = h->pool;
	bool gossips = pool_gossips(p);

	if (!h->link) {
		struct pool_entry *e = pool_table_find(&p->table, h->name);
		if (e->removed)
			return;
		if (now >= h->retry_at && gossips)
			e->linked = true;
		if (now >= h->retry_at && (!gossips || h->rumors || h->tasks))
			h->link = link_connect(p->loop, p->identity.calls, e->member.where, CERT_NODE, &events, h);
		return;
	}
	if (!h->welcome)
		return;
	if (now > pool_lease_end(p, h)) {
		link_abort(h->link, "it asks for no word of ours any more");
		return;
	}
	if (gossips && now > h->wanted_until && !h->tasks)
		link_close(h->link, "nothing is left to say");
	else if (news)
		report_send(h);
	else
		link_pack(h->link, NULL, 0, "{s:s}", "t", "beat");
}

/* ---- in: from an origin ---- */

static void guest_learn(struct guest *g, const struct peer_hello *hello)
{
	char address[ADDRESS_SIZE], where[PEER_WHERE_SIZE];
	struct pool *p = g->pool;
	struct cert_names who;
	bool news;

	link_peer(g->link, &who);
	link_address(g->link, address, sizeof address);
	snprintf(where, sizeof where, strchr(address, ':') ? "[%s]:%d" : "%s:%d", address, hello->port);
	news = strcmp(g->name, p->conf.name) != 0 && member_learn(p, g->name, where, who.join);
	for (int i = 0; i < hello->nmembers; i++) {
		const struct peer_member *m = &hello->members[i];
		const struct pool_entry *e = pool_table_find(&p->table, m->name);
		if (!e || e->removed)
			news |= member_learn(p, m->name, m->where, m->join);
	}
	if (news) {
		members_store(p);
		for (struct host *h = p->hosts; h && !pool_gossips(p); h = h->next)
			if (h->welcome)
				hello_send(h);
	}
}

static void guest_ping(struct guest *g)
{
	link_pack(g->link, NULL, 0, "{s:s,s:I}", "t", "ping", "at", (json_int_t)boot_us());
}

static void on_hello(struct guest *g, const json_t *head)
{
	struct arena *a = arena_create();
	struct peer_hello hello;
	struct err err;

	if (peer_hello_read(head, a, &hello, &err) < 0) {
		link_close(g->link, err.text);
	} else {
		guest_learn(g, &hello);
		if (!g->hello) {
			g->hello = true;
			g->lease_ms = hello.lease_ms;
			guest_ping(g);
			link_pack(g->link, NULL, 0, "{s:s}", "t", "welcome");
		}
	}
	arena_destroy(a);
}

static void on_report(struct guest *g, const json_t *head)
{
	struct pool_entry *e = pool_table_find(&g->pool->table, g->name);
	struct peer_report r;
	struct err err;

	if (peer_report_read(head, &r, &err) < 0)
		link_close(g->link, err.text);
	else if (e && pool_table_report(e, &r, pool_now()))
		origin_place(g->pool);
}

static void on_guest_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct guest *g = context;
	struct pool_entry *e = pool_table_find(&g->pool->table, g->name);
	const char *t = json_string_value(json_object_get(head, "t"));

	if (e)
		e->heard = pool_now();
	if (!t || (!g->hello && strcmp(t, "hello") != 0))
		link_close(l, "it did not begin with hello");
	else if (strcmp(t, "hello") == 0)
		on_hello(g, head);
	else if (strcmp(t, "report") == 0)
		on_report(g, head);
	else if (strcmp(t, "removed") == 0)
		removed_hear(g->pool, head);
	else if (strcmp(t, "renew") == 0)
		renewal_serve(g, head);
	else if (strcmp(t, "rumors") == 0)
		rumors_take(g->pool, head);
	else if (strcmp(t, "pong") == 0)
		g->lease->until = json_integer_value(json_object_get(head, "at")) + (int64_t)g->lease_ms * 1000;
	else if (strcmp(t, "beat") != 0)
		host_frame(g, t, head, data, n);
}

static void on_guest_closed(void *context, struct link *l, const char *reason)
{
	struct guest *g = context;

	for (struct guest **at = &g->pool->guests; *at; at = &(*at)->next)
		if (*at == g) {
			*at = g->next;
			break;
		}
	g->gone = true;
	g->link = NULL;
	g->lease->until = 0;
	g->tasks++; /* keeps it alive while its tasks are processed */
	host_drop(g);
	g->tasks--;
	guest_release(g);
}

static void on_guest_drained(void *context, struct link *l)
{
	host_drained(context);
}

void guest_serve(void *context, struct link *l)
{
	static const struct link_events events = {
		.frame = on_guest_frame, .drained = on_guest_drained, .closed = on_guest_closed};
	struct pool *p = context;
	struct guest *g = mem_zalloc(sizeof *g);
	struct cert_names who;

	link_peer(l, &who);
	*g = (struct guest){.pool = p, .next = p->guests, .link = l, .lease = pool_lease_create()};
	snprintf(g->name, sizeof g->name, "%.*s", PEER_NAME_SIZE - 1, who.name);
	p->guests = g;
	link_events_set(l, &events, g);
	link_trust(l);
	if (who.role != CERT_NODE || !g->lease)
		link_close(l, "only stations of the pool are served");
}

/* ---- all links ---- */

void guests_tick(struct pool *p)
{
	for (struct guest *g = p->guests; g; g = g->next)
		if (g->hello)
			guest_ping(g);
}

void guests_stop(struct pool *p)
{
	for (struct guest *g = p->guests; g; g = g->next)
		link_close(g->link, "this station leaves");
}

void links_tick(struct pool *p)
{
	int64_t now = pool_now();
	bool news = pool_band_left(&p->told, &p->mine);

	if (news) {
		p->mine.seq++;
		p->told = p->mine;
	}
	struct pool_entry *self = pool_table_find(&p->table, p->conf.name);

	pool_table_report(self, &p->told, now);
	self->heard = now;
	gossip_tick(p, now);
	if (p->members_new) {
		p->members_new = false;
		members_store(p);
	}
	for (struct host *h = p->hosts; h; h = h->next)
		host_tick(h, now, news);
}

int links_start(struct pool *p, struct err *err)
{
	struct strbuf text = {0};
	char self[PEER_WHERE_SIZE];
	const char *name, *colon = strrchr(p->conf.listen, ':');
	json_t *list = pool_home_read(&p->home, "members.json", &text, NULL) == 0
			       ? json_loads(strbuf_text(&text), 0, NULL)
			       : NULL,
	       *m;

	(void)err;
	snprintf(self, sizeof self, "%.*s:%d", colon ? (int)(colon - p->conf.listen) : 9,
		 colon ? p->conf.listen : "127.0.0.1", p->port);
	if (strncmp(self, "0.0.0.0:", 8) == 0)
		snprintf(self, sizeof self, "127.0.0.1:%d", p->port);
	member_learn(p, p->conf.name, self, p->identity.join);
	json_object_foreach(list, name, m)
	{
		/* older versions stored no join */
		const json_t *where = json_is_array(m) ? json_array_get(m, 0) : m;
		if (json_is_string(where) && strcmp(name, p->conf.name) != 0 && strlen(name) < PEER_NAME_SIZE)
			member_learn(p, name, json_string_value(where), peer_join_read(json_array_get(m, 1)));
	}
	json_decref(list);
	strbuf_fini(&text);
	return 0;
}

void links_stop(struct pool *p)
{
	for (struct host *h = p->hosts; h; h = h->next)
		if (h->link)
			link_close(h->link, "this station leaves");
}
