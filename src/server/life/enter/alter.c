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

void array_alter(struct server *s, struct array *a, struct spec *spec, uint64_t as)
{
	struct payload p = {.spec = spec, .as = as};
	struct store_event e = {
		.seq = s->jobs->next_seq++, .job = job_key(a->number, -1), .time = s->clock->now, .type = EVENT_ALTER};
	struct strbuf data = {0};

	array_apply(a, spec);
	payload_write(s, EVENT_ALTER, &p, &data);
	e.data = data.text;
	store_put_event(s->store, &e);
	strbuf_fini(&data);
}

void array_throttle(struct server *s, struct array *a, uint32_t limit, const char *who)
{
	struct payload p = {.throttled = true, .limit = limit, .who = who};
	struct store_event e = {
		.seq = s->jobs->next_seq++, .job = job_key(a->number, -1), .time = s->clock->now, .type = EVENT_ALTER};
	struct strbuf data = {0};

	array_limit(a, limit);
	payload_write(s, EVENT_ALTER, &p, &data);
	e.data = data.text;
	store_put_event(s->store, &e);
	strbuf_fini(&data);
	block_array(s, a);
}
