/*
 * nodes.c - `shunt nodes`: shows the nodes and how full they are. Columns that would be empty are
 * left out.
 */
#include <string.h>

#include "base/hostlist.h"
#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

#define BAR_WIDE 20
#define BAR_NARROW 8
#define NARROW 110 /* terminals with fewer columns get short bars */

static const struct option options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL,
		   "print the API's answer instead of a table"),
	{0},
};

/* Returns the member "disk_used" for "disk". */
static int64_t used_of(const json_t *node, const char *key)
{
	char used[32];

	snprintf(used, sizeof used, "%s_used", key);
	return object_number(node, used, 0);
}

/* Draws "####----": used and free. */
static void cell_bar(const json_t *node, const char *key, struct strbuf *cell)
{
	int64_t all = object_number(node, key, 0);
	int columns = terminal_columns(), width = columns && columns < NARROW ? BAR_NARROW : BAR_WIDE;
	int64_t n = all > 0 ? (used_of(node, key) * width + all - 1) / all : 0;

	for (int i = 0; i < width && (all > 0 || strcmp(key, "cpus") == 0); i++)
		strbuf_char(cell, i < n ? '#' : '-');
}

static void cell_cpus(const json_t *node, const char *key, struct strbuf *cell)
{
	strbuf_printf(cell, "%lld/%lld", (long long)used_of(node, key), (long long)object_number(node, key, 0));
}

static void cell_gpus(const json_t *node, const char *key, struct strbuf *cell)
{
	if (object_number(node, key, 0) > 0)
		cell_cpus(node, key, cell);
}

static void cell_load(const json_t *node, const char *key, struct strbuf *cell)
{
	if (json_is_number(json_object_get(node, key)))
		strbuf_printf(cell, "%.2f", json_number_value(json_object_get(node, key)));
}

/* Writes "20g/1t". */
static void cell_kib(const json_t *node, const char *key, struct strbuf *cell)
{
	int64_t all = object_number(node, key, 0), used = used_of(node, key);
	char first[64], second[64];

	if (all > 0)
		strbuf_printf(cell, "%s/%s", used ? memory_human(used, first, sizeof first) : "0",
			      memory_human(all, second, sizeof second));
}

static double speed_of_node(const json_t *node, const char *key)
{
	const json_t *speed = json_object_get(node, key);

	return json_is_number(speed) ? json_number_value(speed) : 1;
}

static void cell_speed(const json_t *node, const char *key, struct strbuf *cell)
{
	strbuf_printf(cell, "%g", speed_of_node(node, key));
}

/* Writes the jobs, each once: pieces of the same job come together. */
static void cell_jobs(const json_t *node, const char *key, struct strbuf *cell)
{
	const char *last = "";
	const json_t *job;
	char buf[64];
	size_t i;

	json_array_foreach(json_object_get(node, key), i, job)
	{
		const char *id = object_text(job, "id");
		if (strcmp(id, last) != 0)
			strbuf_printf(cell, "%s%s", i ? " " : "", id_short(id, buf, sizeof buf));
		last = id;
	}
}

/* Writes the features; the class counts as the first. */
static void cell_features(const json_t *node, const char *key, struct strbuf *cell)
{
	const char *class = object_text(node, "class");
	const json_t *f;
	size_t i;

	strbuf_puts(cell, class);
	json_array_foreach(json_object_get(node, key), i, f)
	{
		if (json_is_string(f) && strcmp(value_text(f), class) != 0)
			strbuf_printf(cell, "%s%s", cell->n ? "," : "", value_text(f));
	}
}

static void cell_note(const json_t *node, const char *key, struct strbuf *cell)
{
	const char *note = object_text(node, key), *health = object_text(node, "health");
	int64_t at = object_number(node, "drain_at", 0);
	char when[40];

	if (at > 0)
		strbuf_printf(cell, "out of service at %s", instant_format(at, when, sizeof when));
	if (*note)
		strbuf_printf(cell, "%s%s", cell->n ? ": " : "", note);
	if (*health)
		strbuf_printf(cell, "%s%s", cell->n ? "; " : "", health);
	if (json_is_true(json_object_get(node, "outdated")))
		strbuf_printf(cell, "%solder agent (protocol %lld)", cell->n ? "; " : "",
			      (long long)object_number(node, "protocol", 0));
}

static const struct listing_column all_columns[] = {
	{"node", "name", .make = cell_plain},
	{"state", "state", .make = cell_plain},
	{">cpus", "cpus", .make = cell_cpus},
	{"used", "cpus", .make = cell_bar},
	{">load", "load", .make = cell_load},
	{">memory", "memory", .make = cell_kib},
	{"used", "memory", .make = cell_bar},
	{">disk", "disk", .make = cell_kib},
	{">swap", "swap", .make = cell_kib},
	{">gpus", "gpus", .make = cell_gpus},
	{">speed", "speed", .make = cell_speed},
	{"~jobs", "jobs", .make = cell_jobs},
	{"~features", "features", .make = cell_features},
	{"~note", "note", .make = cell_note},
};

/* Returns true if a node is worth the column. */
static bool is_worth(const json_t *node, const struct listing_column *column)
{
	struct strbuf cell = {0};

	if (column->make == cell_speed)
		return speed_of_node(node, column->key) != 1;
	/* nearly every node has a disk: shown only if jobs use it */
	if (strcmp(column->key, "disk") == 0 || strcmp(column->key, "swap") == 0)
		return used_of(node, column->key) > 0;
	column->make(node, column->key, &cell);
	bool worth = cell.n > 0;
	strbuf_fini(&cell);
	return worth;
}

/* Appends the nodes of these lists to `chosen`, in the order of `all`; without lists all nodes.
 * Returns the exit code. */
static int nodes_choose(const struct command *c, const json_t *all, const struct operands *lists, json_t *chosen)
{
	json_t *names = json_object(), *node;
	int code = EXIT_OK;
	struct err err;
	const char *name;
	size_t i;
	void *next;

	for (int k = 0; k < lists->n; k++) {
		name_list list = {0};
		if (hostlist_parse(lists->v[k], &list, &err) < 0)
			code = command_fail(c, "%s: %s", lists->v[k], err.text);
		for (i = 0; i < list.n; i++)
			json_object_set_new(names, list.v[i], json_null());
		name_list_free(&list);
	}
	json_array_foreach(all, i, node)
	{
		if (lists->n == 0 || json_object_del(names, object_text(node, "name")) == 0)
			json_array_append(chosen, node);
	}
	json_object_foreach_safe(names, next, name, node)
	{
		code = command_fail(c, "There is no node %s.", name);
	}
	json_decref(names);
	return code;
}

static void nodes_print(const json_t *nodes)
{
	struct listing_column columns[sizeof all_columns / sizeof *all_columns + 1] = {0};
	const json_t *node;
	size_t n = 0, i;

	for (size_t k = 0; k < sizeof all_columns / sizeof *all_columns; k++) {
		bool worth = false;
		json_array_foreach(nodes, i, node) worth = worth || is_worth(node, &all_columns[k]);
		if (worth)
			columns[n++] = all_columns[k];
	}
	if (json_array_size(nodes) == 0)
		return;
	struct table *t = listing_table(nodes, columns);
	states_color(t);
	table_print(t, stdout, 0);
	table_destroy(t);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct show_arguments *a = arguments;
	json_t *chosen = json_array();
	int code;
	json_t *answer = show_ask(c, "/v1/nodes", NULL, &code);

	if (answer)
		code = nodes_choose(c, json_object_get(answer, "nodes"), operands, chosen);
	if (answer && a->json)
		show_json(operands->n ? chosen : answer);
	else if (json_array_size(chosen) > 0)
		nodes_print(chosen);
	else if (answer && operands->n == 0)
		printf("No nodes yet: 'shunt token create' shows how to add a machine.\n");
	json_decref(chosen);
	json_decref(answer);
	return code;
}

const struct command command_nodes = {
	.name = "nodes",
	.operands = "[NODE]...",
	.about = "List the nodes and how full they are.",
	.details =
		"States: free, busy (no CPU is free), offline (by an administrator), draining (offline, and jobs still run there), "
		"down (nothing is heard of it), joining (it has joined and not yet connected), unhealthy (its health check "
		"says so), claimed (a workstation whose owner uses it). 'shunt nodes offline', 'drain', 'online', 'set' and 'remove' change nodes.",
	.examples = EXAMPLES(
		{"shunt nodes", "All nodes, and how full they are."}, {"shunt nodes n[1-4]", "These only."},
		{"shunt nodes offline n3 -m 'new disk'", "No further job starts on n3; running jobs continue."},
		{"shunt nodes drain n3 --at 18:00", "From six on; until then jobs start there that end before."},
		{"shunt nodes online n3", "Jobs start there again."},
		{"shunt nodes set n3 class=big features=fast,ib", "What jobs may ask for: -l nodes=1:fast."},
		{"shunt nodes remove n3", "n3 leaves the cluster, and has to join to return."}),
	OPTIONS(struct show_arguments, options),
	.run = run,
};
