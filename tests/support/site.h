/*
 * site.h - a test's own server (bare.h), with a directory that goes when the test has ended.
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
	struct bare_answer a; /* to what was asked last */
	int64_t now;	      /* seconds; 0: the machine's clock */
};

/* For cmocka's setup and teardown. `now`: what the clock shows from now on, in seconds; 0: as it is. */
int site_setup(void **state, const char *nodes, int64_t now);
int site_teardown(void **state);
/* The server is opened anew from its store. */
void site_reopen(struct site *x);
/* Status; the answer is in `a`. */
int site_ask(struct site *x, uid_t uid, const char *method, const char *path, const char *body);
/* Sets an attribute of the server, as its manager: the status. */
int site_set(struct site *x, const char *name, const char *value);

#endif
