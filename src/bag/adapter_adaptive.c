/*
 * adapter_adaptive.c - fills the holes of the cluster's plan with the requests of the best
 * throughput: adaptive, as the source prints it and with whole tasks, and mixed.
 *
 * The source's text (3.3.4) says that mixed makes its first request as static would, its algorithm
 * 3.4 that this one is the largest allowed. They differ for a bag with few tasks: mixed follows the
 * text, mixed-max the algorithm.
 *
 * Of holes that exclude each other, the one with the best throughput is a candidate. Further
 * candidates are the largest requests, as many as may be out, behind everything that is planned.
 * The first candidates fill the open slots; then each other one replaces one of them whenever that
 * raises the total throughput. As printed, a task's time cancels out, and only area over end
 * matters.
 */
#include "bag/adapter_internal.h"

/* Returns the number of tasks that a request can run before it ends. */
static double worth(const struct adapter *a, const struct candidate *c, int64_t e)
{
	if (a->heuristic == ADAPTER_AS_PRINTED)
		return (double)c->time / (double)e * (double)c->procs;
	return (double)(c->time / e * c->procs);
}

static double capped(const struct adapter *a, const struct adapter_view *v, double sum)
{
	return a->heuristic != ADAPTER_AS_PRINTED && sum > (double)v->pending ? (double)v->pending : sum;
}

/* Returns the tasks per second of a set, from now to its latest end. */
static double throughput(const struct adapter *a, const struct adapter_view *v, const struct candidate *c, int n,
			 int64_t e)
{
	double sum = 0;
	int64_t end = v->now + 1;

	for (int i = 0; i < n; i++) {
		sum += worth(a, &c[i], e);
		end = most(end, c[i].start + c[i].time);
	}
	return capped(a, v, sum) / (double)(end - v->now);
}

/* Removes candidates that overlap a better one in time and do not fit next to it; throughput
 * decides. */
static void drop_exclusive(const struct adapter *a, const struct adapter_view *v, span_vec *left, candidate_vec *c,
			   int64_t e)
{
	candidate_vec kept = {0};

	for (;;) {
		double best = -1;
		size_t at = 0;

		for (size_t i = 0; i < c->n; i++) {
			double x = throughput(a, v, &c->v[i], 1, e);
			if (x > best) {
				best = x;
				at = i;
			}
		}
		if (best < 0)
			break;

		struct candidate take = c->v[at];
		size_t n = 0;

		vec_push(&kept, take);
		holes_take(left, take.start, take.start + take.time, take.procs);
		for (size_t i = 0; i < c->n; i++) { /* keep those that still fit */
			int64_t begin = c->v[i].start;
			bool fits = i != at;
			for (size_t k = 0; k < left->n && fits; k++)
				fits = left->v[k].end <= begin || left->v[k].start >= begin + c->v[i].time ||
				       left->v[k].procs >= c->v[i].procs;
			if (fits)
				c->v[n++] = c->v[i];
		}
		c->n = n;
	}
	vec_free(c);
	for (size_t i = 0; i < kept.n; i++) { /* sort by start again */
		size_t k = 0;
		while (k < c->n && c->v[k].start <= kept.v[i].start)
			k++;
		vec_insert(c, k, kept.v[i]);
	}
	vec_free(&kept);
}

static void candidates_list(const struct adapter *a, const struct adapter_view *v, candidate_vec *ret, int64_t e)
{
	span_vec s = {0};

	holes_copy(&s, v);
	holes_list(&s, &a->limits, ret);

	int64_t behind = holes_horizon(&s);
	int64_t beside = most(1, s.v[s.n - 1].procs / a->limits.procs);

	drop_exclusive(a, v, &s, ret, e);
	for (int i = 0; i < a->limits.requests; i++) {
		struct candidate c = {behind + i / beside * a->limits.time, a->limits.procs, a->limits.time};
		vec_push(ret, c);
	}
	vec_free(&s);
}

/* Reduces the set to no more processors than tasks. */
static void scale_down(struct candidate *c, int n, int64_t pending)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += c[i].procs;
	for (int i = 0; i < n && pending < sum; i++)
		c[i].procs = ceil_div(c[i].procs * pending, sum);
}

int adaptive_decide(struct adapter *a, const struct adapter_view *v, struct adapter_order *ret)
{
	bool first = a->reviewed < 0 && (a->heuristic == ADAPTER_MIXED || a->heuristic == ADAPTER_MIXED_MAX);
	int slots = open_slots(a, v) - first, n = 0;
	struct candidate set[ADAPTER_REQUESTS];
	candidate_vec c = {0};
	int64_t e = adapter_estimate(a);

	if (slots > 0) {
		candidates_list(a, v, &c, e);
		for (; n < slots; n++)
			set[n] = c.v[n];

		double best = throughput(a, v, set, n, e);

		for (size_t i = (size_t)n; i < c.n; i++)
			for (int k = 0; k < n; k++) {
				struct candidate was = set[k];
				set[k] = c.v[i];
				double x = throughput(a, v, set, n, e);
				if (x > best) {
					best = x;
					break; /* it is in the set now; once is enough */
				}
				set[k] = was;
			}
		scale_down(set, n, v->pending);
	}

	int orders = 0;

	for (int i = 0; i < n; i++)
		orders = order_submit(ret, orders, set[i].procs, set[i].time);
	if (first && open_slots(a, v) > 0)
		orders = order_submit(ret, orders, a->heuristic == ADAPTER_MIXED ? static_procs(a, v) : a->limits.procs,
				      a->limits.time);
	vec_free(&c);
	return orders;
}
