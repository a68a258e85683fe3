/*
 * test_job.c - the table of job_apply(): every pair of state and event, and what each event leaves
 * in the job.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/timetext.h"
#include "core/job.h"

/* One row per state, one letter per event, in the order of the enums; '.' is not legal, else the
 * state's letter: n new, h held, c candidate, a allocated, N now, r running, d done, x expired,
 * X deleted. */
static const char state_letter[] = "nhcaNrdxX";
static const char *const expected[STATE_COUNT] = {
	[STATE_NEW] = "c...............",	[STATE_HELD] = "..c..........xX.",
	[STATE_CANDIDATE] = ".h.ca.cN.....xXc", [STATE_ALLOCATED] = "....acaN.....xX.",
	[STATE_NOW] = "........rc.N..X.",	[STATE_RUNNING] = "..........crd.X.",
	[STATE_DONE] = "................",	[STATE_EXPIRED] = "................",
	[STATE_DELETED] = "................",
};

static struct job a_job(enum job_state state, enum job_kind kind)
{
	return (struct job){
		.id = 7,
		.submit = 10,
		.walltime = 100,
		.deadline = kind == KIND_QOS || kind == KIND_EMERGENCY ? 500 : TIME_NEVER,
		.start = 20,
		.since = 20,
		.by = JOB_NONE,
		.attempt = 1,
		.state = (uint8_t)state,
		.kind = (uint8_t)kind,
	};
}

static void test_every_pair(void **state)
{
	(void)state;
	for (int from = 0; from < STATE_COUNT; from++)
		for (int type = 0; type < EVENT_COUNT; type++) {
			struct job job = a_job(from, KIND_COMMON), before = job;
			struct event e = {.time = 50, .at = 60, .job = 7, .by = JOB_NONE, .type = (uint8_t)type};
			struct err err = {.text = ""};
			enum job_state next = STATE_COUNT;
			char want = expected[from][type];
			int rc = job_apply(&job, &e, KIND_COMMON, &err);

			assert_int_equal(job_next(from, type, &next), want != '.');
			if (want == '.') {
				assert_int_equal(rc, -EINVAL);
				assert_memory_equal(&job, &before, sizeof job);
				assert_non_null(strstr(err.text, event_type_name(type)));
				assert_non_null(strstr(err.text, job_state_name(from)));
				continue;
			}
			if (rc != 0 || state_letter[job.state] != want || next != job.state)
				fail_msg("%s in state %s led to %s", event_type_name(type), job_state_name(from),
					 job_state_name(job.state));
			assert_int_equal(job.since, job.state == from ? 20 : 50);
		}
}

static void apply(struct job *job, enum event_type type, int64_t time, int64_t at, uint32_t by, enum job_kind by_kind)
{
	struct event e = {.time = time, .at = at, .job = job->id, .by = by, .type = (uint8_t)type};

	assert_int_equal(job_apply(job, &e, by_kind, NULL), 0);
	job_check(job);
}

static void test_a_life(void **state)
{
	struct job job = {.id = 7, .walltime = 100, .deadline = 500, .kind = KIND_QOS, .by = JOB_NONE};

	(void)state;
	apply(&job, EVENT_SUBMIT, 5, 0, JOB_NONE, 0);
	assert_int_equal(job.submit, 5);
	apply(&job, EVENT_ALLOCATE, 6, 400, JOB_NONE, 0);
	assert_int_equal(job.start, 400);
	apply(&job, EVENT_GUARANTEE, 6, 0, JOB_NONE, 0);
	assert_true(job.guaranteed);
	apply(&job, EVENT_START, 50, 150, JOB_NONE, 0);
	assert_int_equal(job.start, 50);
	assert_int_equal(job.attempt, 1);
	apply(&job, EVENT_START_FAILED, 51, 0, JOB_NONE, 0);
	assert_int_equal(job.since, 51);
	apply(&job, EVENT_START, 52, 152, JOB_NONE, 0);
	apply(&job, EVENT_STARTED, 53, 0, JOB_NONE, 0);
	assert_int_equal(job.start, 53);
	assert_int_equal(job.attempt, 2);
	apply(&job, EVENT_PREEMPT, 60, 0, 3, KIND_EMERGENCY);
	assert_int_equal(job.by, 3);
	assert_int_equal(job.state, STATE_CANDIDATE);
	assert_true(job.guaranteed); /* it gets another place in time, or expires */
	apply(&job, EVENT_EXPIRE, 401, 0, JOB_NONE, 0);
	assert_true(job_ended(&job));
}

/* The promise lasts as long as the place, and until the deadline. */
static void test_guarantee_ends(void **state)
{
	static const struct {
		enum event_type type;
		int64_t time, at;
		bool runs, kept;
	} row[] = {
		{EVENT_DEALLOCATE, 10, LOST_WITH_GUARANTEE, false, false},
		{EVENT_DEALLOCATE, 10, 0, false, true}, /* an older server's */
		{EVENT_EXPIRE, 401, 0, false, false},
		{EVENT_ALLOCATE, 10, 400, false, true},
		{EVENT_START_FAILED, 10, 0, true, true},
		{EVENT_MIGRATE, 10, 400, true, true},
		{EVENT_FINISH, 500, 0, true, true},
		{EVENT_FINISH, 501, 0, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct job job = {.walltime = 100, .deadline = 500, .kind = KIND_QOS, .by = JOB_NONE};
		apply(&job, EVENT_SUBMIT, 0, 0, JOB_NONE, 0);
		apply(&job, EVENT_ALLOCATE, 0, 400, JOB_NONE, 0);
		apply(&job, EVENT_GUARANTEE, 0, 0, JOB_NONE, 0);
		if (row[i].runs)
			apply(&job, EVENT_START, 5, 105, JOB_NONE, 0);
		if (row[i].type == EVENT_FINISH)
			apply(&job, EVENT_STARTED, 5, 0, JOB_NONE, 0);
		apply(&job, row[i].type, row[i].time, row[i].at, JOB_NONE, 0);
		assert_int_equal(job.guaranteed, row[i].kept);
	}
}

/* Only a starving job counts, and only what QoS jobs did to it. */
static void test_deallocations(void **state)
{
	static const struct {
		enum job_kind kind, by;
		bool somebody, counts;
	} row[] = {
		{KIND_STARVING, KIND_QOS, true, true},	     {KIND_STARVING, KIND_EMERGENCY, true, false},
		{KIND_STARVING, KIND_STARVING, true, false}, {KIND_STARVING, KIND_QOS, false, false},
		{KIND_QOS, KIND_QOS, true, false},	     {KIND_EMERGENCY, KIND_QOS, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct job job = a_job(STATE_ALLOCATED, row[i].kind);
		apply(&job, EVENT_DEALLOCATE, 30, 0, row[i].somebody ? 3 : JOB_NONE, row[i].by);
		assert_int_equal(job.deallocations, row[i].counts);
		assert_int_equal(job.by, row[i].somebody ? 3 : JOB_NONE);
	}

	struct job job = a_job(STATE_ALLOCATED, KIND_STARVING);
	for (int i = 0; i < 300; i++) { /* counts, and stays at its largest instead of coming round to 0 */
		apply(&job, EVENT_DEALLOCATE, 30, 0, 3, KIND_QOS);
		apply(&job, EVENT_ALLOCATE, 30, 90, JOB_NONE, 0);
		assert_int_equal(job.deallocations, i < 255 ? i + 1 : 255);
	}
}

static void test_starve(void **state)
{
	struct job job = a_job(STATE_CANDIDATE, KIND_COMMON);

	(void)state;
	apply(&job, EVENT_STARVE, 40, 0, JOB_NONE, 0);
	assert_int_equal(job.kind, KIND_STARVING);
	assert_int_equal(job.since, 20); /* its state did not change */
}

static void test_names(void **state)
{
	(void)state;
	for (int i = 0; i < STATE_COUNT; i++)
		assert_true(strcmp(job_state_name(i), "?") != 0);
	for (int i = 0; i < EVENT_COUNT; i++)
		assert_true(strcmp(event_type_name(i), "?") != 0);
	assert_string_equal(job_state_name(STATE_COUNT), "?");
	assert_string_equal(event_type_name(EVENT_COUNT), "?");
	assert_int_equal(job_kind_letter(KIND_EMERGENCY), 'E');
}

/* A job that is stopped and started again for years is not on its first attempt again. */
static void test_attempts(void **state)
{
	struct job job = a_job(STATE_CANDIDATE, KIND_COMMON);

	(void)state;
	for (int i = 0; i < 70000; i++) {
		struct event e = {.time = 50 + i, .at = 60 + i, .job = 7, .by = JOB_NONE, .type = EVENT_START};
		assert_int_equal(job_apply(&job, &e, KIND_COMMON, NULL), 0);
		e.type = EVENT_START_FAILED;
		assert_int_equal(job_apply(&job, &e, KIND_COMMON, NULL), 0);
	}
	assert_int_equal(job.attempt, 70001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair),    cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_a_life),	      cmocka_unit_test(test_guarantee_ends),
		cmocka_unit_test(test_deallocations), cmocka_unit_test(test_starve),
		cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
