/*
 * outbox.h - accounting lines, and those of the event log, on their way to their files.
 *
 * A row is stored in the commit of the events that its lines report, and removed in a later commit, once the lines are on disk in their file
 * (of accounting: that of their day). So a crash loses none: what may not have been written is here.
 */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include "store/store.h"

/* What they are lines of: a table each. */
enum outbox_kind { OUTBOX_ACCOUNTING, OUTBOX_JOURNAL };

/* The lines of one commit that belong into one file. */
struct outbox_row {
	uint64_t seq; /* growing; chosen by the server */
	int64_t day;  /* a date, 20261115; 1 where all are in one file */
	const char *lines;
	size_t n; /* bytes */
};

void store_put_outbox(struct store *s, enum outbox_kind kind, const struct outbox_row *row);
void store_trim_outbox(struct store *s, enum outbox_kind kind, uint64_t last); /* the rows up to and including `last` */
/* Committed rows behind `after`, in order, `most` of them. Other than 0 from the callback ends it, and is returned. */
int store_get_outbox(struct store *s, enum outbox_kind kind, uint64_t after, int64_t most,
		     int (*one)(void *context, const struct outbox_row *row), void *context, struct err *err);

#endif
