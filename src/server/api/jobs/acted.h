/*
 * acted.h - repeated actions: results of the action that was first sent with the same key.
 */
#ifndef SERVER_ACTED_H
#define SERVER_ACTED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/code.h"
#include "base/vec.h"

struct action;
struct err;
struct server;

struct acted_job {
	uint64_t key; /* key of the job; 0: the result is about the item as a whole */
	/* index of the id in the request; ITEM_FILTER: selected by the filter */
	uint32_t item;
	enum code code;	       /* CODE_NONE: no error */
	char *message;	       /* error message, or NULL */
	char *form;	       /* format string that produced the message, or NULL */
	unsigned short begins; /* offset in `message` at which that text begins: base/err.h */
};
#define ITEM_FILTER UINT32_MAX
struct acted {
	uid_t uid;
	uint64_t print; /* hash of the request */
	int64_t time;	/* instant of the first request */
	uint32_t parts; /* number of its objects in the store */
	bool complete;
	struct action *running;	    /* NULL: not in progress */
	VEC(struct acted_job) done; /* results so far */
	size_t kept;		    /* results that were given to the store */
	char text[];
};
struct acted *acted_find(const struct server *s, uid_t uid, const char *text); /* NULL: not known */
struct acted *acted_begin(struct server *s, uid_t uid, const char *text, uint64_t print);
/* Adds a result. `err`: why nothing was done, or NULL. */
void acted_add(struct acted *x, uint32_t item, uint64_t key, const struct err *err);
/* Stores the added results in this turn's commit. */
void acted_keep(struct server *s, struct acted *x, bool complete);
int acted_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
/* Forgets old actions. */
void acted_turn(struct server *s);

#endif
