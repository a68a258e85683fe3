/*
 * log.c - `shunt log`: shows what happened to a job, a node or a queue, and the server's log.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/logline.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

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
