/*
 * bench.c - see bench.h.
 */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void bench_print(const char *prefix, const char *column, double value, int decimals, const char *unit)
{
	printf("%s/%s %.*f %s\n", prefix, column, decimals, value, unit);
	fflush(stdout);
}

double bench_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double bench_quantile(double *v, size_t n, double share)
{
	size_t i = (size_t)ceil(share * (double)n);

	qsort(v, n, sizeof *v, ascending);
	return v[i ? i - 1 : 0];
}

int64_t bench_number(const char *text)
{
	char *end;

	errno = 0;
	long long x = strtoll(text, &end, 10);
	if (errno || end == text || *end || x < 0)
		bench_fail("%s: not a whole number of at least 0", text);
	return x;
}

void bench_fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}
