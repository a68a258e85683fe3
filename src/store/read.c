/*
 * read.c - reads everything at startup, and single records on request.
 *
 * A record that the reader rejects is queued for the table `damaged` while rows still arrive, and
 * moved there by a commit at the end. If that commit fails, the changes stay queued, the next
 * commit moves them, and the server starts.
 *
 * Single records are first looked up, by an index, among the changes not yet written.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "store/store_internal.h"

static const char *text_or_empty(struct value v)
{
	return v.text ? v.text : "";
}

struct reading {
	struct store *store;
	const struct store_reader *reader;
	struct strbuf what;
	struct err err;
	bool damaged;
};

/* Reports a damaged record; its name is in r->what and the reason in r->err. */
static const char *reading_complain(struct reading *r)
{
	if (r->err.text[0] == '\0')
		err_set(&r->err, 0, "the server can't use it");
	if (r->reader->damaged)
		r->reader->damaged(r->reader->context, strbuf_text(&r->what), r->err.text);
	r->damaged = true;
	return r->err.text;
}

static int read_object(void *context, const struct value *row)
{
	struct reading *r = context;
	const char *kind = text_or_empty(row[0]), *name = text_or_empty(row[1]);

	r->err.text[0] = '\0';
	if (!r->reader->object ||
	    r->reader->object(r->reader->context, kind, name, text_or_empty(row[2]), &r->err) >= 0)
		return 0;
	strbuf_clear(&r->what);
	strbuf_printf(&r->what, "%s %s", kind, name);
	store_keep_object(r->store, strbuf_text(&r->what), reading_complain(r), kind, name);
	return 0;
}

static void name_job(struct strbuf *out, uint64_t key)
{
	strbuf_printf(out, "job %" PRIu64, job_key_number(key));
	if (job_key_index(key) >= 0)
		strbuf_printf(out, "[%" PRId64 "]", job_key_index(key));
}

static int read_job(void *context, const struct value *row)
{
	struct reading *r = context;
	uint64_t key = (uint64_t)row[0].n;

	r->err.text[0] = '\0';
	if (!r->reader->job || r->reader->job(r->reader->context, key, text_or_empty(row[1]), &r->err) >= 0)
		return 0;
	strbuf_clear(&r->what);
	name_job(&r->what, key);
	store_keep_job(r->store, strbuf_text(&r->what), reading_complain(r), key);
	return 0;
}

static struct store_event event_of(const struct value *row)
{
	return (struct store_event){
		.seq = (uint64_t)row[0].n,
		.job = (uint64_t)row[1].n,
		.time = row[2].n,
		.type = (int)row[3].n,
		.at = row[4].n,
		.by = (uint64_t)row[5].n,
		.nodes = row[6].text,
		.data = row[7].text,
	};
}

static int read_event(void *context, const struct value *row)
{
	struct reading *r = context;
	struct store_event e = event_of(row);

	r->err.text[0] = '\0';
	if (!r->reader->event || r->reader->event(r->reader->context, &e, &r->err) >= 0)
		return 0;
	strbuf_clear(&r->what);
	strbuf_printf(&r->what, "event %" PRIu64 " of ", e.seq);
	name_job(&r->what, e.job);
	store_keep_numbered(r->store, KEEP_EVENT, DROP_EVENT, strbuf_text(&r->what), reading_complain(r), e.seq);
	return 0;
}

static struct store_life life_of(const struct value *row)
{
	return (struct store_life){
		.seq = (uint64_t)row[0].n,
		.kind = text_or_empty(row[1]),
		.name = text_or_empty(row[2]),
		.time = row[3].n,
		.type = text_or_empty(row[4]),
		.at = row[5].n,
		.who = row[6].text,
		.reason = row[7].text,
	};
}

static int read_life(void *context, const struct value *row)
{
	struct reading *r = context;
	struct store_life e = life_of(row);

	r->err.text[0] = '\0';
	if (!r->reader->life || r->reader->life(r->reader->context, &e, &r->err) >= 0)
		return 0;
	strbuf_clear(&r->what);
	strbuf_printf(&r->what, "event %" PRIu64 " of %s %s", e.seq, e.kind, e.name);
	store_keep_numbered(r->store, KEEP_LIFE, DROP_LIFE, strbuf_text(&r->what), reading_complain(r), e.seq);
	return 0;
}

int store_read(struct store *s, const struct store_reader *reader, struct err *err)
{
	struct reading r = {.store = s, .reader = reader};
	int rc = s->back->query(s->db, GET_OBJECTS, NULL, read_object, &r, err);

	if (rc == 0)
		rc = s->back->query(s->db, GET_LIVES, NULL, read_life, &r, err);
	if (rc == 0)
		rc = s->back->query(s->db, GET_JOBS, NULL, read_job, &r, err);
	if (rc == 0)
		rc = s->back->query(s->db, GET_EVENTS, NULL, read_event, &r, err);
	if (rc == 0 && r.damaged)
		store_commit(s, NULL);
	strbuf_fini(&r.what);
	return rc;
}

struct objects {
	int (*one)(void *context, const char *name, const char *value);
	void *context;
};

static int tell_object(void *context, const struct value *row)
{
	struct objects *o = context;

	return o->one(o->context, text_or_empty(row[0]), text_or_empty(row[1]));
}

int store_get_objects(struct store *s, const char *kind,
		      int (*object)(void *context, const char *name, const char *value), void *context, struct err *err)
{
	struct objects o = {object, context};
	struct value in = {(int64_t)strlen(kind), kind};

	return s->back->query(s->db, GET_KIND, &in, tell_object, &o, err);
}

/* ---- single records ---- */

struct copy {
	char *text;
	size_t n;
};

static int copy_take(void *context, const struct value *row)
{
	struct copy *c = context;

	free(c->text);
	c->n = row[0].text ? (size_t)row[0].n : 0;
	c->text = mem_alloc(c->n + 1);
	if (c->n)
		memcpy(c->text, row[0].text, c->n);
	c->text[c->n] = '\0';
	return 0;
}

/* Returns the newest queued change of a record that `put` writes and `drop` removes (by one key,
 * or by a range). Drops of jobs are rare, and nobody reads the bodies of dropped jobs, so only
 * drops are searched for in the queue. */
static const struct change *pending_find(const struct store *s, uint64_t key, enum statement put, enum statement drop)
{
	int64_t k = (int64_t)key;
	uint64_t at = 0;

	map_get(&s->latest, record_slot(key, put == PUT_SCRIPT), &at);
	for (size_t i = drop == DROP_BODIES ? s->dropped : 0; i > s->done && i > at; i--) {
		const struct change *c = &s->changes.v[i - 1];
		if (c->what == drop && c->v[0].n <= k && c->v[1].n >= k)
			return c;
	}
	return at > s->done ? &s->changes.v[at - 1] : NULL;
}

static int record_get(struct store *s, uint64_t key, enum statement put, enum statement drop, enum statement get,
		      struct copy *ret, struct err *err)
{
	const struct change *c = pending_find(s, key, put, drop);
	struct value in = {.n = (int64_t)key};
	int rc = 0;

	if (c && c->what == put)
		copy_take(ret, &c->v[1]);
	else if (!c)
		rc = s->back->query(s->db, get, &in, copy_take, ret, err);
	if (rc == 0 && !ret->text)
		return err_set(err, -ENOENT, "%s: the store has none", get == GET_BODY ? "job" : "script");
	return rc;
}

int store_get_body(struct store *s, uint64_t key, char **ret, struct err *err)
{
	struct copy c = {0};
	int rc = record_get(s, key, PUT_BODY, DROP_BODIES, GET_BODY, &c, err);

	if (rc < 0)
		free(c.text);
	else
		*ret = c.text;
	return rc;
}

uint64_t store_bodies(const struct store *s)
{
	return s->bodies;
}

int store_get_script(struct store *s, uint64_t id, char **ret, size_t *ret_n, struct err *err)
{
	struct copy c = {0};
	int rc = record_get(s, id, PUT_SCRIPT, DROP_SCRIPT, GET_SCRIPT, &c, err);

	if (rc < 0) {
		free(c.text);
		return rc;
	}
	*ret = c.text;
	*ret_n = c.n;
	return 0;
}

struct telling {
	int (*event)(void *context, const struct store_event *e);
	void (*damaged)(void *context, const char *what, const char *reason);
	int (*life)(void *context, const struct store_life *e);
	void *context;
};

static int tell_event(void *context, const struct value *row)
{
	struct telling *t = context;
	struct store_event e = event_of(row);

	return t->event(t->context, &e);
}

int store_get_events(struct store *s, uint64_t key, uint64_t from, int64_t most,
		     int (*event)(void *context, const struct store_event *e), void *context, struct err *err)
{
	struct telling t = {.event = event, .context = context};
	struct value in[] = {{.n = (int64_t)key}, {.n = (int64_t)from}, {.n = most}};

	return s->back->query(s->db, GET_JOB_EVENTS, in, tell_event, &t, err);
}

static int tell_life(void *context, const struct value *row)
{
	struct telling *t = context;
	struct store_life e = life_of(row);

	return t->life(t->context, &e);
}

int store_get_life(struct store *s, const char *kind, const char *name,
		   int (*one)(void *context, const struct store_life *e), void *context, struct err *err)
{
	struct telling t = {.life = one, .context = context};
	struct value in[] = {{(int64_t)strlen(kind), kind}, {(int64_t)strlen(name), name}};

	return s->back->query(s->db, GET_LIFE, in, tell_life, &t, err);
}

static int tell_damaged(void *context, const struct value *row)
{
	struct telling *t = context;

	t->damaged(t->context, text_or_empty(row[0]), text_or_empty(row[1]));
	return 0;
}

int store_get_damaged(struct store *s, void (*one)(void *context, const char *what, const char *reason), void *context,
		      struct err *err)
{
	struct telling t = {.damaged = one, .context = context};

	return s->back->query(s->db, GET_DAMAGED, NULL, tell_damaged, &t, err);
}
