/* lives.c - events of nodes and queues. */
#include "server/life/world/lives.h"

#include <string.h>

#include "base/heap.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/job/jobs.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"

void life_record(struct server *s, const char *kind, const char *name, const char *type, const struct cause *why)
{
	struct store_life e = {.seq = s->jobs->next_seq++,
			       .kind = kind,
			       .name = name,
			       .time = s->clock->now,
			       .at = why->at,
			       .type = type,
			       .who = why->who,
			       .reason = why->reason && *why->reason ? why->reason : NULL};

	store_put_life(s->store, &e);
	if (strcmp(kind, "queue") == 0)
		store_trim_life(s->store, kind, name, LIFE_KEPT);
	s->post->show_life(s, &e);
}

/* Drops the older events of a node; its present life becomes its base. */
static void node_trim(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];

	n->base = n->life;
	n->base_seq = n->last_seq;
	n->nevents = 0;
	store_trim_life(s->store, "node", names_get(&s->cluster->node_names, node), LIFE_KEPT);
	world_node_store(s, node);
}

int node_happens(struct server *s, uint32_t node, enum node_event_type type, const struct cause *why, struct err *err)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	struct node_event e = {.time = s->clock->now, .at = why->at, .type = type};
	bool first = n->life.service == SERVICE_NONE;
	int rc = node_apply(&n->life, &e, err);

	if (rc < 0)
		return rc;
	if (first) /* an earlier node of that name is a different one */
		n->base_seq = s->jobs->next_seq - 1;
	if (type == NODE_DRAIN)
		heap_push(&s->agenda->retries, why->at, node, TIMER_CLOSE);
	life_record(s, "node", names_get(&s->cluster->node_names, node), node_event_name(type), why);
	n->last_seq = s->jobs->next_seq - 1;
	if (++n->nevents >= 2 * LIFE_KEPT || type == NODE_GO)
		node_trim(s, node);
	return 0;
}

bool node_maybe(struct server *s, uint32_t node, enum node_event_type type, const struct cause *why)
{
	return node_may(&s->hosts->nodes.v[node].life, type) && node_happens(s, node, type, why, NULL) == 0;
}

static const struct {
	const char *kind, *type, *words;
} sentences[] = {
	{"node", "added", "is in the configuration"},
	{"node", "joined", "joined the cluster"},
	{"node", "connected", "connected"},
	{"node", "silent", "is down: its agent is silent"},
	{"node", "lost", "is lost: its jobs were given up"},
	{"node", "offline", "taken offline"},
	{"node", "online", "put back into service"},
	{"node", "drain", "to be out of service at"},
	{"node", "drained", "out of service, as planned"},
	{"node", "leaving", "being removed"},
	{"node", "gone", "removed"},
	{"node", "unhealthy", "unhealthy"},
	{"node", "healthy", "healthy again"},
	{"node", "altered", "changed"},
	{"node", "claimed", "claimed by its owner"},
	{"node", "released", "released by its owner"},
	{"queue", "created", "created"},
	{"queue", "deleted", "deleted"},
	{"queue", "altered", "changed"},
	{"queue", "started", "started: its jobs may run"},
	{"queue", "stopped", "stopped: its jobs wait"},
	{"queue", "enabled", "enabled: it takes jobs"},
	{"queue", "disabled", "disabled: it takes no jobs"},
};

void life_words(const struct store_life *e, struct strbuf *out)
{
	const char *words = e->type;
	char when[32];

	for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
		if (strcmp(sentences[i].kind, e->kind) == 0 && strcmp(sentences[i].type, e->type) == 0)
			words = sentences[i].words;
	strbuf_puts(out, words);
	if (e->at)
		strbuf_printf(out, " %s", instant_format(e->at, when, sizeof when));
	if (e->who)
		strbuf_printf(out, ", by %s", e->who);
	if (e->reason)
		strbuf_printf(out, ": %s", e->reason);
}

/* ---- recovery ---- */

int life_restore(struct server *s, const struct store_life *e, struct err *err)
{
	struct node_info *n;
	int type = node_event_named(e->type);
	uint32_t node;

	if (e->seq >= s->jobs->next_seq)
		s->jobs->next_seq = e->seq + 1;
	if (strcmp(e->kind, "node") != 0 || !names_find(&s->cluster->node_names, e->name, &node))
		return 0; /* its node or queue is gone: kept to be shown */
	n = &s->hosts->nodes.v[node];
	if (e->seq <= n->base_seq)
		return 0;
	if (type < 0)
		return err_set(err, -EINVAL, "unknown event '%.20s' of a node", e->type);
	n->nevents++;
	n->last_seq = e->seq;
	return node_apply(&n->life, &(struct node_event){.time = e->time, .at = e->at, .type = type}, err);
}

/* Applies the present configuration to a node. */
static void node_settle(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	bool configured = node < s->hosts->here;

	/* the configuration now has a node with the name of a joined machine */
	if (node_joined(&n->life) && configured)
		node_maybe(s, node, NODE_GO,
			   &(struct cause){.who = BY_SERVER, .reason = "the configuration has a node of its name"});
	if (configured)
		node_maybe(s, node, NODE_ADD, &(struct cause){.who = BY_SERVER});
	else if (!node_joined(&n->life))
		node_maybe(s, node, NODE_GO,
			   &(struct cause){.who = BY_SERVER, .reason = "it is not in the configuration any more"});
	if (n->life.service == SERVICE_CLOSING)
		heap_push(&s->agenda->retries, n->life.at, node, TIMER_CLOSE);
}

void lives_settle(struct server *s)
{
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		node_settle(s, i);
}

void life_due(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];

	if (n->life.service != SERVICE_CLOSING || n->life.at > s->clock->now)
		return;
	node_maybe(s, node, NODE_CLOSE, &(struct cause){.who = BY_SERVER});
	server_log(s, SEVERITY_NOTICE, "node %s is out of service, as planned",
		   names_get(&s->cluster->node_names, node));
	world_node_gate(s, node);
}
