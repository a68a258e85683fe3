/* alter.c - alters a job or an array while it waits or runs. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "core/job.h"
#include "sched/sched.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/tried.h"
#include "server/base/words.h"
#include "server/book/quotas.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/submit.h"
#include "server/life/enter/walltime.h"
#include "server/life/wait/depend.h"
#include "server/life/world/block.h"
#include "server/server.h"
#include "store/store.h"

void entry_alter(struct server *s, uint32_t id, const struct payload *p)
{
	const struct job *job = entry_job(s, id);
	const struct spec *old = entry_get(s, id)->spec;
	bool watched = entry_get(s, id)->watches;
	bool longer = entry_running(s, id) && old->walltime != p->spec->walltime;
	bool waits = job->state <= STATE_ALLOCATED, queued = job_waits(job) && asks_otherwise(old, p->spec);

	total_count(s, old, -1);
	depend_unwatch(s, id);
	if (queued)
		sched_withdraw(s->sched, id, s->clock->now);
	entry_event(s, id, EVENT_ALTER, p);
	if (queued)
		sched_readmit(s->sched, id, s->clock->now);
	if (longer)
		walltime_changed(s, id);
	total_count(s, p->spec, 1);
	if (watched)
		depend_watch(s, id);
	if (waits)
		block_begin(s, id);
}

int job_grow(struct server *s, uint32_t id, double factor, struct err *err)
{
	struct asker owner = owner_of(s, entry_get(s, id)->spec);
	struct arena *a = arena_create();
	struct trial trial = {0};
	struct submission x;

	trial_enter(s, &trial);
	int rc = alteration_grow(s, id, factor, a, &x, err);
	if (rc == 0)
		rc = alter_check(s, &owner, id, &x, false, a, err);
	trial_leave(s);
	if (rc == 0)
		rc = quotas_alter(s, id, x.spec, err);
	if (rc == 0 && asks_otherwise(entry_get(s, id)->spec, x.spec))
		entry_alter(s, id,
			    &(struct payload){.spec = x.spec,
					      .text = arena_printf(a, "memory was the cause: it now requests %s",
								   word_text(s, x.spec->resources))});
	submission_fini(&x);
	trial_end(s, &trial, rc == 0);
	arena_destroy(a);
	return rc;
}

/* Stores a change of an array as a whole. */
static void array_record(struct server *s, const struct array *a, const struct payload *p)
{
	struct store_event e = {
		.seq = s->jobs->next_seq++, .job = job_key(a->number, -1), .time = s->clock->now, .type = EVENT_ALTER};
	struct strbuf data = {0};

	payload_write(s, EVENT_ALTER, p, &data);
	e.data = data.text;
	store_put_event(s->store, &e);
	strbuf_fini(&data);
}

void array_alter(struct server *s, struct array *a, struct spec *spec, uint64_t as)
{
	array_apply(a, spec);
	array_record(s, a, &(struct payload){.spec = spec, .as = as});
}

void array_throttle(struct server *s, struct array *a, uint32_t limit, const char *who)
{
	array_limit(a, limit);
	array_record(s, a, &(struct payload){.throttled = true, .limit = limit, .who = who});
	block_array(s, a);
}
