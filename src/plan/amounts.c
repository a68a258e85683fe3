/*
 * amounts.c - what the whole site has of something (licences, power), as a timeline each: what is
 * free, what fences keep of it, and when a job's portions fit.
 */
#include <assert.h>

#include "plan/fence.h"
#include "plan/plan.h"

void plan_set_amount(struct plan *p, uint32_t amount)
{
	const struct amount *a = &p->cluster->amounts.v[amount];
	struct res more = {.v = {a->total - a->elsewhere}};
	struct timeline line;

	assert(!p->depth);
	while (p->amount.n <= amount) {
		timeline_init(&line, 1, &(struct res){0});
		vec_push(&p->amount, line);
		vec_push(&p->amount_total, 0);
	}
	more.v[0] -= p->amount_total.v[amount];
	p->amount_total.v[amount] += more.v[0];
	timeline_change(&p->amount.v[amount], TIME_BEGIN, TIME_NEVER, &more, 1);
	for (size_t i = 0; i < p->kept.n; i++)
		if (p->kept.v[i].amount == amount)
			timeline_change(&p->kept.v[i].room, TIME_BEGIN, TIME_NEVER, &more, 1);
	p->version++;
}

int64_t plan_amount_free(const struct plan *p, uint32_t amount, int64_t start, int64_t end)
{
	struct res least;

	timeline_least(&p->amount.v[amount], start, end, &least);
	return least.v[0];
}

/* Returns true if `k` keeps units of the amount from the job within [start, end). Lifted fences
 * keep nothing. */
static bool kept_from(const struct plan *p, uint32_t job, uint32_t amount, int64_t start, int64_t end,
		      const struct kept_amount *k)
{
	return p->edges.n && k->amount == amount && k->fence.start < end && k->fence.end > start &&
	       !plan_has_key(p, cluster_job(p->cluster, job)->keys, k->fence.id);
}

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t plan_amount_open(const struct plan *p, uint32_t job, uint32_t amount, int64_t start, int64_t end,
			 const struct kept_amount **ret)
{
	int64_t free = plan_amount_free(p, amount, start, end);

	if (ret)
		*ret = NULL;
	for (size_t i = 0; i < p->kept.n; i++) {
		const struct kept_amount *k = &p->kept.v[i];
		struct res least;
		if (!kept_from(p, job, amount, start, end, k))
			continue;
		timeline_least(&k->room, max_of(start, k->fence.start), min_of(end, k->fence.end), &least);
		if (least.v[0] >= free)
			continue;
		free = least.v[0];
		if (ret)
			*ret = k;
	}
	return free;
}

bool plan_amounts_fit(const struct plan *p, uint32_t job, int64_t start, int64_t end)
{
	const struct request *r = cluster_job_request(p->cluster, cluster_job(p->cluster, job));

	for (uint32_t i = 0; i < r->nportions; i++) {
		struct res need = {.v = {r->portion[i].count}};
		if (!timeline_fits(&p->amount.v[r->portion[i].amount], start, end, &need) ||
		    (p->kept.n &&
		     plan_amount_open(p, job, r->portion[i].amount, start, end, NULL) < r->portion[i].count))
			return false;
	}
	return true;
}

/* Returns the first instant >= from at which kept amounts leave the job enough: a step of the
 * room, or the end of the interval. */
static int64_t kept_earliest(const struct plan *p, uint32_t job, const struct portion *x, int64_t from, int64_t length)
{
	struct res need = {.v = {x->count}};

	for (size_t i = 0; i < p->kept.n; i++) {
		const struct kept_amount *k = &p->kept.v[i];
		struct walk w = timeline_walk(&k->room, max_of(from, k->fence.start));
		int64_t at = from;
		while (kept_from(p, job, x->amount, at, at + length, k) &&
		       !timeline_fits(&k->room, max_of(at, k->fence.start), min_of(at + length, k->fence.end), &need))
			at = walk_next(&w) && w.step[0] < k->fence.end ? w.step[0] : k->fence.end;
		if (at == TIME_NEVER)
			return at;
		if (at != from) {
			from = at;
			i = (size_t)-1; /* earlier ones may be in the way at the new instant */
		}
	}
	return from;
}

int64_t plan_amounts_earliest(const struct plan *p, uint32_t job, int64_t from, int64_t length)
{
	const struct request *r = cluster_job_request(p->cluster, cluster_job(p->cluster, job));

	for (uint32_t i = 0, settled = 0; settled < r->nportions && from != TIME_NEVER; i = (i + 1) % r->nportions) {
		struct res need = {.v = {r->portion[i].count}};
		int64_t at = timeline_earliest(&p->amount.v[r->portion[i].amount], from, length, &need);
		if (p->kept.n && at != TIME_NEVER)
			at = kept_earliest(p, job, &r->portion[i], at, length);
		settled = at == from ? settled + 1 : 1;
		from = at;
	}
	return from;
}
