/*
 * showstats.c - `showstats`: shows what users, groups, accounts and queues ran, from the history.
 * `showgrid`: the same by size and length of jobs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/table.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/lib/when.h"

/* Totals of jobs that have run. */
struct sums {
	int64_t jobs;
	double requested, dedicated; /* CPU hours: walltime x CPUs, run time x CPUs */
	double used;		     /* CPU hours of CPU time */
	double xfactor, xfactor_most;
	double waited;	 /* hours */
	double accuracy; /* run time / walltime */
};

static void sums_add(struct sums *s, const json_t *row)
{
	double cpus = (double)object_number(row, "cpus", 1), wall = (double)object_number(row, "walltime", 0),
	       ran = (double)object_number(row, "ran_ms", 0) / 1000,
	       waited = (double)(object_number(row, "started", 0) - object_number(row, "submitted", 0)), x;

	waited = waited > 0 ? waited : 0;
	x = wall > 0 ? (waited + wall) / wall : 1;
	s->jobs++;
	s->requested += wall * cpus / 3600;
	s->dedicated += ran * cpus / 3600;
	s->used += (double)object_number(row, "cpu_ms", 0) / 3600000;
	s->xfactor += x;
	s->xfactor_most = x > s->xfactor_most ? x : s->xfactor_most;
	s->waited += waited / 3600;
	s->accuracy += wall > 0 ? ran / wall : 0;
}

/* ---- reading ---- */

/* Calls `one` with all jobs that ended since `since`. */
static int rows_each(const struct command *c, int64_t since, bool (*one)(void *context, json_t *row), void *context)
{
	struct strbuf query = {0};
	struct client *client;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	strbuf_printf(&query, "/v1/history?since=%" PRId64, since);
	int code = show_history(c, client, query.text, one, context);
	strbuf_fini(&query);
	client_close(client);
	return code;
}

/* ---- showstats ---- */

struct arguments {
	bool users, groups, accounts, queues, json;
	const char *since, *statistic;
};

#define AT(field) offsetof(struct arguments, field)
#define SINCE OPTION(TEXT, 's', "since", since, "WHEN", "Jobs that ended since then: 7d, 2026-11-01.", .initial = "30d")
static const struct option stats_options[] = {
	FLAG('u', "users", users, "by user; also without an option"),
	FLAG('g', "groups", groups, "by group"),
	FLAG('a', "accounts", accounts, "by account"),
	FLAG('c', "classes", queues, "by queue"),
	SINCE,
	FLAG(0, "json", json, "print JSON instead of a table"),
	{0},
};

struct stats {
	const char *key; /* key in a row */
	struct names who;
	VEC(struct sums) sums;
	struct sums all;
};

static bool stats_row(void *context, json_t *row)
{
	struct stats *s = context;
	const char *name = object_text(row, s->key);

	if (object_number(row, "started", 0) <= 0)
		return true;
	uint32_t at = names_add(&s->who, *name ? name : "-");
	if (at == s->sums.n)
		vec_push(&s->sums, (struct sums){0});
	sums_add(&s->sums.v[at], row);
	sums_add(&s->all, row);
	return true;
}

static double part(double a, double b)
{
	return b > 0 ? 100 * a / b : 0;
}

static void stats_line(struct table *t, const char *who, const struct sums *x, const struct sums *all)
{
	double n = x->jobs > 0 ? (double)x->jobs : 1;

	table_cell(t, "%s", who);
	table_cell(t, "%" PRId64, x->jobs);
	table_cell(t, "%.2f", part((double)x->jobs, (double)all->jobs));
	table_cell(t, "%.1f", x->requested);
	table_cell(t, "%.1f", x->dedicated);
	table_cell(t, "%.2f", part(x->dedicated, all->dedicated));
	table_cell(t, "%.2f", x->xfactor / n);
	table_cell(t, "%.2f", x->xfactor_most);
	table_cell(t, "%.2f", x->waited / n);
	table_cell(t, "%.2f", part(x->used, x->dedicated));
	table_cell(t, "%.2f", 100 * x->accuracy / n);
}

static void stats_print(const struct stats *s)
{
	static const char *const columns[] = {"=who",	">Jobs",  ">%",	    ">PHReq",  ">PHDed", ">%",
					      ">AvgXF", ">MaxXF", ">AvgQH", ">Effic%", ">WCAcc%"};
	struct table *t = table_create(columns, 11);

	for (size_t i = 0; i < s->sums.n; i++)
		stats_line(t, names_get(&s->who, (uint32_t)i), &s->sums.v[i], &s->all);
	stats_line(t, "TOTAL", &s->all, &s->all);
	table_print(t, stdout, 0);
	table_destroy(t);
}

static json_t *sums_json(const char *who, const struct sums *x)
{
	double n = x->jobs > 0 ? (double)x->jobs : 1;

	return json_pack("{s:s,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "name", who, "jobs", (json_int_t)x->jobs,
			 "cpu_hours_requested", x->requested, "cpu_hours", x->dedicated, "xfactor", x->xfactor / n,
			 "xfactor_most", x->xfactor_most, "waited_hours", x->waited / n, "efficiency",
			 part(x->used, x->dedicated), "accuracy", 100 * x->accuracy / n);
}

static int stats_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct stats s = {.key = a->groups ? "group" : a->accounts ? "account" : a->queues ? "queue" : "owner"};
	int64_t since;
	int code = when_parse(c, "since", a->since, (int64_t)time(NULL), &since);

	if (code == EXIT_OK)
		code = rows_each(c, since, stats_row, &s);
	if (code == EXIT_OK && a->json) {
		json_t *list = json_array();
		for (size_t i = 0; i < s.sums.n; i++)
			json_array_append_new(list, sums_json(names_get(&s.who, (uint32_t)i), &s.sums.v[i]));
		show_json(list);
		json_decref(list);
	} else if (code == EXIT_OK && s.all.jobs == 0) {
		printf("No job has finished since then.\n");
	} else if (code == EXIT_OK) {
		stats_print(&s);
	}
	names_fini(&s.who);
	vec_free(&s.sums);
	return code;
}

const struct command command_showstats = {
	.name = "showstats",
	.about = "Show what users, groups, accounts and queues ran.",
	.details =
		"Counts finished jobs that ran. PHReq: CPU hours requested (walltime x CPUs); PHDed: CPU hours they had. XF, the expansion factor: (wait + walltime) / walltime, on "
		"average and at most; AvgQH: hours in the queue; Effic%: CPU time used of the CPU hours; WCAcc%: run time in percent of the walltime.",
	.examples = EXAMPLES({"showstats -u", "Show what each user ran in the last 30 days."},
			     {"showstats -a --since 7d", "Show what each account ran in the last seven days."}),
	OPTIONS(struct arguments, stats_options),
	.run = stats_run,
	.own = true,
};

/* ---- showgrid ---- */

#define LENGTHS 10
#define SIZES 12
static const int64_t lengths[LENGTHS] = {900, 1800, 3600, 7200, 14400, 28800, 57600, 115200, 230400, INT64_MAX};

static const struct option grid_options[] = {
	SINCE,
	FLAG(0, "json", json, "print JSON instead of a table"),
	{0},
};

struct grid {
	struct sums cell[SIZES][LENGTHS];
};

static bool grid_row(void *context, json_t *row)
{
	struct grid *g = context;
	int64_t cpus = object_number(row, "cpus", 1), wall = object_number(row, "walltime", 0);
	int size = 0, length = 0;

	while (size < SIZES - 1 && (INT64_C(1) << size) < cpus)
		size++;
	while (wall > lengths[length])
		length++;
	if (object_number(row, "started", 0) > 0)
		sums_add(&g->cell[size][length], row);
	return true;
}

static double statistic(const struct sums *x, const char *what)
{
	double n = (double)x->jobs;

	return strcmp(what, "JOBCOUNT") == 0	    ? n
	       : strcmp(what, "PROCHOURS") == 0	    ? x->dedicated
	       : strcmp(what, "AVGXFACTOR") == 0    ? x->xfactor / n
	       : strcmp(what, "MAXXFACTOR") == 0    ? x->xfactor_most
	       : strcmp(what, "JOBEFFICIENCY") == 0 ? part(x->used, x->dedicated)
	       : strcmp(what, "WCACCURACY") == 0    ? 100 * x->accuracy / n
						    : x->waited / n; /* AVGQTIME */
}

static void grid_print(const struct grid *g, const char *what)
{
	static const char *const columns[LENGTHS + 1] = {">procs",    ">00:15:00", ">00:30:00", ">01:00:00",
							 ">02:00:00", ">04:00:00", ">08:00:00", ">16:00:00",
							 ">32:00:00", ">64:00:00", ">more"};
	struct table *t = table_create(columns, LENGTHS + 1);

	for (int size = 0; size < SIZES; size++) {
		int64_t jobs = 0;
		for (int i = 0; i < LENGTHS; i++)
			jobs += g->cell[size][i].jobs;
		if (jobs == 0)
			continue;
		table_cell(t, size == SIZES - 1 ? "more" : "%d", 1 << size);
		for (int i = 0; i < LENGTHS; i++)
			table_cell(t, g->cell[size][i].jobs ? "%.2f" : "-", statistic(&g->cell[size][i], what));
	}
	table_print(t, stdout, 0);
	table_destroy(t);
}

static void grid_json(const struct grid *g, const char *what)
{
	json_t *list = json_array();

	for (int size = 0; size < SIZES; size++)
		for (int i = 0; i < LENGTHS; i++)
			if (g->cell[size][i].jobs)
				json_array_append_new(list, json_pack("{s:i,s:I,s:I,s:f}", "cpus_to", 1 << size,
								      "walltime_to", (json_int_t)lengths[i], "jobs",
								      (json_int_t)g->cell[size][i].jobs, "value",
								      statistic(&g->cell[size][i], what)));
	show_json(list);
	json_decref(list);
}

static int grid_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	static const char words[] = " JOBCOUNT PROCHOURS AVGXFACTOR MAXXFACTOR AVGQTIME JOBEFFICIENCY WCACCURACY ";
	const struct arguments *a = arguments;
	struct grid *g = mem_zalloc(sizeof *g);
	struct strbuf word = {0};
	int64_t since;
	int code = EXIT_OK;

	strbuf_printf(&word, " %s ", operands->v[0]);
	if (!strstr(words, word.text) || strchr(operands->v[0], ' '))
		code = command_misused(c, "unknown statistic %s: use one of%.*s", operands->v[0], (int)sizeof words - 2,
				       words);
	if (code == EXIT_OK)
		code = when_parse(c, "since", a->since, (int64_t)time(NULL), &since);
	if (code == EXIT_OK)
		code = rows_each(c, since, grid_row, g);
	if (code == EXIT_OK && a->json)
		grid_json(g, operands->v[0]);
	else if (code == EXIT_OK)
		grid_print(g, operands->v[0]);
	strbuf_fini(&word);
	free(g);
	return code;
}

const struct command command_showgrid = {
	.name = "showgrid",
	.operands = "STATISTIC",
	.operand_kind = OPTION_WORD,
	.operand_words = "JOBCOUNT PROCHOURS AVGXFACTOR MAXXFACTOR AVGQTIME JOBEFFICIENCY WCACCURACY",
	.about = "Show a statistic of finished jobs by CPUs and walltime.",
	.details =
		"A row counts the jobs with up to that many CPUs and more than the row above; columns do the same for walltimes. AVGQTIME is in hours; JOBEFFICIENCY and WCACCURACY are in percent, as in showstats.",
	.examples =
		EXAMPLES({"showgrid AVGQTIME", "Show how long jobs waited, by CPUs and walltime."},
			 {"showgrid JOBCOUNT -s 7d", "Show how many jobs of each size ended in the last seven days."}),
	OPTIONS(struct arguments, grid_options),
	.run = grid_run,
	.own = true,
};
