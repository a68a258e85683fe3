/*
 * copy.c - copies a whole store.
 *
 *	1. read the original in one transaction: rows and hash of each table
 *	2. mark the copy as incomplete, and copy the tables
 *	3. read the copy, and compare
 *	4. check that no server has used the original meanwhile
 *	5. give the copy its id
 *
 * The original is not changed. A SQLite file is locked, so that no server can start with it; for a
 * PostgreSQL database the number of the last commit and the epoch show afterwards whether one has
 * used it. A backup of a live store does without both: its transaction sees one instant. The copy
 * is written as a leader writes: in commits of BATCH_ROWS rows, fenced by an epoch.
 *
 * The tables `lead` (except the epoch, which never decreases) and `meta` are not copied: they
 * describe a store's own connections and commits.
 */
#include "store/copy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "store/store_internal.h"

#define BATCH_ROWS 5000
#define BATCH_BYTES (8 << 20)
#define LEASE_MS 3000 /* renewed by each commit; a killed copy holds it until it expires */
#define WAIT_MS 250

/* A new table only needs a row here. */
static const struct {
	const char *name, *one, *all;
	enum statement get, put;
} tables[COPY_TABLES] = {
	{"object", "setting", "settings", GET_OBJECTS, PUT_OBJECT},
	{"job", "job", "jobs", GET_JOBS, PUT_JOB},
	{"body", "job description", "job descriptions", GET_BODIES, PUT_BODY},
	{"event", "event", "events", GET_EVENTS, PUT_EVENT},
	{"script", "script", "scripts", GET_SCRIPTS, PUT_SCRIPT},
	{"life", "event of a node or queue", "events of nodes and queues", GET_LIVES, PUT_LIFE},
	{"damaged", "damaged record", "damaged records", GET_RECORDS, PUT_RECORD},
	{"history", "job of the history", "jobs of the history", GET_HISTORY, PUT_HISTORY},
	{"pile", "batch of jobs for the history", "batches of jobs for the history", GET_BLOCKS, PUT_PILE},
	{"ledger", "entry of the ledger", "entries of the ledger", GET_LEDGER, ADD_LEDGER},
	{"outbox", "batch of accounting lines", "batches of accounting lines", GET_LINES, PUT_OUTBOX},
	{"journal", "batch of lines of the event log", "batches of lines of the event log", GET_JOURNAL_LINES,
	 PUT_JOURNAL},
	{"quota", "user's quota", "quota of users", GET_QUOTA, PUT_QUOTA},
	{"quota_move", "change of quota", "changes of quota", GET_BOOK, PUT_MOVE},
	{"audit", "change of the audit log", "changes of the audit log", GET_AUDITS, PUT_AUDIT},
};

struct copying {
	struct store *from, *to;
	bool live; /* a server may be using the original: what it has at one instant is copied */
	copy_progress progress;
	void *context;
	struct store_copied *result;
	int64_t number; /* number of the original's last commit */
	uint64_t epoch; /* epoch of the original's last leader */
	/* current table */
	const char *step;
	int table;
	uint64_t rows, hash;
	size_t bytes; /* bytes queued and not committed */
	struct err *err;
};

static void tell(const struct copying *c)
{
	const char *rows = tables[c->table].all;
	uint64_t total = c->result->table[c->table].rows;

	if (c->progress)
		c->progress(c->context, c->step, rows, c->rows, total);
}

/* ---- reading ---- */

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t n)
{
	uint64_t both[] = {hash, hash_bytes(bytes, n)};

	return hash_bytes(both, sizeof both);
}

static int row_hash(void *context, const struct value *row)
{
	struct copying *c = context;
	const char *types = statements[tables[c->table].get].out;

	for (int i = 0; types[i]; i++) {
		int64_t n = types[i] != 'i' && !row[i].text ? -1 : row[i].n;
		c->hash = hash_more(c->hash, &n, sizeof n);
		if (types[i] != 'i' && row[i].text)
			c->hash = hash_more(c->hash, row[i].text, (size_t)n);
	}
	c->rows++;
	tell(c);
	return 0;
}

static int table_hash(struct copying *c, struct store *s, int table, struct err *err)
{
	c->table = table;
	c->rows = c->hash = 0;
	return s->back->query(s->db, tables[table].get, NULL, row_hash, c, err);
}

static int original_read(struct copying *c, struct err *err)
{
	int rc = 0;

	c->step = "reading";
	for (int i = 0; i < COPY_TABLES && rc == 0; i++) {
		rc = table_hash(c, c->from, i, err);
		c->result->table[i].name = tables[i].name;
		c->result->table[i].one = tables[i].one;
		c->result->table[i].all = tables[i].all;
		c->result->table[i].rows = c->rows;
		c->result->table[i].hash = c->hash;
	}
	return rc;
}

static int copy_compare(struct copying *c, struct err *err)
{
	int rc = 0;

	c->step = "comparing";
	for (int i = 0; i < COPY_TABLES && rc == 0; i++) {
		uint64_t rows = c->result->table[i].rows;
		rc = table_hash(c, c->to, i, err);
		if (rc == 0 && (c->rows != rows || c->hash != c->result->table[i].hash))
			rc = err_set(err, -EIO,
				     "the copy differs from the original in the table %s (%llu rows of %llu)",
				     tables[i].name, (unsigned long long)c->rows, (unsigned long long)rows);
	}
	return rc;
}

/* ---- writing ---- */

static int batch_end(struct copying *c, struct err *err)
{
	int rc = store_commit(c->to, err);

	c->bytes = 0;
	return rc;
}

static int row_copy(void *context, const struct value *row)
{
	struct copying *c = context;
	enum statement put = tables[c->table].put;
	const char *types = statements[put].in;

	store_change(c->to, put, row);
	for (int i = 0; types[i]; i++)
		c->bytes += types[i] == 'i' || !row[i].text ? sizeof *row : (size_t)row[i].n;
	c->rows++;
	tell(c);
	if (store_pending(c->to) < BATCH_ROWS && c->bytes < BATCH_BYTES)
		return 0;
	return batch_end(c, c->err);
}

static int tables_copy(struct copying *c, struct err *err)
{
	int rc = 0;

	c->step = "copying";
	c->err = err;
	for (int i = 0; i < COPY_TABLES && rc == 0; i++) {
		c->table = i;
		c->rows = 0;
		rc = c->from->back->query(c->from->db, tables[i].get, NULL, row_copy, c, err);
		if (rc == 0)
			rc = batch_end(c, err);
	}
	return rc;
}

static int id_put(struct store *s, const char *id, struct err *err)
{
	store_change(s, PUT_IDENTITY, &(struct value){(int64_t)strlen(id), id});
	return store_commit(s, err);
}

/* Takes the lead of the target. A killed copy keeps it for another LEASE_MS. */
static int target_lead(struct copying *c, struct err *err)
{
	char owner[128], host[64] = "";
	struct store_leader leader;
	int rc, waited = 0;

	gethostname(host, sizeof host - 1);
	snprintf(owner, sizeof owner, "'shunt store copy' (process %d on %s)", (int)getpid(), host);
	while ((rc = store_lead(c->to, owner, "", c->epoch, LEASE_MS, &leader, err)) == -EBUSY &&
	       waited < LEASE_MS + 2000) {
		nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000L}, NULL);
		waited += WAIT_MS;
	}
	if (rc == 0)
		c->result->epoch = leader.epoch;
	return rc;
}

/* Removes what an unfinished copy left in the target. */
static int target_empty(struct copying *c, struct err *err)
{
	struct strbuf sql = {0};

	strbuf_puts(&sql, "BEGIN; ");
	for (int i = 0; i < COPY_TABLES; i++)
		strbuf_printf(&sql, "DELETE FROM %s; ", tables[i].name);
	strbuf_puts(&sql, "COMMIT");
	int rc = c->to->back->exec(c->to->db, strbuf_text(&sql), err);
	strbuf_fini(&sql);
	return rc;
}

static int target_fill(struct copying *c, struct err *err)
{
	bool again = strcmp(c->to->id, ID_COPYING) == 0;
	int rc = id_put(c->to, ID_COPYING, err);

	if (rc == 0 && again)
		rc = target_empty(c, err);
	if (rc == 0)
		rc = tables_copy(c, err);
	if (rc == 0)
		rc = copy_compare(c, err);
	return rc;
}

/* ---- checks ---- */

static int leader_check(struct copying *c, struct store *s, struct err *err)
{
	struct store_leader leader;
	int rc = store_get_leader(s, &leader, err);

	if (rc == 0 && leader.left > 0 && !(c->live && s == c->from))
		return err_set(err, -EBUSY, "store %s: the server %s leads. Stop it first", s->back->name(s->db),
			       *leader.address ? leader.address : leader.owner);
	if (s == c->from)
		c->epoch = leader.epoch;
	return rc;
}

/* Checks outside the read transaction, which cannot see later changes. */
static int original_unchanged(struct copying *c, struct err *err)
{
	uint64_t epoch = c->epoch;
	int64_t number = -1;
	int rc = c->from->back->exec(c->from->db, "COMMIT", err);

	if (rc < 0 || c->live)
		return rc;
	rc = leader_check(c, c->from, err);
	if (rc == 0)
		rc = meta_get(c->from->back, c->from->db, META_COMMIT, &number, err);
	if (rc == 0 && (c->epoch != epoch || number != c->number))
		return err_set(err, -ESTALE,
			       "store %s: a server has used it during the copy. Stop the server, and copy again",
			       c->from->back->name(c->from->db));
	return rc;
}

static int take_any(void *context, const struct value *row)
{
	*(bool *)context = true;
	return 0;
}

static int target_check(struct copying *c, struct err *err)
{
	struct store *to = c->to;
	const char *name = to->back->name(to->db);
	bool any = false;
	int rc = 0;

	if (strcmp(to->id, ID_COPYING) == 0)
		return 0;
	for (int i = 0; i < COPY_TABLES && rc == 0; i++)
		rc = to->back->query(to->db, tables[i].get, NULL, take_any, &any, err);
	if (rc < 0)
		return rc;
	if (strcmp(to->id, c->from->id) == 0)
		return err_set(err, -EEXIST, "store %s is the same store, or a copy of it. Copy to a new one", name);
	if (any || !store_is_new(to))
		return err_set(err, -EEXIST,
			       "store %s is in use: it has contents, which a copy would replace. Copy to a new one",
			       name);
	return leader_check(c, to, err);
}

/* ---- the whole copy ---- */

static int same_file(const char *from, const char *to, struct err *err)
{
	struct stat a, b;

	from += strncmp(from, "sqlite:", 7) == 0 ? 7 : 0;
	to += strncmp(to, "sqlite:", 7) == 0 ? 7 : 0;
	if (stat(from, &a) < 0 || stat(to, &b) < 0 || a.st_ino != b.st_ino || a.st_dev != b.st_dev)
		return 0;
	return err_set(err, -EINVAL, "%s and %s are the same file. Copy to a new store", from, to);
}

static int original_open(struct copying *c, const char *from, struct err *err)
{
	int rc = store_open_as(from, OPEN_EXISTING | (c->live ? OPEN_AS_IS : OPEN_ALONE), &c->from, err);

	if (rc == 0 && store_is_new(c->from))
		return err_set(err, -EINVAL, "store %s was never used: there is nothing to copy", store_name(c->from));
	if (rc == 0)
		rc = leader_check(c, c->from, err);
	if (rc == 0)
		rc = c->from->back->exec(c->from->db, c->from->back->read, err);
	if (rc == 0)
		rc = meta_get(c->from->back, c->from->db, META_COMMIT, &c->number, err);
	return rc;
}

static int target_open(struct copying *c, const char *to, struct err *err)
{
	int rc = store_open_as(to, OPEN_ALONE | OPEN_UNFINISHED, &c->to, err);

	return rc < 0 ? rc : target_check(c, err);
}

static int copy(struct copying *c, const char *from, const char *to, struct err *err)
{
	int rc = same_file(from, to, err);

	if (rc == 0)
		rc = original_open(c, from, err);
	if (rc == 0)
		rc = target_open(c, to, err);
	if (rc == 0)
		rc = original_read(c, err);
	if (rc == 0)
		rc = target_lead(c, err);
	if (rc < 0)
		return rc;
	rc = target_fill(c, err);
	if (rc == 0)
		rc = original_unchanged(c, err);
	if (rc == 0)
		rc = id_put(c->to, c->from->id, err);
	if (rc == 0)
		return store_yield(c->to, err);
	if (c->to->epoch)
		store_yield(c->to, NULL);
	return err_prefix(err, rc, "the copy is incomplete, and no server opens it; copying again starts over");
}

int store_copy(const char *from, const char *to, bool live, copy_progress progress, void *context,
	       struct store_copied *ret, struct err *err)
{
	struct copying c = {.live = live, .progress = progress, .context = context, .result = ret};

	*ret = (struct store_copied){0};
	int rc = copy(&c, from, to, err);
	if (rc == 0) {
		snprintf(ret->from, sizeof ret->from, "%s", store_name(c.from));
		snprintf(ret->to, sizeof ret->to, "%s", store_name(c.to));
		snprintf(ret->id, sizeof ret->id, "%s", c.from->id);
	}
	store_close(c.from);
	store_close(c.to);
	return rc;
}
