/*
 * history.c - `shunt history`: shows ended jobs, long after the queue has forgotten them, and sums
 * of what they used.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/table.h"
#include "base/timetext.h"
#include "cmd/jobs/history_list.h"
#include "cmd/jobs/history_swf.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/lib/when.h"
#include "core/jobschema.h"

#define LINES_MOST 10000 /* lines of a table; larger outputs are for programs */
#define ROWS_MOST 200000 /* rows read for a table: the elements of an array share a line */

struct arguments {
	const char *user, *group, *account, *project, *queue, *qos, *state, *name, *since, *until, *sum;
	bool all, attempts, elements, json, csv, swf;
};

#define STATES                                                                                                         \
	"succeeded completed failed cancelled deleted walltime memory lost expired dependency not_started hung_up refused preempted rerun"

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXT, 'u', "user", user, "NAME", "jobs of this user; without it: your own; root's: everybody's"),
	FLAG('a', "all", all, "jobs of all users, as far as you may see them"),
	OPTION(TEXT, 'g', "group", group, "NAME", "jobs of this group"),
	OPTION(TEXT, 'A', "account", account, "NAME", "jobs charged to this account"),
	OPTION(TEXT, 'P', "project", project, "NAME", "jobs of this project"),
	OPTION(TEXT, 'q', "queue", queue, "NAME", "jobs of this queue"),
	OPTION(TEXT, 'Q', "qos", qos, "NAME", "jobs of this QoS"),
	OPTION(WORD, 's', "state", state, "STATE", "jobs that ended like this", .words = STATES),
	OPTION(TEXT, 'N', "name", name, "NAME", "jobs of this name; 'sim*' are all that begin with sim"),
	OPTION(TEXT, 'S', "since", since, "WHEN",
	       "jobs that ended at that time or later: 7d (ago), a date, or a date and a time", .initial = "1d"),
	OPTION(TEXT, 'E', "until", until, "WHEN", "jobs that ended before that time"),
	OPTION(WORD, 0, "sum", sum, "COLUMN", "instead of jobs: what they used, summed up by that column",
	       .words = "user group account queue qos state month all"),
	FLAG(0, "attempts", attempts, "also attempts that were followed by another"),
	FLAG('t', "elements", elements, "list the elements of arrays one by one; JSON and CSV always do"),
	FLAG(0, "json", json, "print a JSON object for each job, newest first"),
	FLAG(0, "csv", csv, "print comma-separated values, newest first; instants are seconds since 1970"),
	FLAG(0, "swf", swf, "print a trace in the Standard Workload Format, for 'shunt simulate' and other simulators"),
	{0},
};

/* ---- asking ---- */

/* Returns the API's name of a state that people call by another word; NULL for NULL. */
static const char *state_of(const char *word)
{
	if (word && strcmp(word, "succeeded") == 0)
		return "completed";
	return word && strcmp(word, "cancelled") == 0 ? "deleted" : word;
}

static void filter_add(const struct arguments *a, struct strbuf *path)
{
	const char *user = a->user ? a->user : a->all || getuid() == 0 ? NULL : user_name();

	query_add(path, "user", user);
	query_add(path, "group", a->group);
	query_add(path, "account", a->account);
	query_add(path, "project", a->project);
	query_add(path, "queue", a->queue);
	query_add(path, "qos", a->qos);
	query_add(path, "state", state_of(a->state));
	query_add(path, "name", a->name);
	if (a->attempts)
		query_add(path, "attempts", "1");
}

static void period_add(struct strbuf *path, int64_t since, int64_t until)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)since);
	query_add(path, "since", text);
	snprintf(text, sizeof text, "%lld", (long long)until);
	query_add(path, "until", until ? text : NULL);
}

/* ---- jobs ---- */

static const char *const fields[] = {
	"id",	       "attempt",   "owner",	"group",     "account", "project", "queue",   "name",	    "state",
	"exit_status", "submitted", "started",	"ended",     "nodes",	"cpus",	   "gpus",    "memory_kib", "walltime",
	"ran_ms",      "cpu_ms",    "peak_kib", "resources", "hosts",	"comment", "lost_ms", "qos"};
#define NFIELDS (sizeof fields / sizeof *fields)

/* Prints a job as comma-separated values; NULL: the names of the columns. */
static void job_csv(const json_t *job)
{
	const char *columns[NFIELDS + 32];
	size_t n = NFIELDS;

	memcpy(columns, fields, sizeof fields);
	for (const struct field *f = job_members; f->name && n < sizeof columns / sizeof *columns; f++)
		if (f->in & IN_MORE)
			columns[n++] = f->name;
	show_csv(job, columns, n);
}

/* Rows collected before they are printed. */
struct collection {
	struct history_list list;
	struct history_swf swf;
};

static void page_print(const struct arguments *a, const json_t *jobs, struct collection *x)
{
	json_t *job;
	size_t i;

	json_array_foreach(jobs, i, job)
	{
		if (a->csv)
			job_csv(job);
		else if (a->json)
			json_dumpf(job, stdout, JSON_COMPACT), putchar('\n');
		else if (a->swf)
			history_swf_add(&x->swf, job);
		else
			history_list_add(&x->list, job);
	}
}

static bool is_table(const struct arguments *a)
{
	return !a->csv && !a->json && !a->swf;
}

/* Reads page by page; a table keeps all pages. With an id reads that job, else those that match the
 * filter. */
static int jobs_read(const struct command *c, struct client *client, const struct arguments *a, const char *id,
		     int64_t since, int64_t until, struct collection *x)
{
	const char *bracket = id ? strchr(id, '[') : NULL;
	struct history_list *list = &x->list;
	struct strbuf path = {0};
	struct reply reply;
	char *next = NULL;
	size_t rows = 0;
	int code = EXIT_OK;

	list->expand = a->elements || a->attempts || (bracket && bracket[1] != ']');
	do {
		strbuf_clear(&path);
		strbuf_puts(&path, "/v1/history");
		query_add(&path, "id", id);
		filter_add(a, &path);
		period_add(&path, since, until);
		query_add(&path, "limit", "10000");
		query_add(&path, "after", next);
		if (!show_get(c, client, path.text, &reply, &code))
			break;
		free(next);
		next = json_is_string(json_object_get(reply.json, "next")) ? mem_strdup(object_text(reply.json, "next"))
									   : NULL;
		rows += json_array_size(json_object_get(reply.json, "jobs"));
		page_print(a, json_object_get(reply.json, "jobs"), x);
		reply_fini(&reply);
	} while (next && (!is_table(a) || (list->lines.n < LINES_MOST && rows < ROWS_MOST)));
	if (code == EXIT_OK && id && rows == 0)
		code = command_fail(c, "job %s is not in the history", id);
	if (code == EXIT_OK && next)
		printf("Only the last %zu are shown; --csv prints all.\n", list->lines.n);
	free(next);
	strbuf_fini(&path);
	return code;
}

static int swf_print(const struct command *c, struct client *client, struct history_swf *x)
{
	struct reply nodes, server;
	int64_t procs = 0;
	int code = EXIT_OK;
	const json_t *node;
	size_t i;

	if (!show_get(c, client, "/v1/nodes", &nodes, &code))
		return code;
	json_array_foreach(json_object_get(nodes.json, "nodes"), i, node) procs += object_number(node, "cpus", 0);
	if (show_get(c, client, "/v1/server", &server, &code)) {
		history_swf_print(x, object_text(server.json, "name"),
				  (int64_t)json_array_size(json_object_get(nodes.json, "nodes")), procs, stdout);
		reply_fini(&server);
	}
	reply_fini(&nodes);
	return code;
}

static int jobs_show(const struct command *c, struct client *client, const struct arguments *a,
		     const struct operands *operands, int64_t since, int64_t until)
{
	struct collection x = {0};
	int code = EXIT_OK;

	if (a->csv)
		job_csv(NULL);
	if (operands->n == 0)
		code = jobs_read(c, client, a, NULL, since, until, &x);
	for (int i = 0; i < operands->n; i++) {
		int one = jobs_read(c, client, a, operands->v[i], 0, 0, &x);
		code = code ? code : one;
	}
	if (code == EXIT_OK && a->swf)
		code = swf_print(c, client, &x.swf);
	if (x.list.lines.n > 0)
		history_list_print(&x.list, !a->user && (a->all || getuid() == 0));
	else if (code == EXIT_OK && is_table(a))
		printf("No such job has ended in that time.\n");
	if (x.list.arrays.n > 0 && terminal_columns() > 0)
		printf("\n'shunt history -t' lists the elements of arrays.\n");
	history_list_fini(&x.list);
	history_swf_fini(&x.swf);
	return code;
}

/* ---- sums ---- */

static void hours_cell(struct table *t, int64_t ms)
{
	table_cell(t, "%.1f", (double)ms / 3600000);
}

static void sum_row(struct table *t, const char *name, const json_t *sum)
{
	int64_t had = object_number(sum, "alloc_ms", 0), started = object_number(sum, "started", 0);
	char buf[64];

	table_cell(t, "%s", name);
	table_cell(t, "%lld", (long long)object_number(sum, "jobs", 0));
	hours_cell(t, had);
	table_percent(t, object_number(sum, "cpu_ms", 0), had);
	table_percent(t, had / 1000, object_number(sum, "asked", 0));
	hours_cell(t, object_number(sum, "gpu_ms", 0));
	table_cell(t, "%s", started ? duration_human(object_number(sum, "waited", 0) / started, buf, sizeof buf) : "-");
}

static bool sums_ask(const struct command *c, struct client *client, const struct arguments *a, const char *by,
		     int64_t since, int64_t until, struct reply *ret, int *code)
{
	struct strbuf path = {0};

	strbuf_puts(&path, "/v1/history/sums");
	filter_add(a, &path);
	query_add(&path, "by", by);
	period_add(&path, since, until);
	bool ok = show_get(c, client, path.text, ret, code);
	strbuf_fini(&path);
	return ok;
}

/* Writes "2026-11". */
static void month_format(int64_t instant, char *name, size_t size)
{
	int32_t month = month_of(instant);

	snprintf(name, size, "%04d-%02d", month / 100, month % 100);
}

static void sum_add(json_t *all, struct table *t, const char *name, const json_t *sum)
{
	json_t *copy = json_deep_copy(sum);

	json_object_set_new(copy, "name", json_string(name));
	json_array_append_new(all, copy);
	sum_row(t, name, sum);
}

static void csv_sums(const json_t *all)
{
	static const char *const columns[] = {"name",	"jobs",	  "started", "ran_ms", "alloc_ms",
					      "gpu_ms", "cpu_ms", "asked",   "waited"};
	const json_t *sum;
	size_t i;

	show_csv(NULL, columns, 9);
	json_array_foreach(all, i, sum) show_csv(sum, columns, 9);
}

static int sums_show(const struct command *c, struct client *client, const struct arguments *a, int64_t since,
		     int64_t until)
{
	bool months = strcmp(a->sum, "month") == 0, whole = strcmp(a->sum, "all") == 0;
	const char *column[] = {a->sum, ">jobs", ">CPU hours", ">used", ">of asked", ">GPU hours", ">mean wait"};
	struct table *t = table_create(column, 7);
	json_t *all = json_array();
	struct reply reply;
	const json_t *sum;
	char name[32];
	int code = EXIT_OK;
	size_t i;

	for (int64_t from = since, to; from < until && code == EXIT_OK; from = to) {
		to = months ? month_end(from) : until;
		if (to > until)
			to = until;
		month_format(from, name, sizeof name);
		if (!sums_ask(c, client, a, months || whole ? "all" : a->sum, from, to, &reply, &code))
			break;
		json_array_foreach(json_object_get(reply.json, "sums"), i, sum)
		{
			const char *own = object_text(sum, "name");
			if (!months || object_number(sum, "jobs", 0) > 0)
				sum_add(all, t, months ? name : whole ? "all" : *own ? own : "(none)", sum);
		}
		reply_fini(&reply);
	}
	if (code == EXIT_OK && a->json)
		show_json(all);
	else if (code == EXIT_OK && a->csv)
		csv_sums(all);
	else if (code == EXIT_OK && json_array_size(all))
		table_print(t, stdout, 0);
	else if (code == EXIT_OK)
		printf("No such job has ended in that time.\n");
	json_decref(all);
	table_destroy(t);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	int64_t now = (int64_t)time(NULL), since, until = 0;
	struct client *client;

	if (when_parse(c, "since", a->since, now, &since) != 0 ||
	    (a->until && when_parse(c, "until", a->until, now, &until) != 0))
		return EXIT_USAGE;
	if (a->sum && (operands->n || a->swf))
		return command_misused(c, a->swf ? "--swf has no sums" : "--sum is not for single jobs");
	if (a->json + a->csv + a->swf > 1)
		return command_misused(c, "one of --json, --csv and --swf, not several");
	if (a->until && until <= since)
		return command_misused(c, "--until is not later than --since");
	if (!show_open(c, &client))
		return EXIT_FAILED;
	int code = a->sum ? sums_show(c, client, a, since, until ? until : now + 1)
			  : jobs_show(c, client, a, operands, since, until);
	client_close(client);
	return code;
}

const struct command command_history = {
	.name = "history",
	.operands = "[JOB]...",
	.about = "Show jobs that have ended, and what they used.",
	.details =
		"Jobs that have ended are kept for years, after the queue has forgotten them. A row says how a job ended and what it used: the "
		"time it waited and ran, the CPU time of what its CPUs could have done, and the most memory it had at once. An array is one line: when its first element started and its last one ended, and the longest run and the most memory of any "
		"element. In sums, CPU hours are "
		"those that jobs had, \"used\" says how much of them was CPU time, and \"of asked\" how much of the walltime that was requested.",
	.examples = EXAMPLES({"shunt history --since 7d", "Your jobs of the last week."},
			     {"shunt history --attempts 12", "Job 12, and each time that it was started."},
			     {"shunt history -u ann -s failed --since 2026-11-01", "What failed for ann in November."},
			     {"shunt history --all --sum user --since 30d", "What each user had in the last 30 days."},
			     {"shunt history --sum month --since 365d", "Your use by month."},
			     {"shunt history --all --since 365d --csv > year.csv", "A year, for a spreadsheet."},
			     {"shunt history --all --since 30d --swf > november.swf",
			      "A month as a trace, without names but in its header."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
