/*
 * overlay.c - `shunt overlay add`, `list`, `pause`, `resume`, `remove`: borrow nodes from other
 * clusters while jobs wait (docs/overlay.md).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bag/provider.h"
#include "base/text.h"
#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

struct add_arguments {
	const char *name;
	int64_t nodes, seconds, cpus, idle;
};

#define AT(field) offsetof(struct add_arguments, field)
static const struct option add_options[] = {
	OPTION(TEXT, 0, "name", name, "NAME",
	       "what it is called; its nodes are NAME-1, NAME-2 and so on; if not given: as the batch system"),
	OPTION(NUMBER, 0, "max-nodes", nodes, "N", "have at most N nodes at once", .initial = "1", .min = 1,
	       .max = 1000),
	OPTION(SECONDS, 0, "time", seconds, "TIME", "request each allocation for this time", .initial = "1h"),
	OPTION(NUMBER, 0, "cpus", cpus, "N", "CPUs of a node; if not given, of slurm: as many as its smallest node has",
	       .min = 1, .max = 65536),
	OPTION(SECONDS, 0, "idle", idle, "TIME", "release a node that has been idle for this time", .initial = "2m"),
	{0},
};

/* Returns the number of CPUs of the smallest node of the partitions that the user's options name;
 * -1 if sinfo does not report it. */
static int64_t smallest_node(const struct operands *o)
{
	struct strbuf command = {0};
	long long n, least = -1;
	char line[64];

	strbuf_puts(&command, "sinfo --noheader --format=%c");
	for (int i = 1; i < o->n; i++) {
		bool next = strcmp(o->v[i], "-p") == 0 || strcmp(o->v[i], "--partition") == 0;
		if (!next && strncmp(o->v[i], "-p", 2) != 0 && strncmp(o->v[i], "--partition=", 12) != 0)
			continue;
		for (int k = i; k <= i + next && k < o->n; k++) {
			strbuf_puts(&command, " ");
			text_quote(o->v[k], &command);
		}
	}
	strbuf_puts(&command, " 2>/dev/null");
	FILE *f = popen(command.text, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lld", &n) == 1 && n > 0 && (least < 0 || n < least))
			least = n;
	if (f)
		pclose(f);
	strbuf_fini(&command);
	return least;
}

/* Returns "slurm"; "pine" for "shunt:pine", "other" for "shunt:/home/me/other". */
static const char *place_name(const char *place)
{
	const char *colon = strchr(place, ':'), *slash = strrchr(place, '/');

	return slash ? slash + 1 : colon ? colon + 1 : place;
}

static int change(const struct command *c, const char *method, const char *name, json_t *body)
{
	return change_one(c, method, api_path("/v1/overlays/%s", name), body);
}

static int add(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct add_arguments *a = arguments;
	const char *place = o->v[0], *name = a->name ? a->name : place_name(place);
	struct strbuf words = {0};
	char tag[TAG_SIZE];

	if (!provider_known(place) || strncmp(place, "ssh:", 4) == 0 || strcmp(place, "shunt") == 0)
		return command_misused(c, "%s: must be slurm, pbs, or shunt:CLUSTER as 'shunt clusters' lists them",
				       place);
	for (int i = 1; i < o->n; i++)
		strbuf_printf(&words, "%s%s", i > 1 ? " " : "", o->v[i]);
	int64_t cpus = a->cpus > 0 ? a->cpus : strcmp(place, "slurm") == 0 ? smallest_node(o) : -1;
	if (cpus < 1) {
		strbuf_fini(&words);
		return command_misused(
			c, "the CPUs of a node there are not known (only sinfo is asked): give them with --cpus");
	}
	provider_tag(place, false, tag);
	json_t *body = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "place", place, "words", strbuf_text(&words),
				 "tag", tag, "max_nodes", (json_int_t)a->nodes, "time", (json_int_t)a->seconds, "cpus",
				 (json_int_t)cpus, "idle", (json_int_t)a->idle);
	int code = body ? change(c, "PUT", name, body) : EXIT_FAILED;
	if (code == EXIT_OK)
		printf("While jobs wait, up to %lld node%s of %lld CPU%s come%s from %s.\n", (long long)a->nodes,
		       a->nodes == 1 ? "" : "s", (long long)cpus, cpus == 1 ? "" : "s", a->nodes == 1 ? "s" : "",
		       place);
	strbuf_fini(&words);
	return code;
}

const struct command command_overlay_add = {
	.name = "overlay add",
	.operands = "PLACE [-- OPTION...]",
	.operand_kind = OPTION_WORD,
	.operand_words = "slurm pbs shunt:",
	.about = "Borrow nodes from another batch system while jobs wait.",
	.details =
		"PLACE is slurm or pbs, whose commands must be in the server's PATH, or shunt:CLUSTER, a Shunt server that 'shunt clusters' lists. OPTIONs go to sbatch or qsub. Allocations are requested as the user of this server, "
		"in whose name jobs run there. No job is started that would outlast its node's allocation.",
	.examples = EXAMPLES(
		{"shunt overlay add slurm --max-nodes 16 --time 4h -- -p long",
		 "Up to 16 nodes of Slurm's partition long, in allocations of four hours, while jobs wait for them."},
		{"shunt overlay add pbs --name night --cpus 8 --time 8h -- -q night",
		 "One node of 8 CPUs from the queue night of a PBS server."}),
	OPTIONS(struct add_arguments, add_options),
	.run = add,
};

/* Counts the requests that run, for the key "running"; else the others. */
static void cell_requests(const json_t *x, const char *key, struct strbuf *cell)
{
	bool running = strcmp(key, "running") == 0;
	int64_t n = 0;
	json_t *r;
	size_t i;

	json_array_foreach(json_object_get(x, "requests"), i, r) n +=
		(strcmp(object_text(r, "state"), "running") == 0) == running;
	strbuf_int(cell, n);
}

static void cell_from(const json_t *x, const char *key, struct strbuf *cell)
{
	const char *words = object_text(x, "words");

	strbuf_printf(cell, "%s%s%s", object_text(x, key), *words ? " " : "", words);
}

/* Prints why overlays are paused, and what went wrong. */
static void troubles_print(const json_t *all)
{
	json_t *x;
	size_t i;

	json_array_foreach(all, i, x)
	{
		if (*object_text(x, "why"))
			printf("%s is paused: %s\n", object_text(x, "name"), object_text(x, "why"));
		else if (*object_text(x, "trouble"))
			printf("%s: %s\n", object_text(x, "name"), object_text(x, "trouble"));
	}
}

static const struct listing_column overlay_columns[] = {
	{"name", "name", .make = cell_plain},		{"from", "place", .make = cell_from},
	{">nodes", "nodes", .make = cell_plain},	{">max", "max_nodes", .make = cell_plain},
	{">CPUs", "cpus", .make = cell_plain},		{">time", "time", .make = cell_duration},
	{">running", "running", .make = cell_requests}, {">pending", "pending", .make = cell_requests},
	{"state", "state", .make = cell_plain},		{0},
};

static const struct listing overlays = {
	.path = "/v1/overlays",
	.key = "overlays",
	.columns = overlay_columns,
	.none = "No overlays: 'shunt overlay add' makes one.",
	.after = troubles_print,
};

const struct command command_overlay_list = {
	.name = "overlay list",
	.about = "List the overlays, with their nodes and allocations, and what went wrong.",
	OPTIONS(struct show_arguments, show_options),
	.run = listing_run,
	.listing = &overlays,
};

static int pause_run(const struct command *c, const void *arguments, const struct operands *o)
{
	return change(c, "PATCH", o->v[0], json_pack("{s:b}", "paused", true));
}

const struct command command_overlay_pause = {
	.name = "overlay pause",
	.operands = "NAME",
	.about = "Request no more nodes for an overlay; those that are there stay.",
	.run = pause_run,
};

static int resume_run(const struct command *c, const void *arguments, const struct operands *o)
{
	return change(c, "PATCH", o->v[0], json_pack("{s:b}", "paused", false));
}

const struct command command_overlay_resume = {
	.name = "overlay resume",
	.operands = "NAME",
	.about = "Request nodes again for an overlay that is paused, or that waits after a failure.",
	.run = resume_run,
};

struct remove_arguments {
	bool force;
};

static const struct option remove_options[] = {
	OPTION_ROW(FLAG, 0, "force", offsetof(struct remove_arguments, force), NULL,
		   "even while jobs run on its nodes: they go back to the queue"),
	{0},
};

static int remove_run(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct remove_arguments *a = arguments;

	return change(c, "DELETE", o->v[0], json_pack("{s:b}", "force", a->force));
}

const struct command command_overlay_remove = {
	.name = "overlay remove",
	.operands = "NAME",
	.about = "Remove an overlay and cancel its allocations.",
	OPTIONS(struct remove_arguments, remove_options),
	.run = remove_run,
};
