/*
 * moves.h - answers with changes of quota and credits (store/quota.h), read from the store by
 * another thread.
 */
#ifndef SERVER_API_MOVES_H
#define SERVER_API_MOVES_H

#include "store/quota.h"

struct call;
struct schema;
struct server;

/* How changes of one kind are shown. */
struct moves_form {
	const char *kind;	   /* name for messages: "quota" */
	const char *lines;	   /* name of their list */
	const struct schema *line; /* shows a struct move_line */
};

struct move_line {
	struct store_move move;
	const char *job; /* id of the job; NULL: not caused by a job */
};

/* Answers with the requested month's changes of `user`, in the form the ledger uses. `account`: its
 * name, which the answer begins with, or NULL. */
void moves_reply(struct server *s, const struct call *c, const struct moves_form *form, const char *user,
		 const char *account);

#endif
