/*
 * queue.c - `shunt queue`: shows one line per job: state, progress, expected start, and why it does
 * not start now.
 */
#include <string.h>

#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/show.h"

#define NARROW 72 /* terminals with fewer columns get the narrow form */
#define TIGHT 110

struct arguments {
	bool json, all, elements, mine;
	const char *user, *queue, *states;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXT, 'u', "user", user, "USER[,USER...]", "only these users' jobs"),
	FLAG('m', "mine", mine, "only my jobs"),
	OPTION(TEXT, 'q', "queue", queue, "QUEUE", "only jobs of this queue"),
	OPTION(TEXT, 's', "state", states, "LETTERS",
	       "only jobs in these states: Q queued, R running, H held, W waiting for a time or another job, E exiting, C completed"),
	FLAG('a', "all", all, "include finished jobs"),
	FLAG('t', "elements", elements, "the elements of arrays one by one"),
	FLAG(0, "json", json, "print JSON instead of a table"),
	{0},
};

static const char columns[] = "job:short_id ~name:name user:owner =state:state_counts >cpus:cpus time:time "
			      "=start:start_array !why:comment";
static const char tight[] =
	"job:short_id ~name:name user:owner =state:state_tight >cpus:cpus time:time_tight =start:start "
	"!why:comment";
/* without users and times: the reason matters more */
static const char narrow[] = "job:short_id ~name:name =state:state_tight >cpus:cpus =start:start !why:comment";

struct list {
	struct joblist jobs;
	struct table *table;
	int state, counts, started, expected, made; /* cells */
	int64_t n, running, waiting, arrays;
	int64_t forecast; /* when the expected starts were computed; 0: none are shown */
};

static void row(void *context, char **cell)
{
	struct list *l = context;

	l->n++;
	l->arrays += *cell[l->counts] == '{';
	l->running += strchr("RBSE", *cell[l->state]) != NULL;
	l->waiting += strchr("QHW", *cell[l->state]) != NULL;
	if (cell_number(cell[l->started]) <= 0 && cell_number(cell[l->expected]) > 0)
		l->forecast = cell_number(cell[l->made]);
	joblist_row(&l->jobs, 0, l->table, cell);
}

static void list_init(struct list *l, int width)
{
	*l = (struct list){.jobs = {.row = row, .context = l}};
	joblist_add(&l->jobs, width > 0 && width < NARROW ? narrow : width > 0 && width < TIGHT ? tight : columns);
	l->state = joblist_member(&l->jobs, "state");
	l->counts = joblist_member(&l->jobs, "array_counts");
	l->started = joblist_member(&l->jobs, "started");
	l->expected = joblist_member(&l->jobs, "expected_start");
	l->made = joblist_member(&l->jobs, "expected_made");
	l->table = joblist_table(&l->jobs, 0);
	states_color(l->table);
}

/* Writes "QR" as "Q,R". */
static void states_query(struct strbuf *path, const char *letters)
{
	struct strbuf list = {0};

	for (; letters && *letters; letters++)
		if (*letters != ',')
			strbuf_printf(&list, "%s%c", list.n ? "," : "", *letters);
	query_add(path, "state", strbuf_text(&list));
	strbuf_fini(&list);
}

static void path_make(const struct arguments *a, struct strbuf *path)
{
	strbuf_puts(path, "/v1/jobs");
	users_query(path, a->mine ? user_name() : a->user);
	query_add(path, "queue", a->queue);
	states_query(path, a->states);
	query_add(path, "completed", a->all || a->states ? "1" : "0");
	query_add(path, "arrays", a->elements ? "expand" : NULL);
}

static void made_print(const struct list *l)
{
	int64_t age = l->jobs.making.now - l->forecast;
	char text[40];

	if (l->forecast > 0 && age >= FORECAST_OLD)
		printf("Expected starts (~) are as of %s ago.\n", duration_human(age, text, sizeof text));
}

static int print_table(const struct command *c, struct client *client, struct strbuf *path, bool filtered,
		       const char *user)
{
	int width = terminal_columns(), code = EXIT_OK;
	struct list l;
	struct err err;

	list_init(&l, width);
	if (joblist_read(&l.jobs, client, path, &err) < 0)
		code = command_fail(c, "%s", err.text);
	else if (l.n > 0)
		table_print(l.table, stdout, 0);
	if (code == EXIT_OK && l.n == 0) {
		printf(filtered ? "No jobs match.\n" : "No jobs.\n");
		parties_warn(c, user, NULL);
	} else if (code == EXIT_OK && width > 0) {
		printf("\n%lld job%s: %lld running, %lld waiting.%s\n", (long long)l.n, l.n == 1 ? "" : "s",
		       (long long)l.running, (long long)l.waiting,
		       l.arrays && width >= NARROW ? " 'shunt queue -t' lists the elements of arrays." : "");
		made_print(&l);
	}
	table_destroy(l.table);
	joblist_fini(&l.jobs);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct strbuf path = {0};
	struct client *client;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	path_make(a, &path);
	int code = a->json ? show_jobs_json(c, client, path.text)
			   : print_table(c, client, &path, a->user || a->mine || a->queue || a->states, a->user);
	client_close(client);
	strbuf_fini(&path);
	return code;
}

const struct command command_queue = {
	.name = "queue",
	.about = "List the jobs: their states, when they start, and why not now.",
	.examples = EXAMPLES({"shunt queue", "Everything that waits or runs."},
			     {"shunt queue --mine --all", "My jobs, finished ones too."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
