/* alter.c - alters a job or an array while it waits or runs. */
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "core/job.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/enter/walltime.h"
#include "server/life/wait/depend.h"
#include "server/life/world/block.h"
#include "server/server.h"
#include "store/store.h"

void entry_alter(struct server *s, uint32_t id, const struct payload *p)
{
	const struct job *job = entry_job(s, id);
	const struct spec *old = s->jobs->entries.v[id].spec;
	bool watched = s->jobs->entries.v[id].watches;
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
