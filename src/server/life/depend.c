/*
 * depend.c - who depends on whom, so that a job is not forgotten while its end matters to another.
 */
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "core/depend.h"
#include "plan/plan.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/depend.h"
#include "server/server.h"

void depend_watch(struct server *s, uint32_t id)
{
	struct depends d = {0};

	if (depends_parse(s->jobs->entries.v[id].spec->depend, &d, NULL) < 0)
		return;
	for (uint32_t i = 0; i < d.n; i++)
		for (uint32_t k = 0; k < d.v[i].nids; k++) {
			uint64_t *at = map_at(&s->jobs->dependents, d.v[i].id[k].number);
			if (*at == 0) {
				vec_push(&s->jobs->dependent_lists, (job_vec){0});
				*at = s->jobs->dependent_lists.n;
			}
			vec_push(&s->jobs->dependent_lists.v[*at - 1], id);
		}
	depends_fini(&d);
}
