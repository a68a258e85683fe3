/*
 * stores.h - what the tests of the store share: a SQLite file and a PostgreSQL to run them on, SQL beside the store,
 * and what is in it as text.
 */
#ifndef TESTS_SUPPORT_STORES_H
#define TESTS_SUPPORT_STORES_H

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "store/store.h"
#include "support/postgres.h"

/* Where a test runs: its state. */
struct world {
	bool is_postgres;
	char dir[64];
	char url[256];
};

extern struct world sqlite_world, postgres_world;
extern struct postgres_server server;

/* Of the group: the PostgreSQL. Of a test: an empty place. */
int world_start(void **state);
int world_stop(void **state);
int world_setup(void **state);
int world_teardown(void **state);

#define SQLITE(test)                                                                                                   \
	{                                                                                                              \
		"sqlite: " #test, test, world_setup, world_teardown, &sqlite_world                                     \
	}
#define POSTGRES(test)                                                                                                 \
	{                                                                                                              \
		"postgres: " #test, test, world_setup, world_teardown, &postgres_world                                 \
	}
#define BOTH(test) SQLITE(test), POSTGRES(test)

/* A connection beside the store's, for SQL of our own. */
struct raw {
	sqlite3 *sqlite;
	PGconn *postgres;
	char value[512]; /* the first of the last answer */
};

void raw_open(const struct world *w, struct raw *r);
void raw_close(struct raw *r);
const char *raw_run(struct raw *r, const char *sql); /* the first value */
void run_sql(const struct world *w, const char *sql);
void expect_sql(const struct world *w, const char *sql, const char *value);
#define COUNT_COMMITS "SELECT value / 16777216 FROM meta WHERE name = 'last_commit'"

/* Each fails the test if it can't, or if it is not so. */
struct store *open_store(const char *url);
void commit(struct store *s);
void expect_failure(struct store *s, int code, const char *part); /* of a commit; `part` of its sentence */
void expect_refusal(const char *url, int code, const char *part); /* to open it */
void expect_content(struct store *s, const char *reject,
		    const char *text);				   /* records with `reject` in them are damaged */
void expect_body(struct store *s, uint64_t key, const char *text); /* NULL: there is none */
void expect_script(struct store *s, uint64_t id, const void *bytes, size_t n);

void put_event(struct store *s, uint64_t seq, uint64_t job); /* an ordinary one, at 1000 + seq */

/* Writes what it is told to a struct listing. */
struct listing {
	struct strbuf text;
	const char *reject;
};
void on_damaged(void *context, const char *what, const char *reason);

#endif
