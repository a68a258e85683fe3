/*
 * hours.c - see hours.h.
 */
#include "base/hours.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/timetext.h"

#define DAY 1440	   /* minutes */
#define WEEK (7 * DAY)	   /* minutes */
#define DAY_SECONDS 86400  /* seconds in a day without a clock change */
#define MONDAY 3	   /* 1970-01-01 was a Thursday, three days after a Monday */
#define FOREVER (15 * DAY) /* minutes: merged spans that last this long never end */
#define DONE_MOST 10000	   /* maximum spans that hours_done() examines */

/* ---- parsing ---- */

static int refuse(const char *text, struct err *err)
{
	return err_set(
		err, -EINVAL,
		"\"%.60s\": must be hours such as 19:00-07:00, for every day or after days such as Sat or Mon-Fri",
		text);
}

static bool day_read(const char **p, int *ret)
{
	static const char *const names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

	for (int i = 0; i < 7; i++)
		if (strncasecmp(*p, names[i], 3) == 0) {
			*p += 3;
			*ret = i;
			return true;
		}
	return false;
}

/* Reads "Sat " or "Mon-Fri "; without days, all days. */
static bool days_read(const char **p, int *ret_first, int *ret_last)
{
	*ret_first = 0;
	*ret_last = 6;
	if (**p >= '0' && **p <= '9')
		return true;
	if (!day_read(p, ret_first))
		return false;
	*ret_last = *ret_first;
	if (**p == '-') {
		++*p;
		if (!day_read(p, ret_last))
			return false;
	}
	return **p == ' ' || **p == '\t';
}

static bool digits_read(const char **p, int most, int *ret)
{
	if ((*p)[0] < '0' || (*p)[0] > '9' || (*p)[1] < '0' || (*p)[1] > '9')
		return false;
	*ret = ((*p)[0] - '0') * 10 + (*p)[1] - '0';
	*p += 2;
	return *ret <= most;
}

/* Reads HH:MM, in minutes. */
static bool clock_read(const char **p, int *ret)
{
	int hour, minute;

	if (!digits_read(p, 24, &hour) || *(*p)++ != ':' || !digits_read(p, 59, &minute))
		return false;
	*ret = hour * 60 + minute;
	return *ret <= DAY;
}

static void blanks_skip(const char **p)
{
	*p += strspn(*p, " \t");
}

static int span_add(struct hours *h, int from, int to)
{
	int i = h->n;

	if (h->n == HOURS_MAX)
		return -ENOSPC;
	for (; i > 0 && h->span[i - 1].from > from; i--)
		h->span[i] = h->span[i - 1];
	h->span[i].from = from;
	h->span[i].to = to;
	h->n++;
	return 0;
}

static bool entry_read(const char **p, struct hours *h, int *ret_rc)
{
	int first, last, from, to;

	blanks_skip(p);
	if (!days_read(p, &first, &last))
		return false;
	blanks_skip(p);
	if (!clock_read(p, &from) || from == DAY || *(*p)++ != '-' || !clock_read(p, &to))
		return false;
	blanks_skip(p);
	if (to <= from)
		to += DAY;
	*ret_rc = 0;
	for (int day = first; *ret_rc == 0; day = (day + 1) % 7) {
		*ret_rc = span_add(h, day * DAY + from, day * DAY + to);
		if (day == last)
			break;
	}
	return **p == '\0' || **p == ',';
}

int hours_read(const char *text, struct hours *ret, struct err *err)
{
	struct hours h = {0};
	const char *p = text;
	int rc = 0;

	for (;; p++) {
		const char *entry = p;
		if (!entry_read(&p, &h, &rc))
			return refuse(entry, err);
		if (rc < 0)
			return err_set(err, -EINVAL, "more than %d spans in a week", HOURS_MAX);
		if (!*p)
			break;
	}
	*ret = h;
	return 0;
}

/* ---- instants ---- */

static int64_t offset_at(int64_t instant)
{
	time_t t = (time_t)instant;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* Returns the instant of a local time, which is given in seconds as if the clock had never
 * changed. For a time that occurs twice it returns the first; for a skipped one, the instant of
 * the clock change. */
static int64_t instant_of(int64_t local)
{
	int64_t before = offset_at(local - DAY_SECONDS), after = offset_at(local + DAY_SECONDS);
	int64_t early = local - after, late = local - before;

	if (before == after || offset_at(late) == before)
		return late;
	if (offset_at(early) == after)
		return early;
	while (late - early > 1) { /* the clock change is between them */
		int64_t middle = early + (late - early) / 2;
		if (offset_at(middle) == before)
			early = middle;
		else
			late = middle;
	}
	return late;
}

/* Returns when a span ends. A span that is skipped entirely has its usual length. */
static int64_t span_end(int64_t week, int64_t from, int64_t to)
{
	int64_t begin = instant_of(week + from * 60), end = instant_of(week + to * 60);

	return end > begin ? end : begin + (to - from) * 60;
}

static int64_t monday_before(int64_t local)
{
	int64_t days = local / DAY_SECONDS - (local % DAY_SECONDS < 0);

	return (days - ((days + MONDAY) % 7 + 7) % 7) * DAY_SECONDS;
}

bool hours_next(const struct hours *h, int64_t instant, int64_t *ret_begin, int64_t *ret_end)
{
	int64_t local = instant + offset_at(instant), week = monday_before(local) - WEEK * 60;
	/* `week` is the week before this one */
	int64_t minute = (local - week) / 60, begin = -1, end = -1;

	for (int64_t k = 0; k < 5 * (int64_t)h->n; k++) { /* the spans of five weeks */
		int64_t from = k / h->n * WEEK + h->span[k % h->n].from, to = k / h->n * WEEK + h->span[k % h->n].to;
		/* A quick check with two hours of slack for clock changes comes first;
		 * span_end() is exact. */
		if (begin < 0 && (to < minute - 120 || span_end(week, from, to) <= instant))
			continue;
		if (begin < 0)
			begin = from;
		else if (from > end)
			break;
		end = to > end ? to : end;
	}
	if (begin < 0)
		return false;
	*ret_begin = instant_of(week + begin * 60);
	*ret_end = end - begin >= FOREVER ? TIME_NEVER : span_end(week, begin, end);
	return true;
}

int64_t hours_longest(const struct hours *h)
{
	int64_t longest = 0;

	for (int i = 0; i < h->n; i++) {
		int64_t end = h->span[i].to;
		for (int k = i + 1; k <= i + 3 * h->n; k++) {
			int64_t week = (int64_t)(k / h->n) * WEEK;
			if (week + h->span[k % h->n].from > end)
				break;
			if (week + h->span[k % h->n].to > end)
				end = week + h->span[k % h->n].to;
		}
		if (end - h->span[i].from > longest)
			longest = end - h->span[i].from;
	}
	return longest >= FOREVER ? TIME_NEVER : longest * 60;
}

int64_t hours_done(const struct hours *h, int64_t start, int64_t length, int64_t pause)
{
	int64_t begin, end;

	for (int i = 0; i < DONE_MOST && hours_next(h, start, &begin, &end); i++, start = end) {
		if (begin < start)
			begin = start;
		if (end == TIME_NEVER || length <= end - begin)
			return begin + length;
		if (end - begin > pause)
			length -= end - begin - pause;
	}
	return TIME_NEVER;
}
