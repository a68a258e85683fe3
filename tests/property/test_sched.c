/*
 * test_sched.c - properties of the scheduler, on random clusters with random jobs, for several
 * policies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "property/drive.h"
#include "sched/sched_internal.h"

static char message[300];

static const char *verdict(struct drive *d, const char *wrong)
{
	if (wrong)
		snprintf(message, sizeof message, "%s", wrong);
	drive_fini(d);
	return wrong ? message : NULL;
}

/* Nothing held twice, the plan and the jobs as they should be, promises kept, powers respected,
 * nobody forgotten: all that drive.c checks on the way. */
static const char *sound(const struct tcase *t, const struct policy *policy)
{
	struct drive d = {0};

	return verdict(&d, drive_run(&d, t, policy));
}

static const char *repeatable(const struct tcase *t, const struct policy *policy)
{
	struct drive a = {0}, b = {0};
	const char *wrong = drive_run(&a, t, policy);

	if (!wrong)
		wrong = drive_run(&b, t, policy);
	if (!wrong && (a.hash != b.hash || a.record.n != b.record.n))
		wrong = "the same input gave other events";
	drive_fini(&a);
	return verdict(&b, wrong);
}

/* Returns the first event of `a`, or the first start, that `b` does not have at the same
 * instant; NULL: none. */
static const struct event *missing(const struct drive *a, const struct drive *b, bool starts)
{
	for (size_t i = 0; i < a->record.n; i++) {
		const struct event *x = &a->record.v[i].e;
		bool found = starts && x->type != EVENT_START;
		for (size_t k = 0; k < b->record.n && !found; k++) {
			const struct event *y = &b->record.v[k].e;
			found = y->type == x->type && y->job == x->job && y->time == x->time;
		}
		if (!found)
			return x;
	}
	return NULL;
}

/* Returns NULL if every start of the one is at the same instant in the other. */
static const char *same_starts(const struct drive *a, const struct drive *b)
{
	const struct event *x = missing(a, b, true);

	if (!x)
		return NULL;
	snprintf(message, sizeof message, "in slices it decides otherwise: job %u starts at %lld in one only", x->job,
		 (long long)x->time);
	return message;
}

/* A cycle that is cut into many decides what a whole one would. */
static const char *paced_as(const struct tcase *t, const struct policy *policy, bool weighs)
{
	struct drive a = {.pace = PACE_NONE, .weighs = weighs}, b = {.pace = PACE_LEAST, .weighs = weighs};
	const char *wrong = drive_run(&a, t, policy);

	if (!wrong)
		wrong = drive_run(&b, t, policy);
	if (!wrong)
		wrong = same_starts(&a, &b);
	if (!wrong)
		wrong = same_starts(&b, &a);
	drive_fini(&a);
	if (wrong == message) {
		drive_fini(&b);
		return message;
	}
	return verdict(&b, wrong);
}

static const char *paced(const struct tcase *t, const struct policy *policy)
{
	return paced_as(t, policy, false);
}

/* Also where jobs are weighed for it, some at a time. */
static const char *paced_by_weight(const struct tcase *t, const struct policy *policy)
{
	return paced_as(t, policy, true);
}

static int moves;

/* Running jobs that are moved continue at once, elsewhere, and the one that they make room for
 * starts. */
static const char *moved(const struct tcase *t, const struct policy *policy)
{
	struct drive d = {.move_cost = 1 + t->njobs % 3};
	const char *wrong = drive_run(&d, t, policy);

	for (size_t i = 0; i < d.record.n && !wrong; i++) {
		const struct drive_record *x = &d.record.v[i];
		bool goes_on = false, makes_room = false;

		if (x->e.type != EVENT_PREEMPT || x->e.by == JOB_NONE || cluster_job(d.c, x->e.by)->kind != KIND_COMMON)
			continue;
		moves++;
		for (size_t k = i; k < d.record.n && d.record.v[k].e.time == x->e.time; k++) {
			const struct event *e = &d.record.v[k].e;
			goes_on |= e->type == EVENT_START && e->job == x->e.job;
			makes_room |= e->type == EVENT_START && e->job == x->e.by;
		}
		if (goes_on && makes_room)
			continue;
		snprintf(message, sizeof message, "job %u is moved for %u at %lld, and %s", x->e.job, x->e.by,
			 (long long)x->e.time, goes_on ? "that does not start" : "does not go on");
		wrong = message;
	}
	if (wrong == message) {
		drive_fini(&d);
		return message;
	}
	return verdict(&d, wrong);
}

static void cycle_whole(struct sched *s, int64_t now)
{
	while (!sched_cycle(s, now))
		;
}

/* Asked step by step, and all at once. */
static enum keep keep_asked(struct sched *s, uint32_t job, uint64_t work)
{
	int64_t until = cluster_job(s->c, job)->deadline;
	enum keep keep;

	do
		keep = sched_would_keep(s, job, 0, work, &until);
	while (keep == KEEP_UNKNOWN);
	return keep;
}

/* What is said of a deadline before the job is submitted comes true, and nothing is changed by
 * asking. */
static const char *keeps(const struct tcase *t, const struct policy *policy)
{
	struct cluster *c = drive_cluster(t, policy);
	struct drive d = {.t = t};
	const char *wrong = NULL;
	struct plan *p;
	struct sched *s;

	for (int i = 0; i < t->njobs; i++)
		drive_request(c, &t->job[i]);
	p = plan_create(c);
	s = sched_create(c, p, policy);
	sched_on_delay(s, drive_delay, &d);
	sched_pace(s, (uint64_t)(t->njobs % 2));
	for (int i = 0; i < t->njobs && !wrong; i++) {
		struct job *job = drive_add_job(c, t, i, policy);
		cycle_whole(s, 0);				       /* the last one may have made room for some */
		bool asks = job->kind != KIND_COMMON && !s->victims.n; /* a cycle reviews those */
		job->submit = 0;
		struct plan *before = plan_clone(p);
		enum keep whole = asks ? keep_asked(s, job->id, 0) : KEEP_NO,
			  steps = asks ? keep_asked(s, job->id, 1) : KEEP_NO;
		if (whole != steps)
			wrong = "step by step it says otherwise";
		else if (!plan_equal(p, before))
			wrong = "asking has changed the plan";
		plan_destroy(before);
		sched_submit(s, job->id, 0);
		cycle_whole(s, 0);
		if (!wrong && asks && job->guaranteed != (whole == KEEP_YES))
			wrong = whole == KEEP_YES ? "it was to be guaranteed" : "it was not to be guaranteed";
	}
	sched_destroy(s);
	plan_destroy(p);
	cluster_destroy(c);
	if (wrong)
		snprintf(message, sizeof message, "%s", wrong);
	return wrong ? message : NULL;
}

/* An incremental cycle decides what a full one would. */
static const char *incremental(const struct tcase *t, const struct policy *policy)
{
	struct drive a = {0}, b = {.refresh = true};
	const char *wrong = drive_run(&a, t, policy);

	if (!wrong)
		wrong = drive_run(&b, t, policy);
	/* a cycle that continues where it was may start several at a time: then they are confirmed
	 * later than one by one */
	bool same = a.hash == b.hash || (t->njobs % 2 && !wrong && !same_starts(&a, &b) && !same_starts(&b, &a));
	/* a full cycle may use a place that ends now before its job is known to have ended, at
	 * the same instant */
	same |= !t->ends_first && !wrong && !missing(&a, &b, false) && !missing(&b, &a, false);
	if (!wrong && !same) {
		size_t i = 0;
		while (i < a.record.n && i < b.record.n && a.record.v[i].e.job == b.record.v[i].e.job &&
		       a.record.v[i].e.type == b.record.v[i].e.type && a.record.v[i].e.time == b.record.v[i].e.time)
			i++;
		wrong = "a full cycle decides otherwise";
		if (i < b.record.n)
			snprintf(message, sizeof message, "a full cycle decides otherwise: %s of job %u at %lld",
				 event_type_name(b.record.v[i].e.type), b.record.v[i].e.job,
				 (long long)b.record.v[i].e.time);
		wrong = message;
	}
	drive_fini(&a);
	if (wrong == message) {
		drive_fini(&b);
		return message;
	}
	return verdict(&b, wrong);
}

/* Backfill never delays a reservation: a job that has had one starts then or before, unless
 * somebody holds or deletes it, or (EASY, where only the head reserves) an older job is
 * released, or the reservation begins that it is bound to, and it comes before it. Common jobs
 * only: special ones have precedence. */
struct promises {
	int64_t start[CASE_JOBS];
	size_t seen; /* records */
};

static bool reservation_begins(const struct drive *d)
{
	for (int i = 0; i < d->t->nfences; i++)
		if (d->t->fence[i].start == d->now)
			return true;
	return false;
}

/* Under EASY a job has a place only while the reservation is on that it is bound to
 * (fences_too_early): until then it competes with nobody but those who may use it, and in
 * between it has been promised nothing. */
static bool reservation_is_on(const struct drive *d, uint32_t id)
{
	for (int i = 0; i < d->t->nfences; i++)
		if (d->t->fence[i].id == id && d->t->fence[i].start <= d->now && d->now < d->t->fence[i].end)
			return true;
	return false;
}

static void promises_check(struct drive *d)
{
	struct promises *p = d->context;
	bool released = reservation_begins(d);

	for (; p->seen < d->record.n; p->seen++)
		released |= d->record.v[p->seen].e.type == EVENT_RELEASE;
	for (uint32_t i = 0; i < d->c->jobs.n; i++) {
		const struct job *job = cluster_job(d->c, i);
		if (job->state == STATE_HELD || (released && !d->policy->keep))
			p->start[i] = TIME_NEVER;
		if (job->bound && !d->policy->keep && !d->job[i].runs && !reservation_is_on(d, job->bound)) {
			p->start[i] = TIME_NEVER;
			continue;
		}
		int64_t at = TIME_NEVER;
		if (d->job[i].runs)
			at = job->start;
		else if (job->state == STATE_CANDIDATE && plan_holds(d->p, i))
			at = plan_piece(d->p, i, 0)->start;
		else if (job->state != STATE_CANDIDATE)
			continue;
		if (at > p->start[i])
			drive_wrong(d, "job %u had a reservation at %lld and now has %lld", i, (long long)p->start[i],
				    (long long)at);
		p->start[i] = at;
	}
}

static const char *no_delay(const struct tcase *t, const struct policy *policy)
{
	struct promises p = {.seen = 0};
	struct drive d = {.after_cycle = promises_check, .context = &p};

	for (int i = 0; i < CASE_JOBS; i++)
		p.start[i] = TIME_NEVER;
	return verdict(&d, drive_run(&d, t, policy));
}

/* Events so far, folded into a fresh cluster and plan, give the same jobs and the same plan. */
static void replay_check(struct drive *d)
{
	struct cluster *c = drive_cluster(d->t, d->policy);
	struct plan *q, *live = plan_clone(d->p);

	for (int i = 0; i < d->t->njobs; i++)
		drive_request(c, &d->t->job[i]);
	q = plan_create(c);
	for (uint32_t i = 0; i < d->c->jobs.n; i++)
		drive_add_job(c, d->t, d->job[i].of, d->policy);
	for (size_t i = 0; i < d->record.n; i++) {
		struct event e = d->record.v[i].e;
		plan_advance(q, e.time);
		if (e.type == EVENT_COUNT) {
			if (c->nodes.v[e.job].up != (bool)e.at) {
				c->nodes.v[e.job].up = e.at;
				(e.at ? res_add : res_sub)(&c->total, &c->nodes.v[e.job].total);
				plan_node_up(q, e.job, e.at);
			}
			continue;
		}
		e.nodes = d->nodes.v + d->record.v[i].first;
		enum job_kind by = e.by == JOB_NONE ? KIND_COMMON : cluster_job(c, e.by)->kind;
		if (job_apply(cluster_job(c, e.job), &e, by, NULL) != 0)
			drive_wrong(d, "replay: an event is not legal");
		plan_apply(q, &e);
	}
	plan_check(q);
	for (uint32_t i = 0; i < d->c->jobs.n; i++) {
		struct job a = *cluster_job(d->c, i), b = *cluster_job(c, i);
		if (a.state == STATE_CANDIDATE && !sched_kept(d->s, i))
			plan_take_job(live, i); /* a reservation that was not promised is not an event */
		a.waiting = b.waiting = 0;
		if (a.submit != b.submit || a.start != b.start || a.since != b.since || a.by != b.by ||
		    a.attempt != b.attempt || a.state != b.state || a.kind != b.kind ||
		    a.deallocations != b.deallocations || a.guaranteed != b.guaranteed)
			drive_wrong(d, "replay: job %u differs", i);
	}
	if (!plan_equal(live, q))
		drive_wrong(d, "replay: the plan differs");
	plan_destroy(q);
	plan_destroy(live);
	cluster_destroy(c);
}

static const char *replayed(const struct tcase *t, const struct policy *policy)
{
	struct drive d = {.after_cycle = replay_check};

	return verdict(&d, drive_run(&d, t, policy));
}

static const struct row {
	const char *policy;
	int depth;
} all[] =
	{
		{"oscar", 0}, {"oscar", 1},	    {"oscar", 2},   {"oscar", 3},      {"shunt", -1},	{"easy", -1},
		{"fcfs", -1}, {"conservative", -1}, {"torque", -1}, {"easy-sjbf", -1}, {"artaras", -1},
},
  plain[] = {
	  {"oscar", 0},	     {"easy", -1},	    {"fcfs", -1}, {"torque", -1},
	  {"easy-sjbf", -1}, {"smallest-area", -1}, {"wfp3", -1},
};

#define EACH(rows, property, flavour, count)                                                                           \
	for (size_t i_ = 0; i_ < sizeof(rows) / sizeof *(rows); i_++)                                                  \
	case_check(property, flavour, case_policy((rows)[i_].policy, (rows)[i_].depth), count)

static void test_sound(void **state)
{
	(void)state;
	EACH(all, sound, WITH_ALL, 60);
}

static void test_sound_one_node(void **state)
{
	(void)state;
	EACH(all, sound, WITH_ALL & ~WITH_NODES, 90);
}

static void test_sound_cpus_only(void **state)
{
	(void)state;
	EACH(all, sound, WITH_ALL & ~WITH_MORE & ~WITH_ACCIDENTS, 90);
}

static void test_repeatable(void **state)
{
	(void)state;
	EACH(all, repeatable, WITH_ALL, 40);
}

static void test_moved(void **state)
{
	(void)state;
	moves = 0;
	EACH(plain, moved, WITH_EARLY | WITH_NODES | WITH_MORE | WITH_ADMIN, 150);
	EACH(plain, moved, WITH_KINDS | WITH_EARLY | WITH_NODES, 100);
	EACH(plain, moved, WITH_STARVING | WITH_KINDS | WITH_EARLY | WITH_MORE, 100);
	print_message("# %d moves\n", moves);
	if (!getenv("SHUNT_SEED"))
		assert_true(moves > 100);
}

static void test_paced(void **state)
{
	(void)state;
	/* Without pushes: what a slice has started is not pushed by the next one, so that a
	 * reserved job may start later than after a whole cycle (policy shunt, seeds 70 and 74). */
	EACH(plain, paced, WITH_EARLY | WITH_NODES | WITH_MORE | WITH_ADMIN, 60);
	EACH(plain, paced, WITH_STARVING | WITH_EARLY | WITH_NODES | WITH_MORE, 90);
	EACH(plain, paced, WITH_KINDS | WITH_EARLY | WITH_NODES, 60);
	case_check(paced, WITH_EARLY | WITH_NODES | WITH_MORE | WITH_ADMIN, case_policy("conservative", -1), 90);
	case_check(paced, WITH_KINDS | WITH_EARLY | WITH_NODES, case_policy("conservative", -1), 90);
	drive_reserve_depth = 3;
	case_check(paced, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("conservative", -1), 90);
	case_check(paced, WITH_STARVING | WITH_EARLY | WITH_NODES, case_policy("easy", -1), 90);
	case_check(paced_by_weight, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("easy", -1), 90);
	case_check(paced_by_weight, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("conservative", -1), 90);
	case_check(paced_by_weight, WITH_KINDS | WITH_EARLY | WITH_NODES, case_policy("wfp3", -1), 90);
	case_check(paced_by_weight, WITH_KINDS | WITH_EARLY | WITH_NODES, case_policy("shunt", 0), 90);
	case_check(paced, WITH_KINDS | WITH_EARLY | WITH_NODES, case_policy("shunt", 0), 90);
	drive_reserve_depth = 0;
}

static void test_keeps(void **state)
{
	(void)state;
	case_check(keeps, WITH_KINDS | WITH_NODES | WITH_MORE, case_policy("easy", -1), 90);
	case_check(keeps, WITH_KINDS | WITH_NODES | WITH_MORE, case_policy("conservative", -1), 90);
	case_check(keeps, WITH_KINDS | WITH_NODES | WITH_MORE, case_policy("shunt", -1), 90);
	case_check(keeps, WITH_KINDS | WITH_NODES | WITH_STARVING, case_policy("oscar", -1), 90);
}

static void test_incremental(void **state)
{
	(void)state;
	/* Not with mixed shapes: there best fit may find a place just because another job came. */
	EACH(plain, incremental, WITH_ALL & ~WITH_MIXED, 150);
	EACH(plain, incremental, WITH_EARLY | WITH_NODES, 90);
}

static void test_easy_no_delay(void **state)
{
	(void)state;
	/* Fragments of one shape: for mixed ones best fit may not find again the place that it
	 * had found. */
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_MORE | WITH_ADMIN, case_policy("easy", -1), 90);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_MORE | WITH_ADMIN, case_policy("easy-sjbf", -1), 90);
	case_check(no_delay, WITH_EARLY, case_policy("easy", -1), 90);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_WHOLE, case_policy("easy", -1), 90);
}

static void test_conservative_no_delay(void **state)
{
	(void)state;
	case_check(no_delay, WITH_EARLY, case_policy("conservative", -1), 150);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("conservative", -1), 150);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_MIXED, case_policy("conservative", -1), 150);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_ADMIN, case_policy("conservative", -1), 150);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_WHOLE, case_policy("conservative", -1), 150);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("artaras", -1), 150);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_WHOLE, case_policy("artaras", -1), 150);
}

static bool fits_now(struct drive *d, const struct job *job)
{
	struct manner m = {.alloc = ALLOC_BEST};
	plan_mark mark = plan_begin(d->p);
	bool fits = plan_insert(d->p, &m, job->id, d->now, d->now + cluster_length(d->c, job));

	plan_rollback(d->p, mark);
	return fits;
}

/* There are as many reservations as the setting allows, no other job waits that fits beside them,
 * and every job still ends. */
static void reservations_count(struct drive *d)
{
	int64_t n = 0;

	for (int i = 0; i < d->t->njobs; i++) {
		const struct job *job = d->id_of[i] >= 0 ? cluster_job(d->c, (uint32_t)d->id_of[i]) : NULL;
		if (!job || !job_waits(job))
			continue;
		n += plan_holds(d->p, job->id);
		if (job->state == STATE_CANDIDATE && !plan_holds(d->p, job->id) && fits_now(d, job))
			drive_wrong(d, "job %d waits, and fits beside the reservations", i);
	}
	if (n > drive_reserve_depth)
		drive_wrong(d, "%d jobs have reservations, and %d may", (int)n, (int)drive_reserve_depth);
}

static const char *shallow(const struct tcase *t, const struct policy *policy)
{
	struct drive d = {.after_cycle = reservations_count};

	return verdict(&d, drive_run(&d, t, policy));
}

static void test_conservative_depth(void **state)
{
	for (drive_reserve_depth = 1; drive_reserve_depth < 4; drive_reserve_depth++) {
		case_check(shallow, WITH_EARLY, case_policy("conservative", -1), 120);
		case_check(shallow, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("conservative", -1), 120);
		case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("conservative", -1), 60);
		case_check(shallow, WITH_EARLY, case_policy("artaras", -1), 120);
		case_check(shallow, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("artaras", -1), 120);
		case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_MORE, case_policy("artaras", -1), 60);
	}
	drive_reserve_depth = 0;
}

/* Reservations: nobody starts where he may not, nobody is forgotten when they end, and nothing
 * that holds without them is lost. */
static void test_fences(void **state)
{
	(void)state;
	EACH(all, sound, WITH_ALL | WITH_FENCES, 100);
	EACH(all, sound, (WITH_ALL & ~WITH_NODES) | WITH_FENCES, 60);
	EACH(all, sound, WITH_FENCES | WITH_NODES | WITH_EARLY, 100);
	EACH(all, repeatable, WITH_ALL | WITH_FENCES, 30);
	EACH(plain, paced, WITH_EARLY | WITH_NODES | WITH_MORE | WITH_FENCES, 100);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_FENCES, case_policy("easy", -1), 240);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_FENCES, case_policy("conservative", -1), 240);
	case_check(no_delay, WITH_EARLY | WITH_NODES | WITH_FENCES, case_policy("artaras", -1), 240);
}

/* Jobs that have to be ended are there longer than their walltimes: no guarantee is broken by
 * that. */
static void test_overrun(void **state)
{
	(void)state;
	EACH(all, sound, WITH_KINDS | WITH_NODES | WITH_EARLY | WITH_OVERRUN, 90);
	EACH(all, sound, WITH_ALL | WITH_OVERRUN, 40);
	EACH(all, sound, WITH_KINDS | WITH_STARVING | WITH_FENCES | WITH_NODES | WITH_OVERRUN, 60);
	case_check(keeps, WITH_KINDS | WITH_NODES | WITH_OVERRUN, case_policy("shunt", -1), 90);
}

static void test_replay(void **state)
{
	(void)state;
	EACH(all, replayed, WITH_ALL, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_sound_one_node),
		cmocka_unit_test(test_sound_cpus_only),
		cmocka_unit_test(test_repeatable),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_paced),
		cmocka_unit_test(test_keeps),
		cmocka_unit_test(test_incremental),
		cmocka_unit_test(test_easy_no_delay),
		cmocka_unit_test(test_conservative_no_delay),
		cmocka_unit_test(test_conservative_depth),
		cmocka_unit_test(test_fences),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_replay),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
