/*
 * retries.c - see retries.h.
 */
#include "core/retries.h"

#include <errno.h>
#include <string.h>

#include "base/amount.h"

#define CODE_MOST 255

int retries_parse(const char *text, struct retries *ret, struct err *err)
{
	const char *at = text;

	*ret = (struct retries){0};
	if (!digits_scan(&at, RETRIES_MOST, &ret->n) || (*at && strncmp(at, ":on=", 4) != 0))
		return err_set(
			err, -EINVAL,
			"retries \"%.60s\": write how often, up to %d, and perhaps after which exit codes, as in 2:on=75,100-110",
			text, RETRIES_MOST);
	if (*at && (array_parse(at + 4, &ret->on, NULL) < 0 || ret->on.limit || array_has(&ret->on, 0) ||
		    array_next(&ret->on, CODE_MOST) >= 0)) {
		retries_fini(ret);
		return err_set(
			err, -EINVAL,
			"retries \"%.60s\": after on= come exit codes from 1 to %d or ranges of them, as in 75,100-110",
			text, CODE_MOST);
	}
	return 0;
}

void retries_fini(struct retries *r)
{
	array_fini(&r->on);
}

bool retries_due(const struct retries *r, int64_t done, int64_t code)
{
	return done < r->n && code != 0 && (r->on.nranges == 0 || array_has(&r->on, code));
}
