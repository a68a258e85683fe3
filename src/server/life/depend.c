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
#include "store/history.h"

struct past {
	struct depend_fate fate;
	int64_t rows;
};

static int past_add(void *context, const struct history_row *row)
{
	struct past *p = context;

	if (!row->last || row->id)
		return 0;
	depend_fate_add(&p->fate, &(struct depend_fate){
					  .started = row->started > 0, .ended = true, .status = (int)row->exit_status});
	p->rows++;
	return 0;
}

/* By its key, on the server's own connection: as fast as a script is read. */
struct depend_fate depend_past(void *context, const struct jobid *id)
{
	const struct server *s = context;
	struct past p = {.fate = DEPEND_FATE_NONE};
	int rc = history_job(s->store, job_key(id->number, id->kind == JOBID_ELEMENT ? id->index : -1), past_add, &p,
			     NULL);

	return rc == 0 && p.rows > 0 ? p.fate : (struct depend_fate){.gone = true};
}

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
