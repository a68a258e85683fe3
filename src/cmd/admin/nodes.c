/*
 * nodes.c - `shunt nodes`: shows the nodes and how full they are. Columns that would be empty are
 * left out.
 */
#include <string.h>

#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

#define BAR_WIDE 20
#define BAR_NARROW 8
#define NARROW 110 /* terminals with fewer columns get short bars */

struct arguments {
	bool json;
};

static const struct option options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct arguments, json), NULL,
		   "print the API's answer instead of a table"),
	{0},
};

/* The columns to show, for all nodes. */
struct shape {
	bool load, memory, disk, swap, gpus, speed, jobs, features, note;
	int bar; /* width of a bar, characters */
};

/* Draws "####----": used and free. */
static const char *bar(int64_t used, int64_t all, int width, char buf[BAR_WIDE + 1])
{
	int64_t n = all > 0 ? (used * width + all - 1) / all : 0;

	for (int i = 0; i < width; i++)
		buf[i] = i < n ? '#' : '-';
	buf[width] = '\0';
	return buf;
}

static double speed_of_node(const json_t *node)
{
	const json_t *speed = json_object_get(node, "speed");

	return json_is_number(speed) ? json_number_value(speed) : 1;
}

static void shape_see(struct shape *s, const json_t *node)
{
	s->load |= json_is_number(json_object_get(node, "load"));
	s->memory |= object_number(node, "memory", 0) > 0;
	/* nearly every node has a disk: shown only if jobs use it */
	s->disk |= object_number(node, "disk_used", 0) > 0;
	s->swap |= object_number(node, "swap_used", 0) > 0;
	s->gpus |= object_number(node, "gpus", 0) > 0;
	s->speed |= speed_of_node(node) != 1;
	s->jobs |= json_array_size(json_object_get(node, "jobs")) > 0;
	s->features |= json_array_size(json_object_get(node, "features")) > 0 || *object_text(node, "class");
	s->note |= *object_text(node, "note") || *object_text(node, "health") ||
		   object_number(node, "drain_at", 0) > 0 || json_is_true(json_object_get(node, "outdated"));
}

static struct table *shape_table(const struct shape *s)
{
	const char *column[14];
	int n = 0;

	column[n++] = "node";
	column[n++] = "state";
	column[n++] = ">cpus";
	column[n++] = "used";
	if (s->load)
		column[n++] = ">load";
	if (s->memory) {
		column[n++] = ">memory";
		column[n++] = "used";
	}
	if (s->disk)
		column[n++] = ">disk";
	if (s->swap)
		column[n++] = ">swap";
	if (s->gpus)
		column[n++] = ">gpus";
	if (s->speed)
		column[n++] = ">speed";
	if (s->jobs)
		column[n++] = "~jobs";
	if (s->features)
		column[n++] = "~features";
	if (s->note)
		column[n++] = "~note";
	return table_create(column, n);
}

/* Adds "20g/1t". */
static void kib_cell(struct table *t, const json_t *node, const char *all_key, const char *used_key)
{
	int64_t all = object_number(node, all_key, 0), used = object_number(node, used_key, 0);
	char first[64], second[64];

	if (all > 0)
		table_cell(t, "%s/%s", used ? memory_human(used, first, sizeof first) : "0",
			   memory_human(all, second, sizeof second));
	else
		table_cell(t, " ");
}

static void memory_cells(const struct shape *s, struct table *t, const json_t *node)
{
	int64_t all = object_number(node, "memory", 0), used = object_number(node, "memory_used", 0);
	char buf[BAR_WIDE + 1];

	kib_cell(t, node, "memory", "memory_used");
	table_cell(t, "%s", all > 0 ? bar(used, all, s->bar, buf) : " ");
}

/* Adds the jobs, each once: pieces of the same job come together. */
static void jobs_cell(struct table *t, const json_t *node)
{
	struct strbuf jobs = {0};
	const char *last = "";
	const json_t *job;
	char buf[64];
	size_t i;

	json_array_foreach(json_object_get(node, "jobs"), i, job)
	{
		const char *id = object_text(job, "id");
		if (strcmp(id, last) != 0)
			strbuf_printf(&jobs, "%s%s", i ? " " : "", id_short(id, buf, sizeof buf));
		last = id;
	}
	table_cell(t, "%s", strbuf_text(&jobs));
	strbuf_fini(&jobs);
}

/* Adds the features; the class counts as the first. */
static void features_cell(struct table *t, const json_t *node)
{
	const char *class = object_text(node, "class");
	struct strbuf list = {0};
	const json_t *f;
	size_t i;

	strbuf_puts(&list, class);
	json_array_foreach(json_object_get(node, "features"), i, f)
	{
		if (json_is_string(f) && strcmp(value_text(f), class) != 0)
			strbuf_printf(&list, "%s%s", list.n ? "," : "", value_text(f));
	}
	table_cell(t, "%s", strbuf_text(&list));
	strbuf_fini(&list);
}

static void note_cell(struct table *t, const json_t *node)
{
	const char *note = object_text(node, "note"), *health = object_text(node, "health");

	int64_t at = object_number(node, "drain_at", 0);
	struct strbuf text = {0};
	char when[40];

	if (at > 0)
		strbuf_printf(&text, "out of service at %s", instant_format(at, when, sizeof when));
	if (*note)
		strbuf_printf(&text, "%s%s", text.n ? ": " : "", note);
	if (*health)
		strbuf_printf(&text, "%s%s", text.n ? "; " : "", health);
	if (json_is_true(json_object_get(node, "outdated")))
		strbuf_printf(&text, "%solder agent (protocol %lld)", text.n ? "; " : "",
			      (long long)object_number(node, "protocol", 0));
	table_cell(t, "%s", strbuf_text(&text));
	strbuf_fini(&text);
}

static void node_row(const struct shape *s, struct table *t, const json_t *node)
{
	int64_t cpus = object_number(node, "cpus", 0), used = object_number(node, "cpus_used", 0),
		gpus = object_number(node, "gpus", 0);
	const json_t *load = json_object_get(node, "load");
	char buf[BAR_WIDE + 1];

	table_cell(t, "%s", object_text(node, "name"));
	table_cell(t, "%s", object_text(node, "state"));
	table_cell(t, "%lld/%lld", (long long)used, (long long)cpus);
	table_cell(t, "%s", bar(used, cpus, s->bar, buf));
	if (s->load && json_is_number(load))
		table_cell(t, "%.2f", json_number_value(load));
	else if (s->load)
		table_cell(t, " ");
	if (s->memory)
		memory_cells(s, t, node);
	if (s->disk)
		kib_cell(t, node, "disk", "disk_used");
	if (s->swap)
		kib_cell(t, node, "swap", "swap_used");
	if (s->gpus && gpus > 0)
		table_cell(t, "%lld/%lld", (long long)object_number(node, "gpus_used", 0), (long long)gpus);
	else if (s->gpus)
		table_cell(t, " ");
	if (s->speed)
		table_cell(t, "%g", speed_of_node(node));
	if (s->jobs)
		jobs_cell(t, node);
	if (s->features)
		features_cell(t, node);
	if (s->note)
		note_cell(t, node);
}

static bool wanted(const json_t *node, const struct operands *operands)
{
	for (int i = 0; i < operands->n; i++)
		if (strcmp(operands->v[i], object_text(node, "name")) == 0)
			return true;
	return operands->n == 0;
}

static void nodes_print(const json_t *nodes)
{
	int columns = terminal_columns();
	struct shape s = {.bar = columns && columns < NARROW ? BAR_NARROW : BAR_WIDE};
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) shape_see(&s, node);
	struct table *t = shape_table(&s);
	states_color(t);
	json_array_foreach(nodes, i, node) node_row(&s, t, node);
	if (json_array_size(nodes) > 0)
		table_print(t, stdout, 0);
	table_destroy(t);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct client *client;
	struct reply reply;
	const json_t *node;
	int code = EXIT_OK;
	size_t i;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	if (show_get(c, client, "/v1/nodes", &reply, &code)) {
		json_t *chosen = json_array();
		json_array_foreach(json_object_get(reply.json, "nodes"), i, node)
		{
			if (wanted(node, operands))
				json_array_append(chosen, (json_t *)node);
		}
		if (!a->json)
			nodes_print(chosen);
		else if (operands->n == 0)
			show_json(reply.json);
		else
			show_json(chosen);
		if ((int)json_array_size(chosen) < operands->n)
			code = command_fail(c, "not all of these nodes exist ('shunt nodes' lists them)");
		else if (json_array_size(chosen) == 0 && !a->json)
			printf("No nodes yet: 'shunt token create' shows how to add a machine.\n");
		json_decref(chosen);
		reply_fini(&reply);
	}
	client_close(client);
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
		{"shunt nodes", "All nodes, and how full they are."},
		{"shunt nodes offline n3 -m 'new disk'", "No further job starts on n3; running jobs continue."},
		{"shunt nodes drain n3 --at 18:00", "From six on; until then jobs start there that end before."},
		{"shunt nodes online n3", "Jobs start there again."},
		{"shunt nodes set n3 class=big features=fast,ib", "What jobs may ask for: -l nodes=1:fast."},
		{"shunt nodes remove n3", "It is no node of this cluster any more."}),
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
