/* world_node.c - one node: its record in the store, its resources and their usage, and whether
 * the scheduler may use it. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/res.h"
#include "plan/plan.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/node/health.h"
#include "server/node/nodes.h"
#include "server/node/owners.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "store/store.h"

/* Grows the arrays of used CPUs and GPUs. They never shrink, since jobs may hold CPUs that the
 * node no longer has. */
static void node_room(struct node_info *n, int64_t cpus, int64_t gpus)
{
	if (cpus >= n->cpu_room) {
		n->cpu_used = mem_realloc(n->cpu_used, (size_t)cpus + 1, sizeof *n->cpu_used);
		memset(n->cpu_used + n->cpu_room, 0, (size_t)(cpus + 1 - n->cpu_room) * sizeof *n->cpu_used);
		n->cpu_room = cpus;
	}
	if (n->owner && gpus < 64) /* jobs' indexes follow the owner's */
		gpus = 64;
	if (gpus >= n->gpu_room) {
		n->gpu_used = mem_realloc(n->gpu_used, (size_t)gpus + 1, sizeof *n->gpu_used);
		memset(n->gpu_used + n->gpu_room, 0, (size_t)(gpus + 1 - n->gpu_room) * sizeof *n->gpu_used);
		n->gpu_room = gpus;
	}
}

void world_node_total(const struct node_info *n, int64_t cpus, struct res *total)
{
	total->v[RES_CPU] = n->shared ? 0 : cpus;
	total->v[RES_SHARE] = n->shared ? cpus * SHARE_CPU : 0;
}

static void node_divide(struct server *s, uint32_t node, bool shared)
{
	const struct node *n = &s->cluster->nodes.v[node];
	struct res total = n->total;

	s->hosts->nodes.v[node].shared = shared;
	world_node_total(&s->hosts->nodes.v[node], node_cpus(n), &total);
	world_node_size(s, node, &total);
}

int world_node_share(struct server *s, uint32_t node, bool shared, struct err *err)
{
	const struct plan_node *p = &s->plan->node[node];
	const char *name = names_get(&s->cluster->node_names, node);

	if (s->hosts->nodes.v[node].shared == shared)
		return 0;
	if (s->cluster->nodes.v[node].partition != PARTITION_NONE)
		return err_code(err, CODE_BAD_STATE, "node %s is in a partition: its jobs have whole nodes", name);
	for (size_t i = 0; i < p->pieces.n; i++)
		if (p->pieces.v[i].live)
			return err_code(
				err, CODE_BAD_STATE,
				"node %s has jobs: take it out of service ('shunt nodes offline %s'), and change 'shared' when they have ended",
				name, name);
	node_divide(s, node, shared);
	return 0;
}

int64_t world_share_used(const struct server *s, uint32_t node)
{
	return s->cluster->nodes.v[node].total.v[RES_SHARE] -
	       timeline_at(&s->plan->node[node].line, s->clock->now)[1 + RES_SHARE];
}

int world_node_add(struct server *s, const char *name, const struct res *total, struct err *err)
{
	struct node_info n = {.cpus_limit = -1, .gpus_limit = -1};
	int rc = cluster_add_node(s->cluster, name, total, err);

	if (rc < 0)
		return rc;
	node_room(&n, node_cpus(&s->cluster->nodes.v[s->cluster->nodes.n - 1]), total->v[RES_GPU]);
	vec_push(&s->hosts->nodes, n);
	return 0;
}

/* ---- in the store ---- */

enum { OF_ANY = 1 << 0, OF_JOINED = 1 << 1 };
#define HAS(member) MEMBER(struct node_info, member)

static const struct field size_rows[] = {
	{"memory", MEMBER(struct node, total.v[RES_MEM])},
	{"gpus", MEMBER(struct node, total.v[RES_GPU])},
	{"disk", MEMBER(struct node, total.v[RES_DISK])},
	{"swap", MEMBER(struct node, total.v[RES_SWAP])},
	{"speed", .missing = SPEED_USUAL, MEMBER(struct node, speed)},
	{0},
};

static const struct field info_rows[] = {
	{"shared", .in = OF_ANY, HAS(shared)},
	{"note", .in = OF_ANY, HAS(note)},
	{"unwell", .in = OF_JOINED, HAS(unwell)},
	{"join", .in = OF_JOINED, HAS(join)},
	{"certified", .in = OF_JOINED, HAS(certified)},
	{"features", .in = OF_JOINED, HAS(features)},
	{"class", .in = OF_JOINED, HAS(class)},
	{"cpus_limit", .in = OF_JOINED, .missing = -1, HAS(cpus_limit)},
	{"gpus_limit", .in = OF_JOINED, .missing = -1, HAS(gpus_limit)},
	{0},
};

/* Its life before the first event in the store. */
static const struct field base_rows[] = {
	{"at", HAS(base.at)}, {"since", HAS(base.since)}, {"claimed", HAS(base.claimed)}, {"seq", HAS(base_seq)}, {0},
};

static void base_store(const struct node_info *n, struct json *j)
{
	json_open_object(j, "base");
	json_text(j, "service", node_service_name(n->base.service));
	json_text(j, "link", node_link_name(n->base.link));
	record_store(base_rows, 0, n, NULL, j);
	json_close_object(j);
}

static int word_of(const json_t *o, const char *key, int (*named)(const char *name))
{
	const char *word_ = json_string_value(json_object_get(o, key));
	int n = word_ ? named(word_) : -1;

	return n > 0 ? n : 0;
}

/* Restores the base. A record without one is from a store without node events, and has flags
 * instead. */
static int base_restore(struct node_info *n, const json_t *record, bool configured, struct err *err)
{
	const json_t *base = json_object_get(record, "base");
	bool joined = json_is_true(json_object_get(record, "joined"));
	int rc = 0;

	if (base) {
		n->base.service = (uint8_t)word_of(base, "service", node_service_named);
		n->base.link = (uint8_t)word_of(base, "link", node_link_named);
		rc = record_load(base_rows, 0, base, n, NULL, err);
	} else {
		n->base.service = !joined && !configured			     ? SERVICE_GONE
				  : json_is_true(json_object_get(record, "leaving")) ? SERVICE_LEAVING
				  : json_is_true(json_object_get(record, "offline")) ? SERVICE_OFFLINE
										     : SERVICE_IN;
		n->base.link = !joined					      ? LINK_NONE
			       : json_is_true(json_object_get(record, "met")) ? LINK_CONNECTED
									      : LINK_JOINED;
	}
	n->life = n->base;
	return rc;
}

static int restore_joined(struct server *s, uint32_t node, const json_t *o, struct err *err)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	int rc = record_load(info_rows, OF_JOINED, o, n, NULL, err);

	if (rc < 0)
		return rc;
	if (n->join >= s->hosts->next_join)
		s->hosts->next_join = n->join + 1;
	if (world_node_features(s, node, err) < 0)
		server_log(s, SEVERITY_ERROR, "node %s: %s", names_get(&s->cluster->node_names, node), err->text);
	return agent_restore(s, node, o, err);
}

int world_node_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	int64_t cpus = json_integer_value(json_object_get(o, "cpus"));
	bool joined = json_is_true(json_object_get(o, "joined"));
	struct node size = {0};
	struct node_info *n;
	uint32_t node;
	int rc = record_load(size_rows, 0, o, &size, NULL, err);

	if (rc < 0)
		return rc;
	size.total.v[RES_CPU] = cpus;
	if (!names_find(&s->cluster->node_names, name, &node)) {
		if (cpus < 1)
			return err_set(err, -EINVAL, "it has no CPUs");
		rc = world_node_add(s, name, &size.total, err);
		node = (uint32_t)s->hosts->nodes.n - 1;
		if (rc == 0 && joined)
			rc = restore_joined(s, node, o, err);
		if (rc < 0)
			return rc;
		if (!joined)
			return base_restore(&s->hosts->nodes.v[node], o, false, err);
	}
	n = &s->hosts->nodes.v[node];
	rc = base_restore(n, o, node < s->hosts->here, err);
	if (rc == 0)
		rc = record_load(info_rows, OF_ANY, o, n, NULL, err);
	if (rc == 0)
		rc = health_restore(s, node, o, err);
	if (rc < 0)
		return rc;
	owner_restore(n, o);
	if (n->owner)
		owner_plan(s, node);
	if (size.speed > 0 && size.speed <= SPEED_MAX)
		s->cluster->nodes.v[node].speed = size.speed;
	if (n->shared)
		node_divide(s, node, true);
	node_room(n, cpus, size.total.v[RES_GPU]);
	return 0;
}

void world_node_store(struct server *s, uint32_t node)
{
	const struct node *n = &s->cluster->nodes.v[node];
	const struct node_info *info = &s->hosts->nodes.v[node];
	bool joined = node_joined(&info->life);
	struct strbuf text = {0};
	struct json j;

	json_begin(&j, &text);
	json_int(&j, "cpus", node_cpus(n));
	record_store(size_rows, 0, n, NULL, &j);
	base_store(info, &j);
	record_store(info_rows, joined ? OF_ANY | OF_JOINED : OF_ANY, info, NULL, &j);
	health_store(s, info, &j);
	if (joined) {
		json_bool(&j, "joined", true);
		owner_store(info, &j);
		agent_store(info, &j);
	}
	json_close_object(&j);
	store_put_object(s->store, "node", names_get(&s->cluster->node_names, node), text.text);
	strbuf_fini(&text);
}

void world_node_size(struct server *s, uint32_t node, const struct res *total)
{
	if (res_equal(&s->cluster->nodes.v[node].total, total))
		return;
	if (s->sched) { /* reservations may no longer fit */
		sched_drain(s->sched, node, true, s->clock->now);
		s->hosts->nodes.v[node].drained = true;
	}
	cluster_resize_node(s->cluster, node, total);
	node_room(&s->hosts->nodes.v[node], node_cpus(&s->cluster->nodes.v[node]), total->v[RES_GPU]);
}

int world_node_features(struct server *s, uint32_t node, struct err *err)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	char *copy = mem_strdup(n->features ? n->features : ""), *rest = copy, *word_;
	int rc = 0;

	cluster_drop_features(s->cluster, node);
	while (rc == 0 && (word_ = strsep(&rest, ",")))
		if (*word_)
			rc = cluster_add_feature(s->cluster, node, word_, err);
	if (rc == 0 && n->class)
		rc = cluster_add_feature(s->cluster, node, n->class, err);
	free(copy);
	return rc;
}

/* Opens or closes a node for the scheduler. Out of service: running jobs continue, and all
 * reservations are dropped. Only away (the connection was just lost, or does not exist yet after
 * a server start): nothing new is placed there, and existing reservations wait. */
void world_node_gate(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	bool out = node_withdrawn(&n->life) || node_unheard(&n->life) || node_claimed(&n->life) || n->unwell ||
		   health_out(n),
	     away = node_joined(&n->life) && !agent_connected(n);
	int64_t leaves = n->life.at;

	if (!s->sched)
		return;
	if (out != n->drained)
		sched_drain(s->sched, node, out, s->clock->now);
	n->drained = out;
	if (leaves != n->leaves)
		sched_leaves(s->sched, node, leaves ? leaves : TIME_NEVER, s->clock->now);
	n->leaves = leaves;
	if (!out && sched_node_open(s->sched, node) == away)
		sched_pause(s->sched, node, away, s->clock->now);
	s->turn->dirty = true;
}

static int64_t count_used(const bool *used, int64_t n)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += used[i];
	return sum;
}

void world_cpus_mark(struct node_info *n, const int32_t *cpu, int32_t count, bool used)
{
	for (int32_t i = 0; i < count; i++) {
		n->cpus_held += used - n->cpu_used[cpu[i]];
		n->cpu_used[cpu[i]] = used;
	}
}

int64_t world_cpus_used(const struct server *s, uint32_t node)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	int64_t cpus = s->cluster->nodes.v[node].total.v[RES_CPU];

	if (node_divided(&s->cluster->nodes.v[node])) /* partly used CPUs count as used */
		return (world_share_used(s, node) + SHARE_CPU - 1) / SHARE_CPU;
	/* jobs may hold CPUs that the node no longer has */
	return n->cpu_room == cpus ? n->cpus_held : count_used(n->cpu_used, cpus);
}

int64_t world_gpus_used(const struct server *s, uint32_t node)
{
	const struct node_info *n = &s->hosts->nodes.v[node];

	return count_used(n->gpu_used, n->owner ? n->gpu_room : s->cluster->nodes.v[node].total.v[RES_GPU]);
}

bool world_node_past(const struct server *s, uint32_t node)
{
	return node_gone(&s->hosts->nodes.v[node].life) && s->plan->node[node].pieces.n == 0 &&
	       world_cpus_used(s, node) == 0;
}
