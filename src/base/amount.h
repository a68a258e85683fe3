/*
 * amount.h - numbers and amounts of memory as texts.
 */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MEMORY_MAX ((INT64_C(1) << 53) - 1) /* KiB: sums over a request stay far from overflow */

/* Digits, which *at is moved past; false if there are none or they are more than `max`. */
bool digits_scan(const char **at, int64_t max, int64_t *ret);

/* "8gb", "512mb", "100kb", "2tb", "4096" (bytes), also b/w suffixes of PBS and Slurm-style K/M/G/T; in KiB, rounded up.
 * -EINVAL with what is wrong; it does not repeat the text, so prefix it. */
int memory_parse(const char *text, int64_t *ret_kib, struct err *err);
const char *memory_format(int64_t kib, char *buf, size_t size); /* largest exact unit: "8gb" */
/* The same for people: "1.5 GB". Returns buf. */
const char *memory_human(int64_t kib, char *buf, size_t size);

#endif
