/*
 * log.c - `shunt log` and `shunt output`: show what happened to a job, its output
 * so far, and the server's log.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/logline.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/screen.h"
#include "cmd/lib/show.h"

#define TAIL_MOST 1000000
#define TAIL_ROOM ((size_t)1 << 16)

struct log_arguments {
	bool json, follow, server;
	const char *node, *queue, *level;
};

static const struct option log_options[] = {
	OPTION_ROW(TEXT, 0, "node", offsetof(struct log_arguments, node), "NODE",
		   "what happened to a node instead of a job: who changed it, when, and why"),
	OPTION_ROW(TEXT, 0, "queue", offsetof(struct log_arguments, queue), "NAME", "what happened to a queue"),
	OPTION_ROW(FLAG, 0, "server", offsetof(struct log_arguments, server), NULL,
		   "the last lines of the server's own log; for managers"),
	OPTION_ROW(WORD, 0, "level", offsetof(struct log_arguments, level), "LEVEL",
		   "with --server, only lines that are at least this severe", .words = SEVERITY_WORDS(" ")),
	OPTION_ROW(FLAG, 'f', "follow", offsetof(struct log_arguments, follow), NULL,
		   "continue until the job has ended"),
	OPTION_ROW(FLAG, 0, "json", offsetof(struct log_arguments, json), NULL,
		   "print JSON, with --follow a line per event"),
	{0},
};
static const char *const log_examples[] = {"shunt log -f 12",
					   "What happens to job 12, as it happens.",
					   "shunt log --node n3",
					   "Who took n3 offline, and why.",
					   "shunt log --server --level warning",
					   "Show what went wrong in the server.",
					   NULL};

struct output_arguments {
	bool follow, error;
	int64_t tail; /* lines; -1: all */
};

static const struct option output_options[] = {
	OPTION_ROW(FLAG, 'f', "follow", offsetof(struct output_arguments, follow), NULL,
		   "continue until the job has ended; wait for it if it has not started"),
	OPTION_ROW(FLAG, 'e', "error", offsetof(struct output_arguments, error), NULL,
		   "standard error instead of standard output"),
	OPTION_ROW(NUMBER, 'n', "tail", offsetof(struct output_arguments, tail), "N",
		   "only the last N lines written so far; with --follow also those that come after them",
		   .max = TAIL_MOST),
	{0},
};
static const char *const output_examples[] = {"shunt output -f 12", "What job 12 prints, as it prints it.",
					      "shunt output -n 20 12", "The last 20 lines.", NULL};

static void event_print(const json_t *event)
{
	const char *text = object_text(event, "text"), *type = object_text(event, "type");
	char when[40];

	printf("%s  %-10s  %s\n", instant_format(object_number(event, "time", 0), when, sizeof when), type, text);
}

/* The stream of events: "data: {...}" lines, filtered for one job. */
struct follow {
	struct strbuf text;
	const char *kind, *id; /* "job", "node" or "queue"; a job's full id */
	bool json, ended;
	int64_t last; /* number of the last event printed */
};

static void event_take(struct follow *f, const char *data)
{
	json_t *event = json_loads(data, 0, NULL);
	int64_t seq = object_number(event, "seq", 0);

	/* The history began with the submission, whose event number it does not have. */
	bool known = seq <= f->last || strcmp(object_text(event, "type"), "submit") == 0;
	if (event && strcmp(object_text(event, f->kind), f->id) == 0 && !known) {
		f->last = seq;
		if (f->json) {
			json_dumpf(event, stdout, JSON_COMPACT);
			putchar('\n');
		} else {
			event_print(event);
		}
		fflush(stdout);
		f->ended = strcmp(f->kind, "job") == 0 && *object_text(event, "state") == 'C';
	}
	json_decref(event);
}

static int follow_piece(void *context, const char *data, size_t n)
{
	struct follow *f = context;
	char *line, *end;

	strbuf_add(&f->text, data, n);
	for (line = f->text.text; line && !f->ended && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (strncmp(line, "data:", 5) == 0)
			event_take(f, line + 5);
	}
	if (line) {
		f->text.n = strlen(line);
		memmove(f->text.text, line, f->text.n + 1);
	}
	return f->ended ? -1 : 0;
}

static int follow(const struct command *c, struct client *client, struct follow *f)
{
	char path[64];
	struct err err;

	snprintf(path, sizeof path, "/v1/events?after=%" PRId64, f->last);
	int rc = client_read(client, path, "text/event-stream", follow_piece, f, &err);
	strbuf_fini(&f->text);
	return rc < 0 && !f->ended ? command_fail(c, "%s", err.text) : EXIT_OK;
}

/* Prints the past events. */
static void events_print(const json_t *list, const struct log_arguments *a, struct follow *f)
{
	const json_t *event;
	size_t i;

	if (a->json && !a->follow)
		show_json(list);
	json_array_foreach(list, i, event)
	{
		f->last = object_number(event, "seq", f->last);
		if (!a->json) {
			event_print(event);
		} else if (a->follow) {
			json_dumpf(event, stdout, JSON_COMPACT);
			putchar('\n');
		}
	}
	fflush(stdout);
}

/* Reads all events, page by page, into the first page's list. */
static bool events_get(const struct command *c, struct client *client, const char *path, struct reply *ret, int *code)
{
	struct strbuf more = {0};
	struct reply page;
	json_t *next;
	bool ok = show_get(c, client, path, ret, code);

	for (next = ok ? json_object_get(ret->json, "next") : NULL; ok && next;
	     next = json_object_get(ret->json, "next")) {
		strbuf_clear(&more);
		strbuf_printf(&more, "%s?after=%lld", path, (long long)json_integer_value(next));
		ok = show_get(c, client, more.text, &page, code);
		if (!ok)
			break;
		json_array_extend(json_object_get(ret->json, "events"), json_object_get(page.json, "events"));
		json_object_del(ret->json, "next");
		if (json_object_get(page.json, "next"))
			json_object_set(ret->json, "next", json_object_get(page.json, "next"));
		reply_fini(&page);
	}
	if (!ok && next)
		reply_fini(ret);
	strbuf_fini(&more);
	return ok;
}

/* Shows the events of a node or a queue. */
static int log_thing(const struct command *c, struct client *client, const struct log_arguments *a)
{
	const char *name = a->node ? a->node : a->queue;
	struct follow f = {.kind = a->node ? "node" : "queue", .id = name, .json = a->json};
	struct strbuf path = {0};
	struct reply events;
	int code = EXIT_OK;

	strbuf_printf(&path, "/v1/%ss/", f.kind);
	url_quote(name, &path);
	strbuf_puts(&path, "/events");
	if (events_get(c, client, path.text, &events, &code)) {
		events_print(json_object_get(events.json, "events"), a, &f);
		reply_fini(&events);
		if (a->follow)
			code = follow(c, client, &f);
	}
	strbuf_fini(&path);
	return code;
}

static int log_print(const struct command *c, struct client *client, const char *id, const struct log_arguments *a)
{
	struct strbuf path = {0};
	struct reply job, events;
	int code = EXIT_OK;

	show_job_path(&path, id, "");
	if (!show_get(c, client, path.text, &job, &code))
		goto out;
	strbuf_puts(&path, "/events");
	if (!events_get(c, client, path.text, &events, &code))
		goto out_job;
	struct follow f = {.kind = "job", .id = object_text(job.json, "id"), .json = a->json};
	events_print(json_object_get(events.json, "events"), a, &f);
	if (a->follow && *object_text(job.json, "state") != 'C')
		code = follow(c, client, &f);
	reply_fini(&events);
out_job:
	reply_fini(&job);
out:
	strbuf_fini(&path);
	return code;
}

static int log_server(const struct command *c, struct client *client, const struct log_arguments *a)
{
	struct strbuf path = {0};
	struct reply log;
	int code = EXIT_OK;
	const json_t *line;
	char when[40];
	size_t i;

	strbuf_puts(&path, "/v1/server/log");
	query_add(&path, "level", a->level);
	if (show_get(c, client, path.text, &log, &code)) {
		const json_t *lines = json_object_get(log.json, "lines");
		if (a->json)
			show_json(lines);
		else
			json_array_foreach(lines, i, line)
				printf("%s %s: %s\n", instant_format(object_number(line, "time", 0), when, sizeof when),
				       object_text(line, "level"), object_text(line, "text"));
		reply_fini(&log);
	}
	strbuf_fini(&path);
	return code;
}

static int log_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct log_arguments *a = arguments;
	struct client *client;

	if (operands->n + !!a->node + !!a->queue + a->server != 1)
		return command_misused(c, "give one of JOB, --node NODE, --queue NAME and --server");
	if (a->server ? a->follow : !!a->level)
		return command_misused(c, a->server ? "--follow does not go with --server" : "--level needs --server");
	if (!show_open(c, &client))
		return EXIT_FAILED;
	int code = a->server	 ? log_server(c, client, a)
		   : operands->n ? log_print(c, client, operands->v[0], a)
				 : log_thing(c, client, a);
	client_close(client);
	return code;
}

struct output {
	bool raw;
	int64_t tail;	    /* lines to keep until the end; -1: print as it arrives */
	struct strbuf kept; /* the last lines, and perhaps some before them */
	size_t room;	    /* size at which `kept` is trimmed */
	int64_t n;	    /* bytes received */
	int rc;		    /* result of writing */
};

/* Returns where the last `lines` lines begin. The last line may lack a newline. */
static size_t tail_begin(const char *text, size_t n, int64_t lines)
{
	size_t at = n;

	if (lines == 0)
		return n;
	while (at > 0 && !(text[at - 1] == '\n' && at < n && --lines == 0))
		at--;
	return at;
}

static void tail_cut(struct output *o)
{
	size_t begin = tail_begin(strbuf_text(&o->kept), o->kept.n, o->tail);

	o->kept.n -= begin;
	if (begin)
		memmove(o->kept.text, o->kept.text + begin, o->kept.n);
	o->room = 2 * o->kept.n + TAIL_ROOM;
}

static int output_print(struct output *o, const char *data, size_t n)
{
	if (o->raw)
		o->rc = screen_raw(stdout, data, n);
	else if (fwrite(data, 1, n, stdout) != n || fflush(stdout) != 0)
		o->rc = -errno;
	return o->rc;
}

static int output_piece(void *context, const char *data, size_t n)
{
	struct output *o = context;

	o->n += (int64_t)n;
	if (o->tail < 0)
		return output_print(o, data, n);
	strbuf_add(&o->kept, data, n);
	if (o->kept.n > o->room)
		tail_cut(o);
	return 0;
}

/* Returns true if output is written unchanged: not if another user's job would write to this
 * terminal. */
static bool output_raw(struct client *client, const char *id)
{
	struct strbuf path = {0};
	struct reply job = {0};
	struct err err;

	if (!isatty(STDOUT_FILENO))
		return true;
	show_job_path(&path, id, "");
	int rc = client_ask(client, "GET", path.text, NULL, 0, &job, &err);
	bool own = rc == 0 && strcmp(object_text(job.json, "owner"), user_name()) == 0;
	reply_fini(&job);
	strbuf_fini(&path);
	return own;
}

/* Reads output from byte `from`. With `follow` it waits for a job that has not started. */
static int output_read(struct client *client, const char *id, const struct output_arguments *a, bool follow,
		       struct output *o, struct err *err)
{
	struct strbuf path = {0};
	char from[24];
	int rc;

	show_job_path(&path, id, "/output");
	query_add(&path, "stream", a->error ? "err" : "out");
	query_add(&path, "follow", follow ? "1" : "0");
	snprintf(from, sizeof from, "%lld", (long long)o->n);
	query_add(&path, "from", from);
	while ((rc = client_read(client, path.text, NULL, output_piece, o, err)) < 0 && a->follow &&
	       strcmp(client_code(client), "bad_state") == 0)
		sleep(1);
	strbuf_fini(&path);
	return rc;
}

static int output_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct output_arguments *a = arguments;
	struct client *client;
	struct err err;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	struct output o = {.raw = output_raw(client, operands->v[0]), .tail = a->tail, .room = TAIL_ROOM};
	int rc = output_read(client, operands->v[0], a, a->follow && a->tail < 0, &o, &err);
	if (rc == 0 && o.tail >= 0) {
		tail_cut(&o);
		o.tail = -1;
		if (output_print(&o, strbuf_text(&o.kept), o.kept.n) == 0 && a->follow)
			rc = output_read(client, operands->v[0], a, true, &o, &err);
	}
	if (o.rc < 0)
		code = command_fail(c, "standard output: %s", strerror(-o.rc));
	else if (rc < 0)
		code = command_fail(c, "%s", err.text);
	client_close(client);
	strbuf_fini(&o.kept);
	return code;
}

const struct command command_log = {
	.name = "log",
	.operands = "[JOB]",
	.operands_max = 1,
	.about = "Show what happened to a job, a node, a queue or the server, and when.",
	.examples = log_examples,
	.options = log_options,
	.size = sizeof(struct log_arguments),
	.run = log_run,
};

const struct command command_output = {
	.name = "output",
	.operands = "JOB",
	.operands_min = 1,
	.operands_max = 1,
	.about = "Print what a job has printed so far.",
	.details =
		"The output of your own jobs is printed byte by byte. On a terminal, control characters in the output of other "
		"users' jobs are escaped (\\u001b).",
	.examples = output_examples,
	.options = output_options,
	.size = sizeof(struct output_arguments),
	.run = output_run,
};
