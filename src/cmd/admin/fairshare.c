/*
 * fairshare.c - `shunt fairshare`: shows how much of their shares users have used, and who comes
 * first.
 */
#include <string.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

/* Writes "alice", indented; "group students" if the kind is not obvious. */
static void cell_name(const json_t *x, const char *key, struct strbuf *cell)
{
	const char *level = object_text(x, "level"), *name = object_text(x, key);
	bool user = strcmp(level, "user") == 0;

	strbuf_printf(cell, "%*s%s%s%s", 2 * (int)object_number(x, "depth", 0), "", user ? "" : level, user ? "" : " ",
		      *name ? name : "(none)");
}

static void cell_target(const json_t *x, const char *key, struct strbuf *cell)
{
	bool own = json_is_true(json_object_get(x, "own"));

	strbuf_printf(cell, own ? "%.0f%%" : "(%.1f%%)", json_number_value(json_object_get(x, key)));
}

static void cell_standing(const json_t *x, const char *key, struct strbuf *cell)
{
	if (strcmp(object_text(x, "level"), "user") == 0)
		strbuf_printf(cell, "%.0f", json_number_value(json_object_get(x, key)));
}

static void shares_print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"=who", "name", .make = cell_name},
		{">target", "target", .make = cell_target},
		{">used", "used", .format = "%.1f%%"},
		{">CPU hours", "cpu_hours", .format = "%.1f"},
		{">standing", "standing", .make = cell_standing},
		{0},
	};

	listing_print(json_object_get(answer, "shares"), columns, NULL);
}

static void print(const json_t *answer)
{
	long long window = object_number(answer, "window", 1), depth = object_number(answer, "depth", 1);

	if (!json_is_true(json_object_get(answer, "complete")))
		printf("The server is still adding up what was used. Ask again in a moment.\n");
	else if (json_array_size(json_object_get(answer, "shares")) == 0)
		printf("Nobody has used anything in the last %lld day%s.\n", window * depth,
		       window * depth == 1 ? "" : "s");
	else
		shares_print(answer);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return show_answer(c, "/v1/fairshare", ((const struct show_arguments *)arguments)->json, print);
}

const struct command command_fairshare = {
	.name = "fairshare",
	.about = "Show who has used how much of its share of the cluster.",
	.details =
		"Siblings of one account or group stand below each other. Targets in parentheses were not set: they are equal parts of what the other targets leave. Used is the part of "
		"what all siblings used; CPU hours count less the older they are. Standing says how many of the users listed come behind one, in percent; it is the factor \"fairshare\" of the priority.",
	.examples = EXAMPLES({"shunt fairshare", "Accounts, groups and users, first those who come first."},
			     {"qmgr -c 'set server priority_order = sum, priority_weight.fairshare = 100'",
			      "As a manager: start jobs of users who have used little of their share first."}),
	OPTIONS(struct show_arguments, show_options),
	.run = run,
};
