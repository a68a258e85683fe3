/*
 * journal.h - what must survive of a bag: its finished tasks with their outputs, and what users did to it.
 *
 * Records are only appended: length and CRC-32 (4 bytes each, little endian), then the bytes. A record that is torn or wrong ends the journal: everything
 * from there on is cut off when it is opened for writing, and the tasks whose results were lost run again. So a task that is in the journal is finished,
 * whatever happened, and the order of records is the order of events.
 *
 * A bag that is complete needs no more than one record for each task: journal_compact() writes a new journal without failed attempts and renames it over the
 * old one.
 */
#ifndef BAG_JOURNAL_H
#define BAG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

enum record_kind {
	RECORD_BAG = 1,	     /* the first one: how many tasks, and the hash of their text */
	RECORD_DONE = 2,     /* a task succeeded */
	RECORD_FAILED = 3,   /* an attempt failed; with `last`, the task was set aside */
	RECORD_RETRY = 4,    /* tasks that were set aside wait again, without earlier failures */
	RECORD_CANCEL = 5,   /* the user cancelled the rest */
	RECORD_RUN = 6,	     /* a broker began, at `began` */
	RECORD_REQUESTS = 7, /* requests with the tag `worker` may be at a cluster; with `last`, they were cancelled */
	RECORD_ALLOCATION = 8, /* a request is over: `out` is what it was, JSON */
};

enum {
	RECORD_OUTPUT_MOST = 16 << 20, /* bytes of a stream that are kept of a task */
};

/* Texts are borrowed. */
struct record {
	enum record_kind kind;
	bool last;	    /* RECORD_FAILED */
	bool cut;	    /* there was more output than is kept */
	uint64_t task;	    /* from 1; of RECORD_BAG the number of tasks */
	uint64_t hash;	    /* RECORD_BAG */
	int32_t status;	    /* as waitpid() reports it; -1: its worker was lost */
	uint32_t attempt;   /* from 1 */
	int64_t began;	    /* microseconds since 1970 */
	int64_t took;	    /* microseconds */
	const char *worker; /* its name, up to 255 bytes; may be NULL */
	size_t nworker;
	const char *out, *err;
	size_t nout, nerr;
};

/* Appends a record's bytes, with length and checksum. */
void record_put(struct strbuf *out, const struct record *r);
/* The record at the start of `n` bytes: how many it takes; 0: it is torn, wrong or not whole. */
size_t record_next(const char *bytes, size_t n, struct record *ret);

struct journal;

/* Reads all records, cuts off a torn end, and opens for appending; `each` may be NULL. A file that does not exist is created with `first` (RECORD_BAG). At
 * most one process at a time: -EBUSY with its pid. */
int journal_open(const char *path, const struct record *first, void (*each)(void *arg, const struct record *r),
		 void *arg, struct journal **ret, struct err *err);

/* Removes a journal; it is no error if there is none. -EBUSY: a broker uses it. -EINVAL: the file is not a journal, and is left alone. */
int journal_remove(const char *path, struct err *err);

/* A journal's good records as they are now, to be walked through with record_next(); also while a broker writes. */
struct journal_view {
	const char *bytes;
	size_t n;
	void *map;
	size_t nmap;
	bool held; /* by a broker, perhaps another user's or on another host */
};
int journal_view(const char *path, struct journal_view *ret, struct err *err);
void journal_view_close(struct journal_view *v);

/* Kept in memory until the next flush. */
void journal_add(struct journal *j, const struct record *r);
/* Writes what was added. After that, a crash of the process loses nothing; after journal_sync() neither does one of the machine. */
int journal_flush(struct journal *j, struct err *err);
int journal_sync(struct journal *j, struct err *err);
/* Leaves only the records for which `keep` is true. */
int journal_compact(struct journal *j, bool (*keep)(void *arg, const struct record *r), void *arg, struct err *err);
void journal_close(struct journal *j); /* NULL is allowed; what was not flushed is lost */

#endif
