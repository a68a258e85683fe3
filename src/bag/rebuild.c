/*
 * rebuild.c - places the jobs of a queue in a plan.
 */
#include "bag/rebuild.h"

#include "bag/adapter_internal.h"

void rebuild_node(struct rebuild *r, const struct provider_node *n)
{
	if (n->cpus < 1)
		return;
	for (size_t i = r->nodes.n; i-- > 0;) {
		const struct provider_node *k = &r->nodes.v[i];
		if (k->cpus >= n->cpus && k->gpus >= n->gpus && k->memory >= n->memory)
			return;
		if (k->cpus <= n->cpus && k->gpus <= n->gpus && k->memory <= n->memory)
			vec_remove(&r->nodes, i);
	}
	vec_push(&r->nodes, *n);
}

void rebuild_clear(struct rebuild *r)
{
	vec_clear(&r->nodes);
	r->processors = r->queued = 0;
	vec_clear(&r->jobs);
	vec_clear(&r->free);
	vec_clear(&r->places.nodes);
	vec_clear(&r->places.pieces);
}

void rebuild_fini(struct rebuild *r)
{
	vec_free(&r->nodes);
	vec_free(&r->jobs);
	vec_free(&r->free);
	vec_free(&r->places.nodes);
	vec_free(&r->places.pieces);
}

void rebuild_plan(struct rebuild *r, int64_t now, int64_t margin)
{
	span_vec s = {0};
	int64_t end;

	vec_push(&s, (struct adapter_span){now, TIME_NEVER, most(0, r->processors)});
	r->queued = 0;
	/* a job past its end is assumed to run a little longer */
	for (size_t i = 0; i < r->jobs.n; i++)
		if (r->jobs.v[i].running)
			holes_take(&s, now, most(r->jobs.v[i].end, now + 60), r->jobs.v[i].processors);
	for (size_t i = 0; i < r->jobs.n; i++) {
		struct rebuild_job *j = &r->jobs.v[i];
		if (j->running)
			continue;
		if (++r->queued > REBUILD_WAITING)
			continue;
		if (j->start < now)
			j->start = holes_earliest(&s, j->processors, j->seconds, &end);
		if (j->start == TIME_NEVER) /* it waits for something else */
			j->start = 0;
		else
			holes_take(&s, j->start, j->start + j->seconds, j->processors);
	}
	for (size_t i = 0, n = 0; i < r->jobs.n; i++) {
		const struct rebuild_job *j = &r->jobs.v[i];
		if (!j->running && ++n <= REBUILD_WAITING && j->start > now)
			holes_take(&s, most(now, j->start - margin), j->start, j->processors);
	}
	vec_clear(&r->free);
	for (size_t i = 0; i < s.n; i++)
		vec_push(&r->free, s.v[i]);
	vec_free(&s);
}
