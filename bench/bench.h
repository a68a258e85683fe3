/*
 * bench.h - shared by the benchmarks: lines of results, and time.
 *
 * A result is a line `name value unit`. A name is a path, bench/row/.../column, from which
 * bench/run builds tables.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

/* Prints a line under a prefix ("speed/CTC/easy") and flushes it, so that results survive a time
 * limit. */
void bench_print(const char *prefix, const char *column, double value, int decimals, const char *unit);

double bench_seconds(void); /* monotonic clock */

/* Returns the value below which the given share of the values lies; reorders them. n > 0. */
double bench_quantile(double *v, size_t n, double share);

/* Parses a whole number >= 0, or exits with a message. */
int64_t bench_number(const char *text);

_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
