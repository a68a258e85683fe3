/*
 * test_allocation.c - node allocation: every method against one that tries all nodes, second by
 * second; and which methods go with which policy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/lines.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "core/habit.h"
#include "plan/insert.h"
#include "rules/attr.h"
#include "sched/policy.h"
#include "sim/sim.h"

#define NODES 6
#define TIME 20

struct small {
	struct cluster *c;
	struct plan *p;
	struct rng r;
	int nodes;
	int used[NODES][TIME]; /* CPUs, by what the oracle has put there */
	int own[NODES];	       /* fragments of the job */
};

static uint32_t job_add(struct small *x, int cpus, uint32_t count)
{
	struct shape s = {.need = {.v = {cpus}}};
	struct frag f[NODES];
	struct job *job = cluster_add_job(x->c);

	for (uint32_t i = 0; i < count; i++)
		f[i] = (struct frag){.shape = cluster_shape(x->c, &s), .node = NODE_ANY};
	job->request = cluster_intern(x->c, f, count);
	job->state = STATE_ALLOCATED;
	return job->id;
}

static int cpus_of(const struct small *x, int n)
{
	return (int)x->c->nodes.v[n].total.v[RES_CPU];
}

static bool has_room(const struct small *x, int n, int cpus, int from, int to)
{
	for (int t = from; t < to; t++)
		if (x->used[n][t] + cpus > cpus_of(x, n))
			return false;
	return true;
}

static void take(struct small *x, int n, int cpus, int from, int to)
{
	for (int t = from; t < to; t++)
		x->used[n][t] += cpus;
}

static void small_open(struct small *x, uint64_t seed)
{
	struct err err;

	*x = (struct small){.c = cluster_create()};
	rng_seed(&x->r, seed);
	x->nodes = (int)rng_range(&x->r, 1, NODES);
	for (int n = 0; n < x->nodes; n++) {
		struct res total = {.v = {rng_range(&x->r, 1, 8)}};
		char name[16];
		snprintf(name, sizeof name, "n%d", n);
		assert_int_equal(cluster_add_node(x->c, name, &total, &err), 0);
		x->c->nodes.v[n].speed = (uint32_t)rng_range(&x->r, 1, 3) * 500;
	}
	x->p = plan_create(x->c);
	for (int i = (int)rng_below(&x->r, 8); i > 0; i--) {
		int cpus = (int)rng_range(&x->r, 1, 4), n = (int)rng_below(&x->r, (uint64_t)x->nodes);
		int from = (int)rng_below(&x->r, TIME - 1), to = (int)rng_range(&x->r, from + 1, TIME);
		if (!has_room(x, n, cpus, from, to))
			continue;
		plan_put(x->p, job_add(x, cpus, 1), 0, n, from, to);
		take(x, n, cpus, from, to);
	}
}

static void small_close(struct small *x)
{
	plan_destroy(x->p);
	cluster_destroy(x->c);
}

static double area(const struct small *x, int n, int from, int to)
{
	double a = 0;

	for (int t = from; t < to; t++)
		a += cpus_of(x, n) - x->used[n][t];
	return a;
}

/* Returns true if node a is better than b for the next fragment. */
static bool better(const struct small *x, enum alloc alloc, int a, int b, int from, int to)
{
	double fa = area(x, a, from, to), fb = area(x, b, from, to);
	uint32_t sa = x->c->nodes.v[a].speed, sb = x->c->nodes.v[b].speed;

	switch (alloc) {
	case ALLOC_BEST:
		return fa < fb;
	case ALLOC_LOAD: /* (total - free) / total */
		return (cpus_of(x, a) * (to - from) - fa) * cpus_of(x, b) <
		       (cpus_of(x, b) * (to - from) - fb) * cpus_of(x, a);
	case ALLOC_FASTEST:
		return sa != sb ? sa > sb : fa < fb;
	case ALLOC_SPREAD:
		return x->own[a] != x->own[b] ? x->own[a] < x->own[b] : fa > fb;
	default:
		return false;
	}
}

/* The node of each fragment, one after the other; false: there is no room. */
static bool choose(struct small *x, enum alloc alloc, int cpus, int count, int from, int to)
{
	for (int i = 0; i < count; i++) {
		int best = -1;
		for (int n = 0; n < x->nodes; n++)
			if (has_room(x, n, cpus, from, to) && (best < 0 || better(x, alloc, n, best, from, to)))
				best = n;
		if (best < 0)
			return false;
		take(x, best, cpus, from, to);
		x->own[best]++;
	}
	return true;
}

/* The least distance between the first and the last node, of all ranges of nodes that have room
 * for all; -1: none has. */
static int least_span(struct small *x, int cpus, int count, int from, int to)
{
	for (int span = 0; span < x->nodes; span++)
		for (int a = 0; a + span < x->nodes; a++) {
			int room = 0;
			for (int n = a; n <= a + span; n++)
				for (int k = 1; has_room(x, n, k * cpus, from, to); k++)
					room++;
			if (room >= count)
				return span;
		}
	return -1;
}

static int span_of(const int *nodes, int count)
{
	int first = nodes[0], last = nodes[0];

	for (int i = 1; i < count; i++) {
		first = nodes[i] < first ? nodes[i] : first;
		last = nodes[i] > last ? nodes[i] : last;
	}
	return last - first;
}

static void one_case(enum alloc alloc, uint64_t seed)
{
	struct small x;
	int nodes[NODES], have[NODES] = {0};

	small_open(&x, seed);

	int cpus = (int)rng_range(&x.r, 1, 3), count = (int)rng_range(&x.r, 1, NODES);
	int from = (int)rng_below(&x.r, TIME - 1), to = (int)rng_range(&x.r, from + 1, TIME);
	struct manner m = {.alloc = alloc};
	uint32_t job = job_add(&x, cpus, (uint32_t)count);
	int span = least_span(&x, cpus, count, from, to);
	bool fits = choose(&x, alloc, cpus, count, from, to);

	if (plan_insert(x.p, &m, job, from, to) != fits)
		fail_msg("method %d, seed %llu: it %s", alloc, (unsigned long long)seed,
			 fits ? "fits" : "does not fit");
	plan_check(x.p);
	if (fits) {
		plan_nodes(x.p, job, nodes);
		for (int i = 0; i < count; i++)
			have[nodes[i]]++;
		if (alloc == ALLOC_CONTIGUOUS ? span_of(nodes, count) != span : memcmp(have, x.own, sizeof have) != 0)
			fail_msg("method %d, seed %llu: other nodes", alloc, (unsigned long long)seed);
	}
	small_close(&x);
}

static void methods(void **state)
{
	for (uint64_t seed = 1; seed <= 3000; seed++)
		for (int alloc = ALLOC_BEST; alloc <= ALLOC_CONTIGUOUS; alloc++)
			one_case((enum alloc)alloc, seed);
}

static int placed_at(struct small *x, enum alloc alloc, int64_t from)
{
	struct manner m = {.alloc = alloc};
	uint32_t job = job_add(x, 1, 1);
	int node = -1;

	if (plan_insert(x->p, &m, job, from, from + 3600))
		plan_nodes(x->p, job, &node);
	return node;
}

/* The owner of n0 usually has it in the first hour of 1970, a Thursday: whatever the method,
 * jobs go there then only if nothing else is free. */
static void usual_hours(void **state)
{
	static const enum alloc methods_[] = {ALLOC_BEST, ALLOC_FIRST, ALLOC_LOAD, ALLOC_FASTEST, ALLOC_SPREAD};

	for (size_t i = 0; i < sizeof methods_ / sizeof *methods_; i++) {
		struct small x = {.c = cluster_create()};
		struct habit h;
		habit_init(&h);
		habit_learn(&h, 4 * 24, 100);
		for (int n = 0; n < 2; n++)
			assert_int_equal(cluster_add_node(x.c, n ? "n1" : "n0", &(struct res){.v = {1}}, NULL), 0);
		x.c->nodes.v[0].habit = &h;
		x.c->habits = true;
		x.p = plan_create(x.c);
		assert_int_equal(placed_at(&x, methods_[i], 0), 1);
		assert_int_equal(placed_at(&x, methods_[i], 0), 0);
		assert_int_equal(placed_at(&x, methods_[i], 0), -1);
		assert_int_equal(placed_at(&x, methods_[i], 3600), 0);
		small_close(&x);
	}
}

static int altered(const char *policy, const char *method, const char *pack, struct policy *ret)
{
	struct err err;
	struct attrs a;
	int rc;

	attrs_init(&a, ATTR_SERVER);
	assert_int_equal(attrs_change(&a, ATTR_SET, "node_allocation", method, &err), 0);
	if (pack)
		assert_int_equal(attrs_change(&a, ATTR_SET, "node_pack", pack, &err), 0);
	*ret = *policy_find(policy);
	rc = policy_alter(ret, &a, &err);
	if (rc < 0)
		assert_non_null(strstr(err.text, "node_allocation"));
	attrs_fini(&a);
	return rc;
}

static void what_goes_together(void **state)
{
	struct policy p;

	assert_int_equal(altered("easy", "fastest", NULL, &p), 0);
	assert_int_equal(p.alloc, ALLOC_FASTEST);
	assert_int_equal(altered("easy", "push", NULL, &p), 0);
	assert_int_equal(p.push_depth, 1);
	assert_int_equal(altered("oscar", "spread", NULL, &p), 0);
	assert_int_equal(p.push_depth, 0); /* what the policy pushed would not be spread */
	assert_int_equal(altered("torque", "min_resource", "False", &p), 0);
	assert_true(p.scatter);
	assert_int_equal(altered("easy", "min_resource", "True", &p), 0);
	assert_true(altered("easy", "spread", "True", &p) < 0);
	assert_true(altered("artaras", "push", NULL, &p) < 0);
	assert_true(altered("conservative", "cover", NULL, &p) < 0);
	assert_int_equal(altered("easy", "cover", "True", &p), 0);
	assert_true(p.cover);
}

/* At 10 all of both nodes becomes free. Best fit has the first job on n2, where then only one of
 * the two fits that need it. */
static const char work[] = "#shunt-workload 1\n"
			   "at=0 user=a req=nodes=n1:ppn=6+n2:ppn=4 run=10 walltime=10\n"
			   "at=1 user=a req=nodes=1:ppn=2 run=50 walltime=50\n"
			   "at=1 user=a req=nodes=1:ppn=2:f run=50 walltime=50\n"
			   "at=1 user=a req=nodes=1:ppn=2:f run=50 walltime=50\n";

/* How many start then. */
static int start_together(const char *method, const char *policy)
{
	struct lines *in = lines_over(work, sizeof work - 1);
	struct workload *w = workload_create("test");
	struct sim_options o;
	struct sim_result r;
	struct err err;
	int n = 0;

	if (workload_read_lines(in, RULES_SITE, 0, w, &err) < 0)
		fail_msg("%s", err.text);
	lines_close(in);
	sim_options_init(&o);
	o.machine = "node n1 cpus=6\nnode n2 cpus=4 features=f";
	o.allocation = method;
	o.check = true;
	if (sim_run(w, policy_find(policy), &o, &r, &err) < 0)
		fail_msg("%s", err.text);
	for (int64_t i = 0; i < r.n; i++)
		n += r.outcome[i].start == 10;
	sim_result_fini(&r);
	workload_destroy(w);
	return n;
}

static void cover_starts_more(void **state)
{
	assert_int_equal(start_together("min_resource", "fcfs"), 2);
	assert_int_equal(start_together("cover", "fcfs"), 3);
	assert_int_equal(start_together("min_resource", "easy"), 2);
	assert_int_equal(start_together("cover", "easy"), 3);
}

/* Listrovoy and Minukhin as Minukhin and Miezientsev have it, figure 1: twelve tasks, eight
 * resources, of which R1, R3 and R5 are enough. */
static const char figure[12][9] = {"1.......", ".111....", "1....1..", "..1....1", ".111....", "1.....1.",
				   "....1..1", "....11..", "....1...", ".11....1", ".1..1...", "1..1.1.."};

static void figure_machine(struct strbuf *out)
{
	for (int n = 0; n < 8; n++) {
		strbuf_printf(out, "node R%d cpus=12 features=any", n + 1);
		for (int j = 0; j < 12; j++)
			if (figure[j][n] == '1')
				strbuf_printf(out, ",t%d", j + 1);
		strbuf_printf(out, "\n");
	}
	strbuf_printf(out, "node other cpus=12\n");
}

/* The tasks come while all nodes are in use, and these become free at 10; behind a job that needs
 * one node more, or not. */
static struct workload *figure_work(bool behind)
{
	struct workload *w = workload_create("figure");
	struct strbuf text = {0};
	struct err err;

	strbuf_printf(&text, "#shunt-workload 1\nat=0 user=a req=nodes=8:ppn=12:any run=10 walltime=10\n");
	if (behind)
		strbuf_printf(&text, "at=0 user=a req=nodes=other:ppn=12 run=1000 walltime=1000\n"
				     "at=0 user=a req=nodes=9:ppn=12 run=10 walltime=10\n");
	for (int j = 0; j < 12; j++)
		strbuf_printf(&text, "at=1 user=a req=nodes=1:ppn=1:t%d run=50 walltime=50\n", j + 1);
	struct lines *in = lines_over(strbuf_text(&text), text.n);
	if (workload_read_lines(in, RULES_SITE, 0, w, &err) < 0)
		fail_msg("%s", err.text);
	lines_close(in);
	strbuf_fini(&text);
	return w;
}

/* Sets the bit of each node on which a task starts. */
static void note_nodes(void *context, const struct event *e)
{
	unsigned *used = context;

	if (e->type == EVENT_START && e->time == 10)
		*used |= 1u << e->nodes[0];
}

/* Runs the tasks. Returns true if all of them start at 10, and sets the bits of their nodes. */
static bool figure_run(const struct policy *policy, const char *method, bool behind, unsigned *ret_nodes)
{
	struct workload *w = figure_work(behind);
	struct strbuf machine = {0};
	struct sim_options o;
	struct sim_result r;
	struct err err;
	bool all = true;

	figure_machine(&machine);
	*ret_nodes = 0;
	sim_options_init(&o);
	o.machine = strbuf_text(&machine);
	o.allocation = method;
	o.check = true;
	o.listener = note_nodes;
	o.listener_context = ret_nodes;
	if (sim_run(w, policy, &o, &r, &err) < 0)
		fail_msg("%s: %s", policy->name, err.text);
	for (int64_t j = r.n - 12; j < r.n; j++)
		all &= r.outcome[j].start == 10;
	sim_result_fini(&r);
	workload_destroy(w);
	strbuf_fini(&machine);
	return all;
}

/* Every policy that accepts the smallest cover finds it, at the head of the queue and in backfill;
 * best fit, job by job, uses more nodes. */
static void cover_under_every_policy(void **state)
{
	const unsigned least = 1u | 1u << 2 | 1u << 4; /* R1, R3, R5 */
	struct policy p;
	unsigned nodes;

	(void)state;
	for (int i = 0; i < npolicies; i++) {
		if (altered(policies[i].name, "cover", NULL, &p) < 0)
			continue;
		assert_true(figure_run(&policies[i], "cover", false, &nodes));
		if (nodes != least)
			fail_msg("%s uses nodes %#x", policies[i].name, nodes);
		bool filled = figure_run(&policies[i], "cover", true, &nodes);
		assert_true(filled == (policies[i].backfill != ORDER_NONE));
		if (filled && nodes != least)
			fail_msg("%s fills nodes %#x", policies[i].name, nodes);
	}
	assert_true(figure_run(policy_find("easy"), "min_resource", false, &nodes));
	assert_int_equal(__builtin_popcount(nodes), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods),
		cmocka_unit_test(usual_hours),
		cmocka_unit_test(what_goes_together),
		cmocka_unit_test(cover_starts_more),
		cmocka_unit_test(cover_under_every_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
