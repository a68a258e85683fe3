/*
 * test_explain.c - every waiting job has a reason, and the reason is true: each claim is checked on
 * a copy of the plan from which what the reason names was taken out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plan/insert.h"
#include "property/drive.h"
#include "sched/explain.h"
#include "sched/sched_internal.h"

static uint64_t seen[WHY_COUNT];

struct claim_check {
	struct drive *d;
	uint32_t job;
	int64_t length;
	const struct reason *r;
	struct plan *p; /* the plan without the job itself */
};

static bool fits(const struct claim_check *k, struct plan *p, int64_t length)
{
	bool done = plan_insert(p, &k->d->s->plain, k->job, k->d->now, k->d->now + length);

	if (done)
		plan_take_job(p, k->job); /* pushes stay: the copy is only asked whether */
	return done;
}

/* On a copy, since a fit may have pushed. */
static bool would_fit(const struct claim_check *k, int64_t length)
{
	struct plan *copy = plan_clone(k->p);
	bool done = fits(k, copy, length);

	plan_destroy(copy);
	return done;
}

/* Takes out all reserved jobs that start before `start`, or at it with an id below `job`. */
static void drop_reserved(struct plan *p, int64_t start, uint32_t job)
{
	for (uint32_t i = 0; i < p->holds.n; i++)
		if (plan_holds(p, i) && !plan_piece(p, i, 0)->live &&
		    (plan_piece(p, i, 0)->start < start || (plan_piece(p, i, 0)->start == start && i < job)))
			plan_take_job(p, i);
}

static void check_reserved_for(const struct claim_check *k)
{
	const struct reason *r = k->r;
	struct drive *d = k->d;

	if (r->by >= d->c->jobs.n || r->by == k->job || !plan_holds(d->p, r->by)) {
		drive_wrong(d, "job %u: is said to wait for %u, which has no reservation", k->job, r->by);
		return;
	}
	if (plan_piece(d->p, r->by, 0)->start != r->by_start || r->by_start >= d->now + k->length)
		drive_wrong(d, "job %u: the reservation of %u is not at %lld, or not in its way", k->job, r->by,
			    (long long)r->by_start);
	if (r->shorter >= k->length)
		drive_wrong(d, "job %u: %lld is not shorter", k->job, (long long)r->shorter);
	if (r->shorter > 0 && !would_fit(k, r->shorter + d->c->settings.tolerance))
		drive_wrong(d, "job %u would not start now with a walltime of %lld", k->job, (long long)r->shorter);
	drop_reserved(k->p, r->by_start, r->by);
	if (would_fit(k, k->length))
		drive_wrong(d, "job %u would fit though %u kept its reservation", k->job, r->by);
	plan_take_job(k->p, r->by);
	if (!would_fit(k, k->length))
		drive_wrong(d, "job %u would not fit if %u had no reservation", k->job, r->by);
}

static bool may_use(const struct claim_check *k, size_t node)
{
	const struct cluster *c = k->d->c;

	return nodeset_has(&c->nodesets.v[cluster_job(c, k->job)->allowed], (uint32_t)node);
}

/* Returns true if a running job with whole nodes or machines has this node to itself. */
static bool has_whole(const struct drive *d, uint32_t runs, int32_t node)
{
	bool host = d->t->job[d->job[runs].of].whole == WHOLE_HOST;
	int32_t n = node;

	do {
		for (int f = 0; f < d->t->job[d->job[runs].of].nfrags; f++)
			if (d->job[runs].nodes[f] == n)
				return true;
		n = host ? d->c->nodes.v[n].peer : node;
	} while (n != node);
	return false;
}

/* Returns true if a fragment of the job fits on a node that nobody has, as far as the job wants
 * it to itself. */
static bool is_empty(const struct claim_check *k, int32_t node)
{
	const struct drive *d = k->d;
	const struct request *q = cluster_job_request(d->c, cluster_job(d->c, k->job));
	bool fits_one = false;
	int32_t n = node;

	for (uint32_t f = 0; f < q->nfrags; f++) {
		const struct shape *s = &d->c->shapes.v[q->frag[f].shape];
		fits_one |= features_cover(&d->c->features, d->c->nodes.v[n].features, s->features) &&
			    res_covers(&d->c->nodes.v[n].total, &s->need);
	}
	if (!fits_one || !d->c->nodes.v[node].up || !may_use(k, (size_t)node))
		return false;
	do {
		for (uint32_t i = 0; i < d->c->jobs.n; i++)
			if (d->job[i].runs && plan_piece(d->p, i, 0)->end > d->now && has_whole(d, i, n))
				return false;
		n = q->whole == WHOLE_HOST ? d->c->nodes.v[n].peer : node;
	} while (n != node);
	return true;
}

/* Empty nodes; of those of one machine one, if the job wants machines. */
static int64_t count_empty(const struct claim_check *k)
{
	bool host = cluster_job_request(k->d->c, cluster_job(k->d->c, k->job))->whole == WHOLE_HOST, counted = false;
	int64_t count = 0;

	for (int n = 0; n < k->d->t->nnodes; n++) {
		bool empty = is_empty(k, n);
		counted &= k->d->t->beside[n];
		count += empty && !(host && counted);
		counted |= empty;
	}
	return count;
}

/* What a running job holds of a dimension on the nodes that this job may use. */
static int64_t used_there(const struct claim_check *k, uint32_t runs, int dim)
{
	const struct cluster *c = k->d->c;
	const struct request *r = cluster_job_request(c, cluster_job(c, runs));
	int64_t used = 0;

	for (uint32_t f = 0; f < r->nfrags && !r->whole; f++)
		if (may_use(k, (size_t)plan_place(k->d->p, runs, f)->node))
			used += c->shapes.v[r->frag[f].shape].need.v[dim];
	for (uint32_t n = 0; n < c->nodes.n && r->whole; n++)
		if (may_use(k, n) && c->nodes.v[n].up && has_whole(k->d, runs, (int32_t)n))
			used += c->nodes.v[n].total.v[dim];
	return used;
}

/* The least of a dimension that running jobs leave free over the job's interval, from the
 * drive's books and the plan. */
static int64_t least_free(const struct claim_check *k, int dim)
{
	const struct drive *d = k->d;
	int64_t total = 0, least = INT64_MAX;

	for (size_t n = 0; n < d->c->nodes.n; n++)
		total += d->c->nodes.v[n].up && may_use(k, n) ? d->c->nodes.v[n].total.v[dim] : 0;
	for (int64_t at = d->now; at < d->now + k->length; at++) {
		int64_t use = 0;
		for (uint32_t i = 0; i < d->c->jobs.n; i++)
			if (d->job[i].runs && plan_piece(d->p, i, 0)->end > at)
				use += used_there(k, i, dim);
		if (total - use < least)
			least = total - use;
	}
	return least;
}

static void check_running(const struct claim_check *k)
{
	const struct reason *r = k->r;
	struct drive *d = k->d;
	const struct request *q = cluster_job_request(d->c, cluster_job(d->c, k->job));
	int64_t last = 0;

	if (r->why == WHY_SHORT) {
		if (r->needed != q->total.v[r->dim] || r->free != least_free(k, r->dim) ||
		    r->missing != r->needed - r->free || r->missing <= 0)
			drive_wrong(d, "job %u: needs %lld, %lld free, %lld missing is not so", k->job,
				    (long long)r->needed, (long long)r->free, (long long)r->missing);
	} else if (r->why == WHY_WHOLE) {
		if (!q->whole || r->needed <= r->free || r->missing != r->needed - r->free || r->needed > q->nfrags ||
		    r->free != count_empty(k))
			drive_wrong(d, "job %u: needs %lld empty nodes, %lld are is not so (%lld)", k->job,
				    (long long)r->needed, (long long)r->free, (long long)count_empty(k));
	} else {
		for (int dim = 0; dim < d->c->nres; dim++)
			if (least_free(k, dim) < q->total.v[dim])
				drive_wrong(d, "job %u: not enough of dimension %d is free", k->job, dim);
	}
	drop_reserved(k->p, TIME_NEVER, 0);
	if (would_fit(k, k->length))
		drive_wrong(d, "job %u fits beside all that runs", k->job);
	for (size_t i = 0; i < r->holders.n; i++) {
		uint32_t h = r->holders.v[i];
		if (!d->job[h].runs)
			drive_wrong(d, "job %u: holder %u does not run", k->job, h);
		else if (plan_piece(d->p, h, 0)->end < last)
			drive_wrong(d, "job %u: holders are not in the order of their ends", k->job);
		else
			last = plan_piece(d->p, h, 0)->end;
		plan_take_job(k->p, h);
	}
	if (!r->holders.n || !would_fit(k, k->length))
		drive_wrong(d, "job %u would not fit without its holders", k->job);
	if (!r->allocated && !plan_holds(d->p, k->job) && r->when != last)
		drive_wrong(d, "job %u: the last holder ends at %lld, not %lld", k->job, (long long)last,
			    (long long)r->when);
}

static void check_never(const struct claim_check *k)
{
	for (uint32_t i = 0; i < k->p->holds.n; i++)
		plan_take_job(k->p, i);
	if (would_fit(k, k->length))
		drive_wrong(k->d, "job %u would fit the empty machine", k->job);
}

static void check_turn(const struct claim_check *k)
{
	const struct reason *r = k->r;
	struct drive *d = k->d;

	if (!would_fit(k, k->length))
		drive_wrong(d, "job %u does not wait for its turn: it does not fit", k->job);
	if (r->by == JOB_NONE || r->by == k->job || !job_waits(cluster_job(d->c, r->by)))
		drive_wrong(d, "job %u waits for the turn of %u, which does not wait", k->job, r->by);
	else if (d->policy->backfill != ORDER_NONE && d->policy->starve != STARVE_DRAIN)
		drive_wrong(d, "job %u waits for %u although others may overtake", k->job, r->by);
}

/* "It starts with the next cycle": then let there be one. */
static void check_next(const struct claim_check *k)
{
	struct drive *d = k->d;

	if (!would_fit(k, k->length))
		drive_wrong(d, "job %u is said to start next and does not fit", k->job);
	sched_refresh(d->s);
	d->accident = false;
	sched_cycle(d->s, d->now);
	d->accident = true;
	if (job_waits(cluster_job(d->c, k->job)))
		drive_wrong(d, "job %u was said to start with the next cycle and did not", k->job);
}

static void explain_one(struct drive *d, uint32_t job)
{
	const struct job *j = cluster_job(d->c, job);
	struct plan *before = plan_clone(d->p);
	struct claim_check k = {.d = d, .job = job, .length = cluster_length(d->c, j)};
	struct strbuf text = {0};
	struct reason r;

	sched_explain(d->s, job, &r);
	seen[r.why]++;
	if (!plan_equal(before, d->p))
		drive_wrong(d, "asking about job %u changed the plan", job);
	reason_text(d->s, job, &r, NULL, NULL, &text);
	if (!why_name(r.why))
		drive_wrong(d, "reason %d has no name", r.why);
	if (!text.n)
		drive_wrong(d, "job %u: no words for its reason", job);
	if (!job_waits(j)) {
		if (r.why != (j->state == STATE_HELD ? WHY_HELD : WHY_NOT))
			drive_wrong(d, "job %u is %s and has reason %d", job, job_state_name(j->state), r.why);
		goto out;
	}
	if (j->kind == KIND_COMMON)
		k.length = queue_get(d->s, job)->length;
	if (r.allocated != (j->state == STATE_ALLOCATED))
		drive_wrong(d, "job %u: allocated or not?", job);
	if (plan_holds(d->p, job) && r.when != plan_piece(d->p, job, 0)->start)
		drive_wrong(d, "job %u is planned at another instant", job);
	k.r = &r;
	k.p = before;
	plan_take_job(before, job);
	if (r.why != WHY_NEXT && r.why != WHY_TURN && would_fit(&k, k.length))
		drive_wrong(d, "job %u fits now and has reason %d", job, r.why);
	switch (r.why) {
	case WHY_NEXT:
		check_next(&k);
		break;
	case WHY_TURN:
		check_turn(&k);
		break;
	case WHY_RESERVED_FOR:
		check_reserved_for(&k);
		break;
	case WHY_SHORT:
	case WHY_SCATTERED:
	case WHY_WHOLE:
		check_running(&k);
		break;
	case WHY_NEVER:
		check_never(&k);
		break;
	default:
		drive_wrong(d, "job %u waits and has no reason", job);
	}
out:
	strbuf_fini(&text);
	reason_fini(&r);
	plan_destroy(before);
}

static void explain_all(struct drive *d)
{
	for (uint32_t i = 0; i < d->c->jobs.n && !*d->wrong; i++)
		explain_one(d, i);
}

static const char *explained(const struct tcase *t, const struct policy *policy)
{
	static char message[200];
	struct drive d = {.after_cycle = explain_all};
	const char *wrong = drive_run(&d, t, policy);

	if (wrong)
		snprintf(message, sizeof message, "%s", wrong);
	drive_fini(&d);
	return wrong ? message : NULL;
}

static void test_explained(void **state)
{
	static const char *const name[] = {"oscar", "easy", "fcfs", "conservative", "torque", "easy-sjbf", "shunt"};

	(void)state;
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		case_check(explained, WITH_ALL & ~WITH_MIXED, case_policy(name[i], 0), 70);
		case_check(explained, WITH_NODES | WITH_EARLY, case_policy(name[i], -1), 40);
	}
	print_message(
		"# reasons: not %d, next %d, held %d, never %d, short %d, scattered %d, whole %d, reserved for %d, turn %d\n",
		(int)seen[0], (int)seen[1], (int)seen[2], (int)seen[3], (int)seen[4], (int)seen[5], (int)seen[6],
		(int)seen[7], (int)seen[8]);
	for (int i = 0; i <= WHY_TURN;
	     i++) /* the others: test_slots.c, test_leaves.c, test_fences.c, test_grounds.c, scenarios */
		assert_true(seen[i] > 0 || i == WHY_NEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_explained)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
