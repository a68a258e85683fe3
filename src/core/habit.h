/*
 * habit.h - the hours in which a workstation is usually used by its owner, learned per weekday and hour.
 *
 * Each of the week's 168 hours has the share of it that the owner had the machine, averaged over the weeks with the latest weighing most. Pure, and
 * as small as its text: one letter for each hour.
 */
#ifndef CORE_HABIT_H
#define CORE_HABIT_H

#include <stdbool.h>
#include <stdint.h>

#define HABIT_HOURS 168 /* of a week, from Sunday 0:00 on */
#define HABIT_UNKNOWN 255

struct habit {
	uint8_t used[HABIT_HOURS]; /* percent; HABIT_UNKNOWN: not seen yet */
};

void habit_init(struct habit *h);
/* An hour of the week is over, of which the owner had this share (0 to 100). */
void habit_learn(struct habit *h, int hour, int percent);
/* The same in hours of UTC, of which local time is `offset` seconds ahead (parts of an hour are left out). */
void habit_utc(const struct habit *h, int64_t offset, struct habit *ret);
/* How much of the `seconds` from an instant on the owner will want, 0 to 1, by hours of UTC. */
double habit_expect(const struct habit *h, int64_t from, int64_t seconds);
bool habit_known(const struct habit *h); /* the owner had it at some hour */

/* 168 letters, '.' for unknown, 'a' to 'u' for steps of five percent. */
void habit_text(const struct habit *h, char ret[HABIT_HOURS + 1]);
bool habit_read(const char *text, struct habit *ret); /* false: it is not one */

#endif
