/*
 * priority.c - see priority.h.
 */
#include "server/life/priority.h"

#include "server/book/sharing.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/world.h"
#include "server/server.h"

void job_prioritized(struct server *s, uint32_t id, const struct priority_settings *x, struct prioritized *ret)
{
	const struct spec *p = s->jobs->entries.v[id].spec; /* NULL: what-if */

	prioritized_of(ret, s->cluster, entry_job(s, id));
	if (p && x->weight[FACTOR_FAIRSHARE] != 0)
		ret->fairshare = sharing_standing(s, p);
	if (x->weight[FACTOR_QUEUE] == 0)
		return;

	const struct queue *q = p ? queue_of(s, p->queue) : NULL;
	if (q)
		ret->queue = attrs_number(&q->attrs, "priority");
}

double job_priority(void *context, uint32_t id, int64_t now)
{
	struct server *s = context;
	struct prioritized job;
	struct weighing w;

	job_prioritized(s, id, &s->world->priority, &job);
	priority_weigh(&s->world->priority, &job, now, &w);
	return w.priority;
}

void priority_prepare(void *context, int64_t now)
{
	struct server *s = context;

	if (s->world->priority.weight[FACTOR_FAIRSHARE] != 0)
		sharing_rank(s);
}

bool priority_rules(const struct server *s)
{
	return s->world->priority.order != PRIORITY_POLICY && !s->world->policy.position;
}
