/*
 * who.h - who asks, and what they may do.
 */
#ifndef SERVER_WHO_H
#define SERVER_WHO_H

#include <stdbool.h>
#include <sys/types.h>

#include "rules/role.h"
#include "server/base/asker.h"
#include "server/base/users.h"

struct err;
struct http_request;
struct server;
struct spec;

/* What must be looked up before who_asks(): LOOKUP_PENDING or LOOKUP_FAILED with its key; else nothing. */
enum lookup who_awaits(struct server *s, struct http_request *r, struct user_key *ret, struct err *err);
/* By the local socket the kernel says who; over TLS the token. CODE_FORBIDDEN: the account has no name; else as token_check(). */
int who_asks(struct server *s, struct http_request *r, struct asker *ret, struct err *err);
/* The same of a request that another site makes in its own name; `ret` has no user. CODE_FORBIDDEN: it is a user's. */
int who_site(struct server *s, struct http_request *r, struct asker *ret, struct err *err);
/* Over TLS: by the head alone, and without counting failures. *ret_uid stays as it is if another site sends it. */
bool who_known(void *server, const struct http_request *r, uid_t *ret_uid);
void who_renew(const struct server *s, struct asker *w); /* his role, as the attributes are now */

/* Whether the table of roles (rules/role.h) lets him do that to a job. */
bool asker_may(const struct server *s, const struct asker *w, enum act act, const struct spec *p);
/* The same; CODE_FORBIDDEN: "WHAT needs an operator, ...". */
int may_check(const struct server *s, const struct asker *w, enum act act, const struct spec *p, const char *what,
	      struct err *err);
/* The same of a job that was named: "Job 12 is not yours: this needs ..." */
int may_do(const struct server *s, const struct asker *w, enum act act, const struct spec *p, const char *id,
	   struct err *err);
/* Change an attribute of the server, of a queue or of an object. */
int may_set(const struct server *s, const struct asker *w, enum attr_owner owner, const char *name, const char *attr,
	    struct err *err);
bool may_see(const struct server *s, const struct asker *w, const struct spec *p);
bool may_see_all(const struct server *s, const struct asker *w); /* jobs of all users */

#endif
