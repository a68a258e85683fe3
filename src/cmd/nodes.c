/*
 * nodes.c - `shunt nodes`: the nodes for people, with how full they are.
 */
#include <limits.h>
#include <string.h>

#include "base/table.h"
#include "cmd/commands.h"
#include "cmd/show.h"

#define BAR 20

struct arguments {
	bool json;
};

static const struct option options[] = {
	{"json", OPTION_FLAG, offsetof(struct arguments, json), NULL, NULL, NULL, 0, 0,
	 "Print JSON instead of a table.", 0},
	{0},
};

static const char *const examples[] = {"shunt nodes", "All nodes, and how full they are.", NULL};

/* "####----": so much of it is used. */
static const char *bar(int64_t used, int64_t all, char buf[BAR + 1])
{
	int64_t n = all > 0 ? (used * BAR + all - 1) / all : 0;

	for (int i = 0; i < BAR; i++)
		buf[i] = i < n ? '#' : '-';
	buf[BAR] = '\0';
	return buf;
}

static void node_row(struct table *t, const json_t *node)
{
	int64_t cpus = object_number(node, "cpus", 0), used = object_number(node, "cpus_used", 0);
	const json_t *load = json_object_get(node, "load"), *job;
	struct strbuf jobs = {0};
	const char *last = "";
	char buf[64];
	size_t i;

	table_cell(t, "%s", object_text(node, "name"));
	table_cell(t, "%s", object_text(node, "state"));
	table_cell(t, "%lld/%lld", (long long)used, (long long)cpus);
	table_cell(t, "%s", bar(used, cpus, buf));
	if (json_is_number(load))
		table_cell(t, "%.2f", json_number_value(load));
	else
		table_cell(t, " ");
	table_cell(t, "%s",
		   object_number(node, "memory", 0) > 0
			   ? memory_human(object_number(node, "memory", 0), buf, sizeof buf)
			   : "");
	json_array_foreach(json_object_get(node, "jobs"), i, job)
	{
		const char *id = object_text(job, "id");
		if (strcmp(id, last) != 0) /* several pieces of a job come together */
			strbuf_printf(&jobs, "%s%s", i ? " " : "", id_short(id, buf, sizeof buf));
		last = id;
	}
	table_cell(t, "%s", strbuf_text(&jobs));
	table_cell(t, "%s", object_text(node, "note"));
	strbuf_fini(&jobs);
}

static bool wanted(const json_t *node, const struct operands *operands)
{
	for (int i = 0; i < operands->n; i++)
		if (strcmp(operands->v[i], object_text(node, "name")) == 0)
			return true;
	return operands->n == 0;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	static const char *const columns[] = {"node", "state", ">cpus", "used", ">load", ">memory", "~jobs", "~note"};
	const struct arguments *a = arguments;
	struct client *client;
	struct reply reply;
	const json_t *node;
	int code = EXIT_OK, shown = 0;
	size_t i;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	if (show_get(c, client, "/v1/nodes", &reply, &code)) {
		const json_t *nodes = json_is_array(reply.json) ? reply.json : json_object_get(reply.json, "nodes");
		struct table *t = table_create(columns, 8);
		json_t *chosen = json_array();
		json_array_foreach(nodes, i, node)
		{
			if (!wanted(node, operands))
				continue;
			shown++;
			node_row(t, node);
			json_array_append(chosen, (json_t *)node);
		}
		if (a->json)
			show_json(chosen);
		else if (shown > 0)
			table_print(t, stdout, 0);
		if (shown < operands->n)
			code = command_fail(c, "not all of these nodes exist ('shunt nodes' lists them)");
		json_decref(chosen);
		table_destroy(t);
		reply_fini(&reply);
	}
	client_close(client);
	return code;
}

const struct command command_nodes = {
	.name = "nodes",
	.operands = "[NODE]...",
	.operands_max = INT_MAX,
	.about = "List the nodes and how full they are.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
