/*
 * whatif.c - `shunt whatif`: shows when a job would start and end if it were submitted now.
 */
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

struct arguments {
	struct texts resources;
	const char *deadline, *type, *queue, *account;
	bool json;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXTS, 'l', "resources", resources, "LIST",
	       "what it needs, as qsub -l: nodes=2:ppn=4, walltime=2:00:00, mem=8gb"),
	OPTION(TEXT, 0, "deadline", deadline, "DATE", "when it must be done: 2026-11-15 18:00, or +3h"),
	OPTION(WORD, 't', "type", type, "C|Q|E|N", "common, with a deadline, emergency, or nice", .words = "C Q E N"),
	OPTION(TEXT, 'q', "queue", queue, "QUEUE", "the queue it would be submitted to"),
	OPTION(TEXT, 'A', "account", account, "ACCOUNT", "the account to charge"),
	FLAG(0, "json", json, "print JSON instead of sentences"),
	{0},
};

static const char *const examples[] = {
	"shunt whatif -l nodes=4:ppn=8,walltime=6:00:00",
	"When would such a job start?",
	"shunt whatif -l ncpus=16,walltime=2h --deadline +5h",
	"Could it be done in five hours?",
	"shunt whatif -A physics -l ncpus=16,estimate=2:00:00,deadline=+5h",
	"What would that cost?",
	NULL,
};

static void text_set(json_t *body, const char *key, const char *text)
{
	if (text)
		json_object_set_new(body, key, json_stringn(text, strlen(text)));
}

static json_t *body_make(const struct arguments *a)
{
	json_t *body = json_object(), *resources = json_array();

	for (int i = 0; i < a->resources.n; i++)
		json_array_append_new(resources, json_stringn(a->resources.v[i], strlen(a->resources.v[i])));
	json_object_set_new(body, "resources", resources);
	text_set(body, "deadline", a->deadline);
	text_set(body, "type", a->type);
	text_set(body, "queue", a->queue);
	text_set(body, "account", a->account);
	return body;
}

static void nodes_add(struct strbuf *out, const json_t *nodes)
{
	struct strbuf text = {0};
	name_list names = {0};
	const json_t *name;
	size_t i;

	json_array_foreach(nodes, i, name) vec_push(&names, mem_strdup(json_string_value(name)));
	hostlist_format(names.v, names.n, &text);
	if (text.n)
		strbuf_printf(out, " on %s", text.text);
	name_list_free(&names);
	strbuf_fini(&text);
}

static void paragraph(struct strbuf *text)
{
	if (text->n > 0 && terminal_columns() > 0)
		print_wrapped(stdout, text->text, 0, 0);
	else if (text->n > 0)
		printf("%s\n", text->text);
	strbuf_clear(text);
}

static void answer_print(const json_t *answer, bool deadline)
{
	int64_t now = (int64_t)time(NULL), start = object_number(answer, "start", 0),
		end = object_number(answer, "end", 0);
	const char *reason = object_text(answer, "reason");
	struct strbuf text = {0};
	char when[40], far[40];

	if (!json_is_true(json_object_get(answer, "possible"))) {
		strbuf_printf(&text, "It would not run: %s.", reason);
	} else if (start <= 0) {
		strbuf_printf(&text, "Its start can't be foreseen: %s.", reason);
	} else {
		if (start <= now + 1)
			strbuf_puts(&text, "It would start at once");
		else
			strbuf_printf(&text, "It would start at %s, in %s,", instant_format(start, when, sizeof when),
				      duration_human(start - now, far, sizeof far));
		nodes_add(&text, json_object_get(answer, "nodes"));
		if (end > 0)
			strbuf_printf(&text, ", and be done by %s", instant_format(end, when, sizeof when));
		strbuf_puts(&text, ".");
	}
	paragraph(&text);
	if (*object_text(answer, "price_unit"))
		strbuf_printf(&text, "The price would be %s %s.",
			      duration_format(object_number(answer, "price", 0), when, sizeof when),
			      object_text(answer, "price_unit"));
	paragraph(&text);
	if (start > 0 && deadline)
		strbuf_printf(&text, "The deadline would %sbe guaranteed.",
			      json_is_true(json_object_get(answer, "guaranteed")) ? "" : "not ");
	paragraph(&text);
	strbuf_fini(&text);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct client *client;
	struct reply reply;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	json_t *body = body_make(a);
	if (show_post(c, client, "/v1/whatif", body, &reply, &code)) {
		if (a->json)
			show_json(reply.json);
		else
			answer_print(reply.json, json_is_boolean(json_object_get(reply.json, "guaranteed")));
		code = json_is_true(json_object_get(reply.json, "possible")) ? EXIT_OK : EXIT_FAILED;
		reply_fini(&reply);
	}
	json_decref(body);
	client_close(client);
	return code;
}

const struct command command_whatif = {
	.name = "whatif",
	.operands = "",
	.about = "Tell when a job would start and end if it were submitted now.",
	.details = "Nothing is submitted. Exit code 1: such a job could not run.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
};
