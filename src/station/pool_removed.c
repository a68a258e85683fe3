/*
 * pool_removed.c - the daemon's list of removed stations (removed.h): DIR/removed.json is sent over
 * every link that is opened, and at once when it changes, so that it spreads as fast as reports.
 *
 *	-> removed {text, signature}
 *
 * A station that receives it closes its links with the removed stations, and TLS refuses them from
 * then on. A station that finds itself in the list stops.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/logline.h"
#include "station/pool_internal.h"

static struct peer_removed list_of(const struct pool *p)
{
	return (struct peer_removed){strbuf_text(&p->removed.text), strbuf_text(&p->removed.signature)};
}

static int store(struct pool *p, struct err *err)
{
	const struct peer_removed list = list_of(p);
	struct strbuf text = {0};

	record_store_text(peer_removed_frame.fields, 0, &list, NULL, &text);
	int rc = pool_home_write(&p->home, "removed.json", 0644, text.text, err);
	strbuf_fini(&text);
	return rc;
}

/* Takes a list over; returns 1 if it is newer than ours. */
static int take(struct pool *p, const char *text, const char *signature, struct err *err)
{
	struct strbuf ca = {0};
	int rc = pool_home_read(&p->home, "ca.crt", &ca, err);

	if (rc == 0)
		rc = removed_take(&p->removed, strbuf_text(&ca), text, signature, err);
	strbuf_fini(&ca);
	return rc;
}

static int list_read(struct pool *p, const json_t *o, struct err *err)
{
	struct peer_removed list;

	if (record_load(peer_removed_frame.fields, 0, o, &list, NULL, NULL) < 0)
		return err_set(err, -EINVAL, "a list of removed stations has no text");
	return take(p, list.text, list.signature, err);
}

static int ourselves(const struct pool *p, struct err *err)
{
	return removed_has(&p->removed, p->conf.name, p->identity.join)
		       ? err_set(err, -EKEYREVOKED,
				 "this station was removed from pool %s: to join again, remove %.300s, and ask for a token",
				 p->conf.pool, p->home.dir)
		       : 0;
}

int removed_load(struct pool *p, struct err *err)
{
	struct strbuf text = {0};
	int rc = pool_home_read(&p->home, "removed.json", &text, err);
	json_t *o = rc == 0 ? json_loads(strbuf_text(&text), 0, NULL) : NULL;

	if (rc == 0 && (rc = list_read(p, o, err)) < 0)
		err_prefix(err, rc, "%.300s/removed.json", p->home.dir);
	json_decref(o);
	strbuf_fini(&text);
	return rc < 0 && rc != -ENOENT ? rc : ourselves(p, err);
}

void removed_send(struct host *h)
{
	const struct peer_removed list = list_of(h->pool);

	if (!h->link || h->told >= h->pool->removed.number)
		return;
	h->told = h->pool->removed.number;
	link_record(h->link, "removed", &peer_removed_frame, &list);
}

/* Sends the list to all stations, including the removed ones before their links are closed. */
static void spread(struct pool *p)
{
	struct err err;

	if (store(p, &err) < 0)
		log_line(SEVERITY_ERROR, "%s", err.text);
	for (struct host *h = p->hosts; h; h = h->next)
		if (h->welcome)
			removed_send(h);
	for (size_t i = 0; i < p->table.entries.n; i++) {
		struct pool_entry *e = &p->table.entries.v[i];
		struct host *h = host_find(p, e->member.name);
		if (e->removed || strcmp(e->member.name, p->conf.name) == 0 ||
		    !removed_has(&p->removed, e->member.name, e->member.join))
			continue;
		log_line(SEVERITY_NOTICE, "%s was removed from the pool", e->member.name);
		e->removed = true;
		e->linked = false;
		e->report = (struct peer_report){0};
		if (h && h->link)
			link_close(h->link, "it was removed from the pool");
	}
	listener_revoke(p->listener, &p->removed.stations);
	members_store(p);
	if (ourselves(p, &err) < 0) {
		log_line(SEVERITY_ERROR, "%s", err.text);
		p->leave(p);
	}
}

void removed_hear(struct pool *p, const json_t *head)
{
	struct err err;
	int rc = list_read(p, head, &err);

	if (rc < 0)
		log_line(SEVERITY_WARNING, "%s", err.text);
	else if (rc > 0)
		spread(p);
}

/* Returns the last join of that name: it is removed with all earlier ones. */
static uint64_t join_of(struct pool *p, const char *name)
{
	const struct pool_entry *e = pool_table_find(&p->table, name);
	uint64_t join = pool_station_join(&p->home, name), seen = e && !e->removed ? e->member.join : 0;

	return join > seen ? join : seen;
}

int member_remove(struct pool *p, const char *name, struct err *err)
{
	struct strbuf key = {0}, text = {0}, signature = {0};
	uint64_t join = join_of(p, name);
	int rc = pool_home_read(&p->home, "ca.key", &key, err);

	if (rc == -ENOENT)
		err_set(err, rc = -ENOTSUP, "only the station that created the pool can remove others");
	else if (rc == 0 && strcmp(name, p->conf.name) == 0)
		rc = err_set(err, -EINVAL, "%s is this station, which has the pool's authority", name);
	else if (rc == 0 && (!join || removed_has(&p->removed, name, join)))
		rc = err_set(err, -ENOENT, "no station of this pool is called %.64s: 'shunt pool status' lists them",
			     name);
	if (rc == 0)
		rc = removed_next(&p->removed, strbuf_text(&key), name, join, &text, &signature, err);
	if (key.text)
		explicit_bzero(key.text, key.n);
	if (rc == 0)
		rc = take(p, text.text, signature.text, err);
	if (rc > 0)
		spread(p);
	strbuf_fini(&key);
	strbuf_fini(&text);
	strbuf_fini(&signature);
	return rc < 0 ? rc : 0;
}
