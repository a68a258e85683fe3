/*
 * world.c - the cluster as the scheduler sees it: configured and joined nodes, and settings from
 * the server's attributes.
 *
 * Nodes are never forgotten while the server runs, since events refer to them: a removed one is
 * `gone`. The plan is made for a fixed set of nodes; when the set changes, plan and scheduler are
 * made again with the same places.
 */
#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/marks.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/res.h"
#include "plan/insert.h"
#include "plan/pack.h"
#include "plan/plan.h"
#include "rules/amounts.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "rules/leave.h"
#include "rules/limit.h"
#include "rules/partition.h"
#include "rules/queue.h"
#include "run/capacity.h"
#include "sched/entrance.h"
#include "sched/policy.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/book/sharing.h"
#include "server/job/census.h"
#include "server/job/classes.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/migrate.h"
#include "server/life/wait/foresee.h"
#include "server/life/wait/overlay.h"
#include "server/life/wait/priority.h"
#include "server/life/wait/reservations.h"
#include "server/life/world/block.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/world.h"
#include "server/node/nodes.h"
#include "server/node/partitions.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/conf.h"

/* Adds this machine as one node: the CPUs this process may use, neighbours first, as hwloc
 * orders them. */
static int real_node(struct server *s, struct err *err)
{
	hwloc_topology_t topology;
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024);
	name_list gpus = {0};
	int n = 0;

	if (hwloc_topology_init(&topology) < 0 || hwloc_topology_load(topology) < 0)
		return err_set(err, -EIO,
			       "hwloc can't read this machine's CPUs: set nodes = 1x%ld in the configuration",
			       sysconf(_SC_NPROCESSORS_ONLN));

	int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);

	s->instance->cpu_os = mem_zalloc(((size_t)(all > 0 ? all : 1)) * sizeof *s->instance->cpu_os);
	s->instance->cpu_numa = mem_zalloc(((size_t)(all > 0 ? all : 1)) * sizeof *s->instance->cpu_numa);
	for (int i = 0; i < all; i++) {
		hwloc_obj_t cpu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, (unsigned)i);
		s->instance->cpu_numa[n] = cpu->nodeset ? hwloc_bitmap_first(cpu->nodeset) : -1;
		s->instance->cpu_os[n++] = (int)cpu->os_index;
	}
	s->instance->ncpu_numa = n;
	hwloc_topology_destroy(topology);
	if (n == 0)
		n = 1;
	if (strcmp(s->conf->bind, "no") == 0) {
		free(s->instance->cpu_os);
		s->instance->cpu_os = NULL;
	}
	s->instance->real = true;
	capacity_gpus(&gpus);

	struct res total = {.v = {[RES_CPU] = n,
				  [RES_MEM] = memory,
				  [RES_GPU] = (int64_t)gpus.n,
				  [RES_DISK] = capacity_disk(s->instance->where.state),
				  [RES_SWAP] = capacity_swap()}};

	name_list_free(&gpus);
	return world_node_add(s, s->instance->host, &total, err);
}

int world_nodes(struct server *s, struct err *err)
{
	struct conf_nodes nodes;
	int rc = conf_nodes_parse(s->conf->nodes, &nodes, err);

	if (rc < 0)
		return rc;
	s->cluster = cluster_create();
	if (*s->conf->topology)
		rc = topology_open(s->conf->topology, &s->cluster->topology, err);
	if (rc == 0 && nodes.automatic)
		rc = real_node(s, err);
	for (size_t i = 0; i < nodes.node.n && rc == 0; i++) {
		const struct conf_node *n = &nodes.node.v[i];
		struct res total = {.v = {[RES_CPU] = n->cpus,
					  [RES_MEM] = n->memory ? n->memory : INT64_C(1) << 40,
					  [RES_GPU] = n->gpus,
					  [RES_DISK] = n->disk,
					  [RES_SWAP] = n->swap}};
		rc = world_node_add(s, n->name, &total, err);
		for (char **f = n->feature; f && *f && rc == 0; f++)
			rc = cluster_add_feature(s->cluster, (uint32_t)s->cluster->nodes.n - 1, *f, err);
	}
	conf_nodes_fini(&nodes);
	return rc;
}

/* ---- plan and scheduler ---- */

static void settings_apply(struct server *s)
{
	struct err err;

	settings_of_server(&s->cluster->settings, s->attrs);
	sharing_settings(s);
	if (!policy_find(attrs_text(s->attrs, SET_POLICY))->position)
		s->cluster->settings.nights = (struct hours){0};
	/* they are checked before they are set */
	if (priority_settings_of(&s->world->priority, s->attrs, &err) < 0)
		server_log(s, SEVERITY_ERROR, "%s", err.text);
}

static int64_t victim_takes(void *context, uint32_t job)
{
	const struct job *x = entry_job((const struct server *)context, job);

	return leave_takes(x->saving, x->ending);
}

/* Returns how long it takes to stop a running job for an interactive one. A job that could not
 * run again is not stopped. */
static struct yield yield_of(void *context, uint32_t job)
{
	const struct server *s = context;
	const struct entry *e = entry_get(s, job);
	const struct spec *p = e->spec;
	bool saved = e->outcome && e->outcome->saves && e->outcome->saves->last.good;
	struct leave x;

	if (!p || p->interactive || e->intent)
		return (struct yield){.from = TIME_NEVER};
	x = leave_of(s->attrs, entry_job(s, job)->saving, entry_job(s, job)->ending, s->clock->now);
	if (!x.saves && !saved && !p->rerunnable)
		x.from = TIME_NEVER;
	return (struct yield){.takes = x.takes, .from = x.from};
}

/* Returns the policy by name, adjusted by other attributes. */
static const struct policy *policy_now(struct server *s)
{
	const char *name = attrs_text(s->attrs, SET_POLICY);
	const struct policy *p = name ? policy_find(name) : NULL;
	struct err err;

	s->world->policy = p ? *p : *policy_find("shunt");
	/* they are checked before they are set */
	if (policy_alter(&s->world->policy, s->attrs, &err) < 0)
		server_log(s, SEVERITY_ERROR, "%s", err.text);
	return &s->world->policy;
}

static void sched_make(struct server *s)
{
	s->sched = sched_create(s->cluster, s->plan, policy_now(s));
	sched_listen(s->sched, dispatch_listener, s);
	sched_on_delay(s->sched, victim_takes, s);
	sched_on_yield(s->sched, yield_of, s);
	moves_offer(s);
	sched_limit(s->sched, s->limits);
	marks_set_all(census_marks(s)); /* nobody is in line */
	sched_watch(s->sched, census_marks(s));
	if (priority_rules(s))
		sched_on_weigh(s->sched, job_priority, priority_prepare, priority_drifts(&s->world->priority), s);
}

void world_scratch(struct server *s, const struct spec *p)
{
	struct job *job = cluster_job(s->cluster, s->world->scratch);

	job_fill(s, job, p);
	job->submit = s->clock->now;
	job->rank = p->rank;
}

void world_begin(struct server *s)
{
	struct shape one = {.need = {.v = {[RES_CPU] = 1}}};
	struct frag any = {.node = NODE_ANY};

	if (s->plan)
		return;
	partitions_configure(s);
	partitions_lay(s);
	queues_lay(s);
	settings_apply(s);
	amounts_of_server(s->cluster, s->attrs);
	s->gate = gate_create();
	gate_watch(s->gate, census_marks(s));
	s->limits = limits_create();
	s->world->scratch = cluster_add_job(s->cluster)->id;
	rows_add(&s->jobs->entries, sizeof(struct entry));
	any.shape = cluster_shape(s->cluster, &one);
	/* also when there are no nodes yet */
	s->jobs->fallback = cluster_intern(s->cluster, &any, 1);
	s->plan = plan_create(s->cluster);
	sched_make(s);
}

/* Places the fragments one after the other, after a search for all at once has given up. */
static bool could_insert(struct server *s, const struct spec *p, const bool *usable)
{
	struct nodeset on = nodeset_make(usable, (uint32_t)s->hosts->nodes.n, false);
	struct manner m = {.alloc = ALLOC_BEST, .scatter = s->world->policy.scatter, .on = &on};
	struct plan *empty = plan_create(s->cluster);
	bool fits;

	cluster_job(s->cluster, s->world->scratch)->request = p->request;
	cluster_job(s->cluster, s->world->scratch)->allowed = spec_nodes(s, p);
	fits = plan_insert(empty, &m, s->world->scratch, 1, 2);
	plan_destroy(empty);
	free(on.word);
	return fits;
}

/* Returns existing nodes of a set, up or not; the caller frees the array. */
static bool *nodes_usable(const struct server *s, uint32_t allowed)
{
	bool *usable = mem_zalloc((s->hosts->nodes.n + 1) * sizeof *usable);

	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		usable[i] = !node_gone(&s->hosts->nodes.v[i].life) && !node_leaving(&s->hosts->nodes.v[i].life) &&
			    nodeset_has(&s->cluster->nodesets.v[allowed], i);
	return usable;
}

/* Returns whether the nodes could hold it; if not, the error has the reason if it is known. */
static enum fit could_hold(struct server *s, const struct spec *p, uint32_t allowed, struct err *err)
{
	bool *usable = nodes_usable(s, allowed);
	enum fit fit = pack_apart(s->cluster, &s->cluster->requests.v[p->request], p->allowed != NODES_ALL,
				  s->world->policy.scatter, usable, err);

	if (fit == FIT_UNKNOWN && could_insert(s, p, usable))
		fit = FIT_YES;
	if (fit != FIT_YES && overlays_could_hold(s, p->request, allowed))
		fit = FIT_YES;
	free(usable);
	return fit;
}

/* Prefixes the error with the queue's name if the queue restricts the nodes. */
static void queue_prefix(const struct server *s, const struct spec *p, struct err *err)
{
	const struct queue *q = queue_of(s, p->queue);

	if (q && q->nodes != NODES_ALL)
		err_prefix(err, -EINVAL, "on the nodes of queue %.60s (%.200s)", q->name,
			   attrs_text(&q->attrs, SET_NODES));
}

void world_tie(const struct server *s, const struct spec *p, struct strbuf *out)
{
	const struct queue *q = queue_of(s, p->queue);

	if (q && q->nodes != NODES_ALL)
		strbuf_printf(out, "; jobs of queue %s run only on %s", q->name, attrs_text(&q->attrs, SET_NODES));
}

int world_refuse(struct server *s, const struct spec *p, struct err *err)
{
	err_set(err, -EINVAL, "no node could hold it");
	could_hold(s, p, spec_nodes(s, p), err);
	queue_prefix(s, p, err);
	return -EINVAL;
}

void world_misfit(struct server *s, const struct spec *p, struct err *ret)
{
	struct arena *a = arena_create();
	uint32_t request, allowed;
	struct reqtext text;
	bool read = spec_request(s, p, a, &text, ret) == 0;

	if (read && partition_resolve(s->cluster, &text, &request, &allowed, ret) < 0)
		;
	else if (p->request != UINT32_MAX &&
		 pack_refuse_amounts(s->cluster, &s->cluster->requests.v[p->request], ret) < 0)
		;
	else if (p->request != UINT32_MAX && spec_nodes(s, p) != p->allowed)
		world_refuse(s, p, ret);
	else
		err_set(ret, -EINVAL, "no node could hold it, since the nodes have changed");
	arena_destroy(a);
}

enum fit world_could_hold_on(struct server *s, const struct spec *p, uint32_t allowed)
{
	struct err err;

	return could_hold(s, p, allowed, &err);
}

enum fit world_could_hold(struct server *s, const struct spec *p)
{
	uint32_t allowed = spec_nodes(s, p);
	uint64_t key = (uint64_t)allowed << 32 | p->request, fit;

	struct world *w = s->world;
	struct map *known = &w->could;

	/* only tried: its number is another request's when the trial was given up */
	if (s->cluster->requests.v[p->request].held) {
		known = &w->tried;
		if (w->trials != s->cluster->trials)
			map_fini(known);
		w->trials = s->cluster->trials;
	}
	if (!map_get(known, key, &fit)) {
		fit = world_could_hold_on(s, p, allowed);
		map_set(known, key, fit);
	}
	return (enum fit)fit;
}

const struct outage *world_expects(const struct server *s)
{
	const struct world *w = s->world;
	bool later = w->outage.begun && w->outage.until == TIME_NEVER && w->announced.kind;

	return later ? &w->announced : &w->outage;
}

/* Puts an announced outage into the plan, unless jobs may run into it. Once it has begun,
 * nothing is planned before its end; if the end is not known, expected starts are shifted by its
 * duration (client/offline.h). */
void world_outage(struct server *s)
{
	const struct outage *x = world_expects(s);
	bool plans = x->kind && (x->begun ? x->until != TIME_NEVER : x->kind != OUTAGE_LEAVE);

	sched_outage(s->sched, plans ? x->begin : TIME_NEVER, x->until, x->kind == OUTAGE_SAVE, s->clock->now);
	foresee_again(s);
	s->turn->dirty = true;
}

void world_gates(struct server *s)
{
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		s->hosts->nodes.v[i].drained = false;
		s->hosts->nodes.v[i].leaves = 0; /* the plan is new */
		world_node_gate(s, i);
	}
	world_outage(s);
	reservations_lay(s);
}

/* Returns true if ending waiting jobs may take a different time than before; running jobs are
 * ended with the settings of their start. */
static bool endings_update(struct server *s)
{
	bool any = false;

	JOBS_EACH(s, id) {
		const struct spec *p = entry_get(s, id)->spec;
		struct job *job = entry_job(s, id);
		int64_t ending;
		if (!p || entry_ended(s, id) || entry_running(s, id))
			continue;
		ending = ending_of(s, p, job->saving);
		any |= ending != job->ending;
		job->ending = ending;
	}
	return any;
}

void world_endings(struct server *s)
{
	if (endings_update(s))
		world_rebuild(s);
}

/* Returns true if checkpoints of some jobs take a different time than before; most jobs have the
 * same class as the previous one. */
static bool savings_update(struct server *s)
{
	uint32_t checkpoint = 0, class = 0;
	int64_t saving = 0;
	bool any = false;

	JOBS_EACH(s, id) {
		const struct spec *p = entry_get(s, id)->spec;
		if (!p || !p->checkpoint || entry_ended(s, id))
			continue;
		if (p->checkpoint != checkpoint || p->class != class)
			saving = class_saving(s, p);
		checkpoint = p->checkpoint;
		class = p->class;
		any |= entry_job(s, id)->saving != saving;
		entry_job(s, id)->saving = saving;
	}
	return any;
}

void world_savings(struct server *s)
{
	if (savings_update(s) && s->cluster->settings.nights.n)
		sched_rank(s->sched);
	s->turn->dirty = true;
}

/* Applies the site-wide amounts. Returns true if they have changed; all consequences are then
 * handled. */
static bool amounts_configure(struct server *s)
{
	if (!amounts_of_server(s->cluster, s->attrs))
		return false;
	for (uint32_t i = 0; i < s->cluster->amounts.n; i++)
		plan_set_amount(s->plan, i);
	world_changed(s); /* blocks jobs that no longer fit, and may start jobs that waited */
	for (uint32_t i = 0; i < s->cluster->amounts.n; i++) {
		struct amount same = s->cluster->amounts.v[i];
		/* reservations may no longer fit */
		sched_amount(s->sched, i, &same, s->clock->now);
	}
	return true;
}

void world_settings(struct server *s)
{
	struct settings settings = s->cluster->settings;
	struct policy policy = s->world->policy;
	bool prioritized = priority_rules(s), endings;

	settings_apply(s);
	policy_now(s);
	endings = endings_update(s);
	if (amounts_configure(s))
		foresee_again(s);
	else if (memcmp(&settings, &s->cluster->settings, sizeof settings) != 0 ||
		 memcmp(&policy, &s->world->policy, sizeof policy) != 0 || prioritized != priority_rules(s) || endings)
		world_rebuild(s);
	else
		foresee_again(s); /* the forecast depends on limits and weights */
	sched_reweigh(s->sched, priority_drifts(&s->world->priority));
	s->turn->dirty = true;
	moves_offer(s);
	if (savings_update(s) || memcmp(&settings.nights, &s->cluster->settings.nights, sizeof settings.nights) != 0 ||
	    settings.long_saving != s->cluster->settings.long_saving)
		sched_rank(s->sched); /* some jobs have places where they may not run */
}

/* Makes plan and scheduler again, with the places of jobs that run, are reserved, or keep
 * theirs. A scheduler without jobs does not know which are kept: then the places of all
 * candidates are (`folded`). */
static void plan_anew(struct server *s, bool folded)
{
	struct plan *old = s->plan, *p = plan_create(s->cluster);

	plan_advance(p, s->clock->now);
	JOBS_EACH(s, id) {
		const struct job *job = entry_job(s, id);
		bool lives = job->state == STATE_NOW || job->state == STATE_RUNNING;
		bool kept = folded ? job->state == STATE_CANDIDATE : sched_kept(s->sched, id);
		if (!entry_get(s, id)->spec || !plan_holds(old, id) ||
		    (!lives && job->state != STATE_ALLOCATED && !kept))
			continue;
		plan_adopt(p, old, id);
		if (lives)
			plan_run(p, id);
	}
	sched_destroy(s->sched);
	s->plan = p;
	plan_destroy(old);
	sched_make(s);
}

void world_folded(struct server *s)
{
	plan_anew(s, true);
}

void world_rebuild(struct server *s)
{
	settings_apply(s);
	map_fini(&s->world->could);
	map_fini(&s->world->tried);
	foresee_again(s);
	plan_anew(s, false);
	JOBS_EACH(s, id)
		if (entry_get(s, id)->spec)
			sched_restore(s->sched, id, s->clock->now);
	world_gates(s);
	sched_resize(s->sched, s->clock->now);
	s->turn->undecided = s->turn->cycled = true; /* enough for one turn */
}

void world_request(struct server *s, uint32_t id)
{
	struct spec *p = entry_get(s, id)->spec;
	struct job *job = entry_job(s, id);
	bool queued = job_waits(job);
	uint32_t request;

	spec_lay(s, p);
	request = p->request == UINT32_MAX ? s->jobs->fallback : p->request;
	if (job->request == request)
		return;
	if (queued)
		sched_withdraw(s->sched, id, s->clock->now);
	job->request = request;
	if (queued)
		sched_readmit(s->sched, id, s->clock->now);
}

static bool waits(const struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);

	return e->spec && (job_waits(entry_job(s, id)) || entry_job(s, id)->state == STATE_HELD);
}

void world_changed(struct server *s)
{
	partitions_lay(s);
	queues_lay(s);
	JOBS_EACH(s, id)
		if (waits(s, id))
			world_request(s, id);
		else if (entry_get(s, id)->spec)
			spec_lay(s, entry_get(s, id)->spec);
	for (size_t i = 0; i < s->jobs->arrays.n; i++)
		if (s->jobs->arrays.v[i]->spec)
			spec_lay(s, s->jobs->arrays.v[i]->spec);
	world_rebuild(s);
	JOBS_EACH(s, id) {
		if (!waits(s, id))
			continue;
		failures_update(s, id); /* sets its nodes in the new scheduler */
		block_fit(s, id);
	}
	s->turn->route = true;
}
