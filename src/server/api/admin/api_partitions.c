/*
 * api_partitions.c - partitions: defining, changing and showing them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/partition.h"
#include "net/http.h"
#include "plan/plan.h"
#include "server/api/admin/api_partitions.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/world/layout.h"
#include "server/node/nodes.h"
#include "server/node/partitions.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/site/who.h"

/* A partition and whom it is shown to; or, for the list, only the latter. */
struct subject {
	struct server *s;
	const struct asker *w;
	const int64_t *waiting; /* by index plus one: count_waiting() */
	const struct object *partition;
	const bool *has; /* by node */
	const char *name, *state, *job;
	int64_t cpus, cpus_up, waits;
};
#define HAS(member) MEMBER(struct subject, member)

static void nodes_show(const struct subject *x, struct json *j)
{
	for (uint32_t i = 0; i < x->s->cluster->nodes.n; i++)
		if (x->has[i])
			json_text(j, NULL, names_get(&x->s->cluster->node_names, i));
}

static void attributes_show(const struct subject *x, struct json *j)
{
	attrs_write(&x->partition->attrs, j);
}

const struct schema partition_answer = {
	"Partition",
	FIELDS({"name", .is = REQUIRED | IS_TEXT, HAS(name)},
	       {"nodes", .is = REQUIRED | IS_LIST, "in their order in the cluster", .item = IS_TEXT,
		.inside = nodes_show},
	       {"cpus", .is = REQUIRED | IS_INT, "of its nodes, up or not", HAS(cpus)},
	       {"cpus_up", .is = REQUIRED | IS_INT, "of those that are in service", HAS(cpus_up)},
	       {"state", .is = REQUIRED | IS_TEXT, "down: none of its nodes is in service",
		.words = "free|busy|down|empty", HAS(state)},
	       {"job", .is = REQUIRED | IS_TEXT | IS_NULL, "the job that runs in it, if the user may see it", HAS(job)},
	       {"waiting", .is = REQUIRED | IS_INT, "jobs that wait and that it suits", HAS(waits)},
	       {"attributes", .is = REQUIRED | IS_OBJECT, .inside = attributes_show})};

/* Counts the waiting jobs that each partition suits, by its index plus one. */
static int64_t *count_waiting(const struct server *s)
{
	const struct cluster *c = s->cluster;
	int64_t *count = mem_zalloc((c->partitions.n + 1) * sizeof *count);
	int64_t *by_set = mem_zalloc((c->nodesets.n + 1) * sizeof *by_set);

	JOBS_EACH(s, id) {
		const struct entry *e = entry_get(s, id);
		if (e->spec && entry_job(s, id)->state <= STATE_ALLOCATED && e->spec->allowed != NODES_ALL)
			by_set[e->spec->allowed]++;
	}
	for (uint32_t k = 0; k < c->nodesets.n; k++)
		for (size_t i = 0; i < c->partitions.n && by_set[k]; i++)
			if (nodeset_has(&c->nodesets.v[k], (uint32_t)c->partitions.v[i].first))
				count[i + 1] += by_set[k];
	free(by_set);
	return count;
}

/* Returns the job that runs on a node of a partition; JOB_NONE: none. */
static uint32_t job_on(const struct server *s, uint32_t node)
{
	const piece_vec *v = &s->plan->node[node].pieces;

	for (size_t i = 0; i < v->n; i++) {
		const struct job *job = entry_job(s, v->v[i].job);
		if (job->state == STATE_NOW || job->state == STATE_RUNNING)
			return job->id;
	}
	return JOB_NONE;
}

static void partition_show(const struct subject *all, const struct object *d, struct json *j)
{
	const struct server *s = all->s;
	bool *has = mem_zalloc((s->cluster->nodes.n + 1) * sizeof *has), any = false;
	const struct partition *p = cluster_partition(s->cluster, d->name);
	struct subject x = {.s = all->s, .partition = d, .has = has, .name = d->name};
	uint32_t runs = JOB_NONE;
	struct strbuf id = {0};

	partition_nodes(all->s, d, has, NULL);
	for (uint32_t i = 0; i < s->cluster->nodes.n; i++) {
		if (!has[i])
			continue;
		any = true;
		x.cpus += s->cluster->nodes.v[i].total.v[RES_CPU];
		if (!node_gone(&s->hosts->nodes.v[i].life) && !s->hosts->nodes.v[i].drained)
			x.cpus_up += s->cluster->nodes.v[i].total.v[RES_CPU];
		if (runs == JOB_NONE)
			runs = job_on(s, i);
	}
	x.state = !any ? "empty" : runs != JOB_NONE ? "busy" : x.cpus_up == 0 ? "down" : "free";
	if (runs != JOB_NONE && may_see(s, all->w, entry_get(s, runs)->spec))
		entry_id(s, runs, &id);
	x.job = id.text;
	x.waits = p ? all->waiting[p->name + 1] : 0;
	schema_show(&partition_answer, NULL, &x, NULL, j);
	strbuf_fini(&id);
	free(has);
}

static void partitions_show(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->s->objects->of[OBJECT_PARTITION].n; i++)
		partition_show(x, x->s->objects->of[OBJECT_PARTITION].v[i], j);
}

static void shared_show(const struct subject *x, struct json *j)
{
	for (uint32_t i = 0; i < x->s->cluster->nodes.n; i++)
		if (x->s->cluster->nodes.v[i].partition == PARTITION_NONE && !world_node_past(x->s, i))
			json_text(j, NULL, names_get(&x->s->cluster->node_names, i));
}

const struct schema partitions_answer = {
	FIELDS({"partitions", .is = REQUIRED | IS_LIST, "by name", .of = &partition_answer, .item = IS_OBJECT,
		.inside = partitions_show},
	       {"shared", .is = REQUIRED | IS_LIST, "nodes that are in none", .item = IS_TEXT, .inside = shared_show})};

void api_partitions(struct server *s, const struct call *c)
{
	int64_t *waiting = count_waiting(s);

	api_show(s, c->r, &partitions_answer, &(struct subject){.s = s, .w = c->w, .waiting = waiting});
	free(waiting);
}

void api_partition(struct server *s, const struct call *c)
{
	const struct object *d = api_object_find(s, c);
	struct strbuf out = {0};
	struct json j;

	if (!d)
		return;
	int64_t *waiting = count_waiting(s);
	json_init(&j, &out, false);
	partition_show(&(struct subject){.s = s, .w = c->w, .waiting = waiting}, d, &j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	free(waiting);
}

/* ---- changing ---- */

int partition_check(struct server *s, const struct object *x, const struct object *next, void **ret, struct err *err)
{
	size_t n = s->cluster->nodes.n;
	bool *nodes = mem_zalloc((n + 1) * sizeof *nodes), *had = mem_zalloc((n + 1) * sizeof *had);
	int rc = next ? partition_nodes(s, next, nodes, err) : 0;
	bool moves;

	partition_nodes(s, x, had, NULL);
	moves = memcmp(had, nodes, n * sizeof *had) != 0;
	for (size_t i = 0; i < n; i++)
		nodes[i] |= had[i];
	free(had);
	if (rc == 0 && (moves || !next) && x->fixed)
		rc = err_code(
			err, CODE_BAD_STATE,
			"the nodes of partition %s are set in the configuration file (nodes =): change them there, and start the server again",
			x->name);
	if (rc == 0 && moves)
		rc = layout_check(s, nodes, err);
	if (rc == 0 && moves) {
		*ret = nodes;
		return 0;
	}
	free(nodes);
	return rc;
}

void partition_done(struct server *s, void *nodes)
{
	if (nodes)
		layout_change(s, nodes);
	free(nodes);
}
