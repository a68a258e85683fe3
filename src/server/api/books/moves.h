/*
 * moves.h - lines of the book in which quota and credits change (store/quota.h), as an answer: read from the store beside the loop.
 */
#ifndef SERVER_API_MOVES_H
#define SERVER_API_MOVES_H

#include "store/quota.h"

struct call;
struct schema;
struct server;

/* How the lines of one kind are shown. */
struct moves_form {
	const char *kind;	   /* for messages: "quota" */
	const char *lines;	   /* the name of their list */
	const struct schema *line; /* shows a struct move_line */
};

struct move_line {
	struct store_move move;
	const char *job; /* its id; NULL: no job's */
};

/* Answers with those of the month that is asked for, of `user` as the book has it. `account`: its name, which the answer begins with; or NULL. */
void moves_reply(struct server *s, const struct call *c, const struct moves_form *form, const char *user,
		 const char *account);

#endif
