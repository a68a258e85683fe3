/*
 * change.h - the actions on a job (api_change.c), for the code that selects the jobs (action.c).
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
struct server;
struct spec;

/* A change in progress: of one job, or of many by one request. */
struct change {
	struct server *s;
	const struct asker *w;
	const json_t *args;
	struct arena *arena; /* valid until the next change_pause() */
	/* Result for the last job altered, reused for jobs with the same spec, such as the elements
	 * of an array. */
	struct {
		struct spec *from, *to; /* NULL: none yet */
		uint64_t as;		/* key of that job */
		char *body;		/* body for the store; NULL: unchanged */
		uint8_t holds;
		bool running;
	} last;
	VEC(uint32_t) owners; /* words of users whose jobs' priorities have changed */
	/* words and requests interned for an alteration that is not accepted yet */
	struct trial trial;
	/* spec of the last altered job; jobs with the same dependencies share its wait */
	struct spec *model;
	int64_t relations; /* number of dependencies on other jobs set so far */
	char why[600];	   /* text of deletions; "": not formatted yet */
};

struct action_kind {
	const char *name;
	enum act act;
	int (*run)(struct change *c, uint32_t id, struct err *err);
	/* it ends jobs: waiting ones are ended first, or they would start where others have
	 * ended */
	bool ends;
	bool whole;  /* if done to all elements, it also changes the array as a whole */
	bool hooked; /* the site's hooks are asked first */
};

/* Returns what hooks are asked about a change: {"job": current state, "asked": requested changes}.
 * The caller owns it. */
int change_subject(struct change *c, uint32_t id, json_t **ret, struct err *err);
const struct action_kind *action_find(const char *name); /* NULL: not found */
/* Forgets cached state of jobs, before a pause in which other requests may change them. */
void change_pause(struct change *c);
/* Finishes the change, complete or not. */
void change_end(struct change *c);
int ended_error(struct err *err);

#endif
