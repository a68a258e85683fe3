/*
 * postgres.c - a store in a PostgreSQL database, over one connection.
 *
 * A commit goes out as a pipeline, so that thousands of statements cost a few round trips.
 * Statements are prepared when first used. All values are sent in binary: integers as 8 bytes, text
 * and bytes unchanged.
 *
 * A leader's connection holds an advisory lock for as long as it lives. The lock is a fence: after
 * a connection was lost, the next one gets the lock only when the old one's transaction has ended,
 * committed or not, so the number of the last commit then shows whether a commit in doubt happened.
 * The database may not have noticed that the old connection ended, so its session is cut off rather
 * than waited for. That may be the server's own last connection, or that of another server whose
 * lease is over; a server whose epoch is no longer the last cuts off nobody.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "store/fault.h"
#include "store/store_internal.h"

struct postgres {
	PGconn *conn; /* NULL: connect at the next use */
	char *url;
	char name[256];
	bool prepared[STATEMENT_COUNT];
	int64_t epoch; /* epoch of the leader that uses it; 0: none */
	bool held;     /* this connection holds the lock */
};

#define OID_BYTEA 17
#define OID_INT8 20
#define OID_TEXT 25

/* Number of statements sent before their results are read: the results fit into the socket's
 * buffers, so that neither side blocks the other. */
#define WINDOW 256

/* A lock that is not available fails soon, because an event loop waits. synchronous_commit is
 * turned on even where the site turned it off: accepted jobs must be on disk. */
static const char session[] =
	"SET lock_timeout = '2s'; SET client_min_messages = warning;"
	"SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;"
	"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/* The lock is per schema, so that two servers can use two schemas of one database. */
#define CUT_OFF_MS 2000 /* longest wait until a session that was cut off is gone */
#define CLASS "1397249620"
#define OBJECT "hashtext(coalesce(current_schema(), ''))"
static const char lock[] = "SELECT pg_advisory_lock(" CLASS ", " OBJECT ")";
static const char unlock[] = "SELECT pg_advisory_unlock(" CLASS ", " OBJECT ")";
static const char cut_off[] =
	"SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
	" WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted"
	" AND l.classid::bigint = " CLASS " AND l.objsubid = 2"
	" AND l.objid::bigint = " OBJECT "::bigint & 4294967295 AND l.pid <> pg_backend_pid()";

/* Flattens libpq's messages, which contain newlines. */
static const char *flat(const char *text, char *buf, size_t size)
{
	snprintf(buf, size, "%s", text);
	size_t n = strlen(buf);
	while (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	for (char *p = buf; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return buf;
}

static void postgres_disconnect(struct postgres *p)
{
	PQfinish(p->conn);
	p->conn = NULL;
	p->held = false;
	memset(p->prepared, 0, sizeof p->prepared);
}

static bool one_of(const char *state, const char *list)
{
	return state && strstr(list, state);
}

/* Describes the failure of `res` (or of the connection, if NULL), and closes a lost connection. */
static int postgres_fail(struct postgres *p, const PGresult *res, struct err *err)
{
	const char *state = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
	char buf[400];

	/* lost, or about to be */
	if (PQstatus(p->conn) == CONNECTION_BAD || one_of(state, "57P01 57P02 57P03")) {
		int rc = err_set(err, -ENOTCONN, "store %s: no connection: %s", p->name,
				 flat(PQerrorMessage(p->conn), buf, sizeof buf));
		postgres_disconnect(p);
		return rc;
	}
	int code = one_of(state, "53100") ? -ENOSPC : one_of(state, "55P03 40001 40P01 57014 53300") ? -EBUSY : -EIO;
	const char *text = res ? PQresultErrorMessage(res) : PQerrorMessage(p->conn);
	return err_set(err, code, "store %s: %s", p->name, flat(text, buf, sizeof buf));
}

/* Frees the result; returns 0 if its statement succeeded. */
static int postgres_check(struct postgres *p, PGresult *res, struct err *err)
{
	ExecStatusType status = PQresultStatus(res);
	int rc = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0 : postgres_fail(p, res, err);

	PQclear(res);
	return rc;
}

/* Returns -ESTALE if this is a leader's connection and another server leads now. */
static int postgres_epoch(struct postgres *p, struct err *err)
{
	PGresult *res = p->epoch ? PQexec(p->conn, "SELECT epoch FROM lead") : NULL;
	bool ours = PQntuples(res) == 1 && strtoll(PQgetvalue(res, 0, 0), NULL, 10) == p->epoch;
	int rc = res ? postgres_check(p, res, err) : 0;

	if (rc == 0 && p->epoch && !ours)
		return err_set(err, -ESTALE, "store %s: another server leads now: this one must stop", p->name);
	return rc;
}

static int postgres_lock(struct postgres *p, int wait_ms, struct err *err)
{
	char sql[256];
	int rc = p->held ? 0 : postgres_epoch(p, err);

	if (rc < 0 || p->held)
		return rc;
	if (!wait_ms)
		rc = postgres_check(p, PQexec(p->conn, cut_off), err);
	snprintf(sql, sizeof sql, "SET LOCAL lock_timeout = %d; %s", wait_ms ? wait_ms : CUT_OFF_MS, lock);
	if (rc == 0)
		rc = postgres_check(p, PQexec(p->conn, sql), err);
	if (rc == -EBUSY)
		return err_set(
			err, -EBUSY,
			"store %s: another server uses this database: stop it, or give this one a database of its own",
			p->name);
	p->held = rc == 0;
	return rc;
}

static int postgres_setup(struct postgres *p, struct err *err)
{
	const char *encoding = PQparameterStatus(p->conn, "server_encoding");

	if (!encoding || strcmp(encoding, "UTF8") != 0)
		return err_set(err, -EINVAL,
			       "store %s: its encoding is %s, but must be UTF8 (createdb -E UTF8 -T template0 NAME)",
			       p->name, encoding ? encoding : "unknown");
	int rc = postgres_check(p, PQexec(p->conn, session), err);
	return rc == 0 && p->epoch ? postgres_lock(p, 0, err) : rc;
}

/* Connects unless connected. Options before the URL are defaults; those after it override it. An
 * unreachable database is noticed within a few seconds, because everything waits. */
static int postgres_ready(struct postgres *p, struct err *err)
{
	const char *const names[] = {"connect_timeout",
				     "tcp_user_timeout",
				     "keepalives_idle",
				     "keepalives_interval",
				     "keepalives_count",
				     "fallback_application_name",
				     "dbname",
				     "client_encoding",
				     NULL};
	const char *const values[] = {"3", "4000", "2", "1", "3", "shunt", p->url, "UTF8", NULL};

	if (p->conn && PQstatus(p->conn) == CONNECTION_OK)
		return 0;
	postgres_disconnect(p);
	p->conn = PQconnectdbParams(names, values, 1);
	const char *host = PQhost(p->conn), *db = PQdb(p->conn);
	snprintf(p->name, sizeof p->name, "%s on %s", db ? db : "PostgreSQL", host ? host : "?");
	if (PQstatus(p->conn) != CONNECTION_OK)
		return postgres_fail(p, NULL, err);
	int rc = postgres_setup(p, err);
	if (rc < 0)
		postgres_disconnect(p);
	return rc;
}

bool store_url_has_password(const char *url)
{
	PQconninfoOption *all = strncmp(url, "postgres", 8) == 0 ? PQconninfoParse(url, NULL) : NULL;
	bool found = false;

	for (const PQconninfoOption *o = all; o && o->keyword && !found; o++)
		found = o->val && *o->val &&
			(strcmp(o->keyword, "password") == 0 || strcmp(o->keyword, "sslpassword") == 0);
	PQconninfoFree(all);
	return found;
}

static void postgres_close(void *context)
{
	struct postgres *p = context;

	postgres_disconnect(p);
	free(p->url);
	free(p);
}

static int postgres_open(const char *where, int how, void **ret, struct err *err)
{
	struct postgres *p = mem_zalloc(sizeof *p);

	p->url = mem_strdup(where);
	int rc = postgres_ready(p, err);
	if (rc < 0)
		postgres_close(p);
	else
		*ret = p;
	return rc;
}

static const char *postgres_name(void *context)
{
	return ((struct postgres *)context)->name;
}

static int postgres_exec(void *context, const char *sql, struct err *err)
{
	struct postgres *p = context;
	int rc = postgres_ready(p, err);

	if (rc == 0)
		rc = postgres_check(p, PQexec(p->conn, sql), err);
	if (rc < 0 && p->conn && PQtransactionStatus(p->conn) != PQTRANS_IDLE)
		PQclear(PQexec(p->conn, "ROLLBACK"));
	return rc;
}

static void statement_name(enum statement what, char name[16])
{
	snprintf(name, 16, "s%d", (int)what);
}

static Oid oid_of(char type)
{
	return type == 'i' ? OID_INT8 : type == 't' ? OID_TEXT : OID_BYTEA;
}

static int postgres_prepare(struct postgres *p, enum statement what, struct err *err)
{
	const char *in = statements[what].in;
	Oid types[VALUES_MAX];
	char name[16];

	if (p->prepared[what])
		return 0;
	for (int i = 0; in[i]; i++)
		types[i] = oid_of(in[i]);
	statement_name(what, name);
	const char *sql = postgres_statements[what] ? postgres_statements[what] : statements[what].sql;
	int rc = postgres_check(p, PQprepare(p->conn, name, sql, (int)strlen(in), types), err);
	p->prepared[what] = rc == 0;
	return rc;
}

/* Parameters in libpq's form. */
struct parameters {
	const char *v[VALUES_MAX];
	uint64_t numbers[VALUES_MAX];
	int lengths[VALUES_MAX], binary[VALUES_MAX], n;
	Oid types[VALUES_MAX];
};

static void parameters_fill(struct parameters *x, const char *types, const struct value *in)
{
	for (x->n = 0; types[x->n]; x->n++) {
		int i = x->n;
		bool whole = types[i] == 'i';
		x->numbers[i] = htobe64((uint64_t)in[i].n);
		x->v[i] = whole ? (const char *)&x->numbers[i] : in[i].text;
		x->lengths[i] = whole ? 8 : (int)in[i].n;
		x->binary[i] = 1;
		x->types[i] = oid_of(types[i]);
	}
}

static int postgres_send(struct postgres *p, enum statement what, const struct value *in, struct err *err)
{
	struct parameters x;
	char name[16];

	parameters_fill(&x, statements[what].in, in);
	statement_name(what, name);
	return PQsendQueryPrepared(p->conn, name, x.n, x.v, x.lengths, x.binary, 1) ? 0 : postgres_fail(p, NULL, err);
}

/* ---- reading, row by row ---- */

static struct value postgres_column(const PGresult *res, int i, char type)
{
	struct value v = {0};
	uint64_t n;

	if (PQgetisnull(res, 0, i))
		return v;
	v.text = PQgetvalue(res, 0, i);
	v.n = PQgetlength(res, 0, i);
	if (type == 'i') {
		memcpy(&n, v.text, sizeof n);
		v = (struct value){.n = (int64_t)be64toh(n)};
	}
	return v;
}

/* Handles a row, the end, or an error. After an error, further rows are discarded. */
static int postgres_take(struct postgres *p, const PGresult *res, const char *types, row_fn row, void *context,
			 struct err *err)
{
	ExecStatusType status = PQresultStatus(res);
	struct value v[VALUES_MAX];

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return 0;
	if (status != PGRES_SINGLE_TUPLE)
		return postgres_fail(p, res, err);
	for (int i = 0; types[i]; i++)
		v[i] = postgres_column(res, i, types[i]);
	return row(context, v);
}

/* Receives all rows of the statement that was sent. */
static int rows_take(struct postgres *p, const char *types, row_fn row, void *row_context, struct err *err)
{
	int rc = 0;

	PQsetSingleRowMode(p->conn);
	for (PGresult *res; p->conn && (res = PQgetResult(p->conn));) {
		if (rc == 0)
			rc = postgres_take(p, res, types, row, row_context, err);
		PQclear(res);
	}
	return rc;
}

static int postgres_query(void *context, enum statement what, const struct value *in, row_fn row, void *row_context,
			  struct err *err)
{
	struct postgres *p = context;
	int rc = postgres_ready(p, err);

	if (rc == 0)
		rc = postgres_prepare(p, what, err);
	if (rc == 0)
		rc = postgres_send(p, what, in, err);
	return rc < 0 ? rc : rows_take(p, statements[what].out, row, row_context, err);
}

static int postgres_ask(void *context, const struct statement_row *q, const struct value *in, row_fn row,
			void *row_context, struct err *err)
{
	struct postgres *p = context;
	struct parameters x;
	int rc = postgres_ready(p, err);

	if (rc < 0)
		return rc;
	parameters_fill(&x, q->in, in);
	if (!PQsendQueryParams(p->conn, q->sql, x.n, x.types, x.v, x.lengths, x.binary, 1))
		return postgres_fail(p, NULL, err);
	return rows_take(p, q->out, row, row_context, err);
}

/* ---- writing ----
 * A pipeline counts the results it still waits for; after its first error it sends nothing more. */

struct pipeline {
	struct postgres *p;
	int waiting; /* statements without a result yet */
	int taken;   /* statements with a result */
	long fenced; /* rows changed by the first statement after BEGIN */
	long rows;   /* rows changed by the last statement */
	int rc;
	struct err *err;
};

/* Takes the result of one statement: a PGresult followed by a NULL. */
static void pipeline_take(struct pipeline *l)
{
	PGresult *res = PQgetResult(l->p->conn);
	ExecStatusType status = PQresultStatus(res);

	if (l->rc == 0 && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		l->rc = postgres_fail(l->p, res, l->err);
	else if (l->rc == 0)
		l->rows = atol(PQcmdTuples(res));
	if (l->taken++ == 1)
		l->fenced = l->rows;
	PQclear(res);
	if (l->p->conn && res)
		PQclear(PQgetResult(l->p->conn));
	l->waiting--;
}

static void pipeline_drain(struct pipeline *l)
{
	if (l->p->conn && l->waiting > 0 && !(PQsendFlushRequest(l->p->conn) && PQflush(l->p->conn) == 0) && l->rc == 0)
		l->rc = postgres_fail(l->p, NULL, l->err);
	while (l->p->conn && l->waiting > 0)
		pipeline_take(l);
}

static void pipeline_sent(struct pipeline *l)
{
	if (l->rc == 0 && ++l->waiting == WINDOW)
		pipeline_drain(l);
}

static void pipeline_add(struct pipeline *l, enum statement what, const struct value *v)
{
	if (l->rc == 0)
		l->rc = postgres_send(l->p, what, v, l->err);
	pipeline_sent(l);
}

static void pipeline_say(struct pipeline *l, const char *sql)
{
	if (l->rc == 0 && !PQsendQueryParams(l->p->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
		l->rc = postgres_fail(l->p, NULL, l->err);
	pipeline_sent(l);
}

/* Returns to one statement at a time. After an error the database skips everything up to the
 * sync, and the transaction is still open. */
static int pipeline_end(struct pipeline *l)
{
	struct postgres *p = l->p;

	pipeline_drain(l);
	if (!p->conn)
		return l->rc;
	PGresult *res = PQpipelineSync(p->conn) ? PQgetResult(p->conn) : NULL;
	bool synced = PQresultStatus(res) == PGRES_PIPELINE_SYNC;
	PQclear(res);
	if (!synced || !PQexitPipelineMode(p->conn)) {
		postgres_disconnect(p);
		return l->rc;
	}
	if (l->rc < 0)
		PQclear(PQexec(p->conn, "ROLLBACK"));
	return l->rc;
}

/* The fence comes first: from then on a successor waits for our transaction to end, or is
 * already there. */
static int postgres_write(void *context, const struct change *changes, size_t n, const struct value number[2],
			  const struct value *fence, struct err *err)
{
	struct pipeline l = {.p = context, .err = err};

	l.rc = postgres_ready(l.p, err);
	for (size_t i = 0; i < n && l.rc == 0; i++)
		l.rc = postgres_prepare(l.p, changes[i].what, err);
	if (l.rc == 0)
		l.rc = postgres_prepare(l.p, PUT_NUMBER, err);
	if (l.rc == 0)
		l.rc = postgres_prepare(l.p, KEEP_LEAD, err);
	if (l.rc < 0)
		return l.rc;

	PQenterPipelineMode(l.p->conn);
	pipeline_say(&l, "BEGIN");
	pipeline_add(&l, KEEP_LEAD, fence);
	for (size_t i = 0; i < n; i++) {
		if (i == n / 2)
			fault_pass(FAULT_DURING);
		pipeline_add(&l, changes[i].what, changes[i].v);
	}
	pipeline_add(&l, PUT_NUMBER, number);
	pipeline_drain(&l); /* every statement must succeed before COMMIT is sent */
	if (l.rc == 0 && (l.rows != 1 || l.fenced != 1))
		l.rc = -ESTALE;
	pipeline_say(&l, "COMMIT");
	return pipeline_end(&l);
}

/* ---- leadership ---- */

static int postgres_hold(void *context, int wait_ms, int64_t epoch, struct err *err)
{
	struct postgres *p = context;
	int rc = postgres_ready(p, err);

	if (rc == 0)
		rc = postgres_lock(p, wait_ms, err);
	if (rc == 0)
		p->epoch = epoch;
	return rc;
}

static void postgres_release(void *context)
{
	struct postgres *p = context;

	p->epoch = 0;
	if (p->held)
		postgres_exec(p, unlock, NULL);
	p->held = false;
}

const struct backend postgres_backend = {
	.kind = "postgres",
	.dialect = 1,
	.groups = true,
	.read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	.open = postgres_open,
	.close = postgres_close,
	.name = postgres_name,
	.exec = postgres_exec,
	.query = postgres_query,
	.ask = postgres_ask,
	.write = postgres_write,
	.hold = postgres_hold,
	.release = postgres_release,
};
