/*
 * sched.c - receives and emits events, and keeps queues, plan and history consistent with the jobs.
 */
#include "sched/sched.h"

#include "plan/booking.h"
#include "sched/sched_internal.h"

struct sched *sched_create(struct cluster *c, struct plan *p, const struct policy *policy)
{
	struct sched *s = mem_zalloc(sizeof *s);

	s->c = c;
	s->p = p;
	s->policy = policy;
	s->head = s->effort.search.job = JOB_NONE;
	s->next_planned = s->fences.next_edge = s->moves.at = s->outage.begin = TIME_NEVER;
	s->plain = (struct manner){
		.push_depth = policy->push_depth,
		.alloc = policy->alloc,
		.scatter = policy->scatter,
	};
	s->starving = policy->starve != STARVE_NOTHING && c->settings.starve_after >= 0 &&
		      c->settings.starve_after != TIME_NEVER;
	s->order = policy->order;
	s->backfill = policy->backfill;
	trail_follow(&p->trail, policy->position && p->nnodes > 1);
	s->due.dates = policy->order == ORDER_DUE && c->settings.starve_after == STARVE_AUTO;
	if (s->due.dates && policy->wide != WIDE_RARE)
		s->due.shadow = shadow_create();
	due_tune(s);
	if (policy->order == ORDER_DUE && !s->due.dates)
		s->order = s->backfill = ORDER_WEIGHT; /* the site limits waiting: within that bound, lightest first */
	return s;
}

struct sched *sched_clone(const struct sched *s, struct cluster *c, struct plan *p, struct scratch *scratch)
{
	struct sched *t = mem_alloc(sizeof *t);

	*t = *s;
	t->c = c;
	t->p = p;
	t->ears.listener = NULL;
	t->ears.on_blocked = NULL;
	t->ears.yield = NULL;
	t->ears.marks = NULL;
	if (s->open.word) {
		t->open.word = mem_alloc(s->open.nwords * sizeof *t->open.word);
		memcpy(t->open.word, s->open.word, s->open.nwords * sizeof *t->open.word);
		t->plain.on = s->plain.on ? &t->open : NULL;
	}
	t->limits = s->limits ? limits_clone(s->limits) : NULL;
	t->own_limits = true;
	line_copy(&t->line, &s->line, scratch);
	vec_copy(&t->line.spare, &s->line.spare);
	vec_copy(&t->line.patience, &s->line.patience);
	vec_copy(&t->special, &s->special);
	vec_copy(&t->victims, &s->victims);
	vec_copy(&t->lost, &s->lost);
	vec_copy(&t->position.restarts, &s->position.restarts);
	t->position.nights = t->position.slices = (struct heap){0}; /* see nights.c, slices.c */
	memset(&t->position.over, 0, sizeof t->position.over);
	vec_copy(&t->line.fresh, &s->line.fresh);
	vec_copy(&t->line.came, &s->line.came);
	vec_copy(&t->newcomers, &s->newcomers);
	vec_copy(&t->starting, &s->starting);
	vec_copy(&t->moves.made, &s->moves.made);
	vec_copy(&t->reserved, &s->reserved);
	vec_copy(&t->fences.begun, &s->fences.begun);
	vec_copy(&t->failures, &s->failures);
	vec_copy(&t->sweep.nowhere, &s->sweep.nowhere);
	vec_copy(&t->line.wide, &s->line.wide);
	vec_copy(&t->nodes, &s->nodes);
	vec_copy(&t->expiry, &s->expiry);
	map_copy(&t->due.pred, &s->due.pred);
	t->due.shadow = NULL; /* a copy keeps the rule that its original had */
	map_copy(&t->effort.tried, &s->effort.tried);
	map_copy(&t->history.last, &s->history.last);
	vec_copy(&t->history.pairs, &s->history.pairs);
	return t;
}

void sched_destroy(struct sched *s)
{
	if (!s)
		return;
	free(s->open.word);
	line_free(&s->line);
	vec_free(&s->line.spare);
	heap_fini(&s->line.patience);
	vec_free(&s->special);
	vec_free(&s->victims);
	vec_free(&s->lost);
	vec_free(&s->position.restarts);
	heap_fini(&s->position.nights);
	heap_fini(&s->position.slices);
	vec_free(&s->position.over);
	vec_free(&s->line.fresh);
	vec_free(&s->line.came);
	vec_free(&s->newcomers);
	vec_free(&s->starting);
	vec_free(&s->moves.made);
	vec_free(&s->reserved);
	vec_free(&s->fences.begun);
	vec_free(&s->failures);
	vec_free(&s->sweep.nowhere);
	map_fini(&s->due.pred);
	shadow_destroy(s->due.shadow);
	map_fini(&s->effort.tried);
	vec_free(&s->line.wide);
	vec_free(&s->nodes);
	history_fini(&s->history);
	heap_fini(&s->expiry);
	if (s->own_limits)
		limits_destroy(s->limits);
	free(s);
}

void sched_on_delay(struct sched *s, sched_delay delay, void *context)
{
	s->ears.delay = delay;
	s->ears.delay_context = context;
}

void sched_on_move(struct sched *s, sched_move move, void *context)
{
	s->ears.move = move;
	s->ears.move_context = context;
}

void sched_on_weigh(struct sched *s, sched_weigh weigh, sched_prepare prepare, bool drifts, void *context)
{
	s->line.drifts = drifts;
	s->ears.weigh = weigh;
	s->ears.prepare = prepare;
	s->ears.weigh_context = context;
	s->order = ORDER_PRIORITY;
	s->due.dates = false;
	shadow_destroy(s->due.shadow); /* nothing would let its time pass */
	s->due.shadow = NULL;
	if (s->backfill != ORDER_NONE && s->backfill != ORDER_LARGEST)
		s->backfill = ORDER_PRIORITY;
}

void sched_reweigh(struct sched *s, bool drifts)
{
	s->line.drifts = drifts;
	s->line.reweigh = s->order == ORDER_PRIORITY;
}

void sched_limit(struct sched *s, struct limits *limits)
{
	s->limits = limits;
	limits_clear(limits);
}

void sched_listen(struct sched *s, sched_listener listener, void *context)
{
	s->ears.listener = listener;
	s->ears.context = context;
}

void sched_watch(struct sched *s, struct marks *marks)
{
	s->ears.marks = marks;
}

void sched_on_blocked(struct sched *s, sched_blocked blocked, void *context)
{
	s->ears.on_blocked = blocked;
	s->ears.blocked_context = context;
}

const struct sched_stats *sched_stats(const struct sched *s)
{
	return &s->stats;
}

size_t sched_waiting(const struct sched *s)
{
	return queue_size(s) + s->special.n;
}

/* Gives back what a job holds in the plan. */
static void sched_free(struct sched *s, uint32_t job)
{
	if (plan_holds(s->p, job)) {
		int64_t end = plan_piece(s->p, job, 0)->end;
		if (end > s->dirty)
			s->dirty = end;
		plan_take_job(s->p, job);
		s->freed = s->stirred = true;
		s->effort.freeings++;
	}
}

void sched_submit(struct sched *s, uint32_t job, int64_t when)
{
	int64_t now;

	if (when > s->now)
		sched_at(s, when);
	now = s->now;
	s->now = when; /* the event has the time of the submission */
	cluster_job(s->c, job)->waiting = WAITING_NONE;
	sched_emit(s, EVENT_SUBMIT, job, 0, JOB_NONE);
	s->now = now;
}

void sched_started(struct sched *s, uint32_t job, int64_t now)
{
	sched_at(s, now);
	sched_emit(s, EVENT_STARTED, job, 0, JOB_NONE);
}

void sched_start_failed(struct sched *s, uint32_t job, int64_t now, const void *detail)
{
	sched_at(s, now);
	sched_free(s, job);
	sched_emit_detail(s, EVENT_START_FAILED, job, 0, JOB_NONE, detail);
}

void sched_finish(struct sched *s, uint32_t id, int64_t now, const void *detail)
{
	const struct job *job = cluster_job(s->c, id);

	sched_at(s, now);
	history_finish(s, job);
	sched_free(s, id);
	sched_emit_detail(s, EVENT_FINISH, id, 0, JOB_NONE, detail);
}

void sched_requeue(struct sched *s, uint32_t job, int64_t now, const void *detail)
{
	sched_at(s, now);
	sched_free(s, job);
	sched_emit_detail(s, EVENT_PREEMPT, job, 0, JOB_NONE, detail);
}

/* Returns the one of two reserved jobs that loses its place first: one without a guarantee, then
 * the younger. Either may be JOB_NONE. */
static uint32_t loser(const struct sched *s, uint32_t a, uint32_t b)
{
	bool kept_a, kept_b;

	if (a == JOB_NONE || b == JOB_NONE)
		return a == JOB_NONE ? b : a;
	kept_a = cluster_job(s->c, a)->guaranteed;
	kept_b = cluster_job(s->c, b)->guaranteed;
	if (kept_a != kept_b)
		return kept_a ? b : a;
	return a > b ? a : b;
}

/* Returns a job that has not started and holds part of a node at an instant, or the node's whole
 * machine through another of its nodes; JOB_NONE: none. */
static uint32_t reserved_at(const struct sched *s, int32_t node, int64_t at)
{
	uint32_t found = JOB_NONE;
	int32_t n = node;

	do {
		const piece_vec *v = &s->p->node[n].pieces;
		for (size_t k = 0; k < v->n; k++) {
			const struct piece *x = &v->v[k];
			if (!x->running && x->start <= at && at < x->end && (n == node || x->whole == WHOLE_HOST))
				found = loser(s, found, x->job);
		}
		n = plan_next_whole(s->p, s->p->machines ? WHOLE_HOST : WHOLE_NOT, node, n);
	} while (n != node);
	return found;
}

/* Returns a job that has not started and must leave the node, because more is held than there
 * is; JOB_NONE: none. */
static uint32_t overrun_victim(const struct sched *s, int32_t node)
{
	const struct timeline *line = &s->p->node[node].line;
	uint32_t victim = JOB_NONE;

	for (struct walk w = timeline_walk(line, s->now); w.step; walk_next(&w)) {
		bool short_ = false;
		for (uint32_t d = 1; d < line->stride; d++)
			short_ |= w.step[d] < 0;
		if (short_)
			victim = loser(s, victim, reserved_at(s, node, w.step[0] > s->now ? w.step[0] : s->now));
	}
	return victim;
}

/* Takes away the places of reserved jobs that no longer have room on the nodes that a job holds. */
static void overrun_remove(struct sched *s, int32_t node, uint8_t whole, uint32_t by)
{
	int32_t n = node;
	uint32_t victim;

	do {
		while ((victim = overrun_victim(s, n)) != JOB_NONE)
			place_lose(s, victim, by);
		n = plan_next_whole(s->p, whole, node, n);
	} while (n != node);
}

/* Returns a job that has not started and holds units of an amount where more is held than there
 * is; JOB_NONE: none. */
static uint32_t amount_victim(const struct sched *s, uint32_t amount)
{
	const struct timeline *line = &s->p->amount.v[amount];
	uint32_t victim = JOB_NONE;

	for (uint32_t n = 0; n < s->p->nnodes; n++)
		for (size_t i = 0; i < s->p->node[n].pieces.n; i++) {
			const struct piece *x = &s->p->node[n].pieces.v[i];
			const struct request *r = cluster_job_request(s->c, cluster_job(s->c, x->job));
			if (x->running || x->frag != 0)
				continue;
			if (request_portion(r, amount) &&
			    !timeline_fits(line, x->start > s->now ? x->start : s->now, x->end, &(struct res){0}))
				victim = loser(s, victim, x->job);
		}
	return victim;
}

static bool line_is_short(const struct timeline *line, int64_t from)
{
	return !timeline_fits(line, from, TIME_NEVER, &(struct res){0});
}

/* Takes away the places of reserved jobs that no longer have room because another job holds
 * units of the amount, or there are fewer. */
static void amount_ease(struct sched *s, uint32_t amount, uint32_t by)
{
	uint32_t victim;

	while (line_is_short(&s->p->amount.v[amount], s->now) && (victim = amount_victim(s, amount)) != JOB_NONE)
		place_lose(s, victim, by);
}

void sched_amount(struct sched *s, uint32_t amount, const struct amount *a, int64_t now)
{
	sched_at(s, now);
	places_ease(s);
	s->c->amounts.v[amount] = *a;
	plan_set_amount(s->p, amount);
	amount_ease(s, amount, JOB_NONE);
	places_again(s);
	sched_refresh(s);
}

bool sched_overrun(struct sched *s, uint32_t job, int64_t until, int64_t now)
{
	const struct request *r = cluster_job_request(s->c, cluster_job(s->c, job));

	sched_at(s, now);
	if (victims_has(s, job)) /* it was cut short, and the next cycle stops it */
		return false;
	places_ease(s);
	plan_set_end(s->p, job, until);
	for (uint32_t i = 0; i < plan_hold(s->p, job)->nfrags; i++)
		overrun_remove(s, plan_place(s->p, job, i)->node, plan_piece(s->p, job, i)->whole, job);
	for (uint32_t i = 0; i < r->nportions; i++)
		amount_ease(s, r->portion[i].amount, job);
	places_again(s);
	sched_emit(s, EVENT_MIGRATE, job, until, JOB_NONE);
	sched_refresh(s);
	return true;
}

/* Drops the places that were not promised, if the departure of a job may make room for better ones:
 * one without a place only makes the queue shorter, unless it is what others wait behind. Kept
 * places move up by themselves, none later than before. */
static void places_leave(struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);
	bool wide = job->waiting != WAITING_NONE && queue_get(s, id)->wide;

	if (!s->policy->keep && (plan_holds(s->p, id) || is_special(job) || wide || s->head == id))
		places_drop(s);
}

/* Removes a job that may hold a place, even a transient one. */
static void sched_leave(struct sched *s, enum event_type type, uint32_t job, int64_t now, const void *detail)
{
	sched_at(s, now);
	s->position.recount |= plan_holds(s->p, job) && job_waits(cluster_job(s->c, job));
	places_leave(s, job);
	sched_free(s, job);
	if (cluster_job(s->c, job)->state == STATE_ALLOCATED && type == EVENT_HOLD)
		sched_emit(s, EVENT_DEALLOCATE, job, 0, JOB_NONE);
	if (!is_special(cluster_job(s->c, job)))
		queue_remove(s, job);
	sched_emit_detail(s, type, job, 0, JOB_NONE, detail);
	map_remove(&s->due.pred, job);
}

void sched_delete(struct sched *s, uint32_t job, int64_t now, const void *detail)
{
	sched_leave(s, EVENT_DELETE, job, now, detail);
}

void sched_hold(struct sched *s, uint32_t job, int64_t when)
{
	int64_t now = s->now;

	sched_leave(s, EVENT_HOLD, job, when, NULL);
	if (when < now) /* the hold belongs to a submission in the past */
		sched_at(s, now);
}

static void queue_out(struct sched *s, const struct job *job)
{
	if (s->starving)
		queue_count(s, job, -1);
	sched_dequeue(s, job);
	map_remove(&s->due.pred, job->id);
}

void sched_withdraw(struct sched *s, uint32_t id, int64_t now)
{
	const struct job *job = cluster_job(s->c, id);

	sched_at(s, now);
	s->position.recount |= plan_holds(s->p, id);
	places_leave(s, id);
	place_forget(s, id);
	sched_free(s, id);
	if (job->state == STATE_ALLOCATED)
		sched_emit(s, EVENT_DEALLOCATE, id, 0, JOB_NONE);
	queue_out(s, job);
}

void sched_rank_begin(struct sched *s, uint32_t id, int64_t now)
{
	const struct job *job = cluster_job(s->c, id);

	if (job->guaranteed && job->state == STATE_ALLOCATED && !s->policy->position) {
		sched_at(s, now);
		queue_out(s, job);
	} else {
		sched_withdraw(s, id, now);
	}
}

void sched_readmit(struct sched *s, uint32_t id, int64_t now)
{
	const struct job *job = cluster_job(s->c, id);

	sched_at(s, now);
	sched_enqueue(s, job);
	if (s->starving)
		queue_count(s, job, 1);
}

void sched_rank(struct sched *s)
{
	s->position.moved = true;
}

void sched_release(struct sched *s, uint32_t job, int64_t now)
{
	sched_at(s, now);
	sched_emit(s, EVENT_RELEASE, job, 0, JOB_NONE);
}

void sched_node(struct sched *s, uint32_t node, bool up, int64_t now)
{
	if (s->c->nodes.v[node].up == up)
		return;
	sched_at(s, now);
	places_drop(s);
	while (!up && s->p->node[node].pieces.n) {
		uint32_t job = s->p->node[node].pieces.v[0].job;
		enum job_state state = cluster_job(s->c, job)->state;
		if (state == STATE_ALLOCATED) {
			place_lose(s, job, JOB_NONE);
			continue;
		}
		plan_take_job(s->p, job);
		sched_emit(s, state == STATE_RUNNING ? EVENT_PREEMPT : EVENT_START_FAILED, job, 0, JOB_NONE);
	}
	s->c->nodes.v[node].up = up;
	(up ? res_add : res_sub)(&s->c->total, &s->c->nodes.v[node].total);
	plan_node_up(s->p, node, up);
	places_again(s);
	sched_refresh(s);
}

/* Closes a node to new placements, or opens it. */
static void node_close(struct sched *s, uint32_t node, bool closed)
{
	uint64_t bit = UINT64_C(1) << node % 64;

	if (!s->open.word) {
		s->open = (struct nodeset){.nwords = s->p->nnodes / 64 + 1, .rest = true};
		s->open.word = mem_alloc(s->open.nwords * sizeof *s->open.word);
		memset(s->open.word, 0xff, s->open.nwords * sizeof *s->open.word);
	}
	if (nodeset_has(&s->open, node) == !closed)
		return;
	s->open.word[node / 64] ^= bit;
	s->p->version++; /* what is free now has changed */
	s->nclosed = closed ? s->nclosed + 1 : s->nclosed - 1;
	s->plain.on = s->nclosed ? &s->open : NULL;
}

/* Takes away the places of jobs that have not started and hold the node, or its whole machine,
 * after an instant. */
static void node_unplan(struct sched *s, uint32_t node, int64_t after)
{
	int32_t at = (int32_t)node;

	do {
		const piece_vec *v = &s->p->node[at].pieces;
		for (size_t i = 0; i < v->n;) {
			const struct piece *x = &v->v[i];
			uint32_t job = x->job;
			if (x->running || x->end <= after || (at != (int32_t)node && x->whole != WHOLE_HOST)) {
				i++;
				continue;
			}
			place_lose(s, job, JOB_NONE);
			i = 0;
		}
		at = s->c->nodes.v[at].peer;
	} while (at != (int32_t)node && after != TIME_BEGIN);
}

void sched_drain(struct sched *s, uint32_t node, bool drain, int64_t now)
{
	sched_at(s, now);
	places_ease(s);
	if (drain)
		node_unplan(s, node, TIME_BEGIN);
	node_close(s, node, drain);
	places_again(s);
	sched_refresh(s);
}

/* Books a node wherever it is not booked already. */
static void node_book(struct sched *s, uint32_t node, struct owner owner, int64_t start, int64_t end)
{
	VEC(int64_t) spans = {0};
	int64_t from, to;

	while (plan_unbooked_span(&s->p->node[node], &start, end, &from, &to)) {
		vec_push(&spans, from);
		vec_push(&spans, to);
	}
	for (size_t i = 0; i < spans.n; i += 2)
		plan_book(s->p, node, owner, spans.v[i], spans.v[i + 1]);
	vec_free(&spans);
}

static void node_outage(struct sched *s, uint32_t node)
{
	struct owner owner = {OWNER_OUTAGE, 0};
	int64_t begin = s->outage.begin > s->now ? s->outage.begin : s->now;

	plan_unbook(s->p, node, owner);
	if (s->outage.begin == TIME_NEVER || begin >= s->outage.until)
		return;
	node_unplan(s, node, begin);
	node_book(s, node, owner, begin, s->outage.until);
}

void sched_outage(struct sched *s, int64_t begin, int64_t until, bool saves, int64_t now)
{
	if (s->outage.begin == TIME_NEVER && begin == TIME_NEVER)
		return;
	sched_at(s, now);
	places_ease(s);
	restarts_forget(s);
	if (begin > s->outage.begin)
		extend_after_outage(s);
	s->outage.begin = begin;
	s->outage.until = until;
	s->outage.saves = saves;
	for (uint32_t node = 0; node < s->p->nnodes; node++)
		node_outage(s, node);
	places_again(s);
	sched_refresh(s);
}

void sched_leaves(struct sched *s, uint32_t node, int64_t at, int64_t now)
{
	struct owner owner = {OWNER_LEAVES, node};

	sched_at(s, now);
	places_ease(s);
	restarts_forget(s);
	plan_unbook(s->p, node, (struct owner){OWNER_OUTAGE, 0});
	plan_unbook(s->p, node, owner);
	if (at != TIME_NEVER) {
		node_unplan(s, node, at);
		node_book(s, node, owner, at, TIME_NEVER);
	}
	node_outage(s, node);
	places_again(s);
	sched_refresh(s);
}

void sched_pause(struct sched *s, uint32_t node, bool pause, int64_t now)
{
	sched_at(s, now);
	places_ease(s);
	node_close(s, node, pause);
	sched_refresh(s);
}

/* Returns true if a job that has not started has a place of another length than it would get
 * now. */
static bool is_odd(const struct sched *s, uint32_t id)
{
	const struct job *job = cluster_job(s->c, id);

	return plan_holds(s->p, id) && job_waits(job) &&
	       plan_piece(s->p, id, 0)->end != cluster_end(s->c, job, plan_piece(s->p, id, 0)->start);
}

void sched_resize(struct sched *s, int64_t now)
{
	const struct queued *e;

	sched_at(s, now);
	places_ease(s);
	for (struct spot i = {0}; (e = ranks_at(&s->line.by_key, &i)); i.at++)
		if (is_odd(s, e->job))
			place_lose(s, e->job, JOB_NONE);
	for (size_t i = 0; i < s->special.n; i++)
		if (is_odd(s, s->special.v[i]))
			place_lose(s, s->special.v[i], JOB_NONE);
	for (uint32_t n = 0; n < s->p->nnodes; n++)
		overrun_remove(s, (int32_t)n, WHOLE_NOT, JOB_NONE);
	for (uint32_t i = 0; i < s->p->amount.n; i++)
		amount_ease(s, i, JOB_NONE);
	places_again(s);
	sched_refresh(s);
}

/* Returns true if everything that a job holds is on nodes of a set. */
static bool placed_within(const struct sched *s, uint32_t id, const struct nodeset *on)
{
	for (uint32_t i = 0; i < plan_hold(s->p, id)->nfrags; i++)
		if (!nodeset_has(on, (uint32_t)plan_place(s->p, id, i)->node))
			return false;
	return true;
}

void sched_allow(struct sched *s, uint32_t id, uint32_t allowed, int64_t now)
{
	struct job *job = cluster_job(s->c, id);

	if (job->allowed == allowed)
		return;
	sched_at(s, now);
	job->allowed = allowed;
	if (!job_waits(job))
		return;
	queue_reclass(s, id);
	places_ease(s);
	if (plan_holds(s->p, id) && !placed_within(s, id, &s->c->nodesets.v[allowed]))
		place_lose(s, id, JOB_NONE);
	places_again(s);
	sched_refresh(s);
}

bool sched_run(struct sched *s, uint32_t id, uint32_t on, int64_t now)
{
	struct job *job = cluster_job(s->c, id);
	uint32_t allowed = job->allowed;
	int64_t length = sched_length(s, job);
	plan_mark mark;
	bool fits;

	sched_at(s, now);
	places_drop(s);
	mark = plan_begin(s->p);
	plan_take_job(s->p, id);
	job->allowed = on == NODES_ALL ? allowed : on;
	fits = plan_insert(s->p, &s->plain, id, now, now + length);
	job->allowed = allowed;
	if (!fits) {
		plan_rollback(s->p, mark);
		return false;
	}
	special_tell(s, mark, id);
	if (is_special(job)) {
		sched_emit(s, EVENT_ALLOCATE, id, now, JOB_NONE);
	} else {
		queue_remove(s, id);
	}
	starting_add(s, id);
	cycle_start(s);
	return true;
}

void sched_restore(struct sched *s, uint32_t id, int64_t now)
{
	struct job *job = cluster_job(s->c, id);

	job->waiting = WAITING_NONE;
	if (job->state == STATE_DONE) {
		s->now = job->since; /* when the job ended */
		history_finish(s, job);
	}
	sched_at(s, now);
	if (has_slot(job))
		slot_count(s, job, 1);
	slot_run(s, job);
	if (job->state == STATE_CANDIDATE && plan_holds(s->p, id) && (!s->policy->position || is_special(job))) {
		plan_take_job(s->p, id); /* the place was made by another policy */
		sched_emit(s, EVENT_KEEP, id, 0, JOB_NONE);
	}
	if (job_waits(job))
		sched_enqueue(s, job);
	if (s->due.shadow && !job_ended(job))
		due_follow(s, job);
	if (job->state == STATE_CANDIDATE && plan_holds(s->p, id)) { /* announced before the restart */
		s->line.kept += queue_get(s, id)->kept == TIME_NEVER;
		queue_get(s, id)->kept = plan_piece(s->p, id, 0)->start;
		queue_get(s, id)->where = places_hash(s, id);
	}
	victims_restore(s, job);
	nights_note(s, job);
	slices_note(s, job);
	if (s->starving)
		queue_count(s, job, 1);
	sched_refresh(s);
}
