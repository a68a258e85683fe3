/*
 * remotes.h - other Shunt servers ("sites") that this one hands jobs over to, and the meaning of
 * "QUEUE@SERVER". docs/sites.md has the protocol.
 *
 * A queue of another site is a name with '@' in it: a job in "long@east" waits there, blocked,
 * until the site has it. No struct queue has such a name.
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
	char *name;    /* name that users write after '@' */
	char *servers; /* "HOST[:PORT]", several joined by blanks */
	char *token;   /* this server's token at that site; a secret */
};

/* A site in answers. */
struct remote_shown {
	struct remote remote;
	int64_t jobs; /* jobs of this server that are there or on their way */
};
/* Schemas of a site in answers, in the body that adds it, and for the courier. */
extern const struct schema remote_shown, remote_given, remote_work;

struct remotes {
	VEC(struct remote) list; /* by name */
};

/* Finds a site; NULL: not known. */
const struct remote *remote_find(const struct server *s, const char *name);
/* Adds a site, or replaces its servers and token, also in the store. */
void remote_put(struct server *s, const char *name, const char *servers, const char *token);
void remote_drop(struct server *s, const char *name);
/* Restores a site, at recovery. */
int remote_restore(struct server *s, const char *name, const json_t *o, struct err *err);

/* Returns true if `name` means this server: its name, its host's, or localhost. */
bool server_is_here(const struct server *s, const char *name);
/* Resolves "QUEUE[@[SERVER]]" to "QUEUE" (perhaps "") of this server, or to "QUEUE@SITE".
 * CODE_UNKNOWN_QUEUE: SERVER is neither this server nor a site. The result may be in `a`. */
int queue_resolve(const struct server *s, const char *text, struct arena *a, const char **ret, struct err *err);

static inline bool queue_is_remote(const char *name)
{
	return strchr(name, '@');
}
/* Returns the site of a remote queue; NULL: it has been removed. */
const struct remote *queue_site(const struct server *s, const char *name);

#endif
