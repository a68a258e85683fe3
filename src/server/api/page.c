/*
 * page.c - the page of a personal instance: a port of 127.0.0.1, the files, signing in and out.
 *
 * Everybody on this machine can connect to the port, and so can every site that the user's browser has open. So:
 *	- the name in Host must be the loopback's, or another site's name could lead here (DNS rebinding);
 *	- a request of a script must come from the page itself, as the browser says (Origin, Sec-Fetch-Site);
 *	- nothing but the files is given out without both secrets of a session (site/sessions.h);
 *	- a link signs in once. Its secret is behind the #, which browsers do not send: it gets into no log and no Referer.
 */
#include "server/api/page.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "net/address.h"
#include "net/http.h"
#include "server/api/call.h"
#include "server/api/request.h"
#include "server/base/asker.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/sessions.h"

/* ---- the port ---- */

static int port_recall(const char *path)
{
	FILE *f = fopen(path, "re");
	int port = 0;

	if (f && fscanf(f, "%d", &port) != 1)
		port = 0;
	if (f)
		fclose(f);
	return port > 0 && port < 65536 ? port : 0;
}

static void port_remember(const char *path, int port)
{
	FILE *f = fopen(path, "we");

	if (f) {
		fprintf(f, "%d\n", port);
		fclose(f);
	}
}

void page_open(struct server *s)
{
	char path[PATH_MAX], where[32];
	struct err err;
	int fd[2], n = -1, port;

	if (s->instance->multi || npage_files == 0 || s->realm->page_port)
		return;
	snprintf(path, sizeof path, "%s/page.port", s->instance->where.state);
	port = port_recall(path);
	for (int any = port == 0; any < 2 && n < 0; any++) {
		snprintf(where, sizeof where, "127.0.0.1:%d", any ? 0 : port);
		n = sockets_listen(where, fd, &s->realm->page_port, &err);
	}
	if (n < 0) {
		s->realm->page_port = 0;
		server_say(s, "the page has no port: %s", err.text);
		return;
	}
	port_remember(path, s->realm->page_port);
	http_listen_page(s->http, fd[0]);
}

/* ---- what may come in ---- */

/* "127.0.0.1:PORT" or "localhost:PORT". */
static bool host_is_ours(const struct server *s, const char *host)
{
	char own[2][40];

	snprintf(own[0], sizeof own[0], "127.0.0.1:%d", s->realm->page_port);
	snprintf(own[1], sizeof own[1], "localhost:%d", s->realm->page_port);
	return host && (strcmp(host, own[0]) == 0 || strcmp(host, own[1]) == 0);
}

/* Whether the browser says that it is the page that asks. Other programs say nothing, and have no cookie either. */
static bool origin_is_ours(const struct http_request *r)
{
	const char *origin = request_header(r, "Origin"), *site = request_header(r, "Sec-Fetch-Site");
	const char *host = request_header(r, "Host");

	if (site && strcmp(site, "same-origin") != 0)
		return false;
	return !origin || (strncmp(origin, "http://", 7) == 0 && strcmp(origin + 7, host) == 0);
}

static void headers_add(struct http_request *r)
{
	http_header(
		r, "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
	http_header(r, "X-Frame-Options", "DENY");
	http_header(r, "X-Content-Type-Options", "nosniff");
	http_header(r, "Referrer-Policy", "no-referrer");
	http_header(r, "Cross-Origin-Opener-Policy", "same-origin");
	http_header(r, "Cross-Origin-Resource-Policy", "same-origin");
}

static bool is_api(const char *path)
{
	return strncmp(path, "/v1/", 4) == 0 || strcmp(path, "/openapi.json") == 0;
}

static void file_send(struct http_request *r, const char *path)
{
	const char *known = request_header(r, "If-None-Match");

	if (strcmp(path, "/") == 0)
		path = "/index.html";
	for (size_t i = 0; i < npage_files; i++) {
		const struct page_file *f = &page_files[i];
		if (strcmp(path, f->path) != 0)
			continue;
		http_header(r, "ETag", f->tag);
		http_header(r, "Cache-Control", "no-cache");
		if (known && strcmp(known, f->tag) == 0) {
			http_reply(r, 304, NULL, NULL, 0);
			return;
		}
		http_header(r, "Content-Encoding", "gzip");
		http_reply(r, 200, f->type, f->data, f->n);
		return;
	}
	http_error(r, CODE_NOT_FOUND, "The page has no %.200s.", path);
}

bool page_answers(struct server *s, struct http_request *r)
{
	const char *path = request_path(r);

	headers_add(r);
	if (!host_is_ours(s, request_header(r, "Host"))) {
		http_error(r, CODE_FORBIDDEN, "The page is at http://127.0.0.1:%d/ and under no other name.",
			   s->realm->page_port);
	} else if (is_api(path) && !origin_is_ours(r)) {
		http_error(r, CODE_FORBIDDEN, "This request comes from another site than the page.");
	} else if (is_api(path)) {
		http_header(r, "Cache-Control", "no-store");
		return false;
	} else if (strcmp(request_method(r), "GET") != 0) {
		http_error(r, CODE_METHOD_NOT_ALLOWED, "%s is not possible on %.200s.", request_method(r), path);
	} else {
		file_send(r, path);
	}
	return true;
}

/* ---- signing in and out ---- */

static const struct field link_fields[] = {
	{"url", .is = REQUIRED | IS_TEXT, "signs in once, within ten minutes",
	 .example = "http://127.0.0.1:40123/#key=0123456789abcdef0123456789abcdef"},
	{0},
};
const struct schema page_link_answer = {.fields = link_fields};
static const struct field session_fields[] = {{"key", .is = REQUIRED | IS_TEXT, "of the link", .most = 63}, {0}};
const struct schema session_body = {.fields = session_fields};
static const struct field begun_fields[] = {
	{"token", .is = REQUIRED | IS_TEXT, "to be sent with every request, as " SESSION_HEADER},
	{0},
};
const struct schema session_answer = {.fields = begun_fields};

void api_page_link(struct server *s, const struct call *c)
{
	char key[SESSION_SECRET], url[128];
	struct strbuf out = {0};
	struct json j;

	if (c->w->by != BY_SOCKET) {
		http_error(c->r, CODE_FORBIDDEN, "Links to the page are made on the server's machine (%s) only.",
			   s->instance->host);
		return;
	}
	if (!s->realm->page_port) {
		http_error(
			c->r, CODE_BAD_STATE, "%s",
			npage_files == 0
				? "This build of Shunt has no page: npm was missing, or could not fetch packages, when it was built."
			: s->instance->multi
				? "The page is for personal instances ('shunt up' without --system) so far."
				: "The page's port could not be opened: the server's log says why.");
		return;
	}
	session_offer(s, c->w, key);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/#key=%s", s->realm->page_port, key);
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "url", url);
	json_close_object(&j);
	http_reply_strbuf(c->r, 201, "application/json", &out);
}

static void cookie_set(const struct server *s, struct http_request *r, const char *value, int life)
{
	char name[32], text[192];

	session_cookie_name(s, name);
	snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d", name, value, life);
	http_header(r, "Set-Cookie", text);
}

/* What the browser showed before counts for nothing: nobody can make another use a session that he knows. */
void api_session_begin(struct server *s, const struct call *c)
{
	char cookie[SESSION_SECRET], token[SESSION_SECRET];
	struct strbuf out = {0};
	struct json j;
	struct err err;

	if (session_begin(s, json_string_value(json_object_get(c->body, "key")), cookie, token, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	cookie_set(s, c->r, cookie, SESSION_LIFE);
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "token", token);
	json_close_object(&j);
	reply_later(s, c->r, 201, &out);
}

void api_session_end(struct server *s, const struct call *c)
{
	struct strbuf out = {0};

	if (c->w->by == BY_PAGE) {
		session_end(s, c->w);
		cookie_set(s, c->r, "", 0);
	}
	strbuf_puts(&out, "{}");
	reply_later(s, c->r, 200, &out);
}
