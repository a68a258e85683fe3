/*
 * outbox.h - accounting lines on their way to their files.
 *
 * A row is stored in the commit of the events that its lines report, and removed in a later commit, once the lines are on disk in the file of their
 * day. So a crash loses none: what may not have been written is here.
 */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include "store/store.h"

/* The lines of one commit that belong to one day. */
struct outbox_row {
	uint64_t seq; /* growing; chosen by the server */
	int64_t day;  /* a date, 20261115 */
	const char *lines;
	size_t n; /* bytes */
};

void store_put_outbox(struct store *s, const struct outbox_row *row);
void store_trim_outbox(struct store *s, uint64_t last); /* removes the rows up to and including `last` */
/* Committed rows behind `after`, in order, `most` of them. Other than 0 from the callback ends it, and is returned. */
int store_get_outbox(struct store *s, uint64_t after, int64_t most,
		     int (*one)(void *context, const struct outbox_row *row), void *context, struct err *err);

#endif
