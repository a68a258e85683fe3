/*
 * world.c - the cluster as the scheduler sees it: nodes by the configuration and by those that joined, settings by the server's attributes.
 *
 * Nodes are never forgotten while the server runs, since events name them: one that was removed is `gone`. The plan is made for a given set of
 * nodes; when that changes, plan and scheduler are made anew with the same places.
 */
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/server_internal.h"

/* How many CPUs and GPUs can be marked as used: never fewer than before, since jobs may hold what it no longer has. */
static void node_room(struct node_info *n, int64_t cpus, int64_t gpus)
{
	if (cpus >= n->cpu_room) {
		n->cpu_used = mem_realloc(n->cpu_used, (size_t)cpus + 1, sizeof *n->cpu_used);
		memset(n->cpu_used + n->cpu_room, 0, (size_t)(cpus + 1 - n->cpu_room) * sizeof *n->cpu_used);
		n->cpu_room = cpus;
	}
	if (gpus >= n->gpu_room) {
		n->gpu_used = mem_realloc(n->gpu_used, (size_t)gpus + 1, sizeof *n->gpu_used);
		memset(n->gpu_used + n->gpu_room, 0, (size_t)(gpus + 1 - n->gpu_room) * sizeof *n->gpu_used);
		n->gpu_room = gpus;
	}
}

int world_node_add(struct server *s, const char *name, const struct res *total, struct err *err)
{
	struct node_info n = {.cpus_limit = -1, .gpus_limit = -1};
	int rc = cluster_add_node(s->cluster, name, total, err);

	if (rc < 0)
		return rc;
	node_room(&n, total->v[RES_CPU], total->v[RES_GPU]);
	vec_push(&s->nodes, n);
	return 0;
}

static int node_add(struct server *s, const char *name, int64_t cpus, int64_t memory, int64_t gpus, struct err *err)
{
	struct res total = {.v = {[RES_CPU] = cpus, [RES_MEM] = memory, [RES_GPU] = gpus}};

	return world_node_add(s, name, &total, err);
}

/* This machine as one node: the CPUs this process may use, neighbours first as hwloc orders them. */
static int real_node(struct server *s, struct err *err)
{
	hwloc_topology_t topology;
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024);
	int n = 0;

	if (hwloc_topology_init(&topology) < 0 || hwloc_topology_load(topology) < 0)
		return err_set(err, -EIO,
			       "hwloc can't read this machine's CPUs: set nodes = 1x%ld in the configuration",
			       sysconf(_SC_NPROCESSORS_ONLN));

	int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);

	s->cpu_os = mem_zalloc(((size_t)(all > 0 ? all : 1)) * sizeof *s->cpu_os);
	for (int i = 0; i < all; i++)
		s->cpu_os[n++] = (int)hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)i)->os_index;
	hwloc_topology_destroy(topology);
	if (n == 0)
		n = 1;
	if (strcmp(s->conf.bind, "no") == 0) {
		free(s->cpu_os);
		s->cpu_os = NULL;
	}
	s->real = true;
	return node_add(s, s->host, n, memory, 0, err);
}

int world_nodes(struct server *s, struct err *err)
{
	struct conf_nodes nodes;
	int rc = conf_nodes_parse(s->conf.nodes, &nodes, err);

	if (rc < 0)
		return rc;
	s->cluster = cluster_create();
	if (nodes.automatic)
		rc = real_node(s, err);
	for (size_t i = 0; i < nodes.node.n && rc == 0; i++) {
		const struct conf_node *n = &nodes.node.v[i];
		rc = node_add(s, n->name, n->cpus, n->memory ? n->memory : INT64_C(1) << 40, n->gpus, err);
		for (char **f = n->feature; f && *f && rc == 0; f++)
			rc = cluster_add_feature(s->cluster, (uint32_t)s->cluster->nodes.n - 1, *f, err);
	}
	conf_nodes_fini(&nodes);
	return rc;
}

/* ---- one node ---- */

/* A joined node's features and class: what the store has. */
static int restore_joined(struct server *s, uint32_t node, const json_t *o, struct err *err)
{
	struct node_info *n = &s->nodes.v[node];
	const char *features = json_string_value(json_object_get(o, "features")),
		   *class = json_string_value(json_object_get(o, "class"));
	const json_t *cpus = json_object_get(o, "cpus_limit"), *gpus = json_object_get(o, "gpus_limit");

	n->joined = true;
	n->join = (uint64_t)json_integer_value(json_object_get(o, "join"));
	n->leaving = json_is_true(json_object_get(o, "leaving"));
	n->features = features && *features ? mem_strdup(features) : NULL;
	n->class = class && *class ? mem_strdup(class) : NULL;
	n->cpus_limit = cpus ? json_integer_value(cpus) : -1;
	n->gpus_limit = gpus ? json_integer_value(gpus) : -1;
	if (n->join >= s->next_join)
		s->next_join = n->join + 1;
	if (world_node_features(s, node, err) < 0)
		server_say(s, "node %s: %s", names_get(&s->cluster->node_names, node), err->text);
	return agent_restore(s, node, o, err);
}

int world_node_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	int64_t cpus = json_integer_value(json_object_get(o, "cpus"));
	const char *note = json_string_value(json_object_get(o, "note"));
	bool joined = json_is_true(json_object_get(o, "joined"));
	uint32_t node;

	if (!names_find(&s->cluster->node_names, name, &node)) {
		int rc;
		if (cpus < 1)
			return err_set(err, -EINVAL, "it has no CPUs");
		rc = node_add(s, name, cpus, json_integer_value(json_object_get(o, "memory")),
			      json_integer_value(json_object_get(o, "gpus")), err);
		node = (uint32_t)s->nodes.n - 1;
		if (rc == 0 && joined)
			rc = restore_joined(s, node, o, err);
		if (rc < 0)
			return rc;
		s->nodes.v[node].gone = !joined;
		if (!joined)
			return 0;
	}
	s->nodes.v[node].offline = json_is_true(json_object_get(o, "offline"));
	s->nodes.v[node].note = note && *note ? mem_strdup(note) : NULL;
	node_room(&s->nodes.v[node], cpus, json_integer_value(json_object_get(o, "gpus")));
	return 0;
}

void world_node_store(struct server *s, uint32_t node)
{
	const struct node *n = &s->cluster->nodes.v[node];
	const struct node_info *info = &s->nodes.v[node];
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, false);
	json_open_object(&j, NULL);
	json_int(&j, "cpus", n->total.v[RES_CPU]);
	json_int(&j, "memory", n->total.v[RES_MEM]);
	json_int(&j, "gpus", n->total.v[RES_GPU]);
	if (info->offline)
		json_bool(&j, "offline", true);
	if (info->note)
		json_text(&j, "note", info->note);
	if (info->joined) {
		json_bool(&j, "joined", true);
		json_int(&j, "join", (int64_t)info->join);
		if (info->leaving)
			json_bool(&j, "leaving", true);
		if (info->features)
			json_text(&j, "features", info->features);
		if (info->class)
			json_text(&j, "class", info->class);
		if (info->cpus_limit >= 0)
			json_int(&j, "cpus_limit", info->cpus_limit);
		if (info->gpus_limit >= 0)
			json_int(&j, "gpus_limit", info->gpus_limit);
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
	if (s->sched) { /* what was reserved there may not fit any more */
		sched_drain(s->sched, node, true, s->now);
		s->nodes.v[node].drained = true;
	}
	node_room(&s->nodes.v[node], total->v[RES_CPU], total->v[RES_GPU]);
	cluster_resize_node(s->cluster, node, total);
}

int world_node_features(struct server *s, uint32_t node, struct err *err)
{
	const struct node_info *n = &s->nodes.v[node];
	char *copy = mem_strdup(n->features ? n->features : ""), *rest = copy, *word_;
	int rc = 0;

	s->cluster->nodes.v[node].features = 0;
	while (rc == 0 && (word_ = strsep(&rest, ",")))
		if (*word_)
			rc = cluster_add_feature(s->cluster, node, word_, err);
	if (rc == 0 && n->class)
		rc = cluster_add_feature(s->cluster, node, n->class, err);
	free(copy);
	return rc;
}

/* Out of service: its running jobs go on, and nothing that was reserved there stays. Only away (the connection was lost a moment ago, or is not there
 * yet since the server has just been started): nothing new goes there, and what was promised there waits. */
void world_node_gate(struct server *s, uint32_t node)
{
	struct node_info *n = &s->nodes.v[node];
	bool out = n->offline || n->gone || n->leaving || n->down || n->unwell, away = n->joined && !agent_connected(n);

	if (!s->sched)
		return;
	if (out != n->drained)
		sched_drain(s->sched, node, out, s->now);
	n->drained = out;
	if (!out && s->plan->node[node].up == away)
		sched_pause(s->sched, node, away, s->now);
	s->dirty = true;
}

static int64_t count_used(const bool *used, int64_t n)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += used[i];
	return sum;
}

int64_t world_cpus_used(const struct server *s, uint32_t node)
{
	return count_used(s->nodes.v[node].cpu_used, s->cluster->nodes.v[node].total.v[RES_CPU]);
}

int64_t world_gpus_used(const struct server *s, uint32_t node)
{
	return count_used(s->nodes.v[node].gpu_used, s->cluster->nodes.v[node].total.v[RES_GPU]);
}

bool world_node_past(const struct server *s, uint32_t node)
{
	return s->nodes.v[node].gone && s->plan->node[node].pieces.n == 0 && world_cpus_used(s, node) == 0;
}

/* ---- plan and scheduler ---- */

static void settings_apply(struct server *s)
{
	struct settings *x = &s->cluster->settings;
	int64_t starve = attrs_number(&s->attrs, "starve_after");

	x->tolerance = attrs_number(&s->attrs, "tolerance");
	x->starve_after = starve >= 0 ? starve : STARVE_AUTO;
	x->migrate_cost = -1;
}

/* The policy by name, with what node_pack says of it. */
static const struct policy *policy_now(struct server *s)
{
	const char *name = attrs_text(&s->attrs, "policy");
	const struct policy *p = name ? policy_find(name) : NULL;

	s->policy = p ? *p : *policy_find("shunt");
	if (attrs_is_set(&s->attrs, "node_pack")) {
		s->policy.alloc = ALLOC_BEST;
		s->policy.scatter = !attrs_bool(&s->attrs, "node_pack");
	}
	return &s->policy;
}

void world_begin(struct server *s)
{
	struct shape one = {.need = {.v = {[RES_CPU] = 1}}};
	struct frag any = {.node = NODE_ANY};

	if (s->plan)
		return;
	settings_apply(s);
	s->scratch = cluster_add_job(s->cluster)->id;
	vec_push(&s->entries, (struct entry){0});
	any.shape = cluster_shape(s->cluster, &one);
	s->fallback = cluster_intern(s->cluster, &any, 1); /* also when there are no nodes yet */
	s->plan = plan_create(s->cluster);
	s->sched = sched_create(s->cluster, s->plan, policy_now(s));
	sched_listen(s->sched, dispatch_listener, s);
}

bool world_could_hold(struct server *s, uint32_t request)
{
	struct job *job = cluster_job(s->cluster, s->scratch);
	struct manner m = {.alloc = ALLOC_BEST, .scatter = s->policy.scatter};
	plan_mark mark;

	while (s->could.n <= request)
		vec_push(&s->could, 0);
	if (s->could.v[request])
		return s->could.v[request] == 1;
	if (!s->empty)
		s->empty = plan_create(s->cluster);
	for (uint32_t i = 0; i < s->nodes.n; i++)
		s->empty->node[i].up = !s->nodes.v[i].gone && !s->nodes.v[i].leaving;
	job->request = request;
	mark = plan_begin(s->empty);
	s->could.v[request] = plan_insert(s->empty, &m, s->scratch, 1, 2) ? 1 : 2;
	plan_rollback(s->empty, mark);
	plan_forget(s->empty, s->scratch);
	return s->could.v[request] == 1;
}

void world_gates(struct server *s)
{
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		s->nodes.v[i].drained = false;
		world_node_gate(s, i);
	}
}

void world_rebuild(struct server *s)
{
	struct plan *old = s->plan, *p;

	settings_apply(s);
	vec_clear(&s->could);
	plan_destroy(s->empty);
	s->empty = NULL;
	s->expected_at = 0;
	p = plan_create(s->cluster);
	plan_advance(p, s->now);
	for (uint32_t id = 1; id < s->entries.n; id++) {
		const struct job *job = entry_job(s, id);
		bool lives = job->state == STATE_NOW || job->state == STATE_RUNNING;
		if (!s->entries.v[id].spec || (!lives && job->state != STATE_ALLOCATED) || !plan_holds(old, id))
			continue;
		for (uint32_t i = 0; i < old->holds.v[id].nfrags; i++) {
			const struct piece *x = plan_piece(old, id, i);
			plan_put(p, id, i, plan_place(old, id, i)->node, x->start, x->end);
		}
		if (lives)
			plan_run(p, id);
	}
	sched_destroy(s->sched);
	s->plan = p;
	plan_destroy(old);
	s->sched = sched_create(s->cluster, s->plan, policy_now(s));
	sched_listen(s->sched, dispatch_listener, s);
	for (uint32_t id = 1; id < s->entries.n; id++)
		if (s->entries.v[id].spec)
			sched_restore(s->sched, id, s->now);
	world_gates(s);
}

/* A job whose request could not be read when the server came up, since it named what was not there: perhaps it is now. */
static void request_again(struct server *s, uint32_t id)
{
	struct spec *p = s->entries.v[id].spec, found = {0};
	const char *resources = word(s, p->resources);
	struct arena *a = arena_create();
	struct reqtext text;
	struct err err;

	if (p->request == UINT32_MAX && spec_request(s, &resources, 1, word(s, p->queue), a, &text, &found, &err) == 0)
		p->request = found.request;
	if (p->request != UINT32_MAX)
		entry_job(s, id)->request = p->request;
	arena_destroy(a);
}

static bool waits(const struct server *s, uint32_t id)
{
	const struct entry *e = &s->entries.v[id];

	return e->spec && (job_waits(entry_job(s, id)) || entry_job(s, id)->state == STATE_HELD);
}

void world_changed(struct server *s)
{
	for (uint32_t id = 1; id < s->entries.n; id++)
		if (waits(s, id) && s->entries.v[id].block & BLOCK_MISFIT)
			request_again(s, id);
	world_rebuild(s);
	for (uint32_t id = 1; id < s->entries.n; id++) {
		const struct spec *p = s->entries.v[id].spec;
		if (!waits(s, id))
			continue;
		if (p->request == UINT32_MAX || !world_could_hold(s, p->request))
			block_set(s, id, BLOCK_MISFIT);
		else
			block_clear(s, id, BLOCK_MISFIT);
	}
	s->waiting_offers = true;
}
