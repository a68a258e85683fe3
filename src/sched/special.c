/*
 * special.c - starving, QoS and emergency jobs: where deadlines are kept (docs/scheduling.md).
 *
 * A QoS job reserves as late as its deadline allows. From then on it is *guaranteed*: no common or starving job may
 * remove it, pushes move it between nodes but never in time, and only an emergency job with the power takes its place.
 */
#include "sched/sched_internal.h"

void special_tell(struct sched *s, plan_mark mark, uint32_t by)
{
	job_vec touched = {0};
	VEC(int64_t) before = {0}; /* when they were to end */

	plan_touched(s->p, mark, &touched);
	for (size_t i = 0; i < touched.n; i++)
		vec_push(&before, plan_end_before(s->p, mark, touched.v[i]));
	plan_commit(s->p, mark);
	for (size_t i = 0; i < touched.n; i++) {
		const struct job *job = cluster_job(s->c, touched.v[i]);
		if (job->id == by)
			continue;
		if (plan_holds(s->p, job->id)) {
			if (job->state == STATE_ALLOCATED)
				sched_emit(s, EVENT_ALLOCATE, job->id, job->start, by);
			else if (job->state == STATE_RUNNING || job->state == STATE_NOW)
				victims_note(s, job->id, by, before.v[i]);
			continue;
		}
		sched_refresh(s);
		map_remove(&s->effort.tried, job->id);
		sched_emit(s,
			   job->state == STATE_RUNNING ? EVENT_PREEMPT
			   : job->state == STATE_NOW   ? EVENT_START_FAILED
						       : EVENT_DEALLOCATE,
			   job->id, 0, by);
	}
	vec_free(&touched);
	vec_free(&before);
}

void special_allocate(struct sched *s, uint32_t id, int64_t start, plan_mark mark)
{
	const struct job *job = cluster_job(s->c, id);

	special_tell(s, mark, id);
	sched_emit(s, EVENT_ALLOCATE, id, start, JOB_NONE);
	s->stirred = true;
	if (job->deadline != TIME_NEVER && !job->guaranteed)
		sched_emit(s, EVENT_GUARANTEE, id, 0, JOB_NONE);
}

/* The latest place before the deadline, removing whom `may` names. */
static bool place_latest(struct sched *s, uint32_t id, unsigned may)
{
	const struct job *job = cluster_job(s->c, id);
	struct manner m = s->plain;
	plan_mark mark = plan_begin(s->p);
	int64_t at;

	m.may_remove = may;
	at = plan_insert_latest(s->p, &m, id, s->now, job->deadline, sched_length(s, job));
	if (at == TIME_NEVER) {
		plan_rollback(s->p, mark);
		return false;
	}
	special_allocate(s, id, at, mark);
	return true;
}

unsigned special_granted(const struct job *job)
{
	static const struct {
		unsigned power, may;
	} table[] = {
		{POWER_SC_ALLOC, REMOVE_CRITICAL},    {POWER_Q_ALLOC, REMOVE_QOS},
		{POWER_E_ALLOC, REMOVE_EMERGENCY},    {POWER_C_EXEC, REMOVE_RUN_COMMON},
		{POWER_S_EXEC, REMOVE_RUN_STARVING},  {POWER_Q_EXEC, REMOVE_RUN_QOS},
		{POWER_E_EXEC, REMOVE_RUN_EMERGENCY},
	};
	unsigned may = REMOVE_STARVING;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (job->powers & table[i].power)
			may |= table[i].may;
	return may;
}

/* Whether a job came, or came back, since the last cycle. */
static bool special_is_new(const struct sched *s, uint32_t job)
{
	for (size_t i = 0; i < s->newcomers.n; i++)
		if (s->newcomers.v[i] == job)
			return true;
	return false;
}

/* Candidates with a deadline, of one kind, FIFO. A deadline that can no longer be met ends the job. */
static void place_deadlines(struct sched *s, enum job_kind kind)
{
	bool asked = false;
	job_vec list = {0};

	for (size_t i = 0; i < s->special.n; i++) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		if (job->kind == kind && job->state == STATE_CANDIDATE)
			vec_push(&list, job->id);
	}
	for (size_t i = 0; i < list.n; i++) {
		const struct job *job = cluster_job(s->c, list.v[i]);
		bool is_new = special_is_new(s, job->id);
		uint64_t known;
		if (map_get(&s->effort.tried, job->id, &known))
			continue;
		if (asked && cycle_tired(s))
			break;
		asked = true;
		if (s->effort.pace)
			map_set(&s->effort.tried, job->id, 1);
		if (job->deadline - sched_length(s, job) < s->now)
			sched_emit(s, EVENT_EXPIRE, job->id, 0, JOB_NONE);
		else if (!sched_may(s, job->id))
			continue;
		else if (!place_latest(s, job->id, REMOVE_STARVING) && kind == KIND_EMERGENCY && is_new)
			place_latest(s, job->id, special_granted(job)); /* exactly in time, else earlier */
	}
	vec_free(&list);
}

void special_starve(struct sched *s)
{
	struct heap_item x;

	while (heap_peek(&s->line.patience, &x) && x.time <= s->now) {
		const struct job *job = cluster_job(s->c, (uint32_t)x.tie);
		heap_pop(&s->line.patience, &x);
		if (job->state != STATE_CANDIDATE || job->kind != KIND_COMMON || job->attempt != x.value ||
		    queue_in_line(s, job->id)) /* that is not the scheduler's fault */
			continue;
		if (plan_holds(s->p, job->id))
			pass_drop_reservations(s); /* its own was a transient one */
		if (s->head == job->id)
			s->freed = true;
		sched_emit(s, EVENT_STARVE, job->id, 0, JOB_NONE);
	}
}

/* How starving jobs are placed: they push one deep at most. Deeper, they would get wide jobs in a little earlier at the cost
 * of many small ones (mean response with QoS jobs 7% worse at depth 2). */
static struct manner starving_manner(const struct sched *s)
{
	struct manner m = s->plain;

	if (m.push_depth > 1)
		m.push_depth = 1;
	return m;
}

/* The starving job's earliest place; later than now it is a reservation. */
static bool place_starving(struct sched *s, const struct job *job, bool may_wait)
{
	int64_t length = sched_length(s, job), at = s->now;
	struct manner m = starving_manner(s);
	plan_mark mark = plan_begin(s->p);

	if (may_wait)
		at = plan_insert_earliest(s->p, &m, job->id, s->now, length);
	else if (!plan_insert(s->p, &m, job->id, s->now, s->now + length))
		at = TIME_NEVER;
	if (at == TIME_NEVER) {
		plan_rollback(s->p, mark);
		return false;
	}
	special_allocate(s, job->id, at, mark);
	return true;
}

static int64_t free_cpus_now(const struct sched *s)
{
	int64_t sum = 0;

	for (uint32_t n = 0; n < s->p->nnodes; n++)
		sum += s->p->free_now[n];
	return sum;
}

/* A reserved starving job now, if need be in the place of younger ones that do not start now. */
static void starving_to_now(struct sched *s, const struct job *job)
{
	if (cluster_job_request(s->c, job)->total.v[RES_CPU] > free_cpus_now(s))
		return; /* nothing that it may remove holds anything at this instant */

	struct manner m = starving_manner(s);
	plan_mark mark = plan_begin(s->p);

	m.may_remove = REMOVE_STARVING;
	m.only_younger = true;
	plan_take_job(s->p, job->id);
	if (plan_insert(s->p, &m, job->id, s->now, s->now + sched_length(s, job)))
		special_allocate(s, job->id, s->now, mark);
	else
		plan_rollback(s->p, mark);
}

/* Starving jobs, oldest first: now if possible, else as the policy says. */
static void place_starvings(struct sched *s)
{
	bool reserved = false;

	for (int round = 0; round < 2; round++) { /* the second is for those that the moves of the first removed */
		job_vec list = {0};
		for (size_t i = 0; i < s->special.n; i++) {
			const struct job *job = cluster_job(s->c, s->special.v[i]);
			if (job->kind == KIND_STARVING)
				vec_push(&list, job->id);
		}
		for (size_t i = 0; i < list.n && !s->drain; i++) {
			const struct job *job = cluster_job(s->c, list.v[i]);
			if (job->state == STATE_CANDIDATE && sched_may(s, job->id)) {
				bool may_wait = s->policy->starve == STARVE_ALL || s->policy->starve == STARVE_QUEUE ||
						(s->policy->starve == STARVE_OLDEST && !reserved);
				bool placed = place_starving(s, job, may_wait);
				if (s->policy->starve == STARVE_DRAIN && !placed)
					s->drain = true;
			}
			if (job->state == STATE_ALLOCATED && job->start > s->now)
				reserved = true;
		}
		for (size_t i = 0; i < list.n && round == 0 && s->freed; i++) {
			const struct job *job = cluster_job(s->c, list.v[i]);
			if (job->state == STATE_ALLOCATED && job->start > s->now)
				starving_to_now(s, job);
		}
		vec_free(&list);
	}
}

/* Reserved jobs whose slot can no longer hold their walltime, because the cycle comes late, are candidates again. */
static void drop_missed(struct sched *s)
{
	for (size_t i = 0; i < s->special.n; i++) {
		const struct job *job = cluster_job(s->c, s->special.v[i]);
		if (job->state != STATE_ALLOCATED || s->now + job->walltime <= plan_piece(s->p, job->id, 0)->end)
			continue;
		plan_take_job(s->p, job->id);
		sched_emit(s, EVENT_DEALLOCATE, job->id, 0, JOB_NONE);
		sched_refresh(s);
	}
}

/* Those that a limit keeps from a place have not been asked yet. */
static void newcomers_end(struct sched *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->newcomers.n; i++)
		if (sched_limited(s, s->newcomers.v[i]))
			s->newcomers.v[n++] = s->newcomers.v[i];
	s->newcomers.n = n;
}

void special_place(struct sched *s)
{
	bool candidates = false;

	drop_missed(s);
	victims_review(s);
	for (size_t i = 0; i < s->special.n && !candidates; i++)
		candidates =
			cluster_job(s->c, s->special.v[i])->state == STATE_CANDIDATE && sched_may(s, s->special.v[i]);
	if (candidates || s->freed)
		pass_drop_reservations(s); /* what was not promised makes room */
	place_deadlines(s, KIND_EMERGENCY);
	if (!s->effort.unfinished)
		place_deadlines(s, KIND_QOS);
	if (!s->effort.unfinished)
		place_starvings(s);
	victims_stop(s);
	if (!s->effort.unfinished)
		newcomers_end(s);
}

void special_to_now(struct sched *s)
{
	if (!s->stirred) /* nothing was freed, and nobody new was reserved: they were asked already */
		return;
	s->stirred = false;

	struct ranked {
		double weight;
		uint32_t job;
	};
	VEC(struct ranked) list = {0};

	for (int kind = KIND_QOS; kind <= KIND_EMERGENCY; kind++) {
		vec_clear(&list);
		for (size_t i = 0; i < s->special.n; i++) {
			const struct job *job = cluster_job(s->c, s->special.v[i]);
			if (job->kind != kind || job->state != STATE_ALLOCATED || job->start <= s->now)
				continue;
			struct ranked r = {cluster_weight(s->c, job), job->id};
			size_t k = list.n;
			while (k > 0 && list.v[k - 1].weight > r.weight)
				k--;
			vec_insert(&list, k, r);
		}
		for (size_t i = 0; i < list.n; i++) {
			uint32_t id = list.v[i].job;
			plan_mark mark = plan_begin(s->p);
			plan_take_job(s->p, id);
			victims_release(s);
			if (plan_insert(s->p, &s->plain, id, s->now, s->now + sched_length(s, cluster_job(s->c, id)))) {
				special_allocate(s, id, s->now, mark);
				sched_refresh(s); /* where it was is free */
			} else {
				plan_rollback(s->p, mark);
			}
		}
	}
	vec_free(&list);
}
