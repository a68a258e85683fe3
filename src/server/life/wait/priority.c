/*
 * priority.c - see priority.h.
 */
#include "server/life/wait/priority.h"

#include "rules/object.h"
#include "sched/sched.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/book/sharing.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/state.h"
#include "server/life/wait/foresee.h"
#include "server/life/wait/hookrank.h"
#include "server/server.h"

#define PARTY_ZERO (UINT64_C(1) << 62)

/* Returns the priority set for a user, group, account or QoS; name 0: none. Values are cached: a
 * queue has 100,000 jobs of some hundred parties. */
static int64_t party_priority(struct server *s, enum object_kind kind, uint32_t name)
{
	uint64_t *known;

	if (!name)
		return 0;
	known = map_at(&s->world->parties, (uint64_t)kind << 32 | name);
	if (!*known)
		*known = PARTY_ZERO + (uint64_t)objects_number(s->objects, kind, word_text(s, name), SET_PRIORITY, 0);
	return (int64_t)(*known - PARTY_ZERO);
}

void priority_parties(struct server *s)
{
	map_fini(&s->world->parties);
	sched_reweigh(s->sched, priority_drifts(&s->world->priority));
	foresee_again(s);
	s->turn->dirty = true;
}

void job_prioritized(struct server *s, uint32_t id, const struct priority_settings *x, struct prioritized *ret)
{
	const struct spec *p = entry_get(s, id)->spec; /* NULL: what-if */

	prioritized_of(ret, s->cluster, entry_job(s, id));
	if (p && x->weight[FACTOR_FAIRSHARE] != 0)
		ret->fairshare = sharing_standing(s, p);
	if (p && x->weight[FACTOR_USER] != 0)
		ret->user = party_priority(s, OBJECT_USER, p->owner);
	if (p && x->weight[FACTOR_GROUP] != 0)
		ret->group = party_priority(s, OBJECT_GROUP, p->group);
	if (p && x->weight[FACTOR_ACCOUNT] != 0)
		ret->account = party_priority(s, OBJECT_ACCOUNT, p->account);
	if (p && x->weight[FACTOR_QOS] != 0)
		ret->qos = party_priority(s, OBJECT_QOS, p->qos);
	if (p && x->weight[FACTOR_HOOK] != 0)
		ret->hook = hookrank_value(s, id);
	if (p && x->weight[FACTOR_QUEUE] != 0) {
		const struct queue *q = queue_of(s, p->queue);
		ret->queue = q ? attrs_number(&q->attrs, SET_PRIORITY) : 0;
	}
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
