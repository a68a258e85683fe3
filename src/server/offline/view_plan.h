/*
 * view_plan.h - how long the machine is in use, as the last line of a view (view.h). While the
 * server is down, commands use it to predict when a newly submitted job would start
 * (client/offline_foresee.c). It names no jobs and no users, so it is the same in all views.
 *
 *	{"plan": {"shared": 16, "queue": "batch", "walltime": 3600, "walltimes": {"long": 86400},
 *	          "after": 1790000000,
 *	          "pools": [{"partition": null, "runs": [[1790000000, 4], [1790003600, 0]],
 *	                     "waits": []}, ...]}}
 *
 * A pool is a partition, or all shared nodes together. Each pair is an instant and the CPUs in use
 * from then on (for a partition 1 or 0): `runs` by running jobs, `waits` by waiting jobs where they
 * are expected to run. With very many jobs the plan overstates rather than understates use.
 * `after`: start of the last job that is not counted; 0: all are.
 */
#ifndef SERVER_VIEW_PLAN_H
#define SERVER_VIEW_PLAN_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct server;
struct strbuf;

struct in_use {
	uint32_t pool; /* a partition's index plus one; 0: shared nodes */
	int64_t amount, start, end;
};

/* Empty if {0}. */
struct view_plan {
	VEC(struct in_use) runs, waits;
	struct map nodes; /* waiting job -> node where its first fragment is expected, plus one */
	int64_t after;
};

void view_plan_begin(const struct server *s, struct view_plan *p);
void view_plan_add(const struct server *s, struct view_plan *p, uint32_t id); /* adds a job */
void view_plan_write(const struct server *s, struct view_plan *p, struct strbuf *out);
void view_plan_fini(struct view_plan *p);

#endif
