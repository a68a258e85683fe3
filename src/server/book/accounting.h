/*
 * accounting.h - PBS accounting records: a line per event in a job's life, a file per day.
 *
 *	11/15/2026 06:42:53;E;12.server;user=ann group=staff queue=batch ... Exit_status=0
 *
 * Sites' own scripts read these files, so names and order are those of PBS. A value with blanks,
 * quotes, backslashes or control characters is quoted: "a b", with \" \\ \n \t \xHH inside; other
 * values are written unchanged. So each record is one line, whatever users call their jobs.
 */
#ifndef SERVER_ACCOUNTING_H
#define SERVER_ACCOUNTING_H

#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/history.h"

/* The data of a record; its type decides which parts are written. Texts that are NULL and
 * instants that are 0 are unknown and not written. */
struct record {
	int64_t time;		/* instant */
	char type;		/* Q queued, S started, E ended, D deleted, A aborted, R rerun, C checkpointed */
	const char *id;		/* "12[3].server" */
	struct history_row job; /* the job and its last attempt; key and id are not used */
	const char *owner;	/* user@host that submitted the job */
	const char *requestor;	/* D, R, C: user@host that requested it */
	int64_t session;	/* 0: not known */
};

/* Appends the record's line, with its newline. */
void record_format(const struct record *r, struct strbuf *out);

/* ---- reading ---- */

/* Reads the lines of the existing files for the days from..to (instants). accounting_next()
 * returns 1 with a line, or with NULL if this step found none (end of a day, or no file); 0 at
 * the end; or -errno. A line is borrowed until the next call. */
struct accounting_reader;
struct accounting_reader *accounting_open_days(const char *dir, int64_t from, int64_t to);
int accounting_next(struct accounting_reader *r, char **ret, struct err *err);
void accounting_close_days(struct accounting_reader *r);

#endif
