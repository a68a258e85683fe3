/*
 * view_plan.c - see view_plan.h.
 */
#include "server/offline/view_plan.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/partition.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "sched/sched.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/node/nodes.h"
#include "server/server.h"

#define BOOKINGS_MOST 5000 /* maximum bookings counted one by one */
#define STEPS_MOST 800	   /* steps of all pools, at most, since every user's view contains them */
#define STEPS_LEAST 8	   /* steps each pool may have in any case */
#define POOLS_MOST 100

struct step {
	int64_t at, used;
};

typedef VEC(struct step) step_vec;

/* Adds the bookings of displaced jobs that get their partition back later. */
static void restarts_add(const struct server *s, struct view_plan *p, uint32_t partition)
{
	const booking_vec *v = s->plan->node[s->cluster->partitions.v[partition].first].bookings;

	for (size_t i = 0; v && i < v->n; i++)
		if (v->v[i].owner.kind == OWNER_RESTART)
			vec_push(&p->waits, (struct in_use){partition + 1, 1, v->v[i].start, v->v[i].end});
}

void view_plan_begin(const struct server *s, struct view_plan *p)
{
	const foreseen_pieces *all = &s->outlook->pieces;

	for (size_t i = all->n; i-- > 0;)
		map_set(&p->nodes, all->v[i].job, (uint64_t)all->v[i].node + 1);
	for (size_t i = 0; i < s->cluster->partitions.n; i++)
		restarts_add(s, p, (uint32_t)i);
}

void view_plan_fini(struct view_plan *p)
{
	vec_free(&p->runs);
	vec_free(&p->waits);
	map_fini(&p->nodes);
}

static int64_t amount_of(const struct server *s, uint32_t id, uint32_t pool)
{
	return pool ? 1 : cluster_job_request(s->cluster, entry_job(s, id))->total.v[RES_CPU];
}

static void add_running(const struct server *s, struct view_plan *p, uint32_t id)
{
	const struct job *job = entry_job(s, id);
	bool placed = plan_holds(s->plan, id);
	uint32_t pool = placed ? s->cluster->nodes.v[plan_place(s->plan, id, 0)->node].partition : 0;
	struct in_use x = {pool, amount_of(s, id, pool), job->start,
			   placed ? plan_piece(s->plan, id, 0)->end : job->start + entry_get(s, id)->spec->walltime};

	if (p->runs.n < BOOKINGS_MOST) {
		vec_push(&p->runs, x);
		/* merge it with another job, for as long as the longer of the two */
	} else if (pool == 0) {
		struct in_use *other = &p->runs.v[id % BOOKINGS_MOST];
		if (other->pool == 0) {
			other->amount += x.amount;
			other->end = other->end > x.end ? other->end : x.end;
		}
	}
}

static void add_waiting(const struct server *s, struct view_plan *p, uint32_t id, int64_t start)
{
	uint64_t node = 0;
	bool known = map_get(&p->nodes, id, &node);
	uint32_t pool = known ? s->cluster->nodes.v[node - 1].partition : 0;

	/* Only for the first waiting jobs is the partition known. */
	if (p->waits.n >= BOOKINGS_MOST ||
	    (!known && cluster_job_request(s->cluster, entry_job(s, id))->whole == WHOLE_HOST)) {
		p->after = p->after > start ? p->after : start;
		return;
	}
	vec_push(&p->waits,
		 (struct in_use){pool, amount_of(s, id, pool), start, start + entry_get(s, id)->spec->walltime});
}

void view_plan_add(const struct server *s, struct view_plan *p, uint32_t id)
{
	const struct job *job = entry_job(s, id);
	int64_t start;

	if (job->state == STATE_NOW || job->state == STATE_RUNNING)
		add_running(s, p, id);
	else if (!entry_ended(s, id) && foresee_start(s, id, &start))
		add_waiting(s, p, id, start);
}

/* ---- as steps ---- */

static int step_cmp(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Merges runs of neighbouring steps into one as high as the highest, and keeps the last step, where
 * use ends. */
static void steps_thin(step_vec *v, size_t most)
{
	size_t each = v->n / most + 1, n = 0, last = v->n - 1;

	if (v->n <= most)
		return;
	for (size_t i = 0; i < last; n++) {
		struct step x = v->v[i];
		for (size_t k = 0; k < each && i < last; k++, i++)
			x.used = x.used > v->v[i].used ? x.used : v->v[i].used;
		v->v[n] = x;
	}
	v->v[n++] = v->v[last];
	v->n = n;
}

static void steps_write(const struct in_use *all, size_t n, uint32_t pool, size_t npools, struct json *j,
			const char *key)
{
	step_vec v = {0};
	int64_t used = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].pool == pool) {
			vec_push(&v, (struct step){all[i].start, all[i].amount});
			vec_push(&v, (struct step){all[i].end, -all[i].amount});
		}
	if (v.n)
		qsort(v.v, v.n, sizeof *v.v, step_cmp);
	for (size_t i = 0; i < v.n; i++) {
		used += v.v[i].used;
		if (i + 1 == v.n || v.v[i + 1].at != v.v[i].at)
			v.v[k++] = (struct step){v.v[i].at, used};
	}
	v.n = k;
	steps_thin(&v, STEPS_MOST / (npools + 1) > STEPS_LEAST ? STEPS_MOST / (npools + 1) : STEPS_LEAST);
	json_open_array(j, key);
	for (size_t i = 0; i < v.n; i++) {
		json_open_array(j, NULL);
		json_int(j, NULL, v.v[i].at);
		json_int(j, NULL, v.v[i].used);
		json_close_array(j);
	}
	json_close_array(j);
	vec_free(&v);
}

/* ---- the line ---- */

static void defaults_write(const struct server *s, struct json *j)
{
	const char *queue = attrs_text(s->attrs, SET_DEFAULT_QUEUE);

	if (queue)
		json_text(j, "queue", queue);
	json_int(j, "walltime", attrs_amount(s->attrs, SET_RESOURCES_DEFAULT, "walltime"));
	json_open_object(j, "walltimes");
	for (size_t i = 0; i < s->jobs->queues.n; i++) {
		const struct queue *q = s->jobs->queues.v[i];
		int64_t walltime = attrs_amount(&q->attrs, SET_RESOURCES_DEFAULT, "walltime");
		if (walltime > 0)
			json_int(j, q->name, walltime);
	}
	json_close_object(j);
}

void view_plan_write(const struct server *s, struct view_plan *p, struct strbuf *out)
{
	const struct cluster *c = s->cluster;
	int64_t shared = 0;
	struct json j;

	for (uint32_t n = 0; n < c->nodes.n; n++)
		if (c->nodes.v[n].partition == PARTITION_NONE && sched_node_open(s->sched, n))
			shared += node_cpus(&c->nodes.v[n]);
	json_begin(&j, out);
	json_open_object(&j, "plan");
	json_int(&j, "shared", shared);
	json_int(&j, "after", p->after);
	defaults_write(s, &j);
	json_open_array(&j, "pools");
	for (uint32_t i = 0; i <= c->partitions.n && i <= POOLS_MOST; i++) {
		json_open_object(&j, NULL);
		json_text(&j, "partition", i ? cluster_partition_name(c, &c->partitions.v[i - 1]) : NULL);
		steps_write(p->runs.v, p->runs.n, i, c->partitions.n, &j, "runs");
		steps_write(p->waits.v, p->waits.n, i, c->partitions.n, &j, "waits");
		json_close_object(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	json_close_object(&j);
	strbuf_puts(out, "\n");
}
