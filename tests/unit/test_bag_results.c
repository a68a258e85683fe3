/*
 * test_bag_results.c - the journal of a bag, folded: what is finished, what failed, what a retry
 * forgets.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/results.h"
#include "support/closed.h"

static void put(struct fold *f, enum record_kind kind, uint64_t task, bool last)
{
	fold_record(f, &(struct record){.kind = kind, .task = task, .last = last, .hash = f->hash}, task * 10);
}

static void folded(void **state)
{
	(void)state;
	struct bag bag;
	struct fold f;
	struct err err;

	assert_int_equal(bag_parse("a\nb\nc\n", 6, &bag, &err), 0);
	fold_init(&f, &bag, true);
	put(&f, RECORD_BAG, 3, false);
	assert_false(f.other);
	put(&f, RECORD_RUN, 0, false);
	put(&f, RECORD_DONE, 1, false);
	put(&f, RECORD_FAILED, 2, false);
	assert_int_equal(f.state[2], TASK_WAITING);
	put(&f, RECORD_FAILED, 2, true);
	assert_int_equal(f.state[2], TASK_ASIDE);
	assert_int_equal(f.failures[2], 2);
	put(&f, RECORD_CANCEL, 0, false);
	assert_true(f.cancelled);
	put(&f, RECORD_REQUESTS, 0, true);
	put(&f, RECORD_ALLOCATION, 0, false);
	assert_true(f.cancelled);
	fold_record(&f, &(struct record){.kind = RECORD_RUN, .began = 77}, 0);
	assert_false(f.cancelled);
	assert_int_equal(f.began, 77);
	assert_int_equal(f.at[2], 21);
	put(&f, RECORD_RETRY, 0, false);
	assert_int_equal(f.state[2], TASK_WAITING);
	assert_int_equal(f.failures[2], 0);
	assert_int_equal(f.state[1], TASK_DONE);
	put(&f, RECORD_FAILED, 1, true); /* a late one: it stays done */
	assert_int_equal(f.state[1], TASK_DONE);
	assert_int_equal(f.twice, 1);
	put(&f, RECORD_DONE, 4, false); /* nobody's */
	put(&f, RECORD_DONE, 0, false);
	assert_int_equal(f.at[1], 11);
	for (int i = 0; i < 300; i++)
		put(&f, RECORD_FAILED, 3, false);
	assert_int_equal(f.failures[3], UINT8_MAX);
	put(&f, RECORD_BAG, 2, false); /* a bag of other tasks */
	assert_true(f.other);
	put(&f, RECORD_DONE, 3, false);
	assert_int_equal(f.state[3], TASK_WAITING);
	fold_fini(&f);
	fold_init(&f, &bag, false);
	put(&f, RECORD_DONE, 3, false);
	assert_int_equal(f.state[3], TASK_DONE);
	assert_null(f.at);
	fold_record(&f, &(struct record){.kind = RECORD_BAG, .task = 3, .hash = f.hash + 1}, 0);
	assert_true(f.other); /* other tasks, though the number is the same */
	fold_fini(&f);
	bag_fini(&bag);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void directory(void **state)
{
	(void)state;
	char dir[] = "/tmp/bag-results.XXXXXX", path[128];
	struct results r;
	struct record x;
	struct journal *j;
	struct err err;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(results_open(dir, &r, &err), -ENOENT);
	write_file(dir, "tasks", "a\nb\n");
	assert_int_equal(results_open(dir, &r, &err), 0); /* not run yet */
	assert_int_equal(r.fold.tasks, 2);
	assert_false(results_get(&r, 1, &x));
	struct record first = {.kind = RECORD_BAG, .task = 2, .hash = r.fold.hash};
	results_close(&r);
	snprintf(path, sizeof path, "%s/journal", dir);
	assert_int_equal(journal_open(path, &first, NULL, NULL, &j, &err), 0);
	journal_add(j, &(struct record){.kind = RECORD_DONE, .task = 2, .out = "out", .nout = 3});
	assert_int_equal(journal_flush(j, &err), 0);
	assert_int_equal(results_open(dir, &r, &err), 0); /* while somebody writes */
	assert_int_equal(r.done, 1);
	assert_int_equal(r.aside, 0);
	assert_true(r.view.held);
	assert_true(results_get(&r, 2, &x));
	assert_memory_equal(x.out, "out", 3);
	assert_false(results_get(&r, 1, &x));
	assert_false(results_get(&r, 3, &x));
	results_close(&r);
	journal_add(j, &(struct record){.kind = RECORD_CANCEL});
	assert_int_equal(journal_flush(j, &err), 0);
	assert_int_equal(results_open(dir, &r, &err), 0);
	assert_true(r.fold.cancelled);
	results_close(&r);
	/* earlier versions kept the cancellation of a bag that was completed later, but not its run */
	journal_add(j, &(struct record){.kind = RECORD_FAILED, .task = 1, .last = true, .err = "why", .nerr = 3});
	assert_int_equal(journal_flush(j, &err), 0);
	assert_int_equal(results_open(dir, &r, &err), 0);
	assert_false(r.fold.cancelled);
	assert_int_equal(r.aside, 1);
	assert_true(results_get(&r, 1, &x));
	assert_memory_equal(x.err, "why", 3);
	results_close(&r);
	journal_close(j);
	assert_int_equal(results_open(dir, &r, &err), 0);
	assert_false(r.view.held);
	results_close(&r);
	write_file(dir, "tasks", "a\nb\nc\n");
	assert_int_equal(results_open(dir, &r, &err), -EINVAL);
	snprintf(path, sizeof path, "%s/journal belongs to another list of tasks", dir);
	assert_string_equal(err.text, path);
	snprintf(path, sizeof path, "%s/journal", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/tasks", dir);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(folded), cmocka_unit_test(directory), CLOSED_TEST};
	return cmocka_run_group_tests_name("bag_results", tests, closed_begin, NULL);
}
