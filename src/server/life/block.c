/*
 * block.c - what keeps a waiting job from the scheduler: holds, -a, dependencies (depend.c), stopped queues, limits.
 *
 * A blocked job is held in the core; HOLD and RELEASE are events, in the store like all others. So who is eligible is remembered, while the reasons are
 * derived, here and at recovery alike: from people's holds (entry.holds), from the queue, and from other jobs.
 *
 * Limits on running jobs (of an array, of a queue, of a user) are the last gate. A job that passes it is *eligible*, and counts as one of those that run
 * until it has ended or is blocked again: as many may pass as may run. So a limit needs no place in the scheduler; the price is that an
 * eligible job which is too wide to start takes the place of a narrower one behind the limit.
 *
 * Jobs that wait at the same limits (of one array or none, of one user, in one queue) wait at one struct gate, by rank. When a limit may allow more, the
 * first of each gate is asked, in the order of rank over all gates; whether the first may pass holds for everybody behind it.
 */
#include <math.h>
#include <string.h>

#include "server/server_internal.h"

#define OFFERS 500 /* that are let through at a time */

static struct limit limit_make(int kind, uint64_t of, uint64_t in, int64_t *active, int64_t most)
{
	return (struct limit){{(uint64_t)kind, of, in}, active, most};
}

uint32_t limits_of(struct server *s, uint64_t number, const struct spec *p, struct limit ret[LIMITS_MAX])
{
	struct queue *q = queue_of(s, p->queue);
	struct array *a = array_find(s, number);
	struct tally *own, *in_queue;
	uint32_t n = 0;

	if (q)
		tally_of(s, p->owner, p->queue); /* made if new, which moves others */
	own = tally_of(s, p->owner, 0);
	in_queue = q ? tally_of(s, p->owner, p->queue) : NULL;
	ret[n++] = limit_make(1, 0, 0, &s->jobs->active, attrs_number(s->attrs, "max_running"));
	ret[n++] = limit_make(2, p->owner, 0, &own->active, attrs_number(s->attrs, "max_user_run"));
	if (a)
		ret[n++] = limit_make(3, number, 0, &a->active, a->limit ? a->limit : -1);
	if (q) {
		ret[n++] = limit_make(4, p->queue, 0, &q->active, attrs_number(&q->attrs, "max_running"));
		ret[n++] =
			limit_make(5, p->owner, p->queue, &in_queue->active, attrs_number(&q->attrs, "max_user_run"));
	}
	return n;
}

static bool limits_allow(struct server *s, uint32_t id)
{
	const struct entry *e = &s->jobs->entries.v[id];
	struct limit limits[LIMITS_MAX];
	uint32_t n = limits_of(s, job_key_number(e->key), e->spec, limits);

	for (uint32_t i = 0; i < n; i++)
		if (limits[i].most >= 0 && *limits[i].active >= limits[i].most)
			return false;
	return true;
}

static void count(struct server *s, uint32_t id, int64_t sign)
{
	struct entry *e = &s->jobs->entries.v[id];
	struct limit limits[LIMITS_MAX];
	uint32_t n = limits_of(s, job_key_number(e->key), e->spec, limits);

	e->eligible = sign > 0;
	for (uint32_t i = 0; i < n; i++)
		*limits[i].active += sign;
	if (sign < 0)
		s->turn->waiting_offers = true;
}

/* ---- gates ---- */

static int64_t rank_us(const struct server *s, uint32_t id)
{
	return llround(entry_job(s, id)->rank * 1e6);
}

static uint64_t gate_key(const struct server *s, uint32_t id)
{
	const struct entry *e = &s->jobs->entries.v[id];
	uint64_t number = job_key_number(e->key);
	uint64_t of[3] = {array_find(s, number) ? number : 0, e->spec->owner, e->spec->queue};

	return hash_bytes(of, sizeof of);
}

static struct gate *gate_find(const struct server *s, uint64_t key)
{
	uint64_t at;

	return map_get(&s->agenda->gate_index, key, &at) ? &s->agenda->gates.v[at] : NULL;
}

/* The first who still waits there. */
static bool gate_first(const struct server *s, struct gate *g, struct heap_item *ret)
{
	while (heap_peek(&g->waiting, ret)) {
		uint32_t id = (uint32_t)ret->tie;
		const struct entry *e = &s->jobs->entries.v[id];
		if (e->spec && e->block == BLOCK_LIMIT && rank_us(s, id) == ret->time && gate_key(s, id) == g->key)
			return true;
		heap_pop(&g->waiting, ret);
	}
	return false;
}

static void gate_add(struct server *s, uint32_t id)
{
	uint64_t key = gate_key(s, id);
	struct gate *g = gate_find(s, key);

	if (!g) {
		map_set(&s->agenda->gate_index, key, s->agenda->gates.n);
		vec_push(&s->agenda->gates, (struct gate){.key = key});
		g = &s->agenda->gates.v[s->agenda->gates.n - 1];
	}
	heap_push(&g->waiting, rank_us(s, id), id, 0);
}

static void gate_remove(struct server *s, size_t at)
{
	map_remove(&s->agenda->gate_index, s->agenda->gates.v[at].key);
	heap_fini(&s->agenda->gates.v[at].waiting);
	s->agenda->gates.v[at] = s->agenda->gates.v[--s->agenda->gates.n];
	if (at < s->agenda->gates.n)
		map_set(&s->agenda->gate_index, s->agenda->gates.v[at].key, at);
}

/* Others were there before. */
static bool gate_waits(struct server *s, uint32_t id)
{
	struct gate *g = s->agenda->gates.n ? gate_find(s, gate_key(s, id)) : NULL;
	struct heap_item first;

	return g && gate_first(s, g, &first);
}

/* ---- who is eligible ---- */

static void limit_wait(struct server *s, uint32_t id)
{
	s->jobs->entries.v[id].block |= BLOCK_LIMIT;
	gate_add(s, id);
	s->turn->waiting_offers = true;
}

/* Brings eligibility and the core in line with what blocks a waiting job. */
static void settle(struct server *s, uint32_t id)
{
	struct entry *e = &s->jobs->entries.v[id];
	const struct job *job = entry_job(s, id);

	if (!e->block && !e->eligible)
		count(s, id, 1);
	else if (e->block && e->eligible)
		count(s, id, -1);
	if (e->block && job_waits(job))
		sched_hold(s->sched, id, s->clock->now);
	else if (!e->block && job->state == STATE_HELD)
		sched_release(s->sched, id, s->clock->now);
	s->turn->dirty = true;
}

static void reconsider(struct server *s, uint32_t id)
{
	struct entry *e = &s->jobs->entries.v[id];

	if (!job_waits(entry_job(s, id)) && entry_job(s, id)->state != STATE_HELD)
		return;
	e->block &= (uint16_t)~BLOCK_LIMIT;
	if (!e->block && !e->eligible && (gate_waits(s, id) || !limits_allow(s, id)))
		limit_wait(s, id);
	settle(s, id);
}

void block_set(struct server *s, uint32_t id, unsigned bits)
{
	s->jobs->entries.v[id].block |= (uint16_t)bits;
	reconsider(s, id);
}

void block_clear(struct server *s, uint32_t id, unsigned bits)
{
	if (!(s->jobs->entries.v[id].block & bits))
		return;
	s->jobs->entries.v[id].block &= (uint16_t)~bits;
	reconsider(s, id);
}

void block_offer(struct server *s)
{
	struct heap firsts = {0};
	struct heap_item x;
	int n = 0;

	if (!s->turn->waiting_offers)
		return;
	for (size_t i = s->agenda->gates.n; i-- > 0;)
		if (!gate_first(s, &s->agenda->gates.v[i], &x))
			gate_remove(s, i);
	for (size_t i = 0; i < s->agenda->gates.n; i++)
		if (gate_first(s, &s->agenda->gates.v[i], &x))
			heap_push(&firsts, x.time, x.tie, i);
	while (n < OFFERS && heap_pop(&firsts, &x)) {
		struct gate *g = &s->agenda->gates.v[x.value];
		uint32_t id = (uint32_t)x.tie;
		struct heap_item next;
		if (!limits_allow(s, id))
			continue;
		s->jobs->entries.v[id].block = 0;
		settle(s, id);
		n++;
		if (gate_first(s, g, &next))
			heap_push(&firsts, next.time, next.tie, x.value);
	}
	s->turn->waiting_offers = n == OFFERS; /* more in the next turn */
	heap_fini(&firsts);
}

void block_rank(struct server *s, uint32_t id)
{
	if (s->jobs->entries.v[id].block == BLOCK_LIMIT)
		limit_wait(s, id);
}

/* Why it may not run, but for limits. DEPEND_IMPOSSIBLE: it never will, and `why` says so. */
static enum depend_state derive(struct server *s, uint32_t id, struct strbuf *why)
{
	struct entry *e = &s->jobs->entries.v[id];
	const struct spec *p = e->spec;
	const struct queue *q = queue_of(s, p->queue);
	enum depend_state state = DEPEND_SATISFIED;
	unsigned bits = e->holds;

	if (p->at > s->clock->now) {
		bits |= BLOCK_TIME;
		heap_push(&s->agenda->releases, p->at, id, 0);
	}
	if (p->request == UINT32_MAX || world_could_hold(s, p->request) != FIT_YES)
		bits |= BLOCK_MISFIT;
	if (!q || !attrs_bool(&q->attrs, "started"))
		bits |= BLOCK_QUEUE;
	if (failures_update(s, id))
		bits |= BLOCK_RETRY;
	if (p->depend) {
		depend_watch(s, id);
		state = depend_look(s, id, why);
		if (state == DEPEND_WAITING)
			bits |= BLOCK_DEPEND;
	}
	e->block = (uint16_t)bits;
	return state;
}

void block_begin(struct server *s, uint32_t id)
{
	struct strbuf why = {0};

	if (derive(s, id, &why) == DEPEND_IMPOSSIBLE)
		job_end_waiting(s, id, END_DEPEND, &(struct payload){.text = strbuf_text(&why)});
	else
		reconsider(s, id);
	strbuf_fini(&why);
}

void block_restore(struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);
	struct strbuf why = {0};

	if (job->state != STATE_HELD) {
		block_begin(s, id);
		return;
	}
	if (derive(s, id, &why) == DEPEND_IMPOSSIBLE)
		job_end_waiting(s, id, END_DEPEND, &(struct payload){.text = strbuf_text(&why)});
	else if (!s->jobs->entries.v[id]
			  .block) /* whether it may pass now is for block_offer() to say, in the order of rank */
		limit_wait(s, id);
	strbuf_fini(&why);
}

void block_leave(struct server *s, uint32_t id)
{
	if (s->jobs->entries.v[id].eligible)
		count(s, id, -1);
	s->jobs->entries.v[id].block = 0;
}

/* A job that went on to run at recovery, or after it was forced: it counts. */
void block_running(struct server *s, uint32_t id)
{
	if (!s->jobs->entries.v[id].eligible)
		count(s, id, 1);
	s->jobs->entries.v[id].block = 0;
}

/* ---- queues that are started and stopped ---- */

/* Brings all jobs of a queue in line with whether it is started, in slices. Nothing of it is kept: recovery derives the same. */
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
	free(w);
}

static bool queue_step(struct server *s, struct work *work)
{
	struct queue_work *w = (struct queue_work *)work;
	const struct queue *q = queue_of(s, w->queue);
	bool started = q && attrs_bool(&q->attrs, "started");

	for (int i = 0; i < SCAN && w->at < s->jobs->entries.n; i++) {
		uint32_t id = w->at++;
		const struct entry *e = &s->jobs->entries.v[id];
		if (!e->spec || e->spec->queue != w->queue || entry_ended(s, id))
			continue;
		if (started && e->block & BLOCK_QUEUE)
			block_clear(s, id, BLOCK_QUEUE);
		else if (!started && !(e->block & BLOCK_QUEUE) && entry_job(s, id)->state <= STATE_ALLOCATED)
			block_set(s, id, BLOCK_QUEUE);
		else
			continue;
		break; /* that was a step's worth */
	}
	if (w->at < s->jobs->entries.n)
		return true;
	s->turn->waiting_offers = true;
	queue_free(s, w);
	return false;
}

static void queue_pause(struct server *s, struct work *work)
{
}

static void queue_end(struct server *s, struct work *work, const char *why)
{
	queue_free(s, (struct queue_work *)work);
}

void block_queue(struct server *s, const struct queue *q)
{
	static const struct work_kind kind = {queue_step, queue_pause, queue_end, .reads = false, .lasting = true};
	struct queue_work *w = mem_zalloc(sizeof *w);

	w->queue = word_add(s, q->name);
	w->stops = !attrs_bool(&q->attrs, "started");
	s->slices->queue_works++;
	s->slices->queue_stops += w->stops;
	work_add(s, &w->work, &kind);
}

/* ---- arrays of which fewer elements may run at once ---- */

/* Of those that wait and were let pass, the last ones are held back again, in slices; recovery goes on with it. */
struct array_work {
	struct work work;
	uint64_t number;
	uint32_t left; /* elements that were not looked at */
};

static void array_work_end(struct server *s, struct work *work, const char *why)
{
	s->slices->queue_works--;
	s->slices->queue_stops--;
	s->turn->dirty = true;
	free(work);
}

static bool array_step(struct server *s, struct work *work)
{
	struct array_work *w = (struct array_work *)work;
	const struct array *a = array_find(s, w->number);
	bool over = a && a->limit && a->active > a->limit;

	for (int i = 0; i < SCAN && w->left && over; i++) {
		uint32_t id = a->first + --w->left;
		if (!s->jobs->entries.v[id].spec || !s->jobs->entries.v[id].eligible || !job_waits(entry_job(s, id)))
			continue;
		limit_wait(s, id);
		settle(s, id);
		break; /* that was a step's worth */
	}
	if (over && w->left)
		return true;
	array_work_end(s, work, NULL);
	return false;
}

void block_array(struct server *s, const struct array *a)
{
	static const struct work_kind kind = {array_step, queue_pause, array_work_end, .reads = false, .lasting = true};
	struct array_work *w;

	s->turn->waiting_offers = true;
	s->turn->dirty = true;
	if (!a->limit || a->active <= a->limit)
		return;
	w = mem_zalloc(sizeof *w);
	*w = (struct array_work){.number = a->number, .left = a->count};
	s->slices->queue_works++;
	s->slices->queue_stops++; /* nothing is started until that is complete */
	work_add(s, &w->work, &kind);
}

void block_due(struct server *s)
{
	struct heap_item x;

	while (heap_peek(&s->agenda->releases, &x) && x.time <= s->clock->now) {
		uint32_t id = (uint32_t)x.tie;
		heap_pop(&s->agenda->releases, &x);
		if (s->jobs->entries.v[id].spec && s->jobs->entries.v[id].spec->at <= s->clock->now)
			block_clear(s, id, BLOCK_TIME);
	}
}
