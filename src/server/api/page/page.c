/*
 * page.c - handles requests that come by the page's port, and sends the page's files.
 *
 * Anyone can connect to the port, and so can every site that a user's browser has open. So:
 *	- on a personal instance the name in Host must be the loopback's, or another site's name
 *	  could lead here (DNS rebinding); over TLS the browser has compared the name with the
 *	  certificate;
 *	- a script's request must come from the page itself, according to the browser (Origin,
 *	  Sec-Fetch-Site);
 *	- without both secrets of a session (site/sessions.h) only the files are sent.
 */
#include "server/api/page/page.h"

#include <stdio.h>
#include <string.h>

#include "net/http.h"
#include "server/server.h"
#include "server/site/realm.h"

/* ---- checking requests ---- */

/* Returns true for "127.0.0.1:PORT" or "localhost:PORT"; over TLS, for any name. */
static bool host_is_ours(const struct server *s, const char *host)
{
	char own[2][40];

	snprintf(own[0], sizeof own[0], "127.0.0.1:%d", s->realm->page_port);
	snprintf(own[1], sizeof own[1], "localhost:%d", s->realm->page_port);
	if (s->realm->page)
		return host;
	return host && (strcmp(host, own[0]) == 0 || strcmp(host, own[1]) == 0);
}

/* Returns true if the browser reports the page as the origin. Other programs report none, and have
 * no cookie either. */
static bool origin_is_ours(const struct server *s, const struct http_request *r)
{
	const char *scheme = s->realm->page ? "https://" : "http://";
	size_t n = strlen(scheme);
	const char *origin = request_header(r, "Origin"), *site = request_header(r, "Sec-Fetch-Site");
	const char *host = request_header(r, "Host");

	if (site && strcmp(site, "same-origin") != 0)
		return false;
	return !origin || (strncmp(origin, scheme, n) == 0 && strcmp(origin + n, host) == 0);
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
	} else if (is_api(path) && !origin_is_ours(s, r)) {
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
