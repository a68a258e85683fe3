/*
 * page_session.c - signing in to the page, by a link, a token or a password, and signing out.
 *
 * A link signs in once. Its secret follows the #, which browsers do not send, so that it gets into
 * no log and no Referer. Passwords are checked by PAM in a separate process (site/signin.h). The
 * answer never shows what is wrong with a proof.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "net/address.h"
#include "net/http.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/page/page.h"
#include "server/base/asker.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/sessions.h"
#include "server/site/signin.h"
#include "server/site/tokens.h"

/* Refuses root and the server's own account, which can't sign in from another machine. */
static int user_check(struct server *s, uid_t uid, const char *user, struct err *err)
{
	if (token_user_check(s, uid, user, NULL) == 0)
		return 0;
	return err_code(err, CODE_FORBIDDEN, "%.60s can't use the page: it is for users.", user);
}

struct page_link {
	const char *url;
};
const struct schema page_link_answer = {FIELDS(
	{"url", .is = REQUIRED | IS_TEXT, "signs in once, within ten minutes",
	 .example = "http://127.0.0.1:40123/#key=0123456789abcdef0123456789abcdef", MEMBER(struct page_link, url)})};
struct proof {
	const char *key, *token, *user, *password;
};
const struct schema session_body = {
	FIELDS({"key", .is = IS_TEXT, "of a link", .most = 63, MEMBER(struct proof, key)},
	       {"token", .is = IS_TEXT, "a login token, over TLS", .most = TOKEN_SIZE - 1, MEMBER(struct proof, token)},
	       {"user", .is = IS_TEXT, "with `password`, over TLS", .most = 63, MEMBER(struct proof, user)},
	       {"password", .is = IS_TEXT, "of the account on the server's machine", .most = 511,
		MEMBER(struct proof, password)})};
struct begun {
	const char *token;
};
const struct schema session_answer = {
	FIELDS({"token", .is = REQUIRED | IS_TEXT, "to be sent with every request, as " SESSION_HEADER,
		MEMBER(struct begun, token)})};
struct ways {
	const char *name;
	bool link, token, password;
};
const struct schema session_ways_answer = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT, "of the server", MEMBER(struct ways, name)},
	       {"link", .is = REQUIRED | IS_BOOL, "by a link of 'shunt page'", MEMBER(struct ways, link)},
	       {"token", .is = REQUIRED | IS_BOOL, MEMBER(struct ways, token)},
	       {"password", .is = REQUIRED | IS_BOOL, MEMBER(struct ways, password)})};

static const char *link_missing(const struct server *s)
{
	if (npage_files == 0)
		return "This build of Shunt has no page: npm was missing, or could not fetch packages, when it was built.";
	if (s->instance->multi && !*s->conf->page_listen)
		return "This server shows no page: set listen, certificate and key in section [page] of its configuration.";
	return "The page's port could not be opened: the server's log says why.";
}

/* ---- links ---- */

void api_page_link(struct server *s, const struct call *c)
{
	char key[SESSION_SECRET], url[400];
	size_t n;
	struct err err;

	/* A login token can sign in to a page over TLS anyway. A session can't prolong itself. */
	if (c->w->by != BY_SOCKET && !(c->w->by == BY_TOKEN && s->realm->page)) {
		http_error(c->r, CODE_FORBIDDEN, "Links to this page are made on the server's machine (%s) only.",
			   s->instance->host);
		return;
	}
	if (!s->realm->page_port) {
		http_error(c->r, CODE_BAD_STATE, "%s", link_missing(s));
		return;
	}
	if (s->realm->page && user_check(s, c->w->uid, c->w->user, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	session_offer(s, c->w, key);
	page_url(s, url, sizeof url - sizeof key - 8);
	n = strlen(url);
	snprintf(url + n, sizeof url - n, "#key=%s", key);
	api_show_later(s, c->r, 201, &page_link_answer, &(struct page_link){url});
}

/* ---- signing in ---- */

static void cookie_set(const struct server *s, struct http_request *r, const char *value, int life)
{
	char name[32], text[192];

	session_cookie_name(s, name);
	snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s", name, value, life,
		 s->realm->page ? "; Secure" : "");
	http_header(r, "Set-Cookie", text);
}

static void begun_reply(struct server *s, struct http_request *r, const char *cookie, const char *token)
{
	cookie_set(s, r, cookie, SESSION_LIFE);
	api_show_later(s, r, 201, &session_answer, &(struct begun){token});
}

static void grant_reply(struct server *s, struct http_request *r, const struct session_grant *g)
{
	char cookie[SESSION_SECRET], token[SESSION_SECRET];
	struct err err;

	if (user_check(s, g->uid, g->user, &err) < 0) {
		api_refuse(r, &err);
		return;
	}
	session_grant(s, g, cookie, token);
	server_log(s, SEVERITY_NOTICE, "%s signed in to the page from %s with a %s", g->user, request_remote(r),
		   g->proof ? "token" : "password");
	begun_reply(s, r, cookie, token);
}

void api_session_ways(struct server *s, const struct call *c)
{
	struct ways x = {.name = s->instance->name,
			 .link = true,
			 .token = s->realm->page,
			 .password = s->realm->page && signin_works(s)};

	api_show(s, c->r, &session_ways_answer, &x);
}

static void by_key(struct server *s, const struct call *c, const char *key)
{
	char cookie[SESSION_SECRET], token[SESSION_SECRET];
	struct err err;

	if (session_begin(s, key, cookie, token, &err) < 0)
		api_refuse(c->r, &err);
	else
		begun_reply(s, c->r, cookie, token);
}

/* Signs in by a token. A job's own token is not accepted, since everything that the job runs has
 * it. */
static void by_token(struct server *s, const struct call *c, const char *text)
{
	struct token shown;
	const struct token_record *t;
	struct err err;
	uid_t uid;
	gid_t gid;

	if (token_parse(text, &shown, NULL) < 0 || shown.id[0] != 'u' || !token_whose(s, text, &uid, &gid) ||
	    !(t = token_find(s, shown.id)) || !t->user) {
		token_failed(s, request_remote(c->r), &err);
		api_refuse(c->r, &err);
		return;
	}
	grant_reply(s, c->r, &(struct session_grant){.uid = uid, .user = t->user, .proof = shown.id});
}

/* ---- passwords ---- */

/* Returns the key for counting guesses at a user's name. It ignores case, since directories may do
 * so. Guesses are also counted by address. */
static uint64_t name_key(const char *user)
{
	char lower[64];
	size_t n = 0;

	for (; user[n] && n < sizeof lower; n++)
		lower[n] = (char)tolower((unsigned char)user[n]);
	return hash_bytes(lower, n) ^ 0x7061;
}

/* Handles PAM's verdict. Every question that PAM got and did not answer with success counts as a
 * guess, since modules refuse wrong passwords with all kinds of codes. */
static void on_checked(struct server *s, struct http_request *r, const char *user, const struct signin_answer *a)
{
	bool is_right = a->verdict == SIGNIN_RIGHT || a->verdict == SIGNIN_EXPIRED;
	enum signin_verdict verdict = a->verdict;
	struct err err;

	if (is_right && user_check(s, a->uid, a->user, &err) < 0)
		verdict = SIGNIN_WRONG; /* hide that a guess at root's password was right */
	if (verdict != SIGNIN_RIGHT && verdict != SIGNIN_UNASKED) {
		failures_add(s, name_key(user));
		failures_add(s, address_key(request_remote(r)));
	}
	switch (verdict) {
	case SIGNIN_RIGHT:
		grant_reply(s, r, &(struct session_grant){.uid = a->uid, .user = a->user});
		break;
	case SIGNIN_WRONG:
		server_log(s, SEVERITY_WARNING, "wrong password for the page from %s", request_remote(r));
		http_error(r, CODE_UNAUTHORIZED, "The name or the password is wrong.");
		break;
	case SIGNIN_EXPIRED:
		http_error(r, CODE_UNAUTHORIZED,
			   "This password has expired: log in to the cluster in the usual way to change it.");
		break;
	default:
		server_log(s, SEVERITY_ERROR, "a password for the page could not be checked: %s",
			   *a->why ? a->why : "?");
		http_error(r, CODE_UNAVAILABLE, "Passwords can't be checked now: sign in by a token.");
	}
}

static void by_password(struct server *s, const struct call *c, const char *user, const char *password)
{
	struct err err;

	if (failures_many(s, address_key(request_remote(c->r))) || failures_many(s, name_key(user)))
		http_error(c->r, CODE_TOO_MANY, "Too many attempts to sign in failed: wait a minute.");
	else if (signin_ask(s, c->r, user, password, on_checked, &err) < 0)
		api_refuse(c->r, &err);
}

/* Begins a new session and ignores any that the browser presents: nobody can make others use a
 * session that they know (session fixation). */
void api_session_begin(struct server *s, const struct call *c)
{
	struct proof x;

	call_read(c, &x);
	if (x.key)
		by_key(s, c, x.key);
	else if (x.token && s->realm->page)
		by_token(s, c, x.token);
	else if (x.user && x.password && s->realm->page)
		by_password(s, c, x.user, x.password);
	else
		http_error(c->r, CODE_BAD_REQUEST, "Signing in needs key%s.",
			   s->realm->page ? ", token, or user and password" : "");
}

/* ---- signing out ---- */

void api_session_end(struct server *s, const struct call *c)
{
	if (c->w->by == BY_PAGE) {
		session_end(s, c->w);
		cookie_set(s, c->r, "", 0);
	}
	reply_empty(s, c->r, 200);
}
