/*
 * test_pack.c - fragments that fit together are found, and those that do not are said to be
 * impossible: against an oracle that tries every node for every fragment, also with whole nodes,
 * and on cases that are cut from the nodes themselves.
 *
 * SHUNT_CASES=20 tries 20 times as many (100,000 against the oracle); SHUNT_SEED=n one of them
 * again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/insert.h"
#include "plan/pack.h"
#include "support/ring.h"

#define NODES 4
#define FRAGS 6
#define MANY 400 /* fragments of the large cases */

struct small {
	struct cluster *c;
	struct plan *p;
	uint32_t job, request;
	bool scatter;
};

static bool chance(struct rng *r, double p)
{
	return rng_unit(r) < p;
}

static struct cluster *random_cluster(struct rng *r, int nnodes, bool more)
{
	struct cluster *c = cluster_create();
	struct err err;

	for (int i = 0; i < nnodes; i++) {
		struct res total = {.v = {chance(r, 0.5) ? 8 : rng_range(r, 1, 12)}};
		char name[16];
		if (more)
			total.v[RES_MEM] = rng_range(r, 2, 16);
		if (more && chance(r, 0.3))
			total.v[RES_GPU] = rng_range(r, 1, 3);
		snprintf(name, sizeof name, "n%d", i + 1);
		assert_int_equal(cluster_add_node(c, name, &total, &err), 0);
		if (more && chance(r, 0.5))
			assert_int_equal(cluster_add_feature(c, (uint32_t)i, "fast", &err), 0);
		if (more && chance(r, 0.3))
			assert_int_equal(cluster_add_feature(c, (uint32_t)i, "big", &err), 0);
	}
	return c;
}

static struct frag random_frag(struct rng *r, struct cluster *c, bool more, enum wholeness whole)
{
	int32_t at = (int32_t)rng_below(r, c->nodes.n);
	const struct node *n = &c->nodes.v[at];
	struct shape s = {.need = {.v = {rng_range(r, 1, n->total.v[RES_CPU])}}, .exclusive = chance(r, 0.12)};

	s.whole = (uint8_t)whole;

	if (chance(r, 0.7)) /* smaller, so that several fit */
		s.need.v[RES_CPU] = (s.need.v[RES_CPU] + 1) / 2;
	if (more && chance(r, 0.5))
		s.need.v[RES_MEM] = rng_range(r, 0, n->total.v[RES_MEM]);
	if (more && chance(r, 0.2))
		s.need.v[RES_GPU] = rng_range(r, 0, n->total.v[RES_GPU]);
	if (more && chance(r, 0.25))
		for (uint64_t i = 0, some = 1 + rng_below(r, 3); i < 2; i++)
			if (some >> i & 1 && features_has(&c->features, n->features, (uint32_t)i))
				s.features = features_add(&c->features, s.features, (uint32_t)i);
	return (struct frag){cluster_shape(c, &s), chance(r, 0.15) ? at : NODE_ANY};
}

static enum wholeness random_whole(struct rng *r)
{
	return chance(r, 0.7) ? WHOLE_NOT : chance(r, 0.6) ? WHOLE_NODE : WHOLE_HOST;
}

/* Sorts fragments by insertion: those on named nodes first, then by CPUs; equal ones stay. */
static void frags_order(const struct cluster *c, struct frag *f, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k > 0; k--) {
			struct frag a = f[k - 1], b = f[k];
			bool free_a = a.node == NODE_ANY, free_b = b.node == NODE_ANY;
			int64_t cpus_a = c->shapes.v[a.shape].need.v[RES_CPU],
				cpus_b = c->shapes.v[b.shape].need.v[RES_CPU];
			if (free_a != free_b ? free_b : cpus_a <= cpus_b)
				break;
			f[k - 1] = b;
			f[k] = a;
		}
}

static void small_open(struct small *t, uint64_t seed)
{
	struct rng r;
	struct frag frag[FRAGS], sorted[FRAGS];
	bool more;
	uint32_t n;
	enum wholeness whole;

	rng_seed(&r, seed);
	more = chance(&r, 0.6);
	*t = (struct small){.c = random_cluster(&r, (int)rng_range(&r, 1, NODES), more)};
	t->scatter = chance(&r, 0.15);
	for (uint32_t i = 1; i < t->c->nodes.n; i++)
		if (chance(&r, 0.2))
			ring_join(t->c, i - 1, i);
	n = (uint32_t)rng_range(&r, 1, FRAGS);
	whole = random_whole(&r);
	for (uint32_t i = 0; i < n; i++)
		frag[i] = i && chance(&r, 0.3) ? frag[i - 1] : random_frag(&r, t->c, more, whole);
	memcpy(sorted, frag, n * sizeof *frag);
	frags_order(t->c, sorted, n);
	t->request = cluster_intern(t->c, frag, n);
	assert_memory_equal(t->c->requests.v[t->request].frag, sorted, n * sizeof *frag);
	/* others, to be in the way: running, reserved, of any kind */
	for (int i = (int)rng_below(&r, 5); i > 0; i--) {
		struct frag one = random_frag(&r, t->c, more, random_whole(&r));
		struct job *job = cluster_add_job(t->c);
		one.node = NODE_ANY;
		job->request = cluster_intern(t->c, &one, 1);
		job->state = chance(&r, 0.5) ? STATE_RUNNING : STATE_ALLOCATED;
		job->kind = (uint8_t)rng_below(&r, 4);
	}
	t->p = plan_create(t->c);
	plan_advance(t->p, 10);
	for (uint32_t i = 0; i < t->c->jobs.n; i++) {
		struct manner m = {0};
		bool runs = cluster_job(t->c, i)->state == STATE_RUNNING;
		int64_t at = runs ? 10 : rng_range(&r, 10, 30);
		if (plan_insert(t->p, &m, i, at, at + rng_range(&r, 1, 20)) && runs)
			plan_run(t->p, i);
	}
	struct job *job = cluster_add_job(t->c);
	job->request = t->request;
	job->kind = KIND_EMERGENCY;
	t->job = job->id;
}

static void small_close(struct small *t)
{
	plan_destroy(t->p);
	cluster_destroy(t->c);
}

/* ---- the oracle: every node for every fragment ---- */

struct oracle {
	const struct small *t;
	struct res room[NODES];
	int frags[NODES];  /* on each node */
	bool alone[NODES]; /* one of them must be the only one */
};

static bool oracle_place(struct oracle *o, uint32_t i)
{
	const struct request *r = &o->t->c->requests.v[o->t->request];
	bool found = false;

	if (i == r->nfrags)
		return true;

	const struct shape *s = &o->t->c->shapes.v[r->frag[i].shape];
	bool alone = s->exclusive || o->t->scatter;

	for (int32_t n = 0; n < (int32_t)o->t->c->nodes.n && !found; n++) {
		if ((r->frag[i].node != NODE_ANY && r->frag[i].node != n) || !res_covers(&o->room[n], &s->need) ||
		    !features_cover(&o->t->c->features, o->t->c->nodes.v[n].features, s->features) || o->alone[n] ||
		    (alone && o->frags[n]))
			continue;
		res_sub(&o->room[n], &s->need);
		o->frags[n]++;
		o->alone[n] = alone;
		found = oracle_place(o, i + 1);
		o->alone[n] = false;
		o->frags[n]--;
		res_add(&o->room[n], &s->need);
	}
	return found;
}

/* Returns true if two nodes are on one machine. */
static bool one_host(const struct cluster *c, int32_t a, int32_t b)
{
	for (int32_t n = c->nodes.v[a].peer; n != a && a != b; n = c->nodes.v[n].peer)
		if (n == b)
			return true;
	return a == b;
}

/* Returns true if a piece on node `at` leaves nothing of node `n` to another job, or the other
 * job does not want to be there with it. */
static bool in_conflict(const struct small *t, const struct piece *x, int32_t at, int32_t n)
{
	enum wholeness mine = t->c->requests.v[t->request].whole, its = t->c->shapes.v[x->shape].whole;

	return (n == at && (mine || its)) || (one_host(t->c, at, n) && (mine == WHOLE_HOST || its == WHOLE_HOST));
}

/* On an empty machine; or over [start, end) in the plan, less the jobs that may be removed. */
static bool oracle_fits(const struct small *t, int64_t start, int64_t end, unsigned may_remove, bool empty)
{
	struct oracle o = {.t = t};

	for (uint32_t n = 0; n < t->c->nodes.n; n++) {
		o.room[n] = t->c->nodes.v[n].total;
		for (uint32_t k = 0; k < t->c->nodes.n && !empty; k++)
			for (size_t i = 0; i < t->p->node[k].pieces.n; i++) {
				const struct piece *x = &t->p->node[k].pieces.v[i];
				if ((x->live || x->start < end) && start < x->end &&
				    !(plan_removable(t->p, x->job) & may_remove) &&
				    in_conflict(t, x, (int32_t)k, (int32_t)n))
					o.room[n] = (struct res){.v = {-1}};
			}
		for (int64_t at = start; at < end && !empty; at++) {
			struct res free = t->c->nodes.v[n].total;
			const piece_vec *v = &t->p->node[n].pieces;
			for (size_t i = 0; i < v->n; i++)
				if ((v->v[i].live || v->v[i].start <= at) && at < v->v[i].end &&
				    !(plan_removable(t->p, v->v[i].job) & may_remove))
					res_sub(&free, &t->c->shapes.v[v->v[i].shape].need);
			for (int d = 0; d < RES_MAX; d++)
				if (free.v[d] < o.room[n].v[d])
					o.room[n].v[d] = free.v[d];
		}
	}
	return oracle_place(&o, 0);
}

/* ---- against it ---- */

static const char *try_small(uint64_t seed)
{
	const char *wrong = NULL;
	struct small t;
	struct rng r;

	small_open(&t, seed);
	rng_seed(&r, ~seed);

	const struct request *q = &t.c->requests.v[t.request];
	bool fits = oracle_fits(&t, 0, 0, 0, true);
	int64_t start = rng_range(&r, 10, 30), end = start + rng_range(&r, 1, 10);
	unsigned may = chance(&r, 0.4) ? (unsigned)rng_below(&r, 256) : 0;
	struct manner m = {.scatter = t.scatter, .may_remove = may, .largest_first = chance(&r, 0.3)};
	struct plan *before = plan_clone(t.p);

	if (pack_empty(t.c, q, t.scatter, NULL) != (fits ? FIT_YES : FIT_NO))
		wrong = fits ? "it fits the empty machine" : "it does not fit the empty machine";
	m.alloc = (enum alloc)rng_below(&r, ALLOC_CONTIGUOUS + 1);
	m.push_depth = !may && chance(&r, 0.3);
	fits = oracle_fits(&t, start, end, may, false);

	bool placed = plan_insert(t.p, &m, t.job, start, end);

	if (fits && !placed)
		wrong = "it fits the plan, and was not placed";
	if (!fits && placed && !m.push_depth)
		wrong = "it was placed where it does not fit";
	if (!placed && !plan_equal(t.p, before))
		wrong = "it was not placed, and the plan is not as it was";
	plan_check(t.p);
	plan_destroy(before);
	small_close(&t);
	return wrong;
}

static void each_seed(int count, const char *(*check)(uint64_t seed))
{
	const char *only = getenv("SHUNT_SEED"), *factor = getenv("SHUNT_CASES");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t end = first + (only ? 1 : (uint64_t)(count * (factor ? strtod(factor, NULL) : 1)));

	for (uint64_t seed = first; seed < end; seed++) {
		const char *wrong = check(seed);
		if (wrong)
			fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
	}
}

static void test_oracle(void **state)
{
	(void)state;
	each_seed(5000, try_small);
}

/* ---- cases that are cut from the nodes: there is a way, and there is no slack ---- */

static int64_t cut(struct rng *r, int64_t *left, bool last)
{
	int64_t n = last ? *left : rng_range(r, 0, *left);

	*left -= n;
	return n;
}

/* Up to `parts` fragments whose sum is exactly what the node has. */
static uint32_t cut_node(struct rng *r, struct cluster *c, uint32_t node, int parts, struct frag *ret)
{
	struct res left = c->nodes.v[node].total;
	uint32_t n = 0;

	for (int i = 0; i < parts && left.v[RES_CPU]; i++) {
		bool last = i == parts - 1;
		struct shape s = {.need = {.v = {1}}};
		left.v[RES_CPU]--; /* each has a CPU */
		s.need.v[RES_CPU] += cut(r, &left.v[RES_CPU], last);
		s.need.v[RES_MEM] = cut(r, &left.v[RES_MEM], last || !left.v[RES_CPU]);
		ret[n++] = (struct frag){cluster_shape(c, &s), NODE_ANY};
	}
	return n;
}

static uint64_t most_steps;

/* `shift`: CPUs of the first node that are on the last one instead. */
static enum fit solve(struct cluster *c, struct frag *frag, uint32_t n, int64_t shift)
{
	uint32_t id = cluster_intern(c, frag, n);
	const struct request *r = &c->requests.v[id];
	int32_t *nodes = mem_alloc(n * sizeof *nodes);
	struct res room[64];
	struct pack k;
	enum fit fit;

	pack_init(&k, c, r, false);
	for (size_t i = 0; i < c->nodes.n; i++) {
		room[i] = c->nodes.v[i].total;
		room[i].v[RES_CPU] += i == 0 ? -shift : i + 1 == c->nodes.n ? shift : 0;
		pack_offer(&k, (int32_t)i, &room[i], ~UINT64_C(0));
	}
	fit = pack_solve(&k, nodes);
	if (k.steps > most_steps)
		most_steps = k.steps;
	for (uint32_t i = 0; i < n && fit == FIT_YES; i++) {
		const struct res *need = &c->shapes.v[r->frag[i].shape].need;
		assert_true(res_covers(&room[nodes[i]], need));
		res_sub(&room[nodes[i]], need);
	}
	pack_fini(&k);
	free(nodes);
	return fit;
}

/* There is a way as it was cut; and with a CPU elsewhere there may be or not, but it is known. */
static const char *solve_both(struct cluster *c, struct frag *frag, uint32_t n)
{
	if (solve(c, frag, n, 0) != FIT_YES)
		return "the way it was cut was not found";
	return solve(c, frag, n, 1) == FIT_UNKNOWN ? "it gave up" : NULL;
}

/* 16 fragments, all of them different. */
static const char *try_sixteen(uint64_t seed)
{
	struct rng r;
	struct cluster *c;
	struct frag frag[MANY];
	uint32_t n = 0;
	const char *wrong;

	rng_seed(&r, seed);
	c = random_cluster(&r, (int)rng_range(&r, 2, 8), true);
	for (uint32_t i = 0; i < c->nodes.n && n < 16; i++)
		n += cut_node(&r, c, i, (int)(16 - n < 5 ? 16 - n : (uint32_t)rng_range(&r, 2, 5)), frag + n);
	wrong = solve_both(c, frag, n);
	cluster_destroy(c);
	return wrong;
}

/* Hundreds of fragments of four shapes on nodes of two sizes. */
static const char *try_four(uint64_t seed)
{
	struct rng r;
	struct cluster *c = cluster_create();
	struct shape shape[4] = {0};
	struct frag frag[MANY];
	uint32_t n = 0;
	struct err err;
	const char *wrong;

	rng_seed(&r, seed);
	for (int i = 0; i < 4; i++)
		shape[i].need = (struct res){.v = {rng_range(&r, 1, 12), rng_range(&r, 0, 20)}};
	for (int i = (int)rng_range(&r, 2, 40); i > 0; i--) {
		struct res total = {0};
		char name[16];
		for (int k = 0; k < 5 && n < MANY; k++) {
			const struct shape *s = &shape[rng_below(&r, 4)];
			if (total.v[RES_CPU] + s->need.v[RES_CPU] > 24)
				break;
			res_add(&total, &s->need);
			frag[n++] = (struct frag){cluster_shape(c, s), NODE_ANY};
		}
		if (chance(&r, 0.3)) /* some slack */
			total.v[RES_CPU]++;
		snprintf(name, sizeof name, "n%d", i);
		assert_int_equal(cluster_add_node(c, name, &total, &err), 0);
	}
	wrong = solve_both(c, frag, n);
	cluster_destroy(c);
	return wrong;
}

static void test_sixteen(void **state)
{
	(void)state;
	each_seed(300, try_sixteen);
	print_message("# at most %llu steps\n", (unsigned long long)most_steps);
}

static void test_four(void **state)
{
	(void)state;
	most_steps = 0;
	each_seed(150, try_four);
	print_message("# at most %llu steps\n", (unsigned long long)most_steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oracle),
		cmocka_unit_test(test_sixteen),
		cmocka_unit_test(test_four),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
