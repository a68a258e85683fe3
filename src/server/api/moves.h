/*
 * moves.h - lines of the book in which quota and credits change (store/quota.h), as an answer: read from the store beside the loop.
 */
#ifndef SERVER_API_MOVES_H
#define SERVER_API_MOVES_H

#include <stdbool.h>

struct call;
struct server;

/* How the lines of one kind are shown. */
struct moves_form {
	const char *kind;   /* for messages: "quota" */
	const char *lines;  /* the name of their list, */
	const char *amount; /* ... and of what moved */
	bool users;	    /* with whose they are, and of which type of job */
};

/* Answers with those of the month that is asked for, of `user` as the book has it. `account`: its name, which the answer begins with; or NULL. */
void moves_reply(struct server *s, const struct call *c, const struct moves_form *form, const char *user,
		 const char *account);

#endif
