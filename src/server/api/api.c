/*
 * api.c - finds the route of a request (routes.c), checks the request against it, and calls its
 * handler.
 */
#include <string.h>

#include "base/err.h"
#include "net/http.h"
#include "rules/role.h"
#include "server/api/frame/api.h"
#include "server/api/frame/beside.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/route.h"
#include "server/api/jobs/joblist.h"
#include "server/api/jobs/submitted.h"
#include "server/api/page/page.h"
#include "server/base/clock.h"
#include "server/base/reserve.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/link/standby.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/store.h"

/* bytes of a body, except for large routes: reading it blocks the server for a while */
#define BODY_MOST (4 << 20)

static bool path_fits(const char *pattern, const char *path, char *name, size_t size)
{
	while (*pattern && *pattern != '*') {
		if (*pattern++ != *path++)
			return false;
	}
	if (!*pattern)
		return *path == '\0';

	size_t n = strcspn(path, "/");

	if (n == 0 || n >= size)
		return false;
	memcpy(name, path, n);
	name[n] = '\0';
	return strcmp(pattern + 1, path + n) == 0;
}

/* Returns the route of a request. If NULL, *ret_near is a route of the same path with another
 * method, or NULL. */
static const struct route *route_find(const struct http_request *r, char *name, size_t size,
				      const struct route **ret_near)
{
	*ret_near = NULL;
	for (size_t i = 0; i < nroutes; i++)
		if (path_fits(routes[i].path, request_path(r), name, size)) {
			*ret_near = &routes[i];
			if (strcmp(routes[i].method, request_method(r)) == 0)
				return &routes[i];
		}
	return NULL;
}

static void route_missing(struct http_request *r, const struct route *near)
{
	if (near)
		http_error(r, CODE_METHOD_NOT_ALLOWED, "%s is not possible on %.200s.", request_method(r),
			   request_path(r));
	else
		http_error(r, CODE_NOT_FOUND, "There is no %.200s (GET /openapi.json describes what there is).",
			   request_path(r));
}

/* Identifies the client and checks its rights. Strangers do not learn which paths exist. Returns
 * false if the request was answered. */
static bool asker_admit(struct server *s, const struct route *route, struct http_request *r, struct asker *ret)
{
	struct err err;

	if (route && route->may == MAY_ANYONE) {
		bool other = request_remote(r) && !request_page(r);
		if (!other)
			http_error(r, CODE_FORBIDDEN,
				   "%s is for other machines, over TLS: this socket already identifies its user.",
				   route->path);
		return other;
	}
	if (route && route->may == MAY_VISITOR) {
		if (!request_page(r))
			http_error(r, CODE_FORBIDDEN, "%s is for the page alone.", route->path);
		return request_page(r);
	}
	bool site = route && route->may == MAY_SITE;
	if ((site ? who_site(s, r, ret, &err) : who_asks(s, r, ret, &err)) < 0) {
		api_refuse(r, &err);
		return false;
	}
	if (ret->by == BY_SITE && (!route || (strcmp(route->tag, "jobs") != 0 && strcmp(route->tag, "actions") != 0))) {
		http_error(r, CODE_FORBIDDEN, "Another site's token is for jobs alone.");
		return false;
	}
	if (route && (route->may == MAY_OPERATOR || route->may == MAY_MANAGER) &&
	    role_check(&(struct role_case){.role = ret->role}, route->may == MAY_MANAGER ? ACT_MANAGE : ACT_OPERATE,
		       "This", &err) < 0) {
		api_refuse(r, &err);
		return false;
	}
	return true;
}

/* Refuses requests that change something while the store can't be written. A repeated submission is
 * answered all the same, and a server that lost its store can be stopped. */
static bool store_admits(struct server *s, const struct call *c)
{
	if (!c->route->changes || !s->turn->trouble || (c->w && submit_repeats(s, c->r, c->w)) ||
	    (store_lost(s->store) && c->route->handle == api_shutdown))
		return true;
	http_header(c->r, "Retry-After", "1");
	http_error(c->r, CODE_UNAVAILABLE,
		   "The server can't write its store now (%s): nothing was changed. Try again later.",
		   s->turn->trouble);
	return false;
}

/* Refuses new jobs while the store's disk lacks space, except those submitted while the server was
 * down: they already occupy disk space. */
static bool room_admits(struct server *s, const struct call *c)
{
	bool submits = c->route->handle == api_submit || c->route->handle == api_again;

	if (!submits || request_time_us(c->r) || !reserve_lacks(s) || (c->w && submit_repeats(s, c->r, c->w)))
		return true;
	http_header(c->r, "Retry-After", "10");
	http_error(
		c->r, CODE_UNAVAILABLE,
		"The disk of the server's store is full: no jobs are accepted until there is room. Tell your administrator.");
	return false;
}

/* Reads the body if the route has one; false: the request was answered. */
static bool body_admit(struct call *c)
{
	const struct route *route = c->route;
	struct err err;
	size_t n;

	request_body(c->r, &n);
	if (n > BODY_MOST && !route->large) {
		http_error(c->r, CODE_TOO_LARGE, "The body has more than the %d MB that are allowed here.",
			   BODY_MOST >> 20);
		return false;
	}
	if (!route->body || route->large)
		return true;
	c->body = n == 0 && route->bodiless ? json_object() : api_body(c->r, &err);
	if (c->body && schema_check(route->body, c->body, &err) == 0)
		return true;
	api_refuse(c->r, &err);
	json_decref(c->body);
	return false;
}

/* Returns true for a list of jobs, which is read job by job. */
static bool read_by_job(const struct call *c)
{
	size_t n, at;
	const char *text = request_body(c->r, &n);

	return c->route->handle == api_submit && joblist_begins(text, n, &at);
}

static void api_handle(struct server *s, struct http_request *r)
{
	struct call c = {.r = r};
	struct asker w;
	struct err err;
	char name[512];
	const struct route *near;

	c.route = route_find(r, name, sizeof name, &near);
	if ((c.route || !near || near->may < MAY_ANYONE) && !asker_admit(s, c.route, r, &w))
		return;
	if (!c.route) {
		route_missing(r, near);
		return;
	}
	c.w = c.route->may >= MAY_ANYONE ? NULL : &w;
	c.name = strchr(c.route->path, '*') ? name : NULL;
	if (!store_admits(s, &c) || !room_admits(s, &c))
		return;
	if (query_check(c.route, r, &err) < 0) {
		api_refuse(r, &err);
		return;
	}
	if ((c.route->body && beside_awaits(s, r, !read_by_job(&c))) || !body_admit(&c))
		return;
	c.route->handle(s, &c);
	json_decref(c.body);
}

/* Returns true if the client's user was looked up, found or not. Otherwise the request is, or will
 * be, answered. A standby server does not check tokens. */
static bool asker_ready(struct server *s, struct http_request *r)
{
	struct user_key k;
	struct err err;
	enum lookup l = lead_standing(s) && request_remote(r) ? LOOKUP_NONE : who_awaits(s, r, &k, &err);

	if (l == LOOKUP_PENDING)
		request_await(s, r, k);
	else if (l == LOOKUP_FAILED)
		refuse_lookup(r, &err);
	return l == LOOKUP_KNOWN || l == LOOKUP_NONE;
}

/* Returns true for requests that ask if the server is up or make it stop. They do not depend on the
 * changes in the trays. */
static bool is_about_server(struct http_request *r)
{
	return strcmp(request_path(r), "/v1/shutdown") == 0 ||
	       (strcmp(request_path(r), "/v1/server") == 0 && strcmp(request_method(r), "GET") == 0);
}

/* Refuses requests until the changes in the trays are made (offline.h). */
static bool refuse_merging(const struct server *s, struct http_request *r)
{
	if (!s->turn->merging || request_number(r) || is_about_server(r))
		return false;
	http_header(r, "Retry-After", "1");
	http_error(r, CODE_UNAVAILABLE,
		   "The server is carrying out what was requested while it was down. Try again in a moment.");
	return true;
}

void api_receive(void *context, struct http_request *r)
{
	struct server *s = context;

	clock_read(s);
	if (request_page(r) && page_answers(s, r))
		return;
	if (!refuse_merging(s, r) && asker_ready(s, r) && !lead_answers(s, r))
		api_handle(s, r);
}
