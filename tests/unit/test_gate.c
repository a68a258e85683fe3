/*
 * test_gate.c - what keeps jobs from the scheduler: reasons, times, dependencies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/timetext.h"
#include "rules/gate.h"

/* Number n is job n; 50 is an array whose elements 0..2 are jobs 50..52; above 100 there is nobody. */
static bool find(void *context, const struct jobid *id, uint32_t *ret_job, bool *ret_whole)
{
	*ret_whole = id->number == 50 && id->kind != JOBID_ELEMENT;
	*ret_job = (uint32_t)(id->number + (id->kind == JOBID_ELEMENT ? (uint64_t)id->index : 0));
	return id->number <= 100;
}

static enum depend_state enter(struct gate *g, uint32_t job, unsigned block, int64_t at, const char *depend,
			       struct strbuf *why)
{
	return gate_enter(g, job, &(struct gate_terms){.block = block, .at = at, .depend = depend, .find = find}, 1000,
			  why);
}

/* All news: how many were freed and doomed; the last of each. */
struct heard {
	int freed, doomed;
	uint32_t last_freed, last_doomed;
	struct strbuf why;
};

static struct heard hear(struct gate *g)
{
	struct heard h = {0};
	enum gate_news news;
	uint32_t job;

	while ((news = gate_news(g, &job, &h.why)) != NEWS_NONE) {
		if (news == NEWS_FREED) {
			h.freed++;
			h.last_freed = job;
		} else if (news == NEWS_DOOMED) {
			h.doomed++;
			h.last_doomed = job;
			gate_ended(g, job, -3);
		}
	}
	return h;
}

static void reasons_come_and_go(void **state)
{
	struct gate *g = gate_create();

	assert_int_equal(enter(g, 3, 0, 0, NULL, NULL), DEPEND_SATISFIED);
	assert_int_equal(gate_blocks(g, 3), 0);
	gate_block(g, 3, BLOCK_USER | BLOCK_QUEUE);
	gate_unblock(g, 3, BLOCK_USER);
	assert_int_equal(gate_blocks(g, 3), BLOCK_QUEUE);
	assert_int_equal(gate_pending(g), 0);
	gate_leave(g, 3);
	assert_int_equal(gate_blocks(g, 3), 0);
	gate_destroy(g);
}

static void time_opens(void **state)
{
	struct gate *g = gate_create();
	uint32_t job;

	enter(g, 1, 0, 1010, NULL, NULL);
	enter(g, 2, BLOCK_USER, 1005, NULL, NULL);
	enter(g, 3, 0, 900, NULL, NULL); /* it is past */
	assert_int_equal(gate_pending(g), 1);
	assert_int_equal(gate_next(g), 1005);
	assert_false(gate_due(g, 1004, &job));
	assert_true(gate_due(g, 1010, &job));
	assert_int_equal(job, 2);
	assert_int_equal(gate_blocks(g, 2), BLOCK_USER);
	enter(g, 1, 0, 2000, NULL, NULL); /* altered: the old time does not count */
	assert_false(gate_due(g, 1999, &job));
	assert_true(gate_due(g, 2000, &job));
	assert_int_equal(job, 1);
	assert_int_equal(gate_blocks(g, 1), 0);
	assert_int_equal(gate_next(g), TIME_NEVER);
	gate_destroy(g);
}

static void jobs_open(void **state)
{
	struct gate *g = gate_create();
	struct heard h;

	assert_int_equal(enter(g, 10, 0, 0, "afterok:1:2,after:3", NULL), DEPEND_WAITING);
	assert_int_equal(gate_blocks(g, 10), BLOCK_DEPEND);
	gate_started(g, 1);
	gate_ended(g, 1, 0);
	gate_ended(g, 2, 0);
	assert_int_equal(hear(g).freed, 0);
	gate_started(g, 3);
	h = hear(g);
	assert_int_equal(h.freed, 1);
	assert_int_equal(h.last_freed, 10);
	assert_int_equal(gate_blocks(g, 10), 0);
	gate_destroy(g);
}

static void what_is_impossible_is_doomed_once(void **state)
{
	struct gate *g = gate_create();
	struct heard h;

	enter(g, 10, 0, 0, "afterok:1:2", NULL);
	enter(g, 11, 0, 0, "afterany:10", NULL); /* ... and what follows from that */
	gate_started(g, 1);
	gate_ended(g, 1, 4);
	gate_ended(g, 2, 4);
	h = hear(g);
	assert_int_equal(h.doomed, 1);
	assert_int_equal(h.last_doomed, 10);
	assert_string_equal(h.why.text, "afterok:1: job 1 ended with exit status 4");
	assert_int_equal(h.freed, 1);
	assert_int_equal(h.last_freed, 11);
	strbuf_fini(&h.why);
	assert_int_equal(enter(g, 12, 0, 0, "afterok:1", &h.why), DEPEND_IMPOSSIBLE);
	assert_string_equal(h.why.text, "afterok:1: job 1 ended with exit status 4");
	strbuf_fini(&h.why);
	assert_int_equal(enter(g, 13, 0, 0, "afterany:444", NULL), DEPEND_SATISFIED);
	gate_destroy(g);
}

static void an_array_counts_as_one_job(void **state)
{
	struct gate *g = gate_create();

	gate_array(g, 50, 3);
	enter(g, 10, 0, 0, "afterok:50[]", NULL);
	enter(g, 11, 0, 0, "afterok:50[1]", NULL);
	gate_ended(g, 50, 0);
	gate_ended(g, 51, 0);
	struct heard h = hear(g);
	assert_int_equal(h.freed, 1);
	assert_int_equal(h.last_freed, 11);
	gate_ended(g, 52, 0);
	h = hear(g);
	assert_int_equal(h.freed, 1);
	assert_int_equal(h.last_freed, 10);
	gate_destroy(g);
}

/* Other terms: what it waited for before does not count, neither way. */
static void altered_terms_replace_the_old(void **state)
{
	struct gate *g = gate_create(), *t;

	enter(g, 10, 0, 0, "afterok:1", NULL);
	enter(g, 10, 0, 0, "afterany:2,on:1", NULL);
	gate_ended(g, 1, 1);
	assert_int_equal(hear(g).doomed, 0);
	t = gate_clone(g);
	gate_ended(t, 2, 0);
	assert_int_equal(hear(t).freed, 0); /* on:1 */
	assert_int_equal(gate_blocks(t, 10), BLOCK_DEPEND);
	enter(g, 10, 0, 0, "afterany:2", NULL);
	gate_ended(g, 2, 7);
	assert_int_equal(hear(g).freed, 1);
	assert_false(gate_has_news(g));
	gate_destroy(t);
	gate_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_come_and_go),
		cmocka_unit_test(time_opens),
		cmocka_unit_test(jobs_open),
		cmocka_unit_test(what_is_impossible_is_doomed_once),
		cmocka_unit_test(an_array_counts_as_one_job),
		cmocka_unit_test(altered_terms_replace_the_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
