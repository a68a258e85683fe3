/*
 * test_ledger.c - what an attempt used is split by days of the local time, also where clocks are
 * changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "server/book/ledger.h"

#define DAYS 3
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define HAVANA "CST5CDT,M3.2.0/0,M11.1.0/1"

struct split {
	int64_t day[DAYS], ran_ms[DAYS], attempts;
	int n;
};

static void day_take(void *context, const struct ledger_row *x)
{
	struct split *s = context;

	if (s->n == 0 || s->day[s->n - 1] != x->day) /* midnight may come twice in a day */
		s->n++;
	assert_true(s->n <= DAYS);
	s->day[s->n - 1] = x->day;
	s->ran_ms[s->n - 1] += x->used.ran_ms;
	s->attempts += x->attempts;
}

/* Three days from noon to noon, of which the middle one has `hours` hours; latest first. */
static void split_in(const char *zone, int year, int month, int middle, int hours)
{
	struct tm noon = {
		.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = middle + 1, .tm_hour = 12, .tm_isdst = -1};
	struct ledger_instant known = {0};
	struct history_row row = {
		.user = "u", .group = "g", .queue = "q", .cpus = 1, .ran_ms = (24 + hours) * INT64_C(3600000)};

	setenv("TZ", zone, 1);
	tzset();
	row.ended = (int64_t)mktime(&noon);
	for (int again = 0; again < 3; again++) {
		struct split s = {0};
		ledger_split(&known, &row, day_take, &s);
		assert_int_equal(s.n, 3);
		assert_int_equal(s.attempts, 1);
		assert_int_equal(s.day[1], year * 10000 + month * 100 + middle);
		assert_int_equal(s.ran_ms[0], 12 * 3600000);
		assert_int_equal(s.ran_ms[1], hours * 3600000);
		assert_int_equal(s.ran_ms[2], 12 * 3600000);

		struct history_row none = {.user = "u", .group = "g", .queue = "q", .cpus = 1, .ended = known.at};
		struct split first = {0};
		ledger_split(&known, &none, day_take, &first);
		assert_int_equal(first.n, 1);
		assert_int_equal(first.day[0], s.day[2]);
	}
}

static void days_of_any_length(void **state)
{
	split_in("UTC", 2026, 11, 16, 24);
	split_in(BERLIN, 2026, 7, 2, 24);
	split_in(BERLIN, 2026, 3, 29, 23);
	split_in(BERLIN, 2026, 10, 25, 25);
	split_in(HAVANA, 2026, 3, 8, 23);  /* its first hour is left out */
	split_in(HAVANA, 2026, 11, 1, 25); /* its first hour comes twice */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(days_of_any_length)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
