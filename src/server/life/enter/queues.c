/* queues.c - starts and stops queues, with the consequences for their jobs; routes jobs that
 * wait in routing queues. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "core/job.h"
#include "rules/admit.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "rules/queue.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/enter/move.h"
#include "server/life/enter/queues.h"
#include "server/life/world/block.h"
#include "server/server.h"

/* Blocks or releases all jobs of a queue after it was stopped or started, or became a routing queue
 * or an execution queue, in slices. Nothing of it is stored: recovery derives the same. */
struct queue_work {
	struct work work;
	uint32_t queue; /* word of its name */
	uint32_t at;	/* jobs below are done */
	bool stops;	/* no job is started until that is complete */
};

#define SCAN 64 /* maximum jobs a step looks at */

static void queue_free(struct server *s, struct queue_work *w)
{
	s->slices->queue_works--;
	s->slices->queue_stops -= w->stops;
	s->turn->dirty = true;
	free(w);
}

static bool queue_step(struct server *s, struct work *work)
{
	struct queue_work *w = (struct queue_work *)work;
	bool stands = !queue_is_started(s, w->queue) || queue_routes(s, w->queue);

	for (int i = 0; i < SCAN && (w->at = rows_next(&s->jobs->entries, w->at)) < s->jobs->entries.n; i++) {
		uint32_t id = w->at++;
		const struct entry *e = entry_get(s, id);
		bool blocked = gate_blocks(s->gate, id) & BLOCK_QUEUE;
		if (!e->spec || e->spec->queue != w->queue || entry_ended(s, id))
			continue;
		if (!stands && blocked)
			block_clear(s, id, BLOCK_QUEUE);
		else if (stands && !blocked && entry_job(s, id)->state <= STATE_ALLOCATED)
			block_set(s, id, BLOCK_QUEUE);
		else
			continue;
		break; /* one change per step */
	}
	if (w->at < s->jobs->entries.n)
		return true;
	queue_free(s, w);
	return false;
}

static void queue_end(struct server *s, struct work *work, const char *why)
{
	queue_free(s, (struct queue_work *)work);
}

void queue_toggled(struct server *s, const struct queue *q)
{
	static const struct work_kind kind = {.step = queue_step, .stop = queue_end, .lasting = true};
	struct queue_work *w = mem_zalloc(sizeof *w);

	w->queue = word_add(s, q->name);
	w->stops = !attrs_bool(&q->attrs, SET_STARTED) || admit_routes(&q->attrs);
	s->slices->queue_works++;
	s->slices->queue_stops += w->stops;
	work_add(s, &w->work, &kind);
}

/* ---- routing queues ---- */

/* Offers jobs that wait in routing queues to their destinations, in slices, ordered by id. */
struct route_work {
	struct work work;
	size_t at;	      /* index in routed.jobs: jobs before it have been offered */
	struct spec *refused; /* last spec that no destination accepted; NULL: none */
};

static void route_free(struct server *s, struct route_work *w)
{
	s->slices->queue_works--;
	s->turn->dirty = true;
	if (w->refused)
		spec_unref(w->refused);
	free(w);
}

static bool waits_in_route(const struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);

	return e->spec && !entry_ended(s, id) && queue_routes(s, e->spec->queue);
}

/* Offers one job. Returns true if there was one to offer: elements of an array are refused
 * together. */
static bool route_one(struct server *s, struct route_work *w)
{
	uint32_t id = s->jobs->routed.jobs.v[w->at];
	struct spec *spec = entry_get(s, id)->spec;

	if (!id || !waits_in_route(s, id)) {
		s->jobs->routed.jobs.v[w->at++] = 0;
		return false;
	}
	w->at++;
	if (spec == w->refused || !queue_is_started(s, spec->queue))
		return false;
	spec->refs++;
	job_route(s, id); /* if it moves, it has another spec */
	if (entry_get(s, id)->spec == spec) {
		struct spec *before = w->refused;
		w->refused = spec;
		spec = before;
	}
	if (spec)
		spec_unref(spec);
	return true;
}

static bool route_step(struct server *s, struct work *work)
{
	struct route_work *w = (struct route_work *)work;
	struct routed *r = &s->jobs->routed;
	size_t kept = 0;

	r->beyond = rows_next(&s->jobs->entries, r->beyond);
	for (int i = 0; i < SCAN && r->beyond < s->jobs->entries.n; i++, r->beyond++)
		if (waits_in_route(s, r->beyond))
			vec_push(&r->jobs, r->beyond);
	if (r->beyond < s->jobs->entries.n)
		return true;
	for (int i = 0; i < SCAN && w->at < r->jobs.n; i++)
		if (route_one(s, w))
			break; /* one job per step */
	if (w->at < r->jobs.n)
		return true;
	for (size_t i = 0; i < r->jobs.n; i++)
		if (r->jobs.v[i])
			r->jobs.v[kept++] = r->jobs.v[i];
	r->jobs.n = kept;
	route_free(s, w);
	return false;
}

static void route_end(struct server *s, struct work *work, const char *why)
{
	route_free(s, (struct route_work *)work);
}

static int by_id(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sorts the jobs by id and removes duplicates. They are not in order, since jobs that were moved to
 * the queue are at the end of its list. */
static void routed_sort(struct routed *r)
{
	size_t kept = 0;

	if (r->jobs.n)
		qsort(r->jobs.v, r->jobs.n, sizeof *r->jobs.v, by_id);
	for (size_t i = 0; i < r->jobs.n; i++)
		if (r->jobs.v[i] && (kept == 0 || r->jobs.v[kept - 1] != r->jobs.v[i]))
			r->jobs.v[kept++] = r->jobs.v[i];
	r->jobs.n = kept;
}

static bool anyone_routed(const struct server *s)
{
	for (size_t i = 0; i < s->jobs->queues.n; i++) {
		const struct queue *q = s->jobs->queues.v[i];
		if (q->total && admit_routes(&q->attrs) && attrs_bool(&q->attrs, SET_STARTED))
			return true;
	}
	return false;
}

void queues_turn(struct server *s)
{
	static const struct work_kind kind = {.step = route_step, .stop = route_end, .lasting = true};

	if (!s->turn->route || s->turn->trouble || s->slices->queue_works)
		return;
	s->turn->route = false;
	if (!anyone_routed(s))
		return;
	routed_sort(&s->jobs->routed);
	s->slices->queue_works++;
	work_add(s, &((struct route_work *)mem_zalloc(sizeof(struct route_work)))->work, &kind);
}

void queues_route(struct server *s)
{
	s->jobs->routed.beyond = 1; /* another queue may be a routing queue now */
	s->turn->route = true;
}
