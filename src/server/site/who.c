/*
 * who.c - who asks, and what they may. By the local socket the kernel says who it is, over TLS a token; the server's attributes say what
 * role that is.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "net/http.h"
#include "rules/attr.h"
#include "server/base/instance.h"
#include "server/base/users.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/site/tokens.h"
#include "server/site/who.h"

/* "Bearer TOKEN". NULL: there is none. */
static const char *bearer(const struct http_request *r)
{
	const char *text = request_header(r, "Authorization");

	if (!text || strncasecmp(text, "Bearer ", 7) != 0)
		return NULL;
	return text + 7 + strspn(text + 7, " ");
}

/* A job's own token never makes its owner more than a user: everything that the job runs has it. */
static enum role role_of(const struct server *s, const struct asker *w)
{
	const char *host = w->by == BY_SOCKET ? s->instance->host : w->address;

	if (w->by == BY_JOB)
		return ROLE_USER;
	if (w->uid == 0 || w->uid == s->instance->uid || attrs_list_has(s->attrs, "managers", w->user, host))
		return ROLE_MANAGER;
	return attrs_list_has(s->attrs, "operators", w->user, host) ? ROLE_OPERATOR : ROLE_USER;
}

int who_asks(struct server *s, struct http_request *r, struct asker *ret, struct err *err)
{
	const char *remote = request_remote(r);

	if (remote) {
		int rc = token_check(s, bearer(r), remote, ret, err);
		if (rc < 0)
			return rc;
	} else {
		struct peer peer = request_peer(r);
		const struct user *a = user_known(s, peer.uid);
		const char *address, *token = request_token(r, &address);
		*ret = (struct asker){.uid = peer.uid, .gid = peer.gid, .by = token ? BY_TOKEN : BY_SOCKET};
		snprintf(ret->token, sizeof ret->token, "%s", token ? token : "");
		snprintf(ret->address, sizeof ret->address, "%s", token && address ? address : "");
		if (!a)
			return err_code(err, CODE_FORBIDDEN, "The user id %u has no account on this machine.",
					(unsigned)peer.uid);
		snprintf(ret->user, sizeof ret->user, "%s", a->name);
	}
	ret->role = role_of(s, ret);
	return 0;
}

enum lookup who_awaits(struct server *s, struct http_request *r, struct user_key *ret, struct err *err)
{
	struct peer peer = request_peer(r);
	const struct user *u = NULL;
	enum lookup l;

	if (request_remote(r) && !token_whose(s, bearer(r), &peer.uid, &peer.gid))
		return LOOKUP_NONE; /* who_asks() refuses it */
	*ret = (struct user_key){USER_BY_ID, peer.uid, NULL};
	l = users_find(s, *ret, &u, err);
	if (l != LOOKUP_KNOWN || peer.gid == (gid_t)-1 || user_in(u, peer.gid))
		return l;
	*ret = (struct user_key){GROUP_BY_ID, peer.gid, NULL};
	return users_find(s, *ret, &u, err);
}

bool who_known(void *server, const struct http_request *r)
{
	uid_t uid;
	gid_t gid;

	return token_whose(server, bearer(r), &uid, &gid);
}

bool may_see(const struct server *s, const struct asker *w, const struct spec *p)
{
	return w->uid == p->uid || may_see_all(s, w);
}

bool may_see_all(const struct server *s, const struct asker *w)
{
	if (w->role >= ROLE_OPERATOR)
		return true;
	return attrs_is_set(s->attrs, "query_other_jobs") ? attrs_bool(s->attrs, "query_other_jobs")
							  : !s->instance->multi;
}

bool may_see_private(const struct asker *w, const struct spec *p)
{
	return w->uid == p->uid || w->role == ROLE_MANAGER;
}

bool may_change(const struct asker *w, const struct spec *p)
{
	return w->role >= ROLE_OPERATOR || w->uid == p->uid;
}
