/*
 * api_overlays.c - the API's side of overlays: which there are, what is changed about them; what their keeper (`shunt keeper`, site/courier.h) is to do and reports.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "net/http.h"
#include "server/api/api.h"
#include "server/api/attributes.h"
#include "server/api/call.h"
#include "server/api/request.h"
#include "server/api/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/book/audit.h"
#include "server/life/overlay.h"
#include "server/life/world.h"
#include "server/link/nodes.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/overlays.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"

#define BY_OVERLAY "its overlay"
#define STORE_AGAIN 60	 /* seconds: what jobs use is stored no more often, */
#define ABSENCE_MOST 600 /* ... and allocations last without the server for as long */

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static int64_t number_of(const json_t *o, const char *key, int64_t otherwise)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

/* The overlay of the path; NULL: it was answered. */
static struct overlay *named(struct server *s, const struct call *c)
{
	struct overlay *o = overlay_find(s, c->name);

	if (!o)
		http_error(c->r, CODE_NOT_FOUND, "There is no overlay %.60s ('shunt overlay list' shows them).",
			   c->name);
	return o;
}

static void record(struct server *s, const struct call *c, const char *what, const char *change, const char *undo)
{
	struct strbuf text = {0};

	if (undo)
		strbuf_printf(&text, "shunt overlay %s %s", undo, c->name);
	audit_record(s, c->w, "server", c->name, what, change, undo ? text.text : NULL);
	strbuf_fini(&text);
}

/* ---- which there are ---- */

static const struct field request_fields[] = {
	{"id", .is = REQUIRED | IS_INT},
	{"state", .is = REQUIRED | IS_TEXT, .words = "unknown|pending|running|ended"},
	{"job", .is = REQUIRED | IS_TEXT | IS_NULL, "what the other cluster calls it"},
	{"nodes", .is = REQUIRED | IS_LIST, "nodes of this server that it is for", .item = IS_TEXT},
	{"joined", .is = REQUIRED | IS_INT, "of these, how many are there"},
	{"expected", .is = REQUIRED | IS_INT, "... and how many have not been there yet"},
	{"planned", .is = REQUIRED | IS_INSTANT | IS_NULL, "when the other cluster plans to start it"},
	{0},
};
static const struct schema request_row = {"OverlayRequest", .fields = request_fields};
static const struct field allocation_fields[] = {
	{"id", .is = REQUIRED | IS_INT},
	{"job", .is = REQUIRED | IS_TEXT | IS_NULL, "what the other cluster calls it"},
	{"nodes", .is = REQUIRED | IS_INT},
	{"submitted", .is = REQUIRED | IS_INSTANT},
	{"started", .is = REQUIRED | IS_INSTANT | IS_NULL},
	{"ended", .is = REQUIRED | IS_INSTANT | IS_NULL},
	{"used", .is = REQUIRED | IS_INT, "seconds of CPUs that jobs had there"},
	{0},
};
static const struct schema allocation_row = {"OverlayAllocation", .fields = allocation_fields};
static const struct field overlay_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"place", .is = REQUIRED | IS_TEXT, "the other cluster's batch system", .example = "slurm"},
	{"words", .is = REQUIRED | IS_TEXT, "options for its submit command", .example = "-p long"},
	{"max_nodes", .is = REQUIRED | IS_INT},
	{"time", .is = REQUIRED | IS_INT, "seconds of an allocation"},
	{"cpus", .is = REQUIRED | IS_INT, "CPUs of a node"},
	{"idle", .is = REQUIRED | IS_INT, "seconds after which an idle node is released"},
	{"state", .is = REQUIRED | IS_TEXT, .words = "active|paused|removed"},
	{"why", .is = REQUIRED | IS_TEXT | IS_NULL, "why it was paused, if not by a user"},
	{"trouble", .is = REQUIRED | IS_TEXT | IS_NULL, "what last went wrong"},
	{"nodes", .is = REQUIRED | IS_INT, "nodes that are there"},
	{"requests", .is = REQUIRED | IS_LIST, "allocations that are requested or running", .of = &request_row,
	 .item = IS_OBJECT},
	{"allocations", .is = REQUIRED | IS_LIST, "these, and the last 100 that are over", .of = &allocation_row,
	 .item = IS_OBJECT},
	{0},
};
static const struct schema overlay_row = {"Overlay", .fields = overlay_fields};
static const struct field overlays_fields[] = {
	{"overlays", .is = REQUIRED | IS_LIST, .of = &overlay_row, .item = IS_OBJECT},
	{0},
};
const struct schema overlays_answer = {.fields = overlays_fields};

static const struct overlay_request *reported(const struct overlay *o, int64_t id)
{
	static const struct overlay_request unknown = {.state = "unknown"};

	for (size_t i = 0; i < o->requests.n; i++)
		if (o->requests.v[i].id == id)
			return &o->requests.v[i];
	return &unknown;
}

/* It is the first slot of its request. */
static bool slot_first(const struct overlay *o, size_t slot)
{
	for (size_t i = 0; i < slot; i++)
		if (o->slots.v[i].request == o->slots.v[slot].request)
			return false;
	return o->slots.v[slot].request > 0;
}

static bool slot_here(const struct server *s, const struct overlay *o, size_t slot)
{
	uint32_t node;

	return overlay_node(s, o, slot, &node) && agent_connected(&s->hosts->nodes.v[node]);
}

/* Nobody has joined by its token; or somebody has, but is not connected yet, or not again after a restart of this server. */
static bool slot_expects(struct server *s, const struct overlay *o, size_t slot)
{
	const struct token_record *t;
	uint32_t node;
	char id[32];

	if (overlay_node(s, o, slot, &node)) {
		const struct node_info *n = &s->hosts->nodes.v[node];
		bool absent = n->life.link == LINK_CONNECTED && !agent_connected(n);
		return (n->life.link == LINK_JOINED || absent) && !node_withdrawn(&n->life) &&
		       world_cpus_used(s, node) == 0;
	}
	snprintf(id, sizeof id, "j%llu", (unsigned long long)o->slots.v[slot].token);
	t = o->slots.v[slot].token ? token_find(s, id) : NULL;
	return t && t->uses > 0;
}

static void instant_write(struct json *j, const char *name, int64_t at)
{
	if (at)
		json_int(j, name, at);
	else
		json_text(j, name, NULL);
}

static void request_write(struct server *s, const struct overlay *o, int64_t id, struct json *j)
{
	const struct overlay_request *r = reported(o, id);
	int64_t joined = 0, expected = 0;
	char name[64];

	json_open_object(j, NULL);
	json_int(j, "id", id);
	json_text(j, "state", r->state);
	json_text(j, "job", *r->job ? r->job : NULL);
	json_open_array(j, "nodes");
	for (size_t i = 0; i < o->slots.n; i++)
		if (o->slots.v[i].request == id) {
			overlay_node_name(o, i, name);
			json_text(j, NULL, name);
			joined += slot_here(s, o, i);
			expected += slot_expects(s, o, i);
		}
	json_close_array(j);
	json_int(j, "joined", joined);
	json_int(j, "expected", expected);
	instant_write(j, "planned", r->planned);
	json_close_object(j);
}

static void overlay_write(struct server *s, const struct overlay *o, struct json *j)
{
	int64_t here = 0;

	for (size_t i = 0; i < o->slots.n; i++)
		here += slot_here(s, o, i);
	json_text(j, "name", o->name);
	json_text(j, "place", o->place);
	json_text(j, "words", o->words);
	json_int(j, "max_nodes", o->nodes);
	json_int(j, "time", o->seconds);
	json_int(j, "cpus", o->cpus);
	json_int(j, "idle", o->idle);
	json_text(j, "state", o->removed ? "removed" : o->paused ? "paused" : "active");
	json_text(j, "why", o->why);
	json_text(j, "trouble", o->trouble);
	json_int(j, "nodes", here);
	json_open_array(j, "requests");
	for (size_t i = 0; i < o->slots.n; i++)
		if (slot_first(o, i))
			request_write(s, o, o->slots.v[i].request, j);
	json_close_array(j);
}

static void allocations_write(const struct overlay *o, struct json *j)
{
	json_open_array(j, "allocations");
	for (size_t i = 0; i < o->allocations.n; i++) {
		const struct overlay_allocation *a = &o->allocations.v[i];
		json_open_object(j, NULL);
		json_int(j, "id", a->id);
		json_text(j, "job", *a->job ? a->job : NULL);
		json_int(j, "nodes", a->nodes);
		json_int(j, "submitted", a->submitted);
		instant_write(j, "started", a->started);
		instant_write(j, "ended", a->ended);
		json_int(j, "used", a->used);
		json_close_object(j);
	}
	json_close_array(j);
}

void api_overlays(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "overlays");
	for (size_t i = 0; i < s->overlays->list.n; i++) {
		json_open_object(&j, NULL);
		overlay_write(s, s->overlays->list.v[i], &j);
		allocations_write(s->overlays->list.v[i], &j);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

/* ---- changing them ---- */

static const struct field overlay_body_fields[] = {
	{"place", .is = REQUIRED | IS_TEXT, "the other cluster's batch system: slurm, pbs or shunt:CLUSTER", .least = 1,
	 .most = 140, .example = "slurm"},
	{"words", .is = IS_TEXT, "options for its submit command", .most = 4000, .example = "-p long"},
	{"tag", .is = REQUIRED | IS_TEXT, "by which its requests are found there", .least = 1, .most = 191},
	{"max_nodes", .is = REQUIRED | IS_INT, .least = 1, .most = OVERLAY_NODES_MOST},
	{"time", .is = REQUIRED | IS_INT, "seconds of an allocation", .least = 60, .most = 31536000},
	{"cpus", .is = REQUIRED | IS_INT, "CPUs of a node", .least = 1, .most = 65536},
	{"idle", .is = IS_INT, "seconds after which an idle node is released", .least = 1, .most = 31536000,
	 .otherwise = "120"},
	{0},
};
const struct schema overlay_body = {.fields = overlay_body_fields};

static bool place_good(const char *place)
{
	return strcmp(place, "slurm") == 0 || strcmp(place, "pbs") == 0 ||
	       (strncmp(place, "shunt:", 6) == 0 && place[6]);
}

/* A port for its agents, if there is none. */
static bool port_open(struct server *s, const struct call *c)
{
	struct err err = {.text = "this server has no port for other machines"};

	if (*realm_address(s))
		return true;
	if (strcmp(s->conf->listen, "none") != 0 && s->realm->open && s->realm->open(s, &err) == 0 && *realm_address(s))
		return true;
	http_error(c->r, CODE_BAD_STATE, "Nodes can't connect: %s. Set listen in section [cluster] of %s, and restart.",
		   err.text, s->instance->where.conf);
	return false;
}

void api_overlay_put(struct server *s, const struct call *c)
{
	struct strbuf change = {0};
	struct overlay *o;

	if (!name_is_good(c->name) || strlen(c->name) > OVERLAY_NAME_MOST || !conf_node_name_good(c->name)) {
		http_error(
			c->r, CODE_BAD_REQUEST,
			"An overlay's name has up to %d letters, digits, '.', '-' and '_', with a letter or digit first.",
			OVERLAY_NAME_MOST);
		return;
	}
	if (!place_good(text_of(c->body, "place"))) {
		http_error(c->r, CODE_BAD_REQUEST, "place: must be slurm, pbs or shunt:CLUSTER.");
		return;
	}
	if (overlay_find(s, c->name)) {
		http_error(c->r, CODE_BAD_STATE,
			   "There is an overlay %.60s already: remove it first, or choose another name.", c->name);
		return;
	}
	o = overlay_add(s, c->name, text_of(c->body, "place"), text_of(c->body, "words"), text_of(c->body, "tag"));
	if (!port_open(s, c)) {
		overlay_drop(s, o);
		return;
	}
	o->nodes = number_of(c->body, "max_nodes", 1);
	o->seconds = number_of(c->body, "time", 0);
	o->cpus = number_of(c->body, "cpus", 1);
	o->idle = number_of(c->body, "idle", 120);
	overlay_store(s, o);
	world_changed(s);
	strbuf_printf(&change, "up to %lld nodes from %s", (long long)o->nodes, o->place);
	record(s, c, "overlay added", change.text, "remove");
	strbuf_fini(&change);
	reply_empty(s, c->r, 201);
}

static const struct field overlay_patch_fields[] = {
	{"paused", .is = IS_BOOL, "no more allocations are requested; those that there are stay"},
	{"why", .is = IS_TEXT | IS_NULL, "why it is paused", .most = 500},
	{0},
};
const struct schema overlay_patch = {.fields = overlay_patch_fields};

void api_overlay_change(struct server *s, const struct call *c)
{
	struct overlay *o = named(s, c);
	const json_t *paused = json_object_get(c->body, "paused");

	if (!o)
		return;
	if (json_is_false(paused)) {
		o->resumed++;
		o->most = (struct res){0}; /* others may come now */
		overlay_store(s, o);
	}
	if (paused && json_is_true(paused) != o->paused) {
		o->paused = json_is_true(paused);
		overlay_text(&o->why, o->paused ? text_of(c->body, "why") : NULL);
		overlay_text(&o->trouble, NULL);
		overlay_store(s, o);
		record(s, c, o->paused ? "overlay paused" : "overlay resumed", o->why, o->paused ? "resume" : "pause");
	}
	reply_empty(s, c->r, 200);
}

/* Jobs run on its nodes. */
static bool is_used(const struct server *s, const struct overlay *o)
{
	uint32_t node;

	for (size_t i = 0; i < o->slots.n; i++)
		if (overlay_node(s, o, i, &node) && world_cpus_used(s, node) > 0)
			return true;
	return false;
}

/* The keeper cancels what is requested; then it is gone. */
void api_overlay_delete(struct server *s, const struct call *c)
{
	struct overlay *o = named(s, c);

	if (!o)
		return;
	if (is_used(s, o) && !json_is_true(json_object_get(c->body, "force"))) {
		http_error(
			c->r, CODE_BAD_STATE,
			"Jobs run on nodes of overlay %.60s: pause it and wait for their end, or remove it by force, "
			"which sends them back to the queue.",
			c->name);
		return;
	}
	o->removed = true;
	overlay_store(s, o);
	world_changed(s);
	record(s, c, "overlay removed", NULL, NULL);
	reply_empty(s, c->r, 200);
}

static const struct field overlay_delete_fields[] = {
	{"force", .is = IS_BOOL, "jobs on its nodes go back to the queue"},
	{0},
};
const struct schema overlay_delete_body = {.fields = overlay_delete_fields};

/* ---- for the keeper: this server's own process ---- */

static bool keeper_admit(const struct server *s, const struct call *c)
{
	bool own = c->w->by == BY_SOCKET && c->w->uid == s->instance->uid;

	if (!own)
		http_error(c->r, CODE_FORBIDDEN,
			   "This is for the server's own process that requests nodes from other clusters.");
	return own;
}

static const struct field seen_fields[] = {
	{"id", .is = REQUIRED | IS_INT, .least = 1, .most = INT32_MAX},
	{"state", .is = REQUIRED | IS_TEXT, .words = "pending|running|ended"},
	{"job", .is = IS_TEXT | IS_NULL, .most = 63},
	{"planned", .is = IS_INT | IS_NULL},
	{0},
};
static const struct schema seen_row = {.fields = seen_fields};
static const struct field report_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT},
	{"trouble", .is = IS_TEXT | IS_NULL, .most = 1000},
	{"time", .is = IS_INT, "seconds that the cluster grants at most", .least = 0},
	{"requests", .is = IS_LIST, .of = &seen_row, .item = IS_OBJECT},
	{0},
};
static const struct schema report_row = {.fields = report_fields};
static const struct field keeper_fields[] = {
	{"overlays", .is = IS_LIST, .of = &report_row, .item = IS_OBJECT},
	{0},
};
const struct schema keeper_body = {.fields = keeper_fields};

/* Whether something is new. */
static bool allocation_note(const struct server *s, struct overlay_allocation *a, const struct overlay_request *r)
{
	bool runs = a && !a->started && strcmp(r->state, "running") == 0;

	if (!a || (!runs && strcmp(a->job, r->job) == 0))
		return false;
	a->started = runs ? s->clock->now : a->started;
	memcpy(a->job, r->job, sizeof a->job);
	return true;
}

static void report_take(struct server *s, const json_t *report)
{
	struct overlay *o = overlay_find(s, text_of(report, "name"));
	bool news = false;
	const json_t *v;
	size_t i;

	if (!o)
		return;
	overlay_text(&o->trouble, text_of(report, "trouble"));
	o->granted = number_of(report, "time", 0);
	vec_clear(&o->requests);
	json_array_foreach(json_object_get(report, "requests"), i, v)
	{
		struct overlay_request r = {.id = number_of(v, "id", 0), .planned = number_of(v, "planned", 0)};
		snprintf(r.state, sizeof r.state, "%s", text_of(v, "state"));
		snprintf(r.job, sizeof r.job, "%s", text_of(v, "job"));
		vec_push(&o->requests, r);
		news = allocation_note(s, overlay_allocation(o, r.id), &r) || news;
	}
	if (news)
		overlay_store(s, o);
}

/* Releases nodes whose time has come, or that nobody needs. */
static void slots_tend(struct server *s, struct overlay *o, bool keep)
{
	struct err err;
	uint32_t node;

	for (size_t i = 0; i < o->slots.n; i++) {
		struct overlay_slot *slot = &o->slots.v[i];
		if (!overlay_node(s, o, i, &node) || !agent_connected(&s->hosts->nodes.v[node]) ||
		    world_cpus_used(s, node) > 0) {
			slot->idle = 0;
			continue;
		}
		bool over = s->hosts->nodes.v[node].life.service == SERVICE_DRAINED;
		if (!slot->idle || keep)
			slot->idle = s->clock->now;
		if (over || (s->clock->now - slot->idle >= o->idle && s->plan->node[node].pieces.n == 0))
			nodes_remove(s, node, REMOVE_IDLE, BY_OVERLAY,
				     &err); /* refused, if a job has just been started */
	}
}

/* What jobs have used on its nodes since the last turn, perhaps of an earlier process. */
static void used_count(struct server *s, struct overlay *o)
{
	int64_t now = s->clock->now, passed = o->counted && now > o->counted ? now - o->counted : 0;
	bool news = false;
	uint32_t node;

	passed = passed < ABSENCE_MOST ? passed : ABSENCE_MOST;
	o->counted = now;
	for (size_t i = 0; i < o->slots.n; i++) {
		struct overlay_allocation *a = overlay_allocation(o, o->slots.v[i].request);
		if (!a || !overlay_node(s, o, i, &node))
			continue;
		int64_t used = passed * world_cpus_used(s, node);
		news = news || !a->started || (used > 0 && now - o->stored >= STORE_AGAIN);
		a->started = a->started ? a->started : now;
		a->used += used;
	}
	if (news)
		overlay_store(s, o);
}

/* The node that was there last, and its jobs, are over. */
static bool slot_free(const struct server *s, const struct overlay *o, size_t slot)
{
	char name[64];
	uint32_t node;

	overlay_node_name(o, slot, name);
	return o->slots.v[slot].request == 0 && (int64_t)slot < o->nodes &&
	       (!names_find(&s->cluster->node_names, name, &node) || world_node_past(s, node));
}

static int64_t slots_free(const struct server *s, const struct overlay *o)
{
	int64_t n = 0;

	for (size_t i = 0; i < o->slots.n; i++)
		n += slot_free(s, o, i);
	return n;
}

static void work_write(struct server *s, struct overlay *o, struct json *j)
{
	overlay_sizes wants = {0};
	bool keep = false;

	used_count(s, o);
	if (!o->removed)
		overlay_wants(s, o, &wants, &keep);
	slots_tend(s, o, keep || wants.n > 0);
	json_open_object(j, NULL);
	overlay_write(s, o, j);
	json_text(j, "tag", o->tag);
	json_int(j, "last", o->last);
	json_int(j, "resumed", o->resumed);
	json_int(j, "room", slots_free(s, o));
	json_open_array(j, "wants");
	for (size_t i = 0; i < wants.n && !o->paused; i++)
		json_int(j, NULL, wants.v[i]);
	json_close_array(j);
	json_close_object(j);
	vec_free(&wants);
}

/* It tells what the other clusters do, and gets what to ask of them. */
void api_keeper(struct server *s, const struct call *c)
{
	struct strbuf out = {0}, dir = {0};
	struct json j;
	json_t *v;
	size_t i;

	if (!keeper_admit(s, c))
		return;
	json_array_foreach(json_object_get(c->body, "overlays"), i, v) report_take(s, v);
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "server", realm_address(s));
	strbuf_printf(&dir, "%s/overlays", s->instance->where.state);
	json_text(&j, "dir", dir.text);
	strbuf_fini(&dir);
	json_open_array(&j, "overlays");
	for (i = 0; i < s->overlays->list.n; i++)
		work_write(s, s->overlays->list.v[i], &j);
	json_close_array(&j);
	json_close_object(&j);
	reply_later(s, c->r, 200, &out);
}

static const struct field keeper_change_fields[] = {
	{"request", .is = IS_INT, "that is about to be made, or is over", .least = 1, .most = INT32_MAX},
	{"nodes", .is = IS_INT, "nodes that it is for", .least = 1, .most = OVERLAY_NODES_MOST},
	{"over", .is = IS_BOOL, "nobody comes from it any more"},
	{"gone", .is = IS_BOOL, "nothing of the overlay is left on the other cluster"},
	{0},
};
const struct schema keeper_change_body = {.fields = keeper_change_fields};

static void token_end(struct server *s, struct overlay_slot *slot)
{
	struct token_record *t;
	char id[32];

	snprintf(id, sizeof id, "j%llu", (unsigned long long)slot->token);
	t = slot->token ? token_find(s, id) : NULL;
	if (t)
		token_drop(s, t);
	slot->token = 0;
}

/* A request is over: so are its nodes, and whatever runs there goes back to the queue. That the other cluster says so proves nothing of a node that neither
 * can reach: what it runs is waited for as on any node that is silent. */
static void request_over(struct server *s, struct overlay *o, int64_t id)
{
	struct overlay_allocation *a = overlay_allocation(o, id);
	struct err err;
	uint32_t node;

	if (a && !a->ended)
		a->ended = s->clock->now;
	for (size_t i = 0; i < o->slots.n; i++) {
		if (o->slots.v[i].request != id)
			continue;
		token_end(s, &o->slots.v[i]);
		if (overlay_node(s, o, i, &node))
			nodes_remove(s, node, REMOVE_ENDED, BY_OVERLAY, &err);
		o->slots.v[i] = (struct overlay_slot){0};
	}
	overlay_store(s, o);
}

/* A token for each of its nodes: it joins by that name only, once. */
static void request_begin(struct server *s, const struct call *c, struct overlay *o, int64_t id, int64_t nodes)
{
	struct strbuf out = {0};
	struct json j;

	if (o->paused || o->removed || slots_free(s, o) < nodes || id <= o->last) {
		http_error(c->r, CODE_BAD_STATE, "Overlay %.60s is paused, removed or full.", o->name);
		return;
	}
	vec_push(&o->allocations, (struct overlay_allocation){.id = id, .nodes = nodes, .submitted = s->clock->now});
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "tokens");
	for (size_t i = 0; i < o->slots.n && nodes > 0; i++) {
		struct token_record t = {.kind = TOKEN_JOIN, .uses = 1, .expires = s->clock->now + JOIN_LIFE_MAX};
		char name[64], text[TOKEN_SIZE];
		if (!slot_free(s, o, i))
			continue;
		overlay_node_name(o, i, name);
		t.user = mem_strdup(c->w->user);
		t.name = mem_strdup(name);
		t.label = mem_strdup(BY_OVERLAY);
		o->slots.v[i] = (struct overlay_slot){.request = id, .token = token_add(s, &t, text)->number};
		json_text(&j, NULL, text);
		explicit_bzero(text, sizeof text);
		nodes--;
	}
	json_close_array(&j);
	json_close_object(&j);
	o->last = id;
	overlay_store(s, o);
	http_header(c->r, "Cache-Control", "no-store");
	reply_later(s, c->r, 200, &out);
}

static void overlay_gone(struct server *s, struct overlay *o)
{
	for (size_t i = 0; i < o->slots.n; i++)
		if (o->slots.v[i].request)
			request_over(s, o, o->slots.v[i].request);
	overlay_drop(s, o);
}

void api_keeper_change(struct server *s, const struct call *c)
{
	int64_t id = number_of(c->body, "request", 0);
	struct overlay *o;

	if (!keeper_admit(s, c) || !(o = named(s, c)))
		return;
	if (id && !json_is_true(json_object_get(c->body, "over"))) {
		request_begin(s, c, o, id, number_of(c->body, "nodes", 1));
		return;
	}
	if (id)
		request_over(s, o, id);
	else if (o->removed && json_is_true(json_object_get(c->body, "gone")))
		overlay_gone(s, o);
	reply_empty(s, c->r, 200);
}
