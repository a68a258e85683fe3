/*
 * test_plan.c - properties of the plan itself: rollback is exact, whatever was done; what was
 * inserted is sound; searches find what they say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/booking.h"
#include "plan/fence.h"
#include "plan/insert.h"
#include "property/drive.h"

#define FENCES 3

static char message[200];

struct bench {
	const struct tcase *t;
	struct cluster *c;
	struct plan *p;
	struct rng r;
	struct nodeset on;
};

/* Jobs in states as they would be, so that everything removable is there. */
static void bench_open(struct bench *b, const struct tcase *t)
{
	static const struct policy known = {.deadlines = true};

	*b = (struct bench){.t = t, .c = drive_cluster(t, &known)};
	rng_seed(&b->r, t->seed);
	for (int i = 0; i < t->njobs; i++) {
		struct job *job = drive_add_job(b->c, t, i, &known);
		if (job->kind == KIND_COMMON && rng_below(&b->r, 2))
			job->kind = KIND_STARVING;
		job->state = rng_below(&b->r, 2) ? STATE_ALLOCATED : STATE_RUNNING;
		bool key[FENCES + 1] = {0};
		for (int k = 1; k <= FENCES; k++)
			key[k] = rng_below(&b->r, 3) == 0;
		job->keys = rng_below(&b->r, 2) ? cluster_nodeset(b->c, key, FENCES + 1, false) : KEYS_NONE;
		job->bound = rng_below(&b->r, 8) ? 0 : (uint32_t)rng_range(&b->r, 1, FENCES);
	}
	b->p = plan_create(b->c);
	plan_advance(b->p, 10);

	bool has[CASE_NODES];

	for (int i = 0; i < t->nnodes; i++)
		has[i] = rng_below(&b->r, 4) > 0;
	b->on = nodeset_make(has, (uint32_t)t->nnodes, false);
}

static void bench_close(struct bench *b)
{
	plan_destroy(b->p);
	free(b->on.word);
	cluster_destroy(b->c);
}

static struct manner random_manner(struct bench *b)
{
	struct rng *r = &b->r;
	struct manner m = {.may_remove = rng_below(r, 2) ? (unsigned)rng_below(r, 256) : 0};

	m.only_younger = rng_below(r, 2);
	m.push_depth = (int)rng_below(r, 4);
	m.alloc = (enum alloc)rng_below(r, ALLOC_CONTIGUOUS + 1);
	m.scatter = rng_below(r, 5) == 0;
	m.largest_first = rng_below(r, 2);
	m.on = rng_below(r, 3) ? NULL : &b->on;
	return m;
}

/* Returns true if nothing is reserved on the node in an interval, nor keeps others from it. */
static bool bookable(const struct plan *p, uint32_t node, int64_t start, int64_t end)
{
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			if ((n == node || x->whole == WHOLE_HOST) && !x->live && x->start < end && x->end > start)
				return false;
		}
	return plan_can_book(p, node, start, end);
}

/* Some node is booked for a while or for good, or is free again. */
static void random_booking(struct bench *b)
{
	uint32_t node = (uint32_t)rng_below(&b->r, b->p->nnodes), id = (uint32_t)rng_below(&b->r, 2);
	int64_t start = rng_range(&b->r, 5, 80),
		end = rng_below(&b->r, 2) ? TIME_NEVER : start + rng_range(&b->r, 1, 40);

	if (rng_below(&b->r, 3) == 0)
		plan_unbook(b->p, node, (struct owner){OWNER_LEAVES, id});
	else if (bookable(b->p, node, start, end))
		plan_book(b->p, node, (struct owner){OWNER_LEAVES, id}, start, end);
}

/* Returns true if everything that is planned on the node passes its fences, one more included. */
static bool fenceable(struct bench *b, uint32_t node, const struct fence *f)
{
	const fence_vec *v = b->p->node[node].fences;

	for (size_t i = 0; v && i < v->n; i++)
		if (v->v[i].start < f->end && v->v[i].end > f->start)
			return false;
	for (uint32_t n = 0; n < b->p->nnodes; n++)
		for (size_t i = 0; i < b->p->node[n].pieces.n; i++) {
			const struct piece *x = &b->p->node[n].pieces.v[i];
			const struct job *job = cluster_job(b->c, x->job);
			bool key = job->keys != KEYS_NONE && nodeset_has(&b->c->nodesets.v[job->keys], f->id);
			if ((n == node || x->whole == WHOLE_HOST) && !x->live && x->start < f->end &&
			    x->end > f->start && !key)
				return false;
		}
	return true;
}

/* A fence is put up, or all are taken down. */
static void random_fence(struct bench *b)
{
	uint32_t node = (uint32_t)rng_below(&b->r, b->p->nnodes);
	struct fence f = {.start = rng_range(&b->r, 5, 80)};
	bool bound = false;

	f.id = (uint32_t)rng_range(&b->r, 1, FENCES);
	f.end = rng_below(&b->r, 4) ? f.start + rng_range(&b->r, 1, 60) : TIME_NEVER;
	if (rng_below(&b->r, 2) && b->p->total[node].v[RES_CPU])
		f.part.v[RES_CPU] = rng_range(&b->r, 1, b->p->total[node].v[RES_CPU]);
	for (uint32_t i = 0; i < b->c->jobs.n; i++) /* they would be left outside */
		bound |= cluster_job(b->c, i)->bound && plan_holds(b->p, i);
	if (rng_below(&b->r, 12) == 0 && !bound)
		plan_unfence(b->p);
	else if (rng_below(&b->r, 2) && fenceable(b, node, &f))
		plan_fence(b->p, node, &f);
}

static bool opens(const struct plan *p, const struct job *job, uint32_t id)
{
	return job->bound == id || (job->keys != KEYS_NONE && nodeset_has(&p->cluster->nodesets.v[job->keys], id));
}

/* Returns true if the jobs without the key have no more than a fence's rest of a node at an
 * instant. */
static bool rest_is_kept(const struct plan *p, uint32_t node, const struct fence *f, int64_t at)
{
	const piece_vec *v = &p->node[node].pieces;
	struct res rest = p->total[node];

	res_sub(&rest, &f->part);
	for (size_t i = 0; i < v->n; i++)
		if ((v->v[i].live || v->v[i].start <= at) && at < v->v[i].end &&
		    !opens(p, cluster_job(p->cluster, v->v[i].job), f->id))
			res_sub(&rest, &p->cluster->shapes.v[v->v[i].shape].need);
	return rest.v[RES_CPU] >= 0;
}

/* Returns true if a job that was just put passes, instant by instant. */
static bool behind_fences(const struct plan *p, uint32_t id)
{
	const struct job *job = cluster_job(p->cluster, id);

	for (uint32_t f = 0; f < plan_hold(p, id)->nfrags; f++) {
		const struct piece *x = plan_piece(p, id, f);
		const fence_vec *v = p->node[plan_place(p, id, f)->node].fences;
		for (int64_t at = x->start; at < x->end; at++) {
			const struct fence *in = NULL;
			for (size_t i = 0; v && i < v->n; i++)
				if (v->v[i].start <= at && at < v->v[i].end)
					in = &v->v[i];
			if (job->bound ? !in || in->id != job->bound
				       : in && !opens(p, job, in->id) &&
						 (x->whole || !fence_parted(in) ||
						  p->cluster->nodes.v[plan_place(p, id, f)->node].partition ||
						  !rest_is_kept(p, (uint32_t)plan_place(p, id, f)->node, in, at)))
				return false;
		}
	}
	return true;
}

/* The earliest start is the first at which an insertion succeeds, also where fences are. */
static const char *earliest(struct bench *b, uint32_t job, int64_t from, int64_t length)
{
	const struct manner m = {.alloc = ALLOC_FIRST};
	int64_t at, first;
	plan_mark mark = plan_begin(b->p);

	at = plan_insert_earliest(b->p, &m, job, from, length);
	plan_rollback(b->p, mark);
	mark = plan_begin(b->p);
	for (first = from; first < from + 200 && !plan_insert(b->p, &m, job, first, first + length); first++)
		;
	plan_rollback(b->p, mark);
	if (first < from + 200 ? at != first : at < first)
		return "the earliest start is not the first that there is";
	return NULL;
}

/* One change, or none. */
static const char *random_change(struct bench *b)
{
	uint32_t job = (uint32_t)rng_below(&b->r, b->c->jobs.n);
	int64_t length = cluster_length(b->c, cluster_job(b->c, job)), from = rng_range(&b->r, 10, 60), at;
	struct manner m = random_manner(b);

	if (plan_holds(b->p, job)) {
		plan_take_job(b->p, job);
		return NULL;
	}
	switch (rng_below(&b->r, 3)) {
	case 0:
		if (plan_insert(b->p, &m, job, from, from + length) != plan_holds(b->p, job))
			return "plan_insert says otherwise than the plan";
		break;
	case 1:
		at = plan_insert_earliest(b->p, &m, job, from, length);
		if ((at != TIME_NEVER) != plan_holds(b->p, job) || at < from ||
		    (at != TIME_NEVER && plan_piece(b->p, job, 0)->start != at))
			return "plan_insert_earliest says otherwise than the plan";
		break;
	default:
		at = plan_insert_latest(b->p, &m, job, from, from + 2 * length, length);
		if ((at != TIME_NEVER) != plan_holds(b->p, job) || at < from ||
		    (at != TIME_NEVER && at > from + length))
			return "plan_insert_latest says otherwise than the plan";
	}
	return NULL;
}

/* Bit for bit: also the order of pieces on a node and the place of each fragment. */
static bool identical(const struct plan *a, const struct plan *b)
{
	if (!plan_equal(a, b) || a->loose != b->loose)
		return false;
	for (uint32_t n = 0; n < a->nnodes; n++) {
		const piece_vec *v = &a->node[n].pieces, *w = &b->node[n].pieces;
		if (a->node[n].loose != b->node[n].loose)
			return false;
		for (size_t i = 0; i < v->n; i++)
			if (v->v[i].job != w->v[i].job || v->v[i].frag != w->v[i].frag ||
			    v->v[i].start != w->v[i].start || v->v[i].end != w->v[i].end ||
			    v->v[i].live != w->v[i].live || v->v[i].running != w->v[i].running ||
			    v->v[i].fixed != w->v[i].fixed || v->v[i].shape != w->v[i].shape)
				return false;
	}
	return true;
}

/* Changes in nested transactions, each rolled back or committed; the outermost is rolled back. */
static const char *nested(struct bench *b, int depth)
{
	plan_mark mark = plan_begin(b->p);
	struct plan *before = plan_clone(b->p);
	const char *wrong = NULL;
	int steps = (int)rng_range(&b->r, 1, 6);

	for (int i = 0; i < steps && !wrong; i++)
		wrong = depth < 3 && rng_below(&b->r, 3) == 0 ? nested(b, depth + 1) : random_change(b);
	if (depth == 0 || rng_below(&b->r, 2)) {
		plan_rollback(b->p, mark);
		if (!wrong && !identical(before, b->p))
			wrong = "after a rollback the plan is not as it was";
	} else {
		plan_commit(b->p, mark);
	}
	plan_destroy(before);
	return wrong;
}

static const char *rollback(const struct tcase *t, const struct policy *policy)
{
	struct bench b;
	const char *wrong = NULL;

	(void)policy;
	bench_open(&b, t);
	for (int i = 0; i < t->njobs && !wrong; i++) {
		random_booking(&b);
		random_fence(&b);
		plan_check(b.p);
		if (i == t->njobs / 2) { /* somebody asks for swap, which was not counted so far */
			cluster_shape(b.c, &(struct shape){.need = {.v = {[RES_SWAP] = 1}}});
			plan_widen(b.p);
			plan_check(b.p);
		}
		wrong = random_change(&b);
		plan_check(b.p);
		if (!wrong)
			wrong = nested(&b, 0);
		plan_check(b.p);
	}
	bench_close(&b);
	return wrong;
}

/* A failed insertion leaves no trace; one that succeeds moves only what may be moved, in place
 * but not in time, and removes only what it may. */
static const char *insertion(const struct tcase *t, const struct policy *policy)
{
	struct bench b;
	const char *wrong = NULL;

	(void)policy;
	bench_open(&b, t);
	for (uint32_t i = 0; i < b.c->jobs.n && !wrong; i++) {
		struct manner m = random_manner(&b);
		int64_t start = rng_range(&b.r, 10, 40), end = start + cluster_length(b.c, cluster_job(b.c, i));
		random_booking(&b);
		random_fence(&b);
		wrong = earliest(&b, i, start, end - start);
		struct plan *before = plan_clone(b.p);
		bool done = plan_insert(b.p, &m, i, start, end);
		if (done && !behind_fences(b.p, i))
			wrong = "a job was put where a fence keeps it out";
		for (uint32_t f = 0; done && f < plan_hold(b.p, i)->nfrags; f++)
			if (plan_booked(b.p, (uint32_t)plan_place(b.p, i, f)->node, start, end))
				wrong = "a fragment was put on a node that is booked";
		plan_check(b.p);
		if (!done && !identical(before, b.p))
			wrong = "a failed insertion left a trace";
		for (uint32_t f = 0; done && m.on && f < plan_hold(b.p, i)->nfrags; f++)
			if (!nodeset_has(m.on, (uint32_t)plan_place(b.p, i, f)->node))
				wrong = "a fragment was put on a node that is closed";
		for (uint32_t k = 0; done && k < i && !wrong; k++) {
			if (!plan_holds(before, k))
				continue;
			if (!plan_holds(b.p, k)) {
				if (!(plan_removable(before, k) & m.may_remove))
					wrong = "a job was removed that may not be";
				continue;
			}
			for (uint32_t f = 0; f < plan_hold(before, k)->nfrags && !wrong; f++) {
				const struct piece *x = plan_piece(before, k, f), *y = plan_piece(b.p, k, f);
				bool cut = x->running && y->end <= x->end && y->end > b.p->now &&
					   (plan_removable(before, k) & m.may_remove);
				if ((x->start != y->start || x->end != y->end) && !cut)
					wrong = "a fragment was moved in time";
				if (plan_place(before, k, f)->node != plan_place(b.p, k, f)->node &&
				    (x->fixed || x->running || m.push_depth == 0 ||
				     (m.on && !nodeset_has(m.on, (uint32_t)plan_place(b.p, k, f)->node))))
					wrong = "a fragment was pushed that may not be";
			}
		}
		plan_destroy(before);
		if (plan_holds(b.p, i) && cluster_job(b.c, i)->state == STATE_RUNNING && start <= 10)
			plan_run(b.p, i);
	}
	bench_close(&b);
	if (wrong)
		snprintf(message, sizeof message, "%s", wrong);
	return wrong ? message : NULL;
}

/* ---- many nodes, which searches look at in blocks ---- */

#define CROWD_NODES 200
#define CROWD_JOBS 60

/* Returns true if a job of equal fragments has room from an instant on, node by node. */
static bool crowd_fits(const struct plan *p, uint32_t job, int64_t start, int64_t end)
{
	const struct request *r = cluster_job_request(p->cluster, cluster_job(p->cluster, job));
	const struct res *need = &p->cluster->shapes.v[r->frag[0].shape].need;
	int64_t copies = 0;
	double area;

	for (uint32_t n = 0; n < p->nnodes; n++)
		copies += p->node[n].up ? timeline_measure(&p->node[n].line, start, end, need, &area) : 0;
	return copies >= r->nfrags;
}

/* Returns the first instant from `from` on that gives it room; every one is tried. */
static int64_t crowd_first(const struct plan *p, uint32_t job, int64_t from, int64_t length)
{
	while (!crowd_fits(p, job, from, from + length))
		from++;
	return from;
}

static struct plan *crowd_open(struct rng *r, struct cluster *c)
{
	char name[16];

	for (int i = 0; i < CROWD_NODES; i++) {
		struct res total = {.v = {[RES_CPU] = rng_range(r, 1, 4)}};
		snprintf(name, sizeof name, "n%d", i);
		cluster_add_node(c, name, &total, NULL);
	}
	for (int i = 0; i < CROWD_JOBS; i++) {
		struct shape shape = {.need = {.v = {[RES_CPU] = rng_range(r, 1, 2)}}};
		struct frag frag[CROWD_NODES];
		uint32_t n = (uint32_t)(rng_below(r, 3) ? rng_range(r, 1, 3) : rng_range(r, 30, 100));
		for (uint32_t k = 0; k < n; k++)
			frag[k] = (struct frag){cluster_shape(c, &shape), NODE_ANY};
		uint32_t request = cluster_intern(c, frag, n);
		cluster_add_job(c)->request = request;
	}
	return plan_create(c);
}

/* Jobs come and go, nodes are booked, and each job gets the first place that there is. */
static void crowd(uint64_t seed)
{
	struct cluster *c = cluster_create();
	struct rng r;
	rng_seed(&r, seed);
	struct plan *p = crowd_open(&r, c);
	int64_t now = 10;

	for (int i = 0; i < 2 * CROWD_JOBS; i++) {
		struct manner m = {.alloc = (enum alloc)rng_below(&r, ALLOC_CONTIGUOUS + 1),
				   .push_depth = (int)rng_below(&r, 2)};
		uint32_t job = (uint32_t)rng_below(&r, CROWD_JOBS), node = (uint32_t)rng_below(&r, CROWD_NODES);
		int64_t length = rng_range(&r, 1, 40), first, at;
		plan_advance(p, now += rng_below(&r, 2));
		if (rng_below(&r, 8) == 0 && plan_can_book(p, node, now + 5, now + 30) && p->node[node].pieces.n == 0)
			plan_book(p, node, (struct owner){OWNER_LEAVES, node}, now + 5, now + 30);
		if (plan_holds(p, job)) {
			plan_take_job(p, job);
			continue;
		}
		first = crowd_first(p, job, now, length);
		at = plan_insert_earliest(p, &m, job, now, length);
		if (m.push_depth ? at > first : at != first)
			fail_msg("seed %llu, step %d: the earliest start is %lld, not %lld", (unsigned long long)seed,
				 i, (long long)at, (long long)first);
		plan_check(p);
	}
	plan_destroy(p);
	cluster_destroy(c);
}

static void test_crowd(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++)
		crowd(seed);
}

#define FLAVOUR (WITH_KINDS | WITH_MIXED | WITH_MORE | WITH_NODES)

static void test_rollback(void **state)
{
	(void)state;
	case_check(rollback, FLAVOUR, policy_find("oscar"), 420);
	case_check(rollback, FLAVOUR & ~WITH_NODES, policy_find("oscar"), 120);
	case_check(rollback, FLAVOUR | WITH_WHOLE, policy_find("oscar"), 420);
}

static void test_insertion(void **state)
{
	(void)state;
	case_check(insertion, FLAVOUR, policy_find("oscar"), 900);
	case_check(insertion, WITH_NODES, policy_find("oscar"), 300);
	case_check(insertion, FLAVOUR | WITH_WHOLE, policy_find("oscar"), 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rollback), cmocka_unit_test(test_insertion),
					   cmocka_unit_test(test_crowd)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
