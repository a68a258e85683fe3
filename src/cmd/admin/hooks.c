/*
 * hooks.c - `shunt hooks`: shows the site's hooks, and tests a file on a job before it is installed
 * as a hook.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/qsub.h"

#define SOURCE_MOST (256 << 10) /* bytes; the server's limit */

/* ---- the list ---- */

static const struct example examples[] = {
	{"shunt hooks", "The hooks, the events they have functions for, and how often they were called."},
	{"shunt hooks check 10-account.lua", "Can this file be used as a hook?"},
	{"shunt hooks test 10-account.lua --job job.sh", "What would it say of this job?"},
	{0},
};

static void cell_state(const json_t *x, const char *key, struct strbuf *cell)
{
	const char *state = object_text(x, key);

	strbuf_puts(cell, strcmp(state, "in_force") == 0 ? "in force" : state);
}

static void cell_mean(const json_t *x, const char *key, struct strbuf *cell)
{
	int64_t calls = object_number(x, "calls", 0);

	strbuf_printf(cell, "%.2f ms", calls ? (double)object_number(x, key, 0) / 1e3 / (double)calls : 0);
}

static void cell_ms(const json_t *x, const char *key, struct strbuf *cell)
{
	strbuf_printf(cell, "%.2f ms", (double)object_number(x, key, 0) / 1e3);
}

static void hooks_print(const json_t *answer)
{
	static const struct listing_column columns[] = {
		{"hook", "name", .make = cell_plain},	     {"state", "state", .make = cell_state},
		{"events", "events", .make = cell_words},    {">calls", "calls", .make = cell_plain},
		{">failed", "failures", .make = cell_plain}, {">mean", "microseconds", .make = cell_mean},
		{">longest", "longest", .make = cell_ms},    {0},
	};
	const json_t *list = json_object_get(answer, "hooks"), *x;
	size_t i;

	if (*object_text(answer, "problem"))
		printf("The directory is not read: %s\n", object_text(answer, "problem"));
	if (json_array_size(list) == 0)
		printf("No hooks. A file NAME.lua in %s becomes one.\n", object_text(answer, "directory"));
	listing_print(list, columns, "");
	json_array_foreach(list, i, x)
	{
		if (*object_text(x, "problem"))
			printf("\n%s on disk: %s\n", object_text(x, "name"), object_text(x, "problem"));
		if (*object_text(x, "last_failure"))
			printf("\n%s failed last: %s\n", object_text(x, "name"), object_text(x, "last_failure"));
	}
}

static int list_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return show_answer(c, "/v1/hooks", ((const struct show_arguments *)arguments)->json, hooks_print);
}

const struct command command_hooks = {
	.name = "hooks",
	.about = "List the site's hooks.",
	.details =
		"A hook is a Lua file in the directory of hooks. Its functions are called when jobs are submitted, modified, started and ended. Files are read again when they change. "
		"State \"old\": the file on disk is broken, and the version before it is in force. \"broken\": it was broken when the server started, and counts as failing. "
		"\"unused\": it is broken, and never was in force. For operators and managers.",
	.examples = examples,
	OPTIONS(struct show_arguments, show_options),
	.run = list_run,
};

/* ---- a file ---- */

struct arguments {
	const char *job, *event, *user, *group, *changes;
	bool json;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option test_options[] = {
	OPTION(FILE, 0, "job", job, "FILE", "the job: a script, as qsub takes it, or JSON, as POST /v1/jobs does"),
	OPTION(WORD, 0, "event", event, "EVENT", "what happens to it", .initial = "submit",
	       .words = "submit modify start end"),
	OPTION(TEXT, 0, "changes", changes, "JSON",
	       "with --event modify: what is to change, such as {\"priority\": 5}"),
	OPTION(TEXT, 0, "user", user, "USER", "whose job it is; yours if not given"),
	OPTION(TEXT, 0, "group", group, "GROUP", "the user's group"),
	FLAG(0, "json", json, "print JSON"),
	{0},
};

static int hook_file_read(const char *path, struct strbuf *out, struct err *err)
{
	int rc = file_read(path, O_NONBLOCK, SOURCE_MOST, out);

	if (rc == -EFBIG)
		return err_set(err, rc, "%s: it has more than the %d KB that are allowed", path, SOURCE_MOST >> 10);
	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

static int job_read(const char *path, json_t *body, struct err *err)
{
	struct strbuf text = {0};
	json_t *job = NULL;
	json_error_t error;
	int rc = hook_file_read(path, &text, err);

	if (rc == 0 && text.text && text.text[strspn(text.text, " \t\r\n")] == '{') {
		job = json_loads(text.text, 0, &error);
		if (!job)
			rc = err_set(err, -EINVAL, "%s is not JSON: %s (line %d)", path, error.text, error.line);
	} else if (rc == 0) {
		rc = job_from_script(path, &job, err);
	}
	if (rc == 0)
		json_object_set_new(body, "job", job);
	strbuf_fini(&text);
	return rc;
}

static int source_read(const char *path, json_t *body, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct strbuf text = {0};
	int rc = hook_file_read(path, &text, err);
	json_t *source = rc == 0 ? json_stringn(strbuf_text(&text), text.n) : NULL;

	if (rc == 0 && !source)
		rc = err_set(err, -EILSEQ, "%s: it is not UTF-8", path);
	if (rc == 0) {
		json_object_set_new(body, "name", json_string(slash ? slash + 1 : path));
		json_object_set_new(body, "source", source);
	}
	strbuf_fini(&text);
	return rc;
}

static int event_put(const struct arguments *a, json_t *body, struct err *err)
{
	json_t *facts = json_object(), *changes;
	int rc = a->job ? job_read(a->job, body, err) : 0;

	json_object_set_new(facts, "user", json_string(a->user ? a->user : user_name()));
	if (a->group)
		json_object_set_new(facts, "group", json_string(a->group));
	json_object_set_new(body, "facts", facts);
	json_object_set_new(body, "event", json_string(a->event));
	if (rc == 0 && a->changes) {
		changes = json_loads(a->changes, 0, NULL);
		if (!json_is_object(changes))
			rc = err_set(err, -EINVAL, "--changes %.60s: it must be a JSON object", a->changes);
		json_object_set_new(body, "changes", changes);
	}
	return rc;
}

static void changes_print(const json_t *changes)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)changes, key, value)
	{
		char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		printf("  %s = %s\n", key, text);
		free(text);
	}
}

static void tried_print(const json_t *o)
{
	const json_t *x;
	size_t i;

	if (json_object_size(json_object_get(o, "changes")))
		printf("It would accept the job with these changes:\n");
	else if (strcmp(object_text(o, "result"), "accepted") == 0)
		printf("It would accept the job as it is.\n");
	else if (strcmp(object_text(o, "result"), "refused") == 0)
		printf("It would refuse the job: %s\n", object_text(o, "message"));
	else
		printf("It would fail: %s\n", object_text(o, "message"));
	changes_print(json_object_get(o, "changes"));
	json_array_foreach(json_object_get(o, "log"), i, x) printf("log: %s\n", value_text(x));
	json_array_foreach(json_object_get(o, "mails"), i, x)
		printf("mail to %s: %s\n", object_text(x, "to"), object_text(x, "subject"));
}

static void checked_print(const char *path, const json_t *o)
{
	const json_t *x;
	size_t i;

	printf("%s can be used, for ", path);
	json_array_foreach(json_object_get(o, "events"), i, x) printf("%s%s", i ? ", " : "", value_text(x));
	printf(".\n");
}

/* Shows the answer. Exit code 1: the file is broken, or its function failed. */
static int answer_show(const struct command *c, const char *path, const json_t *o, bool json, bool tested)
{
	const char *problem = object_text(o, "problem");

	if (json)
		show_json(o);
	else if (*problem)
		return command_fail(c, "%s", problem);
	else if (tested)
		tried_print(o);
	else
		checked_print(path, o);
	return *problem || strcmp(object_text(o, "result"), "failed") == 0 ? EXIT_FAILED : EXIT_OK;
}

static int file_run(const struct command *c, const char *path, const struct arguments *test, bool json)
{
	json_t *body = json_object();
	struct err err;
	int code;

	if (source_read(path, body, &err) < 0 || (test && event_put(test, body, &err) < 0)) {
		json_decref(body);
		return command_fail(c, "%s", err.text);
	}
	json_t *answer = show_ask(c, "/v1/hooks/try", body, &code);
	if (answer)
		code = answer_show(c, path, answer, json, test != NULL);
	json_decref(answer);
	return code;
}

static int check_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	return file_run(c, operands->v[0], NULL, ((const struct show_arguments *)arguments)->json);
}

static int test_run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;

	return file_run(c, operands->v[0], a, a->json);
}

const struct command command_hooks_check = {
	.name = "hooks check",
	.operands = "FILE",
	.operand_kind = OPTION_FILE,
	.about = "Check whether a file can be used as a hook.",
	.details =
		"The server tries it as it tries new versions of hooks: it is compiled, and its top level runs, within hook_time and hook_memory. For managers.",
	.examples = examples,
	OPTIONS(struct show_arguments, show_options),
	.run = check_run,
};

const struct command command_hooks_test = {
	.name = "hooks test",
	.operands = "FILE",
	.operand_kind = OPTION_FILE,
	.about = "Show what a hook would do with a job.",
	.details =
		"The server calls the file's function with the job. Nothing is submitted or changed, and no mail is sent. Exit code 1: the file is broken, or its function fails. For managers.",
	.examples = examples,
	OPTIONS(struct arguments, test_options),
	.run = test_run,
};
