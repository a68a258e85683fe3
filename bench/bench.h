/*
 * bench.h - what the benchmarks share: lines of results, and time.
 *
 * A result is a line `name value unit`. A name is a path, bench/row/.../column, of which bench/run makes tables.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>

/* Prints a line under a prefix ("speed/CTC/easy"), and flushes it: what was measured survives a time limit. */
void bench_print(const char *prefix, const char *column, double value, int decimals, const char *unit);

double bench_seconds(void); /* of a clock that never goes back */

/* The value below which a share of the values lies; reorders them. n > 0. */
double bench_quantile(double *v, size_t n, double share);

/* A whole number >= 0, or the program ends with a message. */
int64_t bench_number(const char *text);

_Noreturn void bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
