/*
 * queues.c - queues that are started and stopped, and what that means for the jobs in them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
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
#include "server/life/block.h"
#include "server/life/move.h"
#include "server/life/queues.h"
#include "server/server.h"

/* Brings all jobs of a queue in line with whether it is started, in slices; those of a routing queue are passed on. Nothing of it is kept: recovery derives the same. */
struct queue_work {
	struct work work;
	uint32_t queue; /* the word of its name */
	uint32_t at;	/* jobs before it are done */
	bool stops;	/* nothing is started until that is complete */
};

#define SCAN 64 /* jobs that a step looks at */

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
	const struct queue *q = queue_of(s, w->queue);
	bool started = queue_is_started(s, w->queue), routes = q && admit_routes(&q->attrs);

	for (int i = 0; i < SCAN && w->at < s->jobs->entries.n; i++) {
		uint32_t id = w->at++;
		const struct entry *e = &s->jobs->entries.v[id];
		bool blocked = gate_blocks(s->gate, id) & BLOCK_QUEUE;
		if (!e->spec || e->spec->queue != w->queue || entry_ended(s, id))
			continue;
		if (started && routes)
			job_route(s, id);
		else if (started && blocked)
			block_clear(s, id, BLOCK_QUEUE);
		else if (!started && !blocked && entry_job(s, id)->state <= STATE_ALLOCATED)
			block_set(s, id, BLOCK_QUEUE);
		else
			continue;
		break; /* that was a step's worth */
	}
	if (w->at < s->jobs->entries.n)
		return true;
	queue_free(s, w);
	return false;
}

static void work_pause(struct server *s, struct work *work)
{
}

static void queue_end(struct server *s, struct work *work, const char *why)
{
	queue_free(s, (struct queue_work *)work);
}

void queue_toggled(struct server *s, const struct queue *q)
{
	static const struct work_kind kind = {queue_step, work_pause, queue_end, .reads = false, .lasting = true};
	struct queue_work *w = mem_zalloc(sizeof *w);

	w->queue = word_add(s, q->name);
	w->stops = !attrs_bool(&q->attrs, "started");
	s->slices->queue_works++;
	s->slices->queue_stops += w->stops;
	work_add(s, &w->work, &kind);
}

void queues_turn(struct server *s)
{
	if (s->turn->route && !s->turn->trouble && !s->slices->queue_works)
		queues_route(s);
}

void queues_route(struct server *s)
{
	s->turn->route = false;
	for (size_t i = 0; i < s->jobs->queues.n; i++) {
		const struct queue *q = s->jobs->queues.v[i];
		if (q->total && admit_routes(&q->attrs) && attrs_bool(&q->attrs, "started"))
			queue_toggled(s, q);
	}
}
