/*
 * test_preempt.c - no running job is stopped before its place is needed: the job that takes it
 * starts at once, or within the time that ending a job takes.
 *
 * SHUNT_CASES=25 tries 10,000 cases of each kind; SHUNT_SEED=n one of them again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "property/drive.h"

static int stopped, cut, spared;

/* Returns true if a start is that of a job with a promise, on a node that the victim had: one
 * that was pushed there. */
static bool takes_place(const struct drive *d, const struct drive_record *start, size_t stop)
{
	const struct drive_record *had = &d->record.v[stop]; /* back to where the victim had started */

	while (had->e.job != d->record.v[stop].e.job || had->e.type != EVENT_START)
		had--;
	for (uint32_t i = 0; i < start->e.nnodes; i++)
		for (uint32_t k = 0; k < had->e.nnodes; k++)
			if (d->nodes.v[start->first + i] == d->nodes.v[had->first + k] &&
			    cluster_job(d->c, start->e.job)->kind != KIND_COMMON)
				return true;
	return false;
}

/* What becomes of the job that another was stopped for: it starts in time, unless it is itself
 * displaced before; or one that it pushed away does. */
static bool follows(const struct drive *d, size_t from, int64_t until)
{
	const struct event *stop = &d->record.v[from].e;

	for (size_t i = from; i < d->record.n && d->record.v[i].e.time <= until; i++) {
		const struct event *e = &d->record.v[i].e;
		if (e->job == stop->by && (e->type == EVENT_START || e->type == EVENT_DEALLOCATE))
			return true;
		if (e->type == EVENT_START && takes_place(d, &d->record.v[i], from))
			return true;
	}
	return false;
}

static const char *in_time(const struct tcase *t, const struct policy *policy)
{
	struct drive d = {0};
	const char *wrong = drive_run(&d, t, policy);
	static char text[200];

	for (size_t i = 0; i < d.record.n && !wrong; i++) {
		const struct event *e = &d.record.v[i].e;
		cut += e->type == EVENT_MIGRATE && e->by != JOB_NONE;
		spared += e->type == EVENT_MIGRATE && e->by == JOB_NONE;
		if ((e->type != EVENT_PREEMPT && e->type != EVENT_START_FAILED) || e->by == JOB_NONE)
			continue;
		stopped++;
		if (!follows(&d, i, e->time + drive_delay(&d, e->job))) {
			snprintf(text, sizeof text, "job %u is stopped at %lld, before %u needs its place", e->job,
				 (long long)e->time, e->by);
			wrong = text;
		}
	}
	if (wrong && wrong != text) {
		snprintf(text, sizeof text, "%s", wrong);
		wrong = text;
	}
	drive_fini(&d);
	return wrong;
}

#define KINDS (WITH_KINDS | WITH_NODES | WITH_EARLY)

static void test_in_time(void **state)
{
	(void)state;
	case_check(in_time, KINDS, case_policy("shunt", -1), 400);
	case_check(in_time, KINDS | WITH_MIXED | WITH_MORE, case_policy("shunt", 2), 400);
	case_check(in_time, KINDS | WITH_STARVING | WITH_MIXED, case_policy("oscar", -1), 400);
	case_check(in_time, KINDS | WITH_MIXED, case_policy("easy", -1), 400);
	case_check(in_time, KINDS | WITH_MIXED | WITH_WHOLE, case_policy("shunt", 2), 400);
	print_message("# %d stopped, %d times cut short, %d times spared\n", stopped, cut, spared);
	if (!getenv("SHUNT_SEED"))
		assert_true(stopped > 20 && cut > 20 && spared > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_time)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
