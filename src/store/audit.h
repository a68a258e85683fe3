/*
 * audit.h - records who changed what: rows of the table `audit`.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include <stdint.h>

#include "base/err.h"

struct store;

struct store_audit {
	uint64_t seq;
	int64_t time;
	const char *who;	 /* user name */
	const char *kind, *name; /* object: kind ("queue", "batch") and name */
	const char *action;	 /* "changed" */
	const char *change;	 /* description of the change, for display; or NULL */
	const char *undo;	 /* command that reverts it; or NULL */
};

void store_put_audit(struct store *s, const struct store_audit *a);
/* Removes the oldest rows from before an instant, at most `most` of them. */
void store_trim_audit(struct store *s, int64_t before, int64_t most);
/* Reads the rows since an instant with a number greater than `after`, in order. A nonzero result
 * of the callback ends the reading and is returned. */
int store_get_audit(struct store *s, int64_t since, uint64_t after,
		    int (*one)(void *context, const struct store_audit *a), void *context, struct err *err);

#endif
