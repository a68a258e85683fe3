/*
 * hours.h - hours of the week, in local time, such as nights and weekends: "Mon-Fri 19:00-07:00, Sat-Sun 00:00-24:00".
 *
 * A span whose end is not after its beginning lasts into the next day. Without days it is meant for every day. Where summer time begins or ends, the
 * clock on the wall counts: each span comes once. A time that comes twice is the first of them; one that is skipped is the
 * instant at which the clock is set, and a span that is skipped as a whole has its usual length from there.
 */
#ifndef BASE_HOURS_H
#define BASE_HOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define HOURS_MAX 56

struct hours { /* plain: unused spans are zero, so that two can be compared as memory */
	int32_t n;
	struct {
		int32_t from, to; /* minutes since Monday 00:00; `to` may lie in the next week */
	} span[HOURS_MAX];	  /* by `from` */
};

/* -EINVAL, with what is wrong and what is allowed. */
int hours_read(const char *text, struct hours *ret, struct err *err);
/* The first span that ends after an instant, together with those that follow without a gap; *ret_end is TIME_NEVER if they go on for ever. False: there are none. */
bool hours_next(const struct hours *h, int64_t instant, int64_t *ret_begin, int64_t *ret_end);
/* How long the longest of those is; TIME_NEVER: for ever. */
int64_t hours_longest(const struct hours *h);
/* When something that takes `length` seconds and begins within them at `start` is done, if the last `pause` seconds of each don't count. TIME_NEVER: never. */
int64_t hours_done(const struct hours *h, int64_t start, int64_t length, int64_t pause);

#endif
