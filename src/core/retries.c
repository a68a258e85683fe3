/*
 * retries.c - see retries.h.
 */
#include "core/retries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"

#define CODE_MOST 255
#define FACTOR_MOST 1000

static int codes_parse(const char *text, size_t n, struct array_spec *ret)
{
	char list[256];

	if (ret->nranges || n >= sizeof list)
		return -EINVAL;
	snprintf(list, sizeof list, "%.*s", (int)n, text);
	return array_parse(list, ret, NULL) < 0 || ret->limit || array_has(ret, 0) || array_next(ret, CODE_MOST) >= 0
		       ? -EINVAL
		       : 0;
}

/* Reads what follows the number: ":on=75,100-110" and ":mem=x2". */
static int option_parse(const char **at, struct retries *ret, const char *text, struct err *err)
{
	if (strncmp(*at, ":on=", 4) == 0) {
		const char *list = *at + 4, *end = strstr(list, ":mem=");
		*at = end ? end : list + strlen(list);
		if (codes_parse(list, (size_t)(*at - list), &ret->on) == 0)
			return 0;
		return err_set(
			err, -EINVAL,
			"retries \"%.60s\": after on= come exit codes from 1 to %d or ranges of them, as in 75,100-110",
			text, CODE_MOST);
	}
	if (strncmp(*at, ":mem=", 5) == 0) {
		char *end = NULL;
		double factor = (*at)[5] == 'x' ? strtod(*at + 6, &end) : 0;
		if (end && (!*end || *end == ':') && !ret->memory && factor > 1 && factor <= FACTOR_MOST) {
			ret->memory = factor;
			*at = end;
			return 0;
		}
		return err_set(err, -EINVAL,
			       "retries \"%.60s\": after mem= comes a factor above 1 and up to %d, as in x2 or x1.5",
			       text, FACTOR_MOST);
	}
	return err_set(
		err, -EINVAL,
		"retries \"%.60s\": write how often, up to %d, and perhaps after which exit codes and with how much memory after it was too little, as in 2:on=75,100-110:mem=x2",
		text, RETRIES_MOST);
}

int retries_parse(const char *text, struct retries *ret, struct err *err)
{
	const char *at = text;
	int rc = 0;

	*ret = (struct retries){0};
	if (!digits_scan(&at, RETRIES_MOST, &ret->n))
		at = "?";
	while (rc == 0 && *at)
		rc = option_parse(&at, ret, text, err);
	if (rc < 0)
		retries_fini(ret);
	return rc;
}

void retries_fini(struct retries *r)
{
	array_fini(&r->on);
}

bool retries_due(const struct retries *r, int64_t done, int64_t code, bool memory)
{
	return done < r->n && code != 0 && ((memory && r->memory > 0) || r->on.nranges == 0 || array_has(&r->on, code));
}
