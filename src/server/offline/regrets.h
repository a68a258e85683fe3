/*
 * regrets.h - what users are told about changes that they left while the server was down, and that were not made as they asked (offline.c, spool.c).
 *
 * Nobody waits for the answer any more, so it is mailed: one mail for each user, when all of a batch has been answered. Jobs of their own that were not changed
 * have a note in their log as well, and a submission that was refused is a job that has ended (refused.h).
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

/* What one user is told. */
struct regret {
	uid_t uid;
	struct strbuf text; /* lines */
	size_t count;	    /* changes, and jobs of changes, that it is about */
};

struct regrets {
	VEC(struct regret) users;
};

/* A change that was answered. */
struct fate {
	uid_t uid;
	uint64_t number;
	const char *what;     /* regrets_name() */
	const json_t *answer; /* of the API, which says it of each job */
	const char *why;      /* why nothing of it was made; NULL: see `answer` */
};

/* Names a change in a few words: "delete 12.pine, 13.pine". */
void regrets_name(const char *path, const json_t *body, char ret[REGRET_NAME]);

void regrets_add(struct server *s, struct regrets *r, const struct fate *x);
/* Sends the mails, and forgets what was added. */
void regrets_send(struct server *s, struct regrets *r);
void regrets_fini(struct regrets *r);

#endif
