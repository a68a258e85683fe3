/*
 * leave.c - see leave.h.
 */
#include "rules/leave.h"

#include <string.h>

#include "base/hours.h"

#define LATE 5	/* seconds for orders and results in transit, and for clocks in whole seconds */
#define LOOK 10 /* seconds for the last look at a checkpoint (run/saving.c) */

static bool rule_is(const struct attrs *server, const char *word)
{
	const char *rule = attrs_text(server, SET_LONG_CHECKPOINT_RULE);

	return strcmp(rule ? rule : "remove", word) == 0;
}

static bool hours_of(const struct attrs *server, enum attr_key key, struct hours *ret)
{
	const char *text = attrs_text(server, key);

	return text && hours_read(text, ret, NULL) == 0; /* validated when set */
}

int64_t leave_takes(int64_t saving, int64_t ending)
{
	return saving + ending;
}

struct leave leave_of(const struct attrs *server, int64_t saving, int64_t ending, int64_t now)
{
	int64_t most = attrs_number(server, SET_LONG_CHECKPOINT), end;
	struct leave x = {.takes = leave_takes(saving, ending), .saves = saving > 0};
	struct hours times;

	if (most < 0 || saving <= most)
		return x;
	if (rule_is(server, "remove"))
		return (struct leave){.takes = ending};
	if (rule_is(server, "times") &&
	    !(hours_of(server, SET_LONG_CHECKPOINT_TIMES, &times) && hours_next(&times, now, &x.from, &end)))
		x.from = TIME_NEVER;
	return x;
}

int64_t leave_ending(int64_t delay, int64_t saving, int64_t epilogue)
{
	return delay + LATE + (saving > 0 ? LOOK : 0) + epilogue;
}

void leave_settings(struct settings *x, const struct attrs *server)
{
	int64_t most = attrs_number(server, SET_LONG_CHECKPOINT);

	x->nights = (struct hours){0};
	x->long_saving = most < 0 ? TIME_NEVER : most;
	if (most >= 0 && rule_is(server, "nights"))
		hours_of(server, SET_LONG_CHECKPOINT_HOURS, &x->nights);
}
