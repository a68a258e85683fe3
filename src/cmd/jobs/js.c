/*
 * js.c - `shunt js`: shows the machine and its queue like Artaras: the time, whether it is up, its
 * configuration, then one line per job.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/timetext.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "rules/checkpoint.h"

#define USER_WIDE 9 /* least width of the second column */
#define TIME_WIDE 16
/* distance from which the year is shown instead of the weekday, s */
#define FAR_AWAY (300 * INT64_C(86400))

struct arguments {
	bool extended, json;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	{"long", OPTION_FLAG, AT(extended), NULL, NULL, NULL, 0, 0,
	 "show class, processors, submission time, deadline and checkpoints of each job, too", 'l'},
	{"json", OPTION_FLAG, AT(json), NULL, NULL, NULL, 0, 0, "print JSON instead of text", 0},
	{0},
};

static const char *const examples[] = {
	"shunt js",
	"The machine, what runs and what waits.",
	"shunt js --long",
	"With class, processors, deadline and checkpoints of each job.",
	NULL,
};

enum {
	C_ID,
	C_OWNER,
	C_STATE,
	C_QUITTING,
	C_TYPE,
	C_INTERACTIVE,
	C_PARTITION,
	C_STARTED,
	C_START,
	C_END,
	C_NAME,
	C_PROGRAM,
	C_NICE,
	C_RESOURCES,
	COLUMNS,
	C_CPUS = COLUMNS, /* the long form only */
	C_CREATED,
	C_DEADLINE,
	C_CHECKPOINT,
	C_CHECKPOINTS,
	C_CLASS,
	COLUMNS_LONG
};
#define FIELDS                                                                                                            \
	"id,owner,state,quitting,type,interactive,partition,started,expected_start,expected_end,name,program,nice_until," \
	"resources"
#define FIELDS_LONG FIELDS ",cpus,created,deadline,checkpoint,checkpoints,class"

struct row {
	char *cell[COLUMNS_LONG];
	uint64_t number;
	int64_t start; /* actual or expected; TIME_NEVER: not known */
	bool runs;
};

struct list {
	VEC(struct row) rows;
	int columns, id_wide, user_wide, partition_wide;
	int64_t now;
};

/* ---- a job's letters and times ---- */

static char status_letter(char *const *cell)
{
	if (strcmp(cell[C_QUITTING], "1") == 0 || cell[C_STATE][0] == 'E')
		return 'Q';
	return strchr("RB", cell[C_STATE][0]) ? 'R' : 'W';
}

static char type_letter(char *const *cell, int64_t now)
{
	if (strcmp(cell[C_INTERACTIVE], "1") == 0)
		return 'I';
	if (strtoll(cell[C_NICE], NULL, 10) > now) /* from then on it is a normal job */
		return 'n';
	return cell[C_TYPE][0] == 'Q' ? 'P' : cell[C_TYPE][0] == 'E' ? 'E' : 'N';
}

/* Returns the partition that a job waits for: "A" for "nodes=2:ppn=1,partition=A". The caller frees
 * it. */
static char *partition_asked(const char *resources)
{
	const char *at = resources;

	while (*at && strncmp(at, "partition=", 10) != 0)
		at += strcspn(at, ","), at += *at == ',';
	return strndup(*at ? at + 10 : "", *at ? strcspn(at + 10, ",") : 0);
}

/* Returns where it runs, or waits to run. */
static const char *partition_text(char *const *cell)
{
	return *cell[C_PARTITION] && strcmp(cell[C_PARTITION], "any") != 0 ? cell[C_PARTITION] : "-";
}

/* Returns the program without its directory, with its arguments; for a script without a file, the
 * job's name. */
static const char *program_text(char *const *cell)
{
	const char *text = cell[C_PROGRAM], *base = text;

	for (const char *p = text; *p && !strchr(" '", *p); p++)
		if (*p == '/' && p[1] && p[1] != ' ')
			base = p + 1;
	return *text ? base : cell[C_NAME];
}

/* Formats "Wed Jul  3 10:09"; today "     -     09:35"; in another year "2027-07-03 10:09". */
static const char *time_text(const char *cell, int64_t now, char *buf, size_t size)
{
	time_t t = (time_t)strtoll(cell, NULL, 10), n = (time_t)now;
	struct tm tm, today;
	char full[40];

	if (t <= 0 || !localtime_r(&t, &tm) || !localtime_r(&n, &today)) {
		snprintf(buf, size, "unknown");
	} else if (tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year) {
		snprintf(buf, size, "     -     %02d:%02d", tm.tm_hour, tm.tm_min);
	} else if (llabs((long long)t - now) > FAR_AWAY) {
		snprintf(buf, size, "%.16s", instant_format(t, full, sizeof full));
	} else {
		snprintf(buf, size, "%.16s", instant_ctime(t, full, sizeof full));
	}
	return buf;
}

/* Formats "Tue Jul  2 14:12", also for today. */
static const char *date_text(int64_t t, char *buf, size_t size)
{
	char full[40];

	snprintf(buf, size, "%.16s", instant_ctime(t, full, sizeof full));
	return buf;
}

/* ---- the rows ---- */

static int columns_of(const char *text)
{
	int32_t c;
	int n, sum = 0;

	for (; (n = utf8_next(text, &c)) > 0; text += n)
		sum += utf8_columns(c);
	return sum;
}

static void row_add(void *context, char *const *cell)
{
	struct list *l = context;
	struct row x = {.number = strtoull(cell[C_ID], NULL, 10)};
	char id[64];

	for (int i = 0; i < l->columns; i++)
		x.cell[i] = mem_strdup(i == C_ID ? id_short(cell[i], id, sizeof id) : cell[i]);
	x.runs = strtoll(cell[C_STARTED], NULL, 10) > 0;
	if (!x.runs) { /* show the requested partition, not the planned one */
		free(x.cell[C_PARTITION]);
		x.cell[C_PARTITION] = partition_asked(cell[C_RESOURCES]);
	}
	x.start = strtoll(cell[x.runs ? C_STARTED : C_START], NULL, 10);
	if (x.start <= 0)
		x.start = TIME_NEVER;
	if (columns_of(x.cell[C_ID]) > l->id_wide)
		l->id_wide = columns_of(x.cell[C_ID]);
	if (columns_of(x.cell[C_OWNER]) > l->user_wide)
		l->user_wide = columns_of(x.cell[C_OWNER]);
	if (columns_of(partition_text(x.cell)) > l->partition_wide)
		l->partition_wide = columns_of(partition_text(x.cell));
	vec_push(&l->rows, x);
}

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

static void list_fini(struct list *l)
{
	for (size_t i = 0; i < l->rows.n; i++)
		for (int k = 0; k < l->columns; k++)
			free(l->rows.v[i].cell[k]);
	vec_free(&l->rows);
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

static void cell_pad(struct strbuf *out, const char *text, int width)
{
	strbuf_printf(out, "%s%*s ", text, width > columns_of(text) ? width - columns_of(text) : 0, "");
}

static void row_print(const struct list *l, const struct row *x, int width)
{
	struct strbuf out = {0};
	char start[40], end[40];

	cell_pad(&out, x->cell[C_ID], l->id_wide);
	cell_pad(&out, x->cell[C_OWNER], l->user_wide);
	strbuf_printf(&out, "%c %c ", status_letter(x->cell), type_letter(x->cell, l->now));
	cell_pad(&out, partition_text(x->cell), l->partition_wide);
	cell_pad(&out, time_text(x->cell[x->runs ? C_STARTED : C_START], l->now, start, sizeof start), TIME_WIDE);
	cell_pad(&out, time_text(x->cell[C_END], l->now, end, sizeof end), TIME_WIDE);
	strbuf_puts(&out, program_text(x->cell));
	line_print(strbuf_text(&out), width);
	strbuf_fini(&out);
}

/* ---- the long form ---- */

static void checkpoints_print(const struct row *x, struct strbuf *out)
{
	json_t *made = *x->cell[C_CHECKPOINTS] ? json_loads(x->cell[C_CHECKPOINTS], 0, NULL) : NULL;
	struct arena *a = arena_create();
	struct checkpoint_wish wish = {0};
	char text[40];

	if (checkpoint_parse(x->cell[C_CHECKPOINT], a, &wish, NULL) < 0 || !wish.makes) {
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

static void more_print(const struct row *x, int width)
{
	struct strbuf out = {0};
	char when[40];

	strbuf_printf(&out, "    Class %s, ", *x->cell[C_CLASS] ? x->cell[C_CLASS] : "script");
	if (*x->cell[C_CPUS]) /* else only the server knows */
		strbuf_printf(&out, "%s processor%s, ", x->cell[C_CPUS], strcmp(x->cell[C_CPUS], "1") == 0 ? "" : "s");
	strbuf_printf(&out, "submitted %s", date_text(strtoll(x->cell[C_CREATED], NULL, 10), when, sizeof when));
	if (*x->cell[C_DEADLINE])
		strbuf_printf(&out, ", deadline %s",
			      date_text(strtoll(x->cell[C_DEADLINE], NULL, 10), when, sizeof when));
	if (*x->cell[C_NICE])
		strbuf_printf(&out, ", nice until %s",
			      date_text(strtoll(x->cell[C_NICE], NULL, 10), when, sizeof when));
	line_print(strbuf_text(&out), width);
	strbuf_clear(&out);
	strbuf_puts(&out, "    ");
	checkpoints_print(x, &out);
	line_print(strbuf_text(&out), width);
	strbuf_fini(&out);
}

static void table_show(const struct list *l, bool extended)
{
	int width = terminal_columns();
	struct strbuf head = {0};

	cell_pad(&head, "JID", l->id_wide);
	cell_pad(&head, "User", l->user_wide);
	strbuf_puts(&head, "S T ");
	cell_pad(&head, "L", l->partition_wide);
	cell_pad(&head, "Starting time", TIME_WIDE);
	cell_pad(&head, "Completion time", TIME_WIDE);
	strbuf_puts(&head, "Job");
	line_print(strbuf_text(&head), width);
	strbuf_fini(&head);
	for (size_t i = 0; i < l->rows.n; i++) {
		row_print(l, &l->rows.v[i], width);
		if (extended)
			more_print(&l->rows.v[i], width);
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

static void path_make(struct strbuf *path, bool extended)
{
	strbuf_puts(path, "/v1/jobs");
	query_add(path, "completed", "0");
	query_add(path, "fields", extended ? FIELDS_LONG : FIELDS);
}

static int print_json(const struct command *c, struct client *client, const json_t *machine, const char *path)
{
	struct reply reply;
	int code = EXIT_OK;

	if (!show_get(c, client, path, &reply, &code))
		return code;
	json_t *all = json_pack("{s:O, s:O}", "machine", machine, "jobs", json_object_get(reply.json, "jobs"));
	show_json(all);
	json_decref(all);
	reply_fini(&reply);
	return code;
}

static int print_text(const struct command *c, struct client *client, const json_t *machine, const char *path,
		      bool extended)
{
	struct list l = {.columns = extended ? COLUMNS_LONG : COLUMNS,
			 .id_wide = 3,
			 .user_wide = USER_WIDE,
			 .partition_wide = 1,
			 .now = object_number(machine, "now", 0)};
	struct err err;
	int code = EXIT_OK;

	if (tsv_read(client, path, l.columns, row_add, &l, &err) < 0) {
		code = command_fail(c, "%s", err.text);
	} else {
		if (l.rows.n)
			qsort(l.rows.v, l.rows.n, sizeof *l.rows.v, row_cmp);
		machine_show(machine);
		if (l.rows.n)
			table_show(&l, extended);
		else
			printf("No jobs%s are running or waiting.\n",
			       json_is_true(json_object_get(machine, "all_jobs")) ? "" : " that you may see");
	}
	list_fini(&l);
	return code;
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
	path_make(&path, a->extended);
	if (show_get(c, client, "/v1/machine", &machine, &code)) {
		code = a->json ? print_json(c, client, machine.json, path.text)
			       : print_text(c, client, machine.json, path.text, a->extended);
		reply_fini(&machine);
	}
	strbuf_fini(&path);
	client_close(client);
	return code;
}

const struct command command_js = {
	.name = "js",
	.operands = "",
	.about = "Show the machine and its queue.",
	.details =
		"S is the status: R running, W waiting, Q quitting (it makes its last checkpoint, or ends). T is the type: N normal, P priority (it has a "
		"deadline), I interactive, E emergency, n nice. L is the partition, or - for none. Times of waiting jobs are expected ones; a time of today "
		"has - instead of a date. While the server is down, the queue is shown as it was, with your changes since; when jobs will start then is estimated from the last plan.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
