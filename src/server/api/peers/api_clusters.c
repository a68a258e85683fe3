/*
 * api_clusters.c - other clusters that the user of a personal instance is logged in to, and links
 * to their pages.
 *
 * `shunt clusters` and `shunt page --cluster` do the work: they run as child processes, as the same
 * user. A server with many users must not read their files, and lists no clusters.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/child.h"
#include "server/base/instance.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "server/site/courier.h"

#define AT_ONCE 4
#define SECONDS 20
#define OUTPUT_MOST (256 << 10)

static const struct schema cluster = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT},
	       {"servers", .is = REQUIRED | IS_TEXT | IS_NULL, "host:port, joined by blanks"},
	       {"trouble", .is = REQUIRED | IS_TEXT | IS_NULL, "why the login can't be used"})};
const struct schema clusters_answer = {
	FIELDS({"clusters", .is = REQUIRED | IS_LIST, .of = &cluster, .item = IS_OBJECT})};
const struct schema cluster_link_answer = {
	FIELDS({"url", .is = REQUIRED | IS_TEXT, "signs in to that cluster's page, once"})};

/* A request that waits for its program; it frees itself. */
struct asking {
	struct server *s;
	struct http_request *r;
	struct child_order order;
	void (*answer)(struct asking *x, const char *out, size_t n);
};

static void on_done(void *context, const struct child_end *end)
{
	struct asking *x = context;
	const char *said = strstr(end->errors, ": ");
	char fault[200];

	turn_wake(x->s);
	x->s->audience->asking--;
	if (!child_fault(&x->order, end, fault, sizeof fault))
		x->answer(x, end->out, end->n);
	else if (said && !end->late) /* strip the name of the command */
		http_error(x->r, CODE_BAD_STATE, "%.*s", (int)strcspn(said + 2, "\n"), said + 2);
	else
		http_error(x->r, CODE_BAD_STATE, "'shunt' %s", fault);
	free(x);
}

static void ask(struct server *s, struct http_request *r, char *const argv[],
		void (*answer)(struct asking *x, const char *out, size_t n))
{
	struct asking *x;
	struct child *child;
	char program[4096];
	int rc;

	if (s->audience->asking >= AT_ONCE) {
		http_error(r, CODE_TOO_MANY, "Other clusters are being asked already: try again in a moment.");
		return;
	}
	x = mem_zalloc(sizeof *x);
	shunt_beside(s, program, sizeof program);
	x->s = s;
	x->r = r;
	x->answer = answer;
	x->order = (struct child_order){.program = program,
					.argv = argv,
					.seconds = SECONDS,
					.most = OUTPUT_MOST,
					.done = on_done,
					.context = x};
	rc = child_start(s->loop, &x->order, &child);
	if (rc < 0) {
		http_error(r, CODE_BAD_STATE, "'shunt' can't be started: %s", strerror(-rc));
		free(x);
		return;
	}
	s->audience->asking++;
}

/* Returns true for the instance's own user at this machine. Jobs have no access to other
 * clusters. */
static bool is_own(const struct server *s, const struct asker *w)
{
	return !s->instance->multi && (w->by == BY_SOCKET || w->by == BY_PAGE) && w->uid == geteuid();
}

/* ---- listing clusters ---- */

static void clusters_tell(struct asking *x, const char *out, size_t n)
{
	json_t *from = json_loadb(out, n, 0, NULL), *list = json_array(), *c;
	size_t i;

	json_array_foreach(from, i, c)
	{
		json_t *one = json_object();
		for (const struct field *f = cluster.fields; f->name; f++) {
			json_t *v = json_object_get(c, f->name);
			json_object_set_new(one, f->name, v ? json_incref(v) : json_null());
		}
		json_array_append_new(list, one);
	}
	json_decref(from);
	api_answer(x->r, 200, json_pack("{s:o}", "clusters", list));
}

void api_clusters(struct server *s, const struct call *c)
{
	char *argv[] = {"shunt", "clusters", "--json", NULL};

	if (is_own(s, c->w))
		ask(s, c->r, argv, clusters_tell);
	else
		api_answer(c->r, 200, json_pack("{s:[]}", "clusters"));
}

/* ---- links ---- */

/* Returns true if a browser may be sent to the address: only to a page over TLS, or on this
 * machine. */
static bool is_page(const char *url)
{
	return strncmp(url, "https://", 8) == 0 || strncmp(url, "http://127.0.0.1:", 17) == 0;
}

static void link_tell(struct asking *x, const char *out, size_t n)
{
	char url[1024];

	snprintf(url, sizeof url, "%.*s", (int)strcspn(out, "\n"), out);
	if (is_page(url))
		api_answer(x->r, 201, json_pack("{s:s}", "url", url));
	else
		http_error(x->r, CODE_BAD_STATE, "That cluster's link is not the address of a page.");
}

void api_cluster_link(struct server *s, const struct call *c)
{
	char name[300], *argv[] = {"shunt", "page", name, NULL};

	if (!is_own(s, c->w)) {
		http_error(c->r, CODE_NOT_FOUND,
			   "Only the user of a personal instance has other clusters, at its own machine.");
		return;
	}
	snprintf(name, sizeof name, "--cluster=%.200s", c->name);
	ask(s, c->r, argv, link_tell);
}
