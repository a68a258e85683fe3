/*
 * bagsim.c - see bagsim.h. It has two halves: the cluster with its trace, and the bag on it.
 *
 * At one instant tasks end first, then jobs are submitted, then jobs end; a cycle follows each
 * submission and each end of a job, as in sim.c. Then the bag decides.
 */
#include "sim/bagsim.h"

#include "base/heap.h"
#include "base/rng.h"
#include "sched/sched.h"
#include "sim/machine.h"

#include <assert.h>
#include <stdio.h>

#define NOBODY -1

/* What is simulated of a job of the cluster. */
struct bjob {
	int64_t runtime;
	int64_t of; /* number of the job in the trace; NOBODY: a request of the bag */
};

/* A request of the bag. */
struct brequest {
	uint32_t job;
	int64_t procs, time, start;
	int64_t busy;
	bool running;
};

/* A processor with a task. */
struct bworker {
	uint32_t job; /* job of its request */
	int64_t took, start;
};

struct bag {
	const struct bag_case *c;
	struct adapter *adapter;
	struct rng rng;
	VEC(int64_t) idle;	    /* times of the tasks that no worker has */
	VEC(struct brequest) out;   /* requests that have not ended */
	VEC(struct bworker) worker; /* workers with a task; free entries are reused */
	VEC(uint32_t) spare;	    /* indices of free entries */
	VEC(uint32_t) doomed;	    /* workers whose task can't be done before their request ends */
	struct heap ends;	    /* (end, worker) of tasks */
	int64_t began, pending, filling;
	bool ask; /* the adapter must decide at this instant */
	struct bag_outcome got;
};

struct bagsim {
	const struct workload *w;
	struct cluster *c;
	struct plan *p;
	struct sched *sched;
	VEC(struct bjob) jobs; /* by id */
	struct heap ends;      /* (end, job) */
	VEC(uint32_t) started; /* starts to confirm */
	VEC(struct adapter_span) spans;
	VEC(struct adapter_request) requests;
	int64_t next;	/* next job of the trace, counted over repetitions */
	int64_t period; /* length of the trace, seconds */
	int64_t now, queued;
	struct bag *bag; /* NULL: none */
	void (*on_start)(void *context, int64_t job, int64_t at);
	void *context;
};

/* ---- the cluster ---- */

static void on_event(void *context, const struct event *e)
{
	struct bagsim *b = context;
	struct bjob *j = &b->jobs.v[e->job];

	if (e->type != EVENT_START)
		return;
	heap_push(&b->ends, e->time + j->runtime, e->job, 0);
	vec_push(&b->started, e->job);
	b->queued--;
	if (j->of != NOBODY && b->on_start)
		b->on_start(b->context, j->of, e->time);
}

struct bagsim *bagsim_create(const struct workload *w, int64_t procs)
{
	struct bagsim *b = mem_zalloc(sizeof *b);
	char machine[64];
	struct err err;

	b->w = w;
	b->c = cluster_create();
	settings_default(&b->c->settings);
	snprintf(machine, sizeof machine, "flat:%lld", (long long)procs);
	if (machine_build(b->c, machine, &err) < 0)
		assert(!"a flat machine");
	b->p = plan_create(b->c);
	b->sched = sched_create(b->c, b->p, policy_find("conservative"));
	sched_listen(b->sched, on_event, b);
	b->now = w->jobs.n ? w->jobs.v[0].submit : 0;
	b->period = w->jobs.n ? w->jobs.v[w->jobs.n - 1].submit - b->now + 1 : 1;
	return b;
}

void bagsim_destroy(struct bagsim *b)
{
	if (!b)
		return;
	sched_destroy(b->sched);
	plan_destroy(b->p);
	cluster_destroy(b->c);
	heap_fini(&b->ends);
	vec_free(&b->jobs);
	vec_free(&b->started);
	vec_free(&b->spans);
	vec_free(&b->requests);
	free(b);
}

void bagsim_on_start(struct bagsim *b, void (*start)(void *context, int64_t job, int64_t at), void *context)
{
	b->on_start = start;
	b->context = context;
}

static int64_t trace_next(const struct bagsim *b)
{
	int64_t n = (int64_t)b->w->jobs.n;

	return n ? b->w->jobs.v[b->next % n].submit + b->next / n * b->period : TIME_NEVER;
}

static uint32_t job_submit(struct bagsim *b, int64_t procs, int64_t walltime, int64_t runtime, int64_t of)
{
	struct job *job = cluster_add_job(b->c);
	struct bjob info = {runtime, of};
	struct err err;

	if (cluster_request_procs(b->c, procs, &job->request, &err) < 0)
		assert(!"processors that the machine has");
	job->walltime = walltime;
	job->allowed = NODES_ALL;
	vec_push(&b->jobs, info);
	b->queued++;
	sched_submit(b->sched, job->id, b->now);
	return job->id;
}

static void trace_submit(struct bagsim *b)
{
	const struct wjob *w = &b->w->jobs.v[b->next % (int64_t)b->w->jobs.n];

	if (w->procs >= 1 && w->procs <= b->c->total.v[RES_CPU])
		job_submit(b, w->procs, w->walltime, w->runtime < w->walltime ? w->runtime : w->walltime, b->next);
	b->next++;
}

static void bag_started(struct bagsim *b, uint32_t job);
static void bag_ended(struct bagsim *b, uint32_t job);
static void bag_fill(struct bagsim *b);

static void cycle(struct bagsim *b)
{
	bool done;

	do {
		done = sched_cycle(b->sched, b->now);
		for (size_t i = 0; i < b->started.n; i++)
			sched_started(b->sched, b->started.v[i], b->now);
		for (size_t i = 0; i < b->started.n; i++)
			if (b->jobs.v[b->started.v[i]].of == NOBODY)
				bag_started(b, b->started.v[i]);
		vec_clear(&b->started);
	} while (!done);
	if (b->bag && b->bag->c->filler)
		bag_fill(b);
}

static bool next_end(struct bagsim *b, struct heap_item *ret)
{
	while (heap_peek(&b->ends, ret)) {
		if (cluster_job(b->c, (uint32_t)ret->tie)->state == STATE_RUNNING)
			return true;
		heap_pop(&b->ends, ret);
	}
	return false;
}

/* Returns when the next event of the cluster happens. */
static int64_t cluster_next(struct bagsim *b)
{
	int64_t at = sched_next_wake(b->sched), submit = trace_next(b);
	struct heap_item end;

	if (next_end(b, &end) && end.time < at)
		at = end.time;
	return submit < at ? submit : at;
}

/* Processes one event of the cluster at `now`. */
static void cluster_step(struct bagsim *b)
{
	struct heap_item end;

	if (trace_next(b) <= b->now) {
		trace_submit(b);
	} else if (next_end(b, &end) && end.time <= b->now) {
		heap_pop(&b->ends, &end);
		sched_finish(b->sched, (uint32_t)end.tie, b->now, NULL);
		if (b->jobs.v[end.tie].of == NOBODY)
			bag_ended(b, (uint32_t)end.tie);
	}
	cycle(b);
}

void bagsim_advance(struct bagsim *b, int64_t instant)
{
	for (int64_t at; (at = cluster_next(b)) <= instant;) {
		b->now = at > b->now ? at : b->now;
		cluster_step(b);
	}
	b->now = instant;
}

/* ---- the bag ---- */

static struct brequest *request_find(struct bag *g, uint32_t job)
{
	for (size_t i = 0; i < g->out.n; i++)
		if (g->out.v[i].job == job)
			return &g->out.v[i];
	return NULL;
}

/* Gives a task to a processor of a request that ends at `end`. Returns false if there is none
 * for it. */
static bool task_start(struct bagsim *b, uint32_t job, int64_t end)
{
	struct bag *g = b->bag;
	uint32_t at;

	if (!g->idle.n || !adapter_worth_starting(g->adapter, end - b->now))
		return false;

	size_t k = rng_below(&g->rng, g->idle.n);
	struct bworker x = {job, g->idle.v[k], b->now};

	g->idle.v[k] = g->idle.v[--g->idle.n];
	if (g->spare.n) {
		at = g->spare.v[--g->spare.n];
		g->worker.v[at] = x;
	} else {
		at = (uint32_t)g->worker.n;
		vec_push(&g->worker, x);
	}
	if (x.took <= end - b->now)
		heap_push(&g->ends, b->now + x.took, at, (uint64_t)b->now);
	else
		vec_push(&g->doomed, at);
	return true;
}

/* Gives tasks to the idle processors of all requests. */
static void bag_feed(struct bagsim *b)
{
	struct bag *g = b->bag;

	for (size_t i = 0; i < g->out.n && g->idle.n; i++) {
		struct brequest *r = &g->out.v[i];
		while (r->running && r->busy < r->procs && task_start(b, r->job, r->start + r->time))
			r->busy++;
	}
}

static void bag_started(struct bagsim *b, uint32_t job)
{
	struct brequest *r = request_find(b->bag, job);

	r->running = true;
	r->start = b->now;
	bag_feed(b);
	b->bag->ask |= adapter_reviews(b->bag->adapter);
}

static void worker_free(struct bag *g, uint32_t at)
{
	g->worker.v[at].took = NOBODY;
	vec_push(&g->spare, at);
}

/* Ends a request; its unfinished tasks start again elsewhere. */
static void bag_ended(struct bagsim *b, uint32_t job)
{
	struct bag *g = b->bag;
	struct brequest *r = request_find(g, job);
	size_t n = 0;

	for (size_t i = 0; i < g->doomed.n; i++) {
		const struct bworker *x = &g->worker.v[g->doomed.v[i]];
		if (x->job != job) {
			g->doomed.v[n++] = g->doomed.v[i];
			continue;
		}
		adapter_task_cut(g->adapter, b->now - x->start);
		vec_push(&g->idle, x->took);
		g->got.cut++;
		worker_free(g, g->doomed.v[i]);
	}
	g->doomed.n = n;
	g->got.allocated += (double)r->procs * (double)(b->now - r->start);
	vec_remove(&g->out, (size_t)(r - g->out.v));
	bag_feed(b);
	g->ask = true;
}

static void task_ended(struct bagsim *b)
{
	struct bag *g = b->bag;
	struct heap_item end;

	heap_pop(&g->ends, &end);

	struct bworker x = g->worker.v[end.tie];

	worker_free(g, (uint32_t)end.tie);
	g->pending--;
	g->got.wasted -= (double)x.took;
	if (g->c->filler) {
		g->filling--;
		return;
	}
	adapter_task_done(g->adapter, x.took);

	struct brequest *r = request_find(g, x.job);

	if (!task_start(b, x.job, r->start + r->time))
		r->busy--;
	if (adapter_reviews(g->adapter) && (g->pending + 1 == g->c->type.tasks || r->busy == 0))
		g->ask = true;
}

/* Gives a filler everything that is free now; where that has become less, its youngest tasks are
 * cut off. */
static void bag_fill(struct bagsim *b)
{
	struct bag *g = b->bag;
	const struct timeline *t = plan_sum(b->p);
	int64_t room = timeline_at(t, b->now)[1 + RES_CPU];

	while (g->filling > room) {
		size_t at = 0;
		for (size_t i = 1; i < g->ends.n; i++)
			if (g->ends.v[i].value > g->ends.v[at].value)
				at = i;
		struct heap_item x = g->ends.v[at];
		struct heap left = {0};
		for (size_t i = 0; i < g->ends.n; i++)
			if (i != at)
				heap_push(&left, g->ends.v[i].time, g->ends.v[i].tie, g->ends.v[i].value);
		heap_fini(&g->ends);
		g->ends = left;
		g->got.allocated += (double)(b->now - (int64_t)x.value);
		vec_push(&g->idle, g->worker.v[x.tie].took);
		worker_free(g, (uint32_t)x.tie);
		g->got.cut++;
		g->filling--;
	}
	while (g->filling < room && task_start(b, 0, TIME_NEVER))
		g->filling++;
}

static struct adapter_view view_of(struct bagsim *b)
{
	struct bag *g = b->bag;
	const struct timeline *t = plan_sum(b->p);
	int64_t oldest = b->now;

	vec_clear(&b->spans);
	for (struct walk w = timeline_walk(t, b->now); w.step; walk_next(&w)) {
		struct adapter_span s = {w.step[0], walk_until(&w), w.step[1 + RES_CPU]};
		vec_push(&b->spans, s);
	}
	vec_clear(&b->requests);
	for (size_t i = 0; i < g->out.n; i++) {
		const struct brequest *r = &g->out.v[i];
		struct adapter_request x = {.id = r->job,
					    .procs = r->procs,
					    .time = r->time,
					    .start = r->start,
					    .busy = r->busy,
					    .running = r->running};
		if (!r->running)
			x.start = sched_planned(b->sched, r->job);
		vec_push(&b->requests, x);
	}
	for (size_t i = 0; adapter_reviews(g->adapter) && i < g->worker.n; i++)
		if (g->worker.v[i].took != NOBODY && g->worker.v[i].start < oldest)
			oldest = g->worker.v[i].start;
	return (struct adapter_view){
		.now = b->now,
		.free = b->spans.v,
		.nfree = b->spans.n,
		.request = b->requests.v,
		.nrequests = b->requests.n,
		.pending = g->pending,
		.idle = (int64_t)g->idle.n,
		.oldest = b->now - oldest,
		.queued = b->queued,
	};
}

static void order_obey(struct bagsim *b, const struct adapter_order *o)
{
	struct bag *g = b->bag;
	struct brequest *r = request_find(g, (uint32_t)o->id);

	switch (o->what) {
	case ADAPTER_SUBMIT: {
		struct brequest x = {.procs = o->procs, .time = o->time};
		x.job = job_submit(b, o->procs, o->time, o->time, NOBODY);
		vec_push(&g->out, x);
		g->got.requests++;
		break;
	}
	case ADAPTER_CANCEL:
		sched_delete(b->sched, r->job, b->now, NULL);
		b->queued--;
		vec_remove(&g->out, (size_t)(r - g->out.v));
		g->got.replaced++;
		break;
	case ADAPTER_SHRINK: {
		struct err err;
		sched_withdraw(b->sched, r->job, b->now);
		if (cluster_request_procs(b->c, o->procs, &cluster_job(b->c, r->job)->request, &err) < 0)
			assert(!"fewer processors");
		r->procs = o->procs;
		sched_readmit(b->sched, r->job, b->now);
		break;
	}
	case ADAPTER_RELEASE:
		sched_finish(b->sched, r->job, b->now, NULL);
		bag_ended(b, r->job);
		break;
	}
}

static void bag_decide(struct bagsim *b)
{
	struct adapter_order order[ADAPTER_ORDERS];
	struct adapter_view v = view_of(b);
	int n = adapter_decide(b->bag->adapter, &v, order);

	b->bag->ask = false;
	for (int i = 0; i < n; i++) {
		bool submit = order[i].what == ADAPTER_SUBMIT;
		order_obey(b, &order[i]);
		if (submit || i + 1 == n)
			cycle(b);
	}
	b->bag->ask = false; /* its own orders are not a reason to decide again */
}

static int64_t bag_next(struct bagsim *b)
{
	struct bag *g = b->bag;
	struct heap_item end;
	int64_t at = g->c->filler ? TIME_NEVER : adapter_next(g->adapter, b->now);

	if (heap_peek(&g->ends, &end) && end.time < at)
		at = end.time;
	return at;
}

static void bag_run(struct bagsim *b, int64_t until)
{
	struct bag *g = b->bag;
	struct heap_item end;

	while (g->pending > 0) {
		int64_t cluster = cluster_next(b), bag = bag_next(b), at = cluster < bag ? cluster : bag;

		if (at > until)
			return;
		b->now = at > b->now ? at : b->now;
		while (heap_peek(&g->ends, &end) && end.time <= b->now)
			task_ended(b);
		if (!g->pending)
			break;
		if (cluster <= b->now)
			cluster_step(b);
		else if (g->c->filler)
			bag_fill(b);
		if (!g->c->filler && cluster_next(b) > b->now && (g->ask || adapter_next(g->adapter, b->now) <= b->now))
			bag_decide(b);
	}
	g->got.seconds = b->now - g->began;
}

static void tasks_make(struct bag *g)
{
	const struct bag_type *t = &g->c->type;
	int64_t low = t->spread == 1 ? t->mean : t->mean / t->spread, high = 2 * t->mean - low;

	vec_reserve(&g->idle, (size_t)t->tasks);
	for (int64_t i = 0; i < t->tasks; i++)
		vec_push(&g->idle, rng_range(&g->rng, low, high));
	g->pending = t->tasks;
}

/* Removes everything of the bag from the cluster. */
static void bag_leave(struct bagsim *b)
{
	struct bag *g = b->bag;

	while (g->out.n) {
		struct brequest r = g->out.v[g->out.n - 1];
		if (r.running) {
			g->got.allocated += (double)r.procs * (double)(b->now - r.start);
			sched_finish(b->sched, r.job, b->now, NULL);
		} else {
			sched_delete(b->sched, r.job, b->now, NULL);
			b->queued--;
		}
		g->out.n--;
	}
	b->bag = NULL;
	cycle(b);
}

struct bag_outcome bagsim_bag(struct bagsim *b, const struct bag_case *c, int64_t give_up)
{
	struct bag g = {.c = c, .began = b->now, .got = {.seconds = -1}};

	rng_seed(&g.rng, c->seed);
	tasks_make(&g);
	g.adapter = adapter_create(c->heuristic, &c->limits, b->now);
	b->bag = &g;
	if (c->filler)
		bag_fill(b);
	else
		bag_decide(b);
	bag_run(b, give_up ? b->now + give_up : TIME_NEVER - 1);
	bag_leave(b);
	if (c->filler) /* a filler holds only what its tasks use */
		g.got.allocated -= g.got.wasted;
	g.got.wasted += g.got.allocated;
	adapter_destroy(g.adapter);
	heap_fini(&g.ends);
	vec_free(&g.idle);
	vec_free(&g.out);
	vec_free(&g.worker);
	vec_free(&g.spare);
	vec_free(&g.doomed);
	return g.got;
}
