/*
 * acted.h - an action that is repeated: what the one with the same key has done.
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
	uint64_t key;	       /* 0: the item as a whole */
	uint32_t item;	       /* which of the request's ids; ITEM_FILTER: it was not by an id */
	enum code code;	       /* CODE_NONE: no error */
	char *message;	       /* of an error, or NULL */
	char *form;	       /* what that was printed by, or NULL, */
	unsigned short begins; /* ... and where in it: base/err.h */
};
#define ITEM_FILTER UINT32_MAX
struct acted {
	uid_t uid;
	uint64_t print; /* of the request */
	int64_t time;	/* instant of the first one */
	uint32_t parts; /* objects in the store */
	bool complete;
	struct action *running;	    /* NULL: none is under way */
	VEC(struct acted_job) done; /* what has been done */
	size_t kept;		    /* those that the store has been given */
	char text[];
};
struct acted *acted_find(const struct server *s, uid_t uid, const char *text); /* NULL: not known */
struct acted *acted_begin(struct server *s, uid_t uid, const char *text, uint64_t print);
/* `err`: why nothing was done, or NULL. */
void acted_add(struct acted *x, uint32_t item, uint64_t key, const struct err *err);
void acted_keep(struct server *s, struct acted *x, bool complete); /* what was added goes into this turn's commit */
int acted_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
void acted_turn(struct server *s);							 /* forgets old ones */

#endif
