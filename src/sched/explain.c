/*
 * explain.c - why a job waits. Nothing is stored for it: the plan is queried again, with less and
 * less in it, inside a transaction that is always rolled back.
 */
#include "sched/explain.h"
#include "base/amount.h"
#include "base/hostlist.h"

#include <stdlib.h>

#include "plan/booking.h"
#include "plan/fence.h"
#include "rules/credit.h"
#include "sched/explain_internal.h"
#include "sched/sched_internal.h"

const char *why_name(enum why why)
{
	static const char *const names[WHY_COUNT] = {
		[WHY_NOT] = "not",	   [WHY_NEXT] = "next",
		[WHY_HELD] = "held",	   [WHY_NEVER] = "never",
		[WHY_SHORT] = "short",	   [WHY_SCATTERED] = "scattered",
		[WHY_WHOLE] = "whole",	   [WHY_RESERVED_FOR] = "reserved",
		[WHY_TURN] = "turn",	   [WHY_LIMIT] = "limit",
		[WHY_LEAVES] = "leaves",   [WHY_NODES] = "nodes",
		[WHY_AVOIDED] = "avoided", [WHY_BOOKED] = "booked",
		[WHY_ORDER] = "order",	   [WHY_RESERVATION] = "reservation",
		[WHY_HOURS] = "hours",	   [WHY_AMOUNT] = "amount",
	};

	return names[why];
}

bool reason_of_nodes(enum why why)
{
	return why == WHY_SHORT || why == WHY_SCATTERED || why == WHY_WHOLE || why == WHY_NEVER || why == WHY_NODES;
}

void reason_fini(struct reason *r)
{
	vec_free(&r->holders);
	vec_free(&r->nodes);
}

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

static int by_start(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int by_end(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

void claims_collect(const struct plan *p, bool live, claim_vec *ret)
{
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			uint32_t first = 0; /* the job's first placed fragment represents it */
			while (plan_place(p, x->job, first)->node == NODE_ANY)
				first++;
			if (x->live == live && x->frag == first)
				vec_push(ret, (struct claim){x->start, x->end, x->job});
		}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof *ret->v, live ? by_end : by_start);
}

/* Returns the longest time that the job could run without touching any reservation if it started
 * now. A job that fits for some time also fits for less. */
static int64_t longest_now(struct sched *s, uint32_t job, const claim_vec *reserved)
{
	int64_t overhead = sched_overhead(s, cluster_job(s->c, job)), longest = 0;

	for (size_t lo = 0, hi = reserved->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		int64_t length = reserved->v[mid].start - s->now - overhead;
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
		while (ends && to < v->n && v->v[to].end == v->v[to - 1].end)
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
			r->by_start = reserved.v[taken - 1].start;
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
		for (uint32_t k = 0; k < line->n; k++) {
			const int64_t *step = timeline_step(line, k);
			struct res idle = {0};
			for (int d = 0; d < s->c->nres; d++)
				idle.v[d] = step[1 + d];
			timeline_change(sum, step[0], k + 1 < line->n ? step[line->stride] : TIME_NEVER, &idle, -1);
		}
	}
	timeline_least(sum, s->now, s->now + length, ret);
}

bool amount_short(struct sched *s, uint32_t job, int64_t length, struct reason *r)
{
	const struct request *q = cluster_job_request(s->c, cluster_job(s->c, job));

	for (uint32_t i = 0; i < q->nportions; i++) {
		const struct portion *x = &q->portion[i];
		int64_t free = plan_amount_open(s->p, job, x->amount, s->now, s->now + length, NULL);
		if (free >= x->count)
			continue;
		r->why = WHY_AMOUNT;
		r->amount = x->amount;
		r->needed = x->count;
		r->free = free > 0 ? free : 0;
		r->missing = r->needed - r->free;
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

	for (uint32_t i = 0; i < s->p->holds.v[other].nfrags && !any; i++)
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
	for (int d = s->c->nres - 1; d >= 0; d--)
		if (least.v[d] < q->total.v[d]) {
			r->why = WHY_SHORT;
			r->dim = d;
			r->needed = q->total.v[d];
			r->free = least.v[d];
			r->missing = r->needed - r->free;
		}
	claims_collect(s->p, true, &running);
	bool nodes = r->why != WHY_AMOUNT, all = nodes && !cluster_job_nodes(s->c, cluster_job(s->c, job));
	size_t taken = all ? 0 : some_take(s, job, length, &running, nodes ? shares_nodes : shares_amount);
	if (!taken)
		taken = claims_take(s, job, length, &running, true);
	fits = taken > 0;
	for (size_t i = 0; i < taken; i++) {
		vec_push(&r->holders, running.v[i].job);
		r->when = running.v[i].end;
	}
	vec_free(&running);
	if (fits && q->whole) {
		uint32_t needed = whole_needed(s, job, length);
		if (needed > empty) {
			r->why = WHY_WHOLE;
			r->needed = needed;
			r->free = empty;
			r->missing = needed - empty;
		}
	}
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
	for (int d = s->c->nres - 1; d >= 0; d--)
		if (total.v[d] < q->total.v[d]) {
			r->dim = d;
			r->needed = q->total.v[d];
			r->free = total.v[d];
			r->missing = r->needed - r->free;
		}
	for (uint32_t i = 0; i < q->nportions && !r->missing; i++) {
		const struct portion *x = &q->portion[i];
		const struct amount *a = &s->c->amounts.v[x->amount];
		if (a->total - a->elsewhere >= x->count)
			continue;
		r->why = a->total < x->count ? WHY_NEVER : WHY_AMOUNT;
		r->site = true;
		r->amount = x->amount;
		r->needed = x->count;
		r->free = a->total < x->count ? a->total : a->total > a->elsewhere ? a->total - a->elsewhere : 0;
		r->missing = r->needed - r->free;
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

/* Returns true if a limit keeps the job waiting, and writes the limit and the amount requested. */
static bool limit_explain(const struct sched *s, const struct job *job, struct limit_reached *ret, int64_t *ret_asked)
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

/* Replaces the reason if a node that leaves is the cause: without it the job would start now, or
 * at all. */
static void explain_leaving(struct sched *s, uint32_t id, const leaver_vec *leavers, struct reason *r)
{
	int64_t overhead = sched_overhead(s, cluster_job(s->c, id));
	struct reason other;

	leavers_book(s->p, leavers, false);
	explain(s, id, &other);
	leavers_book(s->p, leavers, true);
	if (other.why == WHY_NEXT || other.why == WHY_TURN || (r->why == WHY_NEVER && other.why != WHY_NEVER)) {
		bool allocated = r->allocated;
		int64_t when = r->when;
		reason_fini(r);
		*r = (struct reason){.why = WHY_LEAVES,
				     .by = JOB_NONE,
				     .when = when,
				     .allocated = allocated,
				     .by_start = TIME_NEVER};
		plan_mark mark = plan_begin(s->p);
		plan_take_job(s->p, id);
		for (size_t i = 0; i < leavers->n; i++) {
			int64_t length = leavers->v[i].at - s->now - overhead;
			if (leavers->v[i].at < r->by_start) {
				r->by_start = leavers->v[i].at;
				r->node = leavers->v[i].node;
			}
			if (length > r->shorter && explain_fits(s, id, length + overhead))
				r->shorter = length;
		}
		plan_rollback(s->p, mark);
	}
	reason_fini(&other);
}

/* Replaces the reason if a fence is the cause: without fences the job would start now, or at
 * all. */
static void explain_fences(struct sched *s, uint32_t id, struct reason *r)
{
	struct job *job = cluster_job(s->c, id);
	uint32_t bound = job->bound;
	int64_t length = sched_length(s, job), overhead = sched_overhead(s, job);
	struct reason other;
	struct fence f = {0};
	size_t lifted = plan_lift_fences(s->p);

	job->bound = 0;
	explain(s, id, &other);
	job->bound = bound;
	plan_lower_fences(s->p, lifted);
	if (other.why == WHY_NEXT || other.why == WHY_TURN || (r->why == WHY_NEVER && other.why != WHY_NEVER)) {
		struct reason why = {.why = WHY_RESERVATION,
				     .by = JOB_NONE,
				     .when = r->when,
				     .allocated = r->allocated,
				     .by_start = TIME_NEVER,
				     .by_end = TIME_NEVER};
		if (fences_find(s, id, length, &f)) {
			why.reservation = f.id;
			why.by_start = f.start;
			why.by_end = f.end;
		}
		plan_mark mark = plan_begin(s->p);
		plan_take_job(s->p, id);
		if (!bound && f.id && f.start - s->now > overhead && explain_fits(s, id, f.start - s->now))
			why.shorter = f.start - s->now - overhead;
		plan_rollback(s->p, mark);
		reason_fini(r);
		*r = why;
	}
	reason_fini(&other);
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

static const char *dim_name(const struct sched *s, enum res_dim d, int64_t n)
{
	switch (d) {
	case RES_CPU:
		return n == 1 ? "CPU" : "CPUs";
	case RES_MEM:
		return "KiB of memory";
	case RES_GPU:
		return n == 1 ? "GPU" : "GPUs";
	case RES_DISK:
		return "KiB of disk";
	case RES_SWAP:
		return "KiB of swap";
	case RES_SHARE:
		return "thousandths of a shared node's CPU";
	default:
		return names_get(&s->c->res_names, (uint32_t)d - RES_NAMED);
	}
}

/* Writes the most of each resource that a single node has free for as long as the job takes. */
static void node_most(const struct sched *s, uint32_t job, struct res *ret)
{
	const struct nodeset *on = cluster_job_nodes(s->c, cluster_job(s->c, job));
	int64_t length = cluster_length(s->c, cluster_job(s->c, job));

	*ret = (struct res){0};
	for (uint32_t n = 0; n < s->p->nnodes; n++) {
		struct res least = {0};
		if (!s->c->nodes.v[n].up || !sched_node_open(s, n) || (on && !nodeset_has(on, n)))
			continue;
		timeline_least(&s->p->node[n].line, s->now, s->now + length, &least);
		for (int d = 0; d < s->c->nres; d++)
			if (least.v[d] > ret->v[d])
				ret->v[d] = least.v[d];
	}
}

/* Names the resource, other than CPUs, of which no single node has enough, if there is one. */
static void text_scattered(const struct sched *s, uint32_t job, struct strbuf *out)
{
	const struct request *q = cluster_job_request(s->c, cluster_job(s->c, job));
	struct res most, need = {0};
	char asked[32], free[32];

	strbuf_puts(out, "enough is free in total, but not enough on single nodes");
	node_most(s, job, &most);
	for (uint32_t i = 0; i < (q->uniform ? 1 : q->nfrags); i++)
		for (int d = 0; d < s->c->nres; d++)
			if (s->c->shapes.v[q->frag[i].shape].need.v[d] > need.v[d])
				need.v[d] = s->c->shapes.v[q->frag[i].shape].need.v[d];
	for (int d = 0; d < s->c->nres; d++) {
		if (need.v[d] <= most.v[d] || d == RES_CPU || d == RES_SHARE)
			continue;
		if (res_kib(d))
			strbuf_printf(out, ": one node must have %s of %s, and the most that is free on one is %s",
				      memory_format(need.v[d], asked, sizeof asked), res_kib(d),
				      memory_format(most.v[d], free, sizeof free));
		else
			strbuf_printf(out, ": one node must have %lld %s, and the most that is free on one is %lld",
				      (long long)need.v[d], dim_name(s, (enum res_dim)d, need.v[d]),
				      (long long)most.v[d]);
		return;
	}
}

/* Writes amounts in hours of the unit, at the full price. */
static void credit_text(const struct limit_reached *r, int64_t asked, struct strbuf *out)
{
	struct credit_tariff t = {(enum credit_unit)(r->measure - LIMIT_CREDIT), 100};
	char most[40], used[40], need[40];

	strbuf_printf(
		out,
		"its account, or one above it, has too few credits (%s): the job may use %s; of %s, other jobs hold %s",
		credit_unit_name(t.unit), duration_format(credit_price(&t, asked), need, sizeof need),
		duration_format(credit_price(&t, r->most), most, sizeof most),
		duration_format(credit_price(&t, r->used), used, sizeof used));
}

/* "the limit of 64 CPUs of its user is reached (max_cpus): it asks for 8, and 60 are in use" */
static void limit_text(const struct limit_reached *r, int64_t asked, struct strbuf *out)
{
	bool users = r->kind == LIMIT_USER || r->kind == LIMIT_QUEUE_USER, many = r->most != 1;
	const char *soft = r->soft ? "soft " : "", *attr = r->soft ? "soft_" : "", *whose = limit_whose(r->kind);
	char most[32], used[32], need[32];

	if (r->measure >= LIMIT_CREDIT) {
		credit_text(r, asked, out);
		return;
	}
	if (r->measure == LIMIT_JOBS)
		strbuf_printf(out, "the %slimit of %lld running %s%s %s is reached (%s%s)", soft, (long long)r->most,
			      r->kind == LIMIT_ARRAY ? "element" : "job", many ? "s" : "", whose, attr,
			      r->kind == LIMIT_ARRAY ? "%, qsub -t"
			      : users		     ? "max_user_run"
						     : "max_running");
	else if (r->measure == LIMIT_CPUS)
		strbuf_printf(
			out,
			"the %slimit of %lld CPU%s %s is reached (%smax_cpus): it asks for %lld, and %lld are in use",
			soft, (long long)r->most, many ? "s" : "", whose, attr, (long long)asked, (long long)r->used);
	else if (r->measure == LIMIT_CPU_SECONDS)
		strbuf_printf(
			out,
			"the %slimit of %lld CPU-seconds %s is reached (%smax_cpu_seconds): it asks for %lld, and running jobs have %lld left",
			soft, (long long)r->most, whose, attr, (long long)asked, (long long)r->used);
	else
		strbuf_printf(
			out,
			"the %slimit of %s of memory %s is reached (%smax_memory): it asks for %s, and %s are in use",
			soft, memory_format(r->most, most, sizeof most), whose, attr,
			memory_format(asked, need, sizeof need), memory_format(r->used, used, sizeof used));
	if (r->soft)
		strbuf_puts(out, "; it starts when no other job can use the CPUs that it needs");
}

static void text_job(uint32_t job, job_namer name, void *context, struct strbuf *out)
{
	if (name)
		name(context, job, out);
	else
		strbuf_printf(out, "%u", job);
}

/* Returns the kept amount by which a reservation keeps too much from the job, or NULL. */
static const struct kept_amount *kept_by(const struct sched *s, uint32_t id, uint32_t reservation)
{
	const struct job *job = cluster_job(s->c, id);
	const struct request *q = cluster_job_request(s->c, job);
	const struct kept_amount *k;

	for (uint32_t i = 0; i < q->nportions; i++)
		if (plan_amount_open(s->p, id, q->portion[i].amount, s->now, s->now + cluster_length(s->c, job), &k) <
			    q->portion[i].count &&
		    k && k->fence.id == reservation)
			return k;
	return NULL;
}

static void text_reservation(const struct sched *s, uint32_t job, const struct reason *r, struct strbuf *out)
{
	const char *name = r->reservation ? names_get(&s->c->reservation_names, r->reservation - 1) : NULL;
	char when[32];
	bool begun = r->by_start <= s->now;
	uint32_t bound = cluster_job(s->c, job)->bound;

	if (bound == BOUND_NOWHERE) {
		strbuf_puts(out, "it is bound to a reservation that does not admit it");
	} else if (bound && !name) {
		name = names_get(&s->c->reservation_names, bound - 1);
		strbuf_printf(out, "it is bound to reservation %s, which is over, or too far ahead to be planned",
			      name ? name : "?");
	} else if (bound && begun) {
		strbuf_printf(out, "it is bound to reservation %s, which ends in %s, before the job would", name,
			      duration_human(r->by_end - s->now, when, sizeof when));
	} else if (bound) {
		strbuf_printf(out, "it is bound to reservation %s, which begins in %s", name,
			      duration_human(r->by_start - s->now, when, sizeof when));
	} else if (begun) {
		const struct kept_amount *k = kept_by(s, job, r->reservation);
		strbuf_printf(out, "reservation %s ", name ? name : "?");
		if (k)
			strbuf_printf(out, "keeps %lld of %lld %s from it", (long long)k->count,
				      (long long)s->c->amounts.v[k->amount].total,
				      names_get(&s->c->amount_names, k->amount));
		else
			strbuf_puts(out, "blocks nodes that it needs");
		if (r->by_end != TIME_NEVER)
			strbuf_printf(out, " for another %s", duration_human(r->by_end - s->now, when, sizeof when));
	} else {
		strbuf_printf(out, "it would still be running when reservation %s begins in %s", name ? name : "?",
			      duration_human(r->by_start - s->now, when, sizeof when));
	}
	if (r->shorter > 0)
		strbuf_printf(out, "; with a walltime of %s or less it would start now",
			      duration_human(r->shorter, when, sizeof when));
}

static void text_holders(const struct sched *s, const struct reason *r, job_namer name, void *context,
			 struct strbuf *out)
{
	char when[32];

	strbuf_printf(out, "; held by job%s", r->holders.n > 1 ? "s" : "");
	for (size_t i = 0; i < r->holders.n && i < 5; i++) {
		strbuf_puts(out, i ? ", " : " ");
		text_job(r->holders.v[i], name, context, out);
	}
	if (r->holders.n > 5)
		strbuf_printf(out, " and %zu more", r->holders.n - 5);
	if (r->holders.n == 0)
		return;

	/* Holders are sorted by their ends. */
	int64_t end = plan_piece(s->p, r->holders.v[r->holders.n - 1], 0)->end;
	if (end > s->now)
		strbuf_printf(out, ", %s is planned to end in %s", r->holders.n > 1 ? "the last of which" : "which",
			      duration_human(end - s->now, when, sizeof when));
}

/* "it needs 2 matlab and 1 of 20 is free: 1 is missing (5 are in use outside the cluster)" */
static void text_amount(const struct sched *s, uint32_t job, const struct reason *r, struct strbuf *out)
{
	const struct amount *a = &s->c->amounts.v[r->amount];
	const struct kept_amount *k;

	strbuf_printf(out, "it needs %lld %s and %lld of %lld %s free: %lld %s missing", (long long)r->needed,
		      names_get(&s->c->amount_names, r->amount), (long long)r->free, (long long)a->total,
		      r->free == 1 ? "is" : "are", (long long)r->missing, r->missing == 1 ? "is" : "are");
	if (a->elsewhere > 0)
		strbuf_printf(out, " (%lld %s in use outside the cluster)", (long long)a->elsewhere,
			      a->elsewhere == 1 ? "is" : "are");
	plan_amount_open(s->p, job, r->amount, s->now, s->now + cluster_length(s->c, cluster_job(s->c, job)), &k);
	if (k)
		strbuf_printf(out, " (%lld %s kept for reservation %s)", (long long)k->count,
			      k->count == 1 ? "is" : "are", names_get(&s->c->reservation_names, k->fence.id - 1));
}

static void text_nodes(const struct sched *s, const struct reason *r, struct strbuf *out)
{
	name_list names = {0};

	for (size_t i = 0; i < r->nodes.n; i++)
		vec_push(&names, mem_strdup(names_get(&s->c->node_names, r->nodes.v[i])));
	hostlist_format(names.v, names.n, out);
	name_list_free(&names);
}

bool sched_bound_text(const struct sched *s, uint32_t id, struct fence *ret, struct strbuf *out)
{
	const struct job *job = cluster_job(s->c, id);
	struct reason r = {.why = WHY_RESERVATION, .by_start = TIME_NEVER, .by_end = TIME_NEVER};
	struct fence f;

	*ret = (struct fence){
		.id = job->bound == BOUND_NOWHERE ? 0 : job->bound, .start = TIME_NEVER, .end = TIME_NEVER};
	if (!job->bound || !job_waits(job))
		return false;
	if (fences_find(s, id, sched_length(s, job), &f)) {
		*ret = f;
		r.reservation = f.id;
		r.by_start = f.start;
		r.by_end = f.end;
	}
	if (r.by_start <= s->now && sched_length(s, job) <= r.by_end - s->now)
		return false; /* the reservation is in force and long enough */
	text_reservation(s, id, &r, out);
	return true;
}

bool sched_limit_text(const struct sched *s, uint32_t id, struct limit_reached *ret, int64_t *ret_asked,
		      struct strbuf *out)
{
	if (!limit_explain(s, cluster_job(s->c, id), ret, ret_asked))
		return false;
	limit_text(ret, *ret_asked, out);
	return true;
}

bool sched_too_late(const struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	return job->state == STATE_CANDIDATE && job->deadline != TIME_NEVER && !s->policy->position &&
	       cluster_latest(s->c, job) >= s->now && sched_may(s, id);
}

bool reason_too_late(const struct sched *s, uint32_t job, const struct reason *r)
{
	return r->why != WHY_NEXT && r->why != WHY_NEVER && r->why != WHY_LIMIT && sched_too_late(s, job);
}

void reason_text(const struct sched *s, uint32_t job, const struct reason *r, job_namer name, void *context,
		 struct strbuf *out)
{
	const char *usable = cluster_job(s->c, job)->allowed == NODES_ALL ? "are up" : "it may use";
	char when[32], shorter[32];

	switch (r->why) {
	case WHY_NOT:
		strbuf_printf(out, "it does not wait: it is %s", job_state_name(cluster_job(s->c, job)->state));
		break;
	case WHY_NEXT:
		strbuf_printf(out, "nothing blocks it: it starts in the next cycle");
		break;
	case WHY_LIMIT:
		limit_text(&r->limit, r->needed, out);
		break;
	case WHY_HELD:
		strbuf_printf(out, "it is held; release it");
		break;
	case WHY_NEVER:
		if (r->site)
			strbuf_printf(out, "it asks for %lld %s and the site has %lld", (long long)r->needed,
				      names_get(&s->c->amount_names, r->amount), (long long)r->free);
		else if (r->missing)
			strbuf_printf(out, "it asks for %lld %s and the nodes that %s have %lld", (long long)r->needed,
				      dim_name(s, r->dim, r->needed), usable, (long long)r->free);
		else
			strbuf_printf(out, "the nodes that %s could not hold it even if they were empty", usable);
		break;
	case WHY_SHORT:
		strbuf_printf(out, "it needs %lld %s and %lld %s free: %lld %s missing", (long long)r->needed,
			      dim_name(s, r->dim, r->needed), (long long)r->free, r->free == 1 ? "is" : "are",
			      (long long)r->missing, r->missing == 1 ? "is" : "are");
		text_holders(s, r, name, context, out);
		break;
	case WHY_AMOUNT:
		text_amount(s, job, r, out);
		if (r->holders.n)
			text_holders(s, r, name, context, out);
		break;
	case WHY_WHOLE:
		if (plan_in_partition(s->p, job))
			strbuf_puts(out, "it needs a partition to itself, and no suitable one is free");
		else
			strbuf_printf(out, "it needs %lld empty %s%s and %lld %s", (long long)r->needed,
				      cluster_job_request(s->c, cluster_job(s->c, job))->whole == WHOLE_HOST ? "machine"
													     : "node",
				      r->needed == 1 ? "" : "s", (long long)r->free, r->free == 1 ? "is" : "are");
		text_holders(s, r, name, context, out);
		break;
	case WHY_SCATTERED:
		text_scattered(s, job, out);
		text_holders(s, r, name, context, out);
		break;
	case WHY_RESERVED_FOR:
		strbuf_puts(out, "it would delay job ");
		text_job(r->by, name, context, out);
		strbuf_printf(out, ", which has a reservation in %s",
			      duration_human(r->by_start - s->now, when, sizeof when));
		if (r->shorter > 0)
			strbuf_printf(out, "; with a walltime of %s or less it would start now",
				      duration_human(r->shorter, shorter, sizeof shorter));
		break;
	case WHY_LEAVES:
		strbuf_printf(out, "node %s goes out of service in %s, before the job would end",
			      names_get(&s->c->node_names, r->node),
			      duration_human(r->by_start - s->now, when, sizeof when));
		if (r->shorter > 0)
			strbuf_printf(out, "; with a walltime of %s or less it would start now",
				      duration_human(r->shorter, shorter, sizeof shorter));
		break;
	case WHY_RESERVATION:
		text_reservation(s, job, r, out);
		break;
	case WHY_HOURS:
		strbuf_printf(
			out,
			"its checkpoints take long, so it runs only in the hours for such jobs (long_checkpoint_hours); the next that suffice begin in %s",
			duration_human(r->by_start - s->now, when, sizeof when));
		break;
	case WHY_NODES:
		strbuf_puts(out, "nodes that it needs are down or do not accept jobs: ");
		text_nodes(s, r, out);
		break;
	case WHY_AVOIDED:
		strbuf_puts(out, "it avoids nodes where it failed: ");
		text_nodes(s, r, out);
		break;
	case WHY_BOOKED:
		strbuf_puts(out, "nodes that it needs are kept free of jobs ");
		if (r->by_start > s->now)
			strbuf_printf(out, "in %s, before it would end: ",
				      duration_human(r->by_start - s->now, when, sizeof when));
		else
			strbuf_puts(out, "now: ");
		text_nodes(s, r, out);
		break;
	case WHY_ORDER:
		strbuf_printf(
			out,
			"%lld other waiting job%s compete%s with it, and the order in which jobs are considered favors them",
			(long long)r->needed, r->needed == 1 ? "" : "s", r->needed == 1 ? "s" : "");
		if (r->by != JOB_NONE) {
			strbuf_puts(out, "; the first is job ");
			text_job(r->by, name, context, out);
		}
		break;
	case WHY_COUNT:
		break;
	case WHY_TURN:
		strbuf_puts(out, "job ");
		text_job(r->by, name, context, out);
		strbuf_puts(out, " comes first and nothing may pass it");
		break;
	}
	if (reason_too_late(s, job, r))
		strbuf_printf(
			out,
			"; as planned that is too late for its deadline, and it expires unless it starts within %s",
			duration_human(cluster_latest(s->c, cluster_job(s->c, job)) - s->now, when, sizeof when));
	if (s->policy->position && job_waits(cluster_job(s->c, job)) && cluster_job(s->c, job)->nice > s->now)
		strbuf_printf(out, "; for another %s it is nice, and jobs submitted later go first",
			      duration_human(cluster_job(s->c, job)->nice - s->now, when, sizeof when));
	if (r->allocated && r->when != TIME_NEVER && cluster_job(s->c, job)->deadline != TIME_NEVER &&
	    !cluster_job(s->c, job)->guaranteed)
		strbuf_printf(out, "; its deadline can't be met, so it starts as soon as it can, in %s",
			      duration_human(r->when - s->now, when, sizeof when));
	else if (r->allocated && r->when != TIME_NEVER && cluster_job(s->c, job)->deadline != TIME_NEVER)
		strbuf_printf(out,
			      "; its slot in %s is the latest that meets its deadline, and it starts earlier if it can",
			      duration_human(r->when - s->now, when, sizeof when));
	else if (r->allocated && r->when != TIME_NEVER)
		strbuf_printf(out, "; it has a reservation in %s", duration_human(r->when - s->now, when, sizeof when));
}
