/*
 * partitions.c - `shunt partitions`: shows the partitions, with running and waiting jobs.
 */

#include "base/hostlist.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

/* Writes nodes as "n[1-8]". */
static void cell_nodes(const json_t *p, const char *key, struct strbuf *cell)
{
	VEC(char *) names = {0};
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(p, key), i, v) vec_push(&names, (char *)value_text(v));
	hostlist_format(names.v, names.n, cell);
	vec_free(&names);
}

static void cell_cpus(const json_t *p, const char *key, struct strbuf *cell)
{
	int64_t cpus = object_number(p, key, 0), up = object_number(p, "cpus_up", 0);

	if (up < cpus)
		strbuf_printf(cell, "%lld of ", (long long)up);
	cell_plain(p, key, cell);
}

static void print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"partition", "name", .make = cell_plain},
		{"state", "state", .make = cell_plain},
		{">cpus", "cpus", .make = cell_cpus},
		{"job", "job", .make = cell_id},
		{">waiting", "waiting", .make = cell_plain},
		{"~nodes", "nodes", .make = cell_nodes},
		{"!comment", "attributes.comment", .make = cell_plain},
		{0},
	};
	json_t *list = json_copy(json_object_get(answer, "partitions")), *shared = json_object_get(answer, "shared");

	if (json_array_size(list) && json_array_size(shared))
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:O}", "name", "-", "state", "shared", "nodes", shared));
	listing_print(
		list, columns,
		"No partitions: jobs share the nodes. A manager makes one with qmgr -c 'create partition A nodes = n[1-8]'.");
	json_decref(list);
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
	OPTIONS(struct show_arguments, show_options),
	.run = run,
};
