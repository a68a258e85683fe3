/*
 * hooks.h - the site's hooks (src/hooks), called without blocking the loop.
 *
 * They run in processes beside the server (shunt-hook), each of which gets one question at a time.
 * The server reads the files, checks their owners and modes, and sends their texts; it kills a
 * process that does not answer in time, and starts another one. A question whose process ended by
 * itself is asked once more.
 *
 * Files are read again when they change (hookfiles.h). A new version is first tried in such a
 * process; if it is broken, the old one stays in force. A file that is broken when the server
 * starts counts as a hook that fails each time.
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

struct server;

/* A question under way, owned by the caller, who may free it with hook_ask_free() at any time. */
struct hook_ask {
	enum hook_event event;
	json_t *facts; /* facts about the client or the job; owned */
	/* data sent to the process (hooks/worker.h); borrowed until done or freed */
	const char *data;
	size_t n;
	/* called once, never within hooks_ask(); NULL: poll `over` */
	void (*done)(struct server *s, void *context);
	void *context;
	/* the answer */
	bool over;
	VEC(struct hook_answer) answers; /* one for each job, up to the first that is refused */
	json_t *values;			 /* HOOK_PRIORITY: a number for each job; NULL: none */
	bool failed;			 /* HOOK_PRIORITY: some jobs got no number */
	/* there was no answer, and hook_failure allows continuing without one */
	bool unheard;
	/* private */
	struct server *server;
	struct hook_worker *worker; /* process that handles it; NULL: it waits, or is over */
	bool check;		    /* it checks a new version of a file */
	/* it tries a file for an administrator: the first `bytes` of the data are its text */
	bool trial;
	size_t bytes;
	/* check, trial: name of the file; otherwise the file being called; NULL: none */
	char *file;
	unsigned events; /* check, trial: events that it has functions for */
	char *error;	 /* check, trial: why it is broken */
	int tries;
};

/* One file in answers. */
struct hook_shown {
	const char *name;
	unsigned events;     /* bits of enum hook_event in the version in force */
	bool in_force;	     /* some version of it is in force */
	bool fails;	     /* it was broken when the server started, and counts as failing */
	const char *problem; /* problem of the version on disk; NULL: it is the one in force */
	const char *failure; /* last failure; NULL: none */
	uint64_t calls, failures;
	int64_t us, us_max; /* total and maximum time of its calls */
};

/* Reads the directory and starts watching it. */
void hooks_begin(struct server *s);
void hooks_end(struct server *s);
/* Returns true if there is a hook for the event; a file that cannot be used counts for every
 * event. */
bool hooks_want(const struct server *s, enum hook_event e);
/* Asks the hooks. Takes over the facts. */
struct hook_ask *hooks_ask(struct server *s, enum hook_event e, json_t *facts, const char *data, size_t n,
			   void (*done)(struct server *s, void *context), void *context);
/* Asks a file that is not in force: the first `bytes` of the data are its text, followed by the
 * usual data. */
struct hook_ask *hooks_try(struct server *s, enum hook_event e, json_t *facts, const char *name, const char *data,
			   size_t n, size_t bytes, void (*done)(struct server *s, void *context), void *context);
void hook_ask_free(struct hook_ask *a); /* accepts NULL; cancels a question under way */

size_t hooks_count(const struct server *s);
void hooks_show(const struct server *s, size_t i, struct hook_shown *ret);
const char *hooks_directory(const struct server *s);
/* Returns why the directory cannot be used; NULL: it is usable or missing. */
const char *hooks_trouble(const struct server *s);

#endif
