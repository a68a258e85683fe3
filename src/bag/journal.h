/*
 * journal.h - the durable state of a bag: its finished tasks with their outputs, and what users did
 * to it.
 *
 * Records are only appended: length and CRC-32 (4 bytes each, little endian), then the bytes. A
 * torn or corrupt record ends the journal: opening it for writing cuts off everything from there
 * on, and tasks whose results were lost run again. So a task in the journal is finished whatever
 * happens, and the order of records is the order of events.
 *
 * A complete bag needs only one record per task: journal_compact() writes a new journal without
 * failed attempts and renames it over the old one.
 */
#ifndef BAG_JOURNAL_H
#define BAG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

enum record_kind {
	RECORD_BAG = 1,	   /* first record: number of tasks, and the hash of their text */
	RECORD_DONE = 2,   /* a task succeeded */
	RECORD_FAILED = 3, /* an attempt failed; with `last`, the task was set aside */
	RECORD_RETRY = 4,  /* tasks that were set aside wait again, without earlier failures */
	RECORD_CANCEL = 5, /* the user cancelled the rest */
	RECORD_RUN = 6,	   /* a broker began, at `began` */
	/* requests with the tag `worker` may be at a cluster; with `last`, they were cancelled */
	RECORD_REQUESTS = 7,
	RECORD_ALLOCATION = 8, /* a request has ended: `out` describes it as JSON */
};

enum {
	RECORD_OUTPUT_MOST = 1 << 30, /* bytes of each output stream of a task */
};

/* A task's status if it has none from waitpid(): its worker was lost; no worker can run it. */
enum { RECORD_LOST = -1, RECORD_TOO_LARGE = -2 };

/* Strings are borrowed. */
struct record {
	enum record_kind kind;
	/* RECORD_FAILED: the task was set aside; RECORD_REQUESTS: the requests were cancelled */
	bool last;
	bool cut;	    /* some output was discarded */
	uint64_t task;	    /* from 1; in RECORD_BAG the number of tasks */
	uint64_t hash;	    /* RECORD_BAG */
	int32_t status;	    /* from waitpid(); RECORD_LOST, RECORD_TOO_LARGE */
	uint32_t attempt;   /* from 1 */
	int64_t began;	    /* microseconds since 1970 */
	int64_t took;	    /* microseconds */
	const char *worker; /* its name, at most 255 bytes; may be NULL */
	size_t nworker;
	const char *out, *err;
	size_t nout, nerr;
};

/* Appends a record's bytes, with length and checksum. */
void journal_record_put(struct strbuf *out, const struct record *r);
/* Decodes the record at the start of `n` bytes; returns its size, or 0 if it is torn, corrupt or
 * incomplete. */
size_t record_next(const char *bytes, size_t n, struct record *ret);

struct journal;

/* Reads all records, cuts off a torn end, and opens the journal for appending; `each` may be
 * NULL. A file that does not exist is created with `first` (RECORD_BAG). -EBUSY: another
 * process has it open. */
int journal_open(const char *path, const struct record *first, void (*each)(void *arg, const struct record *r),
		 void *arg, struct journal **ret, struct err *err);

/* Removes a journal; succeeds if there is none. -EBUSY: a broker uses it. -EINVAL: the file is
 * not a journal, and is left alone. */
int journal_remove(const char *path, struct err *err);

/* A snapshot of a journal's valid records, to be read with record_next(); works while a broker
 * writes. */
struct journal_view {
	const char *bytes;
	size_t n;
	void *map;
	size_t nmap;
	bool held; /* locked by a broker, perhaps of another user or on another host */
};
int journal_view(const char *path, struct journal_view *ret, struct err *err);
void journal_view_close(struct journal_view *v);

/* Keeps a record in memory until the next flush. */
void journal_add(struct journal *j, const struct record *r);
/* Writes the added records. Then they survive a crash of the process, and after journal_sync()
 * also one of the machine. */
int journal_flush(struct journal *j, struct err *err);
int journal_sync(struct journal *j, struct err *err);
/* Keeps only the records for which `keep` returns true. */
int journal_compact(struct journal *j, bool (*keep)(void *arg, const struct record *r), void *arg, struct err *err);
void journal_close(struct journal *j); /* NULL is allowed; records that were not flushed are lost */

#endif
