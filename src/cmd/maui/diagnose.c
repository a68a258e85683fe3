/*
 * diagnose.c - `diagnose`: Maui's views of the scheduler's internals: priorities, fairshare, nodes,
 * blocked jobs, and objects with their limits.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"

struct arguments {
	bool accounts, classes, fairshare, groups, jobs, nodes, priority, blocked, qos, reservations, partitions, users,
		json;
};

#define PRIORITIES_MOST 10000 /* the most that one answer of the server has */
#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	FLAG('a', "accounts", accounts, "accounts, with their settings"),
	FLAG('c', "classes", classes, "queues, with their limits"),
	FLAG('f', "fairshare", fairshare, "fairshare: targets and use"),
	FLAG('g', "groups", groups, "groups, with their settings"),
	FLAG('j', "jobs", jobs, "running and waiting jobs"),
	FLAG('n', "nodes", nodes, "nodes, with configured and used resources"),
	FLAG('p', "priority", priority, "priorities of waiting jobs, with the contribution of each factor"),
	FLAG('q', "queue", blocked, "blocked jobs, and what blocks them"),
	FLAG('Q', "qos", qos, "qualities of service"),
	FLAG('r', "reservations", reservations, "reservations, with their settings"),
	FLAG('t', "partitions", partitions, "Partitions."),
	FLAG('u', "users", users, "users, with their settings"),
	FLAG(0, "json", json, "print the API's answer instead of a table"),
	{0},
};

/* ---- priorities ---- */

#define FACTORS_MOST 22

struct priorities {
	struct table *table;
	int columns;
	int64_t jobs;
};

/* Prints each factor's contribution with its share of the total, like Maui: 12.0(60.0%). */
static void priority_row(void *context, char *const *cell)
{
	struct priorities *x = context;
	double part[FACTORS_MOST], all = 0;
	char id[64];

	x->jobs++;
	table_cell(x->table, "%s", id_short(cell[0], id, sizeof id));
	table_cell(x->table, "%.1f", strtod(cell[1], NULL));
	for (int i = 0; i < x->columns - 2; i++) {
		part[i] = strtod(cell[i + 2], NULL);
		all += fabs(part[i]);
	}
	for (int i = 0; i < x->columns - 2; i++)
		table_cell(x->table, "%.1f(%.1f%%)", part[i], all > 0 ? 100 * fabs(part[i]) / all : 0);
}

/* Prints priorities. `answer` has the first job, with the names of its factors; the others follow
 * as rows. */
static int priority_print(struct client *client, const json_t *answer, struct err *err)
{
	const char *columns[FACTORS_MOST + 2] = {"=Job", ">PRIORITY"};
	const json_t *of = json_object_get(json_array_get(json_object_get(answer, "jobs"), 0), "factors"), *v;
	char heading[FACTORS_MOST + 2][40], path[64];
	int n = 2, rc;
	size_t i;

	printf("diagnosing job priority information (order: %s)\n\n", object_text(answer, "order"));
	json_array_foreach(of, i, v) if (n < FACTORS_MOST + 2)
	{
		snprintf(heading[n], sizeof heading[n], ">%s", object_text(v, "name"));
		columns[n] = heading[n];
		n++;
	}
	struct table *t = table_create(columns, n);
	struct priorities x = {t, n, 0};
	table_cell(t, "Weights");
	table_cell(t, "-");
	json_array_foreach(of, i, v)
	{
		const json_t *w;
		size_t k;
		json_array_foreach(json_object_get(answer, "factors"), k,
				   w) if (strcmp(object_text(w, "name"), object_text(v, "name")) == 0)
			table_cell(t, "%" PRId64, object_number(w, "weight", 0));
	}
	snprintf(path, sizeof path, "/v1/priority?limit=%d", PRIORITIES_MOST);
	rc = tsv_read(client, path, n, priority_row, &x, err);
	table_print(t, stdout, 0);
	printf("\nIdle Jobs: %" PRId64, object_number(answer, "waiting", 0));
	if (object_number(answer, "waiting", 0) > PRIORITIES_MOST && x.jobs == PRIORITIES_MOST)
		printf(" (the first %d are shown)", PRIORITIES_MOST);
	printf("\n");
	table_destroy(t);
	return rc;
}

static int priority_show(const struct command *c)
{
	struct client *client;
	struct reply reply;
	int code = EXIT_OK;
	struct err err;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	if (show_get(c, client, "/v1/priority?limit=1", &reply, &code)) {
		if (priority_print(client, reply.json, &err) < 0)
			code = command_fail(c, "%s", err.text);
		reply_fini(&reply);
	}
	client_close(client);
	return code;
}

/* ---- nodes ---- */

static void cell_features(const json_t *node, const char *key, struct strbuf *cell)
{
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(node, key), i, f) strbuf_printf(cell, "[%s]", value_text(f));
	strbuf_puts(cell, i ? "" : "[NONE]");
}

/* Writes the used and the configured amount of "cpus" as "2:8"; for "memory" with units. */
static void cell_amounts(const json_t *node, const char *key, struct strbuf *cell)
{
	char used[32];

	snprintf(used, sizeof used, "%s_used", key);
	if (strcmp(key, "memory") == 0) {
		cell_memory(node, used, cell);
		strbuf_char(cell, ':');
		cell_memory(node, key, cell);
	} else {
		strbuf_printf(cell, "%" PRId64 ":%" PRId64, object_number(node, used, 0), object_number(node, key, 0));
	}
}

static void cell_jobs(const json_t *node, const char *key, struct strbuf *cell)
{
	strbuf_int(cell, (int64_t)json_array_size(json_object_get(node, key)));
}

static void nodes_print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"=Name", "name", .make = cell_plain},
		{">Procs", "cpus", .make = cell_amounts},
		{">Memory", "memory", .make = cell_amounts},
		{">GPUs", "gpus", .make = cell_amounts},
		{">Speed", "speed", .format = "%.2f"},
		{"=State", "state", .make = cell_plain},
		{">Load", "load", .format = "%.2f"},
		{">Jobs", "jobs", .make = cell_jobs},
		{"~Features", "features", .make = cell_features},
		{0},
	};
	const json_t *nodes = json_object_get(answer, "nodes"), *n;
	int64_t cpus = 0, used = 0;
	size_t i;

	printf("diagnosing node table (used:total)\n\n");
	json_array_foreach(nodes, i, n)
	{
		cpus += object_number(n, "cpus", 0);
		used += object_number(n, "cpus_used", 0);
	}
	listing_print(nodes, columns, NULL);
	printf("\nTotal Nodes: %zu  Procs: %" PRId64 " of %" PRId64 " in use\n", i, used, cpus);
}

/* ---- fairshare ---- */

static void cell_name(const json_t *share, const char *key, struct strbuf *cell)
{
	const char *name = object_text(share, key);

	strbuf_printf(cell, "%*s%s:%s", 2 * (int)object_number(share, "depth", 0), "", object_text(share, "level"),
		      *name ? name : "-");
}

static void fairshare_print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"=FSName", "name", .make = cell_name},	     {">Target%", "target", .format = "%.2f"},
		{">Used%", "used", .format = "%.2f"},	     {">ProcHours", "cpu_hours", .format = "%.2f"},
		{">Standing", "standing", .format = "%.0f"}, {0},
	};

	printf("FairShare: %" PRId64 " windows of %" PRId64 " day%s, decay %" PRId64 "%%\n\n",
	       object_number(answer, "depth", 0), object_number(answer, "window", 0),
	       object_number(answer, "window", 0) == 1 ? "" : "s", object_number(answer, "decay", 0));
	listing_print(json_object_get(answer, "shares"), columns, NULL);
}

/* ---- objects ---- */

static void cell_attributes(const json_t *object, const char *name, struct strbuf *cell)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(object, name), key, value)
	{
		char *raw = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		strbuf_printf(cell, "%s%s=%s", cell->n ? " " : "", key, raw ? raw : value_text(value));
		free(raw);
	}
	strbuf_puts(cell, cell->n ? "" : "-");
}

static void objects_print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"=Name", "name", .make = cell_plain},
		{"!Attributes", "attributes", .make = cell_attributes},
		{0},
	};
	const json_t *list = NULL;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)answer, key, value) if (json_is_array(value) && !list) list = value;
	listing_print(list, columns, "None are defined.");
}

/* ---- jobs ---- */

/* Each view requests only its own members: with a hundred thousand jobs each costs both sides
 * milliseconds. */
static const char all_columns[] =
	"=Name:short_id State:state_tight >Procs:cpus >WCLimit:limit?00:00:00 User:owner ~Group:group?- "
	"~Account:account?- ~Class:queue?- ~QOS:qos?-";
static const char blocked_columns[] =
	"=Name:short_id State:state_tight >Procs:cpus >WCLimit:limit?00:00:00 User:owner Blocked_by:blocks "
	"!Reason:comment";

struct list {
	struct joblist jobs;
	struct table *table;
	int blocks; /* cell; -1: all jobs are shown */
	size_t n;
};

static void job_row(void *context, char **cell)
{
	struct list *l = context;

	/* the offline view of a stopped server is not filtered */
	if (l->blocks >= 0 && !*cell[l->blocks])
		return;
	l->n++;
	joblist_row(&l->jobs, 0, l->table, cell);
}

/* Shows jobs; `below`: another view is above them. */
static int jobs_show(const struct command *c, const struct arguments *a, bool below)
{
	struct list l = {.jobs = {.row = job_row, .context = &l}};
	struct strbuf path = {0};
	struct client *client;
	int code = EXIT_OK;
	struct err err;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	joblist_add(&l.jobs, a->blocked ? blocked_columns : all_columns);
	l.blocks = a->blocked ? joblist_member(&l.jobs, "blocks") : -1;
	l.table = joblist_table(&l.jobs, 0);
	strbuf_puts(&path, "/v1/jobs?order=schedule&completed=0");
	if (a->blocked)
		query_add(&path, "blocked", "1");
	if (joblist_read(&l.jobs, client, &path, &err) < 0)
		code = command_fail(c, "%s", err.text);
	else
		printf("%s%s", below ? "\n" : "", l.n ? "" : a->blocked ? "No job is blocked.\n" : "No jobs.\n");
	if (code == EXIT_OK && l.n)
		table_print(l.table, stdout, 0);
	client_close(client);
	strbuf_fini(&path);
	table_destroy(l.table);
	joblist_fini(&l.jobs);
	return code;
}

/* ---- choosing the view ---- */

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	const struct {
		bool asked;
		const char *path;
		void (*print)(const json_t *answer);
	} views[] = {
		{a->priority && a->json, "/v1/priority?limit=10000", show_json},
		{a->fairshare, "/v1/fairshare", fairshare_print},
		{a->nodes, "/v1/nodes", nodes_print},
		{a->users, "/v1/users", objects_print},
		{a->groups, "/v1/groups", objects_print},
		{a->accounts, "/v1/accounts", objects_print},
		{a->qos, "/v1/qos", objects_print},
		{a->classes, "/v1/queues", objects_print},
		{a->reservations, "/v1/reservations", objects_print},
		{a->partitions, "/v1/partitions", objects_print},
		{(a->jobs || a->blocked) && a->json, "/v1/jobs?order=schedule&completed=0", show_json},
	};
	int code = a->priority && !a->json ? priority_show(c) : EXIT_OK;
	bool any = a->priority && !a->json, shown = any && code == EXIT_OK;

	for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
		if (!views[i].asked)
			continue;
		int rc;
		json_t *answer = show_ask(c, views[i].path, NULL, &rc);
		if (answer) {
			printf("%s", shown && !a->json ? "\n" : "");
			(a->json ? show_json : views[i].print)(answer);
			shown = true;
		}
		json_decref(answer);
		code = code ? code : rc;
		any = true;
	}
	if ((a->jobs || a->blocked) && !a->json) {
		int rc = jobs_show(c, a, shown);
		code = code ? code : rc;
	} else if (!any) {
		return command_misused(c, "choose what to diagnose: -p, -f, -j, -n, -q, -r, -t, -u, -g, -a, -c or -Q");
	}
	return code;
}

const struct command command_diagnose = {
	.name = "diagnose",
	.about = "Show what the scheduler works with: priorities, fairshare, nodes, blocked jobs, limits.",
	.details =
		"For priorities, each factor is shown with its contribution and share of the total. Several options show several views.",
	.examples = EXAMPLES({"diagnose -p", "Show every factor of the priorities of waiting jobs."},
			     {"diagnose -q", "Show blocked jobs and what blocks each of them."},
			     {"diagnose -u", "Show users with their limits and targets."}),
	OPTIONS(struct arguments, options),
	.run = run,
	.own = true,
};
