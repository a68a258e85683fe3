/*
 * cycle.c - one scheduling cycle (docs/scheduling.md): places special jobs by rank, then common
 * ones, brings reserved jobs forward where possible, and starts everything placed at now.
 *
 * A paced cycle (sched_pace) ends early, after some special jobs or some starts, and the next one
 * continues: common jobs wait until all special ones have been considered, and a pass starts again
 * without the jobs it has started. Where every job reserves, or gaps between reservations are being
 * filled, the pass continues behind the last job. If something was freed meanwhile, special jobs
 * come first again.
 */
#include "sched/sched_internal.h"

/* Plans jobs whose predictions have passed to their walltimes again. That frees nothing, so it
 * is not a reason to wake. */
static void expire_predictions(struct sched *s)
{
	struct heap_item x;

	while (heap_peek(&s->expiry, &x) && x.time <= s->now) {
		const struct job *job = cluster_job(s->c, (uint32_t)x.value);
		heap_pop(&s->expiry, &x);
		if (job->state != STATE_RUNNING || job->attempt != x.tie || victims_has(s, job->id))
			continue;
		places_drop(s);
		plan_set_end(s->p, job->id, job->start + sched_length(s, job));
	}
}

static void start_job(struct sched *s, uint32_t job)
{
	int64_t end = plan_piece(s->p, job, 0)->end;

	sched_emit(s, EVENT_START, job, end, JOB_NONE);
	plan_run(s->p, job);
	nights_note(s, cluster_job(s->c, job));
	slices_note(s, cluster_job(s->c, job));
	if (s->due.dates)
		history_start(s, cluster_job(s->c, job));
	if (s->policy->know == KNOW_PREDICTION)
		heap_push(&s->expiry, end, cluster_job(s->c, job)->attempt, job);
}

void cycle_start(struct sched *s)
{
	for (size_t i = 0; i < s->starting.n; i++)
		start_job(s, s->starting.v[i]);
	vec_clear(&s->starting);
}

/* Returns true if a place has passed completely (the machine slept, or no server was running):
 * nothing in the plan keeps other jobs from being there now. */
static bool place_gone(const struct sched *s, const struct job *job, int64_t now)
{
	return job->state == STATE_ALLOCATED && plan_piece(s->p, job->id, 0)->end <= now;
}

/* Starts reserved jobs whose time has come where they are. `now` may be later than the instant
 * of the last cycle, to which they belong. */
static void collect_due(struct sched *s, int64_t now)
{
	for (size_t i = 0; i < s->special.n; i++) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		if (job->state == STATE_ALLOCATED && job->start <= s->now && !place_gone(s, job, now))
			starting_add(s, job->id);
	}
}

static void start_due(struct sched *s, int64_t now)
{
	if (s->special.n)
		collect_due(s, now);
	cycle_start(s);
}

/* Makes jobs whose place has passed wait again, for another place or until their deadline cannot
 * be met. Returns true if there were any. */
static bool drop_gone(struct sched *s)
{
	bool any = false;

	for (size_t i = s->special.n; i-- > 0;) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		if (!place_gone(s, job, s->now))
			continue;
		s->position.recount = true;
		plan_take_job(s->p, job->id);
		sched_emit(s, EVENT_DEALLOCATE, job->id, 0, JOB_NONE);
		sched_refresh(s);
		any = true;
	}
	return any;
}

void sched_pace(struct sched *s, uint64_t work)
{
	s->effort.pace = work;
}

bool sched_specials_left(const struct sched *s)
{
	return s->effort.unfinished && s->effort.stage == STAGE_SPECIAL;
}

/* Begins a cycle: the first of several, or a whole one, may try all jobs. */
static void cycle_begin(struct sched *s)
{
	if (!s->effort.unfinished) {
		map_fini(&s->effort.tried);
		s->effort.tried = (struct map){0};
		s->effort.seen = s->effort.freeings;
		s->effort.stage = STAGE_SPECIAL;
		s->effort.starving = 0;
		s->line.ordered = false;
	} else if (s->effort.stage != STAGE_SPECIAL &&
		   (special_asks(s) || (s->effort.left != s->effort.freeings && !s->sweep.on))) {
		s->effort.stage = STAGE_SPECIAL;
		s->effort.starving = 0;
	}
	s->effort.unfinished = false;
	s->effort.began = s->p->work;
}

static void common_pass(struct sched *s)
{
	queue_settle(s); /* some jobs starve now, others lost their place */
	s->effort.began = s->p->work;
	s->effort.moves = 0;
	if (s->due.dates) {
		due_tune(s);
		due_pass(s);
	} else if (s->policy->keep)
		conservative_pass(s);
	else if (!s->drain)
		pass_run(s);
	migrate_start(s);
	if (s->effort.unfinished && !s->due.dates)
		s->head = JOB_NONE; /* the next pass starts again, or knows the head (struct fill) */
}

/* Returns true if the cycle is complete. Resources freed since the first of several cycles may
 * be enough for a deadline that failed, or for a reservation that did not move: then all jobs
 * are tried once more. */
static bool cycle_end(struct sched *s, bool resumed)
{
	struct effort *e = &s->effort;

	e->left = e->freeings;
	if (e->unfinished)
		return false;
	if (!resumed || e->seen == e->freeings || (e->tried.n == 0 && !s->policy->keep))
		return true;
	s->freed = s->stirred = true;
	return false;
}

/* Runs the remaining stages. */
static void cycle_stages(struct sched *s)
{
	struct effort *e = &s->effort;

	if (e->stage == STAGE_SPECIAL && (s->special.n || s->victims.n))
		special_place(s);
	if (e->unfinished)
		return;
	if (e->stage <= STAGE_COMMON) {
		e->stage = STAGE_COMMON;
		common_pass(s);
	}
	if (e->unfinished)
		return;
	e->stage = STAGE_TO_NOW;
	if (s->special.n)
		special_to_now(s);
}

/* Runs the rest of a cycle whose queue has been sorted. */
static void cycle_decide(struct sched *s)
{
	expire_predictions(s);
	if (s->starving)
		special_starve(s);
	if (s->effort.stage != STAGE_SPECIAL &&
	    special_asks(s)) { /* some jobs became starving since the cycle that this one continues */
		s->effort.stage = STAGE_SPECIAL;
		s->effort.starving = 0;
	}
	if (s->policy->position)
		position_pass(s);
	else if (!s->effort.unfinished)
		cycle_stages(s);
	if (!s->policy->position && !s->effort.unfinished)
		outage_fill(s);
	if (!s->effort.unfinished)
		pass_yield(s);
}

bool sched_cycle(struct sched *s, int64_t now)
{
	bool resumed = s->effort.unfinished, slow;

	if (resumed && s->effort.stage == STAGE_SPECIAL && now > s->now)
		start_due(s, now); /* they must not wait any longer for the placement of others */
	sched_at(s, now);
	slow = drop_gone(s);
	s->stats.cycles++;
	s->drain = false;
	/* the bookings of the outage are in the past */
	if (s->outage.begin != TIME_NEVER && now >= s->outage.until) {
		s->outage.begin = TIME_NEVER;
		sched_refresh(s);
	}
	fences_reach(s);
	if (s->moves.at <= now) {
		s->moves.at = TIME_NEVER;
		sched_refresh(s);
	}
	cycle_begin(s);
	queue_offer(s);
	queue_settle(s);
	if (!cycle_tired(s)) /* many jobs came at once, or wait behind a limit */
		cycle_decide(s);
	/* otherwise they can still be pushed */
	if (!s->effort.unfinished || s->effort.stage != STAGE_SPECIAL || slow)
		start_due(s, now);
	else
		cycle_start(s); /* carry out decisions now: the job may be altered or deleted before the next slice */
	return cycle_end(s, resumed);
}

/* Returns when time alone may let a job start that a limit keeps waiting. */
static int64_t sched_limit_ends(const struct sched *s, const struct job *job)
{
	struct limit_need need = sched_need(s, job);

	return s->limits ? limits_when(s->limits, job->limits, &need) : TIME_NEVER;
}

int64_t sched_next_wake(const struct sched *s)
{
	int64_t next = TIME_NEVER;
	struct heap_item x;

	for (size_t i = 0; i < s->special.n; i++) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		int64_t at = TIME_NEVER;
		if (job->state == STATE_ALLOCATED)
			at = job->start;
		else if (job->deadline != TIME_NEVER && !s->policy->position) /* when the job expires */
			at = cluster_latest(s->c, job) + 1;
		if (at < next)
			next = at;
		at = job->state == STATE_CANDIDATE ? sched_limit_ends(s, job) : TIME_NEVER;
		if (at < next)
			next = at;
	}
	if (s->limits && limits_next(s->limits) < next)
		next = limits_next(s->limits);
	if (heap_peek(&s->line.patience, &x) && x.time < next && !special_full(s))
		next = x.time;
	if (victims_wake(s) < next)
		next = victims_wake(s);
	if (nights_wake(s) < next)
		next = nights_wake(s);
	if (s->moves.at < next)
		next = s->moves.at;
	if (slices_wake(s) < next)
		next = slices_wake(s);
	if (s->outage.begin != TIME_NEVER && s->outage.until < next)
		next = s->outage.until;
	if (s->fences.next_edge < next)
		next = s->fences.next_edge;
	return s->next_planned < next ? s->next_planned : next;
}
