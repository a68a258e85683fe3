/*
 * partitions.c - `shunt partitions`: shows the partitions, with running and waiting jobs.
 */

#include "base/hostlist.h"
#include "base/table.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

/* Adds nodes as "n[1-8]". */
static void nodes_cell(struct table *t, const json_t *nodes)
{
	VEC(char *) names = {0};
	struct strbuf text = {0};
	const json_t *v;
	size_t i;

	json_array_foreach(nodes, i, v) vec_push(&names, (char *)value_text(v));
	hostlist_format(names.v, names.n, &text);
	table_cell(t, "%s", strbuf_text(&text));
	strbuf_fini(&text);
	vec_free(&names);
}

static void partition_row(struct table *t, const json_t *p)
{
	int64_t cpus = object_number(p, "cpus", 0), up = object_number(p, "cpus_up", 0);
	char id[64];

	table_cell(t, "%s", object_text(p, "name"));
	table_cell(t, "%s", object_text(p, "state"));
	if (up < cpus)
		table_cell(t, "%lld of %lld", (long long)up, (long long)cpus);
	else
		table_cell(t, "%lld", (long long)cpus);
	table_cell(t, "%s", id_short(object_text(p, "job"), id, sizeof id));
	table_cell(t, "%lld", (long long)object_number(p, "waiting", 0));
	nodes_cell(t, json_object_get(p, "nodes"));
	table_cell(t, "%s", object_text(json_object_get(p, "attributes"), "comment"));
}

static void print(const json_t *answer)
{
	static const char *const columns[] = {"partition", "state", ">cpus", "job", ">waiting", "~nodes", "!comment"};
	const json_t *list = json_object_get(answer, "partitions"), *shared = json_object_get(answer, "shared"), *p;
	struct table *t;
	size_t i;

	if (json_array_size(list) == 0) {
		printf("No partitions: jobs share the nodes. A manager makes one with qmgr -c 'create partition A nodes = n[1-8]'.\n");
		return;
	}
	t = table_create(columns, 7);
	json_array_foreach(list, i, p) partition_row(t, p);
	if (json_array_size(shared)) {
		table_cell(t, "-");
		table_cell(t, "shared");
		for (int k = 0; k < 3; k++)
			table_cell(t, " ");
		nodes_cell(t, shared);
		table_cell(t, " ");
	}
	table_print(t, stdout, 0);
	table_destroy(t);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return show_answer(c, "/v1/partitions", ((const struct show_arguments *)arguments)->json, print);
}

const struct command command_partitions = {
	.name = "partitions",
	.about = "List the partitions, what runs in them, and how many jobs wait.",
	.details =
		"A partition is a set of nodes that a job has as a whole, to itself. Nodes that are in no partition are "
		"shared. Managers define partitions with qmgr.",
	.examples = EXAMPLES(
		{"shunt partitions", "The partitions, what runs in them, and how many jobs wait."},
		{"qmgr -c 'create partition A nodes = n[1-8]'", "As a manager: make a partition of eight nodes."},
		{"shunt submit --partition A job.sh", "Run in it, alone, with all of its processors."}),
	.options = show_options,
	.size = sizeof(struct show_arguments),
	.run = run,
};
