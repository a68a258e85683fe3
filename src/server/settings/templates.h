/*
 * templates.h - templates of jobs: submissions that are kept under a name, for the user who saved
 * them or for the whole site.
 */
#ifndef SERVER_TEMPLATES_H
#define SERVER_TEMPLATES_H

#include <jansson.h>

#include "base/vec.h"

struct err;
struct server;

#define TEMPLATE_MAX 65536    /* bytes */
#define TEMPLATES_OF_ONE 50   /* maximum templates of one user */
#define TEMPLATES_OF_ALL 1000 /* maximum templates of all users */
#define TEMPLATES_OF_SITE 200 /* maximum templates of the site; those of users don't count */

struct template
{
	char *name;
	char *user;	   /* whose it is; NULL: the site's */
	char *by;	   /* user who saved it */
	char *job;	   /* the submission, as JSON */
	char *description; /* the job's comment; may be NULL */
};

struct templates {
	VEC(struct template) list; /* by name, the site's before those of users */
};

/* Schemas of a template in lists and by itself, with its job. */
extern const struct schema template_shown, template_whole;

/* Returns the user's template of that name; `user` NULL: the site's. NULL: there is none. */
struct template *template_find(const struct server *s, const char *user, const char *name);
/* Adds a template, or replaces it, also in the store. Error code BAD_STATE: there are too many. */
int template_put(struct server *s, const struct template *given, struct err *err);
void template_drop(struct server *s, struct template *t);
/* Restores a template, at recovery. */
int template_restore(struct server *s, const char *key, const json_t *o, struct err *err);

#endif
