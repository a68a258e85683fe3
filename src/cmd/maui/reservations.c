/*
 * reservations.c - `shunt reservations` and Maui's showres: show nodes that only some jobs may use
 * for a time.
 */
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

/* Adds "n[1-8] matlab=3" or "n[1-8] per node: ncpus=2 mem=4gb". */
static void cell_nodes(const json_t *x, const char *key, struct strbuf *cell)
{
	const json_t *attributes = json_object_get(x, key);
	const char *list = object_text(attributes, "nodes"), *name;
	name_list names = {0};
	json_t *amount;

	if (!*list)
		;
	else if (strcasecmp(list, "all") == 0 || hostlist_parse(list, &names, NULL) < 0)
		strbuf_puts(cell, list);
	else
		hostlist_format(names.v, names.n, cell);
	json_object_foreach((json_t *)attributes, name, amount)
	{
		if (strncmp(name, "amounts.", 8) == 0)
			strbuf_printf(cell, "%s%s=%s", cell->n ? " " : "", name + 8, value_text(amount));
	}
	json_object_foreach((json_t *)attributes, name, amount)
	{
		if (strncmp(name, "per_node.", 9) == 0)
			strbuf_printf(cell, "%s %s=%s",
				      strstr(strbuf_text(cell), "per node:") ? "" : " per node:", name + 9,
				      value_text(amount));
	}
	name_list_free(&names);
}

/* Writes "user ann,bob; group staff". */
static void cell_access(const json_t *x, const char *key, struct strbuf *out)
{
	static const char *const lists[][2] = {{"acl_users", "user"},	    {"acl_groups", "group"},
					       {"acl_accounts", "account"}, {"acl_queues", "queue"},
					       {"acl_qos", "qos"},	    {"acl_jobs", "job"}};
	const json_t *attributes = json_object_get(x, key);

	if (json_is_true(json_object_get(attributes, "maintenance"))) {
		strbuf_puts(out, "maintenance");
		return;
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (json_object_get(attributes, lists[i][0]))
			strbuf_printf(out, "%s%s %s", out->n ? "; " : "", lists[i][1],
				      object_text(attributes, lists[i][0]));
	if (!out->n)
		strbuf_puts(out, "nobody");
}

static const struct listing_column reservation_columns[] = {
	{"reservation", "name", .make = cell_plain},
	{"state", "state", .make = cell_plain},
	{"begins", "begins", .make = cell_near},
	{"ends", "ends", .make = cell_near},
	{"~weekly", "attributes.hours", .make = cell_plain},
	{"~nodes", "attributes", .make = cell_nodes},
	{"~for", "attributes", .make = cell_access},
	{"!comment", "attributes.comment", .make = cell_plain},
	{0},
};

static const struct listing reservations = {
	.path = "/v1/reservations",
	.key = "reservations",
	.columns = reservation_columns,
	.none = "No reservations. A manager creates one with 'shunt reservations add NAME --nodes n[1-4] --start TIME --duration 4h --users ann'.",
};

const struct command command_reservations = {
	.name = "reservations",
	.about = "List reservations: nodes set aside for certain jobs at certain times.",
	.details =
		"Jobs that a reservation admits may run inside it or elsewhere. Other jobs neither start in it nor are still running when it begins.",
	.examples = EXAMPLES({"shunt reservations", "List the reservations with their next times, nodes and users."},
			     {"shunt reservations add course --nodes n[1-4] --hours 'Mon 08:00-12:00' --groups course",
			      "As a manager, reserve four nodes for a course every Monday morning."},
			     {"shunt submit --reservation course job.sh", "Run only inside the reservation."}),
	OPTIONS(struct show_arguments, show_options),
	.run = listing_run,
	.listing = &reservations,
};

/* ---- showres ---- */

struct showres_arguments {
	bool nodes, json;
};

static const struct option showres_options[] = {
	OPTION_ROW(FLAG, 'n', "nodes", offsetof(struct showres_arguments, nodes), NULL,
		   "print a line for each node of each reservation"),
	OPTION_ROW(FLAG, 0, "json", offsetof(struct showres_arguments, json), NULL, "print JSON instead of a table"),
	{0},
};

/* Returns the number of nodes; calls `each` with their names. */
static size_t nodes_each(const char *list, void (*each)(void *context, const char *node), void *context)
{
	name_list names = {0};
	size_t n = 0;

	if (*list && hostlist_parse(list, &names, NULL) == 0)
		for (n = 0; n < names.n && each; n++)
			each(context, names.v[n]);
	n = names.n;
	name_list_free(&names);
	return n;
}

struct line {
	struct table *t;
	const json_t *x;
	int64_t now;
};

/* Formats an offset like Maui: "-1:00:00" if it has begun. */
static const char *offset_text(int64_t seconds, char *buf, size_t size)
{
	char d[32];

	duration_format(seconds < 0 ? -seconds : seconds, d, sizeof d);
	snprintf(buf, size, "%s%s", seconds < 0 ? "-" : "", d);
	return buf;
}

static void times_cells(const struct line *l, bool end)
{
	int64_t begins = object_number(l->x, "begins", -1), ends = object_number(l->x, "ends", -1);
	char text[48];

	if (begins < 0) {
		for (int i = 0; i < 2 + end; i++)
			table_cell(l->t, "-");
		return;
	}
	table_cell(l->t, "%s", offset_text(begins - l->now, text, sizeof text));
	if (end)
		table_cell(l->t, "%s", ends < 0 ? "INFINITY" : offset_text(ends - l->now, text, sizeof text));
	table_cell(l->t, "%s", ends < 0 ? "INFINITY" : duration_format(ends - begins, text, sizeof text));
}

static void node_line(void *context, const char *node)
{
	const struct line *l = context;
	char text[40];
	int64_t begins = object_number(l->x, "begins", -1);

	table_cell(l->t, "%s", node);
	table_cell(l->t, "User");
	table_cell(l->t, "%s", object_text(l->x, "name"));
	table_cell(l->t, "%s", strcmp(object_text(l->x, "state"), "active") == 0 ? "R" : "I");
	times_cells(l, false);
	table_cell(l->t, "%s", begins < 0 ? "-" : instant_ctime(begins, text, sizeof text));
}

static void showres_print(const json_t *list, bool nodes)
{
	static const char *const columns[] = {"ReservationID", "Type",	    "S",  ">Start",
					      ">End",	       ">Duration", ">N", "StartTime"},
				 *const of_node[] = {"NodeName", "Type",      "ReservationID", "S",
						     ">Start",	 ">Duration", "StartTime"};
	struct line l = {.t = nodes ? table_create(of_node, 7) : table_create(columns, 8), .now = (int64_t)time(NULL)};
	char text[40];
	size_t i, n;

	json_array_foreach(list, i, l.x)
	{
		const char *names = object_text(json_object_get(l.x, "attributes"), "nodes");
		int64_t begins = object_number(l.x, "begins", -1);
		if (nodes) {
			nodes_each(names, node_line, &l);
			continue;
		}
		n = nodes_each(names, NULL, NULL);
		table_cell(l.t, "%s", object_text(l.x, "name"));
		table_cell(l.t, "User");
		table_cell(l.t, "%s", strcmp(object_text(l.x, "state"), "active") == 0 ? "R" : "I");
		times_cells(&l, true);
		if (strcasecmp(names, "all") == 0)
			table_cell(l.t, "ALL");
		else
			table_cell(l.t, "%zu", n);
		table_cell(l.t, "%s", begins < 0 ? "-" : instant_ctime(begins, text, sizeof text));
	}
	table_print(l.t, stdout, 0);
	table_destroy(l.t);
	printf("\n%zu reservation%s located\n", json_array_size(list), json_array_size(list) == 1 ? "" : "s");
}

static int showres(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct showres_arguments *a = arguments;
	json_t *kept = json_array(), *x;
	int code;
	size_t i;
	json_t *answer = show_ask(c, "/v1/reservations", NULL, &code);

	json_array_foreach(json_object_get(answer, "reservations"), i, x)
	{
		bool named = operands->n == 0;
		for (int k = 0; k < operands->n; k++)
			named |= strcmp(operands->v[k], object_text(x, "name")) == 0;
		if (named)
			json_array_append(kept, x);
	}
	if (answer && operands->n && json_array_size(kept) == 0)
		code = command_fail(c, "unknown reservation %s", operands->v[0]);
	else if (answer && a->json)
		show_json(kept);
	else if (answer)
		showres_print(kept, a->nodes);
	json_decref(kept);
	json_decref(answer);
	return code;
}

const struct command command_showres = {
	.name = "showres",
	.operands = "[RESERVATION...]",
	.about = "List reservations as Maui does.",
	.details =
		"The columns are Maui's: S is R for a reservation that is active now, else I; Start and End are relative to now, and N is the number of nodes. A weekly reservation is shown with its current or next "
		"window. 'shunt plan' shows the planned places of waiting jobs.",
	.examples = EXAMPLES({"showres", "All reservations."}, {"showres -n", "The nodes of all reservations."},
			     {"showres course", "One of them."}),
	OPTIONS(struct showres_arguments, showres_options),
	.run = showres,
	.own = true,
};
