/*
 * tracejob.c - `tracejob`: prints the log lines of a job in order of time, or its history if there
 * are none.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

struct arguments {
	int64_t days, width;
	bool no_accounting, no_server, no_scheduler, no_mom, quiet, verbose, once;
	const char *path;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(NUMBER, 'n', "days", days, "N", "look back N days", .initial = "1", .min = 1, .max = 3650),
	FLAG('a', "no-accounting", no_accounting, "leave out lines of the accounting log"),
	FLAG('s', "no-server", no_server, "leave out all other lines"),
	FLAG('z', "once", once, "leave out lines that repeat the previous one"),
	FLAG('q', "quiet", quiet, "say nothing when there is nothing"),
	OPTION(NUMBER, 'w', "width", width, "COLUMNS", "cut lines at this width", .min = 1, .max = 100000),
	FLAG('l', "-l", no_scheduler, "accepted for PBS's sake: the scheduler writes into the same log"),
	FLAG('m', "-m", no_mom, "accepted for PBS's sake"),
	FLAG('v', "-v", verbose, "accepted for PBS's sake"),
	OPTION(TEXT, 'p', "-p", path, "PATH", "accepted for PBS's sake: the server knows where its logs are"),
	{0},
};

struct trace {
	const struct arguments *a;
	struct strbuf text, last;
	int lines;
};

static int piece(void *context, const char *data, size_t n)
{
	strbuf_add(&((struct trace *)context)->text, data, n);
	return 0;
}

/* Reformats "11/15/2026 14:05:00;S;12.x;user=a ..." as "11/15/2026 14:05:00 A S user=a ...", as PBS
 * prints its logs. */
static void line_format(char *line, struct strbuf *out, bool *ret_accounting)
{
	char *type = strchr(line, ';'), *id = type ? strchr(type + 1, ';') : NULL,
	     *rest = id ? strchr(id + 1, ';') : NULL;

	*ret_accounting = rest && id - type == 2;
	strbuf_clear(out);
	if (!rest) {
		strbuf_puts(out, line);
		return;
	}
	strbuf_printf(out, "%.*s  %c    %.*s%s%s", (int)(type - line), line, *ret_accounting ? 'A' : 'S',
		      (int)(id - type - 1), type + 1, rest[1] ? " " : "", rest + 1);
}

static void line_print(struct trace *t, char *line)
{
	struct strbuf out = {0};
	bool accounting;

	line_format(line, &out, &accounting);
	bool skip = accounting ? t->a->no_accounting : t->a->no_server;
	bool again = t->a->once && t->last.n && strcmp(t->last.text, strbuf_text(&out)) == 0;
	if (out.n && !skip && !again) {
		int width = t->a->width > 0 ? (int)t->a->width : INT_MAX;
		printf("%.*s\n", width, out.text);
		t->lines++;
		strbuf_clear(&t->last);
		strbuf_puts(&t->last, out.text);
	}
	strbuf_fini(&out);
}

static void past_line(struct trace *t, int64_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void past_line(struct trace *t, int64_t at, const char *fmt, ...)
{
	time_t when = (time_t)at;
	struct strbuf out = {0};
	char stamp[40];
	struct tm tm;
	va_list ap;

	localtime_r(&when, &tm);
	strftime(stamp, sizeof stamp, "%m/%d/%Y %H:%M:%S", &tm);
	strbuf_printf(&out, "%s  H    ", stamp);
	va_start(ap, fmt);
	strbuf_vprintf(&out, fmt, ap);
	va_end(ap);
	printf("%.*s\n", t->a->width > 0 ? (int)t->a->width : INT_MAX, out.text);
	t->lines++;
	strbuf_fini(&out);
}

/* Prints a row of the history: an attempt, or a job that ended while it waited. */
static void past_print(struct trace *t, const json_t *row, bool first)
{
	int64_t started = object_number(row, "started", 0);
	char wall[40], cpu[40];

	if (first)
		past_line(t, object_number(row, "submitted", 0), "%s submitted: user=%s queue=%s jobname=%s %s",
			  object_text(row, "id"), object_text(row, "owner"), object_text(row, "queue"),
			  object_text(row, "name"), object_text(row, "resources"));
	if (started > 0)
		past_line(t, started, "%s started, attempt %lld: exec_host=%s", object_text(row, "id"),
			  (long long)object_number(row, "attempt", 0), object_text(row, "hosts"));
	past_line(t, object_number(row, "ended", 0),
		  "%s ended (%s): Exit_status=%lld resources_used.walltime=%s resources_used.cput=%s"
		  " resources_used.mem=%lldkb%s%s",
		  object_text(row, "id"), object_text(row, "state"), (long long)object_number(row, "exit_status", 0),
		  duration_format(object_number(row, "ran_ms", 0) / 1000, wall, sizeof wall),
		  duration_format(object_number(row, "cpu_ms", 0) / 1000, cpu, sizeof cpu),
		  (long long)object_number(row, "peak_kib", 0), *object_text(row, "comment") ? " " : "",
		  object_text(row, "comment"));
}

/* Prints what the history has of a job that the logs do not mention. */
static void past_trace(struct trace *t, struct client *client, const char *id)
{
	struct reply reply = {0};

	if (client_ask(client, "GET", api_path("/v1/history?attempts=1&limit=10000&id=%s", id), NULL, 0, &reply,
		       NULL) == 0) {
		const json_t *jobs = json_object_get(reply.json, "jobs"), *before = NULL;
		for (size_t i = json_array_size(jobs); i-- > 0;) { /* oldest first */
			const json_t *row = json_array_get(jobs, i);
			past_print(t, row, !before || strcmp(object_text(before, "id"), object_text(row, "id")) != 0);
			before = row;
		}
	}
	reply_fini(&reply);
}

static int trace(const struct command *c, struct client *client, const void *arguments, const char *id, bool first)
{
	const struct arguments *a = arguments;
	struct trace t = {.a = a};
	char days[32];
	struct err err;
	int code = EXIT_OK;

	snprintf(days, sizeof days, "%lld", (long long)a->days);
	if (client_read(client, api_path("/v1/log?job=%s&days=%s", id, days), NULL, piece, &t, &err) < 0) {
		command_fail(c, "%s", err.text);
		code = show_code(client);
	} else {
		putchar('\n');
		text_print(stdout, "Job: ", "%s", id);
		putchar('\n');
		for (char *line = t.text.n ? strtok(t.text.text, "\n") : NULL; line; line = strtok(NULL, "\n"))
			line_print(&t, line);
		if (t.lines == 0 && !a->no_server)
			past_trace(&t, client, id);
		if (t.lines == 0)
			code = EXIT_FAILED;
		if (t.lines == 0 && !a->quiet)
			command_fail(
				c,
				"neither the logs of the last %s day%s nor the history have anything about job %s (-n DAYS looks back further in the logs)",
				days, a->days == 1 ? "" : "s", id);
	}
	strbuf_fini(&t.text);
	strbuf_fini(&t.last);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return show_each(c, arguments, operands, trace);
}

const struct command command_tracejob = {
	.name = "tracejob",
	.own = true,
	.operands = "JOB...",
	.about = "Print what the server's logs say about a job.",
	.details =
		"What the logs no longer have is taken from the history (lines with H): when the job was submitted, when each attempt started and ended, and what it used.",
	.examples = EXAMPLES({"tracejob -n 7 12", "What happened to job 12 in the last week."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
