/*
 * regrets.h - notices to users about changes that they left while the server was down and that were
 * not carried out as requested (offline.c, spool.c).
 *
 * Nobody waits for the answer any more, so it is mailed: one mail to each user, once a whole batch
 * has been answered. If it was about jobs of their own, their logs have a note as well. A refused
 * submission becomes a job that has ended (refused.h).
 */
#ifndef SERVER_REGRETS_H
#define SERVER_REGRETS_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "base/vec.h"

#define REGRET_NAME 128

struct server;

/* Notices for one user. */
struct regret {
	uid_t uid;
	struct strbuf text; /* lines */
	size_t count;	    /* number of changes, and of jobs in them, that it reports */
};

struct regrets {
	VEC(struct regret) users;
};

/* A change that was answered. */
struct fate {
	uid_t uid;
	uint64_t number;
	const char *what;     /* regrets_name() */
	const json_t *answer; /* the API's answer, with a result for each job */
	const char *why;      /* why none of it was carried out; NULL: see `answer` */
};

/* Names a change in a few words: "delete 12.pine, 13.pine". */
void regrets_name(const char *path, const json_t *body, char ret[REGRET_NAME]);

void regrets_add(struct server *s, struct regrets *r, const struct fate *x);
/* Sends the mails and forgets their notices. */
void regrets_send(struct server *s, struct regrets *r);

#endif
