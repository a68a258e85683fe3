/*
 * qqueues.c - opening and closing: qenable, qdisable, qstart, qstop for queues, qterm for the
 * server.
 */

#include "cmd/lib/change.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"

static void queue_set(struct change *ch, const char *queue, const char *name, const char *value)
{
	change_attribute(ch, api_path("/v1/queues/%s", queue), "set", name, value);
}

/* Handles "@server": all queues of the only server. */
static void queues_all(struct change *ch, const char *name, const char *value)
{
	struct reply r;
	json_t *queue;
	size_t i;

	if (change_ask(ch, "GET", "/v1/queues", NULL, NULL, &r)) {
		const json_t *list = json_is_array(r.json) ? r.json : json_object_get(r.json, "queues");
		json_array_foreach(list, i, queue) queue_set(ch, object_text(queue, "name"), name, value);
	}
	reply_fini(&r);
}

static int queues_set(const struct command *c, const struct operands *o, const char *name, const char *value)
{
	struct change ch;

	if (!change_open(&ch, c))
		return EXIT_FAILED;
	for (int i = 0; i < o->n; i++) {
		char queue[256];
		struct err err;
		if (queue_here(ch.client, o->v[i], queue, &err) < 0)
			change_failed(&ch, NULL, "unknown_queue", err.text);
		else if (queue[0])
			queue_set(&ch, queue, name, value);
		else
			queues_all(&ch, name, value);
	}
	return change_close(&ch);
}

static int enable(const struct command *c, const void *arguments, const struct operands *o)
{
	return queues_set(c, o, "enabled", "True");
}

static int disable(const struct command *c, const void *arguments, const struct operands *o)
{
	return queues_set(c, o, "enabled", "False");
}

static int start(const struct command *c, const void *arguments, const struct operands *o)
{
	return queues_set(c, o, "started", "True");
}

static int stop(const struct command *c, const void *arguments, const struct operands *o)
{
	return queues_set(c, o, "started", "False");
}

#define QUEUES .operands = "QUEUE...", .own = true
const struct command command_qenable = {
	.name = "qenable", QUEUES, .about = "Let queues accept jobs (operators).", .run = enable};
const struct command command_qdisable = {
	.name = "qdisable", QUEUES, .about = "Stop queues from accepting jobs (operators).", .run = disable};
const struct command command_qstart = {
	.name = "qstart", QUEUES, .about = "Let jobs in queues start (operators).", .run = start};
const struct command command_qstop = {
	.name = "qstop", QUEUES, .about = "Stop jobs in queues from starting (operators).", .run = stop};

struct term_arguments {
	const char *type;
	bool force, secondary, server, mom;
};

#define AT(field) offsetof(struct term_arguments, field)
#define ACCEPTED "Accepted: there is one daemon."
static const struct option term_options[] = {
	OPTION(WORD, 't', "type", type, "TYPE",
	       "what happens to running jobs: quick, they continue; delay, they make checkpoints where they can, stop, and wait to run again; immediate, the same without checkpoints",
	       .initial = "quick", .words = "quick delay immediate"),
	FLAG(0, "force", force, "even if that breaks guaranteed deadlines"),
	FLAG('f', "-f", secondary, ACCEPTED),
	FLAG('s', "-s", server, ACCEPTED),
	FLAG('m', "-m", mom, ACCEPTED),
	{0},
};

static int terminate(const struct command *c, const void *arguments, const struct operands *o)
{
	const struct term_arguments *a = arguments;

	return change_one(c, "POST", "/v1/shutdown", json_pack("{s:s,s:b}", "mode", a->type, "force", a->force));
}

const struct command command_qterm = {
	.name = "qterm",
	.about = "Stop the server; running jobs continue (managers).",
	OPTIONS(struct term_arguments, term_options),
	.run = terminate,
	.own = true,
};
