/*
 * blockers.c - see blockers.h.
 *
 * Empty nodes (plan/pack.h) show whether nodes alone would suffice, and the plan, inside a
 * transaction, shows whether running jobs leave room. To see which jobs would come first if all
 * that were gone, a copy of the scheduler itself runs: no other answer holds for every policy.
 */
#include "sched/blockers.h"

#include <assert.h>
#include <stdlib.h>

#include "plan/booking.h"
#include "plan/fence.h"
#include "plan/insert.h"
#include "plan/pack.h"
#include "sched/cursor.h"
#include "sched/explain_internal.h"
#include "sched/forecast.h"
#include "sched/sched_internal.h"

#define PRUNE_MOST 64  /* maximum holders and nodes that are each tested for relevance */
#define CYCLES_MOST 64 /* maximum cycles of the copy */
#define TRIES_MOST 64  /* maximum jobs tested for leaving room */

struct kept {
	uint32_t node;
	struct booking booking;
};

/* Units of an amount that others used before they were assumed to be free. */
struct lifted {
	uint32_t amount;
	int64_t elsewhere;
};

/* State of the investigation. */
struct inquiry {
	struct sched *s;
	const struct blockers_ask *ask;
	const struct job *job;
	int64_t length;
	bool *open;	       /* nodes the job may get: those that are open, and those of WHY_NODES */
	VEC(uint32_t) reopen;  /* closed nodes that the job needs */
	VEC(uint32_t) raised;  /* those of them that were down */
	VEC(struct kept) kept; /* bookings in the way */
	job_vec promised;      /* jobs with promised places in the way */
	job_vec holders;       /* running jobs in the way */
	VEC(struct limit_reached) limits;
	VEC(struct lifted) lifted; /* amounts of which others use too much */
	bool unfenced;		   /* the reservation that the job is bound to is in the way */
	VEC(struct fence) fences;  /* other reservations in the way */
	bool unavoided;		   /* nodes that the job avoids are needed */
	bool nightly;		   /* outside the hours of the job */
	reason_vec *reasons;
};

void reasons_fini(reason_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		reason_fini(&v->v[i]);
	vec_free(v);
}

static struct reason *reason_add(struct inquiry *q, enum why why)
{
	vec_push(q->reasons, (struct reason){.why = why, .by = JOB_NONE, .when = TIME_NEVER});
	return &q->reasons->v[q->reasons->n - 1];
}

/* ---- limits ---- */

static bool limit_same(const struct limit_reached *a, const struct limit_reached *b)
{
	return a->kind == b->kind && a->measure == b->measure && a->of == b->of;
}

/* Returns true if a limit is also reached once the jobs in the way are gone. */
static bool limit_stays(struct inquiry *q, const struct limits *l, const struct limit_need *need,
			const struct limit_reached *reached)
{
	struct limit_reached other;

	for (uint32_t at = 0; limits_each(l, q->job->limits, need, &at, &other);)
		if (limit_same(&other, reached))
			return true;
	return false;
}

/* Finds the limits in the way. Called last, because the jobs that hold what this one needs may
 * be those that fill a limit. */
static void limits_ask(struct inquiry *q)
{
	struct limit_need need = sched_need(q->s, q->job);
	struct limit_reached reached;
	struct limits *then = NULL;

	for (uint32_t at = 0; q->s->limits && limits_each(q->s->limits, q->job->limits, &need, &at, &reached);) {
		if (!then) {
			then = limits_clone(q->s->limits);
			for (size_t i = 0; i < q->holders.n; i++)
				limits_give(then, q->holders.v[i]);
			for (size_t i = 0; i < q->promised.n; i++)
				limits_give(then, q->promised.v[i]);
		}
		struct reason *r = reason_add(q, WHY_LIMIT);
		r->limit = reached;
		r->needed = reached.measure == LIMIT_JOBS ? reached.most : need.v[reached.measure];
		r->implied = !limit_stays(q, then, &need, &reached);
		if (!r->implied)
			vec_push(&q->limits, reached);
	}
	limits_destroy(then);
}

/* ---- nodes ---- */

/* Returns true if the nodes could hold the job if they were empty. */
static bool could_hold(const struct inquiry *q, const bool *usable)
{
	struct err err;

	return pack_apart(q->s->c, cluster_job_request(q->s->c, q->job), q->ask->parted, q->s->plain.scatter, usable,
			  &err) != FIT_NO;
}

static bool may_use(const struct inquiry *q, uint32_t node, uint32_t allowed)
{
	return q->ask->there[node] && nodeset_has(&q->s->c->nodesets.v[allowed], node);
}

/* Removes each of `nodes` that the job can do without. */
static void nodes_prune(const struct inquiry *q, bool *usable, job_vec *nodes)
{
	for (size_t i = nodes->n; i-- > 0 && nodes->n <= PRUNE_MOST;) {
		usable[nodes->v[i]] = false;
		if (could_hold(q, usable))
			vec_remove(nodes, i);
		else
			usable[nodes->v[i]] = true;
	}
}

/* Returns false if the job could not run on any existing nodes. */
static bool nodes_ask(struct inquiry *q)
{
	uint32_t n = (uint32_t)q->s->c->nodes.n;
	job_vec closed = {0};
	bool fits;

	for (uint32_t i = 0; i < n; i++)
		q->open[i] = may_use(q, i, q->ask->allowed) && sched_node_open(q->s, i);
	if (could_hold(q, q->open))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (may_use(q, i, q->ask->allowed) && !q->open[i]) {
			q->open[i] = true;
			vec_push(&closed, i);
		}
	fits = could_hold(q, q->open);
	if (fits) {
		nodes_prune(q, q->open, &closed);
		vec_copy(&q->reopen, &closed);
		reason_add(q, WHY_NODES)->nodes = closed;
	} else {
		vec_free(&closed);
	}
	return fits;
}

static void avoided_ask(struct inquiry *q)
{
	uint32_t n = (uint32_t)q->s->c->nodes.n;
	bool *usable = mem_zalloc((n + 1) * sizeof *usable);
	job_vec avoided = {0};

	for (uint32_t i = 0; i < n; i++) {
		usable[i] = q->open[i] && may_use(q, i, q->job->allowed);
		if (q->open[i] && !usable[i])
			vec_push(&avoided, i);
	}
	q->unavoided = avoided.n && !could_hold(q, usable);
	for (uint32_t i = 0; i < n && !q->unavoided; i++)
		q->open[i] = usable[i];
	if (q->unavoided)
		reason_add(q, WHY_AVOIDED)->nodes = avoided;
	else
		vec_free(&avoided);
	free(usable);
}

static const struct booking *booked(const struct inquiry *q, uint32_t node)
{
	return plan_booked(q->s->p, node, q->s->now, q->s->now + q->length);
}

/* Returns the open nodes from which no booking keeps the job, those of `lifted` nodes (NULL: none)
 * assumed to be gone; the caller frees the array. A job that needs whole machines cannot use the
 * other nodes of a booked node's machine either. */
static bool *unbooked(const struct inquiry *q, const bool *lifted)
{
	enum wholeness whole = cluster_job_request(q->s->c, q->job)->whole;
	int32_t n = (int32_t)q->s->c->nodes.n;
	bool *out = mem_zalloc(((size_t)n + 1) * sizeof *out);

	for (int32_t i = 0; i < n; i++) {
		int32_t at = i;
		if (out[i] || (lifted && lifted[i]) || !booked(q, (uint32_t)i))
			continue;
		do {
			out[at] = true;
			at = plan_next_whole(q->s->p, whole, i, at);
		} while (at != i);
	}
	for (int32_t i = 0; i < n; i++)
		out[i] = q->open[i] && !out[i];
	return out;
}

static bool fits_beside(const struct inquiry *q, const bool *lifted)
{
	bool *usable = unbooked(q, lifted), fits = could_hold(q, usable);

	free(usable);
	return fits;
}

/* Finds the bookings in the way and removes them from the plan until bookings_restore(). */
static void booked_ask(struct inquiry *q)
{
	bool whole = cluster_job_request(q->s->c, q->job)->whole == WHOLE_HOST;
	uint32_t n = (uint32_t)q->s->c->nodes.n;
	bool *lifted = mem_zalloc((n + 1) * sizeof *lifted);
	const struct booking *b;
	job_vec nodes = {0};

	for (uint32_t i = 0; i < n; i++)
		if ((q->open[i] || whole) && booked(q, i)) {
			lifted[i] = true;
			vec_push(&nodes, i);
		}
	if (nodes.n == 0 || fits_beside(q, NULL)) {
		vec_free(&nodes);
		free(lifted);
		return;
	}
	for (size_t i = nodes.n; i-- > 0 && nodes.n <= PRUNE_MOST;) { /* keep those that matter */
		lifted[nodes.v[i]] = false;
		if (fits_beside(q, lifted))
			vec_remove(&nodes, i);
		else
			lifted[nodes.v[i]] = true;
	}
	struct reason *r = reason_add(q, WHY_BOOKED);
	r->by_start = TIME_NEVER;
	for (size_t i = 0; i < nodes.n; i++)
		while ((b = booked(q, nodes.v[i]))) {
			r->by_start = b->start < r->by_start ? b->start : r->by_start;
			vec_push(&q->kept, (struct kept){nodes.v[i], *b});
			plan_unbook(q->s->p, nodes.v[i], b->owner);
		}
	r->nodes = nodes;
	free(lifted);
}

static bool is_released(const struct inquiry *q, const struct fence *f)
{
	for (size_t i = 0; i < q->fences.n; i++)
		if (q->fences.v[i].id == f->id)
			return true;
	return false;
}

/* Returns true if a fence would keep the job out if it started now. */
static bool is_fenced(const struct inquiry *q, const struct fence *f)
{
	return f->start < q->s->now + q->length && f->end > q->s->now && !plan_has_key(q->s->p, q->job->keys, f->id) &&
	       !is_released(q, f);
}

/* Returns true if the rest of an amount that is kept for others would not suffice, even if no other
 * job used it. */
static bool amounts_kept(const struct inquiry *q)
{
	const struct plan *p = q->s->p;
	const struct request *r = cluster_job_request(q->s->c, q->job);

	for (size_t i = 0; i < p->kept.n && r->nportions; i++) {
		const struct kept_amount *k = &p->kept.v[i];
		if (is_fenced(q, &k->fence) && p->amount_total.v[k->amount] - k->count < request_portion(r, k->amount))
			return true;
	}
	return false;
}

/* Gives the job keys to the reservations in its way until keys_return(). */
static void keys_lend(const struct inquiry *q, struct job *job)
{
	struct cluster *c = q->s->c;
	uint32_t n = (uint32_t)c->reservation_names.n + 1;
	bool *has;

	if (q->fences.n == 0)
		return;
	has = mem_zalloc((n + 1) * sizeof *has);
	for (uint32_t id = 1; id <= n; id++)
		has[id] = plan_has_key(q->s->p, job->keys, id);
	for (size_t i = 0; i < q->fences.n; i++)
		has[q->fences.v[i].id] = true;
	vec_push(&c->nodesets, nodeset_make(has, n + 1, false)); /* not interned, since it is temporary */
	job->keys = (uint32_t)c->nodesets.n - 1;
	free(has);
}

static void keys_return(const struct inquiry *q, struct job *job, uint32_t keys)
{
	struct cluster *c = q->s->c;

	if (q->fences.n == 0)
		return;
	assert(job->keys == c->nodesets.n - 1);
	free(c->nodesets.v[--c->nodesets.n].word);
	job->keys = keys;
}

/* Returns true if empty nodes, without the parts that are kept for others, and amounts that are not
 * kept would suffice with the remaining reservations. */
static bool fences_allow(const struct inquiry *q)
{
	struct job *job = cluster_job(q->s->c, q->ask->job);
	enum wholeness whole = cluster_job_request(q->s->c, job)->whole;
	uint32_t n = (uint32_t)q->s->c->nodes.n, keys = job->keys;
	bool *usable = unbooked(q, NULL), fits;
	struct res *kept = mem_zalloc((n + 1) * sizeof *kept);
	int64_t end = q->s->now + q->length;

	keys_lend(q, job);
	for (uint32_t i = 0; i < n; i++) {
		usable[i] = usable[i] && plan_piece_passes(q->s->p, job, whole, (int32_t)i, q->s->now, end);
		plan_parts(q->s->p, job, i, q->s->now, end, &kept[i]);
		res_sub(&q->s->c->nodes.v[i].total, &kept[i]);
	}
	keys_return(q, job, keys);
	fits = could_hold(q, usable) && !amounts_kept(q);
	for (uint32_t i = 0; i < n; i++)
		res_add(&q->s->c->nodes.v[i].total, &kept[i]);
	free(kept);
	free(usable);
	return fits;
}

static struct reason *fence_add(struct inquiry *q, const struct fence *f)
{
	struct reason *r = reason_add(q, WHY_RESERVATION);

	r->reservation = f->id;
	r->by_start = f->start;
	r->by_end = f->end;
	return r;
}

/* Collects all fences that keep the job out of nodes, or keep something from it that it asks
 * for. Closed nodes count, because they may be parts of whole machines. */
static void fences_collect(struct inquiry *q)
{
	const struct plan *p = q->s->p;
	const struct request *r = cluster_job_request(q->s->c, q->job);

	for (uint32_t i = 0; i < q->s->c->nodes.n; i++)
		for (size_t k = 0; p->node[i].fences && k < p->node[i].fences->n; k++)
			if (is_fenced(q, &p->node[i].fences->v[k]))
				vec_push(&q->fences, p->node[i].fences->v[k]);
	for (size_t i = 0; i < p->kept.n && r->nportions; i++)
		if (request_portion(r, p->kept.v[i].amount) && is_fenced(q, &p->kept.v[i].fence))
			vec_push(&q->fences, p->kept.v[i].fence);
}

/* Finds the reservations that keep the job out, or the one that it is bound to. */
static void fenced_ask(struct inquiry *q)
{
	struct fence f = {.start = TIME_NEVER, .end = TIME_NEVER};

	if (!plan_has_fences(q->s->p, q->job) || fences_allow(q))
		return;
	if (q->job->bound) {
		q->unfenced = true;
		fences_find(q->s, q->ask->job, q->length, &f);
		fence_add(q, &f);
		return;
	}
	fences_collect(q);
	/* drop those that the job can bear */
	for (size_t i = q->fences.n; i-- > 0 && q->fences.n <= PRUNE_MOST;) {
		f = q->fences.v[i];
		vec_remove(&q->fences, i);
		if (!fences_allow(q))
			vec_insert(&q->fences, i, f);
	}
	for (size_t i = 0; i < q->fences.n; i++)
		fence_add(q, &q->fences.v[i]);
}

static void hours_ask(struct inquiry *q)
{
	int64_t begin;

	q->nightly = nights_keep(q->s, q->job, &begin);
	if (q->nightly)
		reason_add(q, WHY_HOURS)->by_start = begin;
}

/* ---- the site's amounts ---- */

static void elsewhere_set(struct inquiry *q, uint32_t amount, int64_t elsewhere)
{
	q->s->c->amounts.v[amount].elsewhere = elsewhere;
	plan_set_amount(q->s->p, amount);
}

/* Finds amounts of which the cluster's own jobs could not give the job enough; assumes from here
 * on that others use less. */
static void amounts_ask(struct inquiry *q)
{
	const struct request *r = cluster_job_request(q->s->c, q->job);

	for (uint32_t i = 0; i < r->nportions; i++) {
		const struct portion *x = &r->portion[i];
		const struct amount *a = &q->s->c->amounts.v[x->amount];
		struct reason why = {.amount = x->amount, .by = JOB_NONE, .when = TIME_NEVER};
		if (!is_short(&why, WHY_AMOUNT, x->count, a->total - a->elsewhere))
			continue;
		vec_push(q->reasons, why);
		vec_push(&q->lifted, (struct lifted){x->amount, a->elsewhere});
		elsewhere_set(q, x->amount, a->total - x->count);
	}
}

static void amounts_restore(struct inquiry *q)
{
	for (size_t i = 0; i < q->lifted.n; i++)
		elsewhere_set(q, q->lifted.v[i].amount, q->lifted.v[i].elsewhere);
	vec_free(&q->lifted);
}

/* ---- the plan ---- */

static bool is_promised(const struct inquiry *q, uint32_t job)
{
	return cluster_job(q->s->c, job)->state == STATE_ALLOCATED && job != q->ask->job;
}

/* Collects the reservations of a plan that are not in the job's way. */
static void fences_stay(const struct inquiry *q, const struct plan *p, node_fence_vec *ret)
{
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; p->node[n].fences && i < p->node[n].fences->n; i++)
			if (!is_released(q, &p->node[n].fences->v[i]))
				vec_push(ret, (struct node_fence){.node = n, .fence = p->node[n].fences->v[i]});
	for (size_t i = 0; i < p->kept.n; i++)
		if (!is_released(q, &p->kept.v[i].fence))
			vec_push(ret, (struct node_fence){.node = p->kept.v[i].amount,
							  .keep = p->kept.v[i].count,
							  .fence = p->kept.v[i].fence});
}

/* Finds the promised places that are in the way even on otherwise empty nodes. */
static void promised_ask(struct inquiry *q)
{
	struct plan *p, *real = q->s->p;
	node_fence_vec fences = {0};
	claim_vec claims = {0};
	job_vec in = {0};

	if (q->s->special.n == 0)
		return;
	p = plan_create(q->s->c);
	claims_collect(real, false, &claims);
	plan_advance(p, q->s->now);
	for (uint32_t n = 0; n < real->nnodes; n++)
		for (size_t i = 0; real->node[n].bookings && i < real->node[n].bookings->n; i++) {
			const struct booking *b = &real->node[n].bookings->v[i];
			plan_book(p, n, b->owner, b->start, b->end);
		}
	if (!q->unfenced)
		fences_stay(q, real, &fences);
	for (size_t i = 0; i < fences.n; i++)
		if (fences.v[i].keep)
			plan_keep(p, fences.v[i].node, fences.v[i].keep, &fences.v[i].fence);
		else
			plan_fence(p, fences.v[i].node, &fences.v[i].fence);
	for (size_t i = 0; i < claims.n; i++)
		if (is_promised(q, claims.v[i].job)) {
			plan_adopt(p, real, claims.v[i].job);
			vec_push(&in, claims.v[i].job);
		}
	q->s->p = p;
	for (size_t i = 0; i < in.n && !explain_fits(q->s, q->ask->job, q->length); i++) {
		vec_push(&q->promised, in.v[i]);
		plan_take_job(p, in.v[i]);
	}
	for (size_t i = q->promised.n; i-- > 0;) { /* keep those that matter */
		plan_adopt(p, real, q->promised.v[i]);
		if (explain_fits(q->s, q->ask->job, q->length))
			vec_remove(&q->promised, i);
		else
			plan_take_job(p, q->promised.v[i]);
	}
	q->s->p = real;
	for (size_t i = 0; i < q->promised.n; i++) {
		struct reason *r = reason_add(q, WHY_RESERVED_FOR);
		r->by = q->promised.v[i];
		r->by_start = plan_piece(real, r->by, 0)->start;
	}
	vec_free(&in);
	vec_free(&claims);
	vec_free(&fences);
	plan_destroy(p);
}

/* Removes running jobs that the job would fit beside. */
static void holders_prune(struct inquiry *q, job_vec *holders)
{
	for (size_t i = 0; i < holders->n && holders->n <= PRUNE_MOST;) {
		plan_mark mark = plan_begin(q->s->p);
		for (size_t k = 0; k < holders->n; k++)
			if (k != i)
				plan_take_job(q->s->p, holders->v[k]);
		bool fits = explain_fits(q->s, q->ask->job, q->length);
		plan_rollback(q->s->p, mark);
		if (fits)
			vec_remove(holders, i);
		else
			i++;
	}
}

/* Takes places of waiting jobs out of the plan, except promised ones that are not in the way. The
 * job's own may have begun although it has not been started. */
static void plan_ease(struct inquiry *q)
{
	claim_vec claims = {0};

	if (plan_holds(q->s->p, q->ask->job))
		plan_take_job(q->s->p, q->ask->job);
	claims_collect(q->s->p, false, &claims);
	for (size_t i = 0; i < claims.n; i++)
		if (!is_promised(q, claims.v[i].job))
			plan_take_job(q->s->p, claims.v[i].job);
	for (size_t i = 0; i < q->promised.n; i++)
		plan_take_job(q->s->p, q->promised.v[i]);
	vec_free(&claims);
}

static void running_ask(struct inquiry *q)
{
	struct sched *s = q->s;
	plan_mark mark = plan_begin(s->p);
	struct reason r = {.by = JOB_NONE, .when = TIME_NEVER}, more = r;

	plan_ease(q);
	if (!explain_fits(s, q->ask->job, q->length)) {
		plan_mark inner = plan_begin(s->p);
		amount_short(s, q->ask->job, q->length, &more);
		bool fits = explain_running(s, q->ask->job, q->length, &r);
		plan_rollback(s->p, inner);
		if (fits) {
			holders_prune(q, &r.holders);
			vec_copy(&q->holders, &r.holders);
			vec_push(q->reasons, r);
			if (more.why == WHY_AMOUNT && r.why != WHY_AMOUNT) {
				more.implied = true; /* the same jobs hold it */
				vec_push(q->reasons, more);
			}
		} else { /* empty nodes would suffice according to pack.h: the problem is how they are shared */
			reason_fini(&r);
			reason_add(q, WHY_SCATTERED);
		}
	}
	plan_rollback(s->p, mark);
}

/* ---- the order ---- */

/* Removes the fences in the way from the copy; all others stay. */
static void fences_release(const struct inquiry *q, struct sched *s)
{
	node_fence_vec stay = {0};

	if (q->fences.n) {
		fences_stay(q, s->p, &stay);
		sched_fences(s, stay.v, stay.n, s->now);
	}
	vec_free(&stay);
}

/* Returns true if the job starts at once in a copy without any of the other reasons. */
static bool starts(struct inquiry *q)
{
	struct forecast *f = forecast_create_in(q->s, q->ask->scratch);
	struct sched *s = forecast_sched(f);
	uint32_t id = q->ask->job;
	bool done = false;

	sched_pace(s, 0);
	for (size_t i = 0; q->ask->along && i < q->ask->along->n; i++)
		sched_release(s, q->ask->along->v[i], s->now);
	if (q->job->state == STATE_HELD)
		sched_release(s, id, s->now);
	for (size_t i = 0; i < q->limits.n; i++) {
		limits_cap(s->limits, q->limits.v[i].kind, q->limits.v[i].of, q->limits.v[i].measure, -1);
		limits_soft(s->limits, q->limits.v[i].kind, q->limits.v[i].of, q->limits.v[i].measure, -1);
	}
	for (size_t i = 0; i < q->reopen.n; i++) {
		sched_node(s, q->reopen.v[i], true, s->now);
		sched_drain(s, q->reopen.v[i], false, s->now);
	}
	if (q->kept.n || q->unfenced)
		places_ease(s); /* the end of a booking or reservation lets others be placed again */
	for (size_t i = 0; i < q->kept.n; i++)
		plan_unbook(s->p, q->kept.v[i].node, q->kept.v[i].booking.owner);
	if (q->unfenced) {
		plan_lift_fences(s->p);
		cluster_job(s->c, id)->bound = 0;
	}
	fences_release(q, s);
	if (q->nightly) {
		s->c->settings.nights = (struct hours){0};
		sched_rank(s); /* other jobs have places at night as well */
	}
	if (q->unavoided)
		sched_allow(s, id, q->ask->allowed, s->now);
	for (size_t i = 0; i < q->promised.n; i++)
		sched_delete(s, q->promised.v[i], s->now, NULL);
	for (size_t i = 0; i < q->holders.n; i++)
		if (job_waits(cluster_job(s->c, q->holders.v[i]))) /* it is to start in this second */
			sched_delete(s, q->holders.v[i], s->now, NULL);
		else
			sched_finish(s, q->holders.v[i], s->now, NULL);
	sched_refresh(s);
	/* a start leads to another cycle, as in the server */
	for (size_t i = 0, before = 0; i < CYCLES_MOST && (!done || sched_waiting(s) < before); i++) {
		before = sched_waiting(s);
		done = sched_cycle(s, s->now);
	}
	done = !job_waits(cluster_job(s->c, id)) && cluster_job(s->c, id)->state != STATE_HELD;
	forecast_destroy(f);
	return done;
}

/* Returns true if the scheduler has considered the job as it is and did not start it. */
static bool was_passed_over(const struct inquiry *q)
{
	return q->reasons->n == 0 && !q->ask->released && q->job->waiting != WAITING_NONE && !q->s->effort.unfinished &&
	       !queue_get(q->s, q->ask->job)->fresh;
}

/* Returns true if the first job of one order is also first in all others and comes before this
 * job in each of them. */
static bool is_first(const struct inquiry *q, const struct queued *e, size_t i)
{
	struct sched *s = q->s;
	const struct waiting *w = queue_get(s, q->ask->job), *x = queue_get(s, e->job);

	if (!queue_before(s, e->job, q->ask->job))
		return false;
	if (queue_has_fill(s) && (ranks_nth(&s->line.by_fill, i)->job != e->job || x->fill > w->fill))
		return false;
	return !s->due.dates || (ranks_nth(&s->line.by_due, i)->job == e->job && x->due <= w->due);
}

/* Starts `e` in the plan. Returns true if that leaves no room for the job. */
static bool leaves_none(struct inquiry *q, const struct queued *e)
{
	plan_mark mark = plan_begin(q->s->p);

	if (!plan_insert(q->s->p, &q->s->plain, e->job, q->s->now, q->s->now + e->length)) {
		plan_rollback(q->s->p, mark);
		return false;
	}
	plan_commit(q->s->p, mark);
	return !explain_fits(q->s, q->ask->job, q->length);
}

/* Returns true if the jobs that any policy considers first start one after the other until
 * nothing is left for this one: then the scheduler need not be copied. False means unknown: as
 * soon as one of them does not start, what follows depends on reservations and, with limits, on
 * what the others take of them. */
static bool surely_later(struct inquiry *q)
{
	struct sched *s = q->s;
	bool later = false, sure = true;
	const struct queued *e;
	struct cursor at;

	if (q->job->waiting == WAITING_NONE || s->special.n || q->reopen.n || q->kept.n || q->unfenced || q->fences.n ||
	    q->unavoided || q->nightly || (s->limits && limits_any(s->limits)) || s->line.reweigh ||
	    s->policy->position || (q->ask->along && q->ask->along->n))
		return false;
	queue_settle(s);
	plan_mark mark = plan_begin(s->p);
	plan_ease(q);
	for (size_t i = 0; i < q->holders.n; i++)
		plan_take_job(s->p, q->holders.v[i]);
	cursor_open(&at, s, &s->line.by_key);
	for (size_t i = 0; (e = cursor_at(&at)) && i < TRIES_MOST && sure && !later; i++, cursor_step(&at)) {
		sure = is_first(q, e, i);
		later = sure && leaves_none(q, e);
		sure = sure && plan_holds(s->p, e->job);
	}
	cursor_close(&at);
	plan_rollback(s->p, mark);
	return later;
}

static void order_ask(struct inquiry *q)
{
	struct sched *s = q->s;
	int64_t others = (int64_t)sched_waiting(s) - (job_waits(q->job) ? 1 : 0) +
			 (int64_t)(q->ask->along ? q->ask->along->n : 0);
	const struct queued *e;
	struct cursor first;
	struct reason *r;

	if (others <= 0 || (!was_passed_over(q) && !surely_later(q) && starts(q)))
		return;
	r = reason_add(q, WHY_ORDER);
	r->needed = others;
	for (size_t i = 0; i < s->special.n && r->by == JOB_NONE; i++)
		r->by = s->special.v[i] == q->ask->job ? JOB_NONE : s->special.v[i];
	if (r->by != JOB_NONE)
		return;
	cursor_open(&first, s, &s->line.by_key);
	e = cursor_at(&first);
	if (e && e->job != q->ask->job)
		r->by = e->job;
	cursor_close(&first);
}

/* ---- putting it together ---- */

/* Marks nodes that the job needs, and that are down, as up in the plan for the duration of the
 * investigation. */
static void nodes_raise(struct inquiry *q)
{
	for (size_t i = 0; i < q->reopen.n; i++) {
		uint32_t n = q->reopen.v[i];
		if (q->s->c->nodes.v[n].up || q->s->p->node[n].pieces.n > 0)
			continue;
		q->s->c->nodes.v[n].up = true;
		plan_node_up(q->s->p, n, true);
		vec_push(&q->raised, n);
	}
}

static void nodes_lower(struct inquiry *q)
{
	for (size_t i = 0; i < q->raised.n; i++) {
		plan_node_up(q->s->p, q->raised.v[i], false);
		q->s->c->nodes.v[q->raised.v[i]].up = false;
	}
}

static void bookings_restore(struct inquiry *q)
{
	for (size_t i = 0; i < q->kept.n; i++) {
		const struct booking *b = &q->kept.v[i].booking;
		plan_book(q->s->p, q->kept.v[i].node, b->owner, b->start, b->end);
	}
}

static void plan_ask(struct inquiry *q)
{
	struct sched *s = q->s;
	struct manner plain = s->plain;
	struct nodeset on = nodeset_make(q->open, (uint32_t)s->c->nodes.n, false);
	struct job *job = cluster_job(s->c, q->ask->job);
	uint32_t allowed = job->allowed, bound = job->bound, keys = job->keys;
	size_t edges;

	s->plain.on = &on;
	if (q->unavoided)
		job->allowed = q->ask->allowed;
	job->bound = q->unfenced ? 0 : bound;
	promised_ask(q);
	keys_lend(q, job);
	edges = q->unfenced ? plan_lift_fences(s->p) : s->p->edges.n;
	running_ask(q);
	plan_lower_fences(s->p, edges);
	keys_return(q, job, keys);
	job->bound = bound;
	job->allowed = allowed;
	s->plain = plain;
	free(on.word);
}

/* Adds WHY_NEVER: the job could not run on all existing nodes, or the site does not have what it
 * takes. */
static void never_add(struct inquiry *q)
{
	const struct request *r = cluster_job_request(q->s->c, q->job);
	struct reason *why = reason_add(q, WHY_NEVER);

	for (uint32_t i = 0; i < r->nportions && !why->site; i++) {
		why->amount = r->portion[i].amount;
		why->site = is_short(why, WHY_NEVER, r->portion[i].count, q->s->c->amounts.v[why->amount].total);
	}
}

void sched_blockers(struct sched *s, const struct blockers_ask *ask, reason_vec *ret)
{
	struct inquiry q = {.s = s, .ask = ask, .job = cluster_job(s->c, ask->job), .reasons = ret};

	q.length = sched_length(s, q.job);
	if (q.job->waiting != WAITING_NONE && q.job->kind == KIND_COMMON)
		q.length = queue_get(s, ask->job)->length;
	q.open = mem_zalloc((s->c->nodes.n + 1) * sizeof *q.open);
	if (!nodes_ask(&q)) {
		never_add(&q);
		limits_ask(&q);
	} else {
		nodes_raise(&q);
		amounts_ask(&q);
		avoided_ask(&q);
		booked_ask(&q);
		fenced_ask(&q);
		hours_ask(&q);
		plan_ask(&q);
		bookings_restore(&q);
		nodes_lower(&q);
		limits_ask(&q);
		order_ask(&q);
		amounts_restore(&q);
	}
	vec_free(&q.reopen);
	vec_free(&q.fences);
	vec_free(&q.raised);
	vec_free(&q.kept);
	vec_free(&q.promised);
	vec_free(&q.holders);
	vec_free(&q.limits);
	free(q.open);
}
