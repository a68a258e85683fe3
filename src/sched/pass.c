/*
 * pass.c - decides which common jobs start now. FCFS, EASY and its relatives and the greedy scan
 * are one loop.
 *
 * Jobs are considered in the policy's order. Those that can start do. The first `reserve` jobs that
 * cannot start get reservations, transient ones that the next pass drops. The others may overtake
 * if they fit the plan as it then is, so no reservation is ever delayed. A backfilled job fits if
 * and only if the plan says so: with one reservation on one node this is EASY's test of shadow time
 * and extra processors.
 *
 * Time alone frees only what the plan says ends now. So when a job was submitted and nothing has
 * ended since the last pass, only the new job is considered, unless it comes before the first
 * waiting job or would get a reservation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/keysort.h"
#include "sched/cursor.h"
#include "sched/sched_internal.h"

#define GREEDY_JOBS 512	   /* maximum jobs to choose from */
#define COVER_MORE 8	   /* maximum jobs tried together with, and behind, those that start anyway */
#define AGAIN_MOST 16	   /* interrupted scans that are started again before one must complete */
#define SCANNED_A_NODE 16  /* queue entries that cost about as much to scan as a node to examine */
#define GREEDY_CPUS 131072 /* maximum free CPUs to choose for; the rest is filled in order */

void window_build(struct sched *s)
{
	struct walk at = timeline_walk(plan_sum(s->p), s->now);
	struct window *w = &s->window;
	int64_t least = at.step[1 + RES_CPU];

	w->n = 0;
	w->version = s->p->version;
	w->exact = s->p->nnodes == 1 && s->c->nres == 1 && s->c->partitions.n == 0 && sched_node_open(s, 0) &&
		   !s->p->edges.n;
	while (least > 0 && walk_next(&at)) {
		if (at.step[0] > s->p->horizon)
			break;
		if (at.step[1 + RES_CPU] >= least)
			continue;
		if (w->n == WINDOW_STEPS - 1) {
			w->exact = false;
			break;
		}
		w->until[w->n] = at.step[0];
		w->cpus[w->n++] = least;
		least = at.step[1 + RES_CPU];
	}
	w->until[w->n] = TIME_NEVER;
	w->cpus[w->n++] = least;
}

void window_renew(struct sched *s)
{
	if (!s->window.n || s->window.version != s->p->version) /* at first both have version 0 */
		window_build(s);
}

bool window_allows(const struct window *w, int64_t cpus, int64_t end)
{
	int i = 0;

	while (w->until[i] < end)
		i++;
	return cpus <= w->cpus[i];
}

bool failure_known(const struct sched *s, const failure_vec *v, const struct job *job, int64_t length)
{
	const struct request *r = cluster_job_request(s->c, job);
	bool parted = v->n && plan_in_partition(s->p, job->id);

	for (size_t i = 0; i < v->n; i++) {
		const struct failure *f = &v->v[i];
		if (length < f->length || f->parted != parted ||
		    (f->allowed != NODES_ALL && f->allowed != job->allowed) || f->keys != job->keys ||
		    f->bound != job->bound)
			continue;
		if (f->request == job->request)
			return true;
		if (f->uniform && r->uniform && r->nfrags >= f->nfrags &&
		    res_covers(&s->c->shapes.v[r->frag[0].shape].need, &f->need))
			return true;
	}
	return false;
}

/* Removes failures that follow from this one: each job is compared with all that are left. */
static void failures_prune(failure_vec *v, const struct failure *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->n && f->uniform; i++) {
		const struct failure *g = &v->v[i];
		bool implied = g->uniform && g->nfrags >= f->nfrags && g->length >= f->length &&
			       (f->allowed == NODES_ALL || f->allowed == g->allowed) && f->keys == g->keys &&
			       f->bound == g->bound && f->parted == g->parted && res_covers(&g->need, &f->need);
		if (!implied)
			v->v[kept++] = *g;
	}
	if (f->uniform)
		v->n = kept;
}

void failure_note(const struct sched *s, failure_vec *v, const struct job *job, int64_t length)
{
	const struct request *r = cluster_job_request(s->c, job);
	const struct shape *shape = &s->c->shapes.v[r->frag[0].shape];
	struct failure f = {
		.request = job->request,
		.allowed = job->allowed,
		.keys = job->keys,
		.bound = job->bound,
		.nfrags = r->nfrags,
		.need = shape->need,
		.length = length,
		/* a request without features, exclusivity, whole nodes or amounts represents all
		 * that ask for more */
		.uniform = r->uniform && !shape->features && !shape->exclusive && !shape->whole && !r->nportions,
		.parted = plan_in_partition(s->p, job->id),
	};

	failures_prune(v, &f);
	if (v->n < 64)
		vec_push(v, f);
}

/* Puts the job into the plan at now, if necessary by pushing others or moving a running one. */
static bool pass_place_now(struct sched *s, uint32_t id, int64_t length)
{
	const struct job *job = cluster_job(s->c, id);
	const struct request *r = cluster_job_request(s->c, job);
	uint64_t moves = s->p->moves;
	plan_mark mark;

	if (s->window.exact && s->window.version == s->p->version && job->allowed == NODES_ALL && r->nfrags == 1 &&
	    !r->whole && !r->nportions && !job->bound) {
		plan_put(s->p, id, 0, 0, s->now, s->now + length); /* the window shows that the job fits */
		return true;
	}
	if (!s->plain.push_depth || !s->p->loose) /* nothing to push: no other job is affected */
		return plan_insert(s->p, &s->plain, id, s->now, s->now + length);
	mark = plan_begin(s->p);
	if (!plan_insert(s->p, &s->plain, id, s->now, s->now + length)) {
		plan_rollback(s->p, mark);
		return false;
	}
	s->stats.rescued += s->p->moves != moves;
	special_tell(s, mark, id);
	return true;
}

bool pass_try_now(struct sched *s, uint32_t id, int64_t length)
{
	const struct job *job = cluster_job(s->c, id);
	bool nodes = s->p->nnodes > 1;

	s->p->work++;
	if (!sched_may(s, id) ||
	    (nodes && (sizes_refuse(s, queue_get(s, id)->size, length) || failure_known(s, &s->failures, job, length))))
		return false;
	if (!pass_place_now(s, id, length) && !migrate_for(s, id, length)) {
		if (nodes) {
			s->stats.blocked++;
			failure_note(s, &s->failures, job, length);
			sizes_failed(s, id, queue_get(s, id)->size);
			if (s->ears.on_blocked)
				s->ears.on_blocked(s->ears.blocked_context, s->p, id, length);
		}
		return false;
	}
	starting_add(s, id);
	queue_remove(s, id);
	return true;
}

bool pass_start(struct sched *s, uint32_t job)
{
	int64_t cpus = cluster_job_request(s->c, cluster_job(s->c, job))->total.v[RES_CPU];
	int64_t length = queue_get(s, job)->length;

	window_renew(s);
	return window_allows(&s->window, cpus, s->now + length) && pass_try_now(s, job, length);
}

/* Starts a job on a given node if its limits allow and it fits there. */
static bool pass_start_on(struct sched *s, uint32_t id, int64_t length, int32_t node)
{
	if (!sched_may(s, id) || !plan_fits_on(s->p, &s->plain, id, node, s->now, s->now + length))
		return false;
	plan_put(s->p, id, 0, node, s->now, s->now + length);
	starting_add(s, id);
	queue_remove(s, id);
	return true;
}

int64_t pass_earliest(struct sched *s, uint32_t job, int64_t from, int64_t length)
{
	struct manner m = s->plain;

	m.push_depth = 0;      /* a reservation that will be made again is not worth moving others for */
	m.alloc = ALLOC_FIRST; /* nor is it worth searching for the best nodes */
	return plan_insert_earliest(s->p, &m, job, from, length);
}

/* Reserves. Returns true if the job starts instead: with fragments of several shapes, other
 * nodes may succeed where the best did not. */
static bool pass_reserve(struct sched *s, uint32_t job, int64_t length)
{
	int64_t at = pass_earliest(s, job, s->now, length);

	if (at == s->now) {
		starting_add(s, job);
		queue_remove(s, job);
		return true;
	}
	if (at != TIME_NEVER)
		vec_push(&s->reserved, job);
	return false;
}

/* Collects at most `most` jobs, from a position in the queue on, that could start judging by
 * their CPUs. */
static void fill_gather(struct sched *s, const struct cursor *from, size_t most, queued_vec *ret)
{
	struct gap gap;
	struct cursor i;
	const struct queued *e;
	size_t scanned = 0;

	sizes_gap(s, &gap);
	cursor_copy(&i, from);
	for (; ret->n < most && (e = cursor_fit(&i, &gap, &scanned)); cursor_step(&i))
		if (e->cpus > 0 && window_allows(&s->window, e->cpus, s->now + e->length) && sched_may(s, e->job) &&
		    !plan_holds(s->p, e->job))
			vec_push(ret, *e);
	cursor_close(&i);
}

/* Starts the jobs that together best fill what is free. Returns false if the cycle has done
 * enough. Where a job needs more than CPUs, or does not fit on the nodes where they are, the
 * choice is a guess: any other job that fits is started afterwards. */
static bool fill_best(struct sched *s, const struct cursor *from)
{
	int64_t room = s->window.cpus[0] < GREEDY_CPUS ? s->window.cpus[0] : GREEDY_CPUS;
	uint16_t chosen[GREEDY_JOBS];
	queued_vec fit = {0};
	bool tired = false;
	size_t n = 0;

	fill_gather(s, from, GREEDY_JOBS, &fit);
	if (fit.n > 1) {
		n = greedy_choose(fit.v, fit.n, room, chosen);
		s->p->work += fit.n * ((uint64_t)room / 4096 + 1);
	}
	while (n-- > 0 && !tired) /* in queue order: they were chosen from last to first */
		tired = pass_try_now(s, fit.v[chosen[n]].job, fit.v[chosen[n]].length) && cycle_tired(s);
	vec_free(&fit);
	window_build(s);
	return !tired;
}

/* Starts jobs on the nodes that the smallest cover chose. Returns false if the cycle has done
 * enough. */
static bool start_covered(struct sched *s, const queued_vec *jobs, size_t n, const int32_t *node)
{
	bool more = true;

	for (size_t i = 0; i < n && more; i++)
		more = node[i] == NODE_ANY || !pass_start_on(s, jobs->v[i].job, jobs->v[i].length, node[i]) ||
		       !cycle_tired(s);
	window_build(s);
	return more;
}

bool pass_fill_cover(struct sched *s, const struct cursor *from)
{
	int32_t node[COVER_JOBS];
	queued_vec fit = {0};
	bool more = true;

	if (!s->policy->cover)
		return true;
	fill_gather(s, from, COVER_JOBS, &fit);
	if (fit.n > 1) {
		cover_choose(s, fit.v, fit.n, node);
		more = start_covered(s, &fit, fit.n, node);
	}
	vec_free(&fit);
	return more;
}

/* Returns how many of the first jobs could start one after the other in the ordinary way. */
static size_t lead_count(struct sched *s, const queued_vec *lead)
{
	plan_mark mark = plan_begin(s->p);
	size_t n = 0;

	while (n < lead->n && plan_insert(s->p, &s->plain, lead->v[n].job, s->now, s->now + lead->v[n].length))
		n++;
	plan_rollback(s->p, mark);
	return n;
}

bool pass_cover_takes(struct sched *s, const struct queued *e)
{
	return cluster_job_request(s->c, cluster_job(s->c, e->job))->nfrags == 1 && sched_may(s, e->job) &&
	       !plan_holds(s->p, e->job) && window_allows(&s->window, e->cpus, s->now + e->length);
}

bool pass_cover(struct sched *s, const queued_vec *lead)
{
	int32_t node[COVER_JOBS], next[COVER_JOBS];
	size_t n = lead_count(s, lead), done = 0;

	for (size_t k = n > 1 ? n : 2; n > 0 && k <= lead->n && k <= n + COVER_MORE; k++) {
		bool all = true;
		cover_choose(s, lead->v, k, next);
		for (size_t i = 0; i < k; i++)
			all &= next[i] != NODE_ANY;
		if (!all)
			break;
		memcpy(node, next, k * sizeof *node);
		done = k;
	}
	if (done)
		start_covered(s, lead, done, node);
	return done > 0;
}

/* Starts the first jobs of the queue on nodes that are chosen for them together. */
static void cover_heads(struct sched *s)
{
	queued_vec lead = {0};
	const struct queued *e;
	struct cursor i;

	cursor_open(&i, s, &s->line.by_key);
	for (; (e = cursor_at(&i)) && lead.n < COVER_JOBS && pass_cover_takes(s, e); cursor_step(&i))
		vec_push(&lead, *e);
	cursor_close(&i);
	pass_cover(s, &lead);
	vec_free(&lead);
}

void pass_fill_leave(struct sched *s, const struct queued *e, double key)
{
	s->fill.on = true;
	s->fill.head = s->head;
	s->fill.over = !e;
	if (e) {
		s->fill.key = key;
		s->fill.job = e->job;
	}
}

bool pass_fill_tired(struct sched *s)
{
	return s->fill.again < AGAIN_MOST && cycle_tired(s);
}

/* Starts every job that fits, one by one, from a position in the queue on. */
static void fill_scan(struct sched *s, struct cursor *at)
{
	struct gap gap;
	const struct queued *next;
	size_t scanned = 0;
	bool tired = false;
	uint64_t made = s->sizes.made;

	sizes_gap(s, &gap);
	while (s->window.cpus[0] > 0 && !tired && (next = cursor_fit(at, &gap, &scanned))) {
		struct queued e = *next;
		if (!window_allows(&s->window, e.cpus, s->now + e.length) || plan_holds(s->p, e.job) ||
		    (s->policy->position && position_keeps(s, cluster_job(s->c, e.job)))) {
			cursor_step(at);
		} else if (!sched_may(s, e.job)) {
			queue_line_up(s, e.job);
			cursor_left(at, &e);
			tired = cycle_tired(s);
		} else if (pass_try_now(s, e.job, e.length)) {
			cursor_left(at, &e);
			tired = cycle_tired(s);
			if (!tired)
				window_build(s);
			sizes_gap(s, &gap);
		} else {
			cursor_step(at);
			tired = pass_fill_tired(s);
			if (made != s->sizes.made)
				sizes_gap(s, &gap);
			made = s->sizes.made;
		}
		if (scanned >= SCANNED_A_NODE) {
			s->p->work += scanned / SCANNED_A_NODE;
			scanned = 0;
			tired = tired || pass_fill_tired(s);
		}
	}
	if (tired) {
		next = cursor_at(at);
		pass_fill_leave(s, next, next ? cursor_key(at, next) : 0);
	}
}

/* Starts jobs that fit, from a position in the queue on. */
static void fill_from(struct sched *s, struct cursor *from)
{
	window_renew(s);
	if (!pass_fill_cover(s, from))
		return;
	if (s->policy->greedy && !fill_best(s, from))
		return;
	fill_scan(s, from);
}

void pass_fill(struct sched *s, const struct ranks *queue)
{
	struct cursor i;

	cursor_open(&i, s, queue);
	fill_from(s, &i);
	cursor_close(&i);
}

/* Returns the jobs in backfill order. */
static const struct ranks *fill_queue(const struct sched *s)
{
	return queue_has_fill(s) ? &s->line.by_fill : &s->line.by_key;
}

void pass_fill_resume(struct sched *s)
{
	struct cursor i;

	s->fill.on = false;
	if (s->fill.over)
		return;
	window_renew(s);
	cursor_open(&i, s, fill_queue(s));
	cursor_seek(&i, s->fill.key, s->fill.job);
	fill_scan(s, &i);
	cursor_close(&i);
}

void pass_fill_behind(struct sched *s)
{
	if (s->fill.due) {
		s->fill.again = s->fill.on ? s->fill.again + 1 : 0;
		s->fill.on = s->fill.due = false;
		pass_fill(s, &s->line.by_key);
	} else if (s->fill.on) {
		pass_fill_resume(s);
	}
}

static bool pass_head_could_improve(struct sched *s, const struct queued *e)
{
	int64_t planned = plan_piece(s->p, e->job, 0)->start;
	struct opening o = {.need = {.v = {e->cpus}}, .length = e->length, .planned = planned, .before = planned};

	return timeline_opening(plan_sum(s->p), s->now, &o) != TIME_NEVER;
}

/* Returns true if what was freed leaves the head where it is: then its reservation need not be
 * made again. */
static bool pass_head_stays(struct sched *s)
{
	struct spot first = {0};
	const struct queued *e = ranks_at(&s->line.by_key, &first);

	return s->policy->reserve == RESERVE_HEAD && s->reserved.n == 1 && e && e->job == s->reserved.v[0] &&
	       !cluster_job(s->c, e->job)->bound && s->order != ORDER_WFP3 && !queue_is_stale(s) && !pass_reached(s) &&
	       sched_may(s, e->job) && !pass_head_could_improve(s, e);
}

static void pass_full(struct sched *s)
{
	struct depth reserved = {.most = s->policy->reserve};
	const struct queued *next;
	struct cursor i;

	s->stats.full_passes++;
	s->fill.again = s->fill.on ? s->fill.again + 1 : 0;
	s->fill.on = false;
	if (pass_head_stays(s)) {
		vec_clear(&s->failures);
		window_build(s);
		pass_fill(s, fill_queue(s));
		s->freed = false;
		vec_clear(&s->line.fresh);
		return;
	}
	if (s->reserved.n)
		places_drop(s);
	s->head = JOB_NONE;
	if (queue_is_stale(s) && !queue_weigh(s))
		return;
	if (s->freed || pass_reached(s))
		vec_clear(&s->failures);
	window_build(s);
	if (s->policy->cover)
		cover_heads(s);
	cursor_open(&i, s, &s->line.by_key);
	while ((next = cursor_at(&i))) {
		struct queued e = *next;
		if (s->line.bound && fences_too_early(s, e.job)) {
			cursor_step(&i);
			continue;
		}
		if (!sched_may(s, e.job)) {
			queue_line_up(s, e.job);
			cursor_left(&i, &e);
			if (cycle_tired(s)) /* the next cycle continues with those that are left */
				break;
			continue;
		}
		window_renew(s);
		if (window_allows(&s->window, e.cpus, s->now + e.length) && pass_try_now(s, e.job, e.length)) {
			cursor_left(&i, &e);
			if (cycle_tired(s))
				break;
			continue;
		}
		if (s->backfill == ORDER_NONE && cluster_job(s->c, e.job)->bound) {
			cursor_step(&i); /* only jobs bound to a reservation wait for it */
			continue;
		}
		if (s->head == JOB_NONE || cluster_job(s->c, s->head)->bound)
			s->head = e.job;
		if (s->backfill == ORDER_NONE)
			break;
		if (s->policy->reserve && !depth_reached(&reserved, cluster_job(s->c, e.job))) {
			bool starts = pass_reserve(s, e.job, e.length);
			if (starts) {
				if (s->head == e.job)
					s->head = JOB_NONE;
				cursor_left(&i, &e);
				continue;
			}
			depth_count(&reserved, cluster_job(s->c, e.job), 1);
		}
		cursor_step(&i);
		if (reserved.common >= reserved.most) {
			if (queue_has_fill(s))
				pass_fill(s, &s->line.by_fill);
			else
				fill_from(s, &i);
			break;
		}
	}
	cursor_close(&i);
	s->reserves_more = reserved.common < reserved.most;
	s->freed = false;
	vec_clear(&s->line.fresh);
	vec_free(&reserved.bound);
}

bool pass_reached(struct sched *s)
{
	if (timeline_at(plan_sum(s->p), s->now)[0] != TIME_BEGIN)
		return true;
	/* an end and the start of a reservation at the same instant may cancel out in the sum */
	for (size_t i = 0; i < s->reserved.n; i++)
		if (plan_piece(s->p, s->reserved.v[i], 0)->start <= s->now)
			return true;
	return false;
}

/* Sorts the jobs that came since the last cycle into the order in which a full pass would
 * consider them. */
void pass_sort_fresh(struct sched *s)
{
	bool fill = queue_has_fill(s);
	VEC(struct keyed) ranked = {0};

	if (s->line.fresh.n < 2)
		return;
	for (size_t i = 0; i < s->line.fresh.n; i++) {
		const struct waiting *w = queue_get(s, s->line.fresh.v[i]);
		vec_push(&ranked, (struct keyed){.key = fill ? w->fill : queue_key(s, w), .tie = w->job});
	}
	keyed_sort(ranked.v, ranked.n);
	for (size_t i = 0; i < s->line.fresh.n; i++)
		s->line.fresh.v[i] = ranked.v[i].tie;
	vec_free(&ranked);
}

void pass_run(struct sched *s)
{
	if (s->fill.on && queue_has(s, s->fill.head))
		s->head = s->fill.head;
	/* priorities changed by time alone take effect when something is freed */
	bool moved = (s->order == ORDER_WFP3 && !s->line.ordered) || s->line.reweigh || s->line.weighing;
	bool full = s->freed || s->head == JOB_NONE || moved || pass_reached(s) || !sched_may(s, s->head);

	/* no job waits: the next one to come triggers a full pass, whatever was freed */
	if (s->line.by_key.n == 0) {
		s->head = JOB_NONE;
		return;
	}
	full |= s->reserves_more && s->line.fresh.n;
	for (size_t i = 0; i < s->line.fresh.n && !full; i++)
		full = queue_before(s, s->line.fresh.v[i], s->head);
	if (full) {
		pass_full(s);
		return;
	}
	if (s->fill.on) {
		pass_fill_resume(s);
		queue_settle_fresh(s); /* it may have started some of them */
	}
	if (s->fill.on)
		return;
	pass_sort_fresh(s);
	for (size_t i = 0; i < s->line.fresh.n && s->backfill != ORDER_NONE; i++) {
		uint32_t job = s->line.fresh.v[i];
		if (!sched_may(s, job)) {
			queue_line_up(s, job);
			continue;
		}
		if (pass_start(s, job) && cycle_tired(s))
			break;
	}
	vec_clear(&s->line.fresh);
}

/* ---- soft limits ---- */

static enum yielded yield_start(void *context, uint32_t id)
{
	struct sched *s = context;

	if (!queue_in_line(s, id))
		return YIELD_GONE;
	window_renew(s);
	if (s->effort.unfinished || s->window.cpus[0] <= 0)
		return YIELD_ENOUGH;
	if (!pass_start(s, id))
		return YIELD_NOT;
	cycle_tired(s);
	return YIELD_STARTS;
}

void pass_yield(struct sched *s)
{
	if (!s->limits || !limits_yields(s->limits) || s->drain)
		return;
	window_build(s); /* some policies' passes do not build it */
	if (s->window.cpus[0] <= 0)
		return;
	/* no pass has considered what is free: all waiting jobs wait for limits */
	if (s->freed || pass_reached(s))
		vec_clear(&s->failures);
	s->line.yields = true;
	limits_yield(s->limits, s->window.cpus[0], yield_start, s);
	s->line.yields = false;
}
