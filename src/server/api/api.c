/*
 * api.c - which function answers a request. docs/api.md is the contract.
 */
#include <string.h>

#include "net/http.h"
#include "net/openapi.h"
#include "server/api/api.h"
#include "server/api/api_import.h"
#include "server/api/api_lives.h"
#include "server/api/call.h"
#include "server/api/events.h"
#include "server/api/output.h"
#include "server/api/query.h"
#include "server/api/request.h"
#include "server/api/terminal.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/link/standby.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "store/store.h"

#define BODY_MOST (4 << 20) /* bytes, but for submissions, which have scripts */

static void openapi(struct server *s, const struct call *c)
{
	http_reply(c->r, 200, "application/json", openapi_json, openapi_json_size);
}

static void patch_one(struct server *s, const struct call *c)
{
	api_one(s, c, "alter");
}

static void delete_one(struct server *s, const struct call *c)
{
	api_one(s, c, "delete");
}

/* A '*' stands for one part of the path, the name. The first row that fits answers. */
static const struct {
	const char *method, *path;
	handler handle;
} routes[] = {
	{"GET", "/openapi.json", openapi},
	{"POST", "/v1/jobs", api_submit},
	{"GET", "/v1/jobs", api_list},
	{"POST", "/v1/jobs/order", api_order},
	{"POST", "/v1/jobs/*", api_action},
	{"GET", "/v1/jobs/*", api_get},
	{"PATCH", "/v1/jobs/*", patch_one},
	{"DELETE", "/v1/jobs/*", delete_one},
	{"GET", "/v1/jobs/*/script", api_script},
	{"GET", "/v1/jobs/*/events", api_history},
	{"GET", "/v1/jobs/*/why", api_why},
	{"GET", "/v1/jobs/*/output", api_output},
	{"GET", "/v1/jobs/*/terminal", api_terminal},
	{"POST", "/v1/whatif", api_whatif},
	{"GET", "/v1/server", api_server},
	{"PATCH", "/v1/server", api_server},
	{"GET", "/v1/queues", api_queues},
	{"GET", "/v1/queues/*", api_queues},
	{"GET", "/v1/queues/*/events", api_queue_events},
	{"PUT", "/v1/queues/*", api_queues},
	{"PATCH", "/v1/queues/*", api_queues},
	{"DELETE", "/v1/queues/*", api_queues},
	{"GET", "/v1/nodes", api_nodes},
	{"GET", "/v1/nodes/*", api_nodes},
	{"GET", "/v1/nodes/*/events", api_node_events},
	{"PATCH", "/v1/nodes/*", api_nodes},
	{"DELETE", "/v1/nodes/*", api_nodes},
	{"POST", "/v1/tokens", api_tokens},
	{"GET", "/v1/tokens", api_tokens},
	{"DELETE", "/v1/tokens/*", api_tokens},
	{"GET", "/v1/whoami", api_whoami},
	{"GET", "/v1/cluster", api_cluster},
	{"GET", "/v1/attributes", api_attributes},
	{"GET", "/v1/plan", api_plan},
	{"GET", "/v1/events", api_events},
	{"GET", "/v1/log", api_log},
	{"GET", "/v1/history", api_past},
	{"POST", "/v1/history", api_import},
	{"GET", "/v1/history/sums", api_past_sums},
	{"GET", "/v1/usage", api_usage},
	{"GET", "/v1/metrics", api_metrics},
	{"POST", "/v1/shutdown", api_shutdown},
};

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

static bool is_change(const char *method, const char *path)
{
	return strcmp(method, "GET") != 0 && strcmp(path, "/v1/whatif") != 0;
}

/* For those who have no proof yet of who they are: their request is one. Only over TLS: the local socket knows everybody. */
static const struct {
	const char *path;
	handler handle;
} doors[] = {
	{"/v1/join", api_join},
	{"/v1/login", api_login},
};

/* To read a large body takes a while, in which nobody else is served. */
static bool body_fits(const char *path, const struct http_request *r)
{
	size_t n;

	request_body(r, &n);
	return n <= BODY_MOST || strcmp(path, "/v1/jobs") == 0 || strcmp(path, "/v1/whatif") == 0;
}

static bool refuse_trouble(const struct server *s, struct http_request *r)
{
	if (!s->turn->trouble || (store_lost(s->store) && strcmp(request_path(r), "/v1/shutdown") == 0))
		return false;
	http_header(r, "Retry-After", "1");
	http_error(r, CODE_UNAVAILABLE,
		   "The server can't write its store now (%s): nothing was changed. Try again later.",
		   s->turn->trouble);
	return true;
}

static bool door_answers(struct server *s, struct http_request *r, const char *method, const char *path)
{
	for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
		if (strcmp(doors[i].path, path) != 0)
			continue;
		if (strcmp(method, "POST") != 0)
			http_error(r, CODE_METHOD_NOT_ALLOWED, "%s is not possible on %s.", method, path);
		else if (!request_remote(r))
			http_error(r, CODE_FORBIDDEN,
				   "%s is for other machines, over TLS: who asks by this socket is known.", path);
		else if (!refuse_trouble(s, r))
			doors[i].handle(s, &(struct call){.r = r});
		return true;
	}
	return false;
}

static void api_handle(struct server *s, struct http_request *r)
{
	const char *method = request_method(r), *path = request_path(r);
	bool known = false;
	char name[512];
	struct asker w;

	struct err err;

	if (door_answers(s, r, method, path))
		return;
	int rc = who_asks(s, r, &w, &err);
	if (rc < 0) {
		refuse_asker(r, rc, &err);
		return;
	}
	if (is_change(method, path) && !submit_repeats(s, r, &w) && refuse_trouble(s, r))
		return;
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		if (!path_fits(routes[i].path, path, name, sizeof name))
			continue;
		known = true;
		if (strcmp(routes[i].method, method) != 0)
			continue;
		if (!body_fits(routes[i].path, r))
			http_error(r, CODE_TOO_LARGE, "The body has more than the %d MiB that are allowed here.",
				   BODY_MOST >> 20);
		else if (query_check(routes[i].path, r, &err) < 0)
			api_refuse(r, &err);
		else
			routes[i].handle(s, &(struct call){r, &w, strchr(routes[i].path, '*') ? name : NULL});
		return;
	}
	if (known)
		http_error(r, CODE_METHOD_NOT_ALLOWED, "%s is not possible on %.200s.", method, path);
	else
		http_error(r, CODE_NOT_FOUND, "There is no %.200s (GET /openapi.json describes what there is).", path);
}

static void receive_again(struct server *s, void *context)
{
	api_receive(s, context);
}

void api_await(struct server *s, struct http_request *r, struct user_key k)
{
	users_wait(s, k, receive_again, r);
}

/* Whether the user who asks is known, or known not to be there; else it is answered, or will be. A server that stands by does not look at tokens. */
static bool asker_ready(struct server *s, struct http_request *r)
{
	struct user_key k;
	struct err err;
	enum lookup l = lead_standing(s) && request_remote(r) ? LOOKUP_NONE : who_awaits(s, r, &k, &err);

	if (l == LOOKUP_PENDING)
		api_await(s, r, k);
	else if (l == LOOKUP_FAILED)
		refuse_lookup(r, &err);
	return l == LOOKUP_KNOWN || l == LOOKUP_NONE;
}

void api_receive(void *context, struct http_request *r)
{
	struct server *s = context;

	clock_read(s);
	if (asker_ready(s, r) && !lead_answers(s, r))
		api_handle(s, r);
}
