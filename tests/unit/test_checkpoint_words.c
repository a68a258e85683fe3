/*
 * test_checkpoint_words.c - the words of qsub -c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rules/checkpoint.h"

static void test_words(void **state)
{
	static const struct {
		const char *text;
		struct checkpoint_wish w;
	} good[] = {
		{NULL, {0}},
		{"", {0}},
		{"n", {0}},
		{"none", {0}},
		{"u", {0}},
		{"s", {.makes = true}},
		{"enabled,shutdown", {.makes = true}},
		{"c", {.makes = true, .periodic = true}},
		{"c=5", {.makes = true, .periodic = true, .interval = 300}},
		{"w=1:30", {.makes = true, .periodic = true, .interval = 90}},
		{"periodic,interval=30", {.makes = true, .periodic = true, .interval = 1800}},
		{"interval=90s,duration=20,depth=3",
		 {.makes = true, .periodic = true, .interval = 90, .duration = 20, .depth = 3}},
	};
	static const char *const bad[] = {
		"x",	   "c=",       "c=0",	     "s=1",   "interval",	  "interval=", "duration=0",
		"depth=0", "depth=1x", "dir=rel",    "n,s",   "c=99999999999999", "dir",       "=",
		"c=-1",	   "none=1",   "saver=save", "saver", "restarter=",	  "n,saver=/s"};
	struct arena *a = arena_create();
	struct checkpoint_wish w;
	struct err err;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(checkpoint_parse(good[i].text, a, &w, &err), 0);
		assert_memory_equal(&w, &good[i].w, sizeof w);
	}
	assert_int_equal(checkpoint_parse("dir=/a b", a, &w, &err), 0);
	assert_string_equal(w.dir, "/a b");
	assert_int_equal(checkpoint_parse("saver=/home/me/save,restarter=/r", a, &w, &err), 0);
	assert_true(w.makes && !w.periodic);
	assert_string_equal(w.saver, "/home/me/save");
	assert_string_equal(w.restarter, "/r");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (checkpoint_parse(bad[i], a, &w, &err) != -22)
			fail_msg("%s is accepted", bad[i]);
		assert_non_null(strstr(err.text, "checkpoint: "));
	}
	arena_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};

	return cmocka_run_group_tests_name("checkpoint-words", tests, NULL, NULL);
}
