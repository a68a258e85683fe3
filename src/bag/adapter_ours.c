/*
 * adapter_ours.c - our own heuristic: chooses the set of requests that completes the bag first, by
 * what is known.
 *
 * A set of requests is judged by the logarithm of when it would complete the bag, averaged over the
 * possible times of a task. Once tasks have finished, that time is known. Before, all powers of two
 * longer than any stay so far are equally likely. Tasks that do not fit into the set are assumed to
 * be submitted when its first request has ended, and to wait as long as if they were submitted now.
 * Until something is known, all slots but one hold static's requests, so that long tasks lose
 * nothing, and the last slot probes. In a large bag these requests stay until then. Where only one
 * request may be out, adapter_lone.c decides.
 *
 * Open slots are filled with the candidate that helps most. A slot costs nothing, so here it also
 * counts how soon tasks are finished on average, even if the last one does not end earlier, and how
 * soon the time of a task is known. While the requests that are out do not cover all tasks, no slot
 * stays open, because a later submission waits longer. Then a waiting request is replaced if
 * another one in its place helps by more than a threshold: the plan changes as jobs end early, and
 * a bag that resubmits too often always waits. For the same reason a planned wait counts only in
 * part. When more work is left than the largest requests in the open slots can hold, only
 * throughput matters, and adaptive decides.
 */
#include <math.h>

#include "bag/adapter_ours.h"

#define WAIT_COUNTS 0.7 /* counted share of a planned wait, as many jobs end before their time */
#define ENOUGH 0.01	/* minimum gain of a request for an open slot, as a logarithm */
#define GRID 1.4	/* ratio between the processors of successive candidates */
#define DUTY 0.5	/* share of the machine that later requests are expected to get */
#define SHORTEST 50	/* shortest task considered, seconds */
#define MARGIN 1.1	/* factor over the longest task seen */
#define UNSEEN 0.5	/* minimum share above the mean, while longer tasks were cut off */
#define ROOM 1.1	/* capacity needed relative to the tasks left, if these are more than processors */
#define AHEAD 0.1	/* weight of the mean finish time, relative to that of the last task */
#define LEARN 0.2	/* weight of the time until the first task is finished, while none is */

enum { SAMPLES = 8 };

static int64_t busy_count(const struct adapter_view *v)
{
	int64_t n = 0;

	for (size_t i = 0; i < v->nrequests; i++)
		n += v->request[i].busy;
	return n;
}

static void scenes_set(struct ours *o)
{
	const struct adapter *a = o->a;
	int64_t stayed = most(o->v->oldest, a->longest_cut), busy = busy_count(o->v);
	double stay = MARGIN * (double)stayed, limit = (double)a->limits.time;

	o->nscenes = 0;
	if (a->done) {
		double usual = fmax(1, adapter_mean(a, a->done < busy ? busy : 0, o->v->oldest));
		double above = 1 / sqrt((double)a->done); /* a few tasks are little evidence */
		if (stayed >= a->longest)
			above = fmax(above, UNSEEN); /* and they were the shortest */
		double longest = fmin(limit, fmax(fmax(MARGIN * (double)a->longest, stay), (1 + above) * usual));
		o->scene[o->nscenes++] = (struct scene){longest, fmin(usual, longest)};
		return;
	}
	for (double e = SHORTEST; e < limit && o->nscenes < SCENES; e *= 2)
		if (e > stay)
			o->scene[o->nscenes++] = (struct scene){e, e};
	if (!o->nscenes)
		o->scene[o->nscenes++] = (struct scene){limit, limit};
}

/* Returns true for a bag so large that static would request the whole machine in every slot. */
static bool ours_large(const struct ours *o)
{
	return ceil_div(o->v->pending, o->a->limits.requests) >= o->a->limits.procs;
}

/* Returns the capacity needed, in tasks. How many fit into a request is not known exactly, and a
 * few that are left over must queue again. */
static double demand_of(const struct ours *o)
{
	return (o->v->pending > o->a->limits.procs ? ROOM : 1) * (double)o->v->pending;
}

double ours_start(const struct ours *o, const struct adapter_request *r)
{
	if (r->running)
		return (double)r->start;
	return (double)o->v->now + WAIT_COUNTS * (double)(r->start - o->v->now);
}

double ours_finished(const struct ours *o, const struct adapter_request *r, const struct scene *e, double t)
{
	double start = ours_start(o, r), end = fmin(t, start + (double)r->time);
	double n = end - start >= e->longest ? 1 + floor((end - start - e->longest) / e->usual) : 0;

	if (r->running && n > 0)
		n -= fmin(n, floor(((double)o->v->now - start) / e->usual));
	return n;
}

static double all_finished(const struct ours *o, const struct scene *e, double t)
{
	double sum = 0;

	for (int i = 0; i < o->n; i++)
		sum += (double)o->set[i].procs * ours_finished(o, &o->set[i], e, t);
	return sum;
}

/* Returns how many tasks the requests that are out do not cover, in the first scene. */
static double uncovered(const struct ours *o)
{
	return fmax(0, demand_of(o) - all_finished(o, &o->scene[0], INFINITY));
}

double ours_completion(const struct ours *o, const struct scene *e)
{
	double now = (double)o->v->now, last = now, first = INFINITY, pending = demand_of(o), sum;

	for (int i = 0; i < o->n; i++) {
		double end = ours_start(o, &o->set[i]) + (double)o->set[i].time;
		last = fmax(last, end);
		first = fmin(first, end);
	}
	sum = all_finished(o, e, last);
	if (sum < pending) { /* the rest goes into later requests */
		double wait = WAIT_COUNTS * (double)(holes_horizon(&o->holes) - o->v->now), behind = now + wait;
		double rest = (pending - sum) * e->usual / ((double)o->a->limits.procs * DUTY);
		if (o->n >= o->a->limits.requests)
			behind = fmax(now, first) + wait; /* the queue will be as long then */
		return fmax(fmax(behind, now) + fmax(e->longest, rest), sum > 0 ? fmin(last, first + rest) : now);
	}

	double low = now, high = last;

	while (high - low > 1 + 0.002 * (high - now)) {
		double middle = (low + high) / 2;
		if (all_finished(o, e, middle) >= pending)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* Returns the mean time from now until a task is finished, if the bag is complete at `end`. */
static double average(const struct ours *o, const struct scene *e, double end)
{
	double now = (double)o->v->now, pending = (double)o->v->pending, left = 0;

	for (int i = 0; i < SAMPLES; i++)
		left += 1 - fmin(1, all_finished(o, e, now + (end - now) * (i + 1) / SAMPLES) / pending);
	return left / SAMPLES * (end - now);
}

/* Returns the time from now until the time of a task is known, under a scene's assumption. */
static double known(const struct ours *o, const struct scene *e, double end)
{
	double first = end;

	for (int i = 0; i < o->n; i++)
		if ((double)o->set[i].time >= e->longest)
			first = fmin(first, fmax(ours_start(o, &o->set[i]), (double)o->v->now) + e->longest);
	return first - (double)o->v->now;
}

/* Judges the set by when the bag is complete. For an open slot, which costs nothing, also by how
 * soon tasks are finished before, and by how soon their time is known; smaller is better. */
static double judge(const struct ours *o)
{
	double sum = 0;

	for (int i = 0; i < o->nscenes; i++) {
		const struct scene *e = &o->scene[i];
		double end = ours_completion(o, e);

		sum += log(end - (double)o->a->began + 1);
		if (o->filling)
			sum += AHEAD * log(average(o, e, end) + 1);
		if (o->filling && !o->a->done)
			sum += LEARN * log(known(o, e, end) + 1);
	}
	return sum / o->nscenes;
}

/* The lengths hold whole numbers of tasks, one after another. */
int ours_lengths(const struct ours *o, int64_t ret[LENGTHS])
{
	int n = 0;
	double limit = (double)o->a->limits.time;

	if (o->a->done) {
		const struct scene *e = &o->scene[0];
		for (double k = 1; e->longest + (k - 1) * e->usual < limit && n < LENGTHS - 1; k = floor(k * GRID) + 1)
			ret[n++] = (int64_t)ceil(e->longest + (k - 1) * e->usual);
	} else {
		for (int i = 0; i < o->nscenes && n < LENGTHS - 1; i++)
			ret[n++] = (int64_t)ceil(fmin(limit, MARGIN * o->scene[i].longest));
	}
	ret[n++] = o->a->limits.time;
	return n;
}

int64_t ours_wider(int64_t procs, int64_t limit)
{
	return least(limit, most(procs + 1, (int64_t)((double)procs * GRID)));
}

/* Returns true if a request planned to start then can't finish a task before the bag is complete
 * anyway. */
static bool too_late(const struct ours *o, int64_t start, double complete)
{
	struct adapter_request r = {.start = start};

	return o->nscenes == 1 && ours_start(o, &r) + o->scene[0].longest >= complete;
}

/* Finds the best candidate for one more request; returns its judgement, or INFINITY if no
 * candidate helps. */
static double candidate_best(struct ours *o, struct candidate *ret)
{
	int64_t length[LENGTHS], most_procs = least(o->a->limits.procs, o->v->pending);
	int n = ours_lengths(o, length);
	double best = INFINITY, complete = uncovered(o) > 0 ? INFINITY : ours_completion(o, &o->scene[0]);

	for (int i = 0; i < n; i++) {
		int64_t procs = 0;

		while (procs < most_procs) {
			int64_t end = 0, start;

			procs = ours_wider(procs, most_procs);
			start = holes_earliest(&o->holes, procs, length[i], &end);
			if (start == TIME_NEVER || too_late(o, start, complete))
				break;

			int64_t time = least(o->a->limits.time, least(STRETCH * length[i], end - start));

			o->set[o->n++] = (struct adapter_request){.procs = procs, .time = time, .start = start};
			double x = judge(o);
			o->n--;
			if (x < best) {
				best = x;
				*ret = (struct candidate){start, procs, time};
			}
		}
	}
	return best;
}

int ours_submit(struct ours *o, const struct candidate *c, struct adapter_order *ret, int n)
{
	o->set[o->n++] = (struct adapter_request){.id = -1, .procs = c->procs, .time = c->time, .start = c->start};
	holes_take(&o->holes, c->start, c->start + c->time, c->procs);
	return order_submit(ret, n, c->procs, c->time);
}

/* Submits the requests of the static policy in all slots but one, as long as task times are unknown
 * and the machine has free processors. */
static int secure(struct ours *o, int slots, struct adapter_order *ret, int n)
{
	for (int i = 0; i < slots; i++) {
		int64_t end, procs = least(o->a->limits.procs, ceil_div(o->v->pending, o->a->limits.requests));
		struct candidate c = {holes_earliest(&o->holes, procs, o->a->limits.time, &end), procs,
				      o->a->limits.time};
		if (c.start == TIME_NEVER)
			break;
		n = ours_submit(o, &c, ret, n);
	}
	return n;
}

static int fill(struct ours *o, int slots, struct adapter_order *ret, int n)
{
	double now;

	o->filling = true;
	now = judge(o);
	while (slots-- > 0) {
		struct candidate c;
		double x = candidate_best(o, &c);
		if (!(x < now - ENOUGH) && o->n > 0 && !(o->a->done && uncovered(o) > 0))
			break;
		if (x == INFINITY)
			break;
		n = ours_submit(o, &c, ret, n);
		now = x;
	}
	o->filling = false;
	return n;
}

void ours_remove(struct ours *o, int at)
{
	const struct adapter_request r = o->set[at];

	holes_take(&o->holes, r.start, r.start + r.time, -r.procs);
	o->set[at] = o->set[--o->n];
}

/* Returns true for a request that static would have made for a large bag of which nothing is
 * known; it keeps its place. */
static bool is_secured(const struct ours *o, const struct adapter_request *r)
{
	return !o->a->done && o->a->limits.requests > 1 && ours_large(o) && r->time == o->a->limits.time &&
	       r->procs == o->a->limits.procs;
}

/* Replaces the waiting request for which another would help most, if it helps enough. */
static int replace(struct ours *o, struct adapter_order *ret, int n)
{
	double now = judge(o), best = now - (ours_large(o) ? REPLACE_LARGE : REPLACE);
	struct candidate with = {0};
	int at = -1;

	for (int i = 0; i < o->n; i++) {
		struct adapter_request was = o->set[i];
		struct candidate c;

		if (was.running || was.id < 0 || was.start == TIME_NEVER || was.start <= o->v->now ||
		    is_secured(o, &was))
			continue;
		ours_remove(o, i);
		double x = candidate_best(o, &c);
		holes_take(&o->holes, was.start, was.start + was.time, was.procs);
		o->set[o->n++] = o->set[i];
		o->set[i] = was;
		if (x < best) {
			best = x;
			with = c;
			at = i;
		}
	}
	if (at < 0)
		return n;
	ret[n++] = (struct adapter_order){.what = ADAPTER_CANCEL, .id = o->set[at].id};
	ours_remove(o, at);
	return ours_submit(o, &with, ret, n);
}

/* Releases running requests that have nothing to do, unless a task may soon be cut off that they
 * could take. */
static int release(struct ours *o, struct adapter_order *ret, int n)
{
	const struct adapter_view *v = o->v;

	for (int i = o->n - 1; i >= 0; i--) {
		const struct adapter_request *r = &o->set[i];
		int64_t end = r->start + r->time;
		bool needed = v->idle > 0 && end - v->now >= o->a->shortest;

		if (!r->running || r->busy)
			continue;
		for (int k = 0; k < o->n && !needed; k++) {
			const struct adapter_request *other = &o->set[k];
			int64_t left = other->start + other->time - v->now;
			needed = other->running && other->busy && left < o->a->longest &&
				 end > v->now + left + o->a->shortest;
		}
		if (needed)
			continue;
		ret[n++] = (struct adapter_order){.what = ADAPTER_RELEASE, .id = r->id};
		ours_remove(o, i);
	}
	return n;
}

/* Reduces waiting requests to no more processors than tasks are left. */
static int shrink(struct ours *o, struct adapter_order *ret, int n)
{
	for (int i = 0; i < o->n; i++) {
		struct adapter_request *r = &o->set[i];
		if (r->running || r->procs <= o->v->pending)
			continue;
		holes_take(&o->holes, r->start, r->start + r->time, o->v->pending - r->procs);
		r->procs = o->v->pending;
		ret[n++] = (struct adapter_order){.what = ADAPTER_SHRINK, .id = r->id, .procs = r->procs};
	}
	return n;
}

/* Returns true if nothing is known, and everything depends on one request. */
static bool is_lone(const struct ours *o)
{
	return o->a->limits.requests == 1 && !o->a->done;
}

/* Returns true if even the largest requests in all open slots can't hold the work that is left. */
static bool is_much(const struct ours *o, int slots)
{
	const struct adapter_limits *l = &o->a->limits;

	return o->a->done && uncovered(o) * o->scene[0].usual > slots * (double)l->procs * (double)l->time;
}

int ours_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret)
{
	struct ours o = {.a = a, .v = v};
	int n = 0, slots;

	for (size_t i = 0; i < v->nrequests; i++)
		o.set[o.n++] = v->request[i];
	holes_copy(&o.holes, v);
	scenes_set(&o);
	n = release(&o, ret, n);
	n = shrink(&o, ret, n);
	slots = a->limits.requests - o.n;
	if (is_lone(&o) && ours_large(&o)) {
		n = lone_decide(&o, ret, n);
	} else if (is_much(&o, slots) || (is_lone(&o) && slots == 1 && !a->cut)) {
		/* without results, adaptive uses its first guess */
		struct adapter_view rest = *v;
		rest.request = o.set;
		rest.nrequests = (size_t)o.n;
		n += adaptive_decide(a, &rest, ret + n);
	} else {
		if (!a->done && !a->cut && slots > 1 && a->reviewed < 0) {
			n = secure(&o, slots - 1, ret, n);
			slots = 1;
		}
		int before = n;
		n = fill(&o, slots, ret, n);
		/* a submission may let a waiting request start, which then can't be replaced */
		if (n == before)
			n = replace(&o, ret, n);
	}
	vec_free(&o.holes);
	return n;
}
