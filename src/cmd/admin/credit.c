/*
 * credit.c - `shunt credit`: shows the credits with which accounts pay for jobs; `deposit`,
 * `withdraw` and `transfer` for managers; `statement`.
 */
#include <string.h>
#include <time.h>

#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "rules/quota_file.h"

static void hours(int64_t seconds, struct strbuf *cell)
{
	char text[40];

	strbuf_printf(cell, "%s%s", seconds < 0 ? "-" : "",
		      duration_format(seconds < 0 ? -seconds : seconds, text, sizeof text));
}

static void cell_hours(const json_t *x, const char *key, struct strbuf *cell)
{
	hours(object_number(x, key, 0), cell);
}

/* ---- showing credits ---- */

static void cell_rate(const json_t *x, const char *key, struct strbuf *cell)
{
	strbuf_printf(cell, "%lld%%", (long long)object_number(x, key, 0));
}

static void cell_expiry(const json_t *x, const char *key, struct strbuf *cell)
{
	cell_instant(json_array_get(json_object_get(x, key), 0), "expires", cell);
	strbuf_puts(cell, cell->n ? "" : "-");
}

static const struct listing_column account_columns[] = {
	{"account", "account", .make = cell_plain},
	{"unit", "unit", .make = cell_plain},
	{">rate", "rate", .make = cell_rate},
	{">available", "available", .make = cell_hours},
	{">escrow", "escrow", .make = cell_hours},
	{">spent", "spent", .make = cell_hours},
	{">expired", "expired", .make = cell_hours},
	{">balance", "balance", .make = cell_hours},
	{"next expiry", "deposits", .make = cell_expiry},
	{0},
};

static const struct listing accounts = {
	.path = "/v1/credits?account=%s",
	.key = "accounts",
	.columns = account_columns,
	.none = "No account uses credits (set credit_unit of an account with qmgr).",
};

const struct command command_credit = {
	.name = "credit",
	.operands = "[ACCOUNT]",
	.about = "Show the credits of accounts.",
	.details =
		"An account with a credit_unit pays for its jobs and for those of the accounts below it. When a job starts, or when its deadline is guaranteed, the most that it "
		"may use is held in escrow; when it ends, what it used is spent and the rest is released. "
		"Amounts are hours of the unit: 10:00:00 of cpu_hours is ten hours of one CPU.",
	.examples = EXAMPLES({"shunt credit", "Show the remaining credits of the accounts that you may charge."}),
	OPTIONS(struct show_arguments, show_options),
	.run = listing_run,
	.listing = &accounts,
};

/* ---- changes ---- */

static int order(const struct command *c, const char *op, const struct operands *operands, const char *amount,
		 const char *to, int64_t expires)
{
	struct err err;
	int64_t seconds;
	int code;

	if (quota_hours_parse(amount, &seconds, &err) < 0)
		return command_misused(c, "%s", err.text);
	json_t *body = json_pack("{s:s, s:s, s:I}", "op", op, "account", operands->v[0], "amount", (json_int_t)seconds);
	if (to)
		json_object_set_new(body, "to", json_string(to));
	if (expires)
		json_object_set_new(body, "expires", json_integer(expires));
	json_decref(show_ask(c, "/v1/credits", body, &code));
	return code;
}

struct deposit_arguments {
	const char *expires;
};

static const struct option deposit_options[] = {
	OPTION_ROW(TEXT, 0, "expires", offsetof(struct deposit_arguments, expires), "DATE",
		   "date on which the rest of the deposit expires, such as 2027-01-31"),
	{0},
};

static int deposit(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct deposit_arguments *a = arguments;
	int64_t expires = 0;
	char when[64];
	struct err err;

	snprintf(when, sizeof when, "%s%s", a->expires ? a->expires : "",
		 a->expires && strlen(a->expires) == strlen("2027-01-31") && !strchr(a->expires, ':') ? " 00:00" : "");
	if (a->expires && instant_parse(when, (int64_t)time(NULL), &expires, &err) < 0)
		return command_misused(c, "--expires: %s", err.text);
	return order(c, "deposit", operands, operands->v[1], NULL, expires);
}

const struct command command_credit_deposit = {
	.name = "credit deposit",
	.operands = "ACCOUNT HOURS",
	.about = "Deposit credits into an account.",
	.examples = EXAMPLES({"shunt credit deposit physics 10000 --expires 2027-01-31",
			      "Deposit ten thousand hours that expire at the end of January."}),
	OPTIONS(struct deposit_arguments, deposit_options),
	.run = deposit,
};

static int withdraw(const struct command *c, const void *arguments, const struct operands *operands)
{
	return order(c, "withdraw", operands, operands->v[1], NULL, 0);
}

const struct command command_credit_withdraw = {
	.name = "credit withdraw",
	.operands = "ACCOUNT HOURS",
	.about = "Withdraw credits from an account.",
	.details = "Credits held for jobs cannot be withdrawn.",
	.run = withdraw,
};

static int transfer(const struct command *c, const void *arguments, const struct operands *operands)
{
	return order(c, "transfer", operands, operands->v[2], operands->v[1], 0);
}

const struct command command_credit_transfer = {
	.name = "credit transfer",
	.operands = "FROM TO HOURS",
	.about = "Move credits from one account to another.",
	.details =
		"Credits that expire first are transferred first and keep their dates. Both accounts must have the same unit.",
	.run = transfer,
};

/* ---- the statement ---- */

struct statement_arguments {
	bool json;
	const char *month;
};

static const struct option statement_options[] = {
	OPTION_ROW(TEXT, 0, "month", offsetof(struct statement_arguments, month), "MONTH",
		   "month to show, such as \"Apr 2027\"; the current one by default"),
	OPTION_ROW(FLAG, 0, "json", offsetof(struct statement_arguments, json), NULL,
		   "print JSON; amounts in seconds of the unit"),
	{0},
};

static void cell_change(const json_t *x, const char *key, struct strbuf *cell)
{
	int64_t amount = object_number(x, key, 0);

	strbuf_puts(cell, amount < 0 ? "" : "+");
	hours(amount, cell);
}

static void print_lines(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"time", "time", .make = cell_instant},
		{"cause", "cause", .make = cell_plain},
		{"job", "job", .make = cell_plain},
		{">change", "amount", .make = cell_change},
		{0},
	};
	json_t *lines = json_copy(json_object_get(answer, "lines")), *line;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach(lines, i, line) sum += object_number(line, "amount", 0);
	json_array_append_new(lines, json_pack("{s:s, s:I}", "cause", "sum", "amount", sum));
	listing_print(lines, columns, NULL);
	json_decref(lines);
}

static int statement(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct statement_arguments *a = arguments;
	int32_t month = 0;
	char text[16] = "";

	if (a->month && (quota_end_parse(a->month, &month, NULL) < 0 || !month))
		return command_misused(c, "--month: \"%s\" is not a month such as \"Apr 2027\"", a->month);
	if (month)
		snprintf(text, sizeof text, "%d", month);
	return show_answer(c, api_path("/v1/credits/statement?account=%s&month=%s", operands->v[0], text), a->json,
			   print_lines);
}

const struct command command_credit_statement = {
	.name = "credit statement",
	.operands = "ACCOUNT",
	.about = "Show everything that changed an account's credits in a month.",
	OPTIONS(struct statement_arguments, statement_options),
	.run = statement,
};
