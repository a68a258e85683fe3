/*
 * overlay.c - see overlay.h.
 */
#include "server/life/wait/overlay.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/job.h"
#include "plan/pack.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/explain.h"
#include "server/base/clock.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/life/state.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"

/* jobs found to be limited in one look, at most; the next look continues from there */
#define LIMITS_MOST 500
#define LAG 30 /* seconds until the agents of an allocation have joined */

void overlay_node_name(const struct overlay *o, size_t slot, char ret[64])
{
	snprintf(ret, 64, "%.*s-%zu", OVERLAY_NAME_MOST, o->name, slot + 1);
}

bool overlay_node(const struct server *s, const struct overlay *o, size_t slot, uint32_t *ret)
{
	char name[64];

	overlay_node_name(o, slot, name);
	return names_find(&s->cluster->node_names, name, ret) && node_joined(&s->hosts->nodes.v[*ret].life);
}

/* ---- which jobs ---- */

/* Returns true if a node could hold the shape. Only the CPUs of such a node are known. */
static bool shape_fits(const struct overlay *o, const struct shape *x)
{
	if (x->features || x->divided || x->need.v[RES_CPU] > o->cpus || x->need.v[RES_GPU] > 0)
		return false;
	for (int i = RES_NAMED; i < RES_MAX; i++)
		if (x->need.v[i] > 0)
			return false;
	return true;
}

/* Packs the fragments, largest first, each on the first node with room. */
static int64_t pack(const struct server *s, const struct overlay *o, const struct request *r)
{
	bool alone = s->world->policy.scatter || r->whole != WHOLE_NOT;
	int64_t *room = mem_zalloc((size_t)(o->nodes + 1) * sizeof *room), used = 0;

	for (uint32_t i = r->nfrags; i-- > 0 && used >= 0;) {
		const struct shape *x = &s->cluster->shapes.v[r->frag[i].shape];
		int64_t at = 0, cpus = alone || x->exclusive ? o->cpus : x->need.v[RES_CPU];
		while (at < used && room[at] < cpus)
			at++;
		if (at == o->nodes) {
			used = 0;
			break;
		}
		if (at == used)
			room[used++] = o->cpus;
		room[at] -= cpus;
	}
	free(room);
	return used;
}

/* Returns the number of the overlay's nodes that a request takes; 0: it could not run there. */
static int64_t overlay_needs(const struct server *s, const struct overlay *o, uint32_t request, uint32_t allowed)
{
	const struct request *r = &s->cluster->requests.v[request];

	if (r->nfrags == 0 || r->nfixed || r->total.v[RES_CPU] > o->cpus * o->nodes ||
	    !s->cluster->nodesets.v[allowed].rest)
		return 0;
	for (uint32_t i = 0; i < r->nfrags; i++)
		if ((i == 0 || r->frag[i].shape != r->frag[i - 1].shape) &&
		    !shape_fits(o, &s->cluster->shapes.v[r->frag[i].shape]))
			return 0;
	return pack(s, o, r);
}

/* Returns a resource of which a fragment needs more than any node so far had, so that further
 * nodes would be useless; RES_MAX: none. */
static int lacks(const struct server *s, const struct overlay *o, uint32_t request, int64_t *ret_needs)
{
	static const int dims[] = {RES_MEM, RES_DISK, RES_SWAP};
	const struct request *r = &s->cluster->requests.v[request];

	for (uint32_t i = 0; i < r->nfrags && o->most.v[RES_CPU] > 0; i++)
		for (size_t k = 0;
		     k < sizeof dims / sizeof *dims && (i == 0 || r->frag[i].shape != r->frag[i - 1].shape); k++) {
			*ret_needs = s->cluster->shapes.v[r->frag[i].shape].need.v[dims[k]];
			if (*ret_needs > o->most.v[dims[k]])
				return dims[k];
		}
	return RES_MAX;
}

/* Records the resources of nodes, which are known once they have joined. */
static void most_note(struct server *s, struct overlay *o)
{
	bool more = false;
	uint32_t node;

	for (size_t i = 0; i < o->slots.n; i++)
		for (int d = 0; overlay_node(s, o, i, &node) && d < RES_MAX; d++)
			if (s->cluster->nodes.v[node].total.v[d] > o->most.v[d]) {
				o->most.v[d] = s->cluster->nodes.v[node].total.v[d];
				more = true;
			}
	if (more)
		overlay_store(s, o);
}

bool overlays_could_hold(const struct server *s, uint32_t request, uint32_t allowed)
{
	struct err err;

	if (pack_refuse_amounts(s->cluster, &s->cluster->requests.v[request], &err) < 0)
		return false;
	for (size_t i = 0; i < s->overlays->list.n; i++)
		if (!s->overlays->list.v[i]->removed && overlay_needs(s, s->overlays->list.v[i], request, allowed) > 0)
			return true;
	return false;
}

/* Returns the longest walltime that a new node has time for, seconds. */
static int64_t overlay_longest(const struct server *s, const struct overlay *o)
{
	int64_t seconds = o->granted && o->granted < o->seconds ? o->granted : o->seconds;

	return seconds - attrs_number(s->attrs, SET_KILL_DELAY) - LEAVES_EARLY - LAG - s->cluster->settings.tolerance;
}

/* Returns the number of nodes that were requested and have not joined yet. */
static int64_t nodes_coming(const struct server *s, const struct overlay *o)
{
	int64_t n = 0;
	uint32_t node;

	for (size_t i = 0; i < o->slots.n; i++)
		n += o->slots.v[i].request && o->slots.v[i].token && !overlay_node(s, o, i, &node);
	return n;
}

void overlays_why(const struct server *s, uint32_t id, struct strbuf *out)
{
	const struct job *job = entry_job(s, id);
	char needs[32], most[32];
	int64_t amount;
	int what;

	if (!job_waits(job) || gate_blocks(s->gate, id))
		return;
	for (size_t i = 0; i < s->overlays->list.n; i++) {
		const struct overlay *o = s->overlays->list.v[i];
		int64_t longest = overlay_longest(s, o);
		if (overlay_needs(s, o, job->request, job->allowed) == 0)
			continue;
		if (job->walltime > longest)
			strbuf_printf(
				out,
				"; no allocation is requested from overlay %s: it needs %s, and an allocation of %s has %s for jobs",
				o->name, duration_human(job->walltime, needs, sizeof needs), o->name,
				duration_human(longest > 0 ? longest : 0, most, sizeof most));
		else if ((what = lacks(s, o, job->request, &amount)) != RES_MAX)
			strbuf_printf(
				out,
				"; no allocation is requested from overlay %s: it needs %s of %s on a node, and nodes of %s had %s",
				o->name, memory_human(amount, needs, sizeof needs), res_kib(what), o->name,
				memory_human(o->most.v[what], most, sizeof most));
		else if (o->paused)
			strbuf_printf(out, "; overlay %s is paused%s%s: 'shunt overlay resume %s'", o->name,
				      o->why ? ", since " : "", o->why ? o->why : "", o->name);
		else if (o->trouble)
			strbuf_printf(out, "; overlay %s: %s", o->name, o->trouble);
		else if ((amount = nodes_coming(s, o)) > 0)
			strbuf_printf(out, "; %lld node%s requested from overlay %s and not here yet",
				      (long long)amount, amount == 1 ? " is" : "s are", o->name);
	}
}

/* ---- how many ---- */

struct supply {
	VEC(int64_t) ends; /* instants at which the idle nodes leave */
};

static bool node_idle(const struct server *s, uint32_t node)
{
	const struct node_info *n = &s->hosts->nodes.v[node];

	return agent_connected(n) && !node_unheard(&n->life) && !node_withdrawn(&n->life) &&
	       world_cpus_used(s, node) == 0;
}

static void supply_find(const struct server *s, const struct overlay *o, struct supply *ret)
{
	uint32_t node;

	for (size_t i = 0; i < o->slots.n; i++)
		if (overlay_node(s, o, i, &node) && node_idle(s, node))
			vec_push(&ret->ends,
				 s->hosts->nodes.v[node].life.at ? s->hosts->nodes.v[node].life.at : INT64_MAX);
}

/* Takes up to `n` nodes that stay until `end`; returns how many. */
static int64_t supply_take(struct supply *p, int64_t n, int64_t end)
{
	int64_t taken = 0;

	for (size_t i = p->ends.n; i-- > 0 && taken < n;)
		if (p->ends.v[i] >= end) {
			vec_remove(&p->ends, i);
			taken++;
		}
	return taken;
}

void overlay_wants(struct server *s, struct overlay *o, overlay_sizes *ret, bool *ret_keep)
{
	int64_t longest = overlay_longest(s, o), wanted = 0, room = 0, needs = 0, amount;
	uint32_t request = UINT32_MAX, allowed = UINT32_MAX; /* request and set of `needs` */
	/* spec whose elements are kept from starting by a limit */
	const struct spec *limited = NULL;
	struct supply idle = {0};
	struct limit_reached reached;
	struct strbuf limit = {0};
	int64_t over;

	*ret_keep = false;
	most_note(s, o);
	supply_find(s, o, &idle);
	uint32_t id = o->from < s->jobs->entries.n ? o->from : 0, asked = 0;
	for (id = rows_next(&s->jobs->entries, id ? id : 1);
	     id < s->jobs->entries.n && wanted < o->nodes && asked < LIMITS_MOST;
	     id = rows_next(&s->jobs->entries, id + 1)) {
		const struct job *job = entry_job(s, id);
		if (!entry_get(s, id)->spec || !job_waits(job) || gate_blocks(s->gate, id) || job->walltime > longest)
			continue;
		if (job->request != request || job->allowed != allowed)
			needs = lacks(s, o, job->request, &amount) == RES_MAX
					? overlay_needs(s, o, job->request, job->allowed)
					: 0;
		request = job->request;
		allowed = job->allowed;
		if (needs == 0 || entry_get(s, id)->spec == limited)
			continue;
		strbuf_clear(&limit);
		if (sched_limit_text(s->sched, id, &reached, &over, &limit)) {
			limited = entry_get(s, id)->spec;
			asked++;
			continue;
		}
		int64_t there = supply_take(&idle, needs,
					    s->clock->now + job->walltime + s->cluster->settings.tolerance),
			cpus = s->cluster->requests.v[request].total.v[RES_CPU];
		*ret_keep |= there > 0;
		if (there == needs)
			continue;
		if (needs == 1 && s->cluster->requests.v[request].whole == WHOLE_NOT && room >= cpus) {
			room -= cpus; /* shares a node with another job */
			continue;
		}
		room = needs == 1 && s->cluster->requests.v[request].whole == WHOLE_NOT ? o->cpus - cpus : room;
		vec_push(ret, needs - there);
		wanted += needs - there;
	}
	o->from = asked < LIMITS_MOST ? 0 : id;
	strbuf_fini(&limit);
	vec_free(&idle.ends);
}
