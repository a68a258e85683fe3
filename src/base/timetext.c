/*
 * timetext.c - parses and formats durations and instants.
 */
#include "base/timetext.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define NOT_DURATION "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"
#define NOT_CLOCK "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"

/* Numbers saturate here: above any bound, and no overflow when multiplied by a year. */
#define NUMBER_MAX INT64_C(100000000000)

/* Reads the digits at *at, if any, and moves past them. */
static bool number_read(const char **at, int64_t *ret)
{
	int64_t n = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); ++*at)
		if (n < NUMBER_MAX)
			n = n * 10 + (**at - '0');
	*ret = n < NUMBER_MAX ? n : NUMBER_MAX;
	return true;
}

static int colons_parse(const char *text, int64_t *ret, struct err *err)
{
	static const struct {
		const char *name;
		int64_t seconds;
		int64_t below; /* upper bound, unless it is the first field */
	} unit[] = {{"seconds", 1, 60}, {"minutes", MINUTE, 60}, {"hours", HOUR, 24}, {"days", DAY, 0}};
	int64_t field[4], total = 0;
	int n = 0;

	do {
		if (n == 4)
			return err_set(err, -EINVAL, "too many fields (use D:HH:MM:SS at most)");
		if (!number_read(&text, &field[n++]))
			return err_set(err, -EINVAL, NOT_DURATION);
	} while (*text++ == ':');
	if (text[-1])
		return err_set(err, -EINVAL, NOT_DURATION);

	for (int i = 0; i < n; i++) {
		int u = n - 1 - i;
		if (i > 0 && field[i] >= unit[u].below)
			return err_set(err, -EINVAL, "%s must be 0-%d (use %s)", unit[u].name, (int)unit[u].below - 1,
				       n == 4 ? "D:HH:MM:SS" : "HH:MM:SS");
		total += field[i] * unit[u].seconds;
	}
	*ret = total;
	return 0;
}

static int units_parse(const char *text, int64_t *ret, struct err *err)
{
	static const char letters[] = "ywdhms";
	static const int64_t seconds[] = {365 * DAY, 7 * DAY, DAY, HOUR, MINUTE, 1};
	int64_t n, total = 0;
	const char *next = letters;

	while (*text) {
		if (!number_read(&text, &n))
			return err_set(err, -EINVAL, NOT_DURATION);
		const char *letter = *text ? strchr(next, *text) : NULL;
		if (*text == '.')
			return err_set(err, -EINVAL, "the numbers must be whole (as in 1h30m instead of 1.5h)");
		if (!letter)
			return err_set(err, -EINVAL,
				       "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)");
		total += n * seconds[letter - letters];
		next = letter + 1;
		text++;
	}
	*ret = total;
	return 0;
}

/* Parses Slurm's days: D-HH, D-HH:MM or D-HH:MM:SS. */
static int days_parse(const char *text, int64_t *ret, struct err *err)
{
	static const int64_t below[] = {24, 60, 60}, seconds[] = {HOUR, MINUTE, 1};
	int64_t n = 0, total = 0;

	number_read(&text, &n);
	total = n * DAY;
	for (int i = 0; i < 3 && *text == (i ? ':' : '-'); i++) {
		text++;
		if (!number_read(&text, &n) || n >= below[i])
			return err_set(err, -EINVAL, "hours must be 0-23, minutes and seconds 0-59 (use D-HH:MM:SS)");
		total += n * seconds[i];
	}
	if (*text)
		return err_set(err, -EINVAL, NOT_DURATION);
	*ret = total;
	return 0;
}

int duration_parse(const char *text, int64_t *ret_seconds, struct err *err)
{
	int64_t total = 0;
	size_t digits = strspn(text, "0123456789");
	int rc = digits && text[digits] == '-'	     ? days_parse(text, &total, err)
		 : text[strspn(text, "0123456789:")] ? units_parse(text, &total, err)
						     : colons_parse(text, &total, err);

	if (rc < 0)
		return rc;
	if (total > DURATION_MAX)
		return err_set(err, -EINVAL, "too long (at most 100 years)");
	*ret_seconds = total;
	return 0;
}

static uint64_t magnitude(int64_t x)
{
	return x < 0 ? -(uint64_t)x : (uint64_t)x;
}

const char *duration_format(int64_t seconds, char *buf, size_t size)
{
	unsigned long long s = magnitude(seconds);

	/* fast path for the common case: long lists have very many */
	if (seconds >= 0 && s < 100 * HOUR && size > 8) {
		unsigned part[] = {(unsigned)(s / HOUR), (unsigned)(s / MINUTE % 60), (unsigned)(s % 60)};
		for (int i = 0; i < 3; i++) {
			buf[3 * i] = (char)('0' + part[i] / 10);
			buf[3 * i + 1] = (char)('0' + part[i] % 10);
			buf[3 * i + 2] = i < 2 ? ':' : '\0';
		}
		return buf;
	}
	snprintf(buf, size, "%s%02llu:%02llu:%02llu", seconds < 0 ? "-" : "", s / HOUR, s / MINUTE % 60, s % 60);
	return buf;
}

/* Writes digits and a letter so that they end before `end`, and returns their start. Much faster
 * than printf() for long lists. */
static char *amount_before(char *end, unsigned long long n, char letter)
{
	*--end = letter;
	do
		*--end = (char)('0' + n % 10);
	while (n /= 10);
	return end;
}

const char *duration_human(int64_t seconds, char *buf, size_t size)
{
	char text[64] = "", *p = text + sizeof text - 1;
	unsigned long long s = magnitude(seconds);
	static const struct {
		unsigned long long seconds;
		char letter;
	} unit[] = {{DAY, 'd'}, {HOUR, 'h'}, {MINUTE, 'm'}, {1, 's'}};
	int u = 0;

	while (u < 3 && s < unit[u].seconds)
		u++;
	unsigned long long rest = u < 3 ? s % unit[u].seconds / unit[u + 1].seconds : 0;
	if (rest) {
		p = amount_before(p, rest, unit[u + 1].letter);
		*--p = ' ';
	}
	p = amount_before(p, s / unit[u].seconds, unit[u].letter);
	if (seconds < 0)
		*--p = '-';

	size_t n = (size_t)(text + sizeof text - p); /* includes the NUL */

	if (n > size)
		n = size;
	if (n > 0) {
		memcpy(buf, p, n);
		buf[n - 1] = '\0';
	}
	return buf;
}

int month_days(int64_t month, int64_t year)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* Reads "2013-07-03" or "3-07-2013": the field that is larger than any day is the year. `now` is
 * that of instant_parse(). */
static int date_read(const char **at, int64_t now, struct tm *tm, struct err *err)
{
	int64_t a, b, c;

	if (!number_read(at, &a) || *(*at)++ != '-' || !number_read(at, &b) || *(*at)++ != '-' || !number_read(at, &c))
		return err_set(err, -EINVAL,
			       now > 0 ? "not a date and time (use HH:MM, DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"
				       : "not a date and time (use DD-MM-YYYY HH:MM or YYYY-MM-DDTHH:MM)");

	int64_t year = a > 31 ? a : c, day = a > 31 ? c : a;
	if (year < 1970 || year > 9999)
		return err_set(err, -EINVAL, "the year must be 1970-9999");
	if (b < 1 || b > 12)
		return err_set(err, -EINVAL, "the month must be 1-12 (use DD-MM-YYYY or YYYY-MM-DD)");
	if (day < 1 || day > month_days(b, year))
		return err_set(err, -EINVAL, "the day must be 1-%d in that month", month_days(b, year));
	tm->tm_year = (int)year - 1900;
	tm->tm_mon = (int)b - 1;
	tm->tm_mday = (int)day;
	return 0;
}

static int clock_read(const char **at, struct tm *tm, struct err *err)
{
	int64_t h, m, s = 0;

	if (!number_read(at, &h) || **at != ':' || !(++*at, number_read(at, &m)))
		return err_set(err, -EINVAL, NOT_CLOCK);
	if (**at == ':' && !(++*at, number_read(at, &s)))
		return err_set(err, -EINVAL, NOT_CLOCK);
	if (h > 23 || m > 59 || s > 59)
		return err_set(err, -EINVAL, "the time of day must be 00:00:00-23:59:59");
	tm->tm_hour = (int)h;
	tm->tm_min = (int)m;
	tm->tm_sec = (int)s;
	return 0;
}

/* Reads "Z", "+02:00", "+0200", "+02", or nothing for local time. */
static int zone_read(const char **at, bool *ret_local, int64_t *ret_east, struct err *err)
{
	const char *z = *at;
	int64_t h = 0, m = 0;

	*ret_local = *z == '\0';
	*ret_east = 0;
	if (*z == 'Z')
		z++;
	if (*z == '\0')
		return 0;

	int east = *z == '+' ? 1 : -1;
	if ((*z == '+' || *z == '-') && z == *at) {
		const char *digits = ++z;
		bool ok = number_read(&z, &h);
		if (ok && z - digits == 4) {
			m = h % 100;
			h /= 100;
		} else if (ok && *z == ':') {
			z++;
			ok = number_read(&z, &m);
		}
		if (ok && *z == '\0' && h <= 14 && m <= 59) {
			*ret_east = east * (h * HOUR + m * MINUTE);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "what follows the time must be Z or an offset like +02:00");
}

static int64_t offset_at(int64_t instant)
{
	time_t t = instant;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

int64_t instant_local(const struct tm *tm, bool second)
{
	struct tm copy = *tm; /* timegm() corrects it */
	int64_t utc = timegm(&copy), before = offset_at(utc - DAY), after = offset_at(utc + DAY);
	bool early = offset_at(utc - before) == before, late = offset_at(utc - after) == after;

	return utc - (late && (second || !early) ? after : before);
}

int64_t instant_next(const struct tm *tm, int64_t from)
{
	struct tm tomorrow = *tm;
	int64_t at = instant_local(tm, false);

	if (at < from)
		at = instant_local(tm, true);
	tomorrow.tm_mday++;
	return at < from ? instant_local(&tomorrow, false) : at;
}

/* Reads "18:00[:30]", the next time at which local clocks show it. */
static int clock_next(const char *text, int64_t now, int64_t *ret_instant, struct err *err)
{
	time_t at = now;
	struct tm today;
	int rc;

	if (!localtime_r(&at, &today))
		return err_set(err, -EINVAL, "too far in the future");
	if ((rc = clock_read(&text, &today, err)) < 0)
		return rc;
	if (*text)
		return err_set(err, -EINVAL, NOT_CLOCK);
	*ret_instant = instant_next(&today, now + 1);
	return 0;
}

int instant_parse(const char *text, int64_t now, int64_t *ret_instant, struct err *err)
{
	struct tm tm = {0};
	int64_t east, t;
	bool local;
	int rc;

	if (*text == '+') {
		size_t digits = strspn(text + 1, "0123456789");
		if (digits && !text[1 + digits])
			return err_set(err, -EINVAL, "give a unit, as in +%.*sm, +%.*sh or +%.*sd", (int)digits,
				       text + 1, (int)digits, text + 1, (int)digits, text + 1);
		rc = duration_parse(text + 1, &t, err);
		if (rc == 0 && __builtin_add_overflow(now, t, ret_instant))
			rc = err_set(err, -EINVAL, "too far in the future");
		return rc;
	}
	if (now > 0 && text[strspn(text, "0123456789")] == ':')
		return clock_next(text, now, ret_instant, err);
	if ((rc = date_read(&text, now, &tm, err)) < 0)
		return rc;
	if (*text == 'T' || *text == ' ')
		text++;
	if ((rc = clock_read(&text, &tm, err)) < 0 || (rc = zone_read(&text, &local, &east, err)) < 0)
		return rc;
	*ret_instant = local ? instant_local(&tm, false) : timegm(&tm) - east;
	return 0;
}

const char *instant_format(int64_t instant, char *buf, size_t size)
{
	time_t t = instant;
	struct tm tm;

	if (instant == TIME_NEVER)
		snprintf(buf, size, "never");
	else if (!localtime_r(&t, &tm) || strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(buf, size, "%lld", (long long)instant);
	return buf;
}

int32_t month_of(int64_t instant)
{
	time_t t = (time_t)instant;
	struct tm tm;

	localtime_r(&t, &tm);
	return (tm.tm_year + 1900) * 100 + tm.tm_mon + 1;
}

int64_t month_end(int64_t instant)
{
	time_t t = (time_t)instant;
	struct tm tm;

	localtime_r(&t, &tm);
	tm = (struct tm){.tm_year = tm.tm_year, .tm_mon = tm.tm_mon + 1, .tm_mday = 1};
	return instant_local(&tm, false);
}
