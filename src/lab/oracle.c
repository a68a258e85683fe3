/*
 * oracle.c - exact repacking by branch and bound, and an upper bound on the emergency deadlines
 * that could be met.
 *
 * Repacking: fragments that can't move (running, or bound to a named node) make up each node's base
 * line. The *items* (the blocked job's fragments and everything planned) are assigned to nodes, but
 * for those bound to one. Proofs of impossibility come first, the cheapest first:
 *	1. the blocked job's fragments do not fit the base lines even alone;
 *	2. at some instant of the job's interval, the items alive then can't be packed into what the
 *	   nodes have left (at other instants the current plan is a packing).
 * Then comes a search. It assigns the item with the fewest possible nodes first, trying its current
 * node first. Each assignment removes possible nodes from the other items (forward checking). Of
 * nodes with equal lines only one is tried.
 */
#include "lab/oracle.h"

#include <stdlib.h>

#include "plan/timeline.h"
#include "sim/machine.h"

#define CPUS_MOST 64 /* maximum CPUs of a node for proof 2; it is skipped on larger nodes */
#define PACK_BUDGET 4000

struct item {
	int64_t start, end; /* `start` of a live piece is the plan's instant */
	uint32_t job, shape;
	int32_t now;  /* current node; NODE_ANY: a fragment of the blocked job */
	int32_t node; /* assigned node, from the beginning if it names one; NODE_ANY: not assigned yet */
};

struct repack {
	const struct plan *p;
	const struct cluster *c;
	struct timeline *line; /* by node: resources left */
	VEC(struct item) items;
	uint8_t *may;	  /* [item][node]: true if the node can take the item */
	int32_t *choices; /* by item: number of nodes that can take it */
	int64_t budget;
};

static const struct res *need_of(const struct repack *r, const struct item *x)
{
	return &r->c->shapes.v[x->shape].need;
}

static int64_t cpus_of(const struct repack *r, const struct item *x)
{
	return need_of(r, x)->v[RES_CPU];
}

/* Builds the base lines, and makes items of the planned fragments that can move. */
static void repack_init(struct repack *r, const struct plan *p)
{
	*r = (struct repack){.p = p, .c = p->cluster};
	r->line = mem_zalloc(sizeof *r->line * p->nnodes);
	for (uint32_t n = 0; n < p->nnodes; n++) {
		static const struct res nothing;
		const struct node *node = &r->c->nodes.v[n];
		timeline_init(&r->line[n], r->c->nres, node->up ? &node->total : &nothing);
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			if (x->running || x->fixed)
				timeline_change(&r->line[n], x->live ? TIME_BEGIN : x->start, x->end,
						&r->c->shapes.v[x->shape].need, -1);
			if (!x->running)
				vec_push(&r->items, (struct item){.start = x->live ? p->now : x->start,
								  .end = x->end,
								  .job = x->job,
								  .shape = x->shape,
								  .now = (int32_t)n,
								  .node = x->fixed ? (int32_t)n : NODE_ANY});
		}
	}
}

static void repack_fini(struct repack *r)
{
	for (uint32_t n = 0; n < r->p->nnodes; n++)
		timeline_fini(&r->line[n]);
	free(r->line);
	free(r->may);
	free(r->choices);
	vec_free(&r->items);
}

static bool node_takes(const struct repack *r, const struct item *x, int32_t n)
{
	const struct shape *shape = &r->c->shapes.v[x->shape];

	if (!features_cover(&r->c->features, r->c->nodes.v[n].features, shape->features))
		return false;
	if (!timeline_fits(&r->line[n], x->start, x->end, &shape->need))
		return false;
	for (size_t i = 0; i < r->items.n; i++) {
		const struct item *y = &r->items.v[i];
		if (y->node == n && y->job == x->job && y != x &&
		    (shape->exclusive || r->c->shapes.v[y->shape].exclusive))
			return false;
	}
	return true;
}

/* Adds the job's fragments to the items, and puts those with a named node on their nodes.
 * Returns false if a named node has too little left. */
static bool add_job(struct repack *r, uint32_t job, int64_t length)
{
	const struct request *q = cluster_job_request(r->c, cluster_job(r->c, job));
	int64_t start = r->p->now, end = start + length;

	for (uint32_t f = 0; f < q->nfrags; f++) {
		const struct frag *frag = &q->frag[f];
		struct item x = {start, end, job, frag->shape, NODE_ANY, frag->node};
		if (frag->node != NODE_ANY && !node_takes(r, &x, frag->node))
			return false;
		if (frag->node != NODE_ANY)
			timeline_change(&r->line[frag->node], start, end, need_of(r, &x), -1);
		vec_push(&r->items, x);
	}
	return true;
}

/* Proof 1: returns false if the base lines have too few places for the job's fragments of some
 * shape. */
static bool job_fits_alone(const struct repack *r, uint32_t job)
{
	for (size_t i = 0; i < r->items.n; i++) {
		const struct item *x = &r->items.v[i];
		const struct shape *shape = &r->c->shapes.v[x->shape];
		int64_t wanted = 0, copies = 0;
		if (x->job != job || x->node != NODE_ANY)
			continue;
		for (size_t k = 0; k < r->items.n; k++)
			wanted += r->items.v[k].job == job && r->items.v[k].shape == x->shape &&
				  r->items.v[k].node == NODE_ANY;
		for (uint32_t n = 0; n < r->p->nnodes && copies < wanted; n++) {
			double area;
			int64_t here = timeline_measure(&r->line[n], x->start, x->end, &shape->need, &area);
			copies += shape->exclusive && here > 1 ? 1 : here;
		}
		if (copies < wanted)
			return false;
	}
	return true;
}

/* Packing at one instant: number of nodes by CPUs left, and number of items by CPUs needed. */
struct packing {
	int nodes[CPUS_MOST + 1], items[CPUS_MOST + 1];
	int budget;
};

/* Returns true if the items of at most `size` CPUs can be packed, or if the budget ran out.
 * Packs the largest item first, into the tightest node first. */
static bool pack(struct packing *k, int size)
{
	while (size > 0 && k->items[size] == 0)
		size--;
	if (size == 0)
		return true;
	if (k->budget-- <= 0)
		return true; /* impossibility is not proved */
	k->items[size]--;
	for (int c = size; c <= CPUS_MOST; c++) {
		if (!k->nodes[c])
			continue;
		k->nodes[c]--;
		k->nodes[c - size]++;
		bool done = pack(k, size);
		k->nodes[c - size]--;
		k->nodes[c]++;
		if (done) {
			k->items[size]++;
			return true;
		}
	}
	k->items[size]++;
	return false;
}

/* Returns false if, for some s, there are more items of at least s CPUs than the nodes have
 * places of s CPUs. */
static bool counts_fit(const struct packing *k)
{
	int larger = 0;

	for (int s = CPUS_MOST; s > 0; s--) {
		int places = 0;
		larger += k->items[s];
		for (int c = s; c <= CPUS_MOST; c++)
			places += k->nodes[c] * (c / s);
		if (larger > places)
			return false;
	}
	return true;
}

static bool packs_at(const struct repack *r, int64_t when)
{
	struct packing k = {.budget = PACK_BUDGET};

	for (uint32_t n = 0; n < r->p->nnodes; n++) {
		int64_t left = timeline_at(&r->line[n], when)[1 + RES_CPU];
		if (left > CPUS_MOST)
			return true;
		k.nodes[left < 0 ? 0 : left]++;
	}
	for (size_t i = 0; i < r->items.n; i++) {
		const struct item *x = &r->items.v[i];
		if (x->node == NODE_ANY && x->start <= when && when < x->end && cpus_of(r, x) <= CPUS_MOST)
			k.items[cpus_of(r, x)]++;
	}
	return counts_fit(&k) && pack(&k, CPUS_MOST);
}

/* Proof 2: tests the packing now, and at each instant during the job at which CPUs get scarcer. */
static bool packs_always(const struct repack *r, int64_t end)
{
	int64_t now = r->p->now;

	if (!packs_at(r, now))
		return false;
	for (size_t i = 0; i < r->items.n; i++)
		if (r->items.v[i].start > now && r->items.v[i].start < end && !packs_at(r, r->items.v[i].start))
			return false;
	for (uint32_t n = 0; n < r->p->nnodes; n++) {
		struct walk w = timeline_walk(&r->line[n], now);
		for (int64_t before = w.step[1 + RES_CPU]; walk_next(&w) && w.step[0] < end;) {
			if (w.step[1 + RES_CPU] < before && !packs_at(r, w.step[0]))
				return false;
			before = w.step[1 + RES_CPU];
		}
	}
	return true;
}

/* Updates which items node n can take. Returns false if some item has no node left. */
static bool column_update(struct repack *r, int32_t n)
{
	uint32_t nodes = r->p->nnodes;
	bool ok = true;

	for (size_t i = 0; i < r->items.n; i++) {
		const struct item *x = &r->items.v[i];
		uint8_t *may = &r->may[i * nodes + (uint32_t)n], was = *may;
		if (x->node != NODE_ANY)
			continue;
		*may = node_takes(r, x, n);
		r->choices[i] += *may - was;
		ok &= r->choices[i] > 0;
	}
	return ok;
}

static void assign(struct repack *r, struct item *x, int32_t n)
{
	x->node = n;
	timeline_change(&r->line[n], x->start, x->end, need_of(r, x), -1);
}

static void unassign(struct repack *r, struct item *x)
{
	int32_t n = x->node;

	timeline_change(&r->line[n], x->start, x->end, need_of(r, x), 1);
	x->node = NODE_ANY;
	column_update(r, n);
}

/* Returns true if two nodes are interchangeable, so that only one must be tried. The items on a
 * node matter only if some are exclusive. */
static bool alike(const struct repack *r, int32_t a, int32_t b)
{
	if (r->c->nodes.v[a].features != r->c->nodes.v[b].features || !timeline_equal(&r->line[a], &r->line[b]))
		return false;
	for (size_t i = 0; i < r->items.n; i++) {
		const struct item *x = &r->items.v[i];
		if ((x->node == a || x->node == b) && r->c->shapes.v[x->shape].exclusive)
			return false;
	}
	return true;
}

static enum verdict search(struct repack *r);

/* Tries one node for an item. */
static enum verdict search_at(struct repack *r, struct item *x, int32_t n)
{
	enum verdict v = VERDICT_NO;

	assign(r, x, n);
	if (column_update(r, n))
		v = search(r);
	if (v != VERDICT_YES)
		unassign(r, x);
	return v;
}

static enum verdict search(struct repack *r)
{
	uint32_t nodes = r->p->nnodes;
	struct item *x = NULL;
	size_t row = 0;

	for (size_t i = 0; i < r->items.n; i++) {
		struct item *y = &r->items.v[i];
		if (y->node != NODE_ANY)
			continue;
		if (!x || r->choices[i] < r->choices[row] ||
		    (r->choices[i] == r->choices[row] && cpus_of(r, y) > cpus_of(r, x))) {
			x = y;
			row = i;
		}
	}
	if (!x)
		return VERDICT_YES;
	if (r->budget-- <= 0)
		return VERDICT_OPEN;
	const uint8_t *may = &r->may[row * nodes];
	enum verdict v = VERDICT_NO;
	if (x->now != NODE_ANY && may[x->now])
		v = search_at(r, x, x->now);
	for (int32_t n = 0; n < (int32_t)nodes && v == VERDICT_NO; n++) {
		bool again = n == x->now;
		for (int32_t k = 0; k < n && !again && may[n]; k++)
			again = may[k] && alike(r, k, n);
		if (may[n] && !again)
			v = search_at(r, x, n);
	}
	return v;
}

static enum verdict search_begin(struct repack *r)
{
	uint32_t nodes = r->p->nnodes;
	bool ok = true;

	r->may = mem_zalloc(r->items.n * nodes + 1);
	r->choices = mem_zalloc((r->items.n + 1) * sizeof *r->choices);
	for (size_t i = 0; i < r->items.n; i++)
		for (uint32_t n = 0; n < nodes; n++) {
			r->may[i * nodes + n] = node_takes(r, &r->items.v[i], (int32_t)n);
			r->choices[i] += r->may[i * nodes + n];
		}
	for (size_t i = 0; i < r->items.n; i++)
		ok &= r->choices[i] > 0 || r->items.v[i].node != NODE_ANY;
	return ok ? search(r) : VERDICT_NO;
}

/* Returns true if some job has whole nodes, which the search does not handle. */
static bool whole_involved(const struct plan *p, uint32_t job)
{
	bool whole = cluster_job_request(p->cluster, cluster_job(p->cluster, job))->whole;

	for (uint32_t n = 0; n < p->nnodes && !whole; n++)
		for (size_t i = 0; i < p->node[n].pieces.n && !whole; i++)
			whole = p->node[n].pieces.v[i].whole;
	return whole;
}

enum verdict oracle_repack(const struct plan *p, uint32_t job, int64_t length, int64_t budget)
{
	enum verdict v = VERDICT_NO;
	struct repack r;

	if (whole_involved(p, job))
		return VERDICT_OPEN;
	repack_init(&r, p);
	r.budget = budget;
	if (add_job(&r, job, length) && job_fits_alone(&r, job) && packs_always(&r, p->now + length))
		v = search_begin(&r);
	repack_fini(&r);
	return v;
}

void starts_listen(void *context, const struct event *e)
{
	struct starts *s = context;
	struct job_start x = {.job = e->job, .nodes = s->nodes.n};

	if (e->type != EVENT_START)
		return;
	for (uint32_t i = 0; i < e->nnodes; i++)
		vec_push(&s->nodes, e->nodes[i]);
	vec_push(&s->list, x);
}

void starts_fini(struct starts *s)
{
	vec_free(&s->list);
	vec_free(&s->nodes);
}

/* Returns the nodes of the job's last start; NULL: it never started. */
static const int32_t *starts_nodes(const struct starts *s, uint32_t job)
{
	for (size_t i = s->list.n; i-- > 0;)
		if (s->list.v[i].job == job)
			return &s->nodes.v[s->list.v[i].nodes];
	return NULL;
}

/* Resources that earlier emergency jobs are certain to hold. */
struct obligations {
	struct cluster *c;
	struct timeline sum;
	struct timeline *line; /* by node: only fragments whose node is certain */
	VEC(int64_t) ends;
};

/* Takes away the resources of a request over [from, until). The node of fragment f is nodes[f],
 * or the one it names. */
static void oblige(struct obligations *b, const struct request *q, const int32_t *nodes, int64_t from, int64_t until)
{
	if (from >= until)
		return;
	vec_push(&b->ends, until);
	timeline_change(&b->sum, from, until, &q->total, -1);
	for (uint32_t f = 0; f < q->nfrags; f++) {
		int32_t n = nodes ? nodes[f] : q->frag[f].node;
		if (n != NODE_ANY)
			timeline_change(&b->line[n], from, until, &b->c->shapes.v[q->frag[f].shape].need, -1);
	}
}

static void obligations_clear(struct obligations *b)
{
	timeline_fini(&b->sum);
	timeline_init(&b->sum, b->c->nres, &b->c->total);
	for (size_t n = 0; n < b->c->nodes.n; n++) {
		timeline_fini(&b->line[n]);
		timeline_init(&b->line[n], b->c->nres, &b->c->nodes.v[n].total);
	}
	vec_clear(&b->ends);
}

static bool room_at(const struct obligations *b, const struct request *q, int64_t start, int64_t length)
{
	if (!timeline_fits(&b->sum, start, start + length, &q->total))
		return false;
	for (uint32_t f = 0; f < q->nfixed; f++)
		if (!timeline_fits(&b->line[q->frag[f].node], start, start + length,
				   &b->c->shapes.v[q->frag[f].shape].need))
			return false;
	return true;
}

/* Returns true if the request fits at some start in first..last. It is enough to test `first`
 * and the ends of obligations. */
static bool room_within(const struct obligations *b, const struct request *q, int64_t first, int64_t last,
			int64_t length)
{
	if (first > last)
		return false;
	if (room_at(b, q, first, length))
		return true;
	for (size_t i = 0; i < b->ends.n; i++)
		if (b->ends.v[i] > first && b->ends.v[i] <= last && room_at(b, q, b->ends.v[i], length))
			return true;
	return false;
}

static int wjob_request(struct cluster *c, const struct workload *w, const struct wjob *j, const struct request **ret,
			struct err *err)
{
	uint32_t id = 0;
	int rc = j->text >= 0 ? cluster_request(c, &w->texts.v[j->text], &id, err)
			      : cluster_request_procs(c, j->procs, &id, err);

	*ret = &c->requests.v[id];
	return rc;
}

static bool outcome_met(const struct simulated *o)
{
	return o->start >= 0 && o->end <= o->deadline;
}

/* Finds out if job i's deadline could be met. An earlier emergency job that was running when job
 * i was submitted holds its nodes until its planned end. One that was still to run, within
 * [submit, deadline), holds [deadline - length, submit + length) on unknown nodes. */
static int emergency_feasible(struct obligations *b, const struct workload *w, const struct simulated *o,
			      const struct starts *starts, size_t i, int64_t tolerance, bool *ret, struct err *err)
{
	const struct wjob *j = &w->jobs.v[i];
	const struct request *q;
	int rc = 0;

	obligations_clear(b);
	for (size_t k = 0; k < i && rc == 0; k++) {
		const struct wjob *e = &w->jobs.v[k];
		int64_t length = e->walltime + tolerance;
		if (e->kind != KIND_EMERGENCY || !outcome_met(&o[k]))
			continue;
		rc = wjob_request(b->c, w, e, &q, err);
		if (rc == 0 && o[k].start <= j->submit)
			oblige(b, q, starts_nodes(starts, (uint32_t)k), o[k].start, o[k].start + length);
		else if (rc == 0)
			oblige(b, q, NULL, e->deadline - length, e->submit + length);
	}
	if (rc == 0)
		rc = wjob_request(b->c, w, j, &q, err);
	if (rc == 0)
		*ret = room_within(b, q, j->submit, j->deadline - j->walltime - tolerance, j->walltime + tolerance);
	return rc;
}

int oracle_emergencies(const struct workload *w, const struct simulated *o, const struct starts *starts,
		       const char *machine, int64_t tolerance, int64_t *ret_feasible, struct err *err)
{
	struct obligations b = {.c = cluster_create()};
	int rc = machine_build(b.c, machine, err);

	*ret_feasible = 0;
	b.line = mem_zalloc(sizeof *b.line * (b.c->nodes.n + 1));
	for (size_t i = 0; i < w->jobs.n && rc == 0; i++) {
		bool feasible = false;
		if (w->jobs.v[i].kind != KIND_EMERGENCY)
			continue;
		if (!outcome_met(&o[i]))
			rc = emergency_feasible(&b, w, o, starts, i, tolerance, &feasible, err);
		*ret_feasible += feasible || outcome_met(&o[i]);
	}
	timeline_fini(&b.sum);
	for (size_t n = 0; n < b.c->nodes.n; n++)
		timeline_fini(&b.line[n]);
	vec_free(&b.ends);
	free(b.line);
	cluster_destroy(b.c);
	return rc;
}
