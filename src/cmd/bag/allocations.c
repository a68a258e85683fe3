/*
 * allocations.c - `shunt allocations`: shows what bags and overlays requested from clusters, what
 * they got, and how much of it was wasted.
 *
 * Finished requests are in a bag's journal, and its broker knows the others. The server knows those
 * of overlays.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bag/results.h"
#include "base/table.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "client/client.h"
#include "cmd/bag/bag.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

typedef VEC(json_t *) row_vec; /* owned */

static void add(row_vec *rows, const char *dir, json_t *one)
{
	if (!json_is_object(one))
		return;
	json_object_set_new(one, "bag", json_string(dir));
	vec_push(rows, json_incref(one));
}

/* Orders by creation: a row keeps its place when it ends. */
static int compare(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int64_t first = object_number(x, "submitted", 0), second = object_number(y, "submitted", 0);
	const char *one = object_text(x, "id"), *other = object_text(y, "id");

	if (first != second)
		return first < second ? -1 : 1;
	return strlen(one) != strlen(other) ? (strlen(one) < strlen(other) ? -1 : 1) : strcmp(one, other);
}

static void rows_put(row_vec *rows, json_t *all)
{
	if (rows->n)
		qsort(rows->v, rows->n, sizeof *rows->v, compare);
	for (size_t i = 0; i < rows->n; i++)
		json_array_append_new(all, rows->v[i]);
	vec_free(rows);
}

static int collect(const char *dir, json_t *all, struct err *err)
{
	row_vec rows = {0};
	struct results r;
	struct record record;
	char *answer = NULL;
	struct err none;
	size_t i;
	json_t *x;
	int open = 0; /* runs whose requests were not seen to end */
	int rc = results_open(dir, &r, err);

	if (rc < 0)
		return rc;
	/* Read the journal first: a request that ends meanwhile is then missing rather than listed
	 * twice. */
	json_t *live = broker_ask(dir, "allocations", &answer, &none) == 0 ? json_loads(answer, 0, NULL) : NULL;
	for (size_t at = 0, step; (step = record_next(r.view.bytes + at, r.view.n - at, &record)) > 0; at += step) {
		open += record.kind == RECORD_REQUESTS ? record.last ? -1 : 1 : 0;
		if (record.kind != RECORD_ALLOCATION)
			continue;
		json_t *one = json_loadb(record.out, record.nout, 0, NULL);
		add(&rows, dir, one);
		json_decref(one);
	}
	json_array_foreach(json_object_get(live, "allocations"), i, x) add(&rows, dir, x);
	rows_put(&rows, all);
	if (!live && !r.view.held && open > 0)
		command_warn(
			&command_allocations,
			"%s was interrupted, and its requests may still be there: 'shunt bag cancel %s' cancels them",
			dir, dir);
	json_decref(live);
	free(answer);
	results_close(&r);
	return 0;
}

/* Builds a row in the form of a broker's. */
static json_t *overlay_row(const json_t *o, const json_t *a, int64_t now)
{
	int64_t started = object_number(a, "started", 0), ended = object_number(a, "ended", 0),
		cpus = object_number(a, "nodes", 0) * object_number(o, "cpus", 0);
	double held = started ? (double)((ended ? ended : now) - started) * (double)cpus : 0,
	       used = (double)object_number(a, "used", 0);
	const char *job = object_text(a, "job");

	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:s}", "overlay",
			 object_text(o, "name"), "place", object_text(o, "place"), "id", job, "state",
			 ended	   ? "ended"
			 : started ? "running"
				   : "requested",
			 "cpus", (json_int_t)cpus, "seconds", (json_int_t)object_number(o, "time", 0), "submitted",
			 (json_int_t)object_number(a, "submitted", 0), "started", (json_int_t)started, "ended",
			 (json_int_t)ended, "held_seconds", held, "used_seconds", used, "wasted_seconds",
			 held > used ? held - used : 0.0, "reason", "");
}

/* Adds the overlays' requests; none if no server runs or it does not report any. */
static void overlays(json_t *all)
{
	struct client *client;
	struct reply r = {0};
	struct err err;
	size_t i, k;
	json_t *o, *a;

	if (client_open(&client, &err) < 0)
		return;
	client_patience(client, 0);
	if (client_ask(client, "GET", "/v1/overlays", NULL, 0, &r, &err) == 0)
		json_array_foreach(json_object_get(r.json, "overlays"), i, o)
			json_array_foreach(json_object_get(o, "allocations"), k, a)
				json_array_append_new(all, overlay_row(o, a, (int64_t)time(NULL)));
	reply_fini(&r);
	client_close(client);
}

static const char *text(const json_t *o, const char *name)
{
	const char *value = json_string_value(json_object_get(o, name));

	return value && *value ? value : "-";
}

static const char *span(int64_t seconds, char *buf, size_t size)
{
	return seconds < 0 ? "-" : duration_human(seconds, buf, size);
}

struct sum {
	int64_t requested, granted, running, ended, failed;
	double held, wasted;
};

static void row(struct table *t, const json_t *x, int64_t now, struct sum *sum)
{
	char buf[32];
	int64_t submitted = object_number(x, "submitted", 0), started = object_number(x, "started", 0),
		ended = object_number(x, "ended", 0);
	int64_t until = ended ? ended : now;
	double held = json_number_value(json_object_get(x, "held_seconds"));
	double wasted = json_number_value(json_object_get(x, "wasted_seconds"));
	const char *state = text(x, "state");

	sum->requested++;
	sum->granted += started > 0;
	sum->running += strcmp(state, "running") == 0;
	sum->ended += strcmp(state, "ended") == 0;
	sum->failed += strcmp(state, "failed") == 0;
	sum->held += held;
	sum->wasted += wasted;
	table_cell(t, "%s%s", json_object_get(x, "overlay") ? "overlay " : "",
		   text(x, json_object_get(x, "overlay") ? "overlay" : "bag"));
	table_cell(t, "%s", text(x, "place"));
	table_cell(t, "%s", text(x, "id"));
	table_cell(t, "%s", state);
	table_cell(t, "%" PRId64, object_number(x, "cpus", 0));
	table_cell(t, "%s", span(object_number(x, "seconds", 0), buf, sizeof buf));
	table_cell(t, "%s", span(submitted ? (started ? started : until) - submitted : -1, buf, sizeof buf));
	table_cell(t, "%s", span(started ? until - started : -1, buf, sizeof buf));
	if (held > 0)
		table_cell(t, "%.0f%%", 100 * wasted / held);
	else
		table_cell(t, "-");
	table_cell(t, "%s", text(x, "reason"));
}

static void print(const json_t *all)
{
	static const char *const columns[] = {"~FOR",	"PLACE",   "~ID",  "STATE",   ">CPUS",
					      ">LIMIT", ">WAITED", ">RAN", ">WASTED", "~REASON"};
	struct table *t = table_create(columns, 10);
	struct sum sum = {0};
	const json_t *x;
	size_t i;
	char held[32], wasted[32];

	table_rule(t);
	json_array_foreach(all, i, x) row(t, x, (int64_t)time(NULL), &sum);
	table_print(t, stdout, 0);
	table_destroy(t);
	printf("\n%" PRId64 " requested, %" PRId64 " granted, %" PRId64 " running, %" PRId64 " ended, %" PRId64
	       " failed; %s of CPU time, %s of it wasted\n",
	       sum.requested, sum.granted, sum.running, sum.ended, sum.failed,
	       duration_human((int64_t)sum.held, held, sizeof held),
	       duration_human((int64_t)sum.wasted, wasted, sizeof wasted));
}

static int allocations(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct show_arguments *a = arguments;

	return bags_show(c, operands,
			 &(struct bags_view){.add = collect,
					     .print = print,
					     .json = a->json,
					     .none = "Nothing was requested from a cluster.",
					     .others = overlays});
}

static const struct option options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL, "print JSON"),
	{0},
};
const struct command command_allocations = {
	.name = "allocations",
	.operands = "[BAG...]",
	.operand_kind = OPTION_FILE,
	.about = "Show what bags and overlays requested from clusters, what they got, and what was wasted.",
	.details =
		"BAG is a bag's directory or its file of commands; without one, all bags in the current directory and the overlays of the server are shown. STATE is requested, running, ended or failed. "
		"WAITED is the time from the request to its start, RAN the time since then, and WASTED the part of the CPU time that no task which succeeded has used, or, of an overlay, no job. "
		"A complete bag keeps its last 1000 requests, an overlay its last 100.",
	.examples = EXAMPLES({"shunt allocations tasks.txt",
			      "What 'shunt bag run tasks.txt --on slurm' has requested, and what it got."},
			     {"shunt allocations --json",
			      "The requests of all bags in the current directory and of overlays, for programs."}),
	OPTIONS(struct show_arguments, options),
	.run = allocations,
	.alone = true,
};
