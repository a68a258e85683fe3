/*
 * agents.c - links from other hosts, and their frames (docs/protocol.md).
 *
 * The listener passes on links whose certificate is this cluster's. That is not enough: the node
 * must be joined, with the same join that its certificate names, so that a removed node is shut out
 * although its certificate has not expired.
 *
 * The engine handles parts of jobs: it gets the link once the host has sent its inventory, and
 * every frame that is not handled here. nodes.c handles the consequences for the node.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "engine/engine.h"
#include "engine/errands.h"
#include "engine/files.h"
#include "engine/frames.h"
#include "engine/tasks.h"
#include "net/link.h"
#include "net/protocol.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/life/world/lives.h"
#include "server/link/agents.h"
#include "server/link/claims.h"
#include "server/link/nodes.h"
#include "server/link/standby.h"
#include "server/node/nodes.h"
#include "server/node/owners.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/revoke.h"
#include "tls/pki.h"
#include "tls/revoked.h"

#define NODE_NONE UINT32_MAX

/* A link. It can outlive its host's use of it: a new connection of the host replaces it. */
struct visit {
	struct server *s;
	struct link *link;
	uint32_t node;	/* NODE_NONE: the server's machine, or it was shut out */
	uint64_t join;	/* join of a node that the store does not know yet */
	bool greeted;	/* its hello was answered */
	bool dismissed; /* it is being closed: its frames are ignored */
};

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n);
static void on_closed(void *context, struct link *l, const char *reason);
static bool readmit(struct visit *v, const json_t *hello);

static const struct link_events events = {.frame = on_frame, .closed = on_closed};

static const char *name_of(const struct visit *v)
{
	return names_get(&v->s->cluster->node_names, v->node);
}

static struct node_info *info_of(const struct visit *v)
{
	return &v->s->hosts->nodes.v[v->node];
}

static struct host_settings settings_of(const struct server *s, uint32_t node)
{
	return (struct host_settings){.cgroup = s->conf->cgroup,
				      .root_jobs = s->conf->root_jobs || !s->instance->multi,
				      .health_program = s->conf->health,
				      .health_every = (int)s->conf->health_every,
				      .health_seconds = (int)s->conf->health_timeout,
				      .certificate_life = s->conf->certificate_life,
				      .workstation = owner_policy(&s->hosts->nodes.v[node])};
}

/* Sends a frame to all agents; value is borrowed. */
static void agents_tell(struct server *s, const char *type, const char *key, json_t *value)
{
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		if (agent_connected(&s->hosts->nodes.v[i]))
			link_pack(s->hosts->nodes.v[i].agent->visit->link, NULL, 0, "{s:s,s:O}", "t", type, key, value);
}

/* Sends settings to the agents of the nodes in a range. */
static void settings_send(struct server *s, uint32_t first, uint32_t end)
{
	json_t *servers = NULL;

	for (uint32_t i = first; i < end; i++) {
		struct link *l = agents_link_of(s, i);
		if (!l)
			continue;
		servers = servers ? servers : agents_servers(s);
		link_record(l, "settings", &settings_frame,
			    &(struct welcome){.settings = settings_of(s, i), .servers = servers});
	}
	json_decref(servers);
}

void agents_setting(struct server *s, uint32_t node)
{
	settings_send(s, node, node + 1);
}

void agents_settings(struct server *s)
{
	settings_send(s, 0, (uint32_t)s->hosts->nodes.n);
}

/* ---- coming and going ---- */

static void dismiss(struct visit *v, const char *reason)
{
	v->dismissed = true;
	link_close(v->link, reason);
}

static void refuse(struct visit *v, int retry, const char *reason)
{
	link_record(v->link, "sorry", &sorry_frame, &(struct sorry){.reason = reason, .retry = retry});
	dismiss(v, reason);
}

/* Detaches the host from its link, which may still be open. */
static void part_from(struct visit *v)
{
	struct agent *a = info_of(v)->agent;

	a->visit = NULL;
	a->since = v->s->clock->now;
	v->s->hosts->agents_at = 0;
	engine_host_down(v->s->engine, name_of(v));
	world_node_gate(v->s, v->node);
}

void agents_cut(struct server *s, uint32_t node, int retry, const char *reason)
{
	struct visit *v = s->hosts->nodes.v[node].agent->visit;

	if (!v)
		return;
	part_from(v);
	if (retry)
		refuse(v, retry, reason);
	else
		dismiss(v, reason);
}

/* Sets the address where other hosts reach it. Returns true if it has changed. */
static bool address_set(struct visit *v, int port)
{
	struct agent *a = info_of(v)->agent;
	char host[64], now[sizeof a->address] = "";

	link_address(v->link, host, sizeof host);
	if (port > 0 && port < 65536 && *host)
		snprintf(now, sizeof now, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
	bool moved = strcmp(now, a->address) != 0;
	memcpy(a->address, now, sizeof now);
	return moved;
}

static void welcome(const struct visit *v)
{
	struct server *s = v->s;
	json_t *servers = agents_servers(s), *revoked = revoked_json(s),
	       *spool = s->hosts->lease ? s->hosts->lease(s, v->node) : NULL;

	link_record(v->link, "welcome", &welcome_frame,
		    &(struct welcome){.protocol = PROTOCOL,
				      .version = SHUNT_VERSION,
				      .epoch = s->realm->epoch,
				      .name = name_of(v),
				      .servers = servers,
				      .ca = s->realm->authority.cert,
				      .heartbeat = (int)s->conf->heartbeat,
				      .settings = settings_of(s, v->node),
				      .revoked = revoked,
				      .spool = spool});
	json_decref(servers);
	json_decref(revoked);
	json_decref(spool);
}

/* Returns true if another machine has this node's key, such as a copy of its disk. The machine
 * that connected first remains the node while it is alive; alternating between them would make
 * each one's jobs count as lost. */
static bool has_double(const struct visit *v)
{
	const struct agent *a = info_of(v)->agent;
	char here[64], there[64];

	if (!a->visit || v->s->clock->boot_us - a->heard_us > 3 * v->s->conf->heartbeat * INT64_C(1000000))
		return false;
	link_address(v->link, here, sizeof here);
	link_address(a->visit->link, there, sizeof there);
	return strcmp(here, there) != 0;
}

static void on_hello(struct visit *v, const json_t *head)
{
	struct server *s = v->s;
	struct agent *a = info_of(v)->agent;
	struct hello h;
	struct err err;
	char from[64];
	int rc = record_load(hello_frame.fields, 0, head, &h, NULL, &err);

	if (rc == 0 && h.protocol < PROTOCOL_OLDEST)
		rc = err_set(&err, -EPROTO,
			     "the agent has protocol %d, and this server works with %d or newer: upgrade shunt-agent",
			     h.protocol, PROTOCOL_OLDEST);
	if (rc < 0) {
		server_log(s, SEVERITY_WARNING, "refused node %s: %s", name_of(v), err.text);
		refuse(v, 60, err.text);
		return;
	}
	if (facts_check(h.facts, &err) < 0) {
		server_log(s, SEVERITY_WARNING, "node %s reported invalid facts: %s", name_of(v), err.text);
		refuse(v, 60, err.text);
		return;
	}
	if (h.epoch > s->realm->epoch) {
		server_log(s, SEVERITY_WARNING, "refused node %s: it obeys a server that took the lead after this one",
			   name_of(v));
		refuse(v, 10, "this server began to lead before the one that you obey");
		return;
	}
	if (has_double(v)) {
		link_address(v->link, from, sizeof from);
		server_log(s, SEVERITY_WARNING,
			   "refused %s, which claims to be node %s: that node is connected from %s", from, name_of(v),
			   a->address);
		refuse(v, 30, "another machine is connected as this node: join by another name");
		return;
	}
	agents_cut(s, v->node, 0, "the host has connected again");
	a->visit = v;
	a->ended = false;
	v->greeted = true;
	snprintf(a->version, sizeof a->version, "%s", h.version ? h.version : "");
	a->protocol = h.protocol;
	bool moved = address_set(v, h.port);

	welcome(v);
	node_arrived(s, v->node, h.facts, moved);
	server_log(s, SEVERITY_NOTICE, "node %s is connected (%s, version %s, protocol %d)", name_of(v), a->address,
		   a->version, a->protocol);
	engine_host_up(s->engine, name_of(v), v->link, h.inventory);
}

/* ---- frames ---- */

static void on_ping(struct visit *v, const json_t *head)
{
	struct agent *a = info_of(v)->agent;
	struct ping p;
	struct err err;

	if (record_load(ping_frame.fields, 0, head, &p, NULL, &err) < 0) {
		dismiss(v, err.text);
		return;
	}
	link_record(v->link, "pong", &pong_frame, &(struct ping){.n = p.n, .now = v->s->clock->now});
	a->state = p.state;
	a->timed = p.now >= 0 && p.now < DURATION_MAX * 10;
	/* uses the machine's clock: clock->now may be ahead */
	a->ahead = a->timed ? p.now - (int64_t)time(NULL) : 0;
	node_heard(v->s, v->node, p.health);
	claim_heard(v->s, v->node, p.owner);
}

static void on_renew(struct visit *v, const json_t *head)
{
	const json_t *csr = json_object_get(head, "csr");
	struct strbuf cert = {0};
	struct err err;
	int rc = json_is_string(csr) ? realm_certify(v->s, json_string_value(csr), json_string_length(csr), name_of(v),
						     info_of(v)->join, &cert, &err)
				     : err_set(&err, -EINVAL, "no request came with it");

	if (rc < 0)
		server_log(v->s, SEVERITY_ERROR, "the certificate of node %s can't be renewed: %s", name_of(v),
			   err.text);
	else {
		node_certified(v->s, v->node);
		link_expire(v->link, v->s->clock->now + v->s->conf->certificate_life);
		link_pack(v->link, NULL, 0, "{s:s,s:s}", "t", "certificate", "certificate", strbuf_text(&cert));
	}
	strbuf_fini(&cert);
}

static void on_facts(struct visit *v, const json_t *head)
{
	const json_t *facts = json_object_get(head, "facts");
	struct err err;

	if (facts_check(facts, &err) < 0)
		server_log(v->s, SEVERITY_WARNING, "node %s reported invalid facts: %s", name_of(v), err.text);
	else
		node_facts(v->s, v->node, facts);
}

/* Handles the first frame of a link, which states its purpose. Links for tasks come from hosts
 * of the same job, including the server's own machine. */
static void on_first(struct visit *v, const char *type, json_t *head)
{
	if (strcmp(type, "hello") == 0 && v->join && !readmit(v, head))
		return;
	if (strcmp(type, "hello") == 0 && v->node != NODE_NONE) {
		on_hello(v, head);
	} else if (strcmp(type, "task") == 0 && v->s->realm->tasks) {
		struct link *l = v->link;
		struct tasks *t = v->s->realm->tasks;
		free(v);
		tasks_serve(t, l, head);
	} else if (strcmp(type, "file") == 0 && engine_errands(v->s->engine)) {
		struct link *l = v->link;
		struct files *f = errands_files(engine_errands(v->s->engine));
		free(v);
		files_serve(f, l, head);
	} else if (strcmp(type, "stream") == 0 && v->node != NODE_NONE &&
		   v->s->hosts->stream(v->s, v->node, v->link, head)) {
		free(v);
	} else {
		dismiss(v, "it does not say what it is for");
	}
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct visit *v = context;
	const char *type = json_string_value(json_object_get(head, "t"));

	clock_read(v->s);
	if (v->dismissed || !type || !lead_holds(v->s))
		return;
	if (!v->greeted)
		on_first(v, type, head);
	else if (info_of(v)->agent->visit != v) /* the node has another link now */
		return;
	else if (strcmp(type, "ping") == 0)
		on_ping(v, head);
	else if (strcmp(type, "stops") == 0)
		info_of(v)->agent->ended = true;
	else if (strcmp(type, "renew") == 0)
		on_renew(v, head);
	else if (strcmp(type, "facts") == 0)
		on_facts(v, head);
	else if ((strcmp(type, "kept") == 0 || strcmp(type, "emptied") == 0) && v->s->hosts->kept)
		v->s->hosts->kept(v->s, v->node, head, data, n);
	else
		engine_frame(v->s->engine, name_of(v), head, data, n);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct visit *v = context;

	clock_read(v->s);
	if (v->greeted && info_of(v)->agent && info_of(v)->agent->visit == v) {
		server_log(v->s, SEVERITY_WARNING, "node %s has left: %s", name_of(v), reason);
		info_of(v)->agent->ended |= link_orphaned(l);
		part_from(v);
	}
	free(v);
}

/* Returns true for a node that joined after the store was copied, if the store is a restored
 * backup: the authority vouches for it, and this server has not assigned the number of its join
 * since it began to lead. */
static bool is_news(struct server *s, const struct cert_names *who)
{
	uint32_t node;

	return who->join >= s->realm->join_floor && !revoked_has(revoked_list(s), who) &&
	       (!names_find(&s->cluster->node_names, who->name, &node) || s->hosts->nodes.v[node].join < who->join);
}

/* Accepts such a node under its own join number. */
static bool readmit(struct visit *v, const json_t *hello)
{
	struct server *s = v->s;
	struct cert_names who;
	struct err err;

	link_peer(v->link, &who);
	if (nodes_join(s, who.name, json_object_get(hello, "facts"), BY_SERVER, &v->join, &err) < 0) {
		server_log(s, SEVERITY_ERROR, "node %s is newer than the store and can't be added: %s", who.name,
			   err.text);
		refuse(v, 60, err.text);
		return false;
	}
	server_log(s, SEVERITY_NOTICE, "node %s joined after the store was copied: adding it again", who.name);
	names_find(&s->cluster->node_names, who.name, &v->node);
	v->join = 0;
	return true;
}

void agents_link(struct server *s, struct link *l)
{
	struct visit *v = mem_zalloc(sizeof *v);
	struct cert_names who;
	uint32_t node;

	*v = (struct visit){.s = s, .link = l, .node = NODE_NONE};
	link_peer(l, &who);
	link_events_set(l, &events, v);
	if (who.role == CERT_SERVER) {
		link_trust(l);
		return;
	}
	if (who.role == CERT_NODE && is_news(s, &who)) {
		v->join = who.join;
		link_trust(l);
		return;
	}
	if (who.role != CERT_NODE || !names_find(&s->cluster->node_names, who.name, &node) ||
	    !node_joined(&s->hosts->nodes.v[node].life) || s->hosts->nodes.v[node].join != who.join ||
	    node_expelled(s, node)) {
		server_log(s, SEVERITY_WARNING, "refused a host with the certificate of node %.60s, which was removed",
			   who.name);
		refuse(v, -1, "this node was removed from the cluster");
		return;
	}
	v->node = node;
	link_trust(l);
}

struct link *agents_link_of(const struct server *s, uint32_t node)
{
	return agent_connected(&s->hosts->nodes.v[node]) ? s->hosts->nodes.v[node].agent->visit->link : NULL;
}

/* ---- stopping ---- */

void agents_bye(struct server *s)
{
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		if (agent_connected(&s->hosts->nodes.v[i]))
			link_pack(s->hosts->nodes.v[i].agent->visit->link, NULL, 0, "{s:s}", "t", "bye");
}

bool agents_unsent(const struct server *s)
{
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		if (agent_connected(&s->hosts->nodes.v[i]) && link_queued(s->hosts->nodes.v[i].agent->visit->link))
			return true;
	return false;
}

void revoke_turn(struct server *s)
{
	json_t *news = revoked_news(s);

	if (news)
		agents_tell(s, "revoked", "nodes", news);
	json_decref(news);
}
