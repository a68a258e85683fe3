/*
 * audit.c - `shunt audit`: shows who changed settings and other users' jobs, and how to undo it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/lib/when.h"

struct arguments {
	const char *since, *user, *object;
	bool json, undo;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXT, 0, "since", since, "WHEN", "changes since then: 2h or 7d ago, or a date such as 2026-11-01",
	       .initial = "7d"),
	OPTION(TEXT, 'u', "user", user, "USER", "only changes by this user"),
	OPTION(TEXT, 'o', "object", object, "KIND[:NAME]",
	       "only changes of this: server, queue:batch, node:n3, job:12.pine, user:ann"),
	FLAG(0, "undo", undo, "print only the commands that undo the changes, the last change first"),
	FLAG(0, "json", json, "print JSON instead of text"),
	{0},
};

static void path_make(const struct arguments *a, int64_t since, int64_t after, struct strbuf *path)
{
	char text[32];

	strbuf_clear(path);
	strbuf_puts(path, "/v1/audit");
	snprintf(text, sizeof text, "%lld", (long long)(since > 0 ? since : 0));
	query_add(path, "since", text);
	snprintf(text, sizeof text, "%lld", (long long)after);
	query_add(path, "after", text);
	query_add(path, "user", a->user);
	if (a->object) {
		const char *name = strchr(a->object, ':');
		char *kind = strndup(a->object, strcspn(a->object, ":"));
		query_add(path, "kind", kind);
		query_add(path, "name", name ? name + 1 : NULL);
		free(kind);
	}
}

static void records_print(const json_t *all)
{
	const json_t *x;
	char when[40];
	size_t i;

	json_array_foreach(all, i, x)
	{
		const char *change = object_text(x, "change"), *undo = object_text(x, "undo");
		printf("%s %s: %s %s %s%s%s\n", instant_format(object_number(x, "time", 0), when, sizeof when),
		       object_text(x, "who"), object_text(x, "kind"), object_text(x, "name"), object_text(x, "action"),
		       *change ? ": " : "", change);
		if (*undo)
			printf("    undo: %s\n", undo);
	}
	if (json_array_size(all) == 0)
		printf("No changes.\n");
}

static void undo_print(const json_t *all)
{
	for (size_t i = json_array_size(all); i-- > 0;) {
		const json_t *x = json_array_get(all, i);
		const char *undo = object_text(x, "undo");
		if (*undo)
			printf("%s\n", undo);
		else
			printf("# no command undoes: %s %s %s\n", object_text(x, "kind"), object_text(x, "name"),
			       object_text(x, "action"));
	}
}

/* Reads all pages. */
static int records_get(const struct command *c, const struct arguments *a, int64_t since, json_t *all)
{
	struct strbuf path = {0};
	struct client *client;
	int64_t after = 0;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	while (after >= 0) {
		struct reply r = {0};
		path_make(a, since, after, &path);
		if (!show_get(c, client, path.text, &r, &code))
			break;
		json_array_extend(all, json_object_get(r.json, "records"));
		after = object_number(r.json, "next", -1);
		reply_fini(&r);
	}
	client_close(client);
	strbuf_fini(&path);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	json_t *all = json_array();
	int64_t since;
	int code = when_parse(c, "since", a->since, (int64_t)time(NULL), &since);

	if (code == EXIT_OK)
		code = records_get(c, a, since, all);
	if (code == EXIT_OK && a->json)
		show_json(all);
	else if (code == EXIT_OK)
		(a->undo ? undo_print : records_print)(all);
	json_decref(all);
	return code;
}

const struct command command_audit = {
	.name = "audit",
	.about = "Show who changed which settings, and how to undo it.",
	.details =
		"For managers. Recorded are changes of the server, queues, nodes, partitions, classes, users, groups, accounts, QoS, reservations and tokens, and actions on other people's jobs. Each "
		"record has the command that restores what was there before, where there is one; it is shown, not run. Undo the last change first. The attribute keep_audit of the server says "
		"how long records are kept.",
	.examples = EXAMPLES(
		{"shunt audit", "Show the changes of the last week, with the commands that undo them."},
		{"shunt audit --user ann --object queue:batch --since 2026-11-01",
		 "Show what ann has changed of a queue."},
		{"shunt audit --since 1h --undo", "Print the commands that take back the last hour; nothing is run."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
