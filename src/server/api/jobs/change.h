/*
 * change.h - what can be done to a job (api_change.c), for those who decide to which jobs (action.c).
 */
#ifndef SERVER_CHANGE_H
#define SERVER_CHANGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "rules/role.h"
#include "server/base/tried.h"

struct asker;
struct err;
struct server;
struct spec;

/* A change under way: of one job, or of many by one request. */
struct change {
	struct server *s;
	const struct asker *w;
	const json_t *args;
	struct arena *arena; /* until the next change_pause() */
	/* What the last job was altered to, for those that have the same spec: the elements of an array. */
	struct {
		struct spec *from, *to; /* NULL: nothing yet */
		uint64_t as;		/* that job's key */
		char *body;		/* what the store is to keep; NULL: as it was */
		uint8_t holds;
		bool running;
	} last;
	VEC(uint32_t) owners; /* words: users whose jobs have other priorities now */
	struct trial trial;   /* what a job that is not altered yet made the server intern */
	struct spec *model; /* what a job was altered to last: one with the same dependencies waits together with it */
	int64_t relations;  /* relations to other jobs that it has set so far */
};

struct action_kind {
	const char *name;
	enum act act;
	int (*run)(struct change *c, uint32_t id, struct err *err);
	bool ends;   /* it ends jobs: waiting ones first, or they would start where others have ended */
	bool whole;  /* done to all elements, it shows in the array as a whole */
	bool hooked; /* the site's hooks see it first */
};

/* What hooks are asked about a change: {"job": as it is, "asked": what is to change}, the caller's. */
int change_subject(struct change *c, uint32_t id, json_t **ret, struct err *err);
const struct action_kind *action_find(const char *name); /* NULL: there is none */
void change_pause(
	struct change *c); /* others may change jobs before this one goes on: forgets what it remembers of them */
void change_end(struct change *c); /* of all of it, or of what was done */
int ended_error(struct err *err);

#endif
