/*
 * store.h - durable storage in SQLite or PostgreSQL: jobs, their events, scripts, and what
 * administrators set.
 *
 * Writing takes two steps. store_put_*() only queues a change: it copies its arguments and cannot
 * fail. store_commit() writes everything queued since the last commit in a single transaction, and
 * returns when it is on disk. If it fails (disk full, locked, connection lost), everything is still
 * queued, and calling it again retries without writing anything twice. So a turn of the server's
 * loop is stored completely or not at all.
 *
 * Text is UTF-8; invalid bytes are replaced by U+FFFD. Scripts are arbitrary bytes. Only one thread
 * may use a store at a time.
 *
 * A job's key is its number x 2^20, plus index + 1 for an element of an array (0: the job itself,
 * or the array).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOB_KEY_SHIFT 20
#define JOB_INDEX_MAX ((1 << JOB_KEY_SHIFT) - 2)

/* Jobs with numbers from this one on, which hosts assigned, are read before the others. */
#define STORE_FIRST_READ 1000000000

static inline uint64_t job_key(uint64_t number, int64_t index) /* index < 0: none */
{
	return number << JOB_KEY_SHIFT | (index < 0 ? 0 : (uint64_t)index + 1);
}

static inline uint64_t job_key_number(uint64_t key)
{
	return key >> JOB_KEY_SHIFT;
}

static inline int64_t job_key_index(uint64_t key) /* -1: none */
{
	return (int64_t)(key & ((1 << JOB_KEY_SHIFT) - 1)) - 1;
}

/* A job's event as stored: struct event (core/job.h) with keys for ids, and what only the server
 * knows. */
struct store_event {
	uint64_t seq; /* number of the event, increasing; chosen by the server, never reused */
	uint64_t job; /* key */
	uint64_t by;  /* key, or 0 */
	int64_t time, at;
	int type;	   /* enum event_type, or one of the server's own above EVENT_COUNT */
	const char *nodes; /* node names joined by '+', one per fragment, or NULL */
	const char *data;  /* JSON object: exit status, usage, requester, reason; or NULL */
};

/* An event of a node or a queue. */
struct store_life {
	uint64_t seq;		 /* from the same sequence as the events of jobs */
	const char *kind, *name; /* "node" or "queue", and its name */
	int64_t time, at;
	const char *type;	  /* a word */
	const char *who, *reason; /* or NULL */
};

struct store;

/* Opens "sqlite:PATH", a plain path (the same), or "postgres://..." (libpq's URI or
 * "postgresql://"). Creates what is missing and migrates an older schema; refuses a newer one,
 * naming the versions. SQLite: WAL, synchronous=FULL, files 0600. The store can then be read;
 * store_lead() must precede the first commit.
 * -EINVAL: unknown kind of URL; -ENOTSUP: a newer schema; -EBUSY: locked, or (PostgreSQL) the
 * schema is older and another server uses it; -ENOTCONN, -EIO, -ENOSPC. */
int store_open(const char *url, struct store **ret, struct err *err);
void store_close(struct store *s);	       /* changes not committed are lost */
const char *store_kind(const struct store *s); /* "sqlite" or "postgres" */
const char *store_name(const struct store *s); /* for messages: path or database, without a password */
/* Returns the id drawn when the store was created, 32 hexadecimal digits; its copies and backups
 * share it. */
const char *store_id(const struct store *s);
bool store_is_new(const struct store *s); /* nothing was ever committed */
/* Returns true if the URL contains a password, which on a command line every user of the machine
 * can read. */
bool store_url_has_password(const char *url);

/* ---- leadership ----
 * Several servers may have a PostgreSQL store open. One of them leads while its lease lasts, and
 * only the leader can write: every commit checks and locks the epoch, which a successor raises.
 * A lease is measured by the database's clock, and by our own (CLOCK_BOOTTIME) from a moment
 * before the database was asked, so that we consider it expired before anyone else does. A
 * SQLite store belongs to one server: it has no lease, and its server always leads. */
struct store_leader {
	uint64_t epoch; /* 0: there has never been a leader */
	int64_t left;	/* ms left of its lease; 0 or less: expired or given up. SQLite: 0 */
	char owner[320], address[320];
};
/* Takes the lead if nobody has it, or if `owner` had it last (the same server, restarted). The
 * epoch becomes one more than the last and at least `at_least`. Returns 0 with ourselves in
 * *ret; -EBUSY with the leader; others as store_commit(). */
int store_lead(struct store *s, const char *owner, const char *address, uint64_t at_least, int64_t lease_ms,
	       struct store_leader *ret, struct err *err);
int store_get_leader(struct store *s, struct store_leader *ret, struct err *err);
/* Renews the lease for `lease_ms` from now; commits do so as well. Returns 0; -ESTALE if another
 * server leads; other errors if it could not be renewed: if store_leads() is then false, nothing
 * may be reported to clients until it is renewed. */
int store_keep(struct store *s, int64_t lease_ms, struct err *err);
bool store_leads(const struct store *s); /* nobody else can lead now, by our clock */
/* CLOCK_BOOTTIME, microseconds: last renewal of the lease */
int64_t store_kept(const struct store *s);
/* Lets others lead at once. Nothing can be committed afterwards. */
int store_yield(struct store *s, struct err *err);

/* Queue a change. `head` is the part of a job that the server keeps in memory and `body` the
 * rest, both JSON; an existing job with that key is replaced. */
void store_put_job(struct store *s, uint64_t key, const char *head, const char *body);
/* Replaces the body and keeps the head, if there is one. */
void store_put_body(struct store *s, uint64_t key, const char *body);
void store_put_head(struct store *s, uint64_t key, const char *head); /* replaces the head and keeps the body */
void store_put_event(struct store *s, const struct store_event *e);
/* Replaces the job's earlier events of that type. */
void store_put_last_event(struct store *s, const struct store_event *e);
void store_put_script(struct store *s, uint64_t id, const void *text, size_t n);
void store_put_life(struct store *s, const struct store_life *e);
/* Removes the events except the last `keep`. */
void store_trim_life(struct store *s, const char *kind, const char *name, uint64_t keep);
/* Settings: kind "server", "queue", "node", "meta"; value is JSON. Kind and name together have
 * at most 2,000 bytes. */
void store_put_object(struct store *s, const char *kind, const char *name, const char *value);
void store_drop_object(struct store *s, const char *kind, const char *name);
/* Removes a job with its events; for an array (no index) also those of its elements. */
void store_drop_job(struct store *s, uint64_t key);
void store_drop_script(struct store *s, uint64_t id);

/* Returns true if its files are gone and everything is saved in another store: -EIDRM. */
bool store_lost(const struct store *s);
/* 0: everything is written; else at least this many statements are pending */
size_t store_pending(const struct store *s);
/* Returns 0 if everything is on disk and the lease is valid, else -errno with a message for the
 * administrator: -ENOSPC, -EBUSY, -EIO, -ENOTCONN; -ESTALE: another server leads or also writes
 * to it; -EPERM: this server does not lead; -EIDRM: its files were deleted or replaced:
 * everything was saved to another store, which also receives every later commit, and commits
 * keep failing. */
int store_commit(struct store *s, struct err *err);

/* Reads everything: objects, then events of nodes and queues, then jobs by key, then events by
 * seq. If a callback returns < 0 with a message, the record is moved to the table `damaged` with
 * that reason, and reading continues. Strings are valid only during the call. A callback may
 * queue changes, but not read or commit. NULL callbacks are skipped. */
struct store_reader {
	int (*object)(void *context, const char *kind, const char *name, const char *value, struct err *err);
	int (*job)(void *context, uint64_t key, const char *head, struct err *err);
	int (*event)(void *context, const struct store_event *e, struct err *err);
	/* called for each damaged record, for the log */
	void (*damaged)(void *context, const char *what, const char *reason);
	void *context;
	int (*life)(void *context, const struct store_life *e, struct err *err);
};
int store_read(struct store *s, const struct store_reader *reader, struct err *err);
/* Reads the committed objects of a kind, by name; does not need the lead. A nonzero result of
 * the callback ends the reading and is returned. */
int store_get_objects(struct store *s, const char *kind,
		      int (*object)(void *context, const char *name, const char *value), void *context,
		      struct err *err);
/* Writes one object at once, leading or not: a server's information about itself. */
int store_register(struct store *s, const char *kind, const char *name, const char *value, struct err *err);

/* Read one record, including changes that are queued but not committed. Results are malloc'd.
 * -ENOENT. */
int store_get_body(struct store *s, uint64_t key, char **ret, struct err *err);
int store_get_script(struct store *s, uint64_t id, char **ret, size_t *ret_n, struct err *err);
/* Returns a number that changes whenever a body is written or dropped. */
uint64_t store_bodies(const struct store *s);
/* Reads at most `most` of a job's committed events in order, beginning with number `from` (for an
 * array, not those of its elements). A nonzero result of the callback ends the reading and is
 * returned. */
int store_get_events(struct store *s, uint64_t key, uint64_t from, int64_t most,
		     int (*event)(void *context, const struct store_event *e), void *context, struct err *err);
/* Reads all events of a node or a queue, like store_get_events(). */
int store_get_life(struct store *s, const char *kind, const char *name,
		   int (*one)(void *context, const struct store_life *e), void *context, struct err *err);
/* Reads the damaged records for display: what and reason. */
int store_get_damaged(struct store *s, void (*one)(void *context, const char *what, const char *reason), void *context,
		      struct err *err);

#endif
