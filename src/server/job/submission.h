/*
 * submission.h - from what clients submit to a job's spec.
 *
 * The server keeps only the spec in memory, stored as the job's `head`. Environment, paths and
 * arguments are the `body`, which stays in the store until the job starts.
 */
#ifndef SERVER_SUBMISSION_H
#define SERVER_SUBMISSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/array.h"
#include "core/reqtext.h"

struct arena;
struct asker;
struct away;
struct json;
struct server;
struct spec;

struct submission {
	struct spec *spec;
	char *body;	/* JSON */
	bool guarantee; /* require_guarantee */
	/* seconds its user agrees to wait while running jobs are displaced; < 0: it may displace
	 * none */
	int64_t displace;
	bool element;		 /* it is an element of an array that is being moved */
	const struct away *away; /* set if it has been on its way to another site; borrowed */
	const char *warning;	 /* warning for its user; NULL: none */
	struct array_spec array;
	struct reqtext text; /* its request as submitted; the spec includes the defaults */
	const char *script;  /* in the arena */
	size_t script_n;
};
/* Checks everything that does not depend on the state of the queue. */
int submission_read(struct server *s, const struct asker *who, const json_t *job, bool script_needed, struct arena *a,
		    struct submission *ret, struct err *err);
/* Reads an alteration (alteration.c): a copy of the job's spec with `args` applied, and its body
 * if one of its members was given, otherwise NULL. The caller checks that its queue allows the
 * result. */
int alteration_read(struct server *s, const struct asker *who, uint32_t id, const json_t *args, struct arena *a,
		    struct submission *ret, struct err *err);
/* Reads an alteration to `factor` times the memory. */
int alteration_grow(struct server *s, uint32_t id, double factor, struct arena *a, struct submission *ret,
		    struct err *err);
void submission_fini(struct submission *x);

/* submission_write.c: returns the job as it would be submitted now, without its script and
 * without the members that have a bit of `without`. `body`: from body_read(). The caller owns
 * the result. */
json_t *as_submission(struct server *s, uint32_t id, const json_t *body, uint32_t without);
/* Does the same with its script; an element of an array becomes an array of one. */
int submission_whole(struct server *s, uint32_t id, uint32_t without, json_t **ret, struct err *err);
/* Applies changes to a submission; of the resources (-l), those that are given replace others, and
 * a value such as x2 multiplies the old one. */
int submission_update(json_t *job, json_t *changes, struct err *err);
/* Returns the requested resources, in the form of -l. `here`: with those that only have a meaning
 * at this site. */
json_t *submission_resources(const struct server *s, const struct spec *p, bool here);
/* Sets the members of a submission that have a bit of `in`. */
void submission_put(const struct server *s, const struct spec *p, uint32_t in, json_t *o);
void submission_put_kind(const struct spec *p, json_t *o); /* its type, deadline and powers */
const char *submission_type(const struct spec *p);	   /* C, Q, E or N */
/* Writes what hooks see of a job, without its body, as members of an open object. */
void submission_brief(const struct server *s, const struct spec *p, struct json *j);

/* Reads max_run_subjobs, if given; 0 means no limit. */
int throttle_get(const json_t *job, int64_t *ret, struct err *err);
const char *power_name(int i);		      /* NULL: `i` is past the last one */
const char *whole_name(enum wholeness whole); /* its name in the API: none, node, host */

#endif
