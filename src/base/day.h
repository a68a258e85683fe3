/*
 * day.h - days of local time, and instants as text of UTC.
 */
#ifndef BASE_DAY_H
#define BASE_DAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* "2026-12-24": when the day begins, and when the next one does, in local time. -EINVAL with what is wrong. */
int day_read(const char *text, int64_t *ret_begin, int64_t *ret_end, struct err *err);
/* "2026-12-24T07:00:00Z". Returns buf; NULL: it is out of range. */
const char *instant_utc(int64_t instant, char *buf, size_t size);

#endif
