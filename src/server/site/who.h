/*
 * who.h - who asks, and what they may do.
 */
#ifndef SERVER_WHO_H
#define SERVER_WHO_H

#include <stdbool.h>
#include <sys/types.h>

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
bool who_known(void *server,
	       const struct http_request *r); /* over TLS: by the head alone, and without counting failures */
bool may_see(const struct server *s, const struct asker *w, const struct spec *p);
bool may_see_all(const struct server *s, const struct asker *w);   /* jobs of all users */
bool may_see_private(const struct asker *w, const struct spec *p); /* its script and its environment */
bool may_change(const struct asker *w, const struct spec *p);

#endif
