/*
 * search.c - when a job can be placed: every event point is tested, forward from now or backward from a deadline.
 *
 * A job can start at t but not just before only because a piece ended at t; it can start at t but not just after only
 * because a piece starts at t + length (or the deadline is there). So the ends of pieces, and the starts less the length,
 * are all the instants there are to test; pushing fragments about does not change that, since it moves them between nodes
 * and not in time. Nor does it change what is free in sum: instants at which the sum is short are skipped.
 */
#include <stdlib.h>

#include "plan/insert.h"

typedef VEC(int64_t) instant_vec;

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t distinct(int64_t *v, size_t n)
{
	size_t k = 0;

	qsort(v, n, sizeof *v, ascending);
	for (size_t i = 0; i < n; i++)
		if (k == 0 || v[i] != v[k - 1])
			v[k++] = v[i];
	return k;
}

/* On one node whose pieces stay where they are the timeline says it at once. */
static bool is_simple(const struct plan *p, const struct manner *m, const struct request *r)
{
	return p->nnodes == 1 && !m->may_remove && r->nfrags == 1;
}

static const struct request *request_of(const struct plan *p, uint32_t job)
{
	return cluster_job_request(p->cluster, cluster_job(p->cluster, job));
}

int64_t plan_insert_earliest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t length)
{
	const struct request *r = request_of(p, job);
	const struct timeline *sum = plan_sum(p);
	instant_vec at = {0};
	int64_t found = TIME_NEVER;

	if (!m->may_remove)
		from = timeline_earliest(sum, from, length, &r->total);
	if (from == TIME_NEVER)
		return from;
	if (is_simple(p, m, r)) {
		plan_put(p, job, 0, 0, from, from + length);
		return from;
	}
	if (plan_insert(p, m, job, from, from + length))
		return from;
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++)
			if (p->node[n].pieces.v[i].end > from)
				vec_push(&at, p->node[n].pieces.v[i].end);
	if (at.n)
		at.n = distinct(at.v, at.n);
	for (size_t i = 0; i < at.n && found == TIME_NEVER; i++) {
		if (!m->may_remove && timeline_earliest(sum, at.v[i], length, &r->total) != at.v[i])
			continue;
		if (plan_insert(p, m, job, at.v[i], at.v[i] + length))
			found = at.v[i];
	}
	vec_free(&at);
	return found;
}

int64_t plan_insert_latest(struct plan *p, const struct manner *m, uint32_t job, int64_t from, int64_t until, int64_t length)
{
	instant_vec at = {0};
	int64_t last = until - length, found = TIME_NEVER;

	if (last < from)
		return TIME_NEVER;
	vec_push(&at, last);
	for (uint32_t n = 0; n < p->nnodes; n++)
		for (size_t i = 0; i < p->node[n].pieces.n; i++) {
			const struct piece *x = &p->node[n].pieces.v[i];
			if (!x->live && x->start - length >= from && x->start - length < last)
				vec_push(&at, x->start - length);
		}
	at.n = distinct(at.v, at.n);
	for (size_t i = at.n; i-- > 0 && found == TIME_NEVER;)
		if (plan_insert(p, m, job, at.v[i], at.v[i] + length))
			found = at.v[i];
	vec_free(&at);
	return found;
}
