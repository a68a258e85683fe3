/*
 * who.c - authentication and authorization of clients.
 *
 * The kernel identifies clients of the local socket, a token those over TLS, a session those of the
 * page; the server's attributes determine the role.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/names.h"
#include "net/http.h"
#include "rules/attr.h"
#include "rules/role.h"
#include "server/base/instance.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/site/coordinators.h"
#include "server/site/sessions.h"
#include "server/site/tokens.h"
#include "server/site/who.h"

/* Returns the token of "Bearer TOKEN", or NULL. */
static const char *bearer(const struct http_request *r)
{
	const char *text = request_header(r, "Authorization");

	if (!text || strncasecmp(text, "Bearer ", 7) != 0)
		return NULL;
	return text + 7 + strspn(text + 7, " ");
}

/* Returns the client's host in the form that lists of users have. */
static const char *host_of(const struct server *s, const struct asker *w)
{
	bool here = w->by == BY_SOCKET || (w->by == BY_PAGE && !s->instance->multi);

	return here ? s->instance->host : w->address;
}

/* Header with the user that a site asks for. */
#define SITE_USER "Shunt-User"

/* Returns the client's role. A job's own token never gives its owner more than the role of a
 * user, since everything the job runs has it. The same holds for another site's request. */
static enum role role_of(const struct server *s, const struct asker *w)
{
	const char *host = host_of(s, w);

	if (w->by == BY_JOB || w->by == BY_SITE)
		return ROLE_USER;
	if (w->uid == 0 || w->uid == s->instance->uid || attrs_list_has(s->attrs, SET_MANAGERS, w->user, host))
		return ROLE_MANAGER;
	return attrs_list_has(s->attrs, SET_OPERATORS, w->user, host) ? ROLE_OPERATOR : ROLE_USER;
}

int who_asks(struct server *s, struct http_request *r, struct asker *ret, struct err *err)
{
	const char *remote = request_remote(r);

	if (request_page(r)) {
		int rc = session_check(s, r, ret, err);
		if (rc < 0)
			return rc;
	} else if (remote) {
		int rc = token_site(s, bearer(r))
				 ? token_check_site(s, bearer(r), request_header(r, SITE_USER), remote, ret, err)
				 : token_check(s, bearer(r), remote, ret, err);
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
	if (ret->by != BY_JOB && ret->by != BY_SITE)
		ret->party = coordinators_party(s, ret->user, host_of(s, ret));
	return 0;
}

int who_site(struct server *s, struct http_request *r, struct asker *ret, struct err *err)
{
	if (request_page(r) || !request_remote(r) || !token_site(s, bearer(r))) {
		int rc = who_asks(s, r, ret, err);
		return rc < 0 ? rc : err_code(err, CODE_FORBIDDEN, "Only another site may ask for this.");
	}
	*ret = (struct asker){.uid = (uid_t)-1, .gid = (gid_t)-1, .by = BY_SITE};
	return 0;
}

void who_renew(const struct server *s, struct asker *w)
{
	w->role = role_of(s, w);
}

enum lookup who_awaits(struct server *s, struct http_request *r, struct user_key *ret, struct err *err)
{
	struct peer peer = request_peer(r);
	const struct user *u = NULL;
	enum lookup l;

	if (request_page(r)) {
		if (!session_whose(s, r, &peer.uid))
			return LOOKUP_NONE; /* who_asks() refuses it */
		*ret = (struct user_key){USER_BY_ID, peer.uid, NULL};
		return users_find(s, *ret, &u, err);
	}
	if (request_remote(r) && token_site(s, bearer(r))) {
		const char *name = request_header(r, SITE_USER);
		*ret = (struct user_key){USER_BY_NAME, 0, name};
		if (!name || (l = users_find(s, *ret, &u, err)) != LOOKUP_KNOWN)
			return name ? l : LOOKUP_NONE;
		/* the key used by other lookups */
		*ret = (struct user_key){USER_BY_ID, u->uid, NULL};
		return users_find(s, *ret, &u, err);
	}
	if (request_remote(r) && !token_whose(s, bearer(r), &peer.uid, &peer.gid))
		return LOOKUP_NONE; /* who_asks() refuses it */
	*ret = (struct user_key){USER_BY_ID, peer.uid, NULL};
	l = users_find(s, *ret, &u, err);
	if (l != LOOKUP_KNOWN || peer.gid == (gid_t)-1 || user_in(u, peer.gid))
		return l;
	*ret = (struct user_key){GROUP_BY_ID, peer.gid, NULL};
	return users_find(s, *ret, &u, err);
}

bool who_known(void *server, const struct http_request *r, uid_t *ret_uid)
{
	gid_t gid;

	if (request_page(r))
		return session_whose(server, r, ret_uid);
	return token_site(server, bearer(r)) || token_whose(server, bearer(r), ret_uid, &gid);
}

/* Collects what the table of roles needs about a job. Must be cheap: lists call it for every
 * job. */
static struct role_case case_of(const struct server *s, const struct asker *w, const struct spec *p)
{
	return (struct role_case){.role = w->role,
				  .owns = w->uid == p->uid,
				  .queue = p->queue ? word_text(s, p->queue) : NULL,
				  .account = p->account ? word_text(s, p->account) : NULL,
				  .of_queue = coordinates_queue(s, w->party, p->queue),
				  .of_account = coordinates_account(s, w->party, p->account)};
}

bool asker_may(const struct server *s, const struct asker *w, enum act act, const struct spec *p)
{
	struct role_case c = case_of(s, w, p);

	return role_may(&c, act);
}

int may_check(const struct server *s, const struct asker *w, enum act act, const struct spec *p, const char *what,
	      struct err *err)
{
	struct role_case c = case_of(s, w, p);

	return role_check(&c, act, what, err);
}

int may_do(const struct server *s, const struct asker *w, enum act act, const struct spec *p, const char *id,
	   struct err *err)
{
	char what[256];

	snprintf(what, sizeof what, role_owner_may(act) ? "Job %.100s is not yours: this" : "For job %.100s this", id);
	return may_check(s, w, act, p, what, err);
}

int may_set(const struct server *s, const struct asker *w, enum attr_owner owner, const char *name, const char *attr,
	    struct err *err)
{
	uint32_t known = 0;
	bool is = names_find(s->words, name, &known);
	struct role_case c = {.role = w->role};
	char what[128];

	if (owner == ATTR_QUEUE) {
		c.queue = name;
		c.of_queue = is && coordinates_queue(s, w->party, known);
	} else if (owner == ATTR_ACCOUNT) {
		c.account = name;
		c.of_account = is && coordinates_account(s, w->party, known);
	}
	snprintf(what, sizeof what, "Changing %.60s", attr);
	return role_check(&c, role_act_of(owner, attr), what, err);
}

bool may_see(const struct server *s, const struct asker *w, const struct spec *p)
{
	return w->role >= ROLE_OPERATOR || asker_may(s, w, ACT_SEE, p) ||
	       may_see_all(s, w); /* last, since lists call this for every job */
}

bool may_see_all(const struct server *s, const struct asker *w)
{
	if (w->role >= ROLE_OPERATOR)
		return true;
	return attrs_is_set(s->attrs, SET_QUERY_OTHER_JOBS) ? attrs_bool(s->attrs, SET_QUERY_OTHER_JOBS)
							    : !s->instance->multi;
}
