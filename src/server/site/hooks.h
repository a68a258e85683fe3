/*
 * hooks.h - the site's hooks (src/hooks), asked without holding the loop.
 *
 * They run in processes beside the server (shunt-hook), which get one question at a time. The server reads the files, looks at their owners and modes, and
 * sends their texts; it ends a process that does not answer in time, and starts another one. A question whose process ended although nobody ended it is asked
 * once more.
 *
 * Files are read again when they change (hookfiles.h). A new version is tried in such a process first; one that is broken leaves the old one in force. One that
 * is broken when the server starts counts as a hook that fails each time.
 */
#ifndef SERVER_SITE_HOOKS_H
#define SERVER_SITE_HOOKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "hooks/chain.h"
#include "hooks/hook.h"

struct hooks;
struct server;

/* A question under way: of the caller, who frees it by hook_ask_free() at any time. */
struct hook_ask {
	enum hook_event event;
	json_t *facts;	  /* of the user who asks, or of the job; its own */
	const char *data; /* what is sent to the process (hooks/worker.h); borrowed until it is done or freed */
	size_t n;
	void (*done)(struct server *s, void *context); /* called once, never within hooks_ask(); NULL: `over` tells */
	void *context;
	/* the answer */
	bool over;
	VEC(struct hook_answer) answers; /* one for each job, up to the first that is not accepted */
	json_t *values;			 /* of HOOK_PRIORITY: a number for each job; NULL: none */
	bool failed;			 /* ... which some were not reached by */
	bool unheard;			 /* there was no answer, and hook_failure says that it goes on without */
	/* theirs */
	struct server *server;
	struct hook_worker *worker; /* that has it now; NULL: it waits, or is over */
	bool check;		    /* it is about a new version of a file, ... */
	bool trial;		    /* ... or one that an administrator tries: `bytes` of the data are its text */
	size_t bytes;
	char *file;	 /* ... its name; else the one that is being called; NULL: none */
	unsigned events; /* of both: that it has functions for */
	char *error;	 /* of both: why it is broken */
	int tries;
};

/* One file, for people. */
struct hook_shown {
	const char *name;
	unsigned events;     /* bits of enum hook_event; of the version in force */
	bool in_force;	     /* some version of it is */
	bool fails;	     /* it was broken when the server started, and counts as failing */
	const char *problem; /* of the version on disk; NULL: it is the one in force */
	const char *failure; /* the last one; NULL: none */
	uint64_t calls, failures;
	int64_t us, us_max; /* that its calls took */
};

/* Reads the directory, and starts to look for changes. */
void hooks_begin(struct server *s);
void hooks_end(struct server *s);
/* Whether anything is to be asked; a file that can't be used counts for every event. */
bool hooks_want(const struct server *s, enum hook_event e);
/* Takes the facts over. */
struct hook_ask *hooks_ask(struct server *s, enum hook_event e, json_t *facts, const char *data, size_t n,
			   void (*done)(struct server *s, void *context), void *context);
/* The same of a file that is not in force: `bytes` of the data are its text, what follows is as usual. */
struct hook_ask *hooks_try(struct server *s, enum hook_event e, json_t *facts, const char *name, const char *data,
			   size_t n, size_t bytes, void (*done)(struct server *s, void *context), void *context);
void hook_ask_free(struct hook_ask *a); /* NULL: nothing. One that is under way is given up */

size_t hooks_count(const struct server *s);
void hooks_show(const struct server *s, size_t i, struct hook_shown *ret);
const char *hooks_directory(const struct server *s);
const char *hooks_trouble(const struct server *s); /* why the directory can't be used; NULL: it can, or is not there */

#endif
