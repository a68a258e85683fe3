/*
 * audit.h - who changed what: rows of the table `audit`.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include <stdint.h>

#include "base/err.h"

struct store;

struct store_audit {
	uint64_t seq;
	int64_t time;
	const char *who;	 /* a user */
	const char *kind, *name; /* of what: "queue", "batch" */
	const char *action;	 /* "changed" */
	const char *change;	 /* what was changed, for people; or NULL */
	const char *undo;	 /* a command; or NULL */
};

void store_put_audit(struct store *s, const struct store_audit *a);
/* The oldest ones from before that instant, at most so many of them. */
void store_trim_audit(struct store *s, int64_t before, int64_t most);
/* Those since an instant whose number is greater than `after`, in order. Other than 0 from the callback ends it, and is returned. */
int store_get_audit(struct store *s, int64_t since, uint64_t after,
		    int (*one)(void *context, const struct store_audit *a), void *context, struct err *err);

#endif
