/*
 * grounds.h - a small site with running, waiting and promised jobs and all kinds of blocks, made
 * from a seed: the same each time. One of its jobs, the subject, is asked about, and the reasons
 * for which it waits can be taken away.
 *
 * grounds_world.c makes it, grounds_away.c takes reasons away.
 */
#ifndef SHUNT_TESTS_GROUNDS_H
#define SHUNT_TESTS_GROUNDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "support/site.h"

#define NOW INT64_C(1800000000)

#define LICENCES 4
#define LICENCES_TEXT "4"

/* Additions to the usual site. */
enum theme {
	THEME_NONE,
	THEME_PARTS,   /* partitions, time slices, and jobs that run only at night */
	THEME_WHOLE,   /* jobs that have their nodes to themselves */
	THEME_PROMISE, /* a place that is promised to a large job */
	THEME_FAILED,  /* the subject could not be started before */
	THEME_ROUTE,   /* the subject is in a routing queue */
	THEME_SITE,    /* the subject is on its way to another site */
	THEME_MISFIT,  /* the site has become too small for the subject */
	THEME_HOOK,    /* Lua holds jobs */
	THEMES
};

struct scene {
	struct site *f;
	struct rng rng;
	struct rng extra, later, theme_rng; /* for what came later: seeds mean what they meant before */
	enum theme theme;
	bool licensed;	  /* the site has licences */
	char subject[32]; /* the job that is asked about */
	bool loud;
};

int ask(struct scene *x, const char *method, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Sets an attribute; "": unsets it. */
void set(struct scene *x, const char *path, const char *name, const char *value);
void hold(struct scene *x, const char *id, const char *holds);
/* Puts `n` licences in use outside the cluster. */
void elsewhere(struct scene *x, int n);
/* All that was ordered has started. */
void settle(struct scene *x);
bool is_tag_of(const char *tag, const char *id); /* true if it is an attempt of this job */

/* The site of a seed, which is opened by it. */
void world(struct scene *x, uint64_t seed);

/* Why the subject waits, but for what is implied by other reasons; the caller's. NULL: it can't
 * be asked about. */
json_t *reasons_of(struct scene *x);
/* Nothing is decided meanwhile; `left`: the one that stays, or NULL. Whether the subject runs
 * then. */
bool starts_without(struct scene *x, const json_t *reasons, const json_t *left);
bool is_code(const json_t *reason, const char *code);
char state_of(struct scene *x); /* state of the subject; '?': there is none */

#endif
