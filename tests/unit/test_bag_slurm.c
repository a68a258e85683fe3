/*
 * test_bag_slurm.c - what squeue prints, and what else may be there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bag/slurm.h"

static void lines(void **state)
{
	(void)state;
	static const char text[] =
		"12|1|PENDING\n"
		"slurm_load_jobs error: Unable to contact slurm controller\n"
		"\n||\n1||RUNNING\n|1|RUNNING\n12|x|RUNNING\n12_3|1|RUNNING\n1|1\n12|12345678901|RUNNING\n"
		"13|2|RUNNING\n"
		"14|3|CONFIGURING\n"
		"15|4|COMPLETED\n"
		"16|5|NEWER_STATE\n"
		"17|6|RUNNING";
	static const struct slurm_line wanted[] = {
		{"12", 1, REQUEST_PENDING}, {"13", 2, REQUEST_RUNNING}, {"14", 3, REQUEST_PENDING},
		{"15", 4, REQUEST_ENDED},   {"16", 5, REQUEST_ENDED},	{"17", 6, REQUEST_RUNNING},
	};
	struct slurm_line l;
	size_t at = 0, n = 0;

	for (; slurm_next(text, sizeof text - 1, &at, &l); n++) {
		assert_true(n < sizeof wanted / sizeof *wanted);
		assert_string_equal(l.job, wanted[n].job);
		assert_int_equal(l.number, wanted[n].number);
		assert_int_equal(l.state, wanted[n].state);
	}
	assert_int_equal(n, sizeof wanted / sizeof *wanted);
	assert_int_equal(at, sizeof text - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
