/*
 * outbox.h - accounting and event-log lines on their way to their files.
 *
 * A row is stored in the commit of the events that its lines report, and removed in a later commit,
 * once the lines are on disk in their file (for accounting, that of their day). So a crash loses no
 * line: those that may not have been written are still here.
 */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include "store/store.h"

/* Kind of lines; each has a table. */
enum outbox_kind { OUTBOX_ACCOUNTING, OUTBOX_JOURNAL };

/* The lines of one commit for one file. */
struct outbox_row {
	uint64_t seq; /* increasing; chosen by the server */
	int64_t day;  /* date, 20261115; 1 if all lines go into one file */
	const char *lines;
	size_t n; /* bytes */
};

void store_put_outbox(struct store *s, enum outbox_kind kind, const struct outbox_row *row);
/* Removes the rows up to and including `last`. */
void store_trim_outbox(struct store *s, enum outbox_kind kind, uint64_t last);
/* Reads at most `most` committed rows after `after`, in order. A nonzero result of the callback
 * ends the reading and is returned. */
int store_get_outbox(struct store *s, enum outbox_kind kind, uint64_t after, int64_t most,
		     int (*one)(void *context, const struct outbox_row *row), void *context, struct err *err);

#endif
