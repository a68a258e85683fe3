/*
 * report.c - `shunt report`: shows what a job requested and used, what to request next time, and
 * how that would have worked for similar jobs.
 */
#include <string.h>
#include <time.h>

#include "base/outcome.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "core/advice.h"

#define ROWS_MOST 100000 /* elements, or similar jobs, that are read */
#define LIKE_DAYS 365
#define PIPE_WIDTH 80
#define BUCKETS 8

typedef VEC(struct advice_run) run_list;

/* A job, or an array. */
struct report {
	json_t *first;	/* its first row */
	int64_t read;	/* rows read by a query */
	int64_t rows;	/* includes elements that never started */
	json_t *states; /* number of rows by final state */
	run_list runs;
	struct advice advice;
	int64_t lost_ms;      /* work of all its attempts not covered by a checkpoint */
	int64_t like, failed; /* similar jobs, and those that the advice would have killed */
};

/* ---- reading ---- */

static struct advice_run run_of(const json_t *row)
{
	const char *state = object_text(row, "state");

	return (struct advice_run){.ran_ms = object_number(row, "ran_ms", 0),
				   .cpu_ms = object_number(row, "cpu_ms", 0),
				   .peak_kib = object_number(row, "peak_kib", 0),
				   .nodes = object_number(row, "nodes", 1),
				   .cpus = object_number(row, "cpus", 1),
				   .memory_kib = object_number(row, "memory_kib", 0),
				   .walltime = object_number(row, "walltime", 0),
				   .out_of_time = strcmp(state, "walltime") == 0,
				   .out_of_memory = strcmp(state, "memory") == 0};
}

static bool own_add(void *context, json_t *row)
{
	struct report *r = context;
	const char *state = object_text(row, "state");

	r->lost_ms += object_number(row, "lost_ms", 0);
	if (!json_is_true(object_value(row, "last")))
		return true;
	if (!r->first)
		r->first = json_incref(row);
	r->rows++;
	json_object_set_new(r->states, state, json_integer(object_number(r->states, state, 0) + 1));
	if (object_number(row, "started", 0) > 0)
		vec_push(&r->runs, run_of(row));
	return ++r->read < ROWS_MOST;
}

static bool like_add(void *context, json_t *row)
{
	struct report *r = context;
	const char *id = object_text(row, "id"), *own = object_text(r->first, "id");
	size_t n = strcspn(own, "[.");
	struct advice_run run = run_of(row);

	if (object_number(row, "started", 0) > 0 && (strncmp(id, own, n) != 0 || strcspn(id, "[.") != n)) {
		r->like++;
		r->failed += advice_fails(&r->advice, &run);
	}
	return ++r->read < ROWS_MOST;
}

/* Reads jobs of the same user and name in the last year. Returns the exit code. */
static int like_read(const struct command *c, struct client *client, struct report *r)
{
	const char *name = object_text(r->first, "name");
	char since[32];

	if (!*name || name[strlen(name) - 1] == '*') /* it would match other names */
		return EXIT_OK;
	snprintf(since, sizeof since, "%lld", (long long)time(NULL) - LIKE_DAYS * 86400LL);
	r->read = 0;
	return show_history(
		c, client,
		api_path("/v1/history?user=%s&name=%s&since=%s", object_text(r->first, "owner"), name, since), like_add,
		r);
}

/* ---- how elements differ ---- */

struct spread {
	int64_t from, step; /* lower end of the first bucket, width of each */
	int64_t n[BUCKETS];
	int buckets;
};

static int64_t value_of(const struct advice_run *run, bool memory)
{
	return memory ? run->peak_kib : run->ran_ms;
}

static struct spread spread_of(const run_list *runs, bool memory)
{
	int64_t least = INT64_MAX, most = 0;
	struct spread s = {0};

	for (size_t i = 0; i < runs->n; i++) {
		int64_t x = value_of(&runs->v[i], memory);
		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	s.from = least;
	s.step = (most - least) / BUCKETS + 1;
	if (s.step < most / 20) /* finer steps than a twentieth are useless for planning */
		s.step = most / 20;
	s.buckets = (int)((most - least) / s.step) + 1;
	for (size_t i = 0; i < runs->n; i++)
		s.n[(value_of(&runs->v[i], memory) - least) / s.step]++;
	return s;
}

static const char *value_text_of(int64_t x, bool memory, char *buf, size_t size)
{
	if (memory)
		return memory_human(x, buf, size);
	if (x < 10000)
		snprintf(buf, size, "%.1fs", (double)x / 1000);
	else
		duration_human(x / 1000, buf, size);
	return buf;
}

/* Prints "from 12m       |########          | 34". */
static void spread_print(const char *title, const struct spread *s, bool memory, int width)
{
	int64_t most = 0;
	char from[40];

	for (int i = 0; i < s->buckets; i++)
		most = s->n[i] > most ? s->n[i] : most;
	printf("\n%s\n", title);
	for (int i = 0; i < s->buckets; i++) {
		int room = width - 12 - 3 - 8, bar = (int)((double)s->n[i] / (double)most * room + 0.5);
		printf("%12s |", value_text_of(s->from + i * s->step, memory, from, sizeof from));
		for (int k = 0; k < (s->n[i] && bar == 0 ? 1 : bar); k++)
			putchar('#');
		printf("%s%lld\n", s->n[i] ? " " : "", (long long)s->n[i]);
	}
}

/* ---- printing ---- */

static const char *title_of(const struct report *r, char *buf, size_t size)
{
	const char *id = object_text(r->first, "id");

	if (r->rows > 1)
		snprintf(buf, size, "%.*s[]", (int)strcspn(id, "[."), id);
	else
		id_short(id, buf, size);
	return buf;
}

static void head_print(const struct report *r)
{
	struct strbuf text = {0};
	char id[64], when[40], how[64];
	const char *state;
	json_t *n;

	strbuf_printf(&text, "Job %s (%s) of %s", title_of(r, id, sizeof id), object_text(r->first, "name"),
		      object_text(r->first, "owner"));
	if (r->rows == 1) {
		instant_format(object_number(r->first, "ended", 0), when, sizeof when);
		when[16] = '\0'; /* no seconds */
		int64_t status = object_number(r->first, "exit_status", 0);
		state = object_text(r->first, "state");
		/* in Slurm also jobs that ended with 0 may have failed */
		strbuf_printf(
			&text, " ended %s: %s.", when,
			outcome_text(status, status && strcmp(state, "failed") == 0 ? "" : state, how, sizeof how));
	} else {
		const char *between = ", elements:";
		json_object_foreach(r->states, state, n)
		{
			strbuf_printf(&text, "%s %lld %s", between, (long long)json_integer_value(n),
				      outcome_text(0, state, how, sizeof how));
			between = ",";
		}
		strbuf_puts(&text, ".");
	}
	print_wrapped(stdout, text.text, 0, 0);
	putchar('\n');
	strbuf_fini(&text);
}

static void backtest_print(const struct report *r)
{
	struct strbuf text = {0};

	if (!r->advice.memory_kib && !r->advice.walltime)
		return;
	if (r->like == 0)
		strbuf_puts(&text,
			    "The history has no other job of that user and name from the last year to test this with.");
	else
		strbuf_printf(
			&text,
			"Tested with the history: this would have failed %.*f%% (%lld) of the %lld similar job%s, those of the same "
			"user and name in the last year.",
			r->failed && r->failed * 100 < r->like ? 1 : 0, 100.0 * (double)r->failed / (double)r->like,
			(long long)r->failed, (long long)r->like, r->like == 1 ? "" : "s");
	print_wrapped(stdout, text.text, 0, 0);
	strbuf_fini(&text);
}

static void lost_print(const struct report *r)
{
	char lost[40];

	if (r->lost_ms >= 1000)
		printf("\n%s of work were lost when attempts were stopped: no checkpoint covered them.\n",
		       duration_human(r->lost_ms / 1000, lost, sizeof lost));
}

static void report_print(const struct report *r)
{
	int width = terminal_columns();
	struct strbuf text = {0};

	width = width ? width : PIPE_WIDTH;
	head_print(r);
	if (r->runs.n == 0) {
		printf("It never started, so that there is nothing to compare.\n");
		return;
	}
	advice_compare(r->runs.v, r->runs.n, &text);
	fputs(text.text, stdout);
	lost_print(r);
	if (r->rows > 1) {
		struct spread time = spread_of(&r->runs, false), memory = spread_of(&r->runs, true);
		spread_print("run time of the elements, from", &time, false, width);
		spread_print("memory of the elements, from", &memory, true, width);
	}
	putchar('\n');
	strbuf_clear(&text);
	advice_text(&r->advice, r->runs.v, r->runs.n, &text);
	print_wrapped(stdout, text.text, 0, 0);
	backtest_print(r);
	strbuf_fini(&text);
}

static json_t *spread_json(const struct report *r, bool memory)
{
	struct spread s = spread_of(&r->runs, memory);
	json_t *list = json_array();

	for (int i = 0; i < s.buckets; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "from", (json_int_t)(s.from + i * s.step),
						      "below", (json_int_t)(s.from + (i + 1) * s.step), "elements",
						      (json_int_t)s.n[i]));
	return list;
}

static json_t *amount_json(int64_t n)
{
	return n ? json_integer(n) : json_null();
}

static json_t *report_json(const struct report *r)
{
	const struct advice *a = &r->advice;
	struct strbuf request = {0};
	char id[64];
	json_t *runs = json_array(), *all;

	for (size_t i = 0; i < r->runs.n && r->rows == 1; i++)
		json_array_append_new(runs, json_pack("{s:I, s:I, s:I}", "ran_ms", (json_int_t)r->runs.v[i].ran_ms,
						      "cpu_ms", (json_int_t)r->runs.v[i].cpu_ms, "peak_kib",
						      (json_int_t)r->runs.v[i].peak_kib));
	advice_request(a, &request);
	all = json_pack("{s:s, s:s, s:s, s:I, s:O, s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:s}, s:{s:I, s:I}}", "id",
			title_of(r, id, sizeof id), "name", object_text(r->first, "name"), "owner",
			object_text(r->first, "owner"), "jobs", (json_int_t)r->rows, "states", r->states, "requested",
			"cpus", json_integer(object_number(r->first, "cpus", 0)), "memory_kib",
			amount_json(object_number(r->first, "memory_kib", 0)), "walltime",
			amount_json(object_number(r->first, "walltime", 0)), "advice", "cpus", amount_json(a->cpus),
			"memory_kib", amount_json(a->memory_kib), "walltime", amount_json(a->walltime), "request",
			strbuf_text(&request), "tested", "jobs", (json_int_t)r->like, "failed", (json_int_t)r->failed);
	json_object_set_new(all, "lost_ms", json_integer(r->lost_ms));
	if (r->rows == 1)
		json_object_set(all, "used", r->runs.n ? json_array_get(runs, 0) : json_null());
	if (r->rows > 1 && r->runs.n) {
		json_object_set_new(all, "run_times", spread_json(r, false));
		json_object_set_new(all, "memory", spread_json(r, true));
	}
	json_decref(runs);
	strbuf_fini(&request);
	return all;
}

/* ---- a job ---- */

/* Explains why the history does not have the job: it waits, runs, or does not exist. */
static int not_ended(const struct command *c, struct client *client, const char *id)
{
	struct reply reply;
	int code = EXIT_FAILED;

	if (show_get(c, client, api_path("/v1/jobs/%s", id), &reply, &code)) {
		code = command_fail(c, "job %s has not ended; 'shunt job %s' shows how far it is", id, id);
		reply_fini(&reply);
	}
	return code;
}

static int job_report(const struct command *c, struct client *client, const void *arguments, const char *id, bool first)
{
	const struct show_arguments *a = arguments;
	struct report r = {.states = json_object()};
	int code = show_history(c, client, api_path("/v1/history?id=%s&attempts=1", id), own_add, &r);

	if (code == EXIT_OK && r.rows == 0)
		code = not_ended(c, client, id);
	if (code == EXIT_OK && r.runs.n > 0) {
		r.advice = advice_make(r.runs.v, r.runs.n);
		code = like_read(c, client, &r);
	}
	if (code == EXIT_OK && a->json) {
		json_t *all = report_json(&r);
		show_json(all);
		json_decref(all);
	} else if (code == EXIT_OK) {
		printf("%s", first ? "" : "\n");
		report_print(&r);
	}
	json_decref(r.first);
	json_decref(r.states);
	vec_free(&r.runs);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return show_each(c, arguments, operands, job_report);
}

const struct command command_report = {
	.name = "report",
	.operands = "JOB...",
	.about = "Compare what a job requested and used, and say what to request next time.",
	.details =
		"Memory and walltime: a fifth more than the job used at most, rounded up; twice the limit if the job was ended at it. CPUs: as many as "
		"were busy on average. Of an array, the element that used most counts, and the elements' run times and memory are shown. The advice is "
		"tested with the history: how many jobs of the same user and name would have been ended at these limits.",
	.examples = EXAMPLES({"shunt report 12", "What job 12 used, and what to request next time."},
			     {"shunt report '14[]'", "The same of an array, with how its elements differ."}),
	OPTIONS(struct show_arguments, show_options),
	.run = run,
};
