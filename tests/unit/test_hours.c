/*
 * test_hours.c - hours of the week.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/hours.h"
#include "base/timetext.h"

#define NIGHTS "Mon-Fri 19:00-07:00, Sat-Sun 00:00-24:00"

static struct hours hours_from(const char *text)
{
	struct hours h;
	struct err err;

	if (hours_read(text, &h, &err) < 0)
		fail_msg("%s", err.text);
	return h;
}

static int64_t at(const char *text)
{
	struct err err;
	int64_t t;

	assert_int_equal(instant_parse(text, 0, &t, &err), 0);
	return t;
}

/* The span that counts at an instant, as text. */
static void expect(const struct hours *h, const char *when, const char *begin, const char *end)
{
	int64_t b, e;

	assert_true(hours_next(h, at(when), &b, &e));
	assert_int_equal(b, at(begin));
	assert_int_equal(e, end ? at(end) : TIME_NEVER);
}

static void texts(void **state)
{
	static const char *const wrong[] = {"",
					    "x",
					    "Mon",
					    "Mon 9:00-10:00",
					    "25:00-26:00",
					    "10:00-",
					    "10:60-11:00",
					    "24:00-01:00",
					    "10:00-24:01",
					    "Mon-Xyz 10:00-11:00",
					    "Mon10:00-11:00",
					    "10:00-11:00,",
					    "10:00-11:00 x",
					    "10:00-11:00;12:00-13:00"};
	struct hours h;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		if (hours_read(wrong[i], &h, &err) == 0)
			fail_msg("accepted: %s", wrong[i]);
		assert_non_null(strstr(err.text, "such as 19:00-07:00"));
	}
	h = hours_from(NIGHTS);
	assert_int_equal(h.n, 7);
	h = hours_from("fri-MON 10:00-11:00");
	assert_int_equal(h.n, 4);
	assert_int_equal(h.span[0].from, 600);
	assert_int_equal(hours_read("00:00-00:01,00:02-00:03,00:04-00:05,00:06-00:07,00:08-00:09,00:10-00:11,"
				    "00:12-00:13,00:14-00:15,00:16-00:17",
				    &h, &err),
			 -EINVAL);
	assert_string_equal(err.text, "more than 56 spans in a week");
}

/* 2026-11-16 is a Monday. */
static void nights(void **state)
{
	struct hours h = hours_from(NIGHTS);

	(void)state;
	expect(&h, "2026-11-16T12:00:00", "2026-11-16T19:00:00", "2026-11-17T07:00:00");
	expect(&h, "2026-11-17T03:00:00", "2026-11-16T19:00:00", "2026-11-17T07:00:00");
	expect(&h, "2026-11-17T07:00:00", "2026-11-17T19:00:00", "2026-11-18T07:00:00");
	expect(&h, "2026-11-20T20:00:00", "2026-11-20T19:00:00", "2026-11-23T00:00:00"); /* Friday to Sunday */
	expect(&h, "2026-11-22T23:59:59", "2026-11-22T00:00:00", "2026-11-23T00:00:00");
	expect(&h, "2026-11-23T00:00:00", "2026-11-23T19:00:00", "2026-11-24T07:00:00");
	assert_int_equal(hours_longest(&h), (5 + 48) * 3600);
	h = hours_from("00:00-24:00");
	assert_int_equal(hours_longest(&h), TIME_NEVER);
	h = hours_from("Sun 22:00-02:00");
	expect(&h, "2026-11-23T01:00:00", "2026-11-22T22:00:00", "2026-11-23T02:00:00");
	h = (struct hours){0};
	assert_false(hours_next(&h, 0, &(int64_t){0}, &(int64_t){0}));
}

/* In the night of 2026-10-25 there are 13 hours between 19:00 and 07:00, of 2026-03-29 eleven. */
static void summer_time(void **state)
{
	struct hours h;

	(void)state;
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	h = hours_from("19:00-07:00");
	expect(&h, "2026-10-24T20:00:00", "2026-10-24T19:00:00", "2026-10-25T07:00:00");
	assert_int_equal(at("2026-10-25T07:00:00") - at("2026-10-24T19:00:00"), 13 * 3600);
	expect(&h, "2026-10-25T06:59:59", "2026-10-24T19:00:00", "2026-10-25T07:00:00");
	expect(&h, "2026-03-28T20:00:00", "2026-03-28T19:00:00", "2026-03-29T07:00:00");
	/* On 2026-03-29 the clock goes from 02:00 to 03:00, which is 01:00 UTC. */
	h = hours_from("Sun 02:15-03:15");
	expect(&h, "2026-03-28T20:00:00", "2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z");
	h = hours_from("Sun 02:30-03:15");
	expect(&h, "2026-03-28T20:00:00", "2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z");
	h = hours_from("Sun 01:30-02:15");
	expect(&h, "2026-03-28T20:00:00", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z");
	h = hours_from("Sun 02:15-02:45"); /* all of it is skipped: it has its usual length */
	expect(&h, "2026-03-28T20:00:00", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z");
	expect(&h, "2026-03-29T01:29:59Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z");
	expect(&h, "2026-03-29T01:30:00Z", "2026-04-05T00:15:00Z", "2026-04-05T00:45:00Z");
	/* On 2026-10-25 it goes from 03:00 back to 02:00, at 01:00 UTC: the first 02:15 counts. */
	h = hours_from("Sun 02:15-02:45");
	expect(&h, "2026-10-24T20:00:00", "2026-10-25T00:15:00Z", "2026-10-25T00:45:00Z");
	expect(&h, "2026-10-25T00:45:00Z", "2026-11-01T01:15:00Z", "2026-11-01T01:45:00Z");
	h = hours_from("Sun 02:15-03:15");
	expect(&h, "2026-10-24T20:00:00", "2026-10-25T00:15:00Z", "2026-10-25T02:15:00Z");
	h = hours_from("Sun 01:30-02:15");
	expect(&h, "2026-10-24T20:00:00", "2026-10-24T23:30:00Z", "2026-10-25T00:15:00Z");
	unsetenv("TZ");
	tzset();
}

static void done(void **state)
{
	struct hours h = hours_from(NIGHTS);
	int64_t monday = at("2026-11-16T19:00:00");

	(void)state;
	assert_int_equal(hours_done(&h, monday, 12 * 3600, 600), at("2026-11-17T07:00:00"));
	assert_int_equal(hours_done(&h, monday, 12 * 3600 + 1, 600), at("2026-11-17T19:10:01"));
	assert_int_equal(hours_done(&h, at("2026-11-16T08:00:00"), 60, 600), monday + 60);
	assert_int_equal(hours_done(&h, monday, INT64_C(3600) * 24 * 365, 13 * 3600) != 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(nights),
		cmocka_unit_test(summer_time),
		cmocka_unit_test(done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
