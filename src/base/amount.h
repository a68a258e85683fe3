/*
 * amount.h - parses and formats numbers and amounts of memory.
 */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MEMORY_MAX ((INT64_C(1) << 53) - 1) /* KiB: sums over a request stay far from overflow */

/* Reads digits and moves *at past them; returns false if there are none or the number exceeds
 * `max`. */
bool digits_scan(const char **at, int64_t max, int64_t *ret);

/* Parses "8gb", "512mb", "100kb", "2tb", "4096" (bytes), b/w suffixes of PBS and Slurm-style
 * K/M/G/T, into KiB, rounded up. -EINVAL says what is wrong but does not quote the text; the
 * caller prefixes it. */
int memory_parse(const char *text, int64_t *ret_kib, struct err *err);
const char *memory_format(int64_t kib, char *buf, size_t size); /* largest exact unit: "8gb" */
/* Formats for display: "1.5 GB". Returns buf. */
const char *memory_human(int64_t kib, char *buf, size_t size);

#endif
