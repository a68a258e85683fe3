/*
 * amount.c - parses and formats numbers and amounts of memory.
 */
#include "base/amount.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

bool digits_scan(const char **at, int64_t max, int64_t *ret)
{
	int64_t n = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); ++*at) {
		int digit = **at - '0';
		if (digit > max || n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*ret = n;
	return true;
}

int memory_parse(const char *text, int64_t *ret_kib, struct err *err)
{
	static const char units[] = "kmgtp";
	int64_t n = 0;
	const char *at = text;

	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *at - '0', &n))
			return err_set(err, -EINVAL, "more memory than there can be");
	if (at == text)
		return err_set(err, -EINVAL, "memory must be a whole number with b, kb, mb, gb or tb (as in 8gb)");

	int shift = 0;
	const char *unit = *at ? strchr(units, tolower((unsigned char)*at)) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		at++;
	}
	if (*at == 'w' || *at == 'W')
		shift += 3; /* words of 8 bytes */
	if (*at && strchr("bBwW", *at))
		at++;
	if (*at)
		return err_set(err, -EINVAL, "memory must be a whole number with b, kb, mb, gb or tb (as in 8gb)");
	if (n > INT64_MAX >> shift)
		return err_set(err, -EINVAL, "more memory than there can be");

	int64_t bytes = n << shift, kib = bytes / 1024 + (bytes % 1024 != 0);
	if (kib > MEMORY_MAX)
		return err_set(err, -EINVAL, "more memory than there can be");
	*ret_kib = kib;
	return 0;
}

const char *memory_format(int64_t kib, char *buf, size_t size)
{
	static const char *const unit[] = {"kb", "mb", "gb", "tb"};
	int u = 0;

	for (; u < 3 && kib != 0 && kib % 1024 == 0; u++)
		kib /= 1024;
	snprintf(buf, size, "%lld%s", (long long)kib, unit[u]);
	return buf;
}

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
