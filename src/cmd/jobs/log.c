/*
 * log.c - `shunt log`: shows what happened to a job, a node or a queue, and the server's log.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/logline.h"
#include "base/mem.h"
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
static void event_print(const json_t *event)
{
	const char *text = object_text(event, "text"), *type = object_text(event, "type");
	char when[40];

	printf("%s  %-10s  %s\n", instant_format(object_number(event, "time", 0), when, sizeof when), type, text);
}

/* What is shown: the past, and then the stream of events, "data: {...}" lines filtered for one
 * thing. */
struct follow {
	const struct command *c;
	const struct log_arguments *a;
	const char *kind;	   /* "job", "node" or "queue" */
	struct strbuf thing, path; /* path of the job, and of the events; the same for others */
	char *id;		   /* a job's full id */
	struct strbuf text;	   /* unread part of the stream */
	int64_t last;		   /* number of the last event printed; -1: none */
	bool ended, said;
	int code; /* exit code */
};

static void event_show(struct follow *f, const json_t *event)
{
	f->last = object_number(event, "seq", f->last);
	if (!f->a->json) {
		event_print(event);
	} else if (f->a->follow) {
		json_dumpf(event, stdout, JSON_COMPACT);
		putchar('\n');
	}
}

/* Reads the events after the last one, page by page, into one list. Returns NULL after an error
 * message. */
static json_t *events_get(struct follow *f, struct client *client)
{
	json_t *all = json_array();
	struct strbuf path = {0};
	struct reply page;
	int64_t after = f->last;

	do {
		strbuf_clear(&path);
		strbuf_puts(&path, f->path.text);
		if (after >= 0)
			strbuf_printf(&path, "?after=%" PRId64, after);
		if (!show_get(f->c, client, path.text, &page, &f->code)) {
			json_decref(all);
			all = NULL;
			break;
		}
		json_array_extend(all, json_object_get(page.json, "events"));
		after = object_number(page.json, "next", -1);
		reply_fini(&page);
	} while (after >= 0);
	strbuf_fini(&path);
	return all;
}

/* Prints the events since the last one; `thing` is the job, node or queue as it was before. */
static bool past_print(struct follow *f, struct client *client, const json_t *thing)
{
	json_t *events = events_get(f, client);
	const json_t *event;
	size_t i;

	if (!events)
		return false;
	f->ended = strcmp(f->kind, "job") == 0 && *object_text(thing, "state") == 'C';
	if (f->a->json && !f->a->follow)
		show_json(events);
	json_array_foreach(events, i, event) event_show(f, event);
	fflush(stdout);
	json_decref(events);
	return true;
}

/* Prints what the stream has left out, over a second connection. */
static void gap_fill(struct follow *f)
{
	struct client *client;
	struct reply thing;

	f->code = EXIT_FAILED;
	if (!show_open(f->c, &client))
		return;
	if (show_get(f->c, client, f->thing.text, &thing, &f->code)) {
		f->code = past_print(f, client, thing.json) ? EXIT_OK : f->code;
		reply_fini(&thing);
	}
	client_close(client);
}

static void event_take(struct follow *f, const char *data)
{
	json_t *event = json_loads(data, 0, NULL);
	int64_t seq = object_number(event, "seq", -1);

	/* The history began with the submission, whose event number it does not have. */
	bool known = seq <= f->last || strcmp(object_text(event, "type"), "submit") == 0;
	if (event && seq < 0) {
		gap_fill(f);
	} else if (event && strcmp(object_text(event, f->kind), f->id) == 0 && !known) {
		event_show(f, event);
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
	for (line = f->text.text; line && !f->ended && !f->code && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (strncmp(line, "data:", 5) == 0)
			event_take(f, line + 5);
	}
	if (line) {
		f->text.n = strlen(line);
		memmove(f->text.text, line, f->text.n + 1);
	}
	return f->ended || f->code ? -1 : 0;
}

/* Follows the stream of events, also over restarts of the server. A server that was restarted has
 * no events from before: its stream begins with a gap. */
static void follow(struct follow *f, struct client *client)
{
	struct reply thing;
	char path[64];
	struct err err;

	for (;;) {
		snprintf(path, sizeof path, "/v1/events?after=%" PRId64, f->last < 0 ? 0 : f->last);
		strbuf_clear(&f->text);
		int rc = client_read(client, path, "text/event-stream", follow_piece, f, &err);
		if (f->ended || f->code)
			return;
		if (rc < 0 && rc != -ECONNRESET) {
			f->code = command_fail(f->c, "%s", err.text);
			return;
		}
		if (!show_resume(f->c, client, f->thing.text, rc, &f->said, &thing, &f->code))
			return;
		reply_fini(&thing);
		sleep(1);
	}
}

/* Shows the events of a job, a node or a queue. */
static int log_thing(const struct command *c, struct client *client, const char *kind, const char *name,
		     const struct log_arguments *a)
{
	struct follow f = {.c = c, .a = a, .kind = kind, .last = -1};
	bool job = strcmp(kind, "job") == 0;
	struct reply thing = {0};

	strbuf_printf(&f.path, "/v1/%ss/", kind);
	url_quote(name, &f.path);
	strbuf_printf(&f.thing, job ? "%s" : "%s/events", f.path.text);
	strbuf_puts(&f.path, "/events");
	if (!job || show_get(c, client, f.thing.text, &thing, &f.code)) {
		f.id = mem_strdup(job ? object_text(thing.json, "id") : name);
		if (past_print(&f, client, thing.json) && a->follow && !f.ended)
			follow(&f, client);
	}
	reply_fini(&thing);
	free(f.id);
	strbuf_fini(&f.thing);
	strbuf_fini(&f.path);
	strbuf_fini(&f.text);
	return f.code;
}

static int log_server(const struct command *c, struct client *client, const struct log_arguments *a)
{
	struct reply log;
	int code = EXIT_OK;
	const json_t *line;
	char when[40];
	size_t i;

	if (show_get(c, client, api_path("/v1/server/log?level=%s", a->level), &log, &code)) {
		const json_t *lines = json_object_get(log.json, "lines");
		if (a->json)
			show_json(lines);
		else
			json_array_foreach(lines, i, line)
				printf("%s %s: %s\n", instant_format(object_number(line, "time", 0), when, sizeof when),
				       object_text(line, "level"), object_text(line, "text"));
		reply_fini(&log);
	}
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
		   : operands->n ? log_thing(c, client, "job", operands->v[0], a)
		   : a->node	 ? log_thing(c, client, "node", a->node, a)
				 : log_thing(c, client, "queue", a->queue, a);
	client_close(client);
	return code;
}

const struct command command_log = {
	.name = "log",
	.operands = "[JOB]",
	.about = "Show what happened to a job, a node, a queue or the server, and when.",
	.examples = EXAMPLES({"shunt log -f 12", "What happens to job 12, as it happens."},
			     {"shunt log --node n3", "Who took n3 offline, and why."},
			     {"shunt log --server --level warning", "Show what went wrong in the server."}),
	OPTIONS(struct log_arguments, log_options),
	.run = log_run,
};
