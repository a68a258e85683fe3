/*
 * test_position.c - what the policy artaras promises, over random histories on random partitions:
 * the start of every waiting job is known, and as long as no job comes later with a deadline,
 * nobody starts or ends later than was predicted; and a job whose deadline was guaranteed meets it.
 *
 * Jobs end early or at their limits, normal and nice jobs come, and waiting jobs are deleted. A
 * deletion may bring a job with a deadline back to its position in the queue, which is later,
 * within its deadline.
 *
 * SHUNT_CASES=10000 tries that many histories; SHUNT_SEED=n one of them again, and shows it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "rules/partition.h"
#include "sched/sched.h"
#include "sim/machine.h"

#define JOBS 24

struct life {
	int64_t submit, walltime, run, deadline, nice, procs, delete;
	char partition[8];
	bool interactive;
	/* what became of it */
	int64_t promise; /* start that was predicted; TIME_NEVER: nothing was */
	int64_t end;
	bool guaranteed;
};

struct history {
	struct cluster *c;
	struct plan *p;
	struct sched *s;
	struct life job[JOBS];
	uint32_t n;
	int64_t now;
	bool show;
	char wrong[200];
	uint64_t seed;
};

static int guaranteed, not_guaranteed, displaced, early, later;

static void wrong(struct history *h, const char *what, uint32_t id, int64_t is, int64_t was)
{
	if (!*h->wrong)
		snprintf(h->wrong, sizeof h->wrong, "seed %llu, at %lld: job %u %s: %lld, and it was to be %lld",
			 (unsigned long long)h->seed, (long long)h->now, id, what, (long long)is, (long long)was);
}

static void on_event(void *context, const struct event *e)
{
	struct history *h = context;
	struct life *x = &h->job[e->job];

	if (h->show)
		print_message("# %lld: %s job %u at %lld\n", (long long)e->time, event_type_name(e->type), e->job,
			      (long long)e->at);
	if (e->type == EVENT_START) {
		if (e->time > x->promise)
			wrong(h, "starts", e->job, e->time, x->promise);
		early += x->promise != TIME_NEVER && e->time < x->promise;
		x->end = e->time + x->run;
	} else if (e->type == EVENT_PREEMPT || e->type == EVENT_START_FAILED) {
		x->promise = x->end = TIME_NEVER;
		displaced++;
	} else if (e->type == EVENT_GUARANTEE) {
		x->guaranteed = true;
		guaranteed++;
	} else if (e->type == EVENT_EXPIRE && !x->interactive) {
		wrong(h, "has expired", e->job, 0, 0);
	}
}

/* ---- a history ---- */

static void partitions_make(struct history *h, struct rng *r)
{
	static const char *const machines[] = {
		"parts:2",   "parts:1,1",	"parts:2,2,2",
		"parts:1,2", "parts:1,1,2,2,3", "node n[1-2] cpus=2 partition=A\nnode n3 cpus=4 partition=B\n"};
	struct err err;

	h->c = cluster_create();
	if (machine_build(h->c, machines[rng_below(r, sizeof machines / sizeof *machines)], &err) != 0)
		fail_msg("%s", err.text);
}

static void jobs_make(struct history *h, struct rng *r)
{
	int64_t at = 0;
	int64_t gap = rng_range(r, 1, 30);
	bool deletes = rng_below(r, 2), nices = rng_below(r, 2), interactives = rng_below(r, 3) == 0;
	uint64_t urgent = rng_below(r, 3);

	h->n = (uint32_t)rng_range(r, 3, JOBS);
	for (uint32_t i = 0; i < h->n; i++) {
		struct life *x = &h->job[i];
		const struct partition *p = &h->c->partitions.v[rng_below(r, h->c->partitions.n)];
		*x = (struct life){
			.deadline = TIME_NEVER, .promise = TIME_NEVER, .end = TIME_NEVER, .delete = TIME_NEVER};
		at += rng_range(r, 0, gap);
		x->submit = at;
		x->walltime = rng_range(r, 1, 40);
		x->run = rng_below(r, 3) ? x->walltime : rng_range(r, 1, x->walltime);
		x->procs = rng_range(r, 1, p->procs);
		if (rng_below(r, 3) == 0)
			snprintf(x->partition, sizeof x->partition, "%s", cluster_partition_name(h->c, p));
		if (rng_below(r, 6) < urgent)
			x->deadline = at + x->walltime + rng_range(r, 0, 80);
		else if (interactives && rng_below(r, 5) == 0) {
			x->interactive = true;
			x->deadline = at + x->walltime;
		} else if (nices && rng_below(r, 4) == 0)
			x->nice = at + rng_range(r, 0, 100);
		if (deletes && rng_below(r, 5) == 0)
			x->delete = at + rng_range(r, 0, 60);
	}
}

static void submit(struct history *h, uint32_t i)
{
	const struct life *x = &h->job[i];
	struct partition_ask ask = {.name = *x->partition ? x->partition : NULL, .any = true, .procs = x->procs};
	struct partition_choice got;
	struct job *job = cluster_add_job(h->c);

	assert_int_equal(partition_choose(h->c, &ask, &got, NULL), 0);
	job->request = partition_request(h->c, &got);
	job->allowed = got.allowed;
	job->walltime = x->walltime;
	job->deadline = x->deadline;
	job->interactive = x->interactive;
	job->kind = x->interactive ? KIND_EMERGENCY : x->deadline == TIME_NEVER ? KIND_COMMON : KIND_QOS;
	job->nice = x->nice;
	sched_submit(h->s, job->id, h->now);
}

/* What may make a prediction later. */
struct news {
	bool priority; /* a job came with a deadline, or interactively */
	bool removal;  /* a waiting job was deleted */
	bool normal;   /* another came, which nice ones let pass */
};

static void check(struct history *h, const struct news *news)
{
	plan_check(h->p);
	for (uint32_t i = 0; i < h->c->jobs.n; i++) {
		const struct job *job = cluster_job(h->c, i);
		struct life *x = &h->job[i];
		int64_t planned;
		if (!job_waits(job))
			continue;
		planned = sched_planned(h->s, i);
		if (planned == TIME_NEVER)
			wrong(h, "has no predicted start", i, planned, 0);
		bool may = news->priority || (news->removal && job->kind == KIND_QOS) ||
			   ((news->normal || news->removal) && job->nice > h->now);
		if (planned > x->promise && !may)
			wrong(h, "is predicted to start", i, planned, x->promise);
		later += x->promise != TIME_NEVER && planned > x->promise;
		if (x->guaranteed && planned + x->walltime > x->deadline)
			wrong(h, "misses its deadline, planned", i, planned + x->walltime, x->deadline);
		x->promise = planned;
	}
}

/* Starts are confirmed; those of this cycle. */
static void decide(struct history *h, const struct news *news)
{
	while (!sched_cycle(h->s, h->now))
		;
	for (uint32_t i = 0; i < h->c->jobs.n; i++)
		if (cluster_job(h->c, i)->state == STATE_NOW)
			sched_started(h->s, i, h->now);
	check(h, news);
}

static void forget_promises(struct history *h, const struct news *news)
{
	for (uint32_t i = 0; i < h->c->jobs.n; i++) {
		const struct job *job = cluster_job(h->c, i);
		if (news->priority || (news->removal && job->kind == KIND_QOS) ||
		    ((news->normal || news->removal) && job->nice > h->now))
			h->job[i].promise = TIME_NEVER;
	}
}

/* The next thing of this instant; false: there is none. */
static bool happen(struct history *h, struct news *news)
{
	for (uint32_t i = 0; i < h->c->jobs.n; i++)
		if (cluster_job(h->c, i)->state == STATE_RUNNING && h->job[i].end <= h->now) {
			if (h->job[i].guaranteed && h->now > h->job[i].deadline)
				wrong(h, "ends", i, h->now, h->job[i].deadline);
			sched_finish(h->s, i, h->now, NULL);
			return true;
		}
	for (uint32_t i = 0; i < h->c->jobs.n; i++)
		if (h->job[i].delete <= h->now) {
			h->job[i].delete = TIME_NEVER;
			if (!job_waits(cluster_job(h->c, i)))
				continue;
			news->removal = true;
			sched_delete(h->s, i, h->now, NULL);
			return true;
		}
	if (h->c->jobs.n < h->n && h->job[h->c->jobs.n].submit <= h->now) {
		news->priority = h->job[h->c->jobs.n].deadline != TIME_NEVER;
		news->normal = true;
		submit(h, h->c->jobs.n);
		return true;
	}
	return false;
}

static int64_t next_instant(const struct history *h)
{
	int64_t at = sched_next_wake(h->s);

	if (h->c->jobs.n < h->n && h->job[h->c->jobs.n].submit < at)
		at = h->job[h->c->jobs.n].submit;
	for (uint32_t i = 0; i < h->c->jobs.n; i++) {
		if (cluster_job(h->c, i)->state == STATE_RUNNING && h->job[i].end < at)
			at = h->job[i].end;
		if (h->job[i].delete < at)
			at = h->job[i].delete;
	}
	return at;
}

static void run(uint64_t seed, bool show)
{
	struct history h = {.seed = seed, .show = show};
	struct rng r;
	int64_t at;

	rng_seed(&r, seed);
	partitions_make(&h, &r);
	jobs_make(&h, &r);
	h.c->settings.starve_after = TIME_NEVER;
	h.p = plan_create(h.c);
	h.s = sched_create(h.c, h.p, policy_find("artaras"));
	sched_listen(h.s, on_event, &h);
	while ((at = next_instant(&h)) != TIME_NEVER && !*h.wrong) {
		struct news news = {0};
		if (at > h.now)
			h.now = at;
		if (happen(&h, &news))
			forget_promises(&h, &news);
		decide(&h, &news);
	}
	for (uint32_t i = 0; i < h.n && !*h.wrong; i++) {
		not_guaranteed += h.job[i].deadline != TIME_NEVER && !h.job[i].guaranteed && !h.job[i].interactive;
		if (i >= h.c->jobs.n || !job_ended(cluster_job(h.c, i)))
			wrong(&h, "has not ended", i, 0, 0);
	}
	sched_destroy(h.s);
	plan_destroy(h.p);
	cluster_destroy(h.c);
	if (*h.wrong)
		fail_msg("%s", h.wrong);
}

static void promises_are_kept(void **state)
{
	const char *cases = getenv("SHUNT_CASES"), *seed = getenv("SHUNT_SEED");
	uint64_t n = cases ? strtoull(cases, NULL, 10) : 400;

	(void)state;
	if (seed) {
		run(strtoull(seed, NULL, 10), true);
		return;
	}
	for (uint64_t i = 1; i <= n; i++)
		run(i, false);
	print_message("# %d guaranteed, %d not, %d displaced, %d earlier than predicted, %d predictions later\n",
		      guaranteed, not_guaranteed, displaced, early, later);
	assert_true(guaranteed > 100 && not_guaranteed > 10 && displaced > 10 && early > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(promises_are_kept)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
