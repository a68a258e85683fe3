/*
 * stores.h - shared by the tests of the store: a SQLite file and a PostgreSQL to run them on, SQL
 * apart from the store, and the store's content as text.
 */
#ifndef TESTS_SUPPORT_STORES_H
#define TESTS_SUPPORT_STORES_H

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "store/store.h"
#include "support/postgres.h"

/* The database that a test runs on; its cmocka state. */
struct world {
	bool is_postgres;
	char dir[64];
	char url[256];
};

extern struct world sqlite_world, postgres_world;
extern struct postgres_server server;

/* world_start() and world_stop() start and stop the PostgreSQL of the group; world_setup() and
 * world_teardown() give each test an empty database. */
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

/* A connection apart from the store's, for the test's own SQL. */
struct raw {
	sqlite3 *sqlite;
	PGconn *postgres;
	char value[512]; /* first value of the last answer */
};

void raw_open(const struct world *w, struct raw *r);
void raw_close(struct raw *r);
const char *raw_run(struct raw *r, const char *sql); /* returns the first value */
void run_sql(const struct world *w, const char *sql);
void expect_sql(const struct world *w, const char *sql, const char *value);
#define COUNT_COMMITS "SELECT value / 16777216 FROM meta WHERE name = 'last_commit'"

/* Each of these fails the test on an error or a mismatch. */
struct store *open_store(const char *url);
void commit(struct store *s);
/* Expects a commit to fail with a message that contains `part`. */
void expect_failure(struct store *s, int code, const char *part);
void expect_refusal(const char *url, int code, const char *part); /* when it is opened */
void expect_content(struct store *s, const char *reject,
		    const char *text);				   /* records that contain `reject` count as damaged */
void expect_body(struct store *s, uint64_t key, const char *text); /* NULL: it must be missing */
void expect_script(struct store *s, uint64_t id, const void *bytes, size_t n);

void put_event(struct store *s, uint64_t seq, uint64_t job); /* an ordinary event, at 1000 + seq */

/* Collects the callbacks of a load as text. */
struct listing {
	struct strbuf text;
	const char *reject;
};
void on_damaged(void *context, const char *what, const char *reason);

#endif
