/*
 * shares.c - see shares.h.
 */
#include "server/life/world/shares.h"

#include <stdint.h>

#include "core/cluster.h"
#include "rules/libra.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/job/spec.h"
#include "server/life/world/world.h"
#include "server/server.h"

#define LOOK_WORK 200000 /* maximum nodes the search looks at */

/* Computes the job's share; returns false if it cannot be divided. */
static bool part_of(struct server *s, const struct spec *p, struct libra_part *ret, uint32_t *ret_request)
{
	if (!p->rare->libra.estimate || p->rare->share || p->request == UINT32_MAX || s->world->policy.position ||
	    !shares_offered(s))
		return false;
	if (!libra_divide(&p->rare->libra, request_cpus(&s->cluster->requests.v[p->request]), ret))
		return false;
	*ret_request = cluster_request_divided(s->cluster, p->request, ret->share);
	return *ret_request != UINT32_MAX;
}

bool shares_could(struct server *s, const struct spec *p)
{
	struct libra_part part;
	struct spec x = *p;

	return part_of(s, p, &part, &x.request) && world_could_hold_on(s, &x, x.allowed) == FIT_YES;
}

void shares_choose(struct server *s, struct spec *p)
{
	uint32_t before = p->request, request;
	int64_t until = p->deadline;
	struct libra_part part;

	if (!part_of(s, p, &part, &request))
		return;
	p->request = request;
	p->walltime = part.walltime;
	spec_rare(p)->share = part.share;
	world_scratch(s, p);
	if (sched_would_keep(s->sched, s->world->scratch, s->clock->now, LOOK_WORK, &until) == KEEP_YES)
		return;
	p->request = before;
	p->walltime = p->rare->libra.estimate;
	spec_rare(p)->share = 0;
}
