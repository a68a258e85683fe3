/*
 * prepare_files.c - locations of a job's files: the home of its output, staged files, and what must
 * be carried between hosts for an attempt (engine/errands.h).
 *
 * Nothing is carried if the job runs where its output belongs, or if its directory is shared
 * (shared_paths). Home is the host that the job came from, or the one that -o names. If home is not
 * in the cluster, such as a laptop, it cannot be called: the server then keeps the output, and
 * "shunt output" reads it.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/names.h"
#include "core/cluster.h"
#include "engine/engine.h"
#include "engine/ticket.h"
#include "rules/attr.h"
#include "run/order.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/stage.h"
#include "server/life/run/prepare.h"
#include "server/life/run/prepare_files.h"
#include "server/life/run/prepare_internal.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/realm.h"

#define DAY INT64_C(86400)
/* added lifetime of a ticket: hosts' clocks differ, and walltimes are extended */
#define TICKET_LONGER (30 * DAY)

/* ---- hosts ---- */

/* Returns true if both names mean the same host, in stagein and output paths: "n1" and
 * "n1.example.org" do; two names with a domain must be equal. */
static bool host_same(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	if (!*a || !*b)
		return false;
	return strcasecmp(a, b) == 0 || (n == m && strncasecmp(a, b, n) == 0 && (!a[n] || !b[m]));
}

static bool host_is_here(const struct server *s, const char *host)
{
	char name[256] = "";

	gethostname(name, sizeof name - 1);
	return strcasecmp(host, "localhost") == 0 || host_same(host, name) || host_same(host, s->instance->host);
}

/* Returns true if the host of a path is this joined node: by its name, its machine's name, or
 * its address. */
static bool host_is_node(const struct server *s, uint32_t node, const char *host)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	const char *hostname;
	size_t length = strlen(host);

	if (!node_joined(&n->life) || !n->agent)
		return false;
	hostname = json_string_value(json_object_get(n->agent->facts, "hostname"));
	return host_same(host, names_get(&s->cluster->node_names, node)) || (hostname && host_same(host, hostname)) ||
	       (length && strncmp(n->agent->address, host, length) == 0 && n->agent->address[length] == ':');
}

/* Finds a host by name. Returns false if it is not in the cluster. */
static bool spot_find(const struct server *s, const char *host, struct spot *ret)
{
	uint32_t i;

	if (host_is_here(s, host)) {
		*ret = (struct spot){
			.here = true, .host = HOST_HERE, .title = s->instance->host, .address = realm_address(s)};
		return true;
	}
	if (!names_find(&s->cluster->node_names, host, &i) ||
	    !host_is_node(s, i, host)) /* most are given by the node's name */
		for (i = s->hosts->here; i < s->hosts->nodes.n && !host_is_node(s, i, host);)
			i++;
	if (i == s->hosts->nodes.n)
		return false;
	*ret = (struct spot){.node = i,
			     .host = names_get(&s->cluster->node_names, i),
			     .address = s->hosts->nodes.v[i].agent->address,
			     .join = s->hosts->nodes.v[i].join};
	ret->title = ret->host;
	return true;
}

/* ---- output ---- */

static bool path_is_shared(const struct server *s, const char *path)
{
	const char *all = attrs_text(s->attrs, SET_SHARED_PATHS);

	if (strcmp(path, "/dev/null") == 0) /* never read, so it is the same everywhere */
		return true;
	for (const char *p = all ? all : ""; *p; p += strspn(p, ", ")) {
		size_t n = strcspn(p, ", "), m = n;
		while (m > 1 && p[m - 1] == '/')
			m--;
		if (m && strncmp(path, p, m) == 0 && (m == 1 || path[m] == '/' || !path[m]))
			return true;
		p += n;
	}
	return false;
}

static const char *given_host(const char *given, struct arena *a)
{
	const char *colon = given ? strchr(given, ':') : NULL;

	if (!colon || colon == given || memchr(given, '/', (size_t)(colon - given)))
		return NULL;
	return arena_printf(a, "%.*s", (int)(colon - given), given);
}

void output_home(struct server *s, uint32_t id, const json_t *body, bool error, struct arena *a, struct home *ret)
{
	const struct spec *p = entry_get(s, id)->spec;
	const char *join = json_string_value(json_object_get(body, "join")),
		   *keep = json_string_value(json_object_get(body, "keep"));
	const char *out, *err, *host;
	char tag[64];
	bool eo = join && strcmp(join, "eo") == 0;

	output_paths(s, id, body, a, &out, &err);
	error = error && err;
	*ret = (struct home){.path = error ? err : out, .error = error};
	host = given_host(json_string_value(json_object_get(body, error || eo ? "error" : "output")), a);
	ret->stays = keep && strchr(keep, error || eo ? 'e' : 'o');
	ret->shared = path_is_shared(s, ret->path);
	ret->away = json_object_get(body, "site"); /* the other site fetches it */
	ret->known = !ret->away && spot_find(s, host ? host : word_text(s, p->host), &ret->spot);
	attempt_tag(s, id, 0, tag);
	*strrchr(tag, '.') = '\0';
	ret->kept = arena_printf(a, "%s.%s", tag, error ? "err" : "out");
}

static void output_add(struct server *s, const struct draft *p, struct order *o, bool error)
{
	struct order_file *f = &o->carry.carried[o->carry.ncarried];
	struct home h;

	output_home(s, p->t->job, p->body, error, p->a, &h);
	bool there = h.stays || h.shared || (h.known && strcmp(h.spot.host, p->host) == 0) || (!h.known && p->here);

	if ((there && !h.away) || !s->realm->listener)
		return;
	*f = (struct order_file){.use = error ? FILE_ERR : FILE_OUT,
				 .path = h.known ? h.path : h.kept,
				 .host = h.known ? h.spot.host : HOST_HERE,
				 .title = h.known ? h.spot.title : s->instance->host,
				 .address = h.known ? h.spot.address : realm_address(s),
				 .join = h.known ? h.spot.join : 0};
	o->carry.ncarried++;
}

/* ---- staging ---- */

static int stage_count(const char *text)
{
	int n = text && *text ? 1 : 0;

	for (; text && *text; text++)
		n += *text == ',';
	return n;
}

static int stage_add(struct server *s, const struct draft *p, struct order *o, enum file_use use, const char *text,
		     struct err *err)
{
	const char *what = use == FILE_IN ? "stagein" : "stageout";
	size_t here = 0, host = 0, n;
	int rc;

	for (const char *at = text; at && *at; at += n + (at[n] == ',')) {
		struct order_file *f = &o->carry.carried[o->carry.ncarried];
		struct spot spot;
		n = stage_next(at);
		rc = stage_split(what, at, n, &here, &host, err);
		if (rc < 0)
			return rc;
		const char *name = arena_printf(p->a, "%.*s", (int)host, at + here + 1);
		const char *path = arena_printf(p->a, "%.*s", (int)(n - here - host - 2), at + here + host + 2);
		if (!spot_find(s, name, &spot))
			return err_set(err, -ENOENT, "%s from or to %.100s: there is no such host in this cluster",
				       what, name);
		if (*path != '/')
			path = arena_printf(p->a, "%s/%s", p->who->home, path);
		*f = (struct order_file){
			.use = use,
			.here = replace_words(s, p->t->job, arena_printf(p->a, "%.*s", (int)here, at), p->a),
			.path = replace_words(s, p->t->job, path, p->a),
			.host = spot.host,
			.title = spot.title,
			.address = spot.address,
			.join = spot.join};
		o->carry.ncarried++;
	}
	return 0;
}

/* ---- all files ---- */

int draft_files(struct server *s, const struct draft *p, struct order *o, struct err *err)
{
	const char *in = json_string_value(json_object_get(p->body, "stagein")),
		   *out = json_string_value(json_object_get(p->body, "stageout"));
	struct ticket_terms terms = {.by = p->host,
				     .join = s->hosts->nodes.v[p->t->node[draft_first(p)]].join,
				     .authority_key = s->realm->authority.key};
	int64_t walltime = o->walltime > 0 ? o->walltime : 3650 * DAY;
	int rc;

	o->carry.carried =
		arena_alloc(p->a, (size_t)(stage_count(in) + stage_count(out) + 3) * sizeof *o->carry.carried);
	o->carry.deliver_for = attrs_number(s->attrs, SET_DELIVER_FOR);
	if (o->out)
		output_add(s, p, o, false);
	if (o->err)
		output_add(s, p, o, true);
	rc = stage_add(s, p, o, FILE_IN, in, err);
	if (rc == 0)
		rc = stage_add(s, p, o, FILE_BACK, out, err);
	if (rc < 0 || !o->carry.ncarried)
		return rc;
	terms.until = s->clock->now + walltime + o->carry.deliver_for + TICKET_LONGER;
	return ticket_write(o, &terms, p->a, err);
}
