/*
 * js.c - `shunt js`: shows the machine and its queue like Artaras: the time, whether it is up, its
 * configuration, then one line per job.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/timetext.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/show.h"
#include "rules/checkpoint.h"

#define USER_WIDE 9 /* minimum width of the second column */
#define TIME_WIDE 16

struct arguments {
	bool extended, json;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	FLAG('l', "long", extended,
	     "also show class, processors, submission time, deadline and checkpoints of each job"),
	FLAG(0, "json", json, "print JSON instead of text"),
	{0},
};

static const char columns[] =
	"JID:short_id User:owner S:js_status T:js_type L:js_partition?- Starting_time:js_start?unknown "
	"Completion_time:js_end?unknown Job:js_program";
#define COLUMNS 8

/* What the long form shows in addition. */
enum { C_CPUS, C_CREATED, C_DEADLINE, C_NICE, C_CHECKPOINT, C_CHECKPOINTS, C_CLASS, CELLS };
static const char more_columns[] = "cpus:cpus created:created deadline:deadline nice:nice_until "
				   "checkpoint:checkpoint checkpoints:checkpoints class:class?script";

/* A job; its texts live in the list's arena. */
struct row {
	const char *text[COLUMNS];
	const char *more[2]; /* lines of the long form, or NULL */
	uint64_t number;
	int64_t start; /* actual or expected; TIME_NEVER: not known */
	bool runs;
};

struct list {
	struct joblist jobs;
	bool extended;
	int id, started, expected; /* cells */
	int more;		   /* first column of the long form */
	struct arena *arena;
	VEC(struct row) rows;
	int width[COLUMNS];
};

/* Formats "Tue Jul  2 14:12", also for today. */
static const char *date_text(int64_t t, char *buf, size_t size)
{
	char full[40];

	snprintf(buf, size, "%.16s", instant_ctime(t, full, sizeof full));
	return buf;
}

/* ---- the rows ---- */

/* Orders running jobs first, then waiting ones by start. */
static int row_cmp(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->runs != y->runs)
		return x->runs ? -1 : 1;
	if (!x->runs && x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Prints at most `width` columns of a line; 0: all of it. */
static void line_print(const char *text, int width)
{
	int32_t c;
	int n, at = 0;

	for (const char *p = text; width > 0 && (n = utf8_next(p, &c)) > 0; p += n) {
		at += utf8_columns(c);
		if (at > width) {
			printf("%.*s\n", (int)(p - text), text);
			return;
		}
	}
	printf("%s\n", text);
}

static void row_print(const struct list *l, const char *const *text)
{
	struct strbuf out = {0};

	for (int i = 0; i < COLUMNS - 1; i++)
		column_add(&out, text[i], l->width[i]);
	strbuf_puts(&out, text[COLUMNS - 1]);
	line_print(strbuf_text(&out), terminal_columns());
	strbuf_fini(&out);
}

/* ---- the long form ---- */

static void checkpoints_write(const char *cell, const char *made_cell, struct strbuf *out)
{
	json_t *made = *made_cell ? json_loads(made_cell, 0, NULL) : NULL;
	struct arena *a = arena_create();
	struct checkpoint_wish wish = {0};
	char text[40];

	if (checkpoint_parse(cell, a, &wish, NULL) < 0 || !wish.makes) {
		strbuf_puts(out, "No checkpoints");
	} else {
		strbuf_puts(out, wish.periodic ? "Checkpoint interval " : "Checkpoint only when stopped");
		if (wish.periodic)
			strbuf_puts(out,
				    wish.interval ? duration_format(wish.interval, text, sizeof text) : "of the site");
		strbuf_printf(out, ", duration %s",
			      wish.duration ? duration_format(wish.duration, text, sizeof text) : "of the site");
		strbuf_printf(out, ", last %s",
			      object_number(made, "saved", 0)
				      ? date_text(object_number(made, "saved", 0), text, sizeof text)
				      : "none");
	}
	arena_destroy(a);
	json_decref(made);
}

/* Makes the two lines of the long form. */
static void more_make(struct list *l, char *const *cell, struct row *x)
{
	const char *v[CELLS];
	struct strbuf out = {0};
	char when[40];

	for (int i = 0; i < CELLS; i++)
		v[i] = joblist_text(&l->jobs, l->more + i, cell);
	strbuf_printf(&out, "    Class %s, ", v[C_CLASS]);
	if (*v[C_CPUS]) /* else only the server knows */
		strbuf_printf(&out, "%s processor%s, ", v[C_CPUS], strcmp(v[C_CPUS], "1") == 0 ? "" : "s");
	strbuf_printf(&out, "submitted %s", date_text(cell_number(v[C_CREATED]), when, sizeof when));
	if (*v[C_DEADLINE])
		strbuf_printf(&out, ", deadline %s", date_text(cell_number(v[C_DEADLINE]), when, sizeof when));
	if (*v[C_NICE])
		strbuf_printf(&out, ", nice until %s", date_text(cell_number(v[C_NICE]), when, sizeof when));
	x->more[0] = arena_strndup(l->arena, out.text, out.n);
	strbuf_clear(&out);
	strbuf_puts(&out, "    ");
	checkpoints_write(v[C_CHECKPOINT], v[C_CHECKPOINTS], &out);
	x->more[1] = arena_strndup(l->arena, out.text, out.n);
	strbuf_fini(&out);
}

/* ---- the list ---- */

static void row_add(void *context, char **cell)
{
	struct list *l = context;
	struct row x = {.number = strtoull(cell[l->id], NULL, 10), .runs = cell_number(cell[l->started]) > 0};

	for (int i = 0; i < COLUMNS; i++) {
		const char *text = joblist_text(&l->jobs, i, cell);
		x.text[i] = arena_strndup(l->arena, text, strlen(text));
		if (utf8_width(text) > l->width[i])
			l->width[i] = utf8_width(text);
	}
	x.start = cell_number(cell[x.runs ? l->started : l->expected]);
	if (x.start <= 0)
		x.start = TIME_NEVER;
	if (l->extended)
		more_make(l, cell, &x);
	vec_push(&l->rows, x);
}

static void list_init(struct list *l, int64_t now, bool extended)
{
	*l = (struct list){.jobs = {.row = row_add, .context = l, .making.now = now},
			   .extended = extended,
			   .arena = arena_create(),
			   .width = {3, USER_WIDE, 1, 1, 1, TIME_WIDE, TIME_WIDE, 0}};
	joblist_add(&l->jobs, columns);
	l->id = joblist_member(&l->jobs, "id");
	l->started = joblist_member(&l->jobs, "started");
	l->expected = joblist_member(&l->jobs, "expected_start");
	if (extended)
		l->more = joblist_add(&l->jobs, more_columns);
}

static void list_fini(struct list *l)
{
	joblist_fini(&l->jobs);
	vec_free(&l->rows);
	arena_destroy(l->arena);
}

static void list_print(const struct list *l)
{
	const char *headings[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		headings[i] = l->jobs.columns.v[i].heading;
	row_print(l, headings);
	for (size_t i = 0; i < l->rows.n; i++) {
		row_print(l, l->rows.v[i].text);
		for (int k = 0; k < 2 && l->extended; k++)
			line_print(l->rows.v[i].more[k], terminal_columns());
	}
}

/* ---- the machine ---- */

/* Shows the partitions with their processors, then the other nodes. */
static void configuration_show(const json_t *m, int64_t nodes)
{
	const json_t *partition, *node, *list = json_object_get(m, "partitions");
	int64_t shared = object_number(m, "shared", 0), inside = 0;
	struct strbuf line = {0};
	size_t i, k;

	if (nodes)
		printf("Configuration:\n");
	json_array_foreach(list, i, partition)
	{
		strbuf_clear(&line);
		strbuf_printf(&line, "  Partition %s (#%lld): ", object_text(partition, "name"),
			      (long long)object_number(partition, "cpus", 0));
		json_array_foreach(json_object_get(partition, "nodes"), k, node)
			strbuf_printf(&line, "%s%s", k ? "-" : "", value_text(node));
		inside += (int64_t)k;
		line_print(line.text, terminal_columns());
	}
	if (shared)
		printf("  Shared nodes: %lld (#%lld)\n", (long long)(nodes - inside), (long long)shared);
	strbuf_fini(&line);
}

static void machine_show(const json_t *m)
{
	int64_t nodes = object_number(m, "nodes", 0), begin = object_number(m, "shutdown.begin", 0),
		until = object_number(m, "shutdown.until", 0), now = object_number(m, "now", 0),
		up = object_number(m, "nodes_up", 0), since = object_number(m, "as_of", 0);
	char when[40], then[40];

	printf("Current time: %s.\n", date_text(now, when, sizeof when));
	date_text(since, when, sizeof when);
	date_text(until, then, sizeof then);
	if (json_is_true(json_object_get(m, "up")) && json_is_true(json_object_get(m, "scheduling")))
		printf("Scheduler is up and running.\n");
	else if (json_is_true(json_object_get(m, "up")))
		printf("Scheduler is up, but starts no jobs (scheduling is False).\n");
	else if (since && until > now && begin <= since)
		printf("Scheduler is down since %s, until %s.\n", when, then);
	else if (since)
		printf("Scheduler is down since %s.\n", when);
	else
		printf("Scheduler is down.\n");
	if (begin && (json_is_true(json_object_get(m, "up")) || begin > since))
		printf("Shutdown from %s until %s.\n", date_text(begin, when, sizeof when),
		       until ? then : "an unknown time");
	if (nodes && !up)
		printf("Machine is down.\n");
	else if (up < nodes)
		printf("Machine is up, but for %lld of %lld nodes.\n", (long long)(nodes - up), (long long)nodes);
	configuration_show(m, nodes);
	putchar('\n');
}

/* ---- the command ---- */

/* Prints the members that the list would show. */
static int print_json(const struct command *c, struct client *client, const json_t *machine, struct list *l,
		      struct strbuf *path)
{
	struct reply reply;
	int code = EXIT_OK;

	joblist_query(&l->jobs, path);
	if (!show_get(c, client, path->text, &reply, &code))
		return code;
	json_t *all = json_pack("{s:O, s:O}", "machine", machine, "jobs", json_object_get(reply.json, "jobs"));
	show_json(all);
	json_decref(all);
	reply_fini(&reply);
	return code;
}

static int print_text(const struct command *c, struct client *client, const json_t *machine, struct list *l,
		      struct strbuf *path)
{
	struct err err;

	if (joblist_read(&l->jobs, client, path, &err) < 0)
		return command_fail(c, "%s", err.text);
	if (l->rows.n)
		qsort(l->rows.v, l->rows.n, sizeof *l->rows.v, row_cmp);
	machine_show(machine);
	if (l->rows.n)
		list_print(l);
	else
		printf("No jobs%s are running or waiting.\n",
		       json_is_true(json_object_get(machine, "all_jobs")) ? "" : " that you may see");
	return EXIT_OK;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct strbuf path = {0};
	struct client *client;
	struct reply machine;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	strbuf_puts(&path, "/v1/jobs?completed=0");
	if (show_get(c, client, "/v1/machine", &machine, &code)) {
		struct list l;
		list_init(&l, object_number(machine.json, "now", 0), a->extended);
		code = (a->json ? print_json : print_text)(c, client, machine.json, &l, &path);
		list_fini(&l);
		reply_fini(&machine);
	}
	strbuf_fini(&path);
	client_close(client);
	return code;
}

const struct command command_js = {
	.name = "js",
	.about = "Show the machine and its queue.",
	.details =
		"S is the status: R running, W waiting, Q quitting (it makes its last checkpoint, or ends). T is the type: N normal, P priority (it has a "
		"deadline), I interactive, E emergency, n nice. L is the partition, or - for none. Times of waiting jobs are expected ones; a time of today "
		"has - instead of a date. While the server is down, the queue is shown as it was, with your changes since; when jobs will start then is estimated from the last plan.",
	.examples = EXAMPLES({"shunt js", "The machine, what runs and what waits."},
			     {"shunt js --long", "With class, processors, deadline and checkpoints of each job."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
