/*
 * when.c - see when.h.
 */
#include "cmd/lib/when.h"

#include <stdio.h>
#include <string.h>

#include "base/timetext.h"

int when_parse(const struct command *c, const char *option, const char *text, int64_t now, int64_t *ret)
{
	char midnight[64];
	int64_t ago;
	struct err err;

	if (*text && text[strspn(text, "0123456789")] == '\0')
		return command_misused(c, "--%s %.60s: give a unit, as in %.10sd, %.10sh or %.10sm", option, text, text,
				       text, text);
	if (duration_parse(text, &ago, NULL) == 0) {
		*ret = now > ago ? now - ago : 0;
		return 0;
	}
	snprintf(midnight, sizeof midnight, "%.40s 00:00", text);
	if (instant_parse(text, now, ret, &err) == 0 || instant_parse(midnight, now, ret, NULL) == 0)
		return 0;
	return command_misused(
		c, "--%s %.60s: it must be a time ago such as 7d, a date such as 2026-11-01, or 2026-11-01T08:00",
		option, text);
}
