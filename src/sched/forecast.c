/*
 * forecast.c - a copy of cluster, plan and scheduler, run with a simulated clock.
 */
#include "sched/forecast.h"

#include "sched/order.h"
#include "sched/sched_internal.h"

#define PATIENCE 200 /* cycles without a report after which to look for who is left */

struct forecast {
	/* own copies of jobs, nodes, shapes and requests; what they point to never changes */
	struct cluster c;
	struct plan *p;
	struct sched *s;
	struct map known; /* jobs already reported: only the first start counts */
	/* cycles since the last report, and after how many of them to look for who is left */
	uint64_t quiet, patience;
	struct heap ends;   /* (end, job, attempt) of running jobs */
	job_vec ordered;    /* jobs whose START is to be confirmed after the cycle */
	forecast_told told; /* NULL: no more reports */
	void *context;
	struct gate *gate; /* NULL: held jobs stay held */
	int64_t now;
	bool begun;   /* the cycle of the present instant has run */
	bool goes_on; /* the cycle ended early and must be continued */
	/* for forecast_whatif() */
	uint32_t copy, ncopies; /* jobs that forecast_copies() added */
	struct whatif answer;
	uint32_t told_of, guaranteed; /* jobs whose start is known, and of them guaranteed */
};

static void cluster_copy(struct forecast *f, const struct cluster *from, struct scratch *scratch)
{
	struct cluster *c = &f->c;

	*c = *from;
	c->spare_shapes = c->spare_requests = (trial_vec){0}; /* trials under way belong to the original */
	c->features.spare = (trial_vec){0};
	c->trial = NULL;
	c->features.trial = NULL;
	vec_copy(&c->nodes, &from->nodes);
	vec_copy(&c->partitions, &from->partitions);
	vec_copy(&c->nodesets, &from->nodesets);
	vec_copy(&c->amounts, &from->amounts);
	vec_copy(&c->shapes, &from->shapes);
	vec_copy(&c->requests, &from->requests);
	vec_copy(&c->features.sets, &from->features.sets);
	c->jobs = (struct rows){0};
	rows_copy(&c->jobs, &from->jobs, sizeof(struct job), scratch);
}

static bool is_known(const struct forecast *f, uint32_t id)
{
	uint64_t value;

	return map_get(&f->known, id, &value);
}

static void tell(struct forecast *f, const struct event *e)
{
	const struct job *job = cluster_job(&f->c, e->job);
	struct foreseen x = {.job = e->job,
			     .start = e->time,
			     .end = e->at,
			     .nodes = e->nodes,
			     .nnodes = e->nnodes,
			     .guaranteed = job->guaranteed};

	if (!f->told || is_known(f, e->job))
		return;
	map_set(&f->known, e->job, 1);
	f->quiet = 0;
	f->patience = PATIENCE;
	if (!f->told(f->context, &x))
		f->told = NULL;
}

/* Returns when a job ends whose place lasts until `until`: at the end of its walltime, or at
 * `until` if that is earlier or the walltime has passed. */
static int64_t end_of(const struct forecast *f, uint32_t id, int64_t until)
{
	const struct job *job = cluster_job(&f->c, id);
	int64_t end = job->start + cluster_run(&f->c, job);

	return end < until && end >= f->now ? end : until;
}

static void on_event(void *context, const struct event *e)
{
	struct forecast *f = context;

	if (f->gate && job_ended(cluster_job(&f->c, e->job)))
		gate_ended(f->gate, e->job, e->type == EVENT_FINISH ? 0 : 1);
	if (f->gate && e->type == EVENT_STARTED)
		gate_started(f->gate, e->job);
	if (e->type != EVENT_START)
		return;
	heap_push(&f->ends, end_of(f, e->job, e->at), e->job, cluster_job(&f->c, e->job)->attempt);
	vec_push(&f->ordered, e->job);
	tell(f, e);
}

static void confirm(struct forecast *f)
{
	for (size_t i = 0; i < f->ordered.n; i++)
		if (cluster_job(&f->c, f->ordered.v[i])->state == STATE_NOW)
			sched_started(f->s, f->ordered.v[i], f->now);
	vec_clear(&f->ordered);
}

struct forecast *forecast_create(const struct sched *s)
{
	return forecast_create_in(s, NULL);
}

struct forecast *forecast_create_in(const struct sched *s, struct scratch *scratch)
{
	struct forecast *f = mem_zalloc(sizeof *f);

	if (scratch)
		scratch_begin(scratch, rows_bytes(&s->c->jobs, sizeof(struct job)) + line_bytes(s));
	cluster_copy(f, s->c, scratch);
	f->p = plan_clone(s->p);
	f->p->cluster = &f->c;
	f->s = sched_clone(s, &f->c, f->p, scratch);
	f->now = s->now;
	f->patience = PATIENCE;
	sched_listen(f->s, on_event, f);
	for (uint32_t n = 0; n < f->p->nnodes; n++)
		for (size_t i = 0; i < f->p->node[n].pieces.n; i++) {
			const struct piece *x = &f->p->node[n].pieces.v[i];
			const struct job *job = cluster_job(&f->c, x->job);
			if (!x->running || x->frag != 0)
				continue;
			heap_push(&f->ends, end_of(f, x->job, victims_end(f->s, x->job)), x->job, job->attempt);
			if (job->state == STATE_NOW)
				vec_push(&f->ordered, x->job);
		}
	confirm(f);
	return f;
}

void forecast_fences(struct forecast *f, const struct node_fence *fences, size_t n, const uint32_t *keys, size_t nkeys)
{
	ROWS_EACH(&f->c.jobs, id) {
		if (id < nkeys)
			cluster_job(&f->c, id)->keys = keys[id];
	}
	sched_fences(f->s, fences, n, f->now);
}

void forecast_destroy(struct forecast *f)
{
	if (!f)
		return;
	sched_destroy(f->s);
	plan_destroy(f->p);
	rows_free(&f->c.jobs);
	vec_free(&f->c.nodes);
	vec_free(&f->c.partitions);
	vec_free(&f->c.nodesets);
	vec_free(&f->c.amounts);
	vec_free(&f->c.shapes);
	vec_free(&f->c.requests);
	vec_free(&f->c.features.sets);
	map_fini(&f->known);
	heap_fini(&f->ends);
	vec_free(&f->ordered);
	gate_destroy(f->gate);
	free(f);
}

struct sched *forecast_sched(struct forecast *f)
{
	return f->s;
}

struct cluster *forecast_cluster(struct forecast *f)
{
	return &f->c;
}

struct plan *forecast_plan(struct forecast *f)
{
	return f->p;
}

const struct job *forecast_job(const struct forecast *f, uint32_t job)
{
	return cluster_job(&f->c, job);
}

void forecast_pace(struct forecast *f, uint64_t work)
{
	sched_pace(f->s, work);
}

struct gate *forecast_gate(struct forecast *f, const struct gate *g)
{
	f->gate = gate_clone(g);
	return f->gate;
}

void forecast_rank(struct forecast *f, uint32_t id, double rank)
{
	struct job *job = cluster_job(&f->c, id);
	bool waits = job_waits(job);

	if (waits)
		sched_withdraw(f->s, id, f->now);
	job->rank = rank;
	if (waits) {
		sched_readmit(f->s, id, f->now);
		sched_rank(f->s);
	}
}

void forecast_submit(struct forecast *f, uint32_t job, int64_t now, bool held)
{
	f->now = now;
	sched_submit(f->s, job, now);
	if (held)
		sched_hold(f->s, job, now);
}

uint32_t forecast_copies(struct forecast *f, uint32_t job, uint32_t n, const struct limit_party *party, int64_t most)
{
	uint32_t class = cluster_job(&f->c, job)->limits;

	if (f->s->limits && n > 1) {
		limits_set(f->s->limits, LIMIT_ARRAY, party->array, most ? most : -1);
		class = limits_class(f->s->limits, party);
	}
	f->copy = f->c.jobs.n;
	f->ncopies = n;
	for (uint32_t i = 0; i < n; i++) {
		struct job *x = cluster_add_job(&f->c);
		uint32_t id = x->id;
		*x = *cluster_job(&f->c, job);
		x->id = id;
		x->limits = class;
	}
	return f->copy;
}

/* Releases a held job that nothing blocks any more. */
static bool gate_opened(struct forecast *f, uint32_t job)
{
	if (gate_blocks(f->gate, job) || cluster_job(&f->c, job)->state != STATE_HELD)
		return false;
	sched_release(f->s, job, f->now);
	return true;
}

/* Releases jobs that have become eligible. Returns true if there were any. */
static bool gate_open(struct forecast *f)
{
	enum gate_news news;
	bool any = false;
	uint32_t job;

	if (!f->gate)
		return false;
	while ((news = gate_news(f->gate, &job, NULL)) != NEWS_NONE) {
		if (news == NEWS_FREED)
			any |= gate_opened(f, job);
		else if (news == NEWS_DOOMED)
			sched_delete(f->s, job, f->now, NULL);
	}
	while (gate_due(f->gate, f->now, &job))
		any |= gate_opened(f, job);
	return any;
}

/* Runs the cycles of one instant: a start may open a gate for another job. */
static void decide(struct forecast *f)
{
	do {
		gate_open(f);
		f->goes_on = !sched_cycle(f->s, f->now);
		confirm(f);
	} while (!f->goes_on && gate_open(f));
}

/* Returns true if a start may still be reported. Jobs that take turns, a time slice each, would
 * start again without end: nothing of their progress is known here. So from time to time it looks
 * for a job that has not been reported. */
static bool anyone_waits(struct forecast *f)
{
	if (f->gate && gate_pending(f->gate) > 0)
		return true;
	if (sched_waiting(f->s) == 0)
		return false;
	if (f->quiet < f->patience)
		return true;
	f->patience = f->quiet * 2;
	ROWS_EACH(&f->c.jobs, id) {
		if (job_waits(cluster_job(&f->c, id)) && !is_known(f, id))
			return true;
	}
	f->patience = 0;
	return false;
}

/* Finds the next valid end: ends of stopped attempts are dropped, those of jobs that are now
 * planned to run longer are postponed. */
static bool next_end(struct forecast *f, struct heap_item *ret)
{
	while (heap_peek(&f->ends, ret)) {
		const struct job *job = cluster_job(&f->c, (uint32_t)ret->tie);
		bool runs = job->state == STATE_RUNNING && job->attempt == ret->value;
		int64_t end = runs ? end_of(f, job->id, victims_end(f->s, job->id)) : 0;
		if (runs && end <= ret->time)
			return true;
		heap_pop(&f->ends, ret);
		if (runs)
			heap_push(&f->ends, end, job->id, job->attempt);
	}
	return false;
}

/* Advances to the next end or wake-up of the scheduler. Returns false if nothing will ever
 * happen. */
static bool step(struct forecast *f)
{
	struct heap_item end;
	bool ends = next_end(f, &end);
	int64_t at = sched_next_wake(f->s);

	if (f->goes_on) {
		decide(f);
		return true;
	}
	if (f->gate && gate_next(f->gate) < at)
		at = gate_next(f->gate);
	if (ends && end.time <= at)
		at = end.time;
	if (at == TIME_NEVER)
		return false;
	if (at > f->now)
		f->now = at;
	if (ends && end.time <= f->now) {
		heap_pop(&f->ends, &end);
		sched_finish(f->s, (uint32_t)end.tie, f->now, NULL);
	}
	decide(f);
	return true;
}

bool forecast_run(struct forecast *f, size_t cycles, forecast_told told, void *context)
{
	bool more = true;

	f->told = told;
	f->context = context;
	if (!f->begun) {
		decide(f);
		f->begun = true;
	}
	while (more && f->told && anyone_waits(f) && cycles-- > 0) {
		more = step(f);
		f->quiet++;
	}
	return !more || !anyone_waits(f);
}

/* ---- rough forecast of the rest ---- */

/* The CPUs of all nodes, as if they were one node. */
struct pool {
	int64_t now, free, all;
	struct heap ends; /* (end, job, CPUs) */
};

static void pool_begin(struct pool *x, struct forecast *f)
{
	struct heap_item end;

	x->now = f->now;
	for (uint32_t n = 0; n < f->c.nodes.n; n++)
		if (sched_node_open(f->s, n))
			x->all += f->c.nodes.v[n].total.v[RES_CPU];
	x->free = x->all;
	while (next_end(f, &end)) {
		int64_t cpus = request_cpus(cluster_job_request(&f->c, cluster_job(&f->c, (uint32_t)end.tie)));
		heap_pop(&f->ends, &end);
		heap_push(&x->ends, end.time, end.tie, (uint64_t)cpus);
		x->free -= cpus;
	}
}

/* Lets time pass until there is room. Returns false if there never is. */
static bool pool_wait(struct pool *x, int64_t cpus)
{
	struct heap_item end;

	if (cpus > x->all)
		return false;
	while (x->free < cpus && heap_pop(&x->ends, &end)) {
		x->free += (int64_t)end.value;
		x->now = end.time > x->now ? end.time : x->now;
	}
	return x->free >= cpus;
}

/* Lists waiting jobs in the scheduler's order. Jobs that wait for a limit have no position in it
 * and are merged in by id. */
static void rest_order(struct forecast *f, job_vec *ret)
{
	job_vec order = {0};
	struct map listed = {0};
	uint64_t known;
	size_t at = 0;

	sched_order(f->s, &order);
	for (size_t i = 0; i < order.n; i++)
		map_set(&listed, order.v[i], 1);
	ROWS_EACH(&f->c.jobs, id) {
		if (!job_waits(cluster_job(&f->c, id)) || map_get(&listed, id, &known))
			continue;
		while (at < order.n && order.v[at] < id)
			vec_push(ret, order.v[at++]);
		vec_push(ret, id);
	}
	while (at < order.n)
		vec_push(ret, order.v[at++]);
	vec_free(&order);
	map_fini(&listed);
}

void forecast_rest(struct forecast *f, forecast_told told, void *context)
{
	struct pool pool = {0};
	job_vec rest = {0};
	bool more = true;

	rest_order(f, &rest);
	pool_begin(&pool, f);
	for (size_t i = 0; i < rest.n && more; i++) {
		const struct job *job = cluster_job(&f->c, rest.v[i]);
		int64_t cpus = request_cpus(cluster_job_request(&f->c, job)), end;
		if (is_known(f, job->id) || !pool_wait(&pool, cpus))
			continue;
		end = pool.now + cluster_run(&f->c, job);
		pool.free -= cpus;
		heap_push(&pool.ends, end, job->id, (uint64_t)cpus);
		more = told(context, &(struct foreseen){.start = pool.now, .end = end, .job = job->id, .rough = true});
	}
	heap_fini(&pool.ends);
	vec_free(&rest);
}

/* The job of a what-if question, or the elements of its array. */
struct asked {
	struct forecast *f;
	int32_t *nodes;
	uint32_t job, n;
};

static bool asked_one(void *context, const struct foreseen *x)
{
	struct asked *a = context;
	struct forecast *f = a->f;

	if (x->job < a->job || x->job - a->job >= a->n)
		return true;
	if (f->told_of++ == 0) {
		f->answer.start = x->start;
		memcpy(a->nodes, x->nodes, x->nnodes * sizeof *x->nodes);
	}
	f->answer.last = x->start;
	f->guaranteed += x->guaranteed;
	return f->told_of < a->n;
}

void forecast_whatif(struct forecast *f, uint32_t job, size_t cycles, struct whatif *ret, int32_t *nodes)
{
	struct asked a = {f, nodes, job, f->ncopies && job == f->copy ? f->ncopies : 1};
	bool over = forecast_run(f, cycles, asked_one, &a), all = f->told_of == a.n;

	*ret = (struct whatif){
		.start = f->told_of ? f->answer.start : TIME_NEVER,
		.last = all ? f->answer.last : TIME_NEVER,
		.guaranteed = f->guaranteed == a.n || (a.n == 1 && cluster_job(&f->c, job)->guaranteed),
		.open = !over && !all,
	};
}
