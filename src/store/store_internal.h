/*
 * store_internal.h - what store.c, the schema and the two back ends share.
 *
 * The back ends know nothing of jobs. Both are given statements of one table, with values to put in, and give back rows
 * of values; so both do the same, by construction.
 */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "store/store.h"

/* A whole number in n; or text or bytes, with their length in n, where NULL is SQL's NULL. */
struct value {
	int64_t n;
	const char *text;
};

#define VALUES_MAX 32 /* in or out of a statement */

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
	PUT_FOREIGN, /* of another system, unless it is there */
	ADD_FOREIGN, /* to the ledger, unless that is */
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
	KEEP_OBJECT, /* into `damaged` */
	KEEP_JOB,
	KEEP_EVENT,
	DROP_EVENT,
	PUT_NUMBER, /* of the commit */
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
	GET_MOVES, /* of a month */
	GET_USER_MOVES,
	GET_BOOK, /* for copies */
	GET_AUDIT,
	GET_AUDITS, /* for copies */
	STATEMENT_COUNT
};

/* `in` and `out` have a letter for each value: i a whole number, t text, b bytes. */
struct statement_row {
	const char *sql, *in, *out;
};
extern const struct statement_row statements[STATEMENT_COUNT];
extern const char *const postgres_statements[STATEMENT_COUNT]; /* NULL: the same */

/* The columns of the history behind key, attempt and last, called as the members of struct history_row: numbers and
 * texts. Their order is that of the bits in blocks of the pile, which are on disk: new columns come last. */
#define HISTORY_LIST(NUMBER, TEXT)                                                                                     \
	TEXT(id)                                                                                                       \
	TEXT(user)                                                                                                     \
	TEXT(group)                                                                                                    \
	TEXT(account) TEXT(project) TEXT(queue) TEXT(name) TEXT(resources) TEXT(hosts) TEXT(state) TEXT(text)          \
		NUMBER(exit_status) NUMBER(submitted) NUMBER(started) NUMBER(ended) NUMBER(nodes) NUMBER(cpus)         \
			NUMBER(gpus) NUMBER(memory_kib) NUMBER(walltime) NUMBER(ran_ms) NUMBER(cpu_ms)                 \
				NUMBER(peak_kib) NUMBER(lost_ms) TEXT(qos) TEXT(members)
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

/* Other than 0 ends the reading, and is what query returns. */
typedef int (*row_fn)(void *context, const struct value *row);

/* How a store is opened. A server's is none of these. */
enum {
	OPEN_EXISTING = 1,   /* it is to be read: nothing is made that is not there, and it must be a store */
	OPEN_ALONE = 2,	     /* SQLite: nobody else may have it open; PostgreSQL knows who leads */
	OPEN_UNFINISHED = 4, /* also one into which a copy was not finished */
};

struct backend {
	const char *kind;
	int dialect;	  /* which text of a migration is for it */
	const char *read; /* begins a transaction that sees one moment */
	bool pile;	  /* rows of the history are filed later: see pile.h */
	bool groups;	  /* it sums up rows in groups in one scan; else that is done here, from the rows */
	int (*open)(const char *where, int how, void **ret, struct err *err);
	void (*close)(void *db);
	const char *(*name)(void *db); /* for messages: no password in it */
	/* Several statements as one text, without values; what they began and did not end is rolled back. */
	int (*exec)(void *db, const char *sql, struct err *err);
	/* While rows arrive, the back end can't be asked anything else. */
	int (*query)(void *db, enum statement what, const struct value *in, row_fn row, void *context, struct err *err);
	/* The same, of a statement that is built when it is needed. */
	int (*ask)(void *db, const struct statement_row *q, const struct value *in, row_fn row, void *context,
		   struct err *err);
	/* All changes in one transaction; with them the number of this commit, number[0], takes the place of that of
	 * the last one, number[1]. `fence` has KEEP_LEAD's values: a lease, and the epoch that must be there; NULL: there
	 * are no leases. -ESTALE (without a sentence): number or epoch is another. */
	int (*write)(void *db, const struct change *changes, size_t n, const struct value number[2],
		     const struct value *fence, struct err *err);
	/* NULL: one server at a time has it anyway. Else: keeps other servers' connections out, for as long as this one
	 * lives. Who is in is waited for, -EBUSY; or cut off, with a wait of 0. With an epoch (not 0) every later
	 * connection does the latter by itself, and fails with -ESTALE when the epoch is another. */
	int (*hold)(void *db, int wait_ms, int64_t epoch, struct err *err);
	void (*release)(void *db);
	/* NULL: it can't get lost. Else: the files are still those that were opened; if not, rescue() makes a copy of all that there was, which
	 * takes their place, and gives its path (malloc'd). */
	bool (*is_there)(void *db);
	int (*rescue)(void *db, char **ret, struct err *err);
};
extern const struct backend sqlite_backend, postgres_backend;

/* Rows of the history that are not filed yet: see pile.h. */
struct pile {
	struct strbuf block; /* of this commit */
	int rows;	     /* in it */
	struct pile_last {
		int64_t n; /* a number; of a text its length, -1: NULL */
		size_t at; /* where the text is in the block */
	} last[HISTORY_WIDTH];
	int64_t filed, newest; /* blocks: the last one that was filed, and the last one */
};

struct store {
	const struct backend *back;
	void *db; /* the back end's */
	char id[33];
	int64_t number; /* of the last commit; see store.c */
	int64_t tag;	/* the low bits of ours */
	VEC(struct change) changes;
	struct map latest; /* record_slot() -> index + 1 of the newest change of a body or a script */
	size_t dropped;	   /* index + 1 of the newest change that dropped a job's bodies; 0: none has */
	size_t ledger;	   /* index + 1 of the newest addition to the ledger; 0: there is none */
	struct pile pile;
	struct arena *arena; /* owns their values */
	size_t done, doubt;  /* see store.c */
	char *lost;	     /* the sentence that says so; NULL: it is where it was */
	int64_t epoch;	     /* by which we lead; 0: we don't */
	int64_t lease_ms;    /* 0: no lease */
	int64_t kept_us;     /* CLOCK_BOOTTIME: a moment before it was renewed last */
};

/* Of which record a change of a body or a script is: of one job's bodies, which are dropped together, or of one script. */
static inline uint64_t record_slot(uint64_t key, bool script)
{
	return key << 1 | script;
}

/* What stands for the id of a store while another is copied into it. */
#define ID_COPYING "copying"

int store_open_as(const char *url, int how, struct store **ret, struct err *err);
/* Queues a statement with as many values as it takes; texts are those of store_text(), which owns copies. NULL is SQL's NULL. */
void change_add(struct store *s, enum statement what, const struct value *values);
struct value store_text(struct store *s, const char *text);
/* The same with any values, which are copied. */
void store_change(struct store *s, enum statement what, const struct value *values);

int64_t store_boot_us(void);
int lead_lost(const struct store *s, struct err *err); /* -ESTALE and the sentence */

/* Remember that a record moves to the table `damaged`. */
void store_keep_object(struct store *s, const char *what, const char *reason, const char *kind, const char *name);
void store_keep_job(struct store *s, const char *what, const char *reason, uint64_t key);
void store_keep_life(struct store *s, const char *what, const char *reason, uint64_t seq);
void store_keep_event(struct store *s, const char *what, const char *reason, uint64_t seq);

/* The two numbers in the table `meta`. */
#define META_VERSION "schema_version"
#define META_COMMIT "last_commit"

int schema_migrate(const struct backend *back, void *db, struct err *err);
int meta_get(const struct backend *back, void *db, const char *name, int64_t *ret, struct err *err);

#endif
