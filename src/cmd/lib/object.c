/*
 * object.c - reads values from the API's objects, and formats words and times for people.
 */
#include "cmd/lib/object.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

const json_t *object_value(const json_t *object, const char *key)
{
	const char *dot = strchr(key, '.');
	char outer[32];

	if (!dot)
		return json_object_get(object, key);
	snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
	return json_object_get(json_object_get(object, outer), dot + 1);
}

const char *value_text(const json_t *value)
{
	const char *text = json_string_value(value);
	size_t n = json_string_length(value);
	struct strbuf clean = {0};

	if (!text || text_is_clean(text, n, TEXT_LINE))
		return text ? text : "";
	text_clean(&clean, text, n, TEXT_LINE);
	/* stored in the object, so that it lives as long as the original */
	json_string_set((json_t *)value, clean.text);
	strbuf_fini(&clean);
	return json_string_value(value);
}

const char *object_text(const json_t *object, const char *key)
{
	return value_text(object_value(object, key));
}

int64_t object_number(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = object_value(object, key);

	return json_is_number(value) ? (int64_t)json_number_value(value) : otherwise;
}

const char *instant_ctime(int64_t instant, char *buf, size_t size)
{
	time_t t = (time_t)instant;
	struct tm tm;

	/* Formats like ctime() in the C locale, whatever the locale. */
	static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	if (!localtime_r(&t, &tm))
		snprintf(buf, size, "%lld", (long long)instant);
	else
		snprintf(buf, size, "%.3s %.3s %2d %02d:%02d:%02d %d", days + 3 * tm.tm_wday, months + 3 * tm.tm_mon,
			 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, tm.tm_year + 1900);
	return buf;
}

static bool is_near(int64_t instant, int64_t now)
{
	return instant - now < 6 * 86400 && now - instant < 6 * 86400;
}

/* Copies as much of the text as fits. */
static void text_copy(char *buf, size_t size, const char *text, size_t n)
{
	if (n >= size)
		n = size - 1;
	memcpy(buf, text, n);
	buf[n] = '\0';
}

const char *instant_near(int64_t instant, int64_t now, char *buf, size_t size)
{
	/* Cache of the last result: neighbors in a list often share a minute, and the calendar
	 * takes longer than the rest of their rows. */
	static struct {
		int64_t minute, now; /* `minute` is its first second */
		bool known, near;
		char text[40];
	} last;
	time_t t = (time_t)instant, n = (time_t)now;
	struct tm tm, today;

	if (last.known && now == last.now && instant >= last.minute && instant < last.minute + 60 &&
	    is_near(instant, now) == last.near) {
		text_copy(buf, size, last.text, strlen(last.text));
		return buf;
	}
	if (!localtime_r(&t, &tm) || !localtime_r(&n, &today)) {
		snprintf(buf, size, "?");
		return buf;
	}
	bool same_day = tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year;
	bool near = is_near(instant, now);
	strftime(last.text, sizeof last.text, same_day ? "%H:%M" : near ? "%a %H:%M" : "%Y-%m-%d %H:%M", &tm);
	last.minute = instant - tm.tm_sec;
	last.now = now;
	last.near = near;
	last.known = true;
	text_copy(buf, size, last.text, strlen(last.text));
	return buf;
}

const char *state_word(const char *letter)
{
	switch (*letter) {
	case 'Q':
		return "queued";
	case 'R':
		return "running";
	case 'H':
		return "held";
	case 'W':
		return "waiting";
	case 'S':
		return "suspended";
	case 'E':
		return "exiting";
	case 'C':
		return "completed";
	case 'B':
		return "begun";
	}
	return letter;
}

const char *array_outcome_text(int64_t failed, int64_t elements, int64_t status, char *buf, size_t size)
{
	if (failed > 0)
		snprintf(buf, size, "%" PRId64 " of %" PRId64 " failed", failed, elements);
	else
		snprintf(buf, size, "%s, %" PRId64, status == 0 ? "succeeded" : "cancelled", elements);
	return buf;
}

const char *id_short(const char *id, char *buf, size_t size)
{
	text_copy(buf, size, id, strcspn(id, "."));
	return buf;
}
