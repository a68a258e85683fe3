/*
 * store_internal.h - shared by store.c, the schema and the two back ends.
 *
 * The back ends know nothing of jobs. Both take statements from one table, with values to bind, and
 * return rows of values, so both behave alike by construction.
 */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "store/store.h"

/* An integer in n; or text or bytes with their length in n, where NULL is SQL's NULL. */
struct value {
	int64_t n;
	const char *text;
};

#define VALUES_MAX 32 /* parameters or columns of a statement */

enum statement {
	PUT_JOB,
	PUT_BODY,
	PUT_HEAD,
	PUT_EVENT,
	PUT_SCRIPT,
	PUT_OBJECT,
	DROP_OBJECT,
	DROP_JOBS,
	DROP_BODIES,
	DROP_EVENTS,
	DROP_SCRIPT,
	PUT_HISTORY,
	SET_LOST,
	TRIM_HISTORY,
	ADD_LEDGER,
	PUT_FOREIGN, /* job of another system, unless it exists */
	ADD_FOREIGN, /* addition to the ledger, unless the row exists */
	PUT_PILE,
	TRIM_PILE,
	PUT_OUTBOX,
	TRIM_OUTBOX,
	PUT_JOURNAL,
	TRIM_JOURNAL,
	PUT_QUOTA,
	DROP_QUOTA,
	PUT_MOVE,
	PUT_AUDIT,
	TRIM_AUDIT,
	PUT_LIFE,
	TRIM_LIFE,
	TRIM_EVENTS,
	GET_LIVES,
	GET_LIFE,
	KEEP_LIFE,
	DROP_LIFE,
	KEEP_OBJECT, /* moves it to `damaged` */
	KEEP_JOB,
	KEEP_EVENT,
	DROP_EVENT,
	PUT_NUMBER, /* number of the commit */
	TAKE_LEAD,
	KEEP_LEAD,
	DROP_LEAD,
	GET_LEAD,
	GET_IDENTITY,
	PUT_IDENTITY,
	GET_META,
	GET_OBJECTS,
	GET_KIND,
	GET_JOBS,
	GET_EVENTS,
	GET_JOB_EVENTS,
	GET_BODY,
	GET_SCRIPT,
	GET_DAMAGED,
	GET_BODIES, /* for copies: whole tables */
	GET_SCRIPTS,
	GET_RECORDS,
	PUT_RECORD,
	GET_HISTORY,
	GET_LEDGER,
	GET_PILE,
	GET_PILE_ENDS,
	GET_OUTBOX,
	GET_LINES,
	GET_JOURNAL,
	GET_JOURNAL_LINES,
	GET_BLOCKS,
	GET_QUOTA,
	GET_MOVES, /* rows of one month */
	GET_USER_MOVES,
	GET_BOOK, /* for copies */
	GET_AUDIT,
	GET_AUDITS, /* for copies */
	STATEMENT_COUNT
};

/* `in` and `out` have a letter for each value: i integer, t text, b bytes. */
struct statement_row {
	const char *sql, *in, *out;
};
extern const struct statement_row statements[STATEMENT_COUNT];
extern const char *const postgres_statements[STATEMENT_COUNT]; /* NULL: same as in `statements` */

/* Columns of the history after key, attempt and last, named like the members of struct
 * history_row: numbers and texts. Their order is that of the bits in the pile's blocks, which
 * are on disk, so new columns must come last. */
/* clang-format off */
#define HISTORY_LIST(NUMBER, TEXT) \
	TEXT(id) \
	TEXT(user) \
	TEXT(group) \
	TEXT(account) \
	TEXT(project) \
	TEXT(queue) \
	TEXT(name) \
	TEXT(resources) \
	TEXT(hosts) \
	TEXT(state) \
	TEXT(text) \
	NUMBER(exit_status) \
	NUMBER(submitted) \
	NUMBER(started) \
	NUMBER(ended) \
	NUMBER(nodes) \
	NUMBER(cpus) \
	NUMBER(gpus) \
	NUMBER(memory_kib) \
	NUMBER(walltime) \
	NUMBER(ran_ms) \
	NUMBER(cpu_ms) \
	NUMBER(peak_kib) \
	NUMBER(lost_ms) \
	TEXT(qos) \
	TEXT(members)
/* clang-format on */
#define HISTORY_COLUMN(c) ", \"" #c "\""
#define HISTORY_NUMBER_TYPE(c) "i"
#define HISTORY_TEXT_TYPE(c) "t"
#define HISTORY_COLUMNS "key, attempt, last" HISTORY_LIST(HISTORY_COLUMN, HISTORY_COLUMN)
#define HISTORY_TYPES "iii" HISTORY_LIST(HISTORY_NUMBER_TYPE, HISTORY_TEXT_TYPE)
#define HISTORY_WIDTH ((int)sizeof HISTORY_TYPES - 1)
#define LEDGER_COLUMNS "day, \"user\", \"group\", account, queue, attempts, ran_ms, alloc_ms, gpu_ms, cpu_ms"
#define LEDGER_TYPES "ittttiiiii"

struct change {
	enum statement what;
	const struct value *v;
};

/* A nonzero result ends the reading, and query returns it. */
typedef int (*row_fn)(void *context, const struct value *row);

/* Flags for opening a store. A server's own has none of them. */
enum {
	OPEN_EXISTING = 1,   /* for reading: it must already be a store, and nothing is created */
	OPEN_ALONE = 2,	     /* SQLite: nobody else may have it open. PostgreSQL knows who leads */
	OPEN_UNFINISHED = 4, /* accept a store with an unfinished copy */
	OPEN_AS_IS = 8,	     /* a server may be using it: refuse tables of another version */
};

struct backend {
	const char *kind;
	int dialect;	  /* column of a migration's SQL text */
	const char *read; /* SQL that begins a transaction with one snapshot */
	bool pile;	  /* rows of the history are filed later (pile.h) */
	bool groups;	  /* the database sums groups in one scan; else this program sums the rows */
	int (*open)(const char *where, int how, void **ret, struct err *err);
	void (*close)(void *db);
	const char *(*name)(void *db); /* for messages; without a password */
	/* Runs several statements as one text, without values; a transaction left open is rolled
	 * back. */
	int (*exec)(void *db, const char *sql, struct err *err);
	/* Runs a statement of the table. While rows arrive, the back end cannot be used
	 * otherwise. */
	int (*query)(void *db, enum statement what, const struct value *in, row_fn row, void *context, struct err *err);
	/* Runs a statement built at run time, like query. */
	int (*ask)(void *db, const struct statement_row *q, const struct value *in, row_fn row, void *context,
		   struct err *err);
	/* Writes all changes in one transaction, which also replaces the number of the last
	 * commit, number[1], by that of this one, number[0]. `fence` has KEEP_LEAD's values: a
	 * lease, and the epoch that must be current; NULL: no leases. -ESTALE (without a
	 * message): number or epoch has changed. */
	int (*write)(void *db, const struct change *changes, size_t n, const struct value number[2],
		     const struct value *fence, struct err *err);
	/* NULL: only one server at a time can have it anyway. Otherwise keeps other servers'
	 * connections out while this one lives. Waits for existing ones, then -EBUSY; with a
	 * wait of 0 it cuts them off. With an epoch (not 0) every later connection cuts others
	 * off by itself, and fails with -ESTALE if the epoch has changed. */
	int (*hold)(void *db, int wait_ms, int64_t epoch, struct err *err);
	void (*release)(void *db);
	/* NULL: it cannot get lost. is_there() returns true if the files are still those that
	 * were opened; if not, rescue() makes a copy of all the data, which takes their place,
	 * and returns its path (malloc'd). */
	bool (*is_there)(void *db);
	int (*rescue)(void *db, char **ret, struct err *err);
};
extern const struct backend sqlite_backend, postgres_backend;

/* Rows of the history that are not filed yet (pile.h). */
struct pile {
	struct strbuf block; /* block of this commit */
	int rows;	     /* number of rows in it */
	struct pile_last {
		int64_t n; /* number; for a text its length, or -1 for NULL */
		size_t at; /* offset of the text in the block */
	} last[HISTORY_WIDTH];
	int64_t filed, newest; /* block numbers: the last one filed, and the last one */
};

struct store {
	const struct backend *back;
	void *db; /* the back end's state */
	char id[33];
	int64_t number; /* number of the last commit (store.c) */
	int64_t tag;	/* low bits of our commit numbers */
	VEC(struct change) changes;
	struct map latest; /* record_slot() -> index + 1 of the newest change of a body or a script */
	size_t dropped;	   /* index + 1 of the newest change that dropped a job's bodies; 0: none */
	uint64_t bodies;   /* number of changes of bodies so far */
	size_t ledger;	   /* index + 1 of the newest addition to the ledger; 0: none */
	struct pile pile;
	struct arena *arena; /* owns the values of `changes` */
	size_t done, doubt;  /* see the invariants in store.c */
	char *lost;	     /* message that the files are gone; NULL: they are not */
	int64_t epoch;	     /* epoch of our lead; 0: we do not lead */
	int64_t lease_ms;    /* 0: no lease */
	int64_t kept_us;     /* CLOCK_BOOTTIME in microseconds: a moment before the last renewal */
};

/* Returns the key, in store.latest, of a job's bodies, which are dropped together, or of a
 * script. */
static inline uint64_t record_slot(uint64_t key, bool script)
{
	return key << 1 | script;
}

/* Stands for the id of a store while a copy into it is incomplete. */
#define ID_COPYING "copying"

int store_open_as(const char *url, int how, struct store **ret, struct err *err);
/* Queues a statement with as many values as it takes. Texts must come from store_text(), which
 * makes copies. NULL is SQL's NULL. */
void change_add(struct store *s, enum statement what, const struct value *values);
struct value store_text(struct store *s, const char *text);
/* Queues a statement and copies all of its values. */
void store_change(struct store *s, enum statement what, const struct value *values);

int lead_lost(const struct store *s, struct err *err); /* sets the message; returns -ESTALE */

/* Queue the move of a record to the table `damaged`. */
void store_keep_object(struct store *s, const char *what, const char *reason, const char *kind, const char *name);
void store_keep_job(struct store *s, const char *what, const char *reason, uint64_t key);
void store_keep_numbered(struct store *s, enum statement keep, enum statement drop, const char *what,
			 const char *reason, uint64_t seq);

/* The two numbers in the table `meta`. */
#define META_VERSION "schema_version"
#define META_COMMIT "last_commit"

int schema_migrate(const struct backend *back, void *db, struct err *err);
/* Refuses a store of another version. */
int schema_same(const struct backend *back, void *db, struct err *err);
int meta_get(const struct backend *back, void *db, const char *name, int64_t *ret, struct err *err);

#endif
