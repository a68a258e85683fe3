/*
 * adapter_lone.c - decides on the only request that may be out, for a large bag while nothing is
 * known of its tasks.
 *
 * There are two ways to begin. Static's way is to request the whole machine for the longest time.
 * The other is a probe first, followed by static's request, which then has a later place in the
 * queue. If tasks are short, a probe makes the bag 3 to 100 times as fast; if they are long, its
 * time is lost. A probe is allowed only if the bag then takes hardly longer than under static,
 * however long its tasks are. Of these probes and static's request, the best on average is made.
 */
#include <math.h>

#include "bag/adapter_ours.h"

#define REGRET 0.1 /* largest loss in any scene, as a share of static's time */

/* Completion times of the bag, by scene. */
struct prospects {
	/* with static's request; and at best, if the time of a task were known */
	double as_static[SCENES], known[SCENES];
};

static struct adapter_request request_of(const struct candidate *c)
{
	return (struct adapter_request){.procs = c->procs, .time = c->time, .start = c->start};
}

static double completion_with(struct ours *o, const struct adapter_request *r, const struct scene *e)
{
	double x;

	o->set[o->n++] = *r;
	x = ours_completion(o, e);
	o->n--;
	return x;
}

static void candidates_list(const struct ours *o, candidate_vec *ret)
{
	int64_t length[LENGTHS], limit = least(o->a->limits.procs, o->v->pending), end;
	int n = ours_lengths(o, length);

	for (int i = 0; i < n; i++)
		for (int64_t procs = 0; procs < limit;) {
			struct candidate c = {.procs = procs = ours_wider(procs, limit), .time = length[i]};

			c.start = holes_earliest(&o->holes, procs, length[i], &end);
			if (c.start == TIME_NEVER)
				break;
			vec_push(ret, c);
			c.time = least(o->a->limits.time, least(STRETCH * length[i], end - c.start));
			vec_push(ret, c);
		}
}

static void foresee(struct ours *o, const struct adapter_request *as_static, const candidate_vec *c,
		    struct prospects *ret)
{
	for (int i = 0; i < o->nscenes; i++) {
		ret->as_static[i] = ret->known[i] = completion_with(o, as_static, &o->scene[i]);
		for (size_t k = 0; k < c->n; k++) {
			struct adapter_request r = request_of(&c->v[k]);
			ret->known[i] = fmin(ret->known[i], completion_with(o, &r, &o->scene[i]));
		}
	}
}

/* Returns the mean logarithm of the bag's time; INFINITY: in some scene it would be much longer
 * than under static. */
static double judge(struct ours *o, const struct prospects *p, const struct adapter_request *r)
{
	double now = (double)o->v->now, began = (double)o->a->began, end = ours_start(o, r) + (double)r->time, sum = 0;

	for (int i = 0; i < o->nscenes; i++) {
		const struct scene *e = &o->scene[i];
		double tasks = (double)r->procs * ours_finished(o, r, e, INFINITY), x;

		if (tasks >= (double)o->v->pending)
			x = completion_with(o, r, e);
		else
			x = end + (tasks > 0 ? p->known[i] : p->as_static[i]) - now;
		if (x > p->as_static[i] && x - began > (1 + REGRET) * (p->as_static[i] - now))
			return INFINITY;
		sum += log(x - began + 1);
	}
	return sum / o->nscenes;
}

int lone_decide(struct ours *o, struct adapter_order *ret, int n)
{
	const struct adapter_limits *l = &o->a->limits;
	struct candidate best = {.procs = least(l->procs, o->holes.v[o->holes.n - 1].procs), .time = l->time};
	struct adapter_request waits = {0}, r;
	bool waiting = o->n > 0;
	struct prospects p;
	candidate_vec c = {0};
	double value, now = INFINITY;
	int64_t end;

	if ((waiting && (o->set[0].running || o->set[0].start <= o->v->now || o->set[0].start == TIME_NEVER)) ||
	    best.procs < 1)
		return n;
	if (waiting) {
		waits = o->set[0];
		ours_remove(o, 0);
	}
	best.start = holes_earliest(&o->holes, best.procs, best.time, &end);
	r = request_of(&best);
	candidates_list(o, &c);
	foresee(o, &r, &c, &p);
	value = judge(o, &p, &r);
	if (waiting) {
		/* it is static's request, which already has a place in the queue */
		if (waits.procs >= best.procs && waits.time == best.time)
			for (int i = 0; i < o->nscenes; i++)
				p.as_static[i] = fmin(p.as_static[i], completion_with(o, &waits, &o->scene[i]));
		now = judge(o, &p, &waits) - REPLACE;
	}
	for (size_t i = 0; i < c.n; i++) {
		r = request_of(&c.v[i]);
		double x = judge(o, &p, &r);
		if (x < value) {
			value = x;
			best = c.v[i];
		}
	}
	vec_free(&c);
	if (waiting && !(value < now)) {
		holes_take(&o->holes, waits.start, waits.start + waits.time, waits.procs);
		o->set[o->n++] = waits;
		return n;
	}
	if (waiting)
		ret[n++] = (struct adapter_order){.what = ADAPTER_CANCEL, .id = waits.id};
	return ours_submit(o, &best, ret, n);
}
