/*
 * stations.c - see stations.h.
 *
 * A station serves its processes by its discipline; their remaining demands are updated when
 * something happens there. Each class of a case has its own random sequences, so that all policies
 * meet the same work.
 */
#include "sim/stations.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"

#define MINUTE 60.0   /* units of time over which loads are averaged */
#define BAND 0.1      /* change of a fraction that is reported; a count is reported when it changes */
#define MOVE_COST 2.0 /* demand added to a task by a move: checkpoint and restart */
#define EPSILON 1e-9

/* mean; for a parallel job the total of its tasks */
static const double demand[CLASSES] = {1, 100, 1000};
static const double edge = 0.5;

struct pjob {
	int64_t number;
	double arrived;
	int home, left; /* left: tasks that have not ended */
	double work;	/* demand of the tasks that have not ended */
	double need[GRAPH_TASKS], path[GRAPH_TASKS];
	uint32_t after[GRAPH_TASKS]; /* bit mask of tasks that wait for this one */
	int before[GRAPH_TASKS];     /* number of tasks that this one waits for */
};

struct process {
	enum station_class class;
	double left, arrived, urgency;
	struct pjob *job;
	int task;
};

struct station {
	double speed, now; /* `left` of its processes is as of `now` */
	VEC(struct process) list;
	int count[CLASSES];
	int served; /* class being served; -1: none */
	/* current quantum; held_until 0: no higher class waits for its end */
	double served_since, held_until;
	double idle, free;
	double next; /* when something happens by itself */
	struct load reported;
};

struct network {
	const struct stations_case *c;
	struct station s[STATIONS];
	struct load table[STATIONS][STATIONS]; /* each station's knowledge of all others */
	int turn[STATIONS];
	VEC(struct process) waiting; /* our tasks that have no station yet */
	struct rng rng[CLASSES], where[CLASSES];
	double arrival[CLASSES], now, report;
	double capacity, measured_from;
	int64_t jobs_arrived, jobs_open; /* jobs_open: measured jobs that have not ended */
	int64_t reports;
	double sum[CLASSES];
	struct stations_result r;
};

static bool by_class(const struct network *n)
{
	return n->c->discipline != DISCIPLINE_SHARED;
}

static bool urgent_first(const struct network *n)
{
	return place_priorities(n->c->rule.policy);
}

/* ---- one station ---- */

static int top_class(const struct station *s)
{
	for (int k = 0; k < CLASSES; k++)
		if (s->count[k])
			return k;
	return -1;
}

/* Returns the task of ours that is served alone, where the queue is ordered by priority; -1: all
 * are served. */
static int most_urgent(const struct network *n, const struct station *s)
{
	int best = -1;

	for (size_t i = 0; urgent_first(n) && i < s->list.n; i++)
		if (s->list.v[i].class == CLASS_PARALLEL &&
		    (best < 0 || s->list.v[i].urgency > s->list.v[best].urgency))
			best = (int)i;
	return best;
}

/* Returns the share of the processor that a process gets now, times the station's speed. */
static double rate_of(const struct network *n, const struct station *s, size_t i, int urgent)
{
	const struct process *p = &s->list.v[i];
	int ours = urgent >= 0 ? 1 : s->count[CLASS_PARALLEL], all = s->count[0] + s->count[1] + ours;

	if (p->class == CLASS_PARALLEL && urgent >= 0 && (int)i != urgent)
		return 0;
	if (!by_class(n))
		return s->speed / all;
	if ((int)p->class != s->served)
		return 0;
	return s->speed / (p->class == CLASS_PARALLEL ? ours : s->count[p->class]);
}

static void station_pass(const struct network *n, struct station *s, double now)
{
	double dt = now - s->now;

	if (dt <= 0)
		return;
	int urgent = most_urgent(n, s);
	for (size_t i = 0; i < s->list.n; i++)
		s->list.v[i].left -= dt * rate_of(n, s, i, urgent);
	double old = exp(-dt / MINUTE);
	s->idle = s->idle * old + (s->list.n ? 0 : 1 - old);
	s->free = s->free * old + (s->count[CLASS_INTERACTIVE] + s->count[CLASS_BATCH] ? 0 : 1 - old);
	s->now = now;
}

/* Determines which class is served from now on, and when that changes by itself. */
static void station_settle(const struct network *n, struct station *s)
{
	int top = top_class(s);
	bool others = s->served > top && top >= 0 && s->count[s->served];

	if (n->c->discipline == DISCIPLINE_QUANTUM && others && s->held_until == 0)
		s->held_until =
			s->served_since + (floor((s->now - s->served_since) / n->c->quantum) + 1) * n->c->quantum;
	if (n->c->discipline != DISCIPLINE_QUANTUM || !others || s->now >= s->held_until - EPSILON) {
		if (s->served != top)
			s->served_since = s->now;
		s->served = top;
		s->held_until = 0;
	}
	s->next = s->held_until > 0 ? s->held_until : DBL_MAX;
	int urgent = most_urgent(n, s);
	for (size_t i = 0; i < s->list.n; i++) {
		double rate = rate_of(n, s, i, urgent), at = s->now + (rate > 0 ? s->list.v[i].left / rate : DBL_MAX);
		if (rate > 0 && at < s->next)
			s->next = at > s->now ? at : s->now;
	}
}

static struct load load_of(const struct station *s)
{
	return (struct load){s->speed,
			     s->idle,
			     s->free,
			     s->count[CLASS_PARALLEL],
			     s->count[CLASS_INTERACTIVE],
			     s->count[CLASS_BATCH]};
}

static void station_add(struct network *n, int at, struct process p)
{
	struct station *s = &n->s[at];

	station_pass(n, s, n->now);
	vec_push(&s->list, p);
	s->count[p.class]++;
	station_settle(n, s);
}

static struct process station_take(struct station *s, size_t i)
{
	struct process p = s->list.v[i];

	s->list.v[i] = s->list.v[--s->list.n];
	s->count[p.class]--;
	return p;
}

/* ---- placement of tasks ---- */

/* Returns true if a station refuses a task under our policy: its owner's work may be newer than
 * the last report. */
static bool refuses(const struct network *n, int at)
{
	return n->c->rule.policy == PLACE_OURS && (n->s[at].count[CLASS_BATCH] || n->s[at].count[CLASS_PARALLEL]);
}

static void task_place(struct network *n, int home, struct process p)
{
	bool usable[STATIONS];
	struct load *table = n->table[home];

	for (int i = 0; i < STATIONS; i++)
		usable[i] = true;
	station_pass(n, &n->s[home], n->now);
	table[home] = load_of(&n->s[home]);
	for (;;) {
		int at = place_choose(&n->c->rule, table, usable, STATIONS, &n->turn[home]);
		if (at == PLACE_NOWHERE) {
			vec_push(&n->waiting, p);
			return;
		}
		if (!refuses(n, at)) {
			station_add(n, at, p);
			return;
		}
		table[at] = load_of(&n->s[at]);
		usable[at] = false;
	}
}

/* Orders waiting tasks: those of the job with the least work first; within a job by the longest
 * path. */
static bool goes_first(const struct process *a, const struct process *b)
{
	if (a->job != b->job)
		return a->job->work < b->job->work;
	return a->urgency > b->urgency;
}

/* Under our policy, gives a station with nothing to do the first waiting task, or else one that
 * would end sooner here than where it runs. */
static void station_pull(struct network *n, int at)
{
	struct station *s = &n->s[at];
	size_t best = 0;

	if (n->c->rule.policy != PLACE_OURS || s->count[CLASS_PARALLEL] || s->count[CLASS_BATCH])
		return;
	for (size_t i = 1; i < n->waiting.n; i++)
		if (goes_first(&n->waiting.v[i], &n->waiting.v[best]))
			best = i;
	if (n->waiting.n) {
		struct process p = n->waiting.v[best];
		n->waiting.v[best] = n->waiting.v[--n->waiting.n];
		station_add(n, at, p);
		return;
	}
	double gain = 0;
	int from = -1;
	size_t which = 0;
	for (int k = 0; k < STATIONS; k++) {
		struct station *o = &n->s[k];
		if (!o->count[CLASS_PARALLEL] || o->speed >= s->speed)
			continue;
		station_pass(n, o, n->now);
		for (size_t i = 0; i < o->list.n; i++) {
			double left = o->list.v[i].left, g = left / o->speed - (left + MOVE_COST) / s->speed;
			if (o->list.v[i].class == CLASS_PARALLEL && g > gain) {
				gain = g;
				from = k;
				which = i;
			}
		}
	}
	if (from < 0)
		return;
	struct process p = station_take(&n->s[from], which);
	station_settle(n, &n->s[from]);
	p.left += MOVE_COST;
	n->r.moves++;
	station_add(n, at, p);
}

/* Moves our tasks away when the owner's batch work has arrived, as they would have to wait for
 * its end. */
static void station_evict(struct network *n, int at)
{
	struct station *s = &n->s[at];

	if (n->c->rule.policy != PLACE_OURS)
		return;
	for (size_t i = s->list.n; i-- > 0;)
		if (s->list.v[i].class == CLASS_PARALLEL) {
			struct process p = station_take(s, i);
			p.left += MOVE_COST;
			n->r.moves++;
			vec_push(&n->waiting, p);
		}
	station_settle(n, s);
	for (int k = 0; k < STATIONS && n->waiting.n; k++) {
		station_pass(n, &n->s[k], n->now);
		station_pull(n, k);
	}
}

/* ---- jobs ---- */

static void task_ready(struct network *n, struct pjob *j, int task)
{
	task_place(n, j->home,
		   (struct process){.class = CLASS_PARALLEL,
				    .left = j->need[task],
				    .arrived = j->arrived,
				    .urgency = j->path[task],
				    .job = j,
				    .task = task});
}

static void parallel_arrives(struct network *n)
{
	struct pjob *j = mem_zalloc(sizeof *j);
	struct rng *r = &n->where[CLASS_PARALLEL];

	*j = (struct pjob){.number = n->jobs_arrived++, .arrived = n->now, .left = GRAPH_TASKS};
	j->home = (int)rng_below(r, STATIONS);
	for (int i = 0; i < GRAPH_TASKS; i++) {
		j->need[i] = rng_exponential(r, demand[CLASS_PARALLEL] / GRAPH_TASKS);
		j->work += j->need[i];
	}
	for (int i = 0; i < GRAPH_TASKS; i++)
		for (int k = i + 1; k < GRAPH_TASKS; k++)
			if (rng_unit(r) < edge) {
				j->after[i] |= 1u << k;
				j->before[k]++;
			}
	for (int i = GRAPH_TASKS; i-- > 0;) {
		double longest = 0;
		for (int k = i + 1; k < GRAPH_TASKS; k++)
			if (j->after[i] & 1u << k && j->path[k] > longest)
				longest = j->path[k];
		j->path[i] = j->need[i] + longest;
	}
	int64_t warm = n->c->jobs / 10;
	if (j->number == warm)
		n->measured_from = n->now;
	if (j->number >= warm && j->number < warm + n->c->jobs)
		n->jobs_open++;
	for (int i = 0; i < GRAPH_TASKS; i++)
		if (!j->before[i])
			task_ready(n, j, i);
}

static void ended(struct network *n, enum station_class class, double arrived)
{
	if (arrived < n->measured_from)
		return;
	n->sum[class] += n->now - arrived;
	n->r.ended[class]++;
}

static void task_ended(struct network *n, const struct process *p)
{
	struct pjob *j = p->job;
	int64_t warm = n->c->jobs / 10;

	j->work -= j->need[p->task];
	for (int k = 0; k < GRAPH_TASKS; k++)
		if (j->after[p->task] & 1u << k && --j->before[k] == 0)
			task_ready(n, j, k);
	if (--j->left)
		return;
	if (j->number >= warm && j->number < warm + n->c->jobs) {
		ended(n, CLASS_PARALLEL, j->arrived);
		n->jobs_open--;
	}
	free(j);
}

/* ---- events ---- */

static void owner_arrives(struct network *n, enum station_class class)
{
	double at = rng_unit(&n->where[class]) * n->capacity;
	int i = 0;

	while (i < STATIONS - 1 && (at -= n->s[i].speed) > 0)
		i++;
	station_add(n, i,
		    (struct process){.class = class,
				     .left = rng_exponential(&n->where[class], demand[class]),
				     .arrived = n->now});
	if (class == CLASS_BATCH && n->s[i].count[CLASS_PARALLEL])
		station_evict(n, i);
}

static void arrival_draw(struct network *n, enum station_class class)
{
	double rate = n->c->load * n->c->share[class] * n->capacity / demand[class];

	n->arrival[class] = rate > 0 ? n->now + rng_exponential(&n->rng[class], 1 / rate) : DBL_MAX;
}

static void arrives(struct network *n, enum station_class class)
{
	arrival_draw(n, class);
	if (class != CLASS_PARALLEL) {
		owner_arrives(n, class);
	} else if (!n->c->alone) {
		parallel_arrives(n);
	} else if (n->jobs_arrived++ == n->c->jobs / 10) {
		n->measured_from = n->now;
	}
}

static void station_happens(struct network *n, int at)
{
	struct station *s = &n->s[at];
	VEC(struct process) gone = {0};

	station_pass(n, s, n->now);
	for (size_t i = s->list.n; i-- > 0;)
		if (s->list.v[i].left <= EPSILON)
			vec_push(&gone, station_take(s, i));
	station_settle(n, s);
	for (size_t i = 0; i < gone.n; i++)
		if (gone.v[i].class == CLASS_PARALLEL)
			task_ended(n, &gone.v[i]);
		else
			ended(n, gone.v[i].class, gone.v[i].arrived);
	if (gone.n)
		station_pull(n, at);
	vec_free(&gone);
}

static bool left_band(const struct load *a, const struct load *b)
{
	return a->ours != b->ours || a->interactive != b->interactive || a->batch != b->batch ||
	       fabs(a->idle - b->idle) > BAND || fabs(a->free - b->free) > BAND;
}

static void reports_go(struct network *n)
{
	for (int i = 0; i < STATIONS; i++) {
		station_pass(n, &n->s[i], n->now);
		struct load l = load_of(&n->s[i]);
		if (!left_band(&l, &n->s[i].reported))
			continue;
		n->s[i].reported = l;
		n->reports++;
		for (int k = 0; k < STATIONS; k++)
			n->table[k][i] = l;
	}
	n->report = n->now + n->c->interval;
}

static void step(struct network *n)
{
	int class = 0, at = 0;

	for (int k = 1; k < CLASSES; k++)
		if (n->arrival[k] < n->arrival[class])
			class = k;
	for (int i = 1; i < STATIONS; i++)
		if (n->s[i].next < n->s[at].next)
			at = i;
	if (n->report <= n->arrival[class] && n->report <= n->s[at].next) {
		n->now = n->report;
		reports_go(n);
	} else if (n->arrival[class] < n->s[at].next) {
		n->now = n->arrival[class];
		arrives(n, (enum station_class) class);
	} else {
		n->now = n->s[at].next;
		station_happens(n, at);
	}
}

static void network_free(struct network *n)
{
	/* Tasks of a job may be on several stations; tasks that wait for an unfinished task are
	 * nowhere. */
	VEC(struct pjob *) jobs = {0};

	for (int i = 0; i <= STATIONS; i++) {
		struct process *v = i < STATIONS ? n->s[i].list.v : n->waiting.v;
		size_t many = i < STATIONS ? n->s[i].list.n : n->waiting.n;
		for (size_t k = 0; k < many; k++)
			if (v[k].class == CLASS_PARALLEL && v[k].job->home >= 0) {
				v[k].job->home = -1;
				vec_push(&jobs, v[k].job);
			}
	}
	for (size_t i = 0; i < jobs.n; i++)
		free(jobs.v[i]);
	vec_free(&jobs);
	for (int i = 0; i < STATIONS; i++)
		vec_free(&n->s[i].list);
	vec_free(&n->waiting);
	free(n);
}

struct stations_result stations_run(const struct stations_case *c)
{
	static const double speeds[] = {0.5, 1, 1.5, 2};
	struct network *n = mem_zalloc(sizeof *n);
	int64_t all = c->jobs + c->jobs / 10;

	n->c = c;
	n->measured_from = DBL_MAX;
	for (int i = 0; i < STATIONS; i++) {
		n->s[i] = (struct station){.speed = speeds[i % 4], .served = -1, .idle = 1, .free = 1, .next = DBL_MAX};
		n->capacity += n->s[i].speed;
		n->s[i].reported = load_of(&n->s[i]);
		for (int k = 0; k < STATIONS; k++)
			n->table[k][i] = n->s[i].reported;
	}
	for (int k = 0; k < CLASSES; k++) {
		rng_seed(&n->rng[k], rng_seed_of(c->seed, (uint64_t)k));
		rng_seed(&n->where[k], rng_seed_of(c->seed, (uint64_t)(CLASSES + k)));
		arrival_draw(n, (enum station_class)k);
	}
	n->report = c->interval;
	while (n->jobs_arrived < all || n->jobs_open)
		step(n);
	for (int k = 0; k < CLASSES; k++)
		n->r.response[k] = n->r.ended[k] ? n->sum[k] / (double)n->r.ended[k] : 0;
	n->r.reports = (double)n->reports / STATIONS / n->now;
	struct stations_result r = n->r;
	network_free(n);
	return r;
}
