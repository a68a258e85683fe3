/* who.h - authentication and authorization of clients. */
#ifndef SERVER_WHO_H
#define SERVER_WHO_H

#include <stdbool.h>
#include <sys/types.h>

#include "rules/role.h"
#include "server/base/asker.h"
#include "server/base/users.h"

struct http_request;
struct server;
struct spec;

/* Returns the user lookup needed before who_asks(): LOOKUP_PENDING or LOOKUP_FAILED with its
 * key; otherwise nothing is needed. */
enum lookup who_awaits(struct server *s, struct http_request *r, struct user_key *ret, struct err *err);
/* Identifies the client: by the kernel on the local socket, by the token over TLS.
 * CODE_FORBIDDEN: the account has no name; other errors as for token_check(). */
int who_asks(struct server *s, struct http_request *r, struct asker *ret, struct err *err);
/* Identifies a site that asks in its own name; `ret` has no user. CODE_FORBIDDEN: the request is
 * a user's. */
int who_site(struct server *s, struct http_request *r, struct asker *ret, struct err *err);
/* Identifies a TLS client by the request's head alone, without counting failures. Leaves
 * *ret_uid unchanged if another site sent it. */
bool who_known(void *server, const struct http_request *r, uid_t *ret_uid);
/* Computes the role again, after a change of attributes. */
void who_renew(const struct server *s, struct asker *w);

/* Returns true if the table of roles (rules/role.h) allows the act on a job. */
bool asker_may(const struct server *s, const struct asker *w, enum act act, const struct spec *p);
/* Does the same check. CODE_FORBIDDEN: "WHAT needs an operator, ...". */
int may_check(const struct server *s, const struct asker *w, enum act act, const struct spec *p, const char *what,
	      struct err *err);
/* Does the same check for a named job: "Job 12 is not yours: this needs ..." */
int may_do(const struct server *s, const struct asker *w, enum act act, const struct spec *p, const char *id,
	   struct err *err);
/* Checks that the client may change an attribute of the server, of a queue or of an object. */
int may_set(const struct server *s, const struct asker *w, enum attr_owner owner, const char *name, const char *attr,
	    struct err *err);
bool may_see(const struct server *s, const struct asker *w, const struct spec *p);
/* Returns true if the client may see jobs of all users. */
bool may_see_all(const struct server *s, const struct asker *w);

#endif
