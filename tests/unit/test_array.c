/*
 * test_array.c - array specifications and job ids: what they mean, their canonical form, what is
 * refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "core/array.h"
#include "core/jobid.h"

static void test_canonical(void **state)
{
	static const struct {
		const char *text, *canonical;
		uint32_t count, limit;
	} form[] = {
		{"1-100%5", "1-100%5", 100, 5},
		{"1,5,7-9", "1,5,7-9", 5, 0},
		{"1-9:2", "1-9:2", 5, 0},
		{"1-10:2", "1-9:2", 5, 0},
		{"0-9999", "0-9999", 10000, 0},
		{"5", "5", 1, 0},
		{"007", "7", 1, 0},
		{"9,7-8,5,1", "1,5,7-9", 5, 0},
		{"1-5,3-8,4", "1-8", 8, 0},
		{"1,3,5,7%1", "1-7:2%1", 4, 1},
		{"1,5", "1,5", 2, 0},
		{"1,2", "1-2", 2, 0},
		{"1-3,5-9:2", "1-3,5-9:2", 6, 0},
		{"0-99999", "0-99999", 100000, 0},
		{"1048574", "1048574", 1, 0},
		{"0-1048574:11", "0-1048564:11", 95325, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		struct array_spec a;
		struct strbuf b = {0};
		struct err err = {.text = ""};
		assert_int_equal(array_parse(form[i].text, &a, &err), 0);
		array_format(&a, &b);
		assert_string_equal(b.text, form[i].canonical);
		assert_int_equal(a.count, form[i].count);
		assert_int_equal(a.limit, form[i].limit);
		array_fini(&a);
		strbuf_fini(&b);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "an index is a whole number"},
		{"x", "an index is a whole number"},
		{"-1", "an index is a whole number"},
		{"1-", "a range needs two numbers"},
		{"9-1", "runs backwards"},
		{"1-9:0", "the step"},
		{"1-9:", "the step"},
		{"1:2", "is not understood"},
		{"1,", "an index is a whole number"},
		{"1-5%", "the limit"},
		{"1-5%0", "the limit"},
		{"1-5%2,7", "is not understood"},
		{"1048575", "from 0 to 1048574"},
		{"0-100000", "at most 100000 elements"},
		{"99999999999999999999999", "an index is a whole number"},
		{"1 2", "is not understood"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct array_spec a = {.count = 77};
		struct err err = {.text = ""};
		assert_int_equal(array_parse(bad[i].text, &a, &err), -EINVAL);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
		assert_int_equal(a.count, 77);
	}
}

/* Random texts: iteration, membership and the canonical text agree with a plain set. */
static void test_sets(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (int round = 0; round < 500; round++) {
		bool in[200] = {false};
		struct strbuf text = {0}, once = {0}, twice = {0};
		struct array_spec a, b;
		struct err err = {.text = ""};
		for (int k = (int)rng_range(&rng, 1, 6); k > 0; k--) {
			int64_t first = rng_range(&rng, 0, 150), last = rng_range(&rng, first, 199),
				step = rng_range(&rng, 1, 9);
			strbuf_printf(&text, "%s%d-%d:%d", text.n ? "," : "", (int)first, (int)last, (int)step);
			for (int64_t i = first; i <= last; i += step)
				in[i] = true;
		}
		assert_int_equal(array_parse(text.text, &a, &err), 0);
		int64_t at = array_next(&a, -1);
		uint32_t count = 0;
		for (int i = 0; i < 200; i++) {
			assert_int_equal(array_has(&a, i), in[i]);
			if (in[i]) {
				assert_int_equal(at, i);
				at = array_next(&a, at);
				count++;
			}
		}
		assert_int_equal(at, -1);
		assert_int_equal(a.count, count);
		array_format(&a, &once);
		assert_int_equal(array_parse(once.text, &b, &err), 0);
		array_format(&b, &twice);
		assert_string_equal(once.text, twice.text);
		array_fini(&a);
		array_fini(&b);
		strbuf_fini(&text);
		strbuf_fini(&once);
		strbuf_fini(&twice);
	}
}

static void test_ids(void **state)
{
	static const struct {
		const char *text;
		uint64_t number;
		enum jobid_kind kind;
		int64_t index;
		const char *canonical;
	} form[] = {
		{"12", 12, JOBID_JOB, -1, "12.x"},
		{"12.server", 12, JOBID_JOB, -1, "12.x"},
		{"12.server.site.org@other", 12, JOBID_JOB, -1, "12.x"},
		{"12[3]", 12, JOBID_ELEMENT, 3, "12[3].x"},
		{"12[3].a-b", 12, JOBID_ELEMENT, 3, "12[3].x"},
		{"12[]", 12, JOBID_ARRAY, -1, "12[].x"},
		{"12[].x", 12, JOBID_ARRAY, -1, "12[].x"},
		{"12[1-3]", 12, JOBID_SOME, -1, "12[1-3].x"},
		{"12[1,9].x", 12, JOBID_SOME, -1, "12[1,9].x"},
		{"999999999999", 999999999999, JOBID_JOB, -1, "999999999999.x"},
	};
	static const char *const bad[] = {"",	 "x",	"-1",	   "12[",	    "12[3", "12[x]", "12[3]x",
					  "12x", "12 ", "12[9-1]", "1000000000000", ".x",   "12/3",  "12.a b"};

	(void)state;
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		struct jobid id;
		struct strbuf b = {0};
		struct err err = {.text = ""};
		assert_int_equal(jobid_parse(form[i].text, &id, &err), 0);
		assert_int_equal(id.number, form[i].number);
		assert_int_equal(id.kind, form[i].kind);
		assert_int_equal(id.index, form[i].index);
		jobid_format(&id, "x", &b);
		assert_string_equal(b.text, form[i].canonical);
		jobid_fini(&id);
		strbuf_fini(&b);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct jobid id;
		struct err err = {.text = ""};
		assert_int_equal(jobid_parse(bad[i], &id, &err), -EINVAL);
		assert_non_null(strstr(err.text, "job id"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
