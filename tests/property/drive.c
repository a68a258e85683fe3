/*
 * drive.c - see drive.h.
 */
#include "property/drive.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "plan/insert.h"
#include "sched/sched_internal.h"
#include "support/ring.h"

void drive_wrong(struct drive *d, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (*d->wrong)
		return; /* the first one counts */
	n = snprintf(d->wrong, sizeof d->wrong, "at %lld: ", (long long)d->now);
	va_start(ap, fmt);
	vsnprintf(d->wrong + n, sizeof d->wrong - (size_t)n, fmt, ap);
	va_end(ap);
}

static struct res amounts_res(const struct case_amounts *a)
{
	return (struct res){.v = {[RES_CPU] = a->cpus, [RES_MEM] = a->mem, [RES_GPU] = a->gpus, [RES_DISK] = a->disk}};
}

/* Far apart, so that a set has several words. */
static uint32_t amounts_features(struct cluster *c, const struct case_amounts *a)
{
	uint32_t set = FEATURES_NONE;

	for (uint32_t i = 0; i < 2; i++)
		if (a->features >> i & 1)
			set = features_add(&c->features, set, 3 + 150 * i);
	return set;
}

int64_t drive_reserve_depth;

struct cluster *drive_cluster(const struct tcase *t, const struct policy *policy)
{
	struct cluster *c = cluster_create();
	char name[16];

	for (int i = 0; i < t->nnodes; i++) {
		struct res total = amounts_res(&t->node[i]);
		total.v[RES_SWAP] = 7; /* no job asks for it, and nothing counts it, until test_plan.c does */
		snprintf(name, sizeof name, "n%d", i);
		cluster_add_node(c, name, &total, NULL);
		c->nodes.v[i].features = amounts_features(c, &t->node[i]);
		if (i && t->beside[i])
			ring_join(c, (uint32_t)i - 1, (uint32_t)i);
	}
	c->settings.reserve_depth = drive_reserve_depth;
	c->settings.tolerance = t->tolerance;
	c->settings.starve_after = t->starve_after;
	if (policy->order == ORDER_DUE && t->seed % 3 != 0)
		c->settings.starve_after = STARVE_AUTO;
	c->settings.max_deallocations = t->max_deallocations;
	return c;
}

uint32_t drive_request(struct cluster *c, const struct case_job *j)
{
	struct frag frag[CASE_FRAGS];

	for (int i = 0; i < j->nfrags; i++) {
		struct shape s = {.need = amounts_res(&j->frag[i].need),
				  .features = amounts_features(c, &j->frag[i].need),
				  .exclusive = j->frag[i].exclusive,
				  .whole = (uint8_t)j->whole};
		frag[i] = (struct frag){cluster_shape(c, &s), j->frag[i].node};
	}
	return cluster_intern(c, frag, (uint32_t)j->nfrags);
}

struct job *drive_add_job(struct cluster *c, const struct tcase *t, int i, const struct policy *policy)
{
	const struct case_job *j = &t->job[i];
	uint32_t request = drive_request(c, j);
	struct job *job = cluster_add_job(c);

	job->request = request;
	job->walltime = j->walltime;
	job->ending = t->ending;
	job->user = job->id % 3;
	if (j->keys) {
		bool key[CASE_KEYS + 1];
		for (int k = 0; k <= CASE_KEYS; k++)
			key[k] = j->keys >> k & 1;
		job->keys = cluster_nodeset(c, key, CASE_KEYS + 1, false);
	}
	job->bound = j->bound;
	if (policy->deadlines) {
		job->kind = (uint8_t)j->kind;
		job->deadline = j->deadline;
		job->powers = (uint8_t)j->powers;
	}
	return job;
}

int64_t drive_delay(void *context, uint32_t job)
{
	const struct drive *d = context;

	return d->t->kill_delay ? d->t->kill_delay + job % 3 : 0;
}

static int64_t drive_move(void *context, uint32_t job)
{
	const struct drive *d = context;

	return job % 4 ? d->move_cost : -1;
}

/* Where the event says the fragments are: as many as there are, on nodes that may hold them. */
static void check_nodes(struct drive *d, const struct event *e)
{
	const struct request *r = cluster_job_request(d->c, cluster_job(d->c, e->job));

	if (e->nnodes != r->nfrags) {
		drive_wrong(d, "job %u: %u nodes for %u fragments", e->job, e->nnodes, r->nfrags);
		return;
	}
	for (uint32_t i = 0; i < r->nfrags; i++) {
		const struct shape *s = &d->c->shapes.v[r->frag[i].shape];
		int32_t n = e->nodes[i];
		if (n >= 0 && !nodeset_has(&d->c->nodesets.v[cluster_job(d->c, e->job)->allowed], (uint32_t)n))
			drive_wrong(d, "job %u: fragment %u on node %d, which it may not use", e->job, i, n);
		if (n < 0 || n >= d->t->nnodes || !d->c->nodes.v[n].up)
			drive_wrong(d, "job %u: fragment %u on node %d, which is not up", e->job, i, n);
		else if (r->frag[i].node != NODE_ANY && r->frag[i].node != n)
			drive_wrong(d, "job %u: fragment %u is fixed to node %d and is on %d", e->job, i,
				    r->frag[i].node, n);
		else if (!features_cover(&d->c->features, d->c->nodes.v[n].features, s->features))
			drive_wrong(d, "job %u: node %d lacks a feature of fragment %u", e->job, n, i);
		for (uint32_t k = 0; k < r->nfrags; k++)
			if (k != i && e->nodes[k] == n && (s->exclusive || d->policy->scatter))
				drive_wrong(d, "job %u: exclusive fragment %u shares node %d with %u", e->job, i, n, k);
	}
}

/* A job starts where fences keep it out, or outside those that it is bound to. */
static void check_fences(struct drive *d, const struct event *e)
{
	const struct case_job *j = &d->t->job[d->job[e->job].of];

	for (uint32_t i = 0; i < e->nnodes; i++) {
		bool inside = false;
		for (int k = 0; k < d->t->nfences; k++) {
			const struct case_fence *f = &d->t->fence[k];
			if (f->node != e->nodes[i] || f->start >= e->at || f->end <= e->time)
				continue;
			if (!j->bound && !(j->keys >> f->id & 1))
				drive_wrong(d, "job %u starts on node %d, into a fence that it does not pass", e->job,
					    f->node);
			inside |= f->id == j->bound && f->start <= e->time;
		}
		if (j->bound && !inside)
			drive_wrong(d, "job %u starts outside the fence that it is bound to", e->job);
	}
}

static void books_use(struct drive *d, uint32_t job, int sign)
{
	const struct request *r = cluster_job_request(d->c, cluster_job(d->c, job));

	for (uint32_t i = 0; i < r->nfrags; i++)
		(sign > 0 ? res_add : res_sub)(&d->used[d->job[job].nodes[i]], &d->c->shapes.v[r->frag[i].shape].need);
}

/* The first node of a node's machine. */
static int machine_of(const struct drive *d, int node)
{
	while (node > 0 && d->t->beside[node])
		node--;
	return node;
}

/* Returns true if two running jobs are on one node, or machine, that one of them has to itself. */
static bool in_conflict(const struct drive *d, uint32_t a, uint32_t b)
{
	int whole[2] = {d->t->job[d->job[a].of].whole, d->t->job[d->job[b].of].whole};

	for (int i = 0; i < d->t->job[d->job[a].of].nfrags; i++)
		for (int k = 0; k < d->t->job[d->job[b].of].nfrags; k++) {
			int x = d->job[a].nodes[i], y = d->job[b].nodes[k];
			if ((x == y && (whole[0] || whole[1])) || (machine_of(d, x) == machine_of(d, y) &&
								   (whole[0] == WHOLE_HOST || whole[1] == WHOLE_HOST)))
				return true;
		}
	return false;
}

static void books_check(struct drive *d)
{
	for (uint32_t a = 0; a < d->c->jobs.n; a++)
		for (uint32_t b = 0; b < a && d->job[a].runs; b++)
			if (d->job[b].runs && in_conflict(d, a, b))
				drive_wrong(d, "jobs %u and %u share what one of them has to itself", b, a);
	for (int i = 0; i < d->t->nnodes; i++)
		if (!res_covers(&d->c->nodes.v[i].total, &d->used[i]))
			drive_wrong(d, "node %d: more is in use than it has (%lld of %lld CPUs)", i,
				    (long long)d->used[i].v[RES_CPU], (long long)d->c->nodes.v[i].total.v[RES_CPU]);
}

static void on_start(struct drive *d, const struct event *e)
{
	struct drive_job *x = &d->job[e->job];
	const struct case_job *j = &d->t->job[x->of];
	const struct job *job = cluster_job(d->c, e->job);
	int64_t length = j->walltime + d->t->tolerance + d->t->ending;

	check_nodes(d, e);
	check_fences(d, e);
	if (x->runs)
		drive_wrong(d, "job %u starts while it runs", e->job);
	if (d->policy->know != KNOW_PREDICTION && (e->at < e->time + j->walltime || e->at > e->time + length))
		drive_wrong(d, "job %u starts at %lld and is planned to end at %lld", e->job, (long long)e->time,
			    (long long)e->at);
	if (x->guaranteed && !x->excused && e->at > job->deadline + d->t->ending)
		drive_wrong(d, "job %u starts too late for its guaranteed deadline", e->job);
	if (*d->wrong)
		return;
	x->runs = true;
	x->confirmed = false;
	x->starts++;
	x->end = e->time + (j->over < 0 ? j->runtime : j->walltime + d->t->tolerance + j->over);
	if (d->t->slow_start) {
		x->confirm = e->time + 1;
		if (x->end <= x->confirm)
			x->end = x->confirm;
	} else {
		x->confirm = e->time;
	}
	memcpy(x->nodes, e->nodes, e->nnodes * sizeof *e->nodes);
	books_use(d, e->job, 1);
	if (d->t->ends_first && d->t->batch)
		books_check(d); /* every end of this instant has been told */
}

static void on_stop(struct drive *d, const struct event *e)
{
	if (d->job[e->job].runs)
		books_use(d, e->job, -1);
	d->job[e->job].runs = false;
}

/* Returns true if `by` has the right to take the place of a job that ran or was reserved. */
static bool may_take(const struct drive *d, const struct job *job, bool ran, const struct job *by)
{
	static const unsigned exec[KIND_COUNT] = {POWER_C_EXEC, POWER_S_EXEC, POWER_Q_EXEC, POWER_E_EXEC};

	if (ran && d->move_cost && by->kind == KIND_COMMON) /* it continues elsewhere: property-sched */
		return job->kind == KIND_COMMON && job->id % 4 && d->now - job->start >= d->move_cost;
	if (ran)
		return by->kind == KIND_EMERGENCY && (by->powers & exec[job->kind]);
	if (d->policy->position && !d->job[job->id].guaranteed)
		return by->deadline != TIME_NEVER; /* its place was not promised */
	switch ((enum job_kind)job->kind) {
	case KIND_STARVING:
		if (by->kind == KIND_STARVING)
			return by->id < job->id;
		if (by->kind == KIND_QOS) /* it has been counted already */
			return job->deallocations <= d->c->settings.max_deallocations;
		return by->kind == KIND_EMERGENCY && (!cluster_critical(d->c, job) || (by->powers & POWER_SC_ALLOC));
	case KIND_QOS:
		return by->kind == KIND_EMERGENCY && (by->powers & POWER_Q_ALLOC);
	case KIND_EMERGENCY:
		return by->kind == KIND_EMERGENCY && (by->powers & POWER_E_ALLOC);
	default:
		return false;
	}
}

static void on_loss(struct drive *d, const struct event *e)
{
	const struct job *job = cluster_job(d->c, e->job);
	struct drive_job *x = &d->job[e->job];

	if (e->by == JOB_NONE) {
		if (!d->accident)
			drive_wrong(d, "job %u lost its place to nobody (%s)", e->job, event_type_name(e->type));
	} else if (!may_take(d, job, x->runs, cluster_job(d->c, e->by))) {
		drive_wrong(d, "job %u lost its place to %u, which has no right to it", e->job, e->by);
	}
	x->excused = true;
	on_stop(d, e);
}

/* A running job's place is needed from an instant on; or it is spared. */
static void on_cut(struct drive *d, const struct event *e)
{
	const struct drive_job *x = &d->job[e->job];

	if (!x->runs || memcmp(x->nodes, e->nodes, e->nnodes * sizeof *e->nodes) != 0)
		drive_wrong(d, "job %u is moved though migration is off", e->job);
	else if (e->by != JOB_NONE && !may_take(d, cluster_job(d->c, e->job), true, cluster_job(d->c, e->by)))
		drive_wrong(d, "job %u is to be stopped for %u, which has no right to its place", e->job, e->by);
}

static void on_end(struct drive *d, const struct event *e)
{
	const struct job *job = cluster_job(d->c, e->job);
	const struct drive_job *x = &d->job[e->job];

	int64_t over = d->t->job[x->of].over > 0 ? d->t->job[x->of].over : 0; /* its own doing */

	if (x->guaranteed && !x->excused && (e->type == EVENT_EXPIRE || e->time - over > job->deadline))
		drive_wrong(d, "job %u misses its guaranteed deadline %lld", e->job, (long long)job->deadline);
	/* One that could not wait at all, as interactive ones, may be refused when it comes. */
	if (e->type == EVENT_EXPIRE && d->now <= cluster_latest(d->c, job) &&
	    !(d->policy->position && e->time == job->submit && cluster_latest(d->c, job) <= job->submit))
		drive_wrong(d, "job %u expires although it could still start", e->job);
	on_stop(d, e);
}

static void on_event(void *context, const struct event *e)
{
	struct drive *d = context;
	uint64_t h[7] = {(uint64_t)e->time, (uint64_t)e->at, e->nnodes, e->job, e->by, e->type, d->hash};

	d->hash = hash_bytes(h, sizeof h);
	if (e->nnodes)
		d->hash ^= hash_bytes(e->nodes, e->nnodes * sizeof *e->nodes);
	vec_push(&d->record, (struct drive_record){*e, d->nodes.n});
	for (uint32_t i = 0; i < e->nnodes; i++)
		vec_push(&d->nodes, e->nodes[i]);
	switch ((enum event_type)e->type) {
	case EVENT_START:
		on_start(d, e);
		break;
	case EVENT_ALLOCATE:
		check_nodes(d, e);
		if (d->job[e->job].runs)
			drive_wrong(d, "job %u is moved while it runs", e->job);
		break;
	case EVENT_GUARANTEE:
		d->job[e->job].guaranteed = true;
		break;
	case EVENT_DEALLOCATE:
	case EVENT_PREEMPT:
	case EVENT_START_FAILED:
		on_loss(d, e);
		break;
	case EVENT_FINISH:
	case EVENT_EXPIRE:
		on_end(d, e);
		break;
	case EVENT_DELETE:
		on_stop(d, e);
		break;
	case EVENT_MIGRATE:
		on_cut(d, e);
		break;
	default:
		break;
	}
}

/* What must hold between cycles. */
static void drive_check(struct drive *d)
{
	size_t waiting = 0;

	plan_check(d->p);
	for (uint32_t i = 0; i < d->c->jobs.n; i++) {
		const struct job *job = cluster_job(d->c, i);
		const struct drive_job *x = &d->job[i];
		job_check(job);
		waiting += job_waits(job);
		if (x->runs != (job->state == STATE_RUNNING || job->state == STATE_NOW))
			drive_wrong(d, "job %u is %s", i, job_state_name(job->state));
		for (uint32_t k = 0; x->runs && k < plan_hold(d->p, i)->nfrags; k++)
			if (plan_place(d->p, i, k)->node != x->nodes[k])
				drive_wrong(d, "job %u runs on node %d and the plan has it on %d", i, x->nodes[k],
					    plan_place(d->p, i, k)->node);
		if (!x->guaranteed || x->excused || job_ended(job))
			continue;
		if (!plan_holds(d->p, i) || plan_piece(d->p, i, 0)->end > job->deadline + d->t->ending)
			drive_wrong(d, "job %u was guaranteed and has no place in time", i);
	}
	if (waiting != sched_waiting(d->s))
		drive_wrong(d, "%zu jobs wait and the scheduler knows of %zu", waiting, sched_waiting(d->s));
}

/* A job of one free fragment avoids the node where it could not be started, if another could
 * hold it for good. */
static void avoid_node(struct drive *d, uint32_t id, int32_t node)
{
	const struct request *r = cluster_job_request(d->c, cluster_job(d->c, id));
	const struct shape *s = &d->c->shapes.v[r->frag[0].shape];
	bool has[CASE_NODES], other = false;

	for (int n = 0; n < d->t->nnodes; n++) {
		const struct node *x = &d->c->nodes.v[n];
		has[n] = n != node;
		other |= has[n] && x->up && res_covers(&x->total, &s->need) &&
			 features_cover(&d->c->features, x->features, s->features);
	}
	if (other && d->t->naccidents == 0 && r->nfrags == 1 && r->nfixed == 0)
		sched_allow(d->s, id, cluster_nodeset(d->c, has, (uint32_t)d->t->nnodes, true), d->now);
}

/* Answers the orders to start; whether one failed, after which a cycle follows at once. */
static bool drive_answer(struct drive *d)
{
	bool failed = false;

	for (uint32_t i = 0; i < d->c->jobs.n; i++) {
		struct drive_job *x = &d->job[i];
		if (!x->runs || x->confirmed || x->confirm > d->now)
			continue;
		if (x->starts <= d->t->job[x->of].failures) {
			int32_t node = plan_place(d->p, i, 0)->node;
			sched_start_failed(d->s, i, d->now, NULL);
			avoid_node(d, i, node);
			failed = true;
		} else {
			x->confirmed = true;
			sched_started(d->s, i, d->now);
		}
	}
	return failed;
}

/* Jobs that are still there when their places end, as the server says it. */
static void drive_overruns(struct drive *d)
{
	for (uint32_t i = 0; i < d->c->jobs.n; i++)
		if (d->job[i].runs && d->job[i].end > d->now && plan_holds(d->p, i) &&
		    plan_piece(d->p, i, 0)->end <= d->now && cluster_job(d->c, i)->state == STATE_RUNNING)
			sched_overrun(d->s, i, d->now + SCHED_OVERRUN, d->now);
}

static void drive_cycle(struct drive *d)
{
	bool done;

	if (d->t->ending)
		drive_overruns(d);
	do {
		if (d->refresh)
			sched_refresh(d->s);
		d->accident = false;
		done = sched_cycle(d->s, d->now);
		d->accident = true;
	} while (drive_answer(d) || !done);
	drive_check(d);
	if (d->after_cycle && !*d->wrong)
		d->after_cycle(d);
}

/* What can happen to a job or a node, in the order in which it does at one instant. */
enum step { STEP_SUBMIT, STEP_END, STEP_CONFIRM, STEP_HOLD, STEP_RELEASE, STEP_DELETE, STEP_DOWN, STEP_UP, STEP_COUNT };

static int64_t step_at(const struct drive *d, enum step step, int i)
{
	int id = step <= STEP_DELETE && i < d->t->njobs ? d->id_of[i] : -1;
	const struct drive_job *x = id >= 0 ? &d->job[id] : NULL;
	const struct case_job *j = &d->t->job[i];
	int64_t at = TIME_NEVER;

	if (step >= STEP_DOWN) {
		if (i < d->t->naccidents)
			at = step == STEP_DOWN ? d->t->accident[i].down : d->t->accident[i].up;
		return at > d->now ? at : TIME_NEVER;
	}
	if (i >= d->t->njobs)
		return TIME_NEVER;
	switch (step) {
	case STEP_SUBMIT:
		return id < 0 ? j->submit : TIME_NEVER;
	case STEP_END:
		return x && x->runs && x->confirmed ? x->end : TIME_NEVER;
	case STEP_CONFIRM:
		return x && x->runs && !x->confirmed ? x->confirm : TIME_NEVER;
	case STEP_HOLD:
		at = j->hold;
		break;
	case STEP_RELEASE:
		at = j->release;
		break;
	default:
		at = j->delete;
		break;
	}
	return at > d->now ? at : TIME_NEVER; /* each once, when time comes to it */
}

static void step_do(struct drive *d, enum step step, int i)
{
	int id = step == STEP_SUBMIT || step >= STEP_DOWN ? -1 : d->id_of[i];
	const struct job *job = id >= 0 ? cluster_job(d->c, (uint32_t)id) : NULL;

	switch (step) {
	case STEP_SUBMIT:
		job = drive_add_job(d->c, d->t, i, d->policy);
		d->id_of[i] = (int)job->id;
		d->job[job->id] = (struct drive_job){.of = i};
		sched_submit(d->s, job->id, d->now);
		break;
	case STEP_END:
		sched_finish(d->s, (uint32_t)id, d->now, NULL);
		break;
	case STEP_CONFIRM: /* the cycle does it */
		break;
	case STEP_HOLD:
		if (job && job_waits(job)) {
			d->job[id].excused = true;
			sched_hold(d->s, (uint32_t)id, d->now);
		}
		break;
	case STEP_RELEASE:
		if (job && job->state == STATE_HELD)
			sched_release(d->s, (uint32_t)id, d->now);
		break;
	case STEP_DELETE:
		if (job && !job_ended(job))
			sched_delete(d->s, (uint32_t)id, d->now, NULL);
		break;
	default: {
		struct event e = {.time = d->now,
				  .at = step == STEP_UP,
				  .job = (uint32_t)d->t->accident[i].node,
				  .type = EVENT_COUNT};
		sched_node(d->s, e.job, step == STEP_UP, d->now);
		vec_push(&d->record, (struct drive_record){e, 0});
		break;
	}
	}
}

/* The next instant at which something happens. */
static int64_t next_instant(const struct drive *d)
{
	int64_t next = sched_next_wake(d->s);

	if (next < d->now)
		next = d->now;
	for (int step = 0; step < STEP_COUNT; step++)
		for (int i = 0; i < CASE_JOBS; i++) {
			int64_t at = step_at(d, step, i);
			if (at < next)
				next = at;
		}
	return next;
}

/* Everything that happens at `at`. */
static void drive_instant(struct drive *d, int64_t at)
{
	static const enum step ends_first[STEP_COUNT] = {STEP_END,     STEP_SUBMIT, STEP_CONFIRM, STEP_HOLD,
							 STEP_RELEASE, STEP_DELETE, STEP_DOWN,	  STEP_UP};
	struct {
		enum step step;
		int i;
	} todo[STEP_COUNT * CASE_JOBS];
	int n = 0;

	for (int k = 0; k < STEP_COUNT; k++)
		for (int i = 0; i < CASE_JOBS; i++) {
			enum step step = d->t->ends_first ? ends_first[k] : (enum step)k;
			if (step_at(d, step, i) == at) {
				todo[n].step = step;
				todo[n++].i = i;
			}
		}
	if (d->weighs && at != d->now)
		sched_reweigh(d->s, false);
	d->now = at;
	for (int k = 0; k < n; k++) {
		if (todo[k].step == STEP_END && step_at(d, STEP_END, todo[k].i) != at)
			continue; /* it was stopped just before, and may have been started again */
		step_do(d, todo[k].step, todo[k].i);
		if (!d->t->batch)
			drive_cycle(d);
	}
	if (d->t->batch || !n)
		drive_cycle(d);
	books_check(d);
}

/* Nothing happens any more: a job that still waits must be one that could not be placed on the
 * empty machine. */
static void check_idle(struct drive *d)
{
	struct plan *empty = plan_create(d->c);
	struct manner m = {
		.alloc = d->policy->alloc, .scatter = d->policy->scatter, .push_depth = d->policy->push_depth};
	uint32_t idle = JOB_NONE;

	for (uint32_t i = 0; i < d->c->jobs.n; i++) {
		const struct job *job = cluster_job(d->c, i);
		if (d->job[i].runs)
			drive_wrong(d, "job %u runs for ever", i);
		if (!job_waits(job))
			continue;
		if (!plan_insert(empty, &m, i, d->now, d->now + cluster_length(d->c, job)))
			idle = JOB_NONE - 1; /* who comes after such a job in the queue may wait for ever as well */
		else if (idle == JOB_NONE)
			idle = i;
		plan_take_job(empty, i);
	}
	plan_destroy(empty);
	if (idle < JOB_NONE - 1)
		drive_wrong(d, "job %u waits and the machine is empty", idle);
}

/* One that is wide overtakes in time; who comes first changes every few seconds. */
static double drive_weigh(void *context, uint32_t id, int64_t now)
{
	const struct drive *d = context;
	const struct job *job = cluster_job(d->c, id);

	return (double)(now - job->submit) * (double)(1 + job->walltime % 7) + (double)(id * 37 % 50);
}

const char *drive_run(struct drive *d, const struct tcase *t, const struct policy *policy)
{
	struct node_fence fence[CASE_FENCES];
	int same = 0;

	d->t = t;
	d->policy = policy;
	d->now = -1;
	d->c = drive_cluster(t, policy);
	for (int i = 0; i < CASE_JOBS; i++) {
		d->id_of[i] = -1;
		if (i < t->njobs) /* all dimensions are in use before the plan is made */
			drive_request(d->c, &t->job[i]);
	}
	d->p = plan_create(d->c);
	d->s = sched_create(d->c, d->p, policy);
	sched_pace(d->s, d->pace == PACE_HALF ? (uint64_t)(t->njobs % 2) : d->pace == PACE_LEAST);
	d->accident = true;
	sched_listen(d->s, on_event, d);
	sched_on_delay(d->s, drive_delay, d);
	if (d->move_cost)
		sched_on_move(d->s, drive_move, d);
	for (int i = 0; i < t->nfences; i++) {
		const struct case_fence *f = &t->fence[i];
		fence[i] = (struct node_fence){.node = (uint32_t)f->node,
					       .fence = {.start = f->start, .end = f->end, .id = f->id}};
	}
	sched_fences(d->s, fence, (size_t)t->nfences, -1);
	if (d->weighs)
		sched_on_weigh(d->s, drive_weigh, NULL, false, d);
	while (!*d->wrong) {
		int64_t at = next_instant(d);
		if (at == TIME_NEVER)
			break;
		same = at == d->now ? same + 1 : 0;
		if (same > 200)
			drive_wrong(d, "it wakes up for ever");
		drive_instant(d, at);
	}
	if (!*d->wrong)
		check_idle(d);
	return *d->wrong ? d->wrong : NULL;
}

void drive_fini(struct drive *d)
{
	sched_destroy(d->s);
	plan_destroy(d->p);
	cluster_destroy(d->c);
	vec_free(&d->record);
	vec_free(&d->nodes);
}
