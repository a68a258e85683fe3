/*
 * priority.c - `shunt priority`: shows the order of waiting jobs and its reasons, also with other
 * weights.
 */
#include <string.h>
#include <time.h>

#include "base/table.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "cmd/lib/when.h"
#include "cmd/sim/priority_past.h"

struct arguments {
	const char *try, *past;
	int64_t limit;
	bool factors, json;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXT, 't', "try", try, "WEIGHTS",
	       "show the places that jobs would have with these weights; nothing is changed; FACTOR=WEIGHT, joined by commas; also low.FACTOR=, high.FACTOR=, and order=sum or product"),
	OPTION(TEXT, 0, "past", past, "TIME|none",
	       "with --try: also replay the jobs that ended since then (30d ago, or a date), as far as you may see them, and compare their waits",
	       .initial = "30d"),
	OPTION(NUMBER, 'n', "limit", limit, "N", "show the first N jobs", .initial = "100", .min = 1, .max = 100000),
	FLAG(0, "factors", factors, "list the factors, their weights and their bounds instead"),
	FLAG(0, "json", json, "print JSON instead of a table"),
	{0},
};

/* Adds a number in its shortest form: 1.5, 12, 0.25. */
static void real_cell(struct table *t, const json_t *v)
{
	char text[40];

	snprintf(text, sizeof text, "%.2f", json_number_value(v));
	for (size_t n = strlen(text); n && (text[n - 1] == '0' || text[n - 1] == '.');) {
		bool point = text[n - 1] == '.';
		text[--n] = '\0';
		if (point)
			break;
	}
	table_cell(t, "%s", text);
}

static void factors_print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"=factor", "name", .make = cell_plain},
		{">weight", "weight", .make = cell_plain},
		{">low", "low", .make = cell_plain},
		{">high", "high", .make = cell_plain},
		{"unit", "unit", .make = cell_plain},
		{"!about", "about", .make = cell_plain},
		{0},
	};

	listing_print(json_object_get(answer, "factors"), columns, NULL);
}

/* Adds how many places a job moves up or down. */
static void tried_cells(struct table *t, const json_t *job)
{
	long long moved = object_number(job, "place", 0) - object_number(job, "tried", 0);

	table_cell(t, "%lld", (long long)object_number(job, "tried", 0));
	if (moved)
		table_cell(t, "%+lld", moved);
	else
		table_cell(t, " ");
}

static void jobs_print(const json_t *answer, bool tried)
{
	const char *columns[32] = {">place", "=job", "user", "~queue", ">priority"};
	const json_t *jobs = json_object_get(answer, "jobs"), *of = json_object_get(json_array_get(jobs, 0), "factors"),
		     *v, *job;
	char heading[20][32], id[64];
	int n = 5, k = 0;
	size_t i, f;

	if (tried) {
		columns[n++] = ">tried";
		columns[n++] = ">moves";
	}
	json_array_foreach(of, i, v)
	{
		snprintf(heading[k], sizeof heading[k], ">%s", object_text(v, "name"));
		columns[n++] = heading[k++];
	}
	struct table *t = table_create(columns, n);
	json_array_foreach(jobs, i, job)
	{
		table_cell(t, "%lld", (long long)object_number(job, "place", 0));
		table_cell(t, "%s", id_short(object_text(job, "id"), id, sizeof id));
		table_cell(t, "%s", object_text(job, "user"));
		table_cell(t, "%s", object_text(job, "queue"));
		real_cell(t, json_object_get(job, "priority"));
		if (tried)
			tried_cells(t, job);
		json_array_foreach(json_object_get(job, "factors"), f, v) real_cell(t, json_object_get(v, "part"));
	}
	table_print(t, stdout, 0);
	table_destroy(t);
}

static void print(const json_t *answer, bool tried)
{
	long long waiting = object_number(answer, "waiting", 0),
		  shown = (long long)json_array_size(json_object_get(answer, "jobs"));

	if (shown == 0)
		printf("No job waits%s.\n", waiting ? " that you may see" : "");
	else
		jobs_print(answer, tried);
	if (shown && shown < waiting)
		printf("%lld of %lld waiting jobs; --limit shows more.\n", shown, waiting);
	if (shown && strcmp(object_text(answer, "order"), "policy") == 0)
		printf("The policy orders the jobs, not these priorities: priority_order is \"policy\".\n");
}

/* Adds past jobs to the answer, to be shown below it. */
static int past_add(const struct command *c, const struct arguments *a, int64_t since, json_t *answer)
{
	json_t *past = NULL;
	int code = since < 0 ? EXIT_OK : priority_past(c, a->try, since, &past);

	if (past)
		json_object_set_new(answer, "past", past);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	int64_t since = -1;
	char limit[24];
	int code = EXIT_OK;

	if (a->try && !a->factors && strcmp(a->past, "none") != 0)
		code = when_parse(c, "past", a->past, (int64_t)time(NULL), &since);
	if (code != EXIT_OK)
		return code;
	snprintf(limit, sizeof limit, "%lld", (long long)a->limit);
	json_t *answer = show_ask(c, api_path("/v1/priority?limit=%s&try=%s", limit, a->try), NULL, &code);
	if (!answer)
		return code;
	code = past_add(c, a, since, answer);
	if (a->json)
		show_json(answer);
	else if (a->factors)
		factors_print(answer);
	else
		print(answer, a->try != NULL);
	if (json_object_get(answer, "past") && !a->json)
		priority_past_print(json_object_get(answer, "past"));
	json_decref(answer);
	return code;
}

const struct command command_priority = {
	.name = "priority",
	.about = "Show which waiting jobs come first, and what their priorities are made of.",
	.details =
		"Each column is what a factor adds to the priority (or, of a product, what it is multiplied with). Factors of weight 0 are left out; --factors lists all. "
		"Managers set weights with qmgr: priority_weight.FACTOR; and priority_order, which says whether jobs are started in this order.",
	.examples = EXAMPLES(
		{"shunt priority", "Waiting jobs in the order of their priorities, and what each factor adds."},
		{"shunt priority --try 'cpus=10, queue_time=2'",
		 "Who would move with these weights, and how long jobs of the last 30 days would have waited."},
		{"qmgr -c 'set server priority_order = sum, priority_weight.cpus = 10'",
		 "As a manager: order jobs by priority, large ones first."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
