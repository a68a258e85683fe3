/*
 * pool_members.c - the members of a pool as this station knows them, and helpers for all parts of
 * the daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/logline.h"
#include "run/lease.h"
#include "station/pool_internal.h"

#define KILL_MS 500	/* ms that a keeper may need to end all processes of a task */
#define WANTED_ROUNDS 3 /* rounds without use after which a link is closed */

int64_t pool_now(void)
{
	return boot_us() / 1000;
}

int64_t pool_lease_end(const struct pool *p, const struct host *h)
{
	return h->answered + p->conf.lease_ms + p->conf.lease_ms / 10 + KILL_MS;
}

struct host *host_find(struct pool *p, const char *name)
{
	struct host *h = p->hosts;

	while (h && strcmp(h->name, name) != 0)
		h = h->next;
	return h;
}

/* ---- links ---- */

bool pool_gossips(const struct pool *p)
{
	return p->table.entries.n > (size_t)p->conf.gossip_from;
}

int64_t pool_round(const struct pool *p)
{
	return gossip_round_ms(p->conf.interval_ms, p->table.entries.n);
}

int64_t pool_interval(const struct pool *p)
{
	return pool_gossips(p) ? pool_round(p) * GOSSIP_BEAT : p->conf.interval_ms;
}

struct host *host_want(struct pool *p, const char *name)
{
	struct host *h = host_find(p, name);

	if (!h) {
		h = mem_zalloc(sizeof *h);
		*h = (struct host){.pool = p, .next = p->hosts};
		snprintf(h->name, sizeof h->name, "%s", name);
		p->hosts = h;
	}
	h->wanted_until = pool_now() + WANTED_ROUNDS * pool_round(p);
	return h;
}

void guest_release(struct guest *g)
{
	if (!g->gone || g->tasks)
		return;
	pool_lease_free(g->lease);
	free(g);
}

/* ---- members ---- */

void members_store(struct pool *p)
{
	json_t *list = json_object();
	struct err err;
	char *text;

	for (size_t i = 0; i < p->table.entries.n; i++) {
		const struct peer_member *m = &p->table.entries.v[i].member;
		if (!p->table.entries.v[i].removed)
			json_object_set_new(list, m->name, json_pack("[s,I]", m->where, (json_int_t)m->join));
	}
	text = json_dumps(list, JSON_INDENT(1));
	if (pool_home_write(&p->home, "members.json", 0644, text, &err) < 0)
		log_line(SEVERITY_ERROR, "%s", err.text);
	free(text);
	json_decref(list);
}

bool member_learn(struct pool *p, const char *name, const char *where, uint64_t join)
{
	size_t before = p->table.entries.n;

	if (removed_has(&p->removed, name, join))
		return false;
	struct pool_entry *e = pool_table_add(&p->table, name, where);
	bool moved = e->removed || (strcmp(e->member.where, where) != 0 && !e->linked);

	e->removed = false;
	if (join > e->member.join)
		e->member.join = join;
	if (p->table.entries.n == before && !moved)
		return false;
	snprintf(e->member.where, sizeof e->member.where, "%s", where);
	if (p->table.entries.n > before) {
		e->number = (uint32_t)p->numbered.n;
		vec_push(&p->numbered, mem_strdup(name));
	}
	if (pool_gossips(p))
		e->linked = true; /* until proved otherwise */
	else
		host_want(p, name);
	return true;
}
