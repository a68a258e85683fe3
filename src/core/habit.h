/*
 * habit.h - the hours in which the owner usually uses a workstation, learned per weekday and hour.
 *
 * For each of the week's 168 hours it keeps the fraction of the hour the owner used the machine,
 * averaged over the weeks with recent ones weighing most. The text form has one letter per hour.
 */
#ifndef CORE_HABIT_H
#define CORE_HABIT_H

#include <stdbool.h>
#include <stdint.h>

#define HABIT_HOURS 168 /* hours of a week, starting on Sunday at 0:00 */
#define HABIT_UNKNOWN 255

struct habit {
	uint8_t used[HABIT_HOURS]; /* percent; HABIT_UNKNOWN: not observed yet */
};

void habit_init(struct habit *h);
/* Records that the owner used the machine for `percent` (0 to 100) of an hour of the week. */
void habit_learn(struct habit *h, int hour, int percent);
/* Converts to hours of UTC; local time is `offset` seconds ahead (fractions of an hour are
 * dropped). */
void habit_utc(const struct habit *h, int64_t offset, struct habit *ret);
/* Returns the expected fraction (0 to 1) of the `seconds` after `from` that the owner will use,
 * in hours of UTC. */
double habit_expect(const struct habit *h, int64_t from, int64_t seconds);
bool habit_known(const struct habit *h); /* true if the owner used it in some hour */

/* Writes 168 letters: '.' for unknown, 'a' to 'u' for steps of five percent. */
void habit_text(const struct habit *h, char ret[HABIT_HOURS + 1]);
bool habit_read(const char *text, struct habit *ret); /* returns false if the text is malformed */

#endif
