/*
 * timetext.h - durations and instants as text. Internally instants are seconds since 1970 UTC; text
 * is local time.
 */
#ifndef BASE_TIMETEXT_H
#define BASE_TIMETEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tm;

#define TIME_NEVER INT64_MAX

/* 100 years: products with numbers of CPUs stay far from overflow */
#define DURATION_MAX INT64_C(3153600000)

/* Parses "90", "1:30", "2:00:00", "1:00:00:00" (seconds, MM:SS, HH:MM:SS, D:HH:MM:SS), or with
 * units "2h", "1d12h", "45m", "30s", "5y" (of 365 days), "2w"; up to DURATION_MAX. -EINVAL says
 * what is wrong; neither parser here quotes the text, so the caller prefixes it. */
int duration_parse(const char *text, int64_t *ret_seconds, struct err *err);
/* Formats "HH:MM:SS" with any number of hours. Returns buf. */
const char *duration_format(int64_t seconds, char *buf, size_t size);
/* Formats for display: "1d 4h", "3h 25m", "45s". Returns buf. */
const char *duration_human(int64_t seconds, char *buf, size_t size);

/* Parses "3-07-2013 23:31[:SS]" (day-month-year), ISO 8601 ("2013-07-03T23:31[:SS][Z|+HH:MM]",
 * also with a blank), "+2h" (from now), or "18:00[:30]" (the next one; not if `now` is 0). Of a
 * time that local clocks show twice the first; one that they skip as if they did not. */
int instant_parse(const char *text, int64_t now, int64_t *ret_instant, struct err *err);
/* Returns when local clocks show a date and time; `second`: the second time, if they show it twice.
 * Where they skip it: as if they had not been set forward yet. (mktime() differs between C
 * libraries, and from call to call.) */
int64_t instant_local(const struct tm *tm, bool second);
/* Returns the first such instant that is not before `from`: of the day of `tm`, or of the next. */
int64_t instant_next(const struct tm *tm, int64_t from);
/* Formats "2013-07-03 23:31:00" in local time. Returns buf. */
const char *instant_format(int64_t instant, char *buf, size_t size);

int month_days(int64_t month, int64_t year); /* days in a month, 1-12 */

/* month_of() returns the month of an instant in local time, like 200504; month_end() returns
 * when the next month begins. */
int32_t month_of(int64_t instant);
int64_t month_end(int64_t instant);

#endif
