/*
 * day.c - see day.h.
 */
#include "base/day.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define DATE_TEXT 10 /* length of 2026-12-24 */

int day_read(const char *text, int64_t *ret_begin, int64_t *ret_end, struct err *err)
{
	struct tm tm = {0}, next;
	const char *end = strlen(text) == DATE_TEXT ? strptime(text, "%Y-%m-%d", &tm) : NULL;

	if (!end || *end)
		return err_set(err, -EINVAL, "\"%.40s\" is not a date such as 2026-12-24", text);
	tm.tm_isdst = -1;
	next = tm;
	*ret_begin = mktime(&tm);
	if (tm.tm_mday != next.tm_mday || tm.tm_mon != next.tm_mon)
		return err_set(err, -EINVAL, "%.40s is not a day of the calendar", text);
	next.tm_mday++;
	*ret_end = mktime(&next);
	return 0;
}

const char *instant_utc(int64_t instant, char *buf, size_t size)
{
	time_t at = (time_t)instant;
	struct tm tm;

	return gmtime_r(&at, &tm) && strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm) ? buf : NULL;
}
