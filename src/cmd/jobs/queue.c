/*
 * queue.c - `shunt queue`: shows one line per job: state, progress, expected start, and why it does
 * not start now.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

#define NARROW 72 /* terminals with fewer columns get the narrow form */
#define TIGHT 110

struct arguments {
	bool json, all, elements, mine;
	const char *user, *queue, *states;
};

#define AT(field) offsetof(struct arguments, field)
#define FLAG(letter, name, field, about)                                                                               \
	{                                                                                                              \
		name, OPTION_FLAG, AT(field), NULL, NULL, NULL, 0, 0, about, letter                                    \
	}
static const struct option options[] = {
	{"user", OPTION_TEXT, AT(user), "USER[,USER...]", NULL, NULL, 0, 0, "only these users' jobs", 'u'},
	FLAG('m', "mine", mine, "only my jobs"),
	{"queue", OPTION_TEXT, AT(queue), "QUEUE", NULL, NULL, 0, 0, "only jobs of this queue", 'q'},
	{"state", OPTION_TEXT, AT(states), "LETTERS", NULL, NULL, 0, 0,
	 "only jobs in these states: Q queued, R running, H held, W waiting for a time or another job, E exiting, C completed",
	 's'},
	FLAG('a', "all", all, "finished jobs, too"),
	FLAG('t', "elements", elements, "the elements of arrays one by one"),
	FLAG(0, "json", json, "print JSON instead of a table"),
	{0},
};

static const char *const examples[] = {
	"shunt queue", "Everything that waits or runs.", "shunt queue --mine --all", "My jobs, finished ones too.",
	NULL,
};

enum {
	C_ID,
	C_NAME,
	C_OWNER,
	C_STATE,
	C_CPUS,
	C_WALLTIME,
	C_USED,
	C_STARTED,
	C_ENDED,
	C_PLANNED,
	C_COMMENT,
	C_COUNTS,
	C_MADE,
	COLUMNS
};
static const char fields[] =
	"id,name,owner,state,cpus,walltime,used,started,ended,expected_start,comment,array_counts,expected_made";

struct list {
	struct table *table;
	int64_t now, jobs, running, waiting, arrays;
	int64_t made; /* when the expected starts were computed; 0: none are shown */
	bool narrow;  /* no room for users and times: the reason matters more */
	bool tight;   /* use short words */
};

static int64_t number_in(const char *cell, const char *key)
{
	json_t *object = json_loads(cell, 0, NULL);
	int64_t n = object_number(object, key, 0);

	json_decref(object);
	return n;
}

/* Adds the state; for an array "2 running, 4 of 10 done". */
static void state_cell(struct list *l, char *const *cell)
{
	json_t *counts = *cell[C_COUNTS] ? json_loads(cell[C_COUNTS], 0, NULL) : NULL;
	int64_t total = 0;
	const char *key;
	json_t *value;

	json_object_foreach(counts, key, value) total += json_integer_value(value);
	int64_t running = object_number(counts, "R", 0) + object_number(counts, "E", 0);
	if (total > 0 && cell[C_STATE][0] == 'C')
		table_cell(l->table, "%s, %lld", state_word(cell[C_STATE]), (long long)total);
	else if (total > 0 && running > 0 && l->tight)
		table_cell(l->table, "%lld/%lld run", (long long)running, (long long)total);
	else if (total > 0 && l->tight)
		table_cell(l->table, "%lld/%lld done", (long long)object_number(counts, "C", 0), (long long)total);
	else if (total > 0 && running > 0)
		table_cell(l->table, "%lld running, %lld of %lld done", (long long)running,
			   (long long)object_number(counts, "C", 0), (long long)total);
	else if (total > 0)
		table_cell(l->table, "%s, %lld of %lld done",
			   cell[C_STATE][0] == 'B' ? "queued" : state_word(cell[C_STATE]),
			   (long long)object_number(counts, "C", 0), (long long)total);
	else
		table_cell(l->table, "%s", state_word(cell[C_STATE]));
	json_decref(counts);
}

/* Adds "12m of 1h". */
static void time_cell(struct list *l, char *const *cell)
{
	bool began = strchr("RSEC", cell[C_STATE][0]) != NULL;
	char a[40], b[40];

	duration_human(cell_number(cell[C_WALLTIME]), b, sizeof b);
	if (*cell[C_WALLTIME] && !began) { /* most rows of a long list: skip the usage */
		table_cell(l->table, "%s", b);
		return;
	}
	int64_t used = *cell[C_USED] ? number_in(cell[C_USED], "walltime") : 0;
	duration_human(used, a, sizeof a);
	if (!*cell[C_WALLTIME])
		table_cell(l->table, "%s", used > 0 ? a : "");
	else
		table_cell(l->table, l->tight ? "%s" : "%s of %s", a, b);
}

static void start_cell(struct list *l, char *const *cell)
{
	int64_t started = cell_number(cell[C_STARTED]), planned = cell_number(cell[C_PLANNED]);
	char buf[40];

	if (started > 0)
		table_cell(l->table, "%s", instant_near(started, l->now, buf, sizeof buf));
	else if (planned > 0) {
		l->made = cell_number(cell[C_MADE]);
		table_cell(l->table, "~%s", instant_near(planned, l->now, buf, sizeof buf));
	} else
		table_cell(l->table, "%s", " ");
}

static void row(void *context, char *const *cell)
{
	struct list *l = context;
	char id[64];

	l->jobs++;
	l->arrays += *cell[C_COUNTS] == '{';
	l->running += strchr("RBSE", cell[C_STATE][0]) != NULL;
	l->waiting += strchr("QHW", cell[C_STATE][0]) != NULL;
	table_cell(l->table, "%s", id_short(cell[C_ID], id, sizeof id));
	table_cell(l->table, "%s", cell[C_NAME]);
	if (!l->narrow)
		table_cell(l->table, "%s", cell[C_OWNER]);
	state_cell(l, cell);
	table_cell(l->table, "%s", cell[C_CPUS]);
	if (!l->narrow)
		time_cell(l, cell);
	start_cell(l, cell);
	table_cell(l->table, "%s", cell[C_COMMENT]);
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

static int print_json(const struct command *c, struct client *client, const char *path)
{
	struct reply reply;
	int code = EXIT_OK;

	if (!show_get(c, client, path, &reply, &code))
		return code;
	show_json(json_object_get(reply.json, "jobs"));
	reply_fini(&reply);
	return EXIT_OK;
}

static void made_print(const struct list *l)
{
	char age[40];

	if (l->made > 0 && l->now - l->made >= FORECAST_OLD)
		printf("Expected starts (~) are as of %s ago.\n", duration_human(l->now - l->made, age, sizeof age));
}

static int print_table(const struct command *c, struct client *client, struct strbuf *path, bool filtered)
{
	static const char *const columns[] = {"job", "~name", "user", "=state", ">cpus", "time", "=start", "!why"};
	static const char *const fewer[] = {"job", "~name", "=state", ">cpus", "=start", "!why"};
	int width = terminal_columns();
	bool narrow = width > 0 && width < NARROW;
	struct list l = {.table = table_create(narrow ? fewer : columns, narrow ? 6 : 8),
			 .now = (int64_t)time(NULL),
			 .narrow = narrow,
			 .tight = width > 0 && width < TIGHT};
	struct err err;
	int code = EXIT_OK;

	query_add(path, "fields", fields);
	if (tsv_read(client, path->text, COLUMNS, row, &l, &err) < 0)
		code = command_fail(c, "%s", err.text);
	else if (l.jobs > 0)
		table_print(l.table, stdout, 0);
	if (code == EXIT_OK && l.jobs == 0)
		printf(filtered ? "No jobs match.\n" : "No jobs.\n");
	else if (code == EXIT_OK && width > 0) {
		printf("\n%lld job%s: %lld running, %lld waiting.%s\n", (long long)l.jobs, l.jobs == 1 ? "" : "s",
		       (long long)l.running, (long long)l.waiting,
		       l.arrays && !narrow ? " 'shunt queue -t' lists the elements of arrays." : "");
		made_print(&l);
	}
	table_destroy(l.table);
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
	int code = a->json ? print_json(c, client, path.text)
			   : print_table(c, client, &path, a->user || a->mine || a->queue || a->states);
	client_close(client);
	strbuf_fini(&path);
	return code;
}

const struct command command_queue = {
	.name = "queue",
	.operands = "",
	.about = "List the jobs: what they do, when they start, and why not now.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
