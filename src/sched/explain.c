/*
 * explain.c - why a job waits. Nothing is stored for it: the plan is queried again, with less and
 * less in it, inside a transaction that is always rolled back.
 */
#include "sched/explain.h"

#include <stdlib.h>

#include "plan/booking.h"
#include "plan/fence.h"
#include "sched/explain_internal.h"
#include "sched/sched_internal.h"

bool explain_fits(struct sched *s, uint32_t job, int64_t length)
{
	plan_mark mark = plan_begin(s->p);
	bool fits = plan_insert(s->p, &s->plain, job, s->now, s->now + length);

	plan_rollback(s->p, mark);
	return fits;
}

/* Returns how many nodes, or machines, a job with whole ones would hold. The job fits. */
static uint32_t whole_needed(struct sched *s, uint32_t job, int64_t length)
{
	plan_mark mark = plan_begin(s->p);
	uint32_t count = 0;

	if (plan_insert(s->p, &s->plain, job, s->now, s->now + length))
		count = plan_whole_count(s->p, job);
	plan_rollback(s->p, mark);
	return count;
}

static int by_time(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

void claims_collect(const struct plan *p, bool live, claim_vec *ret)
{
	/* with very many nodes even to look at each of them takes long */
	for (uint32_t n = 0; n < p->nnodes && (live || p->nreserved); n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			uint32_t first = 0; /* the job's first placed fragment represents it */
			while (plan_place(p, x->job, first)->node == NODE_ANY)
				first++;
			if (x->live == live && x->frag == first)
				vec_push(ret, (struct claim){live ? x->end : x->start, x->job});
		}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof *ret->v, by_time);
}

/* Returns the longest time that the job could run without touching any reservation if it started
 * now. A job that fits for some time also fits for less. */
static int64_t longest_now(struct sched *s, uint32_t job, const claim_vec *reserved)
{
	int64_t overhead = sched_overhead(s, cluster_job(s->c, job)), longest = 0;

	for (size_t lo = 0, hi = reserved->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		int64_t length = reserved->v[mid].at - s->now - overhead;
		if (length > 0 && !explain_fits(s, job, length + overhead)) {
			hi = mid;
			continue;
		}
		if (length > 0)
			longest = length;
		lo = mid + 1;
	}
	return longest;
}

/* Takes claims out in order until the job fits. Returns how many; they stay out. With `ends`,
 * claims that end together are taken together. A job that fits without some also fits without
 * more, so the number taken doubles until the job fits, and the rest is a binary search: taking
 * a claim out costs more the longer the plan is, and usually the first few suffice. Returns 0 if
 * the job does not fit without any of them; then all are out. */
static size_t claims_take(struct sched *s, uint32_t job, int64_t length, const claim_vec *v, bool ends)
{
	size_t out = 0, enough = v->n + 1, more = 1;

	while (out < v->n && out + 1 < enough) {
		size_t to = enough <= v->n ? out + (enough - out) / 2 : out + more < v->n ? out + more : v->n;
		while (ends && to < v->n && v->v[to].at == v->v[to - 1].at)
			to++;
		if (to >= enough) { /* one group is left */
			enough = to;
			break;
		}
		plan_mark mark = plan_begin(s->p);
		for (size_t i = out; i < to; i++)
			plan_take_job(s->p, v->v[i].job);
		if (explain_fits(s, job, length)) {
			plan_rollback(s->p, mark);
			enough = to;
		} else {
			plan_commit(s->p, mark);
			out = to;
			more *= 2;
		}
	}
	if (enough > v->n)
		return 0;
	for (; out < enough; out++)
		plan_take_job(s->p, v->v[out].job);
	return enough;
}

/* Finds the reservation in the way: the job would fit without it and those before it. */
static bool explain_reservation(struct sched *s, uint32_t job, int64_t length, struct reason *r)
{
	claim_vec reserved = {0};
	size_t taken = 0;

	claims_collect(s->p, false, &reserved);
	if (reserved.n) {
		int64_t shorter = longest_now(s, job, &reserved);
		taken = claims_take(s, job, length, &reserved, false);
		if (taken) {
			r->why = WHY_RESERVED_FOR;
			r->by = reserved.v[taken - 1].job;
			r->by_start = reserved.v[taken - 1].at;
			r->shorter = shorter;
		}
	}
	vec_free(&reserved);
	return taken > 0;
}

/* Writes the least of each resource that stays free from now on, on open nodes that the job may
 * use. */
static void usable_least(struct sched *s, const struct nodeset *on, int64_t length, struct res *ret)
{
	struct timeline *sum = &s->p->scratch;

	timeline_copy(sum, plan_sum(s->p));
	for (uint32_t i = 0; i < s->c->nodes.n; i++) {
		const struct timeline *line = &s->p->node[i].line;
		if (!s->c->nodes.v[i].up || (sched_node_open(s, i) && (!on || nodeset_has(on, i))))
			continue;
		for (struct walk w = timeline_walk(line, TIME_BEGIN); w.step; walk_next(&w)) {
			struct res idle = {0};
			for (int d = 0; d < s->c->nres; d++)
				idle.v[d] = w.step[1 + d];
			timeline_change(sum, w.step[0], walk_until(&w), &idle, -1);
		}
	}
	timeline_least(sum, s->now, s->now + length, ret);
}

bool is_short(struct reason *r, enum why why, int64_t needed, int64_t free)
{
	if (free >= needed)
		return false;
	r->why = why;
	r->needed = needed;
	r->free = free > 0 ? free : 0;
	r->missing = r->needed - r->free;
	return true;
}

/* Finds the first resource of which there is less than the job requests. */
static void dim_short(const struct sched *s, const struct request *q, const struct res *have, enum why why,
		      struct reason *r)
{
	for (int d = 0; d < s->c->nres; d++)
		if (is_short(r, why, q->total.v[d], have->v[d])) {
			r->dim = d;
			return;
		}
}

bool amount_short(struct sched *s, uint32_t job, int64_t length, struct reason *r)
{
	const struct request *q = cluster_job_request(s->c, cluster_job(s->c, job));

	for (uint32_t i = 0; i < q->nportions; i++) {
		const struct portion *x = &q->portion[i];
		r->amount = x->amount;
		if (is_short(r, WHY_AMOUNT, x->count,
			     plan_amount_open(s->p, job, x->amount, s->now, s->now + length, NULL)))
			return true;
	}
	return false;
}

static bool shares_amount(const struct sched *s, uint32_t job, uint32_t other)
{
	return requests_share(cluster_job_request(s->c, cluster_job(s->c, job)),
			      cluster_job_request(s->c, cluster_job(s->c, other)));
}

/* Returns true if the other job is on a node that this one may use: jobs of other partitions do
 * not matter. */
static bool shares_nodes(const struct sched *s, uint32_t job, uint32_t other)
{
	const struct nodeset *on = cluster_job_nodes(s->c, cluster_job(s->c, job));
	bool any = !on;

	for (uint32_t i = 0; i < plan_hold(s->p, other)->nfrags && !any; i++)
		any = nodeset_has(on, (uint32_t)plan_place(s->p, other, i)->node);
	return any;
}

/* Takes out only claims that concern the job, if they suffice; `v` is then reduced to them. */
static size_t some_take(struct sched *s, uint32_t job, int64_t length, claim_vec *v,
			bool (*concerns)(const struct sched *, uint32_t, uint32_t))
{
	plan_mark mark = plan_begin(s->p);
	claim_vec some = {0};
	size_t taken;

	for (size_t i = 0; i < v->n; i++)
		if (concerns(s, job, v->v[i].job))
			vec_push(&some, v->v[i]);
	taken = claims_take(s, job, length, &some, true);
	if (taken) {
		plan_commit(s->p, mark);
		vec_free(v);
		*v = some;
	} else {
		plan_rollback(s->p, mark);
		vec_free(&some);
	}
	return taken;
}

bool explain_running(struct sched *s, uint32_t job, int64_t length, struct reason *r)
{
	const struct request *q = cluster_job_request(s->c, cluster_job(s->c, job));
	claim_vec running = {0};
	struct res least;
	bool fits = false;
	uint32_t empty = q->whole ? plan_whole_free(s->p, s->plain.on, job, s->now, s->now + length) : 0;

	usable_least(s, cluster_job_nodes(s->c, cluster_job(s->c, job)), length, &least);
	r->why = WHY_SCATTERED;
	amount_short(s, job, length, r);
	dim_short(s, q, &least, WHY_SHORT, r);
	claims_collect(s->p, true, &running);
	bool nodes = r->why != WHY_AMOUNT, all = nodes && !cluster_job_nodes(s->c, cluster_job(s->c, job));
	size_t taken = all ? 0 : some_take(s, job, length, &running, nodes ? shares_nodes : shares_amount);
	if (!taken)
		taken = claims_take(s, job, length, &running, true);
	fits = taken > 0;
	for (size_t i = 0; i < taken; i++) {
		vec_push(&r->holders, running.v[i].job);
		r->when = running.v[i].at;
	}
	vec_free(&running);
	if (fits && q->whole)
		is_short(r, WHY_WHOLE, whole_needed(s, job, length), empty);
	return fits;
}

static void explain_never(struct sched *s, uint32_t job, struct reason *r)
{
	const struct request *q = cluster_job_request(s->c, cluster_job(s->c, job));
	const struct nodeset *on = cluster_job_nodes(s->c, cluster_job(s->c, job));
	struct res total = s->c->total;

	for (uint32_t i = 0; i < s->c->nodes.n; i++)
		if (s->c->nodes.v[i].up && (!sched_node_open(s, i) || (on && !nodeset_has(on, i))))
			res_sub(&total, &s->c->nodes.v[i].total);
	vec_clear(&r->holders);
	r->why = WHY_NEVER;
	r->when = TIME_NEVER;
	r->missing = 0;
	dim_short(s, q, &total, WHY_NEVER, r);
	for (uint32_t i = 0; i < q->nportions && !r->missing; i++) {
		const struct amount *a = &s->c->amounts.v[q->portion[i].amount];
		r->amount = q->portion[i].amount;
		r->site = is_short(r, WHY_NEVER, q->portion[i].count, a->total) ||
			  is_short(r, WHY_AMOUNT, q->portion[i].count, a->total - a->elsewhere);
	}
}

/* Handles the case that nothing in the plan is in the way: either another job comes first, or
 * nothing blocks it. */
static void explain_turn(struct sched *s, uint32_t job, struct reason *r)
{
	r->why = WHY_NEXT;
	r->when = s->now;
	if (s->drain) {
		for (size_t i = 0; i < s->special.n && r->by == JOB_NONE; i++)
			if (s->special.v[i] != job && cluster_job(s->c, s->special.v[i])->kind == KIND_STARVING)
				r->by = s->special.v[i];
	} else if (s->backfill == ORDER_NONE && s->head != JOB_NONE && s->head != job) {
		r->by = s->head;
	}
	if (r->by != JOB_NONE) {
		r->why = WHY_TURN;
		r->when = TIME_NEVER;
	}
}

bool limit_explain(const struct sched *s, const struct job *job, struct limit_reached *ret, int64_t *ret_asked)
{
	struct limit_need need = sched_need(s, job);

	if (!sched_limited(s, job->id) || !limits_reached(s->limits, job->limits, &need, ret))
		return false;
	*ret_asked = ret->measure == LIMIT_JOBS ? ret->most : need.v[ret->measure];
	return true;
}

static void explain(struct sched *s, uint32_t id, struct reason *r)
{
	const struct job *job = cluster_job(s->c, id);
	int64_t length = sched_length(s, job);
	plan_mark mark;

	*r = (struct reason){.by = JOB_NONE, .when = TIME_NEVER};
	if (job->state == STATE_HELD)
		r->why = WHY_HELD;
	if (!job_waits(job))
		return;
	if (limit_explain(s, job, &r->limit, &r->needed)) {
		r->why = WHY_LIMIT;
		return;
	}
	if (nights_keep(s, job, &r->by_start)) {
		r->why = WHY_HOURS;
		r->when = sched_planned(s, id);
		return;
	}
	if (job->waiting != WAITING_NONE && job->kind == KIND_COMMON)
		length = queue_get(s, id)->length;
	mark = plan_begin(s->p);
	if (plan_holds(s->p, id)) {
		r->allocated = job->state == STATE_ALLOCATED;
		plan_take_job(s->p, id);
	}
	if (explain_fits(s, id, length))
		explain_turn(s, id, r);
	else if (!explain_reservation(s, id, length, r) && !explain_running(s, id, length, r))
		explain_never(s, id, r);
	plan_rollback(s->p, mark);
	if (plan_holds(s->p, id))
		r->when = plan_piece(s->p, id, 0)->start;
}

struct leaver {
	uint32_t node;
	int64_t at;
};
typedef VEC(struct leaver) leaver_vec;

/* Collects the nodes that leave. */
static void leavers_collect(const struct plan *p, leaver_vec *ret)
{
	for (uint32_t n = 0; n < p->nnodes && p->last_booking != TIME_BEGIN; n++) {
		const booking_vec *v = p->node[n].bookings;
		for (size_t i = 0; v && i < v->n; i++)
			if (v->v[i].owner.kind == OWNER_LEAVES)
				vec_push(ret, (struct leaver){n, v->v[i].start});
	}
}

/* Removes the bookings of nodes that leave from the plan, or puts them back bit for bit as they
 * were. */
static void leavers_book(struct plan *p, const leaver_vec *v, bool book)
{
	for (size_t i = 0; i < v->n; i++) {
		struct owner owner = {OWNER_LEAVES, v->v[i].node};
		if (book)
			plan_book(p, v->v[i].node, owner, v->v[i].at, TIME_NEVER);
		else
			plan_unbook(p, v->v[i].node, owner);
	}
}

/* Replaces the reason if `without`, the reason without an obstacle, shows that the obstacle is the
 * cause: without it the job would start now, or at all. Frees `without`. */
static bool cause_set(struct reason *r, struct reason *without, enum why why)
{
	bool cause = without->why == WHY_NEXT || without->why == WHY_TURN ||
		     (r->why == WHY_NEVER && without->why != WHY_NEVER);

	reason_fini(without);
	if (!cause)
		return false;
	reason_fini(r);
	*r = (struct reason){.why = why,
			     .by = JOB_NONE,
			     .when = r->when,
			     .allocated = r->allocated,
			     .by_start = TIME_NEVER,
			     .by_end = TIME_NEVER};
	return true;
}

/* Raises the walltime with which the job would start now if it would do so until `end`. */
static void shorter_try(struct sched *s, uint32_t id, int64_t end, struct reason *r)
{
	int64_t length = end - s->now - sched_overhead(s, cluster_job(s->c, id));
	plan_mark mark = plan_begin(s->p);

	plan_take_job(s->p, id);
	if (length > r->shorter && explain_fits(s, id, end - s->now))
		r->shorter = length;
	plan_rollback(s->p, mark);
}

static void explain_leaving(struct sched *s, uint32_t id, const leaver_vec *leavers, struct reason *r)
{
	struct reason without;

	leavers_book(s->p, leavers, false);
	explain(s, id, &without);
	leavers_book(s->p, leavers, true);
	if (!cause_set(r, &without, WHY_LEAVES))
		return;
	for (size_t i = 0; i < leavers->n; i++) {
		if (leavers->v[i].at < r->by_start) {
			r->by_start = leavers->v[i].at;
			r->node = leavers->v[i].node;
		}
		shorter_try(s, id, leavers->v[i].at, r);
	}
}

static void explain_fences(struct sched *s, uint32_t id, struct reason *r)
{
	struct job *job = cluster_job(s->c, id);
	uint32_t bound = job->bound;
	struct reason without;
	struct fence f;
	size_t lifted = plan_lift_fences(s->p);

	job->bound = 0;
	explain(s, id, &without);
	job->bound = bound;
	plan_lower_fences(s->p, lifted);
	if (!cause_set(r, &without, WHY_RESERVATION) || !fences_find(s, id, sched_length(s, job), &f))
		return;
	r->reservation = f.id;
	r->by_start = f.start;
	r->by_end = f.end;
	if (!bound)
		shorter_try(s, id, f.start, r);
}

void sched_explain(struct sched *s, uint32_t id, struct reason *r)
{
	leaver_vec leavers = {0};

	explain(s, id, r);
	leavers_collect(s->p, &leavers);
	if (leavers.n && r->why != WHY_HOURS && r->why != WHY_NOT && r->why != WHY_HELD && r->why != WHY_NEXT &&
	    r->why != WHY_TURN)
		explain_leaving(s, id, &leavers, r);
	if (plan_has_fences(s->p, cluster_job(s->c, id)) && job_waits(cluster_job(s->c, id)) && r->why != WHY_LIMIT &&
	    r->why != WHY_NEXT && r->why != WHY_TURN && r->why != WHY_LEAVES && r->why != WHY_HOURS)
		explain_fences(s, id, r);
	vec_free(&leavers);
}
