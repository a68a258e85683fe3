/*
 * test_oracle.c - small plans against brute force: every placement of every fragment on every node,
 * with all fragments that can be pushed placed again in every way. What the plan calls impossible
 * must be so, where it promises to be exact; where it does not (several shapes in one job, pushes
 * of bounded depth), what it misses is counted and printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "lab/oracle.h"
#include "plan/push.c" /* for node_viability(), which is its own */
#include "property/drive.h"

#define NOW 10
#define ITEMS_MAX 64
#define LOOSE_MAX 9 /* with more fragments to place again than this the case is skipped */

/* A fragment with a node, or with one to be found. */
struct item {
	uint32_t job, frag;
	const struct shape *shape;
	int64_t start, end;
	int32_t node;
};

struct oracle {
	const struct cluster *c;
	struct item placed[ITEMS_MAX], open[ITEMS_MAX];
	int nplaced, nopen;
	bool scatter;
};

static bool one_host(const struct cluster *c, int32_t a, int32_t b)
{
	for (int32_t n = c->nodes.v[a].peer; n != a && a != b; n = c->nodes.v[n].peer)
		if (n == b)
			return true;
	return a == b;
}

/* Returns true if two items of different jobs can't be on these nodes at once, since one of the
 * jobs wants to be alone there. */
static bool in_conflict(const struct oracle *o, const struct item *x, int32_t node, const struct item *y)
{
	bool host = x->shape->whole == WHOLE_HOST || y->shape->whole == WHOLE_HOST;

	if (x->job == y->job || x->start >= y->end || y->start >= x->end)
		return false;
	return (node == y->node && (x->shape->whole || y->shape->whole)) || (host && one_host(o->c, node, y->node));
}

/* Returns true if the item fits on the node with all that is placed: at its start and wherever
 * another one starts. */
static bool item_fits(const struct oracle *o, const struct item *x, int32_t node)
{
	const struct node *n = &o->c->nodes.v[node];
	const struct nodeset *on = &o->c->nodesets.v[cluster_job(o->c, x->job)->allowed];

	if (!nodeset_has(on, (uint32_t)node))
		return false;
	if (!n->up || !features_cover(&o->c->features, n->features, x->shape->features))
		return false;
	for (int i = -1; i < o->nplaced; i++) {
		int64_t at = i < 0 ? x->start : o->placed[i].start;
		struct res used = x->shape->need;
		if (i >= 0 && in_conflict(o, x, node, &o->placed[i]))
			return false;
		if (i >= 0 && o->placed[i].node == node && o->placed[i].job == x->job &&
		    (x->shape->exclusive || o->placed[i].shape->exclusive || o->scatter))
			return false;
		if (at < x->start || at >= x->end || (i >= 0 && o->placed[i].node != node))
			continue;
		for (int k = 0; k < o->nplaced; k++)
			if (o->placed[k].node == node && o->placed[k].start <= at && at < o->placed[k].end)
				res_add(&used, &o->placed[k].shape->need);
		if (!res_covers(&n->total, &used))
			return false;
	}
	return true;
}

/* Places the open items in every way until one works. */
static bool oracle_search(struct oracle *o, int i)
{
	if (i == o->nopen)
		return true;
	for (int32_t n = 0; n < (int32_t)o->c->nodes.n; n++) {
		struct item x = o->open[i];
		if ((x.node != NODE_ANY && x.node != n) || !item_fits(o, &x, n))
			continue;
		x.node = n;
		o->placed[o->nplaced++] = x;
		bool found = oracle_search(o, i + 1);
		o->nplaced--;
		if (found)
			return true;
	}
	return false;
}

/* The plan as items. `push`: what can be pushed is open. `may`: jobs that may be removed are
 * left out. */
static void oracle_read(struct oracle *o, const struct plan *p, bool push, unsigned may)
{
	*o = (struct oracle){.c = p->cluster};
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			struct item y = {
				x->job, x->frag,   &p->cluster->shapes.v[x->shape], x->live ? INT64_MIN : x->start,
				x->end, (int32_t)n};
			if (plan_removable(p, x->job) & may)
				continue;
			if (push && !x->running && !x->fixed &&
			    (x->whole != WHOLE_HOST || p->cluster->nodes.v[n].peer == (int32_t)n)) {
				y.node = NODE_ANY;
				o->open[o->nopen++] = y;
			} else {
				o->placed[o->nplaced++] = y;
			}
		}
}

/* Adds the fragments of a job at an instant; `node`: the first of them is there. */
static void oracle_add(struct oracle *o, uint32_t job, int64_t start, int64_t end, int32_t node)
{
	const struct request *r = cluster_job_request(o->c, cluster_job(o->c, job));

	for (uint32_t f = 0; f < r->nfrags; f++)
		o->open[o->nopen++] = (struct item){job,   f,	&o->c->shapes.v[r->frag[f].shape],
						    start, end, node != NODE_ANY && f == 0 ? node : r->frag[f].node};
}

static bool possible(const struct plan *p, uint32_t job, int64_t start, int64_t end, unsigned may)
{
	struct oracle o;

	oracle_read(&o, p, false, may);
	oracle_add(&o, job, start, end, NODE_ANY);
	return oracle_search(&o, 0);
}

/* A plan with all jobs of the case but the last in it, as far as they fit; some run. */
struct bench {
	struct cluster *c;
	struct plan *p;
	struct rng r;
	uint32_t last;
	const struct request *request; /* request of the last */
	int64_t length;
};

/* Half of the jobs may use all nodes, the others some, at times none. */
static uint32_t random_nodes(struct bench *b)
{
	bool has[16];

	if (rng_below(&b->r, 2) || b->c->nodes.n > 16)
		return NODES_ALL;
	for (size_t i = 0; i < b->c->nodes.n; i++)
		has[i] = rng_below(&b->r, 3);
	return cluster_nodeset(b->c, has, (uint32_t)b->c->nodes.n, rng_below(&b->r, 2));
}

static void bench_open(struct bench *b, const struct tcase *t)
{
	static const struct policy known = {.deadlines = true};
	static const struct manner plain = {0};

	*b = (struct bench){.c = drive_cluster(t, &known)};
	rng_seed(&b->r, t->seed);
	for (int i = 0; i < t->njobs; i++)
		drive_add_job(b->c, t, i, &known)->allowed = random_nodes(b);
	b->p = plan_create(b->c);
	plan_advance(b->p, NOW);
	b->last = b->c->jobs.n - 1;
	b->request = cluster_job_request(b->c, cluster_job(b->c, b->last));
	b->length = cluster_length(b->c, cluster_job(b->c, b->last));
	for (uint32_t i = 0; i < b->last; i++) {
		struct job *job = cluster_job(b->c, i);
		int64_t start = rng_below(&b->r, 2) ? NOW : rng_range(&b->r, NOW + 1, 60);
		if (job->kind == KIND_COMMON && rng_below(&b->r, 2))
			job->kind = KIND_STARVING;
		if (!plan_insert(b->p, &plain, i, start, start + cluster_length(b->c, job)))
			continue;
		job->state = STATE_ALLOCATED;
		if (start == NOW && rng_below(&b->r, 2)) {
			job->state = STATE_RUNNING;
			plan_run(b->p, i);
		}
	}
}

static void bench_close(struct bench *b)
{
	plan_destroy(b->p);
	cluster_destroy(b->c);
}

static uint64_t feasible, missed; /* counts over a run */

/* Without push: what is placed is possible, and for fragments of one shape what is possible is
 * placed. */
static const char *exact(const struct tcase *t, const struct policy *policy)
{
	static const struct manner plain = {0};
	struct bench b;
	const char *wrong = NULL;

	(void)policy;
	bench_open(&b, t);
	for (int64_t at = NOW; at < 70 && !wrong; at += rng_range(&b.r, 1, 9)) {
		bool can = possible(b.p, b.last, at, at + b.length, 0);
		bool done = plan_insert(b.p, &plain, b.last, at, at + b.length);
		plan_check(b.p);
		if (done && !can)
			wrong = "it was placed where brute force finds no place";
		if (!done && can && b.request->uniform)
			wrong = "brute force finds a place for fragments of one shape";
		feasible += can;
		missed += can && !done;
		plan_take_job(b.p, b.last);
	}
	bench_close(&b);
	return wrong;
}

/* The earliest and the latest instant, over every second. */
static const char *instants(const struct tcase *t, const struct policy *policy)
{
	static const struct manner plain = {0};
	struct bench b;
	const char *wrong = NULL;
	int64_t from = NOW, until, best = TIME_NEVER, horizon = 0, found;

	(void)policy;
	bench_open(&b, t);
	if (rng_below(&b.r, 2))
		from += rng_range(&b.r, 0, 30);
	for (uint32_t n = 0; n < b.p->nnodes; n++)
		for (size_t i = 0; i < b.p->node[n].pieces.n; i++)
			if (b.p->node[n].pieces.v[i].end > horizon)
				horizon = b.p->node[n].pieces.v[i].end;
	for (int64_t at = from; at <= (horizon > from ? horizon : from) && best == TIME_NEVER; at++)
		if (possible(b.p, b.last, at, at + b.length, 0))
			best = at;
	found = plan_insert_earliest(b.p, &plain, b.last, from, b.length);
	if (found != best)
		wrong = "the earliest instant is another";
	plan_take_job(b.p, b.last);

	until = from + b.length + rng_range(&b.r, -1, 80);
	best = TIME_NEVER;
	for (int64_t at = until - b.length; at >= from && best == TIME_NEVER; at--)
		if (possible(b.p, b.last, at, at + b.length, 0))
			best = at;
	found = plan_insert_latest(b.p, &plain, b.last, from, until, b.length);
	if (!wrong && found != best)
		wrong = "the latest instant is another";
	bench_close(&b);
	return wrong;
}

/* A node that is called infeasible is so, however all that can be pushed is placed; and
 * pushes that succeed are possible. How many are missed is counted. */
static const char *pushes(const struct tcase *t, const struct policy *policy)
{
	struct manner m = {.push_depth = policy->push_depth};
	struct bench b;
	struct oracle o;
	const char *wrong = NULL;
	int64_t at;

	bench_open(&b, t);
	at = rng_below(&b.r, 2) ? NOW : rng_range(&b.r, NOW, 50);
	oracle_read(&o, b.p, true, 0);
	if (o.nopen > LOOSE_MAX || b.request->nfrags > 2) {
		bench_close(&b);
		return NULL;
	}
	struct oracle all = o;
	oracle_add(&all, b.last, at, at + b.length, NODE_ANY);
	bool can = oracle_search(&all, 0), plain = possible(b.p, b.last, at, at + b.length, 0);
	hold_ready(b.p, b.last);
	for (int32_t n = 0; n < (int32_t)b.p->nnodes && b.request->nfrags == 1 && m.push_depth && !wrong; n++) {
		struct insertion in = {.p = b.p, .m = &m, .job = b.last, .work = PUSH_WORK};
		struct goal g = {.job = b.last,
				 .shape = b.request->frag[0].shape,
				 .start = at,
				 .end = at + b.length,
				 .whole = b.request->whole,
				 .on = cluster_job_nodes(b.c, cluster_job(b.c, b.last))};
		if ((b.request->nfixed && b.request->frag[0].node != n) || goal_fits(&in, &g, n))
			continue; /* it is asked only about nodes on which it does not fit */
		if (g.whole == WHOLE_HOST && b.c->nodes.v[n].peer != n)
			continue; /* nobody is pushed for a machine of several nodes */
		struct oracle there = o;
		oracle_add(&there, b.last, at, at + b.length, n);
		if (!node_viability(&in, &g, n, m.push_depth, NULL).viable && oracle_search(&there, 0))
			wrong = "a node is called infeasible and is not";
	}
	bool done = plan_insert(b.p, &m, b.last, at, at + b.length);
	plan_check(b.p);
	if (done && !can)
		wrong = "pushed where brute force finds no way";
	if (can && !plain) {
		feasible++;
		missed += !done;
	}
	bench_close(&b);
	return wrong;
}

/* The experiments' oracle decides exactly if a job could start now. It knows no sets of nodes. */
static const char *repacks(const struct tcase *t, const struct policy *policy)
{
	struct bench b;
	struct oracle o;
	const char *wrong = NULL;

	(void)policy;
	if (!t->njobs) /* nothing is left of the case that failed */
		return NULL;
	bench_open(&b, t);
	for (uint32_t i = 0; i <= b.last; i++)
		cluster_job(b.c, i)->allowed = NODES_ALL;
	oracle_read(&o, b.p, true, 0);
	if (o.nopen <= LOOSE_MAX && b.request->nfrags <= 4) {
		oracle_add(&o, b.last, NOW, NOW + b.length, NODE_ANY);
		bool can = oracle_search(&o, 0);
		enum verdict v = oracle_repack(b.p, b.last, b.length, 1000000);
		if (v != (can ? VERDICT_YES : VERDICT_NO))
			wrong = can ? "a way to repack the plan is not found" : "the plan can't be repacked like that";
		feasible += can;
	}
	bench_close(&b);
	return wrong;
}

/* With powers: fragments of one shape have a place if and only if they would once all that may
 * be removed is gone. */
static const char *powers(const struct tcase *t, const struct policy *policy)
{
	struct manner m = {0};
	struct bench b;
	const char *wrong = NULL;

	(void)policy;
	bench_open(&b, t);
	m.may_remove = (unsigned)rng_below(&b.r, 256);
	m.push_depth = (int)rng_below(&b.r, 2);
	int64_t at = rng_below(&b.r, 2) ? NOW : rng_range(&b.r, NOW, 50);
	bool can = possible(b.p, b.last, at, at + b.length, m.may_remove);
	bool done = plan_insert(b.p, &m, b.last, at, at + b.length);
	plan_check(b.p);
	if (!done && can && b.request->uniform)
		wrong = "with these powers there was a way";
	if (done && !can && m.push_depth == 0)
		wrong = "it was placed where nothing that may be removed makes room";
	feasible += can;
	missed += can && !done;
	bench_close(&b);
	return wrong;
}

#define WHOLE (WITH_NODES | WITH_MORE | WITH_KINDS | WITH_WHOLE)

static void report(const char *what)
{
	print_message("# %s: of %llu possible %llu were missed\n", what, (unsigned long long)feasible,
		      (unsigned long long)missed);
	feasible = missed = 0;
}

static void test_exact(void **state)
{
	(void)state;
	case_check(exact, WITH_NODES | WITH_MORE | WITH_KINDS, policy_find("fcfs"), 480);
	report("best fit, one shape");
	case_check(exact, WITH_NODES | WITH_MORE | WITH_KINDS | WITH_MIXED, policy_find("fcfs"), 480);
	report("best fit, mixed shapes");
	case_check(exact, WHOLE, policy_find("fcfs"), 480);
	report("best fit, one shape, whole nodes");
	case_check(exact, WHOLE | WITH_MIXED, policy_find("fcfs"), 480);
	report("best fit, mixed shapes, whole nodes");
}

static void test_instants(void **state)
{
	(void)state;
	case_check(instants, WITH_NODES | WITH_MORE | WITH_KINDS, policy_find("fcfs"), 420);
	case_check(instants, WITH_KINDS, policy_find("fcfs"), 180);
	case_check(instants, WHOLE, policy_find("fcfs"), 420);
	case_check(instants, WITH_KINDS | WITH_WHOLE, policy_find("fcfs"), 180);
}

static void test_pushes(void **state)
{
	(void)state;
	for (int depth = 0; depth <= 3; depth++) {
		char what[48];
		snprintf(what, sizeof what, "re-placements that help, push depth %d", depth);
		case_check(pushes, WITH_NODES | WITH_KINDS | WITH_MORE | WITH_MIXED, case_policy("oscar", depth), 160);
		case_check(pushes, WITH_NODES, case_policy("oscar", depth), 160);
		case_check(pushes, WHOLE | WITH_MIXED, case_policy("oscar", depth), 160);
		report(what);
	}
}

static void test_repacks(void **state)
{
	(void)state;
	case_check(repacks, WITH_NODES | WITH_KINDS, policy_find("oscar"), 400);
	case_check(repacks, WITH_NODES | WITH_MORE | WITH_KINDS | WITH_MIXED, policy_find("oscar"), 400);
	report("repacking");
}

static void test_powers(void **state)
{
	(void)state;
	case_check(powers, WITH_NODES | WITH_MORE | WITH_KINDS, policy_find("oscar"), 720);
	report("emergency, one shape");
	case_check(powers, WITH_NODES | WITH_MORE | WITH_KINDS | WITH_MIXED, policy_find("oscar"), 300);
	report("emergency, mixed shapes");
	case_check(powers, WHOLE, policy_find("oscar"), 720);
	case_check_seed(powers, WHOLE, policy_find("oscar"), 4387); /* the pushed fragment takes more there */
	report("emergency, one shape, whole nodes");
	case_check(powers, WHOLE | WITH_MIXED, policy_find("oscar"), 300);
	report("emergency, mixed shapes, whole nodes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),	cmocka_unit_test(test_instants), cmocka_unit_test(test_pushes),
		cmocka_unit_test(test_repacks), cmocka_unit_test(test_powers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
