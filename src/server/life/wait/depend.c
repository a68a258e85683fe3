/* depend.c - counts dependents, so that a job is not forgotten while its end matters to another. */
#include <stdint.h>
#include <string.h>

#include "base/map.h"
#include "core/depend.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/depend.h"
#include "server/server.h"
#include "store/history.h"

struct past {
	const char *user; /* user whose job counts; NULL: any user */
	struct depend_fate fate;
	int64_t rows;
};

static int past_add(void *context, const struct history_row *row)
{
	struct past *p = context;

	if (!row->last || row->id || (p->user && strcmp(p->user, row->user) != 0))
		return 0;
	depend_fate_add(&p->fate, &(struct depend_fate){
					  .started = row->started > 0, .ended = true, .status = (int)row->exit_status});
	p->rows++;
	return 0;
}

/* Reads by key on the server's own connection, which is as fast as reading a script. */
struct depend_fate depend_past_of(const struct server *s, const struct jobid *id, const char *user)
{
	struct past p = {.user = user, .fate = DEPEND_FATE_NONE};
	int rc = history_job(s->store, job_key(id->number, id->kind == JOBID_ELEMENT ? id->index : -1), past_add, &p,
			     NULL);

	return rc == 0 && p.rows > 0 ? p.fate : (struct depend_fate){.gone = true};
}

struct depend_fate depend_past(void *context, const struct jobid *id)
{
	return depend_past_of(context, id, NULL);
}

/* Adds `change` to the count of each job that a text names. */
static void dependents_count(struct server *s, const char *depend, int change)
{
	struct depends d = {0};

	if (depends_parse(depend, &d, NULL) < 0)
		return;
	for (uint32_t i = 0; i < d.n; i++)
		for (uint32_t k = 0; k < d.v[i].nids; k++) {
			uint64_t *n = map_at(&s->jobs->dependents, d.v[i].id[k].number);
			*n += (uint64_t)(int64_t)change;
			s->jobs->related += change;
			if (*n == 0)
				map_remove(&s->jobs->dependents, d.v[i].id[k].number);
		}
	depends_fini(&d);
}

void depend_watch(struct server *s, uint32_t id)
{
	struct entry *e = entry_get(s, id);

	if (e->watches || !e->spec->depend)
		return;
	e->watches = true;
	if (e->spec->watchers++ == 0)
		dependents_count(s, e->spec->depend, 1);
}

void depend_unwatch(struct server *s, uint32_t id)
{
	struct entry *e = entry_get(s, id);

	if (!e->watches)
		return;
	e->watches = false;
	if (--e->spec->watchers == 0)
		dependents_count(s, e->spec->depend, -1);
}
