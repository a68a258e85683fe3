/*
 * view_share.h - the queue as a file (view.h), for users of other hosts: it goes to the agents of those nodes from whose address a login token was used since this server began to
 * lead, and of one that was used from a machine without an agent, to those of some other nodes (client/far.h); all of it where users may see each other's jobs, else to each host what belongs
 * to the users of those tokens.
 */
#ifndef SERVER_VIEW_SHARE_H
#define SERVER_VIEW_SHARE_H

#include <sys/types.h>

struct json;
struct server;
struct strbuf;
struct token_record;

/* `all`: the whole, if everybody may see it; else NULL, and `page` gives what a user may see. */
void view_share(struct server *s, const struct strbuf *all, const struct strbuf *(*page)(void *context, uid_t uid),
		void *context);

/* The addresses of the agents that keep changes for who has this login token, as a list. */
void view_spools(struct server *s, const struct token_record *t, struct json *j, const char *key);

#endif
