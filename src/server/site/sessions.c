/*
 * sessions.c - see sessions.h.
 *
 * Sessions are few, so lists are searched linearly. Errors never reveal what is wrong with a
 * secret.
 */
#include "server/site/sessions.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/http.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/users.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "store/store.h"
#include "tls/pki.h"

#define OFFERS_MAX 64
/* failures per minute after which the answer is "too many"; a correct secret is still accepted */
#define FAILURES_MAX 30

struct session {
	uint64_t number;	       /* the 7 of "w7" */
	char cookie[FINGERPRINT_SIZE]; /* hashes */
	char token[FINGERPRINT_SIZE];
	uid_t uid;
	char user[64];	/* name at the time: the uid may be reassigned */
	char proof[32]; /* login token used to sign in, or "" */
	int64_t expires;
};

struct offer {
	char key[FINGERPRINT_SIZE]; /* hash of the link's secret */
	uid_t uid;
	char user[64];
	char proof[32]; /* login token used to request the link, or "" */
	int64_t expires;
};

struct sessions {
	VEC(struct session) list; /* by number */
	VEC(struct offer) offers; /* by age */
	uint64_t next;
	int64_t since; /* start of the minute in which failures are counted */
	int failures;
};

static struct sessions *sessions_of(struct server *s)
{
	if (!s->realm->sessions)
		s->realm->sessions = mem_zalloc(sizeof *s->realm->sessions);
	return s->realm->sessions;
}

static void session_id(uint64_t number, char ret[32])
{
	snprintf(ret, 32, "w%llu", (unsigned long long)number);
}

void session_cookie_name(const struct server *s, char ret[32])
{
	/* browsers accept __Host- cookies only over TLS and only from this host */
	if (s->realm->page)
		snprintf(ret, 32, "__Host-shunt");
	else
		snprintf(ret, 32, "shunt-%d", s->realm->page_port);
}

/* ---- the store ---- */

#define CHARS(member) MEMBER_CHARS(struct session, member)

static const struct field session_rows[] = {
	{"cookie", .is = IS_TEXT, .in = ALWAYS, CHARS(cookie)},
	{"token", .is = IS_TEXT, .in = ALWAYS, CHARS(token)},
	{"uid", .is = IS_INT, .in = ALWAYS, MEMBER(struct session, uid)},
	{"user", .is = IS_TEXT, .in = ALWAYS, CHARS(user)},
	{"proof", .is = IS_TEXT, CHARS(proof)},
	{"expires", .is = IS_INT, .in = ALWAYS, MEMBER(struct session, expires)},
	{0},
};

static void session_store(struct server *s, const struct session *x)
{
	char id[32];

	session_id(x->number, id);
	record_put(s, "session", id, session_rows, 0, x);
}

static void session_drop(struct server *s, size_t i)
{
	char id[32];

	session_id(sessions_of(s)->list.v[i].number, id);
	store_drop_object(s->store, "session", id);
	vec_remove(&sessions_of(s)->list, i);
}

int session_restore(struct server *s, const char *id, const json_t *o, struct err *err)
{
	struct sessions *all = sessions_of(s);
	struct session x = {0};
	unsigned long long number;
	int rc = record_load(session_rows, 0, o, &x, NULL, err);

	if (rc < 0)
		return rc;
	if (sscanf(id, "w%llu", &number) != 1)
		return err_set(err, -EINVAL, "its name must be w and a number");
	x.number = number;
	if (x.number >= all->next)
		all->next = x.number + 1;
	vec_push(&all->list, x);
	return 0;
}

/* ---- signing in ---- */

void session_offer(struct server *s, const struct asker *w, char ret_key[SESSION_SECRET])
{
	struct sessions *all = sessions_of(s);
	struct offer x = {.uid = w->uid, .expires = s->clock->now + LINK_LIFE};

	snprintf(x.user, sizeof x.user, "%s", w->user);
	if (w->by == BY_TOKEN)
		snprintf(x.proof, sizeof x.proof, "%.31s", w->token);
	secret_random(ret_key);
	secret_hash(ret_key, x.key);
	if (all->offers.n == OFFERS_MAX)
		vec_remove(&all->offers, 0);
	vec_push(&all->offers, x);
}

static int session_failed(struct server *s, struct err *err)
{
	struct sessions *all = sessions_of(s);

	if (s->clock->now - all->since >= 60) {
		all->since = s->clock->now;
		all->failures = 0;
	}
	if (++all->failures > FAILURES_MAX)
		return err_code(err, CODE_TOO_MANY, "Too many failed attempts to sign in: wait a minute.");
	return err_code(err, CODE_UNAUTHORIZED,
			"This link was used already or has expired: run 'shunt page' for a new one.");
}

/* Finds and removes the offer with this secret. Compares with all offers in any case, for
 * constant time. */
static bool offer_take(struct server *s, const char *key, struct offer *ret)
{
	struct sessions *all = sessions_of(s);
	char hash[FINGERPRINT_SIZE];
	bool found = false;

	secret_hash(key, hash);
	for (size_t i = all->offers.n; i-- > 0;) {
		bool right = secret_equal(hash, all->offers.v[i].key);
		if (right && all->offers.v[i].expires > s->clock->now) {
			*ret = all->offers.v[i];
			found = true;
		}
		if (right || all->offers.v[i].expires <= s->clock->now)
			vec_remove(&all->offers, i);
	}
	return found;
}

static void session_make_room(struct server *s, uid_t uid)
{
	struct sessions *all = sessions_of(s);
	size_t first = 0;
	int own = 0;

	for (size_t i = all->list.n; i-- > 0;) {
		if (all->list.v[i].expires <= s->clock->now) {
			session_drop(s, i);
			first -= first > i;
		} else if (all->list.v[i].uid == uid) {
			first = i;
			own++;
		}
	}
	if (own >= SESSIONS_PER_USER)
		session_drop(s, first);
}

void session_grant(struct server *s, const struct session_grant *g, char ret_cookie[SESSION_SECRET],
		   char ret_token[SESSION_SECRET])
{
	struct sessions *all = sessions_of(s);
	struct session x = {.uid = g->uid, .expires = s->clock->now + SESSION_LIFE};

	session_make_room(s, g->uid);
	snprintf(x.user, sizeof x.user, "%s", g->user);
	snprintf(x.proof, sizeof x.proof, "%s", g->proof ? g->proof : "");
	x.number = all->next ? all->next : 1;
	all->next = x.number + 1;
	secret_random(ret_cookie);
	secret_random(ret_token);
	secret_hash(ret_cookie, x.cookie);
	secret_hash(ret_token, x.token);
	vec_push(&all->list, x);
	session_store(s, &x);
}

int session_begin(struct server *s, const char *key, char ret_cookie[SESSION_SECRET], char ret_token[SESSION_SECRET],
		  struct err *err)
{
	struct offer o;

	if (!offer_take(s, key, &o))
		return session_failed(s, err);
	session_grant(s, &(struct session_grant){.uid = o.uid, .user = o.user, .proof = *o.proof ? o.proof : NULL},
		      ret_cookie, ret_token);
	return 0;
}

/* ---- being signed in ---- */

/* Finds the value of our cookie in a header; "": not present. */
static void cookie_find(const struct server *s, const char *header, char ret[SESSION_SECRET])
{
	char name[32];
	size_t n;

	session_cookie_name(s, name);
	n = strlen(name);
	ret[0] = '\0';
	for (const char *p = header ? header : ""; *p;) {
		size_t length;
		p += strspn(p, "; ");
		length = strcspn(p, ";");
		if (length > n && strncmp(p, name, n) == 0 && p[n] == '=' && length - n - 1 < SESSION_SECRET) {
			memcpy(ret, p + n + 1, length - n - 1);
			ret[length - n - 1] = '\0';
			return;
		}
		p += length;
	}
}

static bool session_counts(struct server *s, const struct session *x)
{
	const struct token_record *t = *x->proof ? token_find(s, x->proof) : NULL;

	return x->expires > s->clock->now && (!*x->proof || (t && t->expires > s->clock->now));
}

static struct session *session_shown(struct server *s, const struct http_request *r)
{
	const char *token = request_header(r, SESSION_HEADER);
	char cookie[SESSION_SECRET], cookie_hash[FINGERPRINT_SIZE], token_hash[FINGERPRINT_SIZE];
	struct sessions *all = sessions_of(s);
	struct session *found = NULL;

	cookie_find(s, request_header(r, "Cookie"), cookie);
	if (!*cookie || !token || strlen(token) >= SESSION_SECRET)
		return NULL;
	secret_hash(cookie, cookie_hash);
	secret_hash(token, token_hash);
	for (size_t i = 0; i < all->list.n; i++) {
		bool right = secret_equal(cookie_hash, all->list.v[i].cookie);
		right &= secret_equal(token_hash, all->list.v[i].token);
		if (right && session_counts(s, &all->list.v[i]))
			found = &all->list.v[i];
	}
	return found;
}

bool session_whose(struct server *s, const struct http_request *r, uid_t *ret_uid)
{
	const struct session *x = session_shown(s, r);

	if (x)
		*ret_uid = x->uid;
	return x;
}

int session_check(struct server *s, const struct http_request *r, struct asker *ret, struct err *err)
{
	const struct session *x = session_shown(s, r);
	const struct user *u = x ? user_known(s, x->uid) : NULL;

	if (!u || strcmp(u->name, x->user) != 0)
		return err_code(err, CODE_UNAUTHORIZED, "Not signed in%s",
				s->realm->page ? "." : ": run 'shunt page' for a link that signs you in.");
	*ret = (struct asker){.uid = x->uid, .gid = u->gid, .by = BY_PAGE};
	snprintf(ret->user, sizeof ret->user, "%s", u->name);
	snprintf(ret->address, sizeof ret->address, "%.63s", request_remote(r));
	session_id(x->number, ret->token);
	return 0;
}

bool session_holds(struct server *s, const char *id)
{
	struct sessions *all = sessions_of(s);
	char own[32];

	for (size_t i = 0; i < all->list.n; i++) {
		session_id(all->list.v[i].number, own);
		if (strcmp(own, id) == 0)
			return session_counts(s, &all->list.v[i]);
	}
	return false;
}

void session_end(struct server *s, const struct asker *w)
{
	struct sessions *all = sessions_of(s);
	char own[32];

	for (size_t i = all->list.n; i-- > 0;) {
		session_id(all->list.v[i].number, own);
		if (strcmp(own, w->token) == 0)
			session_drop(s, i);
	}
}
