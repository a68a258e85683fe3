/*
 * quota.h - quotas of users, and the journal of their changes.
 *
 * Both are written in the commit of the event that changes them: a row that replaces the earlier
 * one, and a line of the journal. The lines of a month sum to what the row says is left. A server
 * reads the rows at startup, and the journal on request.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include "store/store.h"

#define STORE_QUOTA_TYPES 3

/* A user's quota, in seconds; months are numbers like 200504, 0 for none. */
struct store_quota {
	const char *user;
	int64_t limit[STORE_QUOTA_TYPES], end;
	int64_t month, left[STORE_QUOTA_TYPES];
};

/* A line of the journal. */
struct store_move {
	uint64_t seq; /* from the same sequence as the events of jobs */
	const char *user;
	int64_t time, month;
	const char *type, *cause; /* words */
	uint64_t job;		  /* key; 0: not caused by a job */
	int64_t seconds;
};

void store_put_quota(struct store *s, const struct store_quota *q);
void store_drop_quota(struct store *s, const char *user); /* its moves stay */
void store_put_move(struct store *s, const struct store_move *m);

/* Reads the committed quotas, by user. A nonzero result of the callback ends the reading and is
 * returned; the same holds below. */
int store_get_quota(struct store *s, int (*one)(void *context, const struct store_quota *q), void *context,
		    struct err *err);
/* Reads the journal of a month, in order, of one user or (NULL) of all. */
int store_get_moves(struct store *s, int64_t month, const char *user,
		    int (*one)(void *context, const struct store_move *m), void *context, struct err *err);

#endif
