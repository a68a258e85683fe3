/*
 * bag_show.c - `shunt bag status`, `results`, `cancel` and `top`: show the state of a bag, from its
 * directory or its broker.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag/results.h"
#include "base/table.h"
#include "base/text.h"
#include "base/timetext.h"
#include "cmd/bag/bag.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/screen.h"
#include "cmd/lib/show.h"

/* Asks the broker of a bag; returns NULL if none runs. */
static json_t *ask(const char *dir, const char *word)
{
	struct err err;
	char *answer = NULL;
	json_t *found = NULL;

	if (broker_ask(dir, word, &answer, &err) == 0)
		found = json_loads(answer, 0, NULL);
	free(answer);
	return found;
}

/* Adds one bag as JSON: the broker's answer, or the state of its directory. */
static int status_add(const char *dir, json_t *all, struct err *err)
{
	struct results r;
	json_t *live = ask(dir, "status");
	int rc = live ? 0 : results_open(dir, &r, err);

	if (rc < 0)
		return rc;
	if (live) {
		json_object_set_new(live, "state", json_string("running"));
	} else {
		uint32_t tasks = r.fold.tasks, rest = tasks - r.done - r.aside;
		const char *state = r.view.held	       ? "running"
				    : r.fold.cancelled ? "cancelled"
				    : rest	       ? (r.fold.began ? "interrupted" : "new")
						       : "complete";
		live = json_pack("{s:I, s:I, s:i, s:I, s:I, s:s}", "tasks", (json_int_t)tasks, "waiting",
				 (json_int_t)rest, "running", 0, "done", (json_int_t)r.done, "failed",
				 (json_int_t)r.aside, "state", state);
		results_close(&r);
	}
	json_object_set_new(live, "bag", json_string(dir));
	json_array_append_new(all, live);
	return 0;
}

static void status_print(const json_t *all)
{
	static const char *const columns[] = {"~BAG",	  ">TASKS",   ">DONE", ">FAILED",
					      ">RUNNING", ">WAITING", "STATE", ">LEFT"};
	struct table *t = table_create(columns, 8);
	const json_t *b;
	size_t i;
	char left[32];

	table_rule(t);
	json_array_foreach(all, i, b)
	{
		int64_t seconds = object_number(b, "left", -1);
		table_cell(t, "%s", object_text(b, "bag"));
		table_cell(t, "%" PRId64, object_number(b, "tasks", 0));
		table_cell(t, "%" PRId64, object_number(b, "done", 0));
		table_cell(t, "%" PRId64, object_number(b, "failed", 0));
		table_cell(t, "%" PRId64, object_number(b, "running", 0));
		table_cell(t, "%" PRId64, object_number(b, "waiting", 0));
		table_cell(t, "%s", object_text(b, "state"));
		table_cell(t, "%s", seconds >= 0 ? duration_human(seconds, left, sizeof left) : "-");
	}
	table_print(t, stdout, 0);
	table_destroy(t);
}

static int status(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct show_arguments *a = arguments;

	return bags_show(c, operands,
			 &(struct bags_view){.add = status_add,
					     .print = status_print,
					     .json = a->json,
					     .none = "No bags in this directory."});
}

static const struct option status_options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL, "print JSON"),
	{0},
};
const struct command command_bag_status = {
	.name = "bag status",
	.operands = "[BAG...]",
	.operand_kind = OPTION_FILE,
	.about = "Show how far bags are.",
	.details =
		"BAG is a bag's directory or its file of commands; without one, all bags in the current directory are shown. STATE is running, interrupted (run it again to continue), cancelled or complete.",
	.examples = EXAMPLES({"shunt bag status", "All bags in the current directory."}),
	OPTIONS(struct show_arguments, status_options),
	.run = status,
	.alone = true,
};

struct results_arguments {
	bool failed, output, json;
	const char *files;
	int64_t task;
};

static int file_write(const char *dir, uint64_t task, const char *suffix, const char *bytes, size_t n, struct err *err)
{
	struct strbuf path = {0};
	int rc = 0;

	strbuf_printf(&path, "%s/%" PRIu64 ".%s", dir, task, suffix);
	FILE *f = fopen(path.text, "we");
	if (!f || fwrite(bytes, 1, n, f) != n || fflush(f) != 0)
		rc = err_set(err, -errno, "%s: %s", path.text, strerror(errno));
	if (f)
		fclose(f);
	strbuf_fini(&path);
	return rc;
}

static void print_json(const struct results *r, const struct record *x)
{
	const struct bag_task *t = &r->bag.tasks.v[x->task - 1];
	json_t *o = json_object();
	struct strbuf out = {0}, err = {0};

	/* JSON cannot hold arbitrary bytes. */
	text_clean(&out, x->out, x->nout, TEXT_LINES);
	text_clean(&err, x->err, x->nerr, TEXT_LINES);
	json_object_set_new(o, "task", json_integer((json_int_t)x->task));
	json_object_set_new(o, "command", json_stringn(r->bag.text + t->at, t->n));
	json_object_set_new(o, "state", json_string(x->kind == RECORD_DONE ? "done" : "failed"));
	json_object_set_new(o, "exit",
			    json_integer(x->status < 0		? -1
					 : WIFEXITED(x->status) ? WEXITSTATUS(x->status)
								: 128 + WTERMSIG(x->status)));
	json_object_set_new(o, "attempt", json_integer((json_int_t)x->attempt));
	json_object_set_new(o, "seconds", json_real((double)x->took / 1e6));
	json_object_set_new(o, "worker", json_stringn(x->worker, x->nworker));
	if (x->cut)
		json_object_set_new(o, "cut", json_true());
	json_object_set_new(o, "output", json_string(strbuf_text(&out)));
	json_object_set_new(o, "error", json_string(strbuf_text(&err)));
	char *text = json_dumps(o, JSON_COMPACT);
	printf("%s\n", text ? text : "{}");
	free(text);
	json_decref(o);
	strbuf_fini(&out);
	strbuf_fini(&err);
}

static void print_row(const struct results *r, const struct record *x)
{
	const struct bag_task *t = &r->bag.tasks.v[x->task - 1];
	char status[80] = "done";

	if (x->kind == RECORD_FAILED)
		bag_status_text(x->status, status, sizeof status);
	printf("%" PRIu64 "\t%s\t%.3f\t%" PRIu32 "\t%.*s\t%.*s\n", x->task, status, (double)x->took / 1e6, x->attempt,
	       (int)x->nworker, x->worker, (int)t->n, r->bag.text + t->at);
}

/* Prints or writes one result. What it does not have is reported on standard error. */
static int print_one(const struct command *c, const struct results_arguments *a, const struct results *r,
		     const struct record *x, struct err *err)
{
	int rc = 0;

	if (x->cut && !a->json)
		command_warn(c, "task %" PRIu64 ": its output was cut by the --output-limit of its run", x->task);
	if (a->files) {
		rc = file_write(a->files, x->task, "out", x->out, x->nout, err);
		if (rc == 0 && x->nerr)
			rc = file_write(a->files, x->task, "err", x->err, x->nerr, err);
	} else if (a->output) {
		screen_raw(stdout, x->out, x->nout);
	} else if (a->json) {
		print_json(r, x);
	} else {
		print_row(r, x);
		if (a->failed && x->nerr) {
			fwrite(x->err, 1, x->nerr, stdout);
			if (x->err[x->nerr - 1] != '\n')
				putchar('\n');
		}
	}
	return rc;
}

static int results(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct results_arguments *a = arguments;
	struct strbuf dir = {0};
	struct results r;
	struct record x;
	struct err err;

	bag_dir(operands->v[0], &dir);
	int rc = results_open(dir.text, &r, &err);
	strbuf_fini(&dir);
	if (rc < 0)
		return command_fail(c, "%s", err.text);
	if (a->files && mkdir(a->files, 0777) < 0 && errno != EEXIST)
		rc = err_set(&err, -errno, "%s: %s", a->files, strerror(errno));
	for (uint32_t task = 1; rc == 0 && task <= r.fold.tasks; task++)
		if ((a->task < 0 || task == a->task) && results_get(&r, task, &x) &&
		    (!a->failed || x.kind == RECORD_FAILED) &&
		    (a->failed || a->task >= 0 || !a->output || x.kind == RECORD_DONE))
			rc = print_one(c, a, &r, &x, &err);
	bool missing = a->task >= 0 && !results_get(&r, (uint32_t)a->task, &x);
	uint32_t tasks = r.fold.tasks;
	results_close(&r);
	if (rc < 0)
		return command_fail(c, "%s", err.text);
	if (missing && a->task > tasks)
		return command_fail(c, "there is no task %" PRId64 ": the bag has %" PRIu32, a->task, tasks);
	if (missing)
		return command_fail(c, "task %" PRId64 " is not finished", a->task);
	return EXIT_OK;
}

#define AT(field) offsetof(struct results_arguments, field)
static const struct option results_options[] = {
	FLAG(0, "failed", failed, "only tasks that failed, with their error output"),
	FLAG('o', "output", output, "print the outputs of tasks that succeeded, in the order of tasks"),
	OPTION(DIR, 0, "files", files, "DIR", "write outputs to the files DIR/TASK.out and DIR/TASK.err"),
	FLAG(0, "json", json, "print a JSON object per line"),
	OPTION(NUMBER, 't', "task", task, "N", "only task N", .min = 1, .max = UINT32_MAX),
	{0},
};
const struct command command_bag_results = {
	.name = "bag results",
	.operands = "BAG",
	.operand_kind = OPTION_FILE,
	.about = "Show the results of a bag's finished tasks.",
	.details =
		"Without options, prints a line per finished task, separated by tabs: number, 'done' or why it failed, seconds, attempt, worker, command. Each finished task appears exactly once, in the order of tasks. "
		"Also works while the bag is running.",
	.examples = EXAMPLES({"shunt bag results tasks.txt --output", "Print all outputs in the order of tasks."},
			     {"shunt bag results tasks.txt --failed", "Show which tasks failed, and why."}),
	OPTIONS(struct results_arguments, results_options),
	.run = results,
	.alone = true,
};

static void on_warn(void *arg, const char *text)
{
	command_warn(arg, "%s", text);
}

static int cancel(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct strbuf dir = {0};
	struct err err;

	(void)arguments;
	bag_dir(operands->v[0], &dir);
	json_t *answer = ask(dir.text, "cancel");
	int rc = answer ? 0 : broker_cancel(dir.text, on_warn, (void *)c, &err);
	json_decref(answer);
	strbuf_fini(&dir);
	return rc < 0 ? command_fail(c, "%s", err.text) : EXIT_OK;
}

const struct command command_bag_cancel = {
	.name = "bag cancel",
	.operands = "BAG",
	.operand_kind = OPTION_FILE,
	.about = "Cancel a bag: its running tasks are killed, finished ones keep their results.",
	.details =
		"Requests to clusters are cancelled as well, including those of a broker that was killed. 'shunt bag run' continues a cancelled bag.",
	.examples = EXAMPLES({"shunt bag cancel tasks.txt", "End its broker and all running tasks."}),
	.run = cancel,
	.alone = true,
};

struct top_arguments {
	bool once;
};

static void top_print(const json_t *all)
{
	static const struct listing_column columns[] = {
		{"WORKER", "name", .make = cell_plain},
		{">PID", "pid", .make = cell_plain},
		{">CPUS", "cpus", .format = "%g"},
		{">TASKS", "tasks", .make = cell_plain},
		{">RESULTS", "results", .make = cell_plain},
		{">OLDEST", "oldest", .make = cell_plain},
		{">SECONDS", "oldest_seconds", .format = "%.1f"},
		{0},
	};
	char left[32];

	printf("%" PRId64 " of %" PRId64 " done, %" PRId64 " failed, %" PRId64 " running, %.1f/s, %s left\n\n",
	       object_number(all, "done", 0), object_number(all, "tasks", 0), object_number(all, "failed", 0),
	       object_number(all, "running", 0), json_number_value(json_object_get(all, "rate")),
	       object_number(all, "left", 0) >= 0 ? duration_human(object_number(all, "left", 0), left, sizeof left)
						  : "?");
	listing_print(json_object_get(all, "workers"), columns, NULL);
	fflush(stdout);
}

/* Returns true if a broker holds the bag; it cannot be asked from here. */
static bool held(const char *dir)
{
	struct results r;
	struct err err;

	if (results_open(dir, &r, &err) < 0)
		return false;
	bool found = r.view.held;
	results_close(&r);
	return found;
}

static int top(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct top_arguments *a = arguments;
	struct strbuf dir = {0};
	bool live = isatty(STDOUT_FILENO) && !a->once;
	bool any = false;

	bag_dir(operands->v[0], &dir);
	for (;;) {
		json_t *all = ask(dir.text, "workers");
		if (!all)
			break;
		if (live)
			screen_style(stdout, "\033[H\033[J");
		top_print(all);
		any = true;
		json_decref(all);
		if (!live)
			break;
		sleep(1);
	}
	int code =
		any ? EXIT_OK
		    : command_fail(c,
				   held(dir.text)
					   ? "%s runs on another host, or for another user: its workers are shown there"
					   : "%s is not running",
				   dir.text);
	strbuf_fini(&dir);
	return code;
}

static const struct option top_options[] = {
	OPTION_ROW(FLAG, 0, "once", offsetof(struct top_arguments, once), NULL, "print once, as in a pipe"),
	{0},
};
const struct command command_bag_top = {
	.name = "bag top",
	.operands = "BAG",
	.operand_kind = OPTION_FILE,
	.about = "Watch the workers of a running bag.",
	.details =
		"TASKS counts those that a worker has, also ahead of time; OLDEST is the first of them, and SECONDS how long the worker has had it.",
	.examples = EXAMPLES({"shunt bag top tasks.txt", "Watch the workers of a running bag."}),
	OPTIONS(struct top_arguments, top_options),
	.run = top,
	.alone = true,
};
