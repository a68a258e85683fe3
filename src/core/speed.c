/*
 * speed.c - parses and formats speeds.
 */
#include "core/speed.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

static int speed_bad(struct err *err, const char *text)
{
	return err_set(err, -EINVAL, "speed %.40s: must be a number from 0.001 to 1000, with up to three decimals",
		       text);
}

int speed_parse(const char *text, uint32_t *ret, struct err *err)
{
	uint32_t whole = 0, part = 0, unit = SPEED_USUAL;
	const char *p = text;
	bool digits = isdigit((unsigned char)*p);

	for (; isdigit((unsigned char)*p) && whole <= SPEED_MAX; p++)
		whole = whole * 10 + (uint32_t)(*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p) && unit > 1; p++) {
			unit /= 10;
			part += (uint32_t)(*p - '0') * unit;
			digits = true;
		}
	if (!digits || *p || whole > SPEED_MAX / SPEED_USUAL || whole * SPEED_USUAL + part > SPEED_MAX ||
	    whole + part == 0)
		return speed_bad(err, text);
	*ret = whole * SPEED_USUAL + part;
	return 0;
}

int speed_of(double value, uint32_t *ret, struct err *err)
{
	char text[400];

	if (!(value >= 1.0 / SPEED_USUAL && value <= (double)SPEED_MAX / SPEED_USUAL)) {
		snprintf(text, sizeof text, "%g", value);
		return speed_bad(err, text);
	}
	*ret = (uint32_t)(value * SPEED_USUAL + 0.5);
	return 0;
}

char *speed_format(uint32_t speed, char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size, "%u.%03u", speed / SPEED_USUAL, speed % SPEED_USUAL);

	while (n > 0 && n < size && buf[n - 1] == '0')
		buf[--n] = '\0';
	if (n > 0 && n < size && buf[n - 1] == '.')
		buf[n - 1] = '\0';
	return buf;
}
