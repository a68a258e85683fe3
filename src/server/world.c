/*
 * world.c - the cluster as the scheduler sees it: nodes by the configuration, settings by the server's attributes.
 */
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/server_internal.h"

static int node_add(struct server *s, const char *name, int64_t cpus, int64_t memory, int64_t gpus, struct err *err)
{
	struct res total = {.v = {[RES_CPU] = cpus, [RES_MEM] = memory, [RES_GPU] = gpus}};
	int rc = cluster_add_node(s->cluster, name, &total, err);

	if (rc < 0)
		return rc;
	vec_push(&s->nodes, (struct node_info){.cpu_used = mem_zalloc((size_t)cpus + 1)});
	return 0;
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

int world_node_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	int64_t cpus = json_integer_value(json_object_get(o, "cpus"));
	const char *note = json_string_value(json_object_get(o, "note"));
	uint32_t node;

	if (!names_find(&s->cluster->node_names, name, &node)) {
		int rc;
		if (cpus < 1)
			return err_set(err, -EINVAL, "it has no CPUs");
		rc = node_add(s, name, cpus, json_integer_value(json_object_get(o, "memory")),
			      json_integer_value(json_object_get(o, "gpus")), err);
		if (rc < 0)
			return rc;
		s->nodes.v[s->nodes.n - 1].gone = true;
		return 0;
	}
	s->nodes.v[node].offline = json_is_true(json_object_get(o, "offline"));
	s->nodes.v[node].note = note && *note ? mem_strdup(note) : NULL;
	if (cpus > s->cluster->nodes.v[node].total.v[RES_CPU]) /* jobs may hold CPUs that it no longer has */
		s->nodes.v[node].cpu_used = mem_realloc(s->nodes.v[node].cpu_used, (size_t)cpus + 1, 1);
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
	json_close_object(&j);
	store_put_object(s->store, "node", names_get(&s->cluster->node_names, node), text.text);
	strbuf_fini(&text);
}

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
	struct reqtext one;
	struct arena *a;

	if (s->plan)
		return;
	settings_apply(s);
	s->scratch = cluster_add_job(s->cluster)->id;
	vec_push(&s->entries, (struct entry){0});
	a = arena_create();
	reqtext_init(&one);
	cluster_request(s->cluster, &one, &s->fallback, NULL);
	arena_destroy(a);
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
		s->empty->node[i].up = !s->nodes.v[i].gone;
	job->request = request;
	mark = plan_begin(s->empty);
	s->could.v[request] = plan_insert(s->empty, &m, s->scratch, 1, 2) ? 1 : 2;
	plan_rollback(s->empty, mark);
	plan_forget(s->empty, s->scratch);
	return s->could.v[request] == 1;
}

void world_rebuild(struct server *s)
{
	struct plan *old = s->plan, *p;

	settings_apply(s);
	vec_clear(&s->could);
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
	for (uint32_t i = 0; i < s->nodes.n; i++)
		if (s->nodes.v[i].offline || s->nodes.v[i].gone)
			sched_drain(s->sched, i, true, s->now);
	s->dirty = true;
}
