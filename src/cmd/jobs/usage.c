/*
 * usage.c - `shunt usage`: shows a month of the ledger: a bar for each day, and the usage by user,
 * queue, group or account.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/names.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/palette.h"
#include "cmd/lib/screen.h"
#include "cmd/lib/show.h"

#define DAYS 31
#define PIPE_WIDTH 80
#define BAR_LEAST 10

struct arguments {
	const char *user, *by;
	bool all, json, csv;
	int64_t width;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXT, 'u', "user", user, "NAME", "this user's usage; if not given: yours; for root: everybody's"),
	FLAG('a', "all", all, "the usage of all users, as far as you may see it"),
	OPTION(WORD, 0, "by", by, "COLUMN", "what the table lists; without it: users, of one user the queues",
	       .words = "user queue group account"),
	OPTION(NUMBER, 0, "width", width, "COLUMNS", "draw this wide, not as the terminal is", .min = 40, .max = 1000),
	FLAG(0, "json", json, "print JSON: totals, days, and the rows of the table"),
	FLAG(0, "csv", csv, "print comma-separated values: the ledger's rows"),
	{0},
};

struct sum {
	int64_t attempts, alloc_ms, gpu_ms, cpu_ms;
};

struct row {
	const char *name;
	struct sum sum;
};

/* The totals of a month. */
struct month {
	int year, month, days; /* days: number of days shown; in the current month until today */
	struct sum total, day[DAYS];
	struct names names;
	VEC(struct row) rows; /* by name, largest first */
};

static void sum_add(struct sum *to, const json_t *entry)
{
	to->attempts += object_number(entry, "attempts", 0);
	to->alloc_ms += object_number(entry, "alloc_ms", 0);
	to->gpu_ms += object_number(entry, "gpu_ms", 0);
	to->cpu_ms += object_number(entry, "cpu_ms", 0);
}

/* ---- reading ---- */

static int days_of(int year, int month)
{
	struct tm tm = {.tm_year = year - 1900, .tm_mon = month, .tm_mday = 0, .tm_hour = 12, .tm_isdst = -1};

	mktime(&tm);
	return tm.tm_mday;
}

/* Parses "2026-11"; NULL: this month. */
static int month_parse(const struct command *c, const char *text, struct month *ret)
{
	time_t now = time(NULL);
	struct tm today;
	int n = 0;

	localtime_r(&now, &today);
	ret->year = today.tm_year + 1900;
	ret->month = today.tm_mon + 1;
	if (text && (sscanf(text, "%4d-%2d%n", &ret->year, &ret->month, &n) != 2 || text[n] || ret->year < 1970 ||
		     ret->month < 1 || ret->month > 12))
		return command_misused(c, "%.40s is not a month: write it as in 2026-11", text);
	ret->days = days_of(ret->year, ret->month);
	if (ret->year == today.tm_year + 1900 && ret->month == today.tm_mon + 1)
		ret->days = today.tm_mday;
	return EXIT_OK;
}

static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.alloc_ms != y->sum.alloc_ms)
		return x->sum.alloc_ms < y->sum.alloc_ms ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void month_fill(struct month *m, const json_t *usage, const char *key)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(usage, i, entry)
	{
		int day = (int)(object_number(entry, "day", 0) % 100);
		const char *name = object_text(entry, key);
		uint32_t at = names_add(&m->names, *name ? name : "(none)");
		if (day < 1 || day > DAYS)
			continue;
		if (at == m->rows.n)
			vec_push(&m->rows, (struct row){0});
		sum_add(&m->rows.v[at].sum, entry);
		sum_add(&m->day[day - 1], entry);
		sum_add(&m->total, entry);
		if (day > m->days)
			m->days = day;
	}
	for (uint32_t k = 0; k < m->rows.n; k++)
		m->rows.v[k].name = names_get(&m->names, k);
	if (m->rows.n)
		qsort(m->rows.v, m->rows.n, sizeof *m->rows.v, row_compare);
}

/* ---- the picture ---- */

/* Formats hours as "12.5", small values as "0.25" or "0.0025". Returns buf. */
static const char *hours(int64_t ms, char *buf, size_t size)
{
	double n = (double)ms / 3600000;

	snprintf(buf, size, "%.*f", n >= 10 ? 1 : n >= 0.1 || n == 0 ? 2 : 4, n);
	return buf;
}

static void bar_part(int n, char letter, int color)
{
	if (color && n > 0)
		screen_style(stdout, palette_has() ? "\033[38;5;%dm" : "\033[%dm", palette_has() ? color : 1);
	for (int i = 0; i < n; i++)
		putchar(letter);
	if (color && n > 0)
		screen_style(stdout, "\033[0m");
}

/* Prints "Sun  1 |#####----       12.5". */
static void day_print(const struct month *m, int day, int64_t most, int bar, int digits)
{
	static const char names[] = "SunMonTueWedThuFriSat";
	const struct sum *x = &m->day[day];
	struct tm tm = {
		.tm_year = m->year - 1900, .tm_mon = m->month - 1, .tm_mday = day + 1, .tm_hour = 12, .tm_isdst = -1};
	bool color = palette_wanted(STDOUT_FILENO);
	char text[32];

	mktime(&tm);
	int had = most ? (int)((double)x->alloc_ms / (double)most * bar + 0.5) : 0;
	if (had == 0 && x->alloc_ms > 0)
		had = 1;
	int used = x->alloc_ms ? (int)((double)x->cpu_ms / (double)x->alloc_ms * had + 0.5) : 0;
	if (used > had)
		used = had;
	printf("%.3s %2d |", names + 3 * tm.tm_wday, day + 1);
	bar_part(used, '#', color ? PALETTE_RUNNING : 0);
	bar_part(had - used, '-', 0);
	if (x->alloc_ms > 0)
		printf("%*s %*s", bar - had, "", digits, hours(x->alloc_ms, text, sizeof text));
	putchar('\n');
}

static void days_print(const struct month *m, int width)
{
	int64_t most = 0;
	char text[32];

	for (int i = 0; i < m->days; i++)
		most = m->day[i].alloc_ms > most ? m->day[i].alloc_ms : most;
	int digits = (int)strlen(hours(most, text, sizeof text)), bar = width - 8 - 1 - digits;
	if (bar < BAR_LEAST)
		bar = BAR_LEAST;
	for (int i = 0; i < m->days; i++)
		day_print(m, i, most, bar, digits);
	printf("\nCPU hours a day: # used, - had and idle\n");
}

static void rows_print(const struct month *m, const char *by, int width)
{
	char head[32], text[32];
	snprintf(head, sizeof head, "~%s", by);
	const char *columns[] = {head, ">CPU hours", ">share", ">used", ">GPU hours", ">ended"};
	struct table *t = table_create(columns, 6);

	for (size_t i = 0; i < m->rows.n; i++) {
		const struct sum *x = &m->rows.v[i].sum;
		table_cell(t, "%s", m->rows.v[i].name);
		table_cell(t, "%s", hours(x->alloc_ms, text, sizeof text));
		table_percent(t, x->alloc_ms, m->total.alloc_ms);
		table_percent(t, x->cpu_ms, x->alloc_ms);
		table_cell(t, "%s", hours(x->gpu_ms, text, sizeof text));
		table_cell(t, "%lld", (long long)x->attempts);
	}
	table_print(t, stdout, width);
	table_destroy(t);
}

static void month_print(const struct month *m, const char *by, int width)
{
	char text[32];

	printf("%04d-%02d: %s CPU hours", m->year, m->month, hours(m->total.alloc_ms, text, sizeof text));
	if (m->total.alloc_ms > 0)
		printf(", %.0f%% used", 100.0 * (double)m->total.cpu_ms / (double)m->total.alloc_ms);
	if (m->total.gpu_ms > 0)
		printf("; %s GPU hours", hours(m->total.gpu_ms, text, sizeof text));
	printf("; %lld job%s ended.\n\n", (long long)m->total.attempts, m->total.attempts == 1 ? "" : "s");
	days_print(m, width);
	putchar('\n');
	rows_print(m, by, width);
}

/* ---- for programs ---- */

static json_t *sum_json(const char *key, json_t *value, const struct sum *x)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I}", key, value, "attempts", (json_int_t)x->attempts, "alloc_ms",
			 (json_int_t)x->alloc_ms, "gpu_ms", (json_int_t)x->gpu_ms, "cpu_ms", (json_int_t)x->cpu_ms);
}

static void json_print(const struct month *m, const char *by)
{
	json_t *days = json_array(), *rows = json_array();
	char text[16];

	for (int i = 0; i < m->days; i++)
		json_array_append_new(days, sum_json("day", json_integer(i + 1), &m->day[i]));
	for (size_t i = 0; i < m->rows.n; i++)
		json_array_append_new(rows, sum_json("name", json_string(m->rows.v[i].name), &m->rows.v[i].sum));
	snprintf(text, sizeof text, "%04d-%02d", m->year, m->month);
	json_t *all = sum_json("month", json_string(text), &m->total);
	json_object_set_new(all, "by", json_string(by));
	json_object_set_new(all, "rows", rows);
	json_object_set_new(all, "days", days);
	show_json(all);
	json_decref(all);
}

static void csv_print(const json_t *usage)
{
	static const char *const fields[] = {"day",	 "owner",  "group",    "account", "queue",
					     "attempts", "ran_ms", "alloc_ms", "gpu_ms",  "cpu_ms"};
	const json_t *entry;
	size_t i;

	show_csv(NULL, fields, 10);
	json_array_foreach(usage, i, entry) show_csv(entry, fields, 10);
}

static int usage_show(const struct arguments *a, struct month *m, const json_t *usage, bool one)
{
	const char *by = a->by ? a->by : one ? "queue" : "user";
	int width = a->width > 0 ? (int)a->width : terminal_columns();

	month_fill(m, usage, strcmp(by, "user") == 0 ? "owner" : by);
	if (a->csv)
		csv_print(usage);
	else if (a->json)
		json_print(m, by);
	else if (m->rows.n == 0)
		printf("Nothing ended or ran in %04d-%02d.\n", m->year, m->month);
	else
		month_print(m, by, width ? width : PIPE_WIDTH);
	vec_free(&m->rows);
	names_fini(&m->names);
	return EXIT_OK;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	const char *user = a->user ? a->user : a->all || getuid() == 0 ? NULL : user_name();
	struct month m = {0};
	char first[16], last[16];
	int code = month_parse(c, operands->n ? operands->v[0] : NULL, &m);

	if (code != EXIT_OK)
		return code;
	snprintf(first, sizeof first, "%04d%02d01", m.year, m.month);
	snprintf(last, sizeof last, "%04d%02d31", m.year, m.month);
	json_t *answer = show_ask(c, api_path("/v1/usage?first=%s&last=%s&user=%s", first, last, user), NULL, &code);
	if (answer)
		code = usage_show(a, &m, json_object_get(answer, "usage"), user != NULL);
	json_decref(answer);
	return code;
}

const struct command command_usage = {
	.name = "usage",
	.operands = "[MONTH]",
	.about = "Chart what was used in a month, day by day.",
	.details =
		"MONTH is written as in 2026-11; if not given, the current one. CPU hours are those allocated to jobs; \"used\" is the CPU time among them. "
		"A job that runs over midnight counts on both days. The numbers come from the ledger, which also has what was deleted from the history.",
	.examples =
		EXAMPLES({"shunt usage", "Your usage this month, day by day."},
			 {"shunt usage --all 2026-10", "The usage of all users in October."},
			 {"shunt usage --all --by account --csv 2026-10 > october.csv", "The same for a spreadsheet."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
