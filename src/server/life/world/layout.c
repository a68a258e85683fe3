/*
 * layout.c - see layout.h.
 */
#include "server/life/world/layout.h"

#include <errno.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "core/job.h"
#include "plan/plan.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/job/jobs.h"
#include "server/life/world/world.h"
#include "server/server.h"

/* Returns the first of the nodes that a job has in the plan, including those it only keeps other
 * jobs from; NODE_ANY: none. */
static int32_t node_held(const struct server *s, uint32_t id, const bool *nodes)
{
	const struct cluster *c = s->cluster;
	bool whole = cluster_job_request(c, entry_job(s, id))->whole == WHOLE_HOST;

	for (uint32_t i = 0; plan_holds(s->plan, id) && i < plan_hold(s->plan, id)->nfrags; i++) {
		int32_t first = plan_place(s->plan, id, i)->node, n = first;
		do {
			if (nodes[n])
				return n;
			n = c->nodes.v[n].peer;
		} while (whole && n != first);
	}
	return NODE_ANY;
}

int layout_check(struct server *s, const bool *nodes, struct err *err)
{
	JOBS_EACH(s, id) {
		struct strbuf name = {0};
		int32_t n;
		if (!entry_get(s, id)->spec || entry_ended(s, id) || entry_job(s, id)->state < STATE_NOW)
			continue;
		n = node_held(s, id, nodes);
		if (n == NODE_ANY)
			continue;
		entry_id(s, id, &name);
		err_code(
			err, CODE_BAD_STATE,
			"job %.60s runs on node %.60s: wait until it has ended, or delete it ('shunt nodes offline' keeps other jobs off the nodes)",
			strbuf_text(&name), names_get(&s->cluster->node_names, (uint32_t)n));
		strbuf_fini(&name);
		return -EINVAL;
	}
	return 0;
}

void layout_change(struct server *s, const bool *nodes)
{
	JOBS_EACH(s, id) {
		if (!entry_get(s, id)->spec || !job_waits(entry_job(s, id)) || node_held(s, id, nodes) == NODE_ANY)
			continue;
		sched_withdraw(s->sched, id, s->clock->now);
		sched_readmit(s->sched, id, s->clock->now);
	}
	world_changed(s);
}
