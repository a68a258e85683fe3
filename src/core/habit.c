/*
 * habit.c - learns and predicts the hours in which a workstation is used.
 */
#include "core/habit.h"

#include <math.h>
#include <string.h>

#define LATEST 0.4 /* weight of the latest week: an old habit fades after about three weeks */
#define STEP 5	   /* percent per letter */

void habit_init(struct habit *h)
{
	memset(h->used, HABIT_UNKNOWN, sizeof h->used);
}

void habit_learn(struct habit *h, int hour, int percent)
{
	uint8_t *u = &h->used[hour];

	percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
	*u = *u == HABIT_UNKNOWN ? (uint8_t)percent : (uint8_t)lround((1 - LATEST) * *u + LATEST * percent);
}

/* 1970-01-01 was a Thursday: four days after a Sunday. */
static int hour_of(int64_t at)
{
	int64_t hours = at / 3600 - (at % 3600 < 0);

	return (int)(((hours + 4 * 24) % HABIT_HOURS + HABIT_HOURS) % HABIT_HOURS);
}

void habit_utc(const struct habit *h, int64_t offset, struct habit *ret)
{
	int hours = (int)(offset / 3600);

	for (int i = 0; i < HABIT_HOURS; i++)
		ret->used[((i - hours) % HABIT_HOURS + HABIT_HOURS) % HABIT_HOURS] = h->used[i];
}

bool habit_known(const struct habit *h)
{
	for (int i = 0; i < HABIT_HOURS; i++)
		if (h->used[i] != HABIT_UNKNOWN && h->used[i] > 0)
			return true;
	return false;
}

double habit_expect(const struct habit *h, int64_t from, int64_t seconds)
{
	int64_t at = from, end, step;
	double sum = 0;

	if (seconds < 1)
		return 0;
	/* The pattern repeats every week. */
	if (seconds > HABIT_HOURS * 3600)
		seconds = HABIT_HOURS * 3600;
	for (end = at + seconds; at < end; at += step) {
		uint8_t u = h->used[hour_of(at)];
		step = 3600 - ((at % 3600) + 3600) % 3600;
		if (step > end - at)
			step = end - at;
		sum += u == HABIT_UNKNOWN ? 0 : (double)step * u / 100;
	}
	return sum / (double)seconds;
}

void habit_text(const struct habit *h, char ret[HABIT_HOURS + 1])
{
	for (int i = 0; i < HABIT_HOURS; i++)
		ret[i] = h->used[i] == HABIT_UNKNOWN ? '.' : (char)('a' + (h->used[i] + STEP / 2) / STEP);
	ret[HABIT_HOURS] = '\0';
}

bool habit_read(const char *text, struct habit *ret)
{
	if (strlen(text) != HABIT_HOURS)
		return false;
	for (int i = 0; i < HABIT_HOURS; i++)
		if (text[i] != '.' && (text[i] < 'a' || text[i] > 'a' + 100 / STEP))
			return false;
	for (int i = 0; i < HABIT_HOURS; i++)
		ret->used[i] = text[i] == '.' ? HABIT_UNKNOWN : (uint8_t)((text[i] - 'a') * STEP);
	return true;
}
