/*
 * quota.h - quota of users, and the book of what changed them.
 *
 * Both are written in the commit of the event that changes them: a row that replaces what was there, and a line of the book. The lines of a month add up
 * to what the row says is left. The rows are read when a server starts; the book is read when asked for.
 */
#ifndef STORE_QUOTA_H
#define STORE_QUOTA_H

#include "store/store.h"

#define STORE_QUOTA_TYPES 3

/* A user's. Seconds; months are numbers like 200504, 0 for none. */
struct store_quota {
	const char *user;
	int64_t limit[STORE_QUOTA_TYPES], end;
	int64_t month, left[STORE_QUOTA_TYPES];
};

/* A line of the book. */
struct store_move {
	uint64_t seq; /* numbered with the events of jobs */
	const char *user;
	int64_t time, month;
	const char *type, *cause; /* words */
	uint64_t job;		  /* key; 0: of no job */
	int64_t seconds;
};

void store_put_quota(struct store *s, const struct store_quota *q);
void store_drop_quota(struct store *s, const char *user); /* the book stays */
void store_put_move(struct store *s, const struct store_move *m);

/* By user, of what is committed. Other than 0 from the callback ends it, and is returned; so below. */
int store_get_quota(struct store *s, int (*one)(void *context, const struct store_quota *q), void *context,
		    struct err *err);
/* The book of a month, in order, of one user or (NULL) of all. */
int store_get_moves(struct store *s, int64_t month, const char *user,
		    int (*one)(void *context, const struct store_move *m), void *context, struct err *err);

#endif
