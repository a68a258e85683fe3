/*
 * store.h - what must survive: jobs, their events, scripts, and what administrators set. SQLite or PostgreSQL.
 *
 * Writing is two steps. store_put_*() only remembers: it copies what it is given and can't fail. store_commit() writes
 * everything remembered since the last one in a single transaction, and returns when it is on disk. When it fails
 * (disk full, locked, connection lost) everything is still remembered, and calling it again tries again, never twice
 * what was written after all; so a turn of the server's loop is stored whole or not at all.
 *
 * Text is UTF-8; what is not is replaced by U+FFFD. Scripts are any bytes. One thread at a time.
 *
 * A job's key is its number x 2^20, plus index + 1 for an element of an array (0: the job itself, or the array).
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOB_KEY_SHIFT 20
#define JOB_INDEX_MAX ((1 << JOB_KEY_SHIFT) - 2)

/* Jobs with numbers from this one on, which hosts gave them, are read before the others. */
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

/* An event of a job as it is kept: struct event (core/job.h) with keys for ids, and what only the server knows. */
struct store_event {
	uint64_t seq; /* numbers all events, growing; chosen by the server, unique for ever */
	uint64_t job; /* key */
	uint64_t by;  /* key, or 0 */
	int64_t time, at;
	int type;	   /* enum event_type, or one of the server's own above EVENT_COUNT */
	const char *nodes; /* names joined by '+', one per fragment, or NULL */
	const char *data;  /* JSON object: exit status, usage, who asked, why; or NULL */
};

/* What happened to a node or a queue. */
struct store_life {
	uint64_t seq;		 /* numbered with the events of jobs */
	const char *kind, *name; /* "node" or "queue", and which */
	int64_t time, at;
	const char *type;	  /* a word */
	const char *who, *reason; /* or NULL */
};

struct store;

/* "sqlite:PATH", a plain path (the same), or "postgres://..." (libpq's URI or "postgresql://"). Creates what is missing
 * and migrates an older schema; refuses a newer one, saying which versions. SQLite: WAL, synchronous=FULL, files 0600.
 * It can be read then; store_lead() comes before the first commit.
 * -EINVAL: a URL of no known kind; -ENOTSUP: a newer schema; -EBUSY: locked, or (PostgreSQL) the schema is an older one
 * and another server uses it; -ENOTCONN, -EIO, -ENOSPC. */
int store_open(const char *url, struct store **ret, struct err *err);
void store_close(struct store *s);	       /* what was not committed is lost */
const char *store_kind(const struct store *s); /* "sqlite" or "postgres" */
const char *store_name(const struct store *s); /* for messages: path or database, without a password */
/* What it was called when it was made, 32 hexadecimal digits; its copies and backups are called the same. */
const char *store_id(const struct store *s);
bool store_is_new(const struct store *s); /* nothing was ever committed to it */
/* It has a password in it, which on a command line every user of the machine can read. */
bool store_url_has_password(const char *url);

/* ---- who leads ----
 * Several servers may have a PostgreSQL store open; one of them leads, for as long as its lease lasts, and only that one
 * can write: every commit checks and locks the epoch, which a successor has raised. A lease is counted by the database's
 * clock, and by our own (CLOCK_BOOTTIME) from a moment before the database was asked: we think it over before anyone
 * else does. A SQLite store is its one server's: there is no lease, and it always leads. */
struct store_leader {
	uint64_t epoch; /* 0: nobody has ever led */
	int64_t left;	/* ms of its lease; 0 or less: it is over, or was given up. SQLite: 0 */
	char owner[320], address[320];
};
/* Takes the lead if nobody has it, or if `owner` was the last to have it (the same server, started again). The epoch is
 * one more than the last, and not less than `at_least`. 0, with ourselves in *ret; -EBUSY, with who leads; others as
 * store_commit(). */
int store_lead(struct store *s, const char *owner, const char *address, uint64_t at_least, int64_t lease_ms,
	       struct store_leader *ret, struct err *err);
int store_get_leader(struct store *s, struct store_leader *ret, struct err *err);
/* Renews the lease, from now on for `lease_ms`; so do commits. 0; -ESTALE: another leads; others: it could not be renewed,
 * and if store_leads() says no, nothing may be told until it is. */
int store_keep(struct store *s, int64_t lease_ms, struct err *err);
bool store_leads(const struct store *s);	   /* nobody else can lead now, by our clock */
int64_t store_kept(const struct store *s);	   /* CLOCK_BOOTTIME, microseconds: when the lease was renewed last */
int store_yield(struct store *s, struct err *err); /* others may lead at once; nothing can be committed any more */

/* Remember a change. `head` is what the server keeps in memory of a job and `body` what it does not, both JSON; an
 * existing job of that key is replaced. */
void store_put_job(struct store *s, uint64_t key, const char *head, const char *body);
void store_put_body(struct store *s, uint64_t key, const char *body); /* the head stays, if there is one */
void store_put_head(struct store *s, uint64_t key, const char *head); /* the body stays */
void store_put_event(struct store *s, const struct store_event *e);
/* ... in the place of the job's earlier events of that type. */
void store_put_last_event(struct store *s, const struct store_event *e);
void store_put_script(struct store *s, uint64_t id, const void *text, size_t n);
void store_put_life(struct store *s, const struct store_life *e);
void store_trim_life(struct store *s, const char *kind, const char *name, uint64_t keep); /* but for the last ones */
/* Settings: kind "server", "queue", "node", "meta"; value is JSON. Kind and name together up to 2,000 bytes. */
void store_put_object(struct store *s, const char *kind, const char *name, const char *value);
void store_drop_object(struct store *s, const char *kind, const char *name);
void store_drop_job(struct store *s, uint64_t key); /* with its events; of an array (index none) also its elements' */
void store_drop_script(struct store *s, uint64_t id);

bool store_lost(const struct store *s);	     /* its files are gone, and all is saved in another: -EIDRM */
size_t store_pending(const struct store *s); /* 0: all is written; else at least as many statements are not */
/* 0: all is on disk, and the lease holds. Else -errno (-ENOSPC, -EBUSY, -EIO, -ENOTCONN; -ESTALE: another server leads,
 * or writes to it too; -EPERM: this one does not lead; -EIDRM: its files were deleted or replaced: all was saved to another one, to
 * which every later commit goes, too, and fails all the same) with the sentence for the administrator. */
int store_commit(struct store *s, struct err *err);

/* Reads everything: objects, then what happened to nodes and queues, then jobs by key, then events by seq. A callback that returns < 0 with its sentence sets
 * the record aside: it moves to the table `damaged` with the reason, and reading goes on. Strings are borrowed for the
 * call. A callback may remember changes, but not read or commit. NULL callbacks are skipped. */
struct store_reader {
	int (*object)(void *context, const char *kind, const char *name, const char *value, struct err *err);
	int (*job)(void *context, uint64_t key, const char *head, struct err *err);
	int (*event)(void *context, const struct store_event *e, struct err *err);
	void (*damaged)(void *context, const char *what, const char *reason); /* told of each, for the log */
	void *context;
	int (*life)(void *context, const struct store_life *e, struct err *err);
};
int store_read(struct store *s, const struct store_reader *reader, struct err *err);
/* The objects of a kind, by name, of what is committed; also for one that does not lead. Other than 0 from the callback
 * ends it, and is returned. */
int store_get_objects(struct store *s, const char *kind,
		      int (*object)(void *context, const char *name, const char *value), void *context,
		      struct err *err);
/* Writes one object at once, leading or not: what a server says of itself. */
int store_register(struct store *s, const char *kind, const char *name, const char *value, struct err *err);

/* One at a time, when asked; also sees what is remembered and not yet committed. Results are malloc'd. -ENOENT. */
int store_get_body(struct store *s, uint64_t key, char **ret, struct err *err);
int store_get_script(struct store *s, uint64_t id, char **ret, size_t *ret_n, struct err *err);
/* A job's events in order (of what is committed; of an array not its elements'). Other than 0 from the callback ends
 * it, and is returned. */
int store_get_events(struct store *s, uint64_t key, int (*event)(void *context, const struct store_event *e),
		     void *context, struct err *err);
/* The same of a node or a queue. */
int store_get_life(struct store *s, const char *kind, const char *name,
		   int (*one)(void *context, const struct store_life *e), void *context, struct err *err);
/* The damaged records, for people: what and reason. */
int store_get_damaged(struct store *s, void (*one)(void *context, const char *what, const char *reason), void *context,
		      struct err *err);

#endif
