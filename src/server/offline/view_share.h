/*
 * view_share.h - sends the queue as a file (view.h) to agents, for users on other hosts.
 *
 * It goes to the agents of nodes from whose address a login token was used since this server began
 * to lead. For a token used from a machine without an agent, it goes to agents of some other nodes
 * (client/far.h). Where users may see each other's jobs, a host gets all of it; otherwise only what
 * belongs to the users of those tokens.
 */
#ifndef SERVER_VIEW_SHARE_H
#define SERVER_VIEW_SHARE_H

#include <sys/types.h>

struct json;
struct server;
struct strbuf;
struct token_record;

/* Sends the view. `all`: the whole, if everybody may see it; otherwise NULL, and `page` returns the
 * part a user may see. */
void view_share(struct server *s, const struct strbuf *all, const struct strbuf *(*page)(void *context, uid_t uid),
		void *context);

/* Lists the addresses of the agents that keep changes for the user of this login token. */
void view_spools(struct server *s, const struct token_record *t, struct json *j, const char *key);

#endif
