/*
 * day.h - days in local time, and instants as UTC text.
 */
#ifndef BASE_DAY_H
#define BASE_DAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Parses "2026-12-24" into the instants at which that day and the next begin in local time.
 * -EINVAL says what is wrong. */
int day_read(const char *text, int64_t *ret_begin, int64_t *ret_end, struct err *err);
/* Formats "2026-12-24T07:00:00Z". Returns buf, or NULL if out of range. */
const char *instant_utc(int64_t instant, char *buf, size_t size);

#endif
