/*
 * who.c - who asks, and what they may. The kernel says who it is; the server's attributes say what role that is.
 */
#include <stdio.h>
#include <string.h>

#include "server/server_internal.h"

int who_asks(struct server *s, struct http_request *r, struct asker *ret, struct err *err)
{
	struct peer peer = request_peer(r);
	const struct account *a = account_of(s, peer.uid);

	*ret = (struct asker){.uid = peer.uid, .gid = peer.gid};
	if (!a)
		return err_set(err, -ENOENT, "The user id %u has no account on this machine.", (unsigned)peer.uid);
	snprintf(ret->user, sizeof ret->user, "%s", a->name);
	if (peer.uid == 0 || peer.uid == s->uid || attrs_list_has(&s->attrs, "managers", ret->user, s->host))
		ret->role = ROLE_MANAGER;
	else if (attrs_list_has(&s->attrs, "operators", ret->user, s->host))
		ret->role = ROLE_OPERATOR;
	return 0;
}

bool may_see(const struct server *s, const struct asker *w, const struct spec *p)
{
	if (w->role >= ROLE_OPERATOR || w->uid == p->uid)
		return true;
	return attrs_is_set(&s->attrs, "query_other_jobs") ? attrs_bool(&s->attrs, "query_other_jobs") : !s->multi;
}

bool may_change(const struct asker *w, const struct spec *p)
{
	return w->role >= ROLE_OPERATOR || w->uid == p->uid;
}
