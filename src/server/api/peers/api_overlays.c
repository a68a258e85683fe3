/*
 * api_overlays.c - API of overlays: listing and changing them, and the tasks and reports of their
 * keeper (`shunt keeper`, site/courier.h).
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/attributes.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/book/audit.h"
#include "server/life/wait/overlay.h"
#include "server/life/world/world.h"
#include "server/link/nodes.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/overlays.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"

#define BY_OVERLAY "its overlay"
#define STORE_AGAIN 60	 /* minimum seconds between two writes of jobs' usage to the store */
#define ABSENCE_MOST 600 /* maximum seconds that allocations last without the server */

/* An overlay as shown in answers, with values computed for that. */
struct subject {
	/* a copy; must be first, so that a body can be read into a plain struct overlay */
	struct overlay overlay;
	struct server *s;
	int64_t here; /* connected nodes */
	int64_t room; /* free slots */
	const overlay_sizes *wants;
};

/* A request of an overlay, as shown in answers. */
struct request_shown {
	struct overlay_request request;
	const struct overlay *overlay;
	int64_t joined, expected; /* numbers of nodes */
};

/* Returns the overlay that the path names; NULL: the request was answered. */
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

/* ---- listing ---- */

static const struct overlay_request *reported(const struct overlay *o, int64_t id)
{
	for (size_t i = 0; i < o->requests.n; i++)
		if (o->requests.v[i].id == id)
			return &o->requests.v[i];
	return NULL;
}

/* Returns true if it is the first slot of its request. */
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

/* Returns true if a slot's node is still to come: its token is unused, or it joined and is not
 * connected yet, or not again after a restart of this server. */
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

static void nodes_show(const struct subject *x, struct json *j)
{
	const struct request_shown *r = (const void *)x;
	char name[64];

	for (size_t i = 0; i < r->overlay->slots.n; i++)
		if (r->overlay->slots.v[i].request == r->request.id) {
			overlay_node_name(r->overlay, i, name);
			json_text(j, NULL, name);
		}
}

#define REQUEST_HAS(member) MEMBER(struct request_shown, member)

static const struct schema request_row = {
	"OverlayRequest",
	FIELDS({"id", .is = REQUIRED | IS_INT, REQUEST_HAS(request.id)},
	       {"state", .is = REQUIRED | IS_TEXT, .words = OVERLAY_STATES,
		MEMBER_AS(FORM_CHOICE, struct request_shown, request.state)},
	       {"job", .is = REQUIRED | IS_TEXT | IS_NULL, "what the other cluster calls it",
		MEMBER_CHARS(struct request_shown, request.job)},
	       {"nodes", .is = REQUIRED | IS_LIST, "nodes of this server that it is for", .item = IS_TEXT,
		.inside = nodes_show},
	       {"joined", .is = REQUIRED | IS_INT, "of these, how many are there", REQUEST_HAS(joined)},
	       {"expected", .is = REQUIRED | IS_INT, "... and how many have not been there yet", REQUEST_HAS(expected)},
	       {"planned", .is = REQUIRED | IS_INSTANT | IS_NULL, "when the other cluster plans to start it",
		REQUEST_HAS(request.planned)})};

static void requests_show(const struct subject *x, struct json *j)
{
	const struct overlay *o = &x->overlay;

	for (size_t i = 0; i < o->slots.n; i++) {
		if (!slot_first(o, i))
			continue;
		const struct overlay_request *seen = reported(o, o->slots.v[i].request);
		struct request_shown r = {.request = {.id = o->slots.v[i].request}, .overlay = o};
		if (seen)
			r.request = *seen;
		for (size_t k = i; k < o->slots.n; k++)
			if (o->slots.v[k].request == r.request.id) {
				r.joined += slot_here(x->s, o, k);
				r.expected += slot_expects(x->s, o, k);
			}
		schema_show(&request_row, NULL, &r, NULL, j);
	}
}

static void allocations_show(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->overlay.allocations.n; i++)
		schema_show(&overlay_allocation_shown, NULL, &x->overlay.allocations.v[i], NULL, j);
}

static void wants_show(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->wants->n && !x->overlay.paused; i++)
		json_int(j, NULL, x->wants->v[i]);
}

static void get_state(const struct subject *x, struct value *v)
{
	v->kind = VALUE_TEXT;
	v->text = x->overlay.removed ? "removed" : x->overlay.paused ? "paused" : "active";
}

/* Where a member occurs: in bodies, in answers, in answers to the keeper. */
enum { GIVEN = 1 << 0, SHOWN = 1 << 1, KEPT = 1 << 2 };
#define HAS(member) MEMBER(struct subject, overlay.member)

static const struct field overlay_fields[] = {
	{"name", .is = REQUIRED | IS_TEXT, .in = SHOWN | KEPT, HAS(name)},
	{"place", .is = REQUIRED | IS_TEXT, "the other cluster's batch system: slurm, pbs or shunt:CLUSTER", .least = 1,
	 .most = 140, .example = "slurm", .in = GIVEN | SHOWN | KEPT, HAS(place)},
	{"words", .is = IS_TEXT, "options for its submit command", .most = 4000, .example = "-p long", .in = GIVEN,
	 HAS(words)},
	{"words", .is = REQUIRED | IS_TEXT, "options for its submit command", .example = "-p long", .in = SHOWN | KEPT,
	 HAS(words)},
	{"tag", .is = REQUIRED | IS_TEXT, "by which its requests are found there", .least = 1, .most = 191,
	 .in = GIVEN | KEPT, HAS(tag)},
	{"max_nodes", .is = REQUIRED | IS_INT, .least = 1, .most = OVERLAY_NODES_MOST, .in = GIVEN | SHOWN | KEPT,
	 HAS(nodes)},
	{"time", .is = REQUIRED | IS_INT, "seconds of an allocation", .least = 60, .most = 31536000,
	 .in = GIVEN | SHOWN | KEPT, HAS(seconds)},
	{"cpus", .is = REQUIRED | IS_INT, "CPUs of a node", .least = 1, .most = 65536, .in = GIVEN | SHOWN | KEPT,
	 HAS(cpus)},
	{"idle", .is = IS_INT, "seconds after which an idle node is released", .least = 1, .most = 31536000,
	 .otherwise = "120", .missing = 120, .in = GIVEN, HAS(idle)},
	{"idle", .is = REQUIRED | IS_INT, "seconds after which an idle node is released", .in = SHOWN | KEPT,
	 HAS(idle)},
	{"state", .is = REQUIRED | IS_TEXT, .words = "active|paused|removed", .in = SHOWN | KEPT, .get = get_state},
	{"why", .is = REQUIRED | IS_TEXT | IS_NULL, "why it was paused, if not by a user", .in = SHOWN | KEPT,
	 HAS(why)},
	{"trouble", .is = REQUIRED | IS_TEXT | IS_NULL, "what last went wrong", .in = SHOWN | KEPT, HAS(trouble)},
	{"nodes", .is = REQUIRED | IS_INT, "nodes that are there", .in = SHOWN | KEPT, MEMBER(struct subject, here)},
	{"requests", .is = REQUIRED | IS_LIST, "allocations that are requested or running", .of = &request_row,
	 .item = IS_OBJECT, .in = SHOWN | KEPT, .inside = requests_show},
	{"allocations", .is = REQUIRED | IS_LIST, "these, and the last 100 that are over",
	 .of = &overlay_allocation_shown, .item = IS_OBJECT, .in = SHOWN, .inside = allocations_show},
	{"last", .is = REQUIRED | IS_INT, .in = KEPT, HAS(last)},
	{"resumed", .is = REQUIRED | IS_INT, .in = KEPT, HAS(resumed)},
	{"room", .is = REQUIRED | IS_INT, .in = KEPT, MEMBER(struct subject, room)},
	{"wants", .is = REQUIRED | IS_LIST, .item = IS_INT, .in = KEPT, .inside = wants_show},
	{0},
};
static const struct schema overlay_row = {"Overlay", .fields = overlay_fields, .in = SHOWN};
static const struct schema overlay_work = {.fields = overlay_fields, .in = KEPT};
const struct schema overlay_body = {.fields = overlay_fields, .in = GIVEN};
static void overlay_show(const struct schema *t, struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->overlay.slots.n; i++)
		x->here += slot_here(x->s, &x->overlay, i);
	schema_show(t, NULL, x, NULL, j);
}

static void overlays_show(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->s->overlays->list.n; i++)
		overlay_show(&overlay_row, &(struct subject){.overlay = *x->s->overlays->list.v[i], .s = x->s}, j);
}

const struct schema overlays_answer = {
	FIELDS({"overlays", .is = REQUIRED | IS_LIST, .of = &overlay_row, .item = IS_OBJECT, .inside = overlays_show})};

void api_overlays(struct server *s, const struct call *c)
{
	api_show(s, c->r, &overlays_answer, &(struct subject){.s = s});
}

/* ---- changing ---- */

static bool place_good(const char *place)
{
	return strcmp(place, "slurm") == 0 || strcmp(place, "pbs") == 0 ||
	       (strncmp(place, "shunt:", 6) == 0 && place[6]);
}

/* Opens a port for agents if there is none. */
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

/* Checks that an overlay like this is allowed. Returns false if the request was answered. */
static bool put_admit(struct server *s, const struct call *c, const struct overlay *given)
{
	bool known = overlay_find(s, c->name);

	if (!name_is_good(c->name) || strlen(c->name) > OVERLAY_NAME_MOST || !conf_node_name_good(c->name))
		http_error(
			c->r, CODE_BAD_REQUEST,
			"An overlay's name has up to %d letters, digits, '.', '-' and '_', with a letter or digit first.",
			OVERLAY_NAME_MOST);
	else if (!place_good(given->place))
		http_error(c->r, CODE_BAD_REQUEST, "place: must be slurm, pbs or shunt:CLUSTER.");
	else if (known)
		http_error(c->r, CODE_BAD_STATE,
			   "There is an overlay %.60s already: remove it first, or choose another name.", c->name);
	else
		return true;
	return false;
}

void api_overlay_put(struct server *s, const struct call *c)
{
	struct strbuf change = {0};
	struct overlay given = {0}, *o;

	call_read(c, &given);
	if (!put_admit(s, c, &given)) {
		record_free(overlay_fields, &given);
		return;
	}
	o = overlay_add(s, c->name, &given);
	if (!port_open(s, c)) {
		overlay_drop(s, o);
		return;
	}
	overlay_store(s, o);
	world_changed(s);
	strbuf_printf(&change, "up to %lld nodes from %s", (long long)o->nodes, o->place);
	record(s, c, "overlay added", change.text, "remove");
	strbuf_fini(&change);
	reply_empty(s, c->r, 201);
}

struct overlay_change {
	const json_t *paused; /* NULL: as before */
	const char *why;
};
const struct schema overlay_patch = {
	FIELDS({"paused", .is = IS_BOOL, "no more allocations are requested; those that there are stay",
		MEMBER(struct overlay_change, paused)},
	       {"why", .is = IS_TEXT | IS_NULL, "why it is paused", .most = 500, MEMBER(struct overlay_change, why)})};

void api_overlay_change(struct server *s, const struct call *c)
{
	struct overlay *o = named(s, c);
	struct overlay_change x;

	if (!o)
		return;
	call_read(c, &x);
	if (json_is_false(x.paused)) {
		o->resumed++;
		o->most = (struct res){0}; /* nodes of other sizes may join now */
		overlay_store(s, o);
	}
	if (x.paused && json_is_true(x.paused) != o->paused) {
		o->paused = json_is_true(x.paused);
		overlay_text(&o->why, o->paused ? x.why : NULL);
		overlay_text(&o->trouble, NULL);
		overlay_store(s, o);
		record(s, c, o->paused ? "overlay paused" : "overlay resumed", o->why, o->paused ? "resume" : "pause");
	}
	reply_empty(s, c->r, 200);
}

/* Returns true if jobs run on its nodes. */
static bool is_used(const struct server *s, const struct overlay *o)
{
	uint32_t node;

	for (size_t i = 0; i < o->slots.n; i++)
		if (overlay_node(s, o, i, &node) && world_cpus_used(s, node) > 0)
			return true;
	return false;
}

/* Marks an overlay for deletion. The keeper cancels its requests, and then it is removed. */
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

const struct schema overlay_delete_body = {FIELDS({"force", .is = IS_BOOL, "jobs on its nodes go back to the queue"})};

/* ---- for the keeper: this server's own process ---- */

static const struct schema seen_row = {
	FIELDS({"id", .is = REQUIRED | IS_INT, .least = 1, .most = INT32_MAX, MEMBER(struct overlay_request, id)},
	       {"state", .is = REQUIRED | IS_TEXT, .words = OVERLAY_STATES,
		MEMBER_AS(FORM_CHOICE, struct overlay_request, state)},
	       {"job", .is = IS_TEXT | IS_NULL, MEMBER_CHARS(struct overlay_request, job)},
	       {"planned", .is = IS_INT | IS_NULL, MEMBER(struct overlay_request, planned)})};
struct report {
	const char *name, *trouble;
	int64_t time;
};
static const struct schema report_row = {
	FIELDS({"name", .is = REQUIRED | IS_TEXT, MEMBER(struct report, name)},
	       {"trouble", .is = IS_TEXT | IS_NULL, .most = 1000, MEMBER(struct report, trouble)},
	       {"time", .is = IS_INT, "seconds that the cluster grants at most", MEMBER(struct report, time)},
	       {"requests", .is = IS_LIST, .of = &seen_row, .item = IS_OBJECT})};
const struct schema keeper_body = {FIELDS({"overlays", .is = IS_LIST, .of = &report_row, .item = IS_OBJECT})};

/* Notes the reported state of an allocation; returns true if it changed. */
static bool allocation_note(const struct server *s, struct overlay_allocation *a, const struct overlay_request *r)
{
	bool runs = a && !a->started && r->state == OVERLAY_RUNNING;

	if (!a || (!runs && strcmp(a->job, r->job) == 0))
		return false;
	a->started = runs ? s->clock->now : a->started;
	memcpy(a->job, r->job, sizeof a->job);
	return true;
}

static void report_take(struct server *s, const json_t *given)
{
	struct report report;
	struct overlay *o;
	bool news = false;
	const json_t *v;
	size_t i;

	record_load(report_row.fields, 0, given, &report, NULL, NULL);
	o = overlay_find(s, report.name);
	if (!o)
		return;
	overlay_text(&o->trouble, report.trouble);
	o->granted = report.time;
	vec_clear(&o->requests);
	json_array_foreach(json_object_get(given, "requests"), i, v)
	{
		struct overlay_request r;
		record_load(seen_row.fields, 0, v, &r, NULL, NULL);
		vec_push(&o->requests, r);
		news = allocation_note(s, overlay_allocation(o, r.id), &r) || news;
	}
	if (news)
		overlay_store(s, o);
}

/* Releases nodes that are due or no longer needed. */
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
				     &err); /* refused if a job has just been started */
	}
}

/* Adds what jobs have used on its nodes since the last count, possibly by an earlier server
 * process. */
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

/* Returns true if the slot's previous node and its jobs are gone. */
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
	overlay_show(&overlay_work, &(struct subject){.overlay = *o, .s = s, .room = slots_free(s, o), .wants = &wants},
		     j);
	vec_free(&wants);
}

/* Answers the keeper, which reports the state of the other clusters, with what to request from
 * them. */
void api_keeper(struct server *s, const struct call *c)
{
	struct strbuf out = {0}, dir = {0};
	struct json j;
	json_t *v;
	size_t i;

	if (!own_admit(s, c, "requests nodes from other clusters"))
		return;
	json_array_foreach(json_object_get(c->body, "overlays"), i, v) report_take(s, v);
	json_begin(&j, &out);
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

struct keeper_change {
	int64_t request, nodes;
	bool over, gone;
};
const struct schema keeper_change_body = {
	FIELDS({"request", .is = IS_INT, "that is about to be made, or is over", .least = 1, .most = INT32_MAX,
		MEMBER(struct keeper_change, request)},
	       {"nodes", .is = IS_INT, "nodes that it is for", .least = 1, .most = OVERLAY_NODES_MOST, .missing = 1,
		MEMBER(struct keeper_change, nodes)},
	       {"over", .is = IS_BOOL, "nobody comes from it any more", MEMBER(struct keeper_change, over)},
	       {"gone", .is = IS_BOOL, "nothing of the overlay is left on the other cluster",
		MEMBER(struct keeper_change, gone)})};

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

/* Ends a request: its nodes are removed, and jobs running there are requeued. The other cluster's
 * word proves nothing about a node that neither can reach: its jobs are waited for as on any silent
 * node. */
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

/* Creates a token for each node of a request; a node joins with it once, under that name only. */
static void request_begin(struct server *s, const struct call *c, struct overlay *o, int64_t id, int64_t nodes)
{
	struct strbuf out = {0};
	struct json j;

	if (o->paused || o->removed || slots_free(s, o) < nodes || id <= o->last) {
		http_error(c->r, CODE_BAD_STATE, "Overlay %.60s is paused, removed or full.", o->name);
		return;
	}
	vec_push(&o->allocations, (struct overlay_allocation){.id = id, .nodes = nodes, .submitted = s->clock->now});
	json_begin(&j, &out);
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
	struct keeper_change x;
	struct overlay *o;

	if (!own_admit(s, c, "requests nodes from other clusters") || !(o = named(s, c)))
		return;
	call_read(c, &x);
	if (x.request && !x.over) {
		request_begin(s, c, o, x.request, x.nodes);
		return;
	}
	if (x.request)
		request_over(s, o, x.request);
	else if (o->removed && x.gone)
		overlay_gone(s, o);
	reply_empty(s, c->r, 200);
}
