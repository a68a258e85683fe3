/*
 * schema.c - the tables, their migrations, and every statement that is ever run on them.
 *
 * The schema grows by versions. A version is SQL that leads from the previous version to it; a new
 * database goes through all of them, an old one through those it lacks, each in its own
 * transaction. The text of a released version is never changed: add a version.
 *
 * Both databases understand the same statements (SQLite numbers $1, $2 ... in the order in which
 * they first appear, so they appear in order), except for a few about leases. Names of types differ
 * as well, hence the macros.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "store/store_internal.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

/* KEY: type of a 64-bit primary key; BYTES: type of arbitrary bytes. The rarely read part of a
 * job (body) is kept out of the pages that change often. */
#define VERSION_1(KEY, BYTES)                                                                                          \
	"CREATE TABLE job (key " KEY " PRIMARY KEY, head TEXT NOT NULL);"                                              \
	"CREATE TABLE body (key " KEY " PRIMARY KEY, body TEXT NOT NULL);"                                             \
	"CREATE TABLE event (seq " KEY                                                                                 \
	" PRIMARY KEY, job BIGINT NOT NULL, time BIGINT NOT NULL, type BIGINT NOT NULL,"                               \
	" at BIGINT NOT NULL, \"by\" BIGINT NOT NULL, nodes TEXT, data TEXT);"                                         \
	"CREATE TABLE script (id " KEY " PRIMARY KEY, text " BYTES " NOT NULL);"                                       \
	"CREATE TABLE object (kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, name));"

/* COUNTED: type of a primary key that numbers itself. */
#define VERSION_2(COUNTED)                                                                                             \
	"CREATE INDEX event_job ON event (job);"                                                                       \
	"CREATE TABLE damaged (seq " COUNTED " PRIMARY KEY, time BIGINT NOT NULL, what TEXT NOT NULL,"                 \
	" reason TEXT NOT NULL, record TEXT NOT NULL);"

/* One row: the leader. `until` is in ms since 1970 by the database's clock; 0: no leader. */
#define VERSION_3(KEY)                                                                                                 \
	"CREATE TABLE lead (one " KEY " PRIMARY KEY CHECK (one = 1), epoch BIGINT NOT NULL, owner TEXT NOT NULL,"      \
	" address TEXT NOT NULL, until BIGINT NOT NULL);"                                                              \
	"INSERT INTO lead (one, epoch, owner, address, until) VALUES (1, 0, '', '', 0);"

/* One row: the id of this store and of all its copies. ID: SQL that draws it at random. */
#define VERSION_4(KEY, ID)                                                                                             \
	"CREATE TABLE identity (one " KEY " PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL);"                           \
	"INSERT INTO identity (one, id) VALUES (1, " ID ");"

/* Kept for years: a row for each attempt that has ended, and sums by day. CLUSTERED: option to
 * store the table in the order of its primary key. */
#define VERSION_5(CLUSTERED)                                                                                           \
	"CREATE TABLE history (key BIGINT NOT NULL, attempt BIGINT NOT NULL, last BIGINT NOT NULL, id TEXT,"           \
	" \"user\" TEXT NOT NULL, \"group\" TEXT NOT NULL, account TEXT, project TEXT, queue TEXT NOT NULL,"           \
	" name TEXT NOT NULL, resources TEXT NOT NULL, hosts TEXT, state TEXT NOT NULL, text TEXT,"                    \
	" exit_status BIGINT NOT NULL, submitted BIGINT NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL,"     \
	" nodes BIGINT NOT NULL, cpus BIGINT NOT NULL, gpus BIGINT NOT NULL, memory_kib BIGINT NOT NULL,"              \
	" walltime BIGINT NOT NULL, ran_ms BIGINT NOT NULL, cpu_ms BIGINT NOT NULL, peak_kib BIGINT NOT NULL,"         \
	" PRIMARY KEY (key, attempt))" CLUSTERED ";"                                                                   \
	"CREATE INDEX history_ended ON history (ended, key, attempt);"                                                 \
	"CREATE INDEX history_user ON history (\"user\", ended, key, attempt);"                                        \
	"CREATE INDEX history_queue ON history (queue, ended, key, attempt);"                                          \
	"CREATE INDEX history_state ON history (state, ended, key, attempt);"                                          \
	"CREATE INDEX history_account ON history (account, ended, key, attempt) WHERE account IS NOT NULL;"            \
	"CREATE TABLE ledger (day BIGINT NOT NULL, \"user\" TEXT NOT NULL, \"group\" TEXT NOT NULL,"                   \
	" account TEXT NOT NULL, queue TEXT NOT NULL, attempts BIGINT NOT NULL, ran_ms BIGINT NOT NULL,"               \
	" alloc_ms BIGINT NOT NULL, gpu_ms BIGINT NOT NULL, cpu_ms BIGINT NOT NULL,"                                   \
	" PRIMARY KEY (day, \"user\", \"group\", account, queue))" CLUSTERED ";"

/* Accounting lines that may not be in their files yet. */
#define VERSION_6(KEY, BYTES)                                                                                          \
	"CREATE TABLE outbox (seq " KEY " PRIMARY KEY, day BIGINT NOT NULL, lines " BYTES " NOT NULL);"

/* Events of nodes and queues: `kind` and `name` identify the object; who and reason may be NULL. */
#define VERSION_7(KEY)                                                                                                 \
	"CREATE TABLE life (seq " KEY " PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, time BIGINT NOT NULL,"    \
	" type TEXT NOT NULL, at BIGINT NOT NULL, who TEXT, reason TEXT);"                                             \
	"CREATE INDEX life_name ON life (kind, name, seq);"

/* Jobs of other systems are found by their ids. */
#define VERSION_8 "CREATE INDEX history_id ON history (id, ended, key, attempt) WHERE id IS NOT NULL;"

/* Monthly limits of users, what is left, and the journal of all changes. `last`: the last month
 * with any. */
#define VERSION_9(KEY)                                                                                                    \
	"CREATE TABLE quota (\"user\" TEXT PRIMARY KEY, normal BIGINT NOT NULL, priority BIGINT NOT NULL,"                \
	" interactive BIGINT NOT NULL, last BIGINT NOT NULL, month BIGINT NOT NULL, left_normal BIGINT NOT NULL,"         \
	" left_priority BIGINT NOT NULL, left_interactive BIGINT NOT NULL);"                                              \
	"CREATE TABLE quota_move (seq " KEY " PRIMARY KEY, \"user\" TEXT NOT NULL, time BIGINT NOT NULL,"                 \
	" month BIGINT NOT NULL, type TEXT NOT NULL, cause TEXT NOT NULL, job BIGINT NOT NULL, seconds BIGINT NOT NULL);" \
	"CREATE INDEX quota_move_month ON quota_move (month, \"user\", seq);"

/* Work of an attempt that was in no checkpoint when it was stopped. */
#define VERSION_10 "ALTER TABLE history ADD COLUMN lost_ms BIGINT NOT NULL DEFAULT 0;"

/* Lines of the event log that may not be in its file yet. */
#define VERSION_11(KEY, BYTES)                                                                                         \
	"CREATE TABLE journal (seq " KEY " PRIMARY KEY, day BIGINT NOT NULL, lines " BYTES " NOT NULL);"

/* Record of who changed what: `undo` is the command that restores the earlier state, or NULL. */
#define VERSION_12(KEY)                                                                                                \
	"CREATE TABLE audit (seq " KEY " PRIMARY KEY, time BIGINT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL,"    \
	" name TEXT NOT NULL, action TEXT NOT NULL, change TEXT, undo TEXT);"                                          \
	"CREATE INDEX audit_time ON audit (time);"

/* Rows of the history that are not filed yet. */
#define VERSION_13(KEY, BYTES) "CREATE TABLE pile (seq " KEY " PRIMARY KEY, \"rows\" " BYTES " NOT NULL);"

/* The QoS of jobs that have ended. */
#define VERSION_14 "ALTER TABLE history ADD COLUMN qos TEXT;"

/* Members, without a column, of jobs that have ended: a JSON object; NULL: none. */
#define VERSION_15 "ALTER TABLE history ADD COLUMN members TEXT;"

static const char *const migrations[][2] = {
	{VERSION_1("INTEGER", "BLOB"), VERSION_1("BIGINT", "BYTEA")},
	{VERSION_2("INTEGER"), VERSION_2("BIGSERIAL")},
	{VERSION_3("INTEGER"), VERSION_3("BIGINT")},
	{VERSION_4("INTEGER", "lower(hex(randomblob(16)))"),
	 VERSION_4("BIGINT", "md5(random()::text || clock_timestamp()::text || pg_backend_pid()::text)")},
	{VERSION_5(" WITHOUT ROWID"), VERSION_5("")},
	{VERSION_6("INTEGER", "BLOB"), VERSION_6("BIGINT", "BYTEA")},
	{VERSION_7("INTEGER"), VERSION_7("BIGINT")},
	{VERSION_8, VERSION_8},
	{VERSION_9("INTEGER"), VERSION_9("BIGINT")},
	{VERSION_10, VERSION_10},
	{VERSION_11("INTEGER", "BLOB"), VERSION_11("BIGINT", "BYTEA")},
	{VERSION_12("INTEGER"), VERSION_12("BIGINT")},
	{VERSION_13("INTEGER", "BLOB"), VERSION_13("BIGINT", "BYTEA")},
	{VERSION_14, VERSION_14},
	{VERSION_15, VERSION_15},
};
#define VERSION ((int64_t)(sizeof migrations / sizeof *migrations))

#define QUOTA_COLUMNS                                                                                                  \
	"\"user\", normal, priority, interactive, last, month, left_normal, left_priority, left_interactive"
#define MOVE_COLUMNS "seq, \"user\", time, month, type, cause, job, seconds"
#define AUDIT_COLUMNS "seq, time, who, kind, name, action, change, undo"
#define LIFE_COLUMNS "seq, kind, name, time, type, at, who, reason"
#define LEDGER_CONFLICT                                                                                                \
	" ON CONFLICT (day, \"user\", \"group\", account, queue) DO UPDATE SET"                                        \
	" attempts = ledger.attempts + excluded.attempts, ran_ms = ledger.ran_ms + excluded.ran_ms,"                   \
	" alloc_ms = ledger.alloc_ms + excluded.alloc_ms, gpu_ms = ledger.gpu_ms + excluded.gpu_ms,"                   \
	" cpu_ms = ledger.cpu_ms + excluded.cpu_ms"
#define EVENT_COLUMNS "seq, job, time, type, at, \"by\", nodes, data"

#define HISTORY_SET(c) ", \"" #c "\" = excluded.\"" #c "\""
#define INSERT_HISTORY                                                                                                 \
	"INSERT INTO history (" HISTORY_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"    \
	" $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)"

const struct statement_row statements[STATEMENT_COUNT] = {
	[PUT_JOB] = {"INSERT INTO job (key, head) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET head = excluded.head",
		     "it", ""},
	[PUT_BODY] =
		{"INSERT INTO body (key, body) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET body = excluded.body",
		 "it", ""},
	[PUT_HEAD] = {"UPDATE job SET head = $1 WHERE key = $2", "ti", ""},
	[PUT_EVENT] =
		{"INSERT INTO event (" EVENT_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
		 " ON CONFLICT (seq) DO UPDATE SET job = excluded.job, time = excluded.time, type = excluded.type,"
		 " at = excluded.at, \"by\" = excluded.\"by\", nodes = excluded.nodes, data = excluded.data",
		 "iiiiiitt", ""},
	[PUT_SCRIPT] =
		{"INSERT INTO script (id, text) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET text = excluded.text",
		 "ib", ""},
	[PUT_OBJECT] = {"INSERT INTO object (kind, name, value) VALUES ($1, $2, $3)"
			" ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value",
			"ttt", ""},
	[DROP_OBJECT] = {"DELETE FROM object WHERE kind = $1 AND name = $2", "tt", ""},
	[DROP_JOBS] = {"DELETE FROM job WHERE key BETWEEN $1 AND $2", "ii", ""},
	[DROP_BODIES] = {"DELETE FROM body WHERE key BETWEEN $1 AND $2", "ii", ""},
	[DROP_EVENTS] = {"DELETE FROM event WHERE job BETWEEN $1 AND $2", "ii", ""},
	[DROP_SCRIPT] = {"DELETE FROM script WHERE id = $1", "i", ""},
	[PUT_HISTORY] = {INSERT_HISTORY " ON CONFLICT (key, attempt) DO UPDATE SET last = excluded.last" HISTORY_LIST(
				 HISTORY_SET, HISTORY_SET),
			 HISTORY_TYPES, ""},
	[SET_LOST] = {"UPDATE history SET lost_ms = $1 WHERE key = $2 AND attempt = $3", "iii", ""},
	[TRIM_HISTORY] = {"DELETE FROM history WHERE (key, attempt) IN"
			  " (SELECT key, attempt FROM history WHERE ended < $1 ORDER BY ended LIMIT $2)",
			  "ii", ""},
	[ADD_LEDGER] = {"INSERT INTO ledger (" LEDGER_COLUMNS
			") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)" LEDGER_CONFLICT,
			LEDGER_TYPES, ""},
	[PUT_FOREIGN] = {INSERT_HISTORY " ON CONFLICT DO NOTHING", HISTORY_TYPES, ""},
	[ADD_FOREIGN] = {"INSERT INTO ledger (" LEDGER_COLUMNS ") SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10"
			 " WHERE NOT EXISTS (SELECT 1 FROM history WHERE key = $11 AND attempt = $12)" LEDGER_CONFLICT,
			 LEDGER_TYPES "ii", ""},
	[PUT_PILE] = {"INSERT INTO pile (seq, \"rows\") VALUES ($1, $2)", "ib", ""},
	[TRIM_PILE] = {"DELETE FROM pile WHERE seq <= $1", "i", ""},
	[PUT_OUTBOX] = {"INSERT INTO outbox (seq, day, lines) VALUES ($1, $2, $3)", "iib", ""},
	[TRIM_OUTBOX] = {"DELETE FROM outbox WHERE seq <= $1", "i", ""},
	[PUT_JOURNAL] = {"INSERT INTO journal (seq, day, lines) VALUES ($1, $2, $3)", "iib", ""},
	[TRIM_JOURNAL] = {"DELETE FROM journal WHERE seq <= $1", "i", ""},
	[PUT_QUOTA] = {"INSERT INTO quota (" QUOTA_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
		       " ON CONFLICT (\"user\") DO UPDATE SET normal = excluded.normal, priority = excluded.priority,"
		       " interactive = excluded.interactive, last = excluded.last, month = excluded.month,"
		       " left_normal = excluded.left_normal, left_priority = excluded.left_priority,"
		       " left_interactive = excluded.left_interactive",
		       "tiiiiiiii", ""},
	[DROP_QUOTA] = {"DELETE FROM quota WHERE \"user\" = $1", "t", ""},
	[PUT_MOVE] = {"INSERT INTO quota_move (" MOVE_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
		      " ON CONFLICT (seq) DO UPDATE SET \"user\" = excluded.\"user\", time = excluded.time,"
		      " month = excluded.month, type = excluded.type, cause = excluded.cause, job = excluded.job,"
		      " seconds = excluded.seconds",
		      "itiittii", ""},
	[GET_QUOTA] = {"SELECT " QUOTA_COLUMNS " FROM quota ORDER BY \"user\"", "", "tiiiiiiii"},
	[GET_MOVES] = {"SELECT " MOVE_COLUMNS " FROM quota_move WHERE month = $1 ORDER BY seq", "i", "itiittii"},
	[GET_USER_MOVES] = {"SELECT " MOVE_COLUMNS " FROM quota_move WHERE month = $1 AND \"user\" = $2 ORDER BY seq",
			    "it", "itiittii"},
	[GET_BOOK] = {"SELECT " MOVE_COLUMNS " FROM quota_move ORDER BY seq", "", "itiittii"},
	[PUT_AUDIT] =
		{"INSERT INTO audit (" AUDIT_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
		 " ON CONFLICT (seq) DO UPDATE SET time = excluded.time, who = excluded.who, kind = excluded.kind,"
		 " name = excluded.name, action = excluded.action, change = excluded.change, undo = excluded.undo",
		 "iitttttt", ""},
	[TRIM_AUDIT] = {"DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE time < $1 ORDER BY time LIMIT $2)",
			"ii", ""},
	[GET_AUDIT] = {"SELECT " AUDIT_COLUMNS " FROM audit WHERE time >= $1 AND seq > $2 ORDER BY seq", "ii",
		       "iitttttt"},
	[GET_AUDITS] = {"SELECT " AUDIT_COLUMNS " FROM audit ORDER BY seq", "", "iitttttt"},
	[PUT_LIFE] =
		{"INSERT INTO life (" LIFE_COLUMNS ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
		 " ON CONFLICT (seq) DO UPDATE SET kind = excluded.kind, name = excluded.name, time = excluded.time,"
		 " type = excluded.type, at = excluded.at, who = excluded.who, reason = excluded.reason",
		 "ittititt", ""},
	[TRIM_LIFE] = {"DELETE FROM life WHERE kind = $1 AND name = $2 AND seq <="
		       " (SELECT seq FROM life WHERE kind = $1 AND name = $2 ORDER BY seq DESC LIMIT 1 OFFSET $3)",
		       "tti", ""},
	[TRIM_EVENTS] = {"DELETE FROM event WHERE job = $1 AND type = $2 AND seq < $3", "iii", ""},
	[GET_LIVES] = {"SELECT " LIFE_COLUMNS " FROM life ORDER BY seq", "", "ittititt"},
	[GET_LIFE] = {"SELECT " LIFE_COLUMNS " FROM life WHERE kind = $1 AND name = $2 ORDER BY seq", "tt", "ittititt"},
	[KEEP_LIFE] =
		{"INSERT INTO damaged (time, what, reason, record)"
		 " SELECT $1, $2, $3, kind || ' ' || name || ' time ' || time || ' type ' || type || ' at ' || at"
		 " || ' who ' || coalesce(who, '-') || ' reason ' || coalesce(reason, '-') FROM life WHERE seq = $4",
		 "itti", ""},
	[DROP_LIFE] = {"DELETE FROM life WHERE seq = $1", "i", ""},
	[KEEP_OBJECT] = {"INSERT INTO damaged (time, what, reason, record)"
			 " SELECT $1, $2, $3, value FROM object WHERE kind = $4 AND name = $5",
			 "itttt", ""},
	[KEEP_JOB] =
		{"INSERT INTO damaged (time, what, reason, record)"
		 " SELECT $1, $2, $3, head || '\n' || coalesce((SELECT body FROM body WHERE body.key = job.key), '')"
		 " FROM job WHERE key = $4",
		 "itti", ""},
	[KEEP_EVENT] =
		{"INSERT INTO damaged (time, what, reason, record)"
		 " SELECT $1, $2, $3, 'job ' || job || ' time ' || time || ' type ' || type || ' at ' || at"
		 " || ' by ' || \"by\" || ' nodes ' || coalesce(nodes, '-') || ' data ' || coalesce(data, '-') FROM event WHERE seq = $4",
		 "itti", ""},
	[DROP_EVENT] = {"DELETE FROM event WHERE seq = $1", "i", ""},
	[PUT_NUMBER] = {"UPDATE meta SET value = $1 WHERE name = '" META_COMMIT "' AND value = $2", "ii", ""},
	[TAKE_LEAD] =
		{"UPDATE lead SET epoch = max(epoch + 1, $1), owner = $2, address = $3, until = 0 * $4 RETURNING epoch",
		 "itti", "i"},
	[KEEP_LEAD] = {"UPDATE lead SET until = 0 * $1 WHERE epoch = $2 RETURNING epoch", "ii", "i"},
	[DROP_LEAD] = {"UPDATE lead SET until = 0 WHERE epoch = $1", "i", ""},
	[GET_LEAD] = {"SELECT epoch, owner, address, until FROM lead", "", "itti"},
	[GET_IDENTITY] = {"SELECT id FROM identity", "", "t"},
	[PUT_IDENTITY] = {"UPDATE identity SET id = $1", "t", ""},
	[GET_META] = {"SELECT value FROM meta WHERE name = $1", "t", "i"},
	[GET_OBJECTS] = {"SELECT kind, name, value FROM object ORDER BY kind, name", "", "ttt"},
	[GET_KIND] = {"SELECT name, value FROM object WHERE kind = $1 ORDER BY name", "t", "tt"},
	[GET_JOBS] = {"SELECT key, head FROM job ORDER BY key >> " TEXT_OF(JOB_KEY_SHIFT) " < " TEXT_OF(
			      STORE_FIRST_READ) ", key",
		      "", "it"},
	[GET_EVENTS] = {"SELECT " EVENT_COLUMNS " FROM event ORDER BY seq", "", "iiiiiitt"},
	[GET_JOB_EVENTS] = {"SELECT " EVENT_COLUMNS " FROM event WHERE job = $1 AND seq >= $2 ORDER BY seq LIMIT $3",
			    "iii", "iiiiiitt"},
	[GET_BODY] = {"SELECT body FROM body WHERE key = $1", "i", "t"},
	[GET_SCRIPT] = {"SELECT text FROM script WHERE id = $1", "i", "b"},
	[GET_DAMAGED] = {"SELECT what, reason FROM damaged ORDER BY seq", "", "tt"},
	[GET_BODIES] = {"SELECT key, body FROM body ORDER BY key", "", "it"},
	[GET_SCRIPTS] = {"SELECT id, text FROM script ORDER BY id", "", "ib"},
	[GET_RECORDS] = {"SELECT time, what, reason, record FROM damaged ORDER BY seq", "", "ittt"},
	[PUT_RECORD] = {"INSERT INTO damaged (time, what, reason, record) VALUES ($1, $2, $3, $4)", "ittt", ""},
	[GET_HISTORY] = {"SELECT " HISTORY_COLUMNS " FROM history ORDER BY key, attempt", "", HISTORY_TYPES},
	[GET_LEDGER] = {"SELECT " LEDGER_COLUMNS " FROM ledger ORDER BY day, \"user\", \"group\", account, queue", "",
			LEDGER_TYPES},
	[GET_PILE] = {"SELECT seq, \"rows\" FROM pile WHERE seq > $1 ORDER BY seq", "i", "ib"},
	[GET_PILE_ENDS] = {"SELECT coalesce(min(seq) - 1, 0), coalesce(max(seq), 0) FROM pile", "", "ii"},
	[GET_BLOCKS] = {"SELECT seq, \"rows\" FROM pile ORDER BY seq", "", "ib"},
	[GET_OUTBOX] = {"SELECT seq, day, lines FROM outbox WHERE seq > $1 ORDER BY seq LIMIT $2", "ii", "iib"},
	[GET_LINES] = {"SELECT seq, day, lines FROM outbox ORDER BY seq", "", "iib"},
	[GET_JOURNAL] = {"SELECT seq, day, lines FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2", "ii", "iib"},
	[GET_JOURNAL_LINES] = {"SELECT seq, day, lines FROM journal ORDER BY seq", "", "iib"},
};

/* Leases use the database's clock; a SQLite store has no leases. */
#define CLOCK "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

const char *const postgres_statements[STATEMENT_COUNT] = {
	[TAKE_LEAD] = "UPDATE lead SET epoch = greatest(epoch + 1, $1), owner = $2, address = $3, until = " CLOCK
		      " + $4 WHERE until <= " CLOCK " OR owner = $2 RETURNING epoch",
	[KEEP_LEAD] = "UPDATE lead SET until = " CLOCK " + $1 WHERE epoch = $2 RETURNING epoch",
	[GET_LEAD] = "SELECT epoch, owner, address, until - " CLOCK " FROM lead",
	/* Sort by bytes, as SQLite does, whatever the database's language. */
	[GET_OBJECTS] = "SELECT kind, name, value FROM object ORDER BY kind COLLATE \"C\", name COLLATE \"C\"",
	[GET_KIND] = "SELECT name, value FROM object WHERE kind = $1 ORDER BY name COLLATE \"C\"",
	[GET_QUOTA] = "SELECT " QUOTA_COLUMNS " FROM quota ORDER BY \"user\" COLLATE \"C\"",
	[GET_LEDGER] =
		"SELECT " LEDGER_COLUMNS " FROM ledger ORDER BY day, \"user\" COLLATE \"C\", \"group\" COLLATE \"C\","
		" account COLLATE \"C\", queue COLLATE \"C\"",
};

static int take_number(void *context, const struct value *row)
{
	*(int64_t *)context = row[0].n;
	return 0;
}

int meta_get(const struct backend *back, void *db, const char *name, int64_t *ret, struct err *err)
{
	struct value in = {(int64_t)strlen(name), name};

	return back->query(db, GET_META, &in, take_number, ret, err);
}

static int step(const struct backend *back, void *db, int64_t version, struct err *err)
{
	struct strbuf sql = {0};

	strbuf_printf(&sql, "BEGIN; %s UPDATE meta SET value = %" PRId64 " WHERE name = '" META_VERSION "'; COMMIT",
		      migrations[version - 1][back->dialect], version);
	int rc = back->exec(db, strbuf_text(&sql), err);
	strbuf_fini(&sql);
	return rc < 0 ? err_prefix(err, rc, "making its schema version %" PRId64, version) : 0;
}

static int migrate(const struct backend *back, void *db, struct err *err)
{
	int64_t version = 0;
	int rc = back->exec(db,
			    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL);"
			    "INSERT INTO meta (name, value) VALUES ('" META_VERSION "', 0), ('" META_COMMIT "', 0)"
			    " ON CONFLICT DO NOTHING",
			    err);
	if (rc < 0)
		return rc;
	rc = meta_get(back, db, META_VERSION, &version, err);
	if (rc < 0)
		return rc;
	if (version > VERSION)
		return err_set(err, -ENOTSUP,
			       "store %s: its schema has version %" PRId64
			       ", but this Shunt knows versions up to %" PRId64
			       " only: use the newer Shunt that made it",
			       back->name(db), version, VERSION);
	while (version < VERSION && rc == 0)
		rc = step(back, db, ++version, err);
	return rc;
}

#define MIGRATION_MS 10000 /* another server may be migrating */

/* Migrates alone if there is anything to do: neither beside a server that knows only an older
 * schema, nor beside one that migrates at the same moment. */
int schema_migrate(const struct backend *back, void *db, struct err *err)
{
	int64_t version = 0;
	int rc;

	if (meta_get(back, db, META_VERSION, &version, NULL) == 0 && version == VERSION)
		return 0;
	if (back->hold && (rc = back->hold(db, MIGRATION_MS, 0, err)) < 0)
		return rc;
	rc = migrate(back, db, err);
	if (back->hold)
		back->release(db);
	return rc;
}

int schema_same(const struct backend *back, void *db, struct err *err)
{
	int64_t version = 0;
	int rc = meta_get(back, db, META_VERSION, &version, err);

	if (rc == 0 && version != VERSION)
		return err_set(
			err, -EINVAL,
			"store %s has tables of version %lld, and this program works with %d: use the program of "
			"the version that the server has",
			back->name(db), (long long)version, (int)VERSION);
	return rc;
}
