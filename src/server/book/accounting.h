/*
 * accounting.h - PBS accounting records: a line per turn in a job's life, a file per day.
 *
 *	11/15/2026 06:42:53;E;12.server;user=ann group=staff jobname=STDIN queue=batch ... Exit_status=0
 *
 * Sites' own scripts read these files, so names and order are those of PBS. A value with blanks, quotes, backslashes,
 * or control characters is quoted: "a b", with \" \\ \n \t \xHH inside; other values are as they are. So a line is a
 * line whatever users call their jobs.
 */
#ifndef SERVER_ACCOUNTING_H
#define SERVER_ACCOUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/history.h"

/* What a record may say; which of it is written depends on its type. Texts that are NULL and instants that are 0 are not
 * known, and not written. */
struct record {
	int64_t time;		/* instant */
	char type;		/* Q queued, S started, E ended, D deleted, A aborted, R rerun, C checkpointed */
	const char *id;		/* "12[3].server" */
	struct history_row job; /* the job, and its last attempt; its key and id do not matter */
	const char *owner;	/* user@host that submitted it */
	const char *requestor;	/* D, R, C: user@host that asked for it */
	int64_t session;	/* 0: not known */
};

/* Appends the line with its end. */
void record_format(const struct record *r, struct strbuf *out);

/* ---- reading ---- */

/* The lines of the days from..to (instants) that are there, one by one: 1 with a line, or with NULL where there was none to be had in this step (a day ends, or
 * has no file); 0: that was all; -errno. A line is borrowed until the next call. */
struct accounting_reader;
struct accounting_reader *accounting_open_days(const char *dir, int64_t from, int64_t to);
int accounting_next(struct accounting_reader *r, char **ret, struct err *err);
void accounting_close_days(struct accounting_reader *r);

/* Calls `one` for each line of the days from..to (instants) that are there, in order; it returns false to stop. Lines
 * are borrowed. Days without a file are passed over. */
int accounting_scan(const char *dir, int64_t from, int64_t to, bool (*one)(void *context, const char *line),
		    void *context, struct err *err);

#endif
