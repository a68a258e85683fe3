/*
 * site.h - a test's own server (bare.h), with a directory that is removed after the test.
 */
#ifndef SUPPORT_SITE_H
#define SUPPORT_SITE_H

#include <stdint.h>
#include <sys/types.h>

#include "support/bare.h"

struct site {
	struct server *s;
	char dir[64];
	const char *nodes;
	struct bare_answer a; /* answer to the last request */
	int64_t now;	      /* seconds; 0: the machine's clock */
};

/* For cmocka's setup and teardown. `now`: clock value in seconds; 0: the machine's clock. */
int site_setup(void **state, const char *nodes, int64_t now);
int site_teardown(void **state);
/* Reopens the server from its store. */
void site_reopen(struct site *x);
/* Makes the server start this test's own program for its program NAME: a link in the directory. */
void site_program(struct site *x, const char *name);
/* Makes requests wait, until the end of the test, for answers of other processes and threads. */
void site_waits(struct site *x);
void site_pause(struct site *x); /* after site_waits(): waits for such an answer, at most a short while */
/* Sends a request and returns the status; the answer is in `a`. */
int site_ask(struct site *x, uid_t uid, const char *method, const char *path, const char *body);
/* Sets an attribute of the server as its manager; returns the status. */
int site_set(struct site *x, const char *name, const char *value);

#endif
