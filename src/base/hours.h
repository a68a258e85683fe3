/*
 * hours.h - hours of the week in local time, such as nights and weekends: "Mon-Fri 19:00-07:00,
 * Sat-Sun 00:00-24:00".
 *
 * A span that does not end after it begins lasts into the next day. Without days it applies to
 * every day. When daylight saving time begins or ends, wall-clock time counts: each span occurs
 * once. A time that occurs twice means the first occurrence; a skipped one means the instant at
 * which the clock changes, and a span skipped entirely has its usual length from there.
 */
#ifndef BASE_HOURS_H
#define BASE_HOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define HOURS_MAX 56

struct hours { /* unused spans are zero, so that two can be compared with memcmp() */
	int32_t n;
	struct {
		int32_t from, to; /* minutes since Monday 00:00; `to` may be in the next week */
	} span[HOURS_MAX];	  /* sorted by `from` */
};

/* Parses hours of the week. -EINVAL says what is wrong and what is allowed. */
int hours_read(const char *text, struct hours *ret, struct err *err);
/* Finds the first span that ends after an instant, merged with those that follow without a gap;
 * *ret_end is TIME_NEVER if they never end. Returns false if there are none. */
bool hours_next(const struct hours *h, int64_t instant, int64_t *ret_begin, int64_t *ret_end);
/* Returns the length of the longest merged span in seconds; TIME_NEVER: unlimited. */
int64_t hours_longest(const struct hours *h);
/* Returns when work of `length` seconds is done that begins at `start` and runs only within the
 * spans, if the last `pause` seconds of each do not count. TIME_NEVER: never. */
int64_t hours_done(const struct hours *h, int64_t start, int64_t length, int64_t pause);

#endif
