/*
 * amount.c - amounts for people.
 */
#include "base/amount.h"

#include <stdio.h>

const char *memory_human(int64_t kib, char *buf, size_t size)
{
	static const char *const units[] = {"KB", "MB", "GB", "TB", "PB"};
	double n = (double)kib;
	int unit = 0;

	for (; n >= 1024 && unit < 4; unit++)
		n /= 1024;
	snprintf(buf, size, n < 10 && n != (double)(int)n ? "%.1f %s" : "%.0f %s", n, units[unit]);
	return buf;
}
