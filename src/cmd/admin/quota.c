/*
 * quota.c - `shunt quota`: shows a user's monthly quota and what is left; `set`, `drop`, `import`,
 * `export` and `log` for administrators.
 */

#include "base/lines.h"
#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "rules/quota_file.h"

static int64_t seconds_of(const json_t *quota, const char *what, enum quota_type type)
{
	return object_number(json_object_get(quota, what), quota_type_name(type), 0);
}

/* Returns the last month as a number; 0: none. */
static int32_t end_of(const json_t *quota)
{
	return (int32_t)object_number(quota, "end", 0);
}

/* ---- showing quota ---- */

struct arguments {
	bool json, all;
};

static const struct option options[] = {
	OPTION_ROW(FLAG, 'a', "all", offsetof(struct arguments, all), NULL,
		   "those of all users, a line each (for managers)"),
	OPTION_ROW(FLAG, 0, "json", offsetof(struct arguments, json), NULL, "print JSON; times in seconds"),
	{0},
};

static void print_one(const json_t *quota)
{
	static const char *const columns[] = {"", ">Normal", ">Priority", ">Interactive", "End-date"};
	struct table *t = table_create(columns, 5);
	char buf[40];

	for (int left = 0; left < 2; left++) {
		table_cell(t, "%s", left ? "Left" : "Limit/month");
		for (int type = 0; type < QUOTA_TYPES; type++)
			table_cell(t, "%s",
				   quota_hours(seconds_of(quota, left ? "left" : "limit", type), buf, sizeof buf));
		table_cell(t, "%s", left ? "" : quota_end(end_of(quota), buf, sizeof buf));
	}
	table_print(t, stdout, 0);
	table_destroy(t);
}

static void cell_left(const json_t *quota, const char *type, struct strbuf *cell)
{
	char buf[40];

	strbuf_puts(cell, quota_hours(object_number(json_object_get(quota, "left"), type, 0), buf, sizeof buf));
}

static void cell_limit(const json_t *quota, const char *type, struct strbuf *cell)
{
	char buf[40];

	strbuf_puts(cell, quota_hours(object_number(json_object_get(quota, "limit"), type, 0), buf, sizeof buf));
}

static void cell_end(const json_t *quota, const char *key, struct strbuf *cell)
{
	char buf[40];

	strbuf_puts(cell, quota_end(end_of(quota), buf, sizeof buf));
}

static void print_all(const json_t *list)
{
	static const struct listing_column columns[] = {
		{"user", "user", .make = cell_plain},
		{">normal left", "normal", .make = cell_left},
		{">of", "normal", .make = cell_limit},
		{">priority left", "priority", .make = cell_left},
		{">of", "priority", .make = cell_limit},
		{">interactive left", "interactive", .make = cell_left},
		{">of", "interactive", .make = cell_limit},
		{"end", "end", .make = cell_end},
		{0},
	};

	listing_print(list, columns, "No user has quota, so none are counted: 'shunt quota set' gives some.");
}

/* GETs the quota of a user, or of all. Returns NULL after an error. */
static json_t *quota_get(const struct command *c, const char *user, bool all, int *code)
{
	return show_ask(c, api_path("/v1/quota?user=%s&all=%s", user, all ? "1" : ""), NULL, code);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	int code;

	if (a->all && operands->n)
		return command_misused(c, "a user or --all, not both");
	json_t *answer = quota_get(c, operands->n ? operands->v[0] : "", a->all, &code);
	const json_t *list = json_object_get(answer, "quota");
	if (answer && a->json)
		show_json(answer);
	else if (answer && a->all)
		print_all(list);
	else if (answer && !json_is_true(json_object_get(answer, "counted")))
		printf("Quotas are not counted here: jobs run without them.\n");
	else if (answer)
		print_one(json_array_get(list, 0));
	json_decref(answer);
	return code;
}

const struct command command_quota = {
	.name = "quota",
	.operands = "[USER]",
	.about = "Show the computing time that is left this month.",
	.details =
		"Each user has a number of hours and minutes a month for normal, priority and interactive jobs. A job that is submitted takes its walltime; "
		"when it ends, a part of what it did not use is returned. A job that never ran costs nothing. At the beginning of a month what is left "
		"becomes the limit again, up to and including the month of the end date.",
	.examples = EXAMPLES({"shunt quota", "What I may use in a month, and what is left."},
			     {"shunt quota ana", "As a manager: the same of a user."}),
	OPTIONS(struct arguments, options),
	.run = run,
};

/* ---- set, drop ---- */

struct set_arguments {
	const char *limit[QUOTA_TYPES], *end;
};

#define LIMIT(type, name, about) OPTION_ROW(TEXT, 0, name, offsetof(struct set_arguments, limit[type]), "H:MM", about)
static const struct option set_options[] = {
	LIMIT(QUOTA_NORMAL, "normal", "hours and minutes a month for normal jobs"),
	LIMIT(QUOTA_PRIORITY, "priority", "... for jobs with a deadline"),
	LIMIT(QUOTA_INTERACTIVE, "interactive", "... for interactive jobs"),
	OPTION_ROW(TEXT, 0, "end", offsetof(struct set_arguments, end), "MONTH",
		   "the last month with any, \"Apr 2027\"; - for none"),
	{0},
};

/* Builds the quota of a user as the server takes it. */
static json_t *wanted(const struct quota_line *line)
{
	json_t *limit = json_object();

	for (int type = 0; type < QUOTA_TYPES; type++)
		json_object_set_new(limit, quota_type_name(type), json_integer(line->limit[type]));
	return json_pack("{s:s, s:o, s:o}", "user", line->user, "limit", limit, "end",
			 line->end ? json_integer(line->end) : json_null());
}

/* Merges the given options into the existing quota. */
static int merge(const struct command *c, const struct set_arguments *a, const json_t *quota, struct quota_line *line)
{
	struct err err;

	line->end = end_of(quota);
	for (int type = 0; type < QUOTA_TYPES; type++) {
		line->limit[type] = seconds_of(quota, "limit", type);
		if (a->limit[type] && quota_hours_parse(a->limit[type], &line->limit[type], &err) < 0)
			return command_misused(c, "--%s: %s", quota_type_name(type), err.text);
	}
	if (a->end && quota_end_parse(a->end, &line->end, &err) < 0)
		return command_misused(c, "--end: %s", err.text);
	return EXIT_OK;
}

/* Sends `body`, which it consumes. *ret_removed is the number of removed entries. */
static int put(const struct command *c, json_t *body, int64_t *ret_removed)
{
	int code;
	json_t *answer = show_ask(c, "/v1/quota", body, &code);

	*ret_removed = object_number(answer, "removed", 0);
	json_decref(answer);
	return code;
}

static int set(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct set_arguments *a = arguments;
	struct quota_line line = {.user = operands->v[0]};
	int64_t removed;
	int code;

	if (operands->n > 1)
		return command_misused(c, "%s: say for which jobs, as in 'shunt quota set %s --normal %s:00'",
				       operands->v[1], line.user, operands->v[1]);
	if (!a->limit[QUOTA_NORMAL] && !a->limit[QUOTA_PRIORITY] && !a->limit[QUOTA_INTERACTIVE] && !a->end)
		return command_misused(c, "say what to set, as in 'shunt quota set %s --normal 200:00'", line.user);
	json_t *answer = quota_get(c, line.user, false, &code);
	if (answer)
		code = merge(c, a, json_array_get(json_object_get(answer, "quota"), 0), &line);
	if (code == EXIT_OK)
		code = put(c, json_pack("{s:[o]}", "quota", wanted(&line)), &removed);
	if (code == EXIT_OK && !json_is_true(json_object_get(answer, "counted")))
		command_warn(
			c,
			"jobs are counted from now on, unless the server's attribute quota is False: users without an entry can't submit");
	json_decref(answer);
	return code;
}

const struct command command_quota_set = {
	.name = "quota set",
	.operands = "USER",
	.operands_more = 1,
	.about = "Set what a user may use in a month.",
	.details =
		"What is left of this month changes by as much as the limit does, and what was taken stays taken. Jobs are counted as soon as any user has quota; users without have "
		"none then. 'set server quota = False' in qmgr turns that off.",
	.examples = EXAMPLES({"shunt quota set ana --normal 200:00 --priority 20:00",
			      "What is not named stays as it is; a new user has none of it."},
			     {"shunt quota set ana --end 'Apr 2027'", "From May on there is nothing."}),
	OPTIONS(struct set_arguments, set_options),
	.run = set,
};

static int drop(const struct command *c, const void *arguments, const struct operands *operands)
{
	return change_delete(c, "quota", operands);
}

const struct command command_quota_drop = {
	.name = "quota drop",
	.operands = "USER...",
	.about = "Remove a user's entry.",
	.details =
		"As long as others have quota, the user can't submit any more; jobs that wait still run. When the last entry goes, jobs are not counted "
		"any more.",
	.run = drop,
};

/* ---- files ---- */

static int collect(void *context, const struct quota_line *line)
{
	json_array_append_new(context, wanted(line));
	return 0;
}

struct import_arguments {
	bool keep;
};

static const struct option import_options[] = {
	OPTION_ROW(FLAG, 0, "keep", offsetof(struct import_arguments, keep), NULL,
		   "keep the entries of users who are not in the file"),
	{0},
};

static int import(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct import_arguments *a = arguments;
	json_t *list = json_array();
	struct lines *in;
	struct err err;
	int code = EXIT_OK, rc = lines_open(operands->v[0], &in, &err);

	if (rc == 0) {
		rc = quota_file_read(in, collect, list, &err);
		lines_close(in);
		if (rc < 0)
			err_prefix(&err, rc, "%s", operands->v[0]);
	}
	if (rc < 0)
		code = command_fail(c, "%s", err.text);
	else if (json_array_size(list) == 0)
		code = command_fail(c, "%s: there are no users in it", operands->v[0]);
	else {
		size_t n = json_array_size(list);
		int64_t removed = 0;

		code = put(c, json_pack("{s:O, s:b}", "quota", list, "replace", !a->keep), &removed);
		if (code == EXIT_OK)
			printf("Quota of %zu user%s set, of %lld removed.\n", n, n == 1 ? "" : "s", (long long)removed);
	}
	json_decref(list);
	return code;
}

const struct command command_quota_import = {
	.name = "quota import",
	.operands = "FILE",
	.operand_kind = OPTION_FILE,
	.about = "Set the quota of many users from a file.",
	.details =
		"The file is that of Artaras, and what 'shunt quota export' prints. It replaces all entries, or nothing: users who are not in it have no quota "
		"afterwards, unless --keep is given.",
	.examples = EXAMPLES(
		{"shunt quota import quota.config",
		 "Lines of: user, hours a month for normal, interactive and priority jobs, last month (\"Apr 2027\")."}),
	OPTIONS(struct import_arguments, import_options),
	.run = import,
};

static int export(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct strbuf out = {0};
	const json_t *quota;
	size_t i;
	int code;
	json_t *answer = quota_get(c, "", true, &code);

	if (answer)
		quota_file_head(&out);
	json_array_foreach(json_object_get(answer, "quota"), i, quota)
	{
		struct quota_line line = {.user = object_text(quota, "user"), .end = end_of(quota)};

		for (int type = 0; type < QUOTA_TYPES; type++)
			line.limit[type] = seconds_of(quota, "limit", type);
		quota_file_line(&line, &out);
	}
	fputs(strbuf_text(&out), stdout);
	strbuf_fini(&out);
	json_decref(answer);
	return code;
}

const struct command command_quota_export = {
	.name = "quota export",
	.about = "Print the quota of all users as a file.",
	.run = export,
};

/* ---- the log ---- */

struct log_arguments {
	bool json;
	const char *month;
};

static const struct option log_options[] = {
	OPTION_ROW(TEXT, 0, "month", offsetof(struct log_arguments, month), "MONTH",
		   "month to show, such as \"Apr 2027\"; the current one by default"),
	OPTION_ROW(FLAG, 0, "json", offsetof(struct log_arguments, json), NULL, "print JSON; times in seconds"),
	{0},
};

static void cell_change(const json_t *move, const char *key, struct strbuf *cell)
{
	int64_t n = object_number(move, key, 0);
	char buf[40];

	strbuf_printf(cell, "%s%s", n < 0 ? "-" : "+", duration_format(n < 0 ? -n : n, buf, sizeof buf));
}

static void print_moves(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"time", "time", .make = cell_instant},
		{"user", "user", .make = cell_plain},
		{"type", "type", .make = cell_plain},
		{"cause", "cause", .make = cell_plain},
		{"job", "job", .make = cell_plain},
		{">change", "seconds", .make = cell_change},
		{0},
	};

	listing_print(json_object_get(answer, "moves"), columns, "Nothing changed.");
}

static int log_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct log_arguments *a = arguments;
	int32_t month = 0;
	char text[16] = "";

	if (a->month && (quota_end_parse(a->month, &month, NULL) < 0 || !month))
		return command_misused(c, "--month: \"%s\" is not a month such as \"Apr 2027\"", a->month);
	if (month)
		snprintf(text, sizeof text, "%d", month);
	return show_answer(c, api_path("/v1/quota/moves?user=%s&month=%s", operands->n ? operands->v[0] : "", text),
			   a->json, print_moves);
}

const struct command command_quota_log = {
	.name = "quota log",
	.operands = "[USER]",
	.about = "Show what changed quota in a month.",
	.details =
		"The changes of a month add up to what is left: taken by a job when it was submitted, altered, returned at its end, unneeded (a job "
		"with a deadline that was kept without priority is charged as a normal one), month (it began), limit (it was set).",
	.examples = EXAMPLES({"shunt quota log", "Everything that changed my quota this month."}),
	OPTIONS(struct log_arguments, log_options),
	.run = log_run,
};
