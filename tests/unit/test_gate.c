/*
 * test_gate.c - what keeps jobs from the scheduler: reasons, times, dependencies.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/timetext.h"
#include "rules/gate.h"

/* Number n is job n; 50 is an array whose elements 0..2 are jobs 50..52; above 100 there is
 * nobody. */
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
	enter(g, 11, 0, 0, "afterany:10", NULL); /* consequences of that */
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

/* The elements of an array wait by one list, whatever becomes of some of them. */
static void elements_share_their_relations(void **state)
{
	struct gate_share share = {0};
	struct gate_terms terms = {.depend = "afterok:1:2:3:4", .find = find, .share = &share};
	struct gate *g = gate_create();
	struct heard h;

	gate_array(g, 10, 20);
	for (uint32_t i = 10; i < 30; i++)
		assert_int_equal(gate_enter(g, i, &terms, 1000, NULL), DEPEND_WAITING);
	assert_int_equal(gate_relations(g), 4);
	gate_leave(g, 12);
	enter(g, 13, 0, 0, "afterany:1", NULL); /* altered: alone from now on */
	assert_int_equal(gate_relations(g), 5);
	for (uint32_t i = 1; i < 4; i++)
		gate_ended(g, i, 0);
	h = hear(g);
	assert_int_equal(h.freed, 1);
	assert_int_equal(h.last_freed, 13);
	gate_ended(g, 4, 0);
	h = hear(g);
	assert_int_equal(h.freed, 18);
	assert_int_equal(h.last_freed, 29);
	assert_int_equal(gate_relations(g), 0);
	assert_int_equal(gate_enter(g, 12, &terms, 1000, NULL), DEPEND_SATISFIED); /* the share is of the past */
	gate_destroy(g);
}

static void elements_are_doomed_together(void **state)
{
	struct gate_share share = {0};
	struct gate_terms terms = {.depend = "afterok:1:2", .find = find, .share = &share};
	struct gate *g = gate_create();
	struct heard h;

	for (uint32_t i = 10; i < 15; i++)
		gate_enter(g, i, &terms, 1000, NULL);
	gate_started(g, 1);
	gate_ended(g, 1, 3);
	h = hear(g);
	assert_int_equal(h.doomed, 5);
	assert_int_equal(h.last_doomed, 14);
	assert_int_equal(gate_relations(g), 0);
	strbuf_fini(&h.why);
	gate_destroy(g);
}

/* However often a job is altered, it has one list. */
static void altering_keeps_nothing(void **state)
{
	struct gate *g = gate_create();

	for (int i = 0; i < 1000; i++)
		enter(g, 10, 0, 0, "afterok:1:2:3", NULL);
	assert_int_equal(gate_relations(g), 3);
	gate_leave(g, 10);
	assert_int_equal(gate_relations(g), 0);
	gate_destroy(g);
}

/* Number n is job n. */
static bool find_single(void *context, const struct jobid *id, uint32_t *ret_job, bool *ret_whole)
{
	*ret_whole = false;
	*ret_job = (uint32_t)id->number;
	return true;
}

#define LEVELS 14
#define WIDE 6

/* Levels of jobs, each of which waits for all of the level before: the ways through them are
 * 6^14, the relations few. */
static void circles_are_found_in_a_step_for_each_relation(void **state)
{
	char text[200];
	struct gate_terms terms = {.find = find_single, .depend = text};
	struct gate *g = gate_create();

	for (uint32_t level = 1; level < LEVELS; level++)
		for (uint32_t k = 0; k < WIDE; k++) {
			int n = snprintf(text, sizeof text, "afterok");
			for (uint32_t i = 0; i < WIDE; i++)
				n += snprintf(text + n, sizeof text - (size_t)n, ":%u", (level - 1) * WIDE + i + 1);
			gate_enter(g, level * WIDE + k + 1, &terms, 1000, NULL);
		}
	snprintf(text, sizeof text, "afterok:%d", LEVELS * WIDE);
	assert_int_equal(gate_reaches(g, &terms, &(uint32_t){1}, 1, 2 * LEVELS * WIDE * WIDE), 1);
	assert_int_equal(gate_reaches(g, &terms, &(uint32_t){LEVELS * WIDE - 1}, 1, 2 * LEVELS * WIDE * WIDE), 0);
	assert_int_equal(gate_reaches(g, &terms, &(uint32_t){99}, 1, 10), -E2BIG);
	gate_ended(g, 1, 0);
	hear(g);
	assert_int_equal(gate_reaches(g, &terms, &(uint32_t){1}, 1, 2 * LEVELS * WIDE * WIDE), 0);
	gate_destroy(g);
}

/* A chain of any length; through an array that is meant as a whole, whichever element still
 * runs. */
static void circles_of_any_length_are_found(void **state)
{
	struct gate_terms terms = {.find = find, .depend = "afterok:49"};
	struct gate *g = gate_create();
	char text[20];

	gate_array(g, 50, 3);
	for (uint32_t i = 2; i < 50; i++) {
		snprintf(text, sizeof text, "afterok:%u", i - 1);
		enter(g, i, 0, 0, text, NULL);
	}
	enter(g, 1, 0, 0, "afterany:50[]", NULL);
	enter(g, 52, 0, 0, "after:60", NULL);
	assert_int_equal(gate_reaches(g, &terms, &(uint32_t){60}, 1, 1000), 1);
	assert_int_equal(gate_reaches(g, &terms, &(uint32_t){51}, 1, 1000), 1);
	assert_int_equal(gate_reaches(g, &terms, &(uint32_t){61}, 1, 1000), 0);
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
		cmocka_unit_test(elements_share_their_relations),
		cmocka_unit_test(elements_are_doomed_together),
		cmocka_unit_test(altering_keeps_nothing),
		cmocka_unit_test(circles_are_found_in_a_step_for_each_relation),
		cmocka_unit_test(circles_of_any_length_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
