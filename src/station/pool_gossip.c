/*
 * pool_gossip.c - pools of more than GOSSIP_FROM stations: reports are passed from station to
 * station (gossip.h), and links are opened on demand.
 *
 *	-> rumors {list: reports with name and where}
 *
 * A station that passes a report on can change it. A member has that power anyway: it can lie about
 * loads, or take tasks and lose them.
 */
#include <stdlib.h>
#include <string.h>

#include "station/pool_internal.h"

#define RUMORS_MOST 4000 /* reports in one frame */

/* ---- out ---- */

static json_t *rumor_pack(const struct pool *p, const struct pool_entry *e)
{
	bool self = strcmp(e->member.name, p->conf.name) == 0;
	char *text = peer_report_write(self ? &p->told : &e->report);
	json_t *o = json_loads(text, 0, NULL);

	free(text);
	json_object_set_new(o, "name", json_string(e->member.name));
	json_object_set_new(o, "join", json_integer((json_int_t)e->member.join));
	/* the receiver sees our address itself */
	json_object_set_new(o, "where", json_string(self ? "" : e->member.where));
	return o;
}

static char *rumors_write(struct pool *p)
{
	const uint32_t *about;
	size_t n = gossip_round(&p->gossip, &about);
	json_t *list = json_array(), *head;
	char *text;

	for (size_t i = 0; i < n && i < RUMORS_MOST; i++) {
		const struct pool_entry *e = pool_table_find(&p->table, p->numbered.v[about[i]]);
		if (e->report.run || strcmp(e->member.name, p->conf.name) == 0)
			json_array_append_new(list, rumor_pack(p, e));
	}
	head = json_pack("{s:s,s:o}", "t", "rumors", "list", list);
	text = json_dumps(head, JSON_COMPACT | JSON_REAL_PRECISION(5));
	json_decref(head);
	return text;
}

void rumors_send(struct host *h)
{
	if (!h->rumors || !h->welcome)
		return;
	link_send(h->link, h->rumors, strlen(h->rumors), NULL, 0);
	free(h->rumors);
	h->rumors = NULL;
}

void gossip_tick(struct pool *p, int64_t now)
{
	uint32_t n = (uint32_t)p->table.entries.n, self = 0;
	char *text;

	if (!pool_gossips(p) || now < p->next_round || n < 2)
		return;
	p->next_round = now + pool_round(p);
	if (p->gossiped_seq == p->told.seq && ++p->quiet_rounds >= GOSSIP_BEAT)
		p->told.seq = ++p->mine.seq;
	if (p->gossiped_seq != p->told.seq) {
		p->gossiped_seq = p->told.seq;
		p->quiet_rounds = 0;
		gossip_learn(&p->gossip, 0); /* 0 is our own number */
	}
	while (strcmp(p->table.entries.v[self].member.name, p->conf.name) != 0)
		self++;
	text = rumors_write(p);
	for (int i = 0; i < GOSSIP_PARTNERS; i++) {
		const struct pool_entry *to = &p->table.entries.v[gossip_partner(&p->gossip, n, self)];
		struct host *h = to->removed ? NULL : host_want(p, to->member.name);
		if (!h)
			continue;
		free(h->rumors);
		h->rumors = mem_strdup(text);
		rumors_send(h);
	}
	free(text);
}

/* ---- in ---- */

static void rumor_take(struct pool *p, const json_t *o, int64_t now)
{
	const char *name = json_string_value(json_object_get(o, "name")),
		   *where = json_string_value(json_object_get(o, "where"));
	uint64_t join = peer_join_read(json_object_get(o, "join"));
	struct peer_report r;
	struct pool_entry *e;
	struct err err;

	if (!name || !*name || strlen(name) >= PEER_NAME_SIZE || !where || strlen(where) >= PEER_WHERE_SIZE ||
	    strcmp(name, p->conf.name) == 0 || peer_report_read(o, &r, &err) < 0)
		return;
	e = pool_table_find(&p->table, name);
	if (e && !e->removed && e->member.join > join)
		join = e->member.join;
	if (removed_has(&p->removed, name, join))
		return;
	if (!e || e->removed) {
		if (!*where || p->table.entries.n >= PEER_MEMBERS_MOST)
			return;
		member_learn(p, name, where, join);
		e = pool_table_find(&p->table, name);
		p->members_new = true;
	}
	if (pool_table_report(e, &r, now))
		gossip_learn(&p->gossip, e->number);
}

void rumors_take(struct pool *p, const json_t *head)
{
	const json_t *list = json_object_get(head, "list"), *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		if (i < RUMORS_MOST)
			rumor_take(p, o, pool_now());
	}
	origin_place(p);
}
