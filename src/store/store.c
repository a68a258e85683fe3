/*
 * store.c - queues changes and commits them.
 *
 * A change is a statement of schema.c with its values, copied into an arena and queued. A commit
 * passes the queue to the back end, which writes it in one transaction together with the number of
 * the commit. A failed commit may still have happened (the answer was lost with the connection), so
 * the next one first reads that number: if it has grown, what was queued then is on disk, and only
 * later changes are written.
 *
 * A server that does not lead (lead.c) cannot commit.
 *
 * A number is a count with a tag in its low bits that is drawn when the store is opened, so that
 * another server's commit is never mistaken for ours. A commit succeeds only if the stored number
 * is the one we know.
 *
 * Invariants: changes before `done` are on disk; `number` is that of the last commit known to be on
 * disk; `doubt` is the length of the queue when a commit of unknown outcome was tried, else 0.
 */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/ticks.h"
#include "base/utf8.h"
#include "store/fault.h"
#include "store/pile.h"
#include "store/store_internal.h"

#define TAG_BITS 24

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Returns the back end for a URL, and in *ret_where what it opens. */
static const struct backend *backend_find(const char *url, const char **ret_where, struct err *err)
{
	*ret_where = url;
	if (has_prefix(url, "postgres://") || has_prefix(url, "postgresql://"))
		return &postgres_backend;
	if (has_prefix(url, "sqlite:"))
		*ret_where = url + strlen("sqlite:");
	else if (strstr(url, "://")) {
		err_set(err, 0, "store %s: unknown kind (use sqlite:PATH or postgres://...)", url);
		return NULL;
	}
	if (**ret_where == '\0') {
		err_set(err, 0, "store: no path is given (use sqlite:PATH or postgres://...)");
		return NULL;
	}
	return &sqlite_backend;
}

static int64_t tag_draw(void)
{
	uint32_t tag;

	while (getrandom(&tag, sizeof tag, 0) != sizeof tag) /* retry if interrupted by a signal */
		;
	return tag >> (32 - TAG_BITS);
}

static int take_id(void *context, const struct value *row)
{
	snprintf(context, sizeof((struct store *)0)->id, "%s", row[0].text ? row[0].text : "");
	return 0;
}

/* Checks that a store opened for reading is one already, since it is not turned into one. */
static int existing_check(const struct backend *back, void *db, struct err *err)
{
	int64_t version = 0;
	int rc = meta_get(back, db, META_VERSION, &version, err);

	if (rc == -ENOTCONN || rc == -EBUSY || (rc == 0 && version > 0))
		return rc;
	if (rc == 0)
		err_set(err, 0, "it is empty");
	return err_prefix(err, -EINVAL, "%s is not a store of Shunt", back->name(db));
}

static int unfinished(const struct backend *back, void *db, struct err *err)
{
	return err_set(
		err, -EINPROGRESS,
		"store %s is incomplete: a copy into it was not finished. Run the same 'shunt store copy' again, which starts over, or use the "
		"store that was copied",
		back->name(db));
}

int store_open(const char *url, struct store **ret, struct err *err)
{
	return store_open_as(url, 0, ret, err);
}

int store_open_as(const char *url, int how, struct store **ret, struct err *err)
{
	const char *where;
	const struct backend *back = backend_find(url, &where, err);
	void *db;

	if (!back)
		return -EINVAL;
	int rc = back->open(where, how, &db, err);
	if (rc < 0)
		return rc;

	int64_t number = 0;
	char id[sizeof(*ret)->id] = "";
	if (how & OPEN_EXISTING)
		rc = existing_check(back, db, err);
	if (rc == 0)
		rc = how & OPEN_AS_IS ? schema_same(back, db, err) : schema_migrate(back, db, err);
	if (rc == 0)
		rc = meta_get(back, db, META_COMMIT, &number, err);
	if (rc == 0)
		rc = back->query(db, GET_IDENTITY, NULL, take_id, id, err);
	if (rc == 0 && strcmp(id, ID_COPYING) == 0 && !(how & OPEN_UNFINISHED))
		rc = unfinished(back, db, err);
	if (rc < 0) {
		back->close(db);
		return rc;
	}
	*ret = mem_zalloc(sizeof **ret);
	(*ret)->back = back;
	(*ret)->db = db;
	(*ret)->number = number;
	memcpy((*ret)->id, id, sizeof id);
	(*ret)->tag = tag_draw();
	(*ret)->arena = arena_create();
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	s->back->close(s->db);
	vec_free(&s->changes);
	map_fini(&s->latest);
	arena_destroy(s->arena);
	pile_fini(s);
	free(s->lost);
	free(s);
}

const char *store_kind(const struct store *s)
{
	return s->back->kind;
}

const char *store_name(const struct store *s)
{
	return s->back->name(s->db);
}

const char *store_id(const struct store *s)
{
	return s->id;
}

bool store_lost(const struct store *s)
{
	return s->lost != NULL;
}

bool store_is_new(const struct store *s)
{
	return s->number == 0;
}

/* ---- queueing ---- */

static struct value number_value(uint64_t n)
{
	return (struct value){.n = (int64_t)n};
}

static struct value bytes_value(struct store *s, const void *bytes, size_t n)
{
	char *copy = arena_alloc(s->arena, n + 1);

	if (n)
		memcpy(copy, bytes, n);
	return (struct value){(int64_t)n, copy};
}

/* Replaces invalid UTF-8 by U+FFFD: PostgreSQL would refuse it, now and at each retry. */
static struct value mended_value(struct store *s, const char *text)
{
	struct strbuf b = {0};
	int32_t c;

	for (int n; (n = utf8_next(text, &c)) > 0; text += n) {
		if (c < 0)
			strbuf_puts(&b, "\xef\xbf\xbd");
		else
			strbuf_add(&b, text, (size_t)n);
	}
	struct value v = bytes_value(s, b.text, b.n);
	strbuf_fini(&b);
	return v;
}

static struct value text_value(struct store *s, const char *text)
{
	const char *p = text;
	int32_t c = 0;

	for (int n = 1; n > 0 && c >= 0; p += n)
		n = (unsigned char)*p - 1u < 0x7f ? 1 : utf8_next(p, &c);
	return c < 0 ? mended_value(s, text) : bytes_value(s, text, (size_t)(p - text));
}

struct value store_text(struct store *s, const char *text)
{
	return text ? text_value(s, text) : (struct value){0};
}

/* Queues `what` with as many values as it takes; copies only the array of values. */
void change_add(struct store *s, enum statement what, const struct value *values)
{
	size_t n = strlen(statements[what].in);
	struct value *v = arena_alloc(s->arena, n * sizeof *v);

	memcpy(v, values, n * sizeof *v);
	vec_push(&s->changes, (struct change){what, v});
	s->bodies += what == PUT_BODY || what == DROP_BODIES;
	if (what == PUT_BODY)
		map_set(&s->latest, record_slot((uint64_t)v[0].n, false), s->changes.n);
	else if (what == PUT_SCRIPT || what == DROP_SCRIPT)
		map_set(&s->latest, record_slot((uint64_t)v[0].n, true), s->changes.n);
	else if (what == DROP_BODIES) /* drops all bodies of a job; found by its own key range */
		s->dropped = s->changes.n;
}

void store_change(struct store *s, enum statement what, const struct value *values)
{
	const char *types = statements[what].in;
	struct value own[VALUES_MAX];

	for (int i = 0; types[i]; i++)
		own[i] = types[i] == 'i' || !values[i].text ? values[i]
							    : bytes_value(s, values[i].text, (size_t)values[i].n);
	change_add(s, what, own);
}

#define CHANGE(s, what, ...) change_add(s, what, (const struct value[]){__VA_ARGS__})

void store_put_job(struct store *s, uint64_t key, const char *head, const char *body)
{
	CHANGE(s, PUT_JOB, number_value(key), text_value(s, head));
	CHANGE(s, PUT_BODY, number_value(key), text_value(s, body));
}

void store_put_body(struct store *s, uint64_t key, const char *body)
{
	CHANGE(s, PUT_BODY, number_value(key), text_value(s, body));
}

void store_put_head(struct store *s, uint64_t key, const char *head)
{
	CHANGE(s, PUT_HEAD, text_value(s, head), number_value(key));
}

void store_put_event(struct store *s, const struct store_event *e)
{
	CHANGE(s, PUT_EVENT, number_value(e->seq), number_value(e->job), number_value((uint64_t)e->time),
	       number_value((uint64_t)e->type), number_value((uint64_t)e->at), number_value(e->by),
	       store_text(s, e->nodes), store_text(s, e->data));
}

void store_put_last_event(struct store *s, const struct store_event *e)
{
	CHANGE(s, TRIM_EVENTS, number_value(e->job), number_value((uint64_t)e->type), number_value(e->seq));
	store_put_event(s, e);
}

void store_put_life(struct store *s, const struct store_life *e)
{
	CHANGE(s, PUT_LIFE, number_value(e->seq), text_value(s, e->kind), text_value(s, e->name),
	       number_value((uint64_t)e->time), text_value(s, e->type), number_value((uint64_t)e->at),
	       store_text(s, e->who), store_text(s, e->reason));
}

void store_trim_life(struct store *s, const char *kind, const char *name, uint64_t keep)
{
	CHANGE(s, TRIM_LIFE, text_value(s, kind), text_value(s, name), number_value(keep));
}

void store_put_script(struct store *s, uint64_t id, const void *text, size_t n)
{
	CHANGE(s, PUT_SCRIPT, number_value(id), bytes_value(s, text, n));
}

void store_put_object(struct store *s, const char *kind, const char *name, const char *value)
{
	CHANGE(s, PUT_OBJECT, text_value(s, kind), text_value(s, name), text_value(s, value));
}

void store_drop_object(struct store *s, const char *kind, const char *name)
{
	CHANGE(s, DROP_OBJECT, text_value(s, kind), text_value(s, name));
}

void store_drop_job(struct store *s, uint64_t key)
{
	uint64_t last = job_key_index(key) < 0 ? job_key(job_key_number(key), JOB_INDEX_MAX) : key;

	CHANGE(s, DROP_JOBS, number_value(key), number_value(last));
	CHANGE(s, DROP_BODIES, number_value(key), number_value(last));
	CHANGE(s, DROP_EVENTS, number_value(key), number_value(last));
}

void store_drop_script(struct store *s, uint64_t id)
{
	CHANGE(s, DROP_SCRIPT, number_value(id));
}

void store_keep_object(struct store *s, const char *what, const char *reason, const char *kind, const char *name)
{
	struct value k = text_value(s, kind), n = text_value(s, name);

	CHANGE(s, KEEP_OBJECT, number_value((uint64_t)time(NULL)), text_value(s, what), text_value(s, reason), k, n);
	CHANGE(s, DROP_OBJECT, k, n);
}

void store_keep_job(struct store *s, const char *what, const char *reason, uint64_t key)
{
	struct value k = number_value(key);

	CHANGE(s, KEEP_JOB, number_value((uint64_t)time(NULL)), text_value(s, what), text_value(s, reason), k);
	CHANGE(s, DROP_JOBS, k, k);
	CHANGE(s, DROP_BODIES, k, k);
}

void store_keep_numbered(struct store *s, enum statement keep, enum statement drop, const char *what,
			 const char *reason, uint64_t seq)
{
	struct value k = number_value(seq);

	CHANGE(s, keep, number_value((uint64_t)time(NULL)), text_value(s, what), text_value(s, reason), k);
	CHANGE(s, drop, k);
}

/* ---- writing ---- */

size_t store_pending(const struct store *s)
{
	return s->changes.n - s->done + (s->pile.rows != 0) + (s->lost != NULL);
}

static int64_t number_next(const struct store *s)
{
	return ((s->number >> TAG_BITS) + 1) << TAG_BITS | s->tag;
}

/* Records that the first n changes of the queue are on disk, by one more commit. */
static void commit_done(struct store *s, size_t n)
{
	s->number = number_next(s);
	s->doubt = 0;
	s->done = n;
	if (s->done < s->changes.n)
		return;
	s->done = 0;
	vec_clear(&s->changes);
	map_fini(&s->latest);
	s->latest = (struct map){0};
	s->dropped = s->ledger = 0;
	arena_destroy(s->arena);
	s->arena = arena_create();
}

/* Finds out whether a failed commit happened after all. */
static int commit_resolve(struct store *s, struct err *err)
{
	int64_t number = -1;
	int rc = meta_get(s->back, s->db, META_COMMIT, &number, err);

	if (rc < 0)
		return rc;
	if (number == number_next(s))
		commit_done(s, s->doubt);
	s->doubt = 0;
	return 0;
}

static int commit_write(struct store *s, struct err *err)
{
	struct value number[] = {{.n = number_next(s)}, {.n = s->number}};
	struct value fence[] = {{.n = s->lease_ms}, {.n = s->epoch}};
	int64_t began = clock_us(CLOCK_BOOTTIME);

	fault_pass(FAULT_BEFORE);
	s->doubt = s->changes.n;
	int rc = s->back->write(s->db, s->changes.v + s->done, s->changes.n - s->done, number,
				s->lease_ms ? fence : NULL, err);
	if (rc == -ESTALE)
		return lead_lost(s, err);
	if (rc < 0)
		return rc;
	fault_pass(FAULT_AFTER);
	s->kept_us = began;
	return 0;
}

/* Checks whether somebody has deleted or replaced the files. Their contents are still open for
 * us: they are saved to another store, which also receives later changes; but the next server
 * will not look there, so nothing counts as written. */
static int lost_check(struct store *s, struct err *err)
{
	char *to = NULL, *was = NULL;

	if (s->lost || !s->back->is_there || s->back->is_there(s->db))
		return 0;
	was = mem_strdup(s->back->name(s->db));
	int rc = s->back->rescue(s->db, &to, err);
	if (rc < 0) {
		rc = err_prefix(
			err, rc,
			"store %s was deleted or replaced while the server ran. Do not stop the server: it tries to save all to a new file",
			was);
	} else {
		err_set(err, 0,
			"store %s was deleted or replaced while the server ran. All of it is saved in %s: stop the server, put that file in "
			"its place (and remove its -wal and -shm), start the server",
			was, to);
		s->lost = mem_strdup(err->text);
	}
	free(was);
	free(to);
	return rc;
}

int store_commit(struct store *s, struct err *err)
{
	struct err own;

	if (!err)
		err = &own;
	if (!s->epoch)
		return err_set(err, -EPERM, "store %s: this server does not lead, so it can't write",
			       s->back->name(s->db));
	int rc = lost_check(s, err);
	pile_close(s);
	if (rc == 0 && s->doubt)
		rc = commit_resolve(s, err);
	if (rc == 0 && s->changes.n > s->done)
		rc = fault_begin(err);
	if (rc == 0 && s->changes.n > s->done) {
		rc = commit_write(s, err);
		if (rc == 0)
			commit_done(s, s->changes.n);
		if (rc == 0)
			rc = lost_check(s, err); /* they may have been replaced meanwhile */
	}
	if (rc == 0 && s->lost)
		return err_set(err, -EIDRM, "%s", s->lost);
	/* it took so long that another server may have taken over since */
	if (rc == 0 && !store_leads(s))
		rc = store_keep(s, s->lease_ms, err);
	return rc;
}
