/*
 * diagnose.c - `diagnose`: Maui's views of the scheduler's internals: priorities, fairshare, nodes,
 * blocked jobs, and objects with their limits.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
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

static double real(const json_t *x, const char *key)
{
	return json_number_value(json_object_get(x, key));
}

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

static void features_cell(struct table *t, const json_t *features)
{
	struct strbuf text = {0};
	const json_t *f;
	size_t i;

	json_array_foreach(features, i, f) strbuf_printf(&text, "[%s]", value_text(f));
	table_cell(t, "%s", text.n ? text.text : "[NONE]");
	strbuf_fini(&text);
}

static void nodes_print(const json_t *answer)
{
	static const char *const columns[] = {"=Name",	">Procs", ">Memory", ">GPUs",	 ">Speed",
					      "=State", ">Load",  ">Jobs",   "~Features"};
	int64_t cpus = 0, used = 0, nodes = 0;
	struct table *t = table_create(columns, 9);
	const json_t *n;
	size_t i;

	printf("diagnosing node table (used:total)\n\n");
	json_array_foreach(json_object_get(answer, "nodes"), i, n)
	{
		char a[40], b[40];
		cpus += object_number(n, "cpus", 0);
		used += object_number(n, "cpus_used", 0);
		nodes++;
		table_cell(t, "%s", object_text(n, "name"));
		table_cell(t, "%" PRId64 ":%" PRId64, object_number(n, "cpus_used", 0), object_number(n, "cpus", 0));
		table_cell(t, "%s:%s", memory_human(object_number(n, "memory_used", 0), a, sizeof a),
			   memory_human(object_number(n, "memory", 0), b, sizeof b));
		table_cell(t, "%" PRId64 ":%" PRId64, object_number(n, "gpus_used", 0), object_number(n, "gpus", 0));
		table_cell(t, "%.2f", real(n, "speed"));
		table_cell(t, "%s", object_text(n, "state"));
		table_cell(t, "%.2f", real(n, "load"));
		table_cell(t, "%zu", json_array_size(json_object_get(n, "jobs")));
		features_cell(t, json_object_get(n, "features"));
	}
	table_print(t, stdout, 0);
	printf("\nTotal Nodes: %" PRId64 "  Procs: %" PRId64 " of %" PRId64 " in use\n", nodes, used, cpus);
	table_destroy(t);
}

/* ---- fairshare ---- */

static void fairshare_print(const json_t *answer)
{
	static const char *const columns[] = {"=FSName", ">Target%", ">Used%", ">ProcHours", ">Standing"};
	struct table *t = table_create(columns, 5);
	const json_t *x;
	size_t i;

	printf("FairShare: %" PRId64 " windows of %" PRId64 " day%s, decay %" PRId64 "%%\n\n",
	       object_number(answer, "depth", 0), object_number(answer, "window", 0),
	       object_number(answer, "window", 0) == 1 ? "" : "s", object_number(answer, "decay", 0));
	json_array_foreach(json_object_get(answer, "shares"), i, x)
	{
		table_cell(t, "%*s%s:%s", 2 * (int)object_number(x, "depth", 0), "", object_text(x, "level"),
			   *object_text(x, "name") ? object_text(x, "name") : "-");
		table_cell(t, "%.2f", real(x, "target"));
		table_cell(t, "%.2f", real(x, "used"));
		table_cell(t, "%.2f", real(x, "cpu_hours"));
		table_cell(t, "%.0f", real(x, "standing"));
	}
	table_print(t, stdout, 0);
	table_destroy(t);
}

/* ---- objects ---- */

/* Adds "max_cpus=64 priority=10". */
static void attributes_cell(struct table *t, const json_t *attributes)
{
	struct strbuf text = {0};
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)attributes, key, value)
	{
		char *raw = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		strbuf_printf(&text, "%s%s=%s", text.n ? " " : "", key, raw ? raw : value_text(value));
		free(raw);
	}
	table_cell(t, "%s", text.n ? text.text : "-");
	strbuf_fini(&text);
}

/* Prints the only list of the answer. */
static void objects_print(const json_t *answer)
{
	static const char *const columns[] = {"=Name", "!Attributes"};
	const json_t *list = NULL, *x;
	struct table *t = table_create(columns, 2);
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach((json_t *)answer, key, value) if (json_is_array(value) && !list) list = value;
	json_array_foreach(list, i, x)
	{
		table_cell(t, "%s", object_text(x, "name"));
		attributes_cell(t, json_object_get(x, "attributes"));
	}
	if (json_array_size(list))
		table_print(t, stdout, 0);
	else
		printf("None are defined.\n");
	table_destroy(t);
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

static int jobs_show(const struct command *c, const struct arguments *a)
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
	else if (l.n)
		table_print(l.table, stdout, 0);
	else
		printf(a->blocked ? "No job is blocked.\n" : "No jobs.\n");
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
	bool any = a->priority && !a->json;

	for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
		if (!views[i].asked)
			continue;
		printf("%s", any && !a->json ? "\n" : "");
		int rc = show_answer(c, views[i].path, a->json, views[i].print);
		code = code ? code : rc;
		any = true;
	}
	if ((a->jobs || a->blocked) && !a->json) {
		int rc = jobs_show(c, a);
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
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
	.own = true,
};
