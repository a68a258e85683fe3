/*
 * bag.c - `shunt bag run` and `retry`: run tasks.
 */
#include "cmd/bag/bag.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag/results.h"
#include "base/amount.h"
#include "base/program.h"
#include "base/timetext.h"
#include "cmd/bag/bag_make.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/screen.h"

enum { FAILURES_SHOWN = 10, PLACES_MOST = 16 };

void bag_dir(const char *operand, struct strbuf *ret)
{
	struct stat st;

	strbuf_puts(ret, operand);
	while (ret->n > 1 && ret->text[ret->n - 1] == '/')
		ret->text[--ret->n] = '\0';
	bool named = ret->n > 4 && strcmp(ret->text + ret->n - 4, ".bag") == 0;
	if (stat(operand, &st) < 0 ? !named : !S_ISDIR(st.st_mode))
		strbuf_puts(ret, ".bag");
}

int bags_show(const struct command *c, const struct operands *operands, const struct bags_view *v)
{
	json_t *all = json_array();
	glob_t found = {0};
	int code = EXIT_OK;
	struct err err;

	if (!operands->n)
		glob("*.bag", 0, NULL, &found);
	for (size_t i = 0; i < (operands->n ? (size_t)operands->n : found.gl_pathc); i++) {
		struct strbuf dir = {0};
		bag_dir(operands->n ? operands->v[i] : found.gl_pathv[i], &dir);
		if (v->add(dir.text, all, &err) < 0)
			code = command_fail(c, "%s", err.text);
		strbuf_fini(&dir);
	}
	globfree(&found);
	if (v->others && !operands->n)
		v->others(all);
	if (v->json) {
		char *text = json_dumps(all, JSON_INDENT(2));
		printf("%s\n", text);
		free(text);
	} else if (json_array_size(all)) {
		v->print(all);
	} else if (code == EXIT_OK) {
		printf("%s\n", v->none);
	}
	json_decref(all);
	return code;
}

const char *bag_status_text(int32_t status, char *buf, size_t size)
{
	if (status == RECORD_LOST)
		snprintf(buf, size, "its worker was lost");
	else if (status == RECORD_TOO_LARGE)
		snprintf(buf, size, "no worker can run it");
	else if (WIFSIGNALED(status))
		snprintf(buf, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == 0)
		snprintf(buf, size, "results differ");
	else
		snprintf(buf, size, "exit code %d", WEXITSTATUS(status));
	return buf;
}

/* Context of the broker's callbacks. */
struct show {
	const struct command *command;
	bool stream, terminal;
	bool drawn; /* a progress line is on the screen */
	int failures, cuts;
	const char *limit; /* --output-limit */
};

static void wipe(struct show *s)
{
	if (s->drawn)
		dprintf(STDERR_FILENO, "\r\033[K");
	s->drawn = false;
}

static void on_finished(void *arg, const struct record *r)
{
	struct show *s = arg;
	char status[80], attempt[32] = "";

	if (s->stream && r->kind == RECORD_DONE) {
		wipe(s);
		screen_raw(stdout, r->out, r->nout);
		screen_raw(stderr, r->err, r->nerr);
	}
	if (r->cut && s->cuts++ <= FAILURES_SHOWN) {
		wipe(s);
		if (s->cuts <= FAILURES_SHOWN)
			command_warn(s->command,
				     "task %" PRIu64
				     ": its output was cut, because it is larger than %s (see --output-limit)",
				     r->task, s->limit);
		else
			command_warn(s->command, "more outputs were cut; 'shunt bag results' names them");
	}
	if (r->kind != RECORD_FAILED || s->failures++ > FAILURES_SHOWN)
		return;
	wipe(s);
	if (s->failures > FAILURES_SHOWN) {
		command_warn(s->command, "more tasks failed; 'shunt bag results --failed' lists all of them");
		return;
	}
	/* The last line of its error output says most. */
	const char *end = r->err + r->nerr, *line;
	while (end > r->err && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	for (line = end; line > r->err && line[-1] != '\n';)
		line--;
	if (r->attempt)
		snprintf(attempt, sizeof attempt, ", attempt %" PRIu32, r->attempt);
	command_warn(s->command, "task %" PRIu64 " failed: %s%s%s%.*s", r->task,
		     bag_status_text(r->status, status, sizeof status), attempt, end > line ? ": " : "",
		     (int)(end - line > 300 ? 300 : end - line), line);
}

static void on_warn(void *arg, const char *text)
{
	struct show *s = arg;

	wipe(s);
	command_warn(s->command, "%s", text);
}

static void on_progress(void *arg, const struct broker_summary *s)
{
	struct show *show = arg;
	char left[32];

	if (!show->terminal)
		return;
	show->drawn = true;
	if (s->ending) {
		dprintf(STDERR_FILENO, "\rtasks that still run after SIGTERM: %u; Ctrl-C kills them now\033[K",
			s->running);
		return;
	}
	dprintf(STDERR_FILENO, "\r%u of %u done, %u failed, %u running, %.*f/s", s->counts.done, s->tasks,
		s->counts.aside, s->running, s->rate < 10, s->rate);
	if (s->left >= 0)
		dprintf(STDERR_FILENO, ", %s left", duration_human(s->left, left, sizeof left));
	dprintf(STDERR_FILENO, "\033[K");
}

static int conclude(const struct command *c, const struct broker_summary *s, const char *dir, bool terminal)
{
	char took[32];
	uint32_t rest = s->tasks - s->counts.done - s->counts.aside;

	if (rest && (s->interrupted || s->cancelled)) {
		command_warn(c, "%s: %u of %u tasks are done; 'shunt bag run %s' continues",
			     s->cancelled ? "cancelled" : "interrupted", s->counts.done, s->tasks, dir);
		return EXIT_FAILED;
	}
	if (s->counts.aside)
		command_warn(
			c,
			"%u of %u tasks failed; 'shunt bag results --failed %s' shows them, 'shunt bag retry %s' runs them again",
			s->counts.aside, s->tasks, dir, dir);
	else if (terminal)
		fprintf(stderr, "%u task%s done in %s, %.0f/s. Results: shunt bag results %s\n", s->counts.done,
			s->counts.done == 1 ? "" : "s", duration_human(s->took / 1000000, took, sizeof took),
			s->took ? (double)(s->counts.done - s->before) * 1e6 / (double)s->took : 0, dir);
	return s->counts.aside || rest ? EXIT_FAILED : EXIT_OK;
}

int64_t bag_cpus_here(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
}

/* Finds the memory that tasks share, KiB. */
static int memory_here(const char *text, int64_t *ret, struct err *err)
{
	int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	*ret = pages > 0 && size > 0 ? pages * (size / 1024) : -1;
	int rc = text ? memory_parse(text, ret, err) : 0;
	return rc < 0 ? err_prefix(err, rc, "--memory %s", text) : 0;
}

static int output_most(const char *text, int64_t *ret, struct err *err)
{
	int64_t kib;
	int rc = memory_parse(text, &kib, err);

	if (rc == 0 && kib > RECORD_OUTPUT_MOST / 1024)
		rc = err_set(err, -EINVAL, "must be at most 1gb: larger outputs belong in files");
	if (rc < 0)
		return err_prefix(err, rc, "--output-limit %s", text);
	*ret = kib * 1024;
	return 0;
}

/* Collects the places other than this host for broker_options; returns how many. how_check() has
 * bounded them. */
static int places_of(const struct bag_how *how, const char **ret)
{
	int n = 0;

	for (int i = 0; i < how->on.n; i++)
		if (strcmp(how->on.v[i], "local") != 0)
			ret[n++] = how->on.v[i];
	return n;
}

/* Checks combinations of options before anything is created. */
static int how_check(const struct command *c, const struct bag_how *how)
{
	const char *places[PLACES_MOST];
	enum adapter_heuristic adapter;
	int64_t size;
	struct err err;

	if (memory_here(how->memory, &size, &err) < 0 || output_most(how->output, &size, &err) < 0)
		return command_misused(c, "%s", err.text);
	for (int i = 0; i < how->on.n; i++)
		if (strcmp(how->on.v[i], "local") != 0 && !provider_known(how->on.v[i]))
			return command_misused(c, "--on %s: must be %s", how->on.v[i], provider_places());
	if (how->on.n > PLACES_MOST)
		return command_misused(c, "--on: at most %d places", PLACES_MOST);
	if (adapter_find(how->adapter, &adapter, &err) < 0)
		return command_misused(c, "--adapter %s", err.text);
	int clusters = places_of(how, places);
	for (int i = 0; how->filler && i < clusters; i++)
		if (strncmp(places[i], "shunt", 5) != 0)
			return command_misused(c,
					       "--filler works on Shunt servers only: give --on shunt or --on "
					       "shunt:CLUSTER, not --on %s",
					       places[i]);
	if (how->filler && clusters == 0)
		return command_misused(c,
				       "--filler needs --on shunt or --on shunt:CLUSTER: whose idle CPUs it may use");
	if (how->workers == 0 && how->invite == 0 && clusters == 0)
		return command_misused(c, "--workers 0 needs --invite: nobody would run the tasks");
	return EXIT_OK;
}

/* Runs the bag in `dir` to completion, with progress on a terminal. Returns an exit code. */
static int bag_drive(const struct command *c, const struct bag_how *how, const char *dir, bool retry)
{
	struct show show = {
		.command = c, .stream = how->stream, .terminal = isatty(STDERR_FILENO), .limit = how->output};
	struct broker_summary summary;
	struct err err;
	char self[PATH_MAX];

	if (program_self(self, sizeof self, &err) < 0)
		return command_fail(c, "%s", err.text);
	int code = how_check(c, how);
	if (code != EXIT_OK)
		return code;
	const char *places[PLACES_MOST];
	int nplaces = places_of(how, places);
	struct broker_options o = {
		.dir = dir,
		.program = self,
		.workers = how->on.n == 0 || nplaces < how->on.n ? (int)how->workers : 0,
		.places = places,
		.nplaces = nplaces,
		.request = {.requests = how->requests,
			    .processors = how->request_cpus,
			    .seconds = how->request_time,
			    .words = how->submit},
		.warn = on_warn,
		.invite = (int)how->invite,
		.apart = how->apart,
		.filler = how->filler,
		.cpus = (how->cpus < 0 ? bag_cpus_here() : how->cpus) * BAG_CPU,
		.gpus = how->gpus,
		.grace = how->grace,
		.rules = {.attempts = (int)how->retries + 1,
			  .losses = (int)how->losses,
			  .replicas = (int)how->replicas,
			  .agree = (int)how->agree},
		.retry = retry,
		.finished = on_finished,
		.progress = on_progress,
		.arg = &show,
	};
	if (how->replicas > 1 && o.workers <= 1 && o.invite == 0 && nplaces == 0)
		command_warn(c, "--replicas %" PRId64 " has no effect with one worker: give --workers 2 or more",
			     how->replicas);
	fflush(stdout);
	adapter_find(how->adapter, &o.adapter, &err);
	int rc = memory_here(how->memory, &o.memory, &err);
	rc = rc < 0 ? rc : output_most(how->output, &o.output, &err);
	rc = rc < 0 ? rc : broker_run(&o, &summary, &err);
	wipe(&show);
	if (rc < 0)
		return command_fail(c, "%s", err.text);
	return conclude(c, &summary, dir, show.terminal);
}

struct run_arguments {
	struct bag_source source;
	const char *dir;
	struct texts after;
	bool restart;
	struct bag_how how;
};

#define AT(field) offsetof(struct run_arguments, field)
static const struct option run_options[] = {
	OPTION(TEXT, 'c', "command", source.command, "COMMAND",
	       "run COMMAND for each value, put in place of {}; values are the lines of FILE, or come from --glob or --csv"),
	OPTION(TEXTS, 'g', "glob", source.globs, "PATTERN",
	       "take the files that match as values; may be given more than once"),
	OPTION(FILE, 0, "csv", source.csv, "FILE",
	       "take the rows of a CSV file as values; its first row names them: {name}"),
	OPTION(TEXT, 0, "need", source.need, "NEEDS",
	       "what each task needs, as in a #bag line: 'cpus=2 mem=4gb time=10m'"),
	OPTION(DIR, 'd', "dir", dir, "DIR", "keep the bag in DIR; otherwise in FILE.bag"),
	OPTION(TEXTS, 0, "after", after, "BAG",
	       "begin when all tasks of BAG have succeeded; may be given more than once"),
	FLAG(0, "restart", restart, "forget earlier results and run all tasks"),
	BAG_HOW_OPTIONS(struct run_arguments),
	{0},
};

/* Waits until a bag is complete, before `own` begins. Returns -ECANCELED if that cannot happen any
 * more. */
static int await(const struct command *c, const char *operand, const char *own, struct err *err)
{
	struct stat that, this;
	struct strbuf dir = {0};
	bool told = false;
	int rc;

	bag_dir(operand, &dir);
	if (stat(dir.text, &that) == 0 && stat(own, &this) == 0 && that.st_dev == this.st_dev &&
	    that.st_ino == this.st_ino) {
		strbuf_fini(&dir);
		return err_set(err, -EINVAL, "--after %s: a bag can't wait for itself", operand);
	}
	for (;; sleep(1)) {
		struct results r;
		char *live = NULL;
		bool runs = broker_ask(dir.text, "status", &live, err) == 0;
		free(live);
		rc = runs ? 0 : results_open(dir.text, &r, err);
		if (rc < 0)
			break;
		if (runs)
			continue;
		bool held = r.view.held, complete = r.done + r.aside == r.fold.tasks;
		if (!held && (r.aside || r.fold.cancelled))
			rc = err_set(err, -ECANCELED, "--after %s: %s", operand,
				     r.aside ? "some of its tasks failed" : "it was cancelled");
		results_close(&r);
		if (rc < 0 || (complete && !held))
			break;
		if (held)
			continue;
		if (!told)
			command_warn(c, "waiting for %s, which is not running", dir.text);
		told = true;
	}
	strbuf_fini(&dir);
	return rc;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct run_arguments a = *(const struct run_arguments *)arguments;
	struct strbuf dir = {0};
	struct err err;

	a.source.file = operands->n ? operands->v[0] : NULL;
	if (a.source.file && !a.source.command && !a.dir) { /* an existing bag */
		struct stat st;
		if (stat(a.source.file, &st) == 0 && S_ISDIR(st.st_mode)) {
			a.dir = a.source.file;
			a.source.file = NULL;
		}
	}
	if (!a.source.file && !a.source.globs.n && !a.source.csv && !a.dir)
		return command_misused(c,
				       "give a FILE of commands, or --command with --glob, --csv or a FILE of values");
	int code = how_check(c, &a.how);
	if (code != EXIT_OK)
		return code;
	int rc = bag_make(&a.source, a.dir, a.restart, &dir, &err);
	for (int i = 0; rc == 0 && i < a.after.n; i++)
		rc = await(c, a.after.v[i], dir.text, &err);
	code = rc < 0 ? command_fail(c, "%s", err.text) : bag_drive(c, &a.how, dir.text, false);
	strbuf_fini(&dir);
	return code;
}

const struct command command_bag_run = {
	.name = "bag run",
	.operands = "[FILE]",
	.operand_kind = OPTION_FILE,
	.about = "Run many independent commands, and keep their results.",
	.details =
		"FILE has one command per line; - is standard input. Lines that begin with # are comments; '#bag cpus=2 gpus=1 mem=4gb time=10m' states what the tasks after it need. "
		"Tasks and results are kept in the directory FILE.bag; a bag from other sources gets a name made from its tasks. "
		"If the broker or the machine is killed, run the command again: tasks that were finished are not run again. "
		"A task whose exit code is not 0 is retried, then set aside. Tasks run in the current directory, with SHUNT_TASK and SHUNT_ATTEMPT in their environment and empty standard input; "
		"processes that a task leaves behind in its process group are killed. "
		"A task that must end gets SIGTERM, and SIGKILL after --grace. "
		"Exit code: 0 if all tasks succeeded, 1 otherwise.",
	.examples = EXAMPLES(
		{"shunt bag run tasks.txt",
		 "Run the commands in tasks.txt, one per line, on all CPUs. The same command continues after an interruption."},
		{"shunt bag run -c 'gzip -k {}' --glob 'data/*.csv'", "One task for each file."},
		{"shunt bag run -c './sim --rate {rate} --seed {seed}' --csv runs.csv --need cpus=4",
		 "One task of four CPUs for each row."},
		{"seq 100 | shunt bag run -c './step' - --stream",
		 "Values from standard input; print the outputs as tasks finish."}),
	OPTIONS(struct run_arguments, run_options),
	.run = run,
	.alone = true,
};

struct retry_arguments {
	struct bag_how how;
};

static const struct option retry_options[] = {BAG_HOW_OPTIONS(struct retry_arguments), {0}};

static int retry(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct retry_arguments *a = arguments;
	struct strbuf dir = {0};
	struct results r;
	struct err err;
	char *answer = NULL;
	int code;

	bag_dir(operands->v[0], &dir);
	int rc = results_open(dir.text, &r, &err);
	uint32_t aside = rc == 0 ? r.aside : 0;
	if (rc == 0)
		results_close(&r);
	if (rc < 0) {
		code = command_fail(c, "%s", err.text);
	} else if (broker_ask(dir.text, "retry", &answer, &err) == 0) {
		printf("The running broker tries the failed tasks again.\n");
		code = EXIT_OK;
	} else if (aside == 0) {
		code = command_fail(c, "%s has no failed tasks", dir.text);
	} else {
		code = bag_drive(c, &a->how, dir.text, true);
	}
	free(answer);
	strbuf_fini(&dir);
	return code;
}

const struct command command_bag_retry = {
	.name = "bag retry",
	.operands = "BAG",
	.operand_kind = OPTION_FILE,
	.about = "Run the failed tasks of a bag again.",
	.details =
		"BAG is the bag's directory or its file of commands. A running broker is notified; otherwise this command runs the bag. Earlier failures of these tasks no longer count.",
	.examples = EXAMPLES({"shunt bag retry tasks.txt", "Run the failed tasks of tasks.txt.bag again."}),
	OPTIONS(struct retry_arguments, retry_options),
	.run = retry,
	.alone = true,
};
