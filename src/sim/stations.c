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

#define MINUTE 60.0 /* units of time over which loads are averaged */
#define BAND 0.1    /* change of a fraction that is reported; a count is reported when it changes */
#define EPSILON 1e-9

/* mean; for a parallel job the total of its tasks */
static const double demand[CLASSES] = {1, 100, 1000};
static const double edge = 0.5;

struct pjob {
	int64_t number;
	double arrived;
	int home, tasks, left; /* left: tasks that have not ended */
	double need[GRAPH_TASKS], path[GRAPH_TASKS];
	uint32_t after[GRAPH_TASKS]; /* bit mask of tasks that wait for this one */
	int before[GRAPH_TASKS];     /* number of tasks that this one waits for */
};

struct process {
	enum station_class class;
	double left, arrived;
	struct pjob *job;
	int task;
	uint64_t came; /* order of arrival at the station */
	bool started;  /* a station of a pool runs it */
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
	uint64_t came; /* processes that have arrived so far */
	/* bench/pool: processor time left of this period's quota, and when the next period begins;
	 * a station that has used too much is stopped, with its daemon, until some is left again */
	double quota, refill;
	bool stopped;
};

enum message_kind {
	MESSAGE_SUBMIT, /* a user's new job, to its origin */
	MESSAGE_START,	/* a task, to its host */
	MESSAGE_DONE,	/* the end of a task, to its origin */
	MESSAGE_TICK,	/* a station's timer: it reports its load */
	MESSAGE_REPORT, /* a station's load, to another one */
};

/* A message to a station that is stopped. */
struct message {
	double at; /* when it is read */
	enum message_kind kind;
	int to, host;
	struct process task;
	struct load load; /* MESSAGE_REPORT: that of `host` */
};

struct network {
	const struct stations_case *c;
	int n; /* stations */
	struct station s[STATIONS];
	struct load table[STATIONS][STATIONS]; /* each station's knowledge of all others */
	/* each station's tasks at all others or on their way, until it knows of their end */
	int own[STATIONS][STATIONS];
	int turn[STATIONS];
	/* our tasks that have no station yet; those of a job lie together, the most urgent first */
	VEC(struct process) waiting;
	VEC(struct message) mail; /* messages under way, the first to be read first */
	struct rng rng[CLASSES], where[CLASSES];
	double arrival[CLASSES], now, report;
	int reporter; /* station of a pool that reports next */
	double capacity, measured_from;
	int64_t jobs_arrived, jobs_open;     /* jobs_open: measured jobs that have not ended */
	int64_t reports, begun[BENCH_USERS]; /* begun: jobs of bench/pool's users */
	double sum[CLASSES];
	struct stations_result r;
};

/* Returns true if stations work as the pool's daemon makes them. */
static bool is_pool(const struct network *n)
{
	return n->c->discipline == DISCIPLINE_POOL || n->c->discipline == DISCIPLINE_POOL_SHARED;
}

static bool by_class(const struct network *n)
{
	return n->c->discipline == DISCIPLINE_QUANTUM || n->c->discipline == DISCIPLINE_POOL;
}

static double urgency(const struct process *p)
{
	return p->job->path[p->task];
}

/* ---- one station ---- */

static int top_class(const struct station *s)
{
	for (int k = 0; k < CLASSES; k++)
		if (s->count[k])
			return k;
	return -1;
}

/* Starts the next task of ours on a station of a pool that runs none: of the job whose task came
 * first the most urgent, if the policy has priorities. */
static void station_start(const struct network *n, struct station *s)
{
	struct process *first = NULL;

	for (size_t i = 0; i < s->list.n; i++) {
		struct process *p = &s->list.v[i];
		if (p->class != CLASS_PARALLEL)
			continue;
		if (p->started)
			return;
		if (!first || p->came < first->came)
			first = p;
	}
	if (!first)
		return;

	struct process *best = first;

	for (size_t i = 0; i < s->list.n && place_priorities(n->c->rule.policy); i++) {
		struct process *p = &s->list.v[i];
		if (p->job == first->job &&
		    (urgency(p) > urgency(best) || (urgency(p) >= urgency(best) && p->came < best->came)))
			best = p;
	}
	best->started = true;
}

/* Returns true if stations are as fast as a quota of processor time lets them be. */
static bool has_quotas(const struct network *n)
{
	return n->c->bench && !n->c->bench->asleep;
}

/* Returns the speed at which the station serves its processes now. One with a quota has a whole
 * processor until that is used. */
static double speed_now(const struct network *n, const struct station *s)
{
	return !has_quotas(n) ? s->speed : s->stopped ? 0 : 1;
}

/* Returns the share of the processor that a process gets now, times the station's speed. */
static double rate_of(const struct network *n, const struct station *s, size_t i)
{
	const struct process *p = &s->list.v[i];
	int ours = is_pool(n) && s->count[CLASS_PARALLEL] ? 1 : s->count[CLASS_PARALLEL];

	if (p->class == CLASS_PARALLEL && is_pool(n) && !p->started)
		return 0;
	if (!by_class(n))
		return speed_now(n, s) / (s->count[CLASS_INTERACTIVE] + s->count[CLASS_BATCH] + ours);
	if ((int)p->class != s->served)
		return 0;
	return s->speed / (p->class == CLASS_PARALLEL ? ours : s->count[p->class]);
}

/* Returns the part of a station's share of its processor that its daemon uses. */
static double daemon_share(const struct network *n, const struct station *s)
{
	return has_quotas(n) ? n->c->bench->idle / s->speed : 0;
}

/* Returns the share of the processor that the owner's work gets now. */
static double owner_share(const struct network *n, const struct station *s)
{
	double owner = s->count[CLASS_INTERACTIVE] + s->count[CLASS_BATCH];
	int ours = is_pool(n) && s->count[CLASS_PARALLEL] ? 1 : s->count[CLASS_PARALLEL];

	return owner <= 0 ? daemon_share(n, s) : by_class(n) ? 1 : owner / (owner + ours);
}

static void station_pass(const struct network *n, struct station *s, double now)
{
	double dt = now - s->now;

	if (dt <= 0)
		return;
	for (size_t i = 0; i < s->list.n; i++)
		s->list.v[i].left -= dt * rate_of(n, s, i);
	if (s->list.n)
		s->quota -= dt * (has_quotas(n) ? speed_now(n, s) : 0);
	double old = exp(-dt / MINUTE);
	s->idle = s->idle * old + (s->list.n ? 0 : 1 - daemon_share(n, s)) * (1 - old);
	s->free = s->free * old + (1 - owner_share(n, s)) * (1 - old);
	if (n->c->bench && n->c->bench->asleep)
		s->free = s->idle;
	s->now = now;
}

/* Stops a station that has used more than its quota, or lets it continue with the next one; returns
 * when either happens next. */
static double quota_next(const struct network *n, struct station *s)
{
	const struct stations_bench *b = n->c->bench;
	double full = (s->speed - b->idle) * b->period;

	if (s->now >= s->refill - EPSILON) {
		s->quota = fmin(s->quota + full, full);
		s->refill += b->period;
	}
	if (s->quota > EPSILON)
		s->stopped = false;
	else if (s->quota <= EPSILON - b->late)
		s->stopped = true;
	return s->list.n && !s->stopped ? fmin(s->now + s->quota + b->late, s->refill) : s->refill;
}

/* Determines which class is served from now on, and when that changes by itself. */
static void station_settle(const struct network *n, struct station *s)
{
	int top = top_class(s);
	bool others = s->served > top && top >= 0 && s->count[s->served];

	if (is_pool(n))
		station_start(n, s);
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
	if (has_quotas(n))
		s->next = quota_next(n, s);
	for (size_t i = 0; i < s->list.n; i++) {
		double rate = rate_of(n, s, i), at = s->now + (rate > 0 ? s->list.v[i].left / rate : DBL_MAX);
		if (rate > 0 && at < s->next)
			s->next = at > s->now ? at : s->now;
	}
}

/* Returns what the station reports. Those of bench/pool have no owner, and count no processes. */
static struct load load_of(const struct network *n, const struct station *s)
{
	return (struct load){s->speed,
			     s->idle,
			     s->free,
			     s->count[CLASS_PARALLEL],
			     n->c->bench ? 0 : s->count[CLASS_INTERACTIVE],
			     n->c->bench ? 0 : s->count[CLASS_BATCH]};
}

static void station_add(struct network *n, int at, struct process p)
{
	struct station *s = &n->s[at];

	station_pass(n, s, n->now);
	if (n->c->bench && n->c->bench->asleep && p.class == CLASS_PARALLEL)
		p.left += n->c->bench->start * s->speed / (1 + s->count[CLASS_BATCH]);
	p.came = s->came++;
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

/* Keeps a message to a station that is stopped until the station continues; returns false if it
 * can be read at once. */
static bool message_waits(struct network *n, struct message m)
{
	const struct stations_bench *b = n->c->bench;
	struct station *s = &n->s[m.to];
	size_t at = n->mail.n;

	if (!has_quotas(n))
		return false;
	station_pass(n, s, n->now);
	station_settle(n, s);
	if (!s->stopped)
		return false;

	double full = (s->speed - b->idle) * b->period;

	m.at = s->refill + b->period * fmax(0, floor(-s->quota / full));
	while (at > 0 && n->mail.v[at - 1].at > m.at)
		at--;
	vec_insert(&n->mail, at, m);
	return true;
}

static void waiting_add(struct network *n, struct process p)
{
	size_t at = 0;

	while (at < n->waiting.n && n->waiting.v[at].job != p.job)
		at++;
	while (at < n->waiting.n && n->waiting.v[at].job == p.job && urgency(&n->waiting.v[at]) >= urgency(&p))
		at++;
	vec_insert(&n->waiting, at, p);
}

/* Places a task by its origin's table; returns false if no station is to have it yet. The source's
 * stations know their own load; those of a pool have it from their last report, as that of all. */
static bool task_place(struct network *n, const struct process *p)
{
	int home = p->job->home, at;
	struct load *table = n->table[home];

	if (!is_pool(n)) {
		station_pass(n, &n->s[home], n->now);
		table[home] = load_of(n, &n->s[home]);
	}
	at = place_choose(&n->c->rule, table, NULL, n->n, &n->turn[home]);
	if (at == PLACE_NOWHERE)
		return false;
	n->own[home][at]++;
	if (!message_waits(n, (struct message){.kind = MESSAGE_START, .to = at, .task = *p}))
		station_add(n, at, *p);
	return true;
}

/* Places the waiting tasks that some station is to have now. */
static void waiting_place(struct network *n)
{
	bool none[STATIONS] = {false};
	size_t kept = 0;

	for (size_t i = 0; i < n->waiting.n; i++) {
		struct process p = n->waiting.v[i];
		if (none[p.job->home] || !task_place(n, &p)) {
			none[p.job->home] = true;
			n->waiting.v[kept++] = p;
		}
	}
	n->waiting.n = kept;
}

/* ---- jobs ---- */

static void task_ready(struct network *n, struct pjob *j, int task)
{
	waiting_add(
		n,
		(struct process){
			.class = CLASS_PARALLEL, .left = j->need[task], .arrived = j->arrived, .job = j, .task = task});
}

static void job_begins(struct network *n, struct pjob *j)
{
	j->left = j->tasks;
	for (int i = j->tasks; i-- > 0;) {
		double longest = 0;
		for (int k = i + 1; k < j->tasks; k++)
			if (j->after[i] & 1u << k && j->path[k] > longest)
				longest = j->path[k];
		j->path[i] += longest;
	}
	for (int i = 0; i < j->tasks; i++)
		if (!j->before[i])
			task_ready(n, j, i);
	waiting_place(n);
}

static void edge_add(struct pjob *j, int from, int to)
{
	j->after[from] |= 1u << to;
	j->before[to]++;
}

void stations_bench_sizes(uint64_t seed, int user, int64_t n, double ret[BENCH_TASKS])
{
	struct rng r;

	rng_seed(&r, rng_seed_of(rng_seed_of(seed, (uint64_t)user), (uint64_t)n));
	for (int i = 0; i < BENCH_TASKS; i++)
		ret[i] = i < 4 ? 0.3 + 0.3 * rng_unit(&r) : 0.1 + 0.3 * rng_unit(&r);
}

/* Begins the next job of one of the users of bench/pool: a chain of four tasks, and twelve short
 * ones, of which some wait for the chain's beginning. Their users state 3 and 1 as their times. */
static void bench_job(struct network *n, int user)
{
	const struct stations_bench *b = n->c->bench;
	struct pjob *j = mem_zalloc(sizeof *j);
	double size[BENCH_TASKS];

	j->home = user;
	j->tasks = BENCH_TASKS;
	stations_bench_sizes(n->c->seed, user, n->begun[user]++, size);
	for (int i = 0; i < j->tasks; i++) {
		j->need[i] = size[i] * b->unit + (b->asleep ? 0 : b->start);
		j->path[i] = i < 4 ? 3 : 1;
		if (i > 0 && (i < 4 || i % 3 == 0))
			edge_add(j, i < 4 ? i - 1 : 0, i);
	}
	j->number = n->jobs_arrived++;
	j->arrived = n->now;
	n->jobs_open++;
	if (!message_waits(n, (struct message){.kind = MESSAGE_SUBMIT, .to = user, .task = {.job = j}}))
		job_begins(n, j);
}

static void parallel_arrives(struct network *n)
{
	struct pjob *j = mem_zalloc(sizeof *j);
	struct rng *r = &n->where[CLASS_PARALLEL];
	int64_t warm = n->c->jobs / 10;

	j->home = (int)rng_below(r, STATIONS);
	j->tasks = GRAPH_TASKS;
	for (int i = 0; i < GRAPH_TASKS; i++)
		j->need[i] = j->path[i] = rng_exponential(r, demand[CLASS_PARALLEL] / GRAPH_TASKS);
	for (int i = 0; i < GRAPH_TASKS; i++)
		for (int k = i + 1; k < GRAPH_TASKS; k++)
			if (rng_unit(r) < edge)
				edge_add(j, i, k);
	if (n->jobs_arrived == warm)
		n->measured_from = n->now;
	if (n->jobs_arrived >= warm && n->jobs_arrived < warm + n->c->jobs)
		n->jobs_open++;
	j->number = n->jobs_arrived++;
	j->arrived = n->now;
	job_begins(n, j);
}

static void ended(struct network *n, enum station_class class, double arrived)
{
	if (arrived < n->measured_from)
		return;
	n->sum[class] += n->now - arrived;
	n->r.ended[class]++;
}

static void job_ended(struct network *n, struct pjob *j)
{
	int64_t warm = n->c->bench ? 0 : n->c->jobs / 10;
	int user = j->home;

	if (j->number >= warm && j->number < warm + n->c->jobs) {
		ended(n, CLASS_PARALLEL, j->arrived);
		n->jobs_open--;
	}
	free(j);
	if (n->c->bench && n->begun[user] < n->c->jobs / BENCH_USERS)
		bench_job(n, user);
}

static void task_ended(struct network *n, const struct process *p, int at)
{
	struct pjob *j = p->job;
	struct load *known = &n->table[j->home][at];
	int own = --n->own[j->home][at];

	if (is_pool(n) && place_counts(n->c->rule.policy) && known->ours > own)
		known->ours--; /* its origin learns of it at once */
	for (int k = 0; k < j->tasks; k++)
		if (j->after[p->task] & 1u << k && --j->before[k] == 0)
			task_ready(n, j, k);
	if (!--j->left)
		job_ended(n, j);
	waiting_place(n);
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
		if (gone.v[i].class != CLASS_PARALLEL)
			ended(n, gone.v[i].class, gone.v[i].arrived);
		else if (!message_waits(n, (struct message){.kind = MESSAGE_DONE,
							    .to = gone.v[i].job->home,
							    .host = at,
							    .task = gone.v[i]}))
			task_ended(n, &gone.v[i], at);
	vec_free(&gone);
}

static bool left_band(const struct load *a, const struct load *b)
{
	return a->ours != b->ours || a->interactive != b->interactive || a->batch != b->batch ||
	       fabs(a->idle - b->idle) > BAND || fabs(a->free - b->free) > BAND;
}

/* Stores a report at its reader. It may be older than the reader's last tasks there, so it counts
 * at least the tasks that the reader knows of. */
static void report_read(struct network *n, int reader, int i, struct load l)
{
	if (is_pool(n) && place_counts(n->c->rule.policy) && l.ours < n->own[reader][i])
		l.ours = n->own[reader][i];
	n->table[reader][i] = l;
}

static void report_go(struct network *n, int i)
{
	station_pass(n, &n->s[i], n->now);
	if (message_waits(n, (struct message){.kind = MESSAGE_TICK, .to = i}))
		return;

	struct load l = load_of(n, &n->s[i]);

	if (!left_band(&l, &n->s[i].reported))
		return;
	n->s[i].reported = l;
	n->reports++;
	for (int k = 0; k < n->n; k++)
		if (!message_waits(n, (struct message){.kind = MESSAGE_REPORT, .to = k, .host = i, .load = l}))
			report_read(n, k, i, l);
}

/* Lets all of the source's stations report at once, those of a pool one after another. */
static void reports_go(struct network *n)
{
	if (is_pool(n)) {
		report_go(n, n->reporter);
		n->reporter = (n->reporter + 1) % n->n;
		n->report = n->now + n->c->interval / n->n;
	} else {
		for (int i = 0; i < n->n; i++)
			report_go(n, i);
		n->report = n->now + n->c->interval;
	}
	waiting_place(n);
}

static void message_read(struct network *n)
{
	struct message m = n->mail.v[0];

	vec_remove(&n->mail, 0);
	n->now = m.at;
	if (m.kind == MESSAGE_SUBMIT)
		job_begins(n, m.task.job);
	else if (m.kind == MESSAGE_START)
		station_add(n, m.to, m.task);
	else if (m.kind == MESSAGE_DONE)
		task_ended(n, &m.task, m.host);
	else if (m.kind == MESSAGE_TICK)
		report_go(n, m.to);
	else
		report_read(n, m.to, m.host, m.load);
	waiting_place(n);
}

static void step(struct network *n)
{
	int class = 0, at = 0;
	double mail = n->mail.n ? n->mail.v[0].at : DBL_MAX;

	for (int k = 1; k < CLASSES; k++)
		if (n->arrival[k] < n->arrival[class])
			class = k;
	for (int i = 1; i < n->n; i++)
		if (n->s[i].next < n->s[at].next)
			at = i;
	if (mail <= n->report && mail <= n->arrival[class] && mail <= n->s[at].next) {
		message_read(n);
	} else if (n->report <= n->arrival[class] && n->report <= n->s[at].next) {
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

	for (int i = 0; i <= n->n; i++) {
		struct process *v = i < n->n ? n->s[i].list.v : n->waiting.v;
		size_t many = i < n->n ? n->s[i].list.n : n->waiting.n;
		for (size_t k = 0; k < many; k++)
			if (v[k].class == CLASS_PARALLEL && v[k].job->home >= 0) {
				v[k].job->home = -1;
				vec_push(&jobs, v[k].job);
			}
	}
	for (size_t i = 0; i < jobs.n; i++)
		free(jobs.v[i]);
	vec_free(&jobs);
	for (int i = 0; i < n->n; i++)
		vec_free(&n->s[i].list);
	vec_free(&n->waiting);
	vec_free(&n->mail);
	free(n);
}

static void stations_set_up(struct network *n)
{
	static const double source[] = {0.5, 1, 1.5, 2}, bench[] = {0.08, 0.065, 0.05, 0.04, 0.03, 0.025};
	const struct stations_bench *b = n->c->bench;

	n->n = b ? BENCH_STATIONS : STATIONS;
	for (int i = 0; i < n->n; i++) {
		n->s[i] = (struct station){
			.speed = b ? bench[i % 6] : source[i % 4], .served = -1, .idle = 1, .free = 1, .next = DBL_MAX};
		n->capacity += n->s[i].speed;
		n->s[i].reported = load_of(n, &n->s[i]);
		for (int k = 0; k < n->n; k++)
			n->table[k][i] = n->s[i].reported;
	}
	for (int i = 0; i < n->n && b; i++) {
		n->s[i].refill = b->period * rng_unit(&n->where[CLASS_BATCH]);
		station_settle(n, &n->s[i]);
		if (i % 3 == 0)
			station_add(n, i, (struct process){.class = CLASS_BATCH, .left = DBL_MAX});
	}
}

struct stations_result stations_run(const struct stations_case *c)
{
	struct network *n = mem_zalloc(sizeof *n);
	int64_t all = c->bench ? c->jobs / BENCH_USERS * BENCH_USERS : c->jobs + c->jobs / 10;

	n->c = c;
	n->measured_from = c->bench ? 0 : DBL_MAX;
	for (int k = 0; k < CLASSES; k++) {
		rng_seed(&n->rng[k], rng_seed_of(c->seed, (uint64_t)k));
		rng_seed(&n->where[k], rng_seed_of(c->seed, (uint64_t)(CLASSES + k)));
	}
	stations_set_up(n);
	for (int k = 0; k < CLASSES; k++)
		arrival_draw(n, (enum station_class)k);
	n->report = is_pool(n) ? c->interval / n->n : c->interval;
	while (c->bench && n->now < c->bench->warm)
		step(n);
	for (int i = 0; i < BENCH_USERS && c->bench; i++)
		bench_job(n, i);
	while (n->jobs_arrived < all || n->jobs_open)
		step(n);
	for (int k = 0; k < CLASSES; k++)
		n->r.response[k] = n->r.ended[k] ? n->sum[k] / (double)n->r.ended[k] : 0;
	n->r.reports = (double)n->reports / n->n / n->now;
	struct stations_result r = n->r;
	network_free(n);
	return r;
}
