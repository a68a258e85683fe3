/*
 * remotes.h - other Shunt servers ("sites") that this one hands jobs over to, and what "QUEUE@SERVER" means. docs/sites.md has the protocol.
 *
 * A queue of another site is a name with '@' in it: a job in "long@east" waits there, blocked, until the site has it. No struct queue has such a name.
 */
#ifndef SERVER_REMOTES_H
#define SERVER_REMOTES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

struct arena;
struct err;
struct server;

struct remote {
	char *name;    /* as users write it after '@' */
	char *servers; /* "HOST[:PORT]", several joined by blanks */
	char *token;   /* by which that site knows this one; a secret */
};

/* A site in answers. */
struct remote_shown {
	struct remote remote;
	int64_t jobs; /* jobs of this server that are there or on their way */
};
/* A site in answers, in the body that adds it, and for the courier. */
extern const struct schema remote_shown, remote_given, remote_work;

struct remotes {
	VEC(struct remote) list; /* by name */
};

const struct remote *remote_find(const struct server *s, const char *name); /* NULL: not known */
/* Adds it, or gives it other servers and another token; in the store, too. */
void remote_put(struct server *s, const char *name, const char *servers, const char *token);
void remote_drop(struct server *s, const char *name);
int remote_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */

/* Whether this server is meant: its name, its host's, or localhost. */
bool server_is_here(const struct server *s, const char *name);
/* "QUEUE[@SERVER]": "QUEUE" (perhaps "") of this server, or "QUEUE@SITE". CODE_UNKNOWN_QUEUE: SERVER is neither this server nor a site. `a` may be what
 * the result is in. */
int queue_resolve(const struct server *s, const char *text, struct arena *a, const char **ret, struct err *err);

static inline bool queue_is_remote(const char *name)
{
	return strchr(name, '@');
}
/* The site of a queue for which that is true; NULL: it has been removed. */
const struct remote *queue_site(const struct server *s, const char *name);

#endif
