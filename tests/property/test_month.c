/*
 * test_month.c - simulated months of a machine with partitions under the policy artaras: normal,
 * priority, interactive and nice jobs of users with quota, displacements, announced shutdowns, and
 * a month that turns while jobs run.
 *
 * A job whose deadline was guaranteed meets it. Nobody starts later than was predicted unless
 * something unforeseen happened: a job with a deadline or an interactive one came, a shutdown was
 * announced or began; nice jobs also let normal ones pass. What is left of each quota is what a
 * second computation, from the jobs alone, says, and the moves of the month add up to it.
 *
 * SHUNT_CASES=10000 tries that many months; SHUNT_SEED=n one of them again, and shows it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timetext.h"
#include "rules/partition.h"
#include "rules/quota.h"
#include "sched/sched.h"
#include "sim/machine.h"

#define JOBS 150
#define USERS 3
#define OUTAGES 2
#define HOUR 3600
#define DAY (24 * HOUR)
#define BEGIN INT64_C(1799539200) /* 2027-01-10 00:00 UTC */
#define PERCENT 75

struct life {
	int64_t submit, walltime, run, deadline, nice, procs;
	int64_t over; /* seconds that it is there beyond its walltime, if it does not end before */
	int user;
	bool interactive;
	/* what became of it */
	uint32_t id;	 /* JOB_NONE: not submitted yet, or refused */
	int64_t promise; /* start that was predicted; TIME_NEVER: nothing was */
	int64_t start, end, ran;
	bool guaranteed, started, urgent, settled;
	struct quota_claim claim;
	int64_t claimed; /* the second computation's: seconds, */
	enum quota_type type;
	int32_t month; /* month of that claim */
};

struct outage {
	int64_t told, begin, until;
};

struct account {
	struct quota quota;
	int64_t moved[QUOTA_TYPES]; /* what the moves of the month add up to */
	int64_t left[QUOTA_TYPES];  /* the second computation */
	int32_t month;		    /* month that these are for */
};

struct month {
	struct cluster *c;
	struct plan *p;
	struct sched *s;
	int64_t ending; /* seconds that the end of a job may take */
	struct life job[JOBS];
	uint32_t of[JOBS]; /* core id -> job */
	uint32_t next;
	struct account user[USERS];
	struct outage outage[OUTAGES];
	int64_t now;
	bool show, unforeseen, normal;
	char wrong[200];
	uint64_t seed;
};

static const int64_t limits[QUOTA_TYPES] = {300 * HOUR, 60 * HOUR, 10 * HOUR};
static int jobs, refused, downgraded, guaranteed, displaced, shutdowns, across;

static void wrong(struct month *m, const char *what, uint32_t i, int64_t is, int64_t was)
{
	if (!*m->wrong)
		snprintf(m->wrong, sizeof m->wrong, "seed %llu, at %lld: job %u %s: %lld, and it was to be %lld",
			 (unsigned long long)m->seed, (long long)(m->now - BEGIN), i, what, (long long)is,
			 (long long)was);
}

/* ---- quota, twice ---- */

static void moves_add(struct account *a, const struct quota_moves *moves)
{
	for (size_t i = 0; i < moves->n; i++) {
		if (moves->v[i].cause == QUOTA_MONTH)
			a->moved[moves->v[i].type] = 0; /* a book for each month */
		a->moved[moves->v[i].type] += moves->v[i].seconds;
	}
}

static void month_turn(struct account *a, int32_t month)
{
	if (a->month != month)
		memcpy(a->left, limits, sizeof a->left);
	a->month = month;
}

static void books_check(struct month *m, uint32_t i)
{
	const struct account *a = &m->user[m->job[i].user];

	for (int type = 0; type < QUOTA_TYPES; type++) {
		if (a->quota.left[type] != a->left[type])
			wrong(m, "leaves of the quota", i, a->quota.left[type], a->left[type]);
		if (a->quota.left[type] != a->moved[type])
			wrong(m, "leaves in the book", i, a->moved[type], a->quota.left[type]);
	}
}

/* Returns true if it may come in; a priority job over its quota is a normal one. */
static bool charge(struct month *m, uint32_t i)
{
	struct life *x = &m->job[i];
	struct account *a = &m->user[x->user];
	enum quota_type type = x->interactive		   ? QUOTA_INTERACTIVE
			       : x->deadline != TIME_NEVER ? QUOTA_PRIORITY
							   : QUOTA_NORMAL;
	struct quota_moves moves;
	int32_t month = month_of(m->now);
	bool good;

	month_turn(a, month);
	good = quota_take(&a->quota, type, x->walltime, month, &x->claim, &moves, NULL) == 0;
	moves_add(a, &moves);
	if (good != (x->walltime <= a->left[type]))
		wrong(m, "is taken in by its quota", i, good, !good);
	if (!good && type == QUOTA_PRIORITY) {
		type = QUOTA_NORMAL;
		good = quota_take(&a->quota, type, x->walltime, month, &x->claim, &moves, NULL) == 0;
		moves_add(a, &moves);
		x->deadline = TIME_NEVER;
		downgraded += good;
	}
	if (good) {
		a->left[type] -= x->walltime;
		x->claimed = x->walltime;
		x->type = type;
		x->month = month;
	}
	books_check(m, i);
	refused += !good;
	return good;
}

static void settle(struct month *m, uint32_t i)
{
	struct life *x = &m->job[i];
	struct account *a = &m->user[x->user];
	struct quota_use use = {.seconds = x->ran, .started = x->started, .urgent = x->urgent, .percent = PERCENT};
	struct quota_moves moves;
	int64_t used = x->ran < x->claimed ? x->ran : x->claimed, back = (x->claimed - used) * PERCENT / 100;

	quota_settle(&a->quota, &x->claim, &use, month_of(m->now), &moves);
	moves_add(a, &moves);
	month_turn(a, month_of(m->now));
	x->settled = true;
	if (!x->started)
		back = x->claimed;
	if (x->month != a->month) { /* nothing comes back from another month */
		across++;
	} else if (x->started && x->type == QUOTA_PRIORITY && !x->urgent &&
		   x->claimed - back <= a->left[QUOTA_NORMAL]) {
		a->left[QUOTA_PRIORITY] += x->claimed;
		a->left[QUOTA_NORMAL] -= x->claimed - back;
	} else {
		a->left[x->type] += back;
	}
	books_check(m, i);
}

/* ---- what the scheduler does ---- */

static bool is_urgent(const struct month *m, uint32_t id)
{
	for (uint32_t other = 0; other < id; other++)
		if (job_waits(cluster_job(m->c, other)) && cluster_job(m->c, other)->kind == KIND_COMMON)
			return true;
	return false;
}

static int64_t saving_of(void *context, uint32_t job)
{
	const struct month *m = context;

	return cluster_job(m->c, job)->saving;
}

/* It is stopped so early that the other is in time even if all of its checkpoint's duration is
 * needed. */
static void stop_check(struct month *m, const struct event *e)
{
	const struct life *by = e->by == JOB_NONE ? NULL : &m->job[m->of[e->by]];
	int64_t gone = e->time + cluster_job(m->c, e->job)->saving;

	if (by && by->guaranteed && gone + by->walltime > by->deadline)
		wrong(m, "may have to wait for its victim", m->of[e->by], gone - BEGIN, by->deadline - BEGIN);
}

static void on_event(void *context, const struct event *e)
{
	struct month *m = context;
	uint32_t i = m->of[e->job];
	struct life *x = &m->job[i];

	if (m->show)
		print_message("# %lld: %s job %u at %lld\n", (long long)(e->time - BEGIN), event_type_name(e->type), i,
			      (long long)(e->at ? e->at - BEGIN : 0));
	if (e->type == EVENT_START) {
		if (e->time > x->promise)
			wrong(m, "starts", i, e->time - BEGIN, x->promise - BEGIN);
		x->start = e->time;
		x->end = e->time + x->run + x->over;
		x->started = true;
		x->urgent = is_urgent(m, e->job);
	} else if (e->type == EVENT_PREEMPT) { /* it continues from its checkpoint */
		x->ran += e->time - x->start;
		x->run -= e->time - x->start < x->run ? e->time - x->start : x->run - 1;
		x->promise = x->end = TIME_NEVER;
		displaced++;
		stop_check(m, e);
	} else if (e->type == EVENT_GUARANTEE) {
		x->guaranteed = true;
		guaranteed++;
	} else if (e->type == EVENT_EXPIRE) {
		if (!x->interactive)
			wrong(m, "has expired", i, 0, 0);
		settle(m, i);
	}
}

/* ---- a month ---- */

static void jobs_make(struct month *m, struct rng *r)
{
	int64_t at = BEGIN;

	for (uint32_t i = 0; i < JOBS; i++) {
		struct life *x = &m->job[i];
		uint64_t type = rng_below(r, 10);
		*x = (struct life){.deadline = TIME_NEVER, .promise = TIME_NEVER, .end = TIME_NEVER, .id = JOB_NONE};
		at += rng_range(r, 0, 10 * HOUR);
		x->submit = at;
		x->user = (int)rng_below(r, USERS);
		x->walltime = rng_range(r, HOUR / 6, 30 * HOUR);
		x->procs = rng_range(r, 1, 3);
		if (type < 2) {
			x->deadline = at + x->walltime + rng_range(r, 0, 4 * DAY);
		} else if (type < 4) {
			x->nice = at + rng_range(r, 1, 5 * DAY);
		} else if (type < 5) {
			x->interactive = true;
			x->walltime = rng_range(r, HOUR / 6, 2 * HOUR);
			x->deadline = at + x->walltime;
		}
		x->run = rng_below(r, 3) ? rng_range(r, 1, x->walltime) : x->walltime;
		x->over = x->run == x->walltime ? i * 13 % (m->ending + 1) : 0;
	}
	for (int i = 0; i < OUTAGES; i++) {
		struct outage *o = &m->outage[i];
		o->told = rng_below(r, 3) ? BEGIN + (1 + 15 * i) * DAY + rng_range(r, 0, 10 * DAY) : TIME_NEVER;
		o->begin = o->told == TIME_NEVER ? TIME_NEVER : o->told + rng_range(r, HOUR, 2 * DAY);
		o->until = o->begin == TIME_NEVER ? TIME_NEVER : o->begin + rng_range(r, HOUR, 12 * HOUR);
	}
}

static void submit(struct month *m, uint32_t i)
{
	struct life *x = &m->job[i];
	struct partition_ask ask = {.any = true, .procs = x->procs};
	struct partition_choice got;
	struct job *job;

	if (!charge(m, i))
		return;
	jobs++;
	m->unforeseen |= x->deadline != TIME_NEVER;
	m->normal = true;
	job = cluster_add_job(m->c);
	m->of[job->id] = i;
	x->id = job->id;
	assert_int_equal(partition_choose(m->c, &ask, &got, NULL), 0);
	job->request = partition_request(m->c, &got);
	job->allowed = got.allowed;
	job->walltime = x->walltime;
	job->ending = m->ending;
	job->deadline = x->deadline;
	job->interactive = x->interactive;
	job->kind = x->interactive ? KIND_EMERGENCY : x->deadline == TIME_NEVER ? KIND_COMMON : KIND_QOS;
	job->nice = x->nice;
	job->saving = x->deadline == TIME_NEVER && i % 3 ? 120 : 0; /* it may start shortly before a shutdown */
	sched_submit(m->s, job->id, m->now);
}

static void finish(struct month *m, uint32_t i)
{
	struct life *x = &m->job[i];

	if (x->guaranteed && m->now - x->over > x->deadline)
		wrong(m, "ends", i, m->now - BEGIN, x->deadline - BEGIN);
	x->ran += m->now - x->start - x->over;
	x->end = TIME_NEVER;
	sched_finish(m->s, x->id, m->now, NULL);
	settle(m, i);
}

/* What was promised before is void: that was not foreseen. */
static void announce(struct month *m, struct outage *o)
{
	sched_outage(m->s, o->begin, o->until, true, m->now);
	for (uint32_t i = 0; i < JOBS; i++)
		m->job[i].guaranteed = false;
	o->told = TIME_NEVER;
	m->unforeseen = true;
	shutdowns++;
}

/* What runs is saved and stopped, and continues afterwards. */
static void shut_down(struct month *m, struct outage *o)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		if (m->job[i].id == JOB_NONE || cluster_job(m->c, m->job[i].id)->state != STATE_RUNNING)
			continue;
		if (m->job[i].interactive)
			finish(m, i);
		else
			sched_requeue(m->s, m->job[i].id, m->now, NULL);
	}
	o->begin = TIME_NEVER;
	m->unforeseen = true;
}

/* The next thing of this instant; false: there is none. */
static bool happen(struct month *m)
{
	for (uint32_t i = 0; i < JOBS; i++)
		if (m->job[i].end <= m->now) {
			finish(m, i);
			return true;
		}
	for (int i = 0; i < OUTAGES; i++)
		if (m->outage[i].told <= m->now || m->outage[i].begin <= m->now) {
			(m->outage[i].told <= m->now ? announce : shut_down)(m, &m->outage[i]);
			return true;
		}
	if (m->next < JOBS && m->job[m->next].submit <= m->now) {
		submit(m, m->next++);
		return true;
	}
	return false;
}

static int64_t next_instant(const struct month *m)
{
	int64_t at = sched_next_wake(m->s);

	if (m->next < JOBS && m->job[m->next].submit < at)
		at = m->job[m->next].submit;
	for (uint32_t i = 0; i < JOBS; i++)
		if (m->job[i].end < at)
			at = m->job[i].end;
	for (int i = 0; i < OUTAGES; i++) {
		const struct outage *o = &m->outage[i];
		if (o->told < at || (o->told == TIME_NEVER && o->begin < at))
			at = o->told < at ? o->told : o->begin;
	}
	return at;
}

static void check(struct month *m)
{
	plan_check(m->p);
	for (uint32_t i = 0; i < JOBS; i++) {
		struct life *x = &m->job[i];
		int64_t planned;
		if (x->id == JOB_NONE || !job_waits(cluster_job(m->c, x->id)))
			continue;
		planned = sched_planned(m->s, x->id);
		if (planned == TIME_NEVER)
			wrong(m, "has no predicted start", i, planned, 0);
		if (planned > x->promise)
			wrong(m, "is predicted to start", i, planned - BEGIN, x->promise - BEGIN);
		if (x->guaranteed && planned + x->walltime > x->deadline)
			wrong(m, "misses its deadline, planned", i, planned + x->walltime - BEGIN, x->deadline - BEGIN);
		x->promise = planned;
	}
}

static void step(struct month *m)
{
	m->unforeseen = m->normal = false;
	happen(m);
	for (uint32_t i = 0; i < JOBS; i++)
		if (m->unforeseen || (m->normal && m->job[i].nice > m->now))
			m->job[i].promise = TIME_NEVER;
	while (!sched_cycle(m->s, m->now))
		;
	for (uint32_t id = 0; id < m->c->jobs.n; id++)
		if (cluster_job(m->c, id)->state == STATE_NOW)
			sched_started(m->s, id, m->now);
	check(m);
}

static void live(uint64_t seed, bool show)
{
	static const char *const machines[] = {"parts:1,2,3", "parts:3,3", "parts:1,1,3", "parts:3,3,3"};
	struct month m = {.seed = seed, .show = show, .now = BEGIN, .ending = seed % 2 ? 60 : 0};
	struct quota_moves moves;
	struct rng r;
	struct err err;
	int64_t at;

	rng_seed(&r, seed);
	m.c = cluster_create();
	assert_int_equal(machine_build(m.c, machines[rng_below(&r, 4)], &err), 0);
	m.c->settings.starve_after = TIME_NEVER;
	jobs_make(&m, &r);
	for (int i = 0; i < USERS; i++) {
		quota_set(&m.user[i].quota, limits, 0, month_of(BEGIN), &moves);
		moves_add(&m.user[i], &moves);
		month_turn(&m.user[i], month_of(BEGIN));
	}
	m.p = plan_create(m.c);
	m.s = sched_create(m.c, m.p, policy_find("artaras"));
	sched_listen(m.s, on_event, &m);
	sched_on_delay(m.s, saving_of, &m);
	while ((at = next_instant(&m)) != TIME_NEVER && !*m.wrong) {
		if (at > m.now)
			m.now = at;
		step(&m);
	}
	for (uint32_t i = 0; i < JOBS && !*m.wrong; i++)
		if (m.job[i].id != JOB_NONE && (!job_ended(cluster_job(m.c, m.job[i].id)) || !m.job[i].settled))
			wrong(&m, "has not ended", i, 0, 0);
	sched_destroy(m.s);
	plan_destroy(m.p);
	cluster_destroy(m.c);
	if (*m.wrong)
		fail_msg("%s", m.wrong);
}

static void months_keep_their_promises(void **state)
{
	const char *cases = getenv("SHUNT_CASES"), *seed = getenv("SHUNT_SEED");
	uint64_t n = cases ? strtoull(cases, NULL, 10) : 40;

	(void)state;
	if (seed) {
		live(strtoull(seed, NULL, 10), true);
		return;
	}
	for (uint64_t i = 1; i <= n; i++)
		live(i, false);
	print_message(
		"# %llu months: %d jobs, %d refused by quota, %d priority jobs taken as normal ones, %d guaranteed, %d displaced or "
		"stopped, %d shutdowns, %d jobs across the end of a month\n",
		(unsigned long long)n, jobs, refused, downgraded, guaranteed, displaced, shutdowns, across);
	assert_true(jobs && refused && downgraded && guaranteed && displaced && shutdowns && across);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(months_keep_their_promises)};

	setenv("TZ", "UTC", 1);
	tzset();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
