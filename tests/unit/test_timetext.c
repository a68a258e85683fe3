/*
 * test_timetext.c - durations and instants as text (src/base/timetext.h).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/timetext.h"

static void test_duration_parse(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} good[] = {
		{"0", 0},
		{"90", 90},
		{"1:30", 90},
		{"100:00", 6000},
		{"2:00:00", 7200},
		{"3:45", 225},
		{"01:02:03", 3723},
		{"99:59:59", 359999},
		{"1:00:00:00", 86400},
		{"2:23:59:59", 259199},
		{"2h", 7200},
		{"1d12h", 129600},
		{"5y", 157680000},
		{"1y2w", 32745600},
		{"45m", 2700},
		{"30s", 30},
		{"1d1h1m1s", 90061},
		{"90m", 5400},
		{"0000090", 90},
		{"3153600000", 3153600000},
		{"36500d", 3153600000},
	};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"25:61", "seconds must be 0-59 (use HH:MM:SS)"},
		{"1:60:00", "minutes must be 0-59 (use HH:MM:SS)"},
		{"1:24:00:00", "hours must be 0-23 (use D:HH:MM:SS)"},
		{"1:1:1:1:1", "too many fields (use D:HH:MM:SS at most)"},
		{"", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{":", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"1:", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{":30", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"-5", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"h", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"12h1d", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"1h30", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"1h1h", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"1:30h", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"3153600001", "too long (at most 100 years)"},
		{"99999999999999999999999999999d", "too long (at most 100 years)"},
		{"99999999999999999999999:00:00:00", "too long (at most 100 years)"},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		int64_t s = -1;
		assert_int_equal(duration_parse(good[i].text, &s, &err), 0);
		assert_int_equal(s, good[i].seconds);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int64_t s = -1;
		assert_int_equal(duration_parse(bad[i].text, &s, &err), -EINVAL);
		assert_string_equal(err.text, bad[i].why);
		assert_int_equal(s, -1);
	}
}

static void test_duration_format(void **state)
{
	char buf[64];
	struct rng r;

	(void)state;
	assert_string_equal(duration_format(0, buf, sizeof buf), "00:00:00");
	assert_string_equal(duration_format(359999, buf, sizeof buf), "99:59:59");
	assert_string_equal(duration_format(360000, buf, sizeof buf), "100:00:00");
	assert_string_equal(duration_format(-61, buf, sizeof buf), "-00:01:01");
	assert_string_equal(duration_format(INT64_MIN, buf, sizeof buf), "-2562047788015215:30:08");
	assert_string_equal(duration_human(0, buf, sizeof buf), "0s");
	assert_string_equal(duration_human(45, buf, sizeof buf), "45s");
	assert_string_equal(duration_human(60, buf, sizeof buf), "1m");
	assert_string_equal(duration_human(12300, buf, sizeof buf), "3h 25m");
	assert_string_equal(duration_human(86400 + 4 * 3600 + 59, buf, sizeof buf), "1d 4h");
	assert_string_equal(duration_human(86400 + 59 * 60, buf, sizeof buf), "1d");
	assert_string_equal(duration_human(-90, buf, sizeof buf), "-1m 30s");
	assert_string_equal(duration_human(12300, buf, 4), "3h ");
	rng_seed(&r, 5);
	for (int i = 0; i < 10000; i++) {
		int64_t s = rng_range(&r, 0, DURATION_MAX), back;
		assert_int_equal(duration_parse(duration_format(s, buf, sizeof buf), &back, NULL), 0);
		assert_int_equal(s, back);
	}
}

#define UTC_2331 1372894260 /* 2013-07-03T23:31Z */

static void test_instant(void **state)
{
	static const struct {
		const char *text;
		int64_t instant;
	} good[] = {
		{"3-07-2013 23:31", UTC_2331 + 3 * 3600},
		{"03-07-2013 23:31:05", UTC_2331 + 3 * 3600 + 5},
		{"2013-07-03T23:31", UTC_2331 + 3 * 3600},
		{"2013-07-03 23:31:00", UTC_2331 + 3 * 3600},
		{"2013-07-03T23:31Z", UTC_2331},
		{"2013-07-03T23:31:00+02:00", UTC_2331 - 2 * 3600},
		{"2013-07-03T23:31-0330", UTC_2331 + 3 * 3600 + 1800},
		{"2000-02-29T00:00Z", 951782400},
		{"1970-01-01T00:00Z", 0},
		{"+2h", 1000 + 7200},
		{"+90s", 1090},
		{"21:20", 1200}, /* now it is 21:16:40 */
		{"21:16:41", 1001},
		{"21:16:40", 1000 + 86400},
		{"6:00", 9 * 3600},
	};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"tomorrow", "not a date and time (use HH:MM, DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"", "not a date and time (use HH:MM, DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"3", "not a date and time (use HH:MM, DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"3-", "not a date and time (use HH:MM, DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"3-07-2013", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"3-07-2013 23", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"3-07-2013 23:31:", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"3-07-2013 24:00", "the time of day must be 00:00:00-23:59:59"},
		{"3-13-2013 23:00", "the month must be 1-12 (use DD-MM-YYYY or YYYY-MM-DD)"},
		{"31-04-2013 23:00", "the day must be 1-30 in that month"},
		{"29-02-2100 23:00", "the day must be 1-28 in that month"},
		{"3-07-13 23:00", "the year must be 1970-9999"},
		{"3-07-2013 23:31 Z", "what follows the time must be Z or an offset like +02:00"},
		{"3-07-2013 23:31+99", "what follows the time must be Z or an offset like +02:00"},
		{"3-07-2013 23:31Z+02", "what follows the time must be Z or an offset like +02:00"},
		{"24:00", "the time of day must be 00:00:00-23:59:59"},
		{"18:", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"18:00 tomorrow", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"+25:61", "seconds must be 0-59 (use HH:MM:SS)"},
	};
	struct err err;
	char buf[64];
	int64_t t;

	(void)state;
	setenv("TZ", "BRT3", 1); /* three hours behind UTC, no summer time */
	tzset();
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(instant_parse(good[i].text, 1000, &t, &err), 0);
		assert_int_equal(t, good[i].instant);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(instant_parse(bad[i].text, 1000, &t, &err), -EINVAL);
		assert_string_equal(err.text, bad[i].why);
	}
	assert_int_equal(instant_parse("+2h", INT64_MAX - 5, &t, &err), -EINVAL);
	assert_int_equal(instant_parse("18:00", 0, &t, &err), -EINVAL);
	assert_string_equal(err.text, "not a date and time (use DD-MM-YYYY HH:MM or YYYY-MM-DDTHH:MM)");
	assert_string_equal(instant_format(UTC_2331 + 3 * 3600, buf, sizeof buf), "2013-07-03 23:31:00");
	assert_int_equal(instant_parse(buf, 0, &t, &err), 0);
	assert_int_equal(t, UTC_2331 + 3 * 3600);
	assert_string_equal(instant_format(TIME_NEVER, buf, sizeof buf), "never");
}

/* A time of day on the days on which clocks in Berlin skip 02:00 to 03:00 and show it twice, and on
 * the next. */
static void test_skipped(void **state)
{
	static const struct {
		const char *text, *now, *instant;
	} rows[] = {
		{"2026-03-29T02:30", "2026-03-29T00:00Z", "2026-03-29T01:30Z"},
		{"2026-03-29T01:59:59", "2026-03-29T00:00Z", "2026-03-29T00:59:59Z"},
		{"2026-03-29T03:00", "2026-03-29T00:00Z", "2026-03-29T01:00Z"},
		{"2026-10-25T01:59", "2026-10-25T00:00Z", "2026-10-24T23:59Z"},
		{"2026-10-25T02:30", "2026-10-25T00:00Z", "2026-10-25T00:30Z"},
		{"2026-10-25T03:00", "2026-10-25T00:00Z", "2026-10-25T02:00Z"},
		{"02:30", "2026-10-25T00:00Z", "2026-10-25T00:30Z"},
		{"02:30", "2026-10-25T00:45Z", "2026-10-25T01:30Z"},
		{"02:30", "2026-10-25T01:45Z", "2026-10-26T01:30Z"},
		{"02:30", "2026-03-29T00:45Z", "2026-03-29T01:30Z"},
		{"04:00", "2026-03-29 01:45", "2026-03-29 04:00:00"},
		{"02:30", "2026-03-29 03:45", "2026-03-30 02:30:00"},
		{"01:30", "2026-03-29 03:45", "2026-03-30 01:30:00"},
	};
	struct err err;
	int64_t now, wanted, t;

	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(instant_parse(rows[i].now, 0, &now, &err), 0);
		assert_int_equal(instant_parse(rows[i].text, now, &t, &err), 0);
		assert_int_equal(instant_parse(rows[i].instant, 0, &wanted, &err), 0);
		if (t != wanted)
			fail_msg("%s, asked at %s: %lld, not %s", rows[i].text, rows[i].now, (long long)t,
				 rows[i].instant);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration_parse),
		cmocka_unit_test(test_duration_format),
		cmocka_unit_test(test_instant),
		cmocka_unit_test(test_skipped),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
