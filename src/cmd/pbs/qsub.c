/*
 * qsub.c - `qsub` and `shunt submit`: submit a job.
 *
 * Programs take qsub's output for the id, so it prints one line on standard output and nothing
 * else. Remarks go to standard error, and only if that is a terminal.
 */
#include "cmd/pbs/qsub.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/items.h"
#include "core/array.h"
#include "rules/quota_file.h"

extern char **environ;

#define QUOTA_LOW 10 /* quota is low if at most 1/QUOTA_LOW of the month is left */

/* Returns true if remarks for people cannot disturb a program. */
static bool remarks_wanted(const struct jobspec *s)
{
	return isatty(STDERR_FILENO) && !s->silent;
}

static int directive_add(const struct command *c, struct jobspec *s, const struct directive *d, struct err *err)
{
	struct job_arguments *a = options_create(c);
	char **operand = mem_zalloc(sizeof *operand * ((size_t)d->words.n + 1));
	int n, rc = options_parse(c, d->words.n, d->words.v, a, operand, &n, err);

	if (rc > 0)
		rc = err_set(err, -EINVAL, "--help is for the command line");
	if (rc == 0 && a->template)
		rc = err_set(err, -EINVAL, "--template is for the command line");
	jobspec_join(a, operand, &n);
	if (rc == 0 && n)
		rc = err_set(err, -EINVAL, "\"%.60s\" belongs to no option%s", operand[0],
			     operand[0][0] == '=' ? ": write NAME=VALUE without blanks"
						  : "; a value with blanks needs quotes");
	if (rc == 0)
		rc = jobspec_add(s, a, err);
	free(operand);
	options_free(c, a);
	return rc;
}

/* Adds the directives of the script, in order. */
static int directives_add(const struct command *c, struct jobspec *s, const struct source *source, const char *prefix,
			  struct arena *arena, struct directives *ret, struct err *err)
{
	const char *site = getenv("PBS_DPREFIX");
	int rc = directives_read(strbuf_text(&source->text), source->text.n,
				 prefix ? prefix
				 : site ? site
					: SCRIPT_PREFIX,
				 arena, ret, err);

	if (rc < 0)
		return err_prefix(err, rc, "%.200s", source->label);
	for (size_t i = 0; i < ret->list.n && rc == 0; i++) {
		rc = directive_add(c, s, &ret->list.v[i], err);
		if (rc < 0)
			err_prefix(err, rc, "%.200s, line %d", source->label, ret->list.v[i].line);
	}
	return rc;
}

int job_from_script(const char *path, json_t **ret, struct err *err)
{
	struct arena *arena = arena_create();
	struct directives d = {0};
	struct source source = {0};
	struct jobspec s;
	int rc = source_file(&source, path, err);

	jobspec_init(&s);
	if (rc == 0)
		rc = directives_add(&command_qsub, &s, &source, NULL, arena, &d, err);
	if (rc == 0) {
		if (!json_object_get(s.job, "name"))
			jobspec_text(&s, "name", source.name);
		source_put(&source, s.job);
		*ret = json_incref(s.job);
	}
	directives_fini(&d);
	jobspec_fini(&s);
	source_fini(&source);
	arena_destroy(arena);
	return rc;
}

/* Records the command line, quoted so that a shell can read it again; for display. */
static void submit_args_put(struct jobspec *s, int argc, char **argv)
{
	struct strbuf text = {0};

	for (int i = 0; i < argc; i++) {
		strbuf_puts(&text, i ? " " : "");
		text_quote(argv[i], &text);
	}
	if (text.n)
		jobspec_text(s, "submit_args", text.text);
	strbuf_fini(&text);
}

/* Sets defaults for what no option has set. */
static int defaults_put(struct jobspec *s, const struct source *source, struct err *err)
{
	char here[PATH_MAX], below[PATH_MAX + 1];

	directory_here(here, sizeof here);
	json_t *text = json_string(here); /* NULL: not UTF-8 */
	json_decref(text);
	if (!text && !json_object_get(s->job, "workdir"))
		return err_set(err, -EILSEQ,
			       "the name of this directory is not UTF-8: go to another, or name one with -d");
	if (!json_object_get(s->job, "name"))
		jobspec_text(s, "name", source->name);
	if (!json_object_get(s->job, "workdir"))
		jobspec_text(s, "workdir", here);
	jobspec_directories(s);
	if (!s->workdir)
		return 0;
	/* With -d the job starts elsewhere, but its output comes here. */
	snprintf(below, sizeof below, "%s/", here);
	for (const char *const *key = (const char *const[]){"output", "error", NULL}; *key; key++) {
		const char *path = json_string_value(json_object_get(s->job, *key));
		const char *colon = path ? strchr(path, ':') : NULL;
		char joined[2 * PATH_MAX];
		if (path && (path[0] == '/' || (colon && colon[1] == '/')))
			continue;
		snprintf(joined, sizeof joined, "%s%s", below, path ? path : "");
		jobspec_text(s, *key, joined);
	}
	return 0;
}

/* Submits a job. Returns 0 and the answer, or the exit code after printing an error. */
static int job_submit(const struct command *c, struct client *client, const struct jobspec *s, struct reply *ret)
{
	int code = EXIT_FAILED;

	if (!show_submit(c, client, "/v1/jobs", s->job, ret, &code))
		return code;
	job_warn(c, s, ret);
	return EXIT_OK;
}

void job_warn(const struct command *c, const struct jobspec *s, const struct reply *r)
{
	size_t i;
	json_t *warning;

	json_array_foreach(json_object_get(r->json, "warnings"), i, warning) if (json_is_string(warning) && !s->silent)
		command_warn(c, "%s", value_text(warning));
}

/* Prints whether the deadline is guaranteed. */
static void guarantee_say(const struct jobspec *s, const struct reply *r, FILE *out)
{
	json_int_t deadline = json_integer_value(json_object_get(s->job, "deadline"));
	int64_t start = object_number(r->json, "planned_start", -1);
	const json_t *guaranteed = json_object_get(r->json, "guaranteed");
	char by[40], from[40];

	/* A nice job's deadline is when it stops being nice; a job for which the priority quota is
	 * too small has lost its deadline. */
	if (!json_object_get(s->job, "deadline") || strcmp(object_text(s->job, "type"), "N") == 0 ||
	    json_is_null(guaranteed))
		return;
	instant_format(deadline, by, sizeof by);
	if (!guaranteed)
		fprintf(out, "Whether the deadline %s is guaranteed is decided when the server is started.\n", by);
	else if (!json_is_true(guaranteed))
		fprintf(out, "The deadline %s is not guaranteed: see 'shunt why %s'.\n", by,
			object_text(r->json, "id"));
	else if (start > 0)
		fprintf(out, "The deadline %s is guaranteed; it starts by %s.\n", by,
			instant_format(start, from, sizeof from));
	else
		fprintf(out, "The deadline %s is guaranteed.\n", by);
}

/* Prints when a job, or the elements of an array, are expected to start and end. */
static void times_say(const json_t *job, int64_t from, int64_t to)
{
	const json_t *counts = json_object_get(job, "array_counts");
	int64_t running = json_is_object(counts) ? object_number(counts, "R", 0) : 0;
	char start[40], end[40];

	instant_format(from, start, sizeof start);
	instant_format(to, end, sizeof end);
	if (running > 0)
		printf("Elements that run now: %lld. The last is expected to be completed by %s.\n", (long long)running,
		       end);
	else if (json_is_object(counts))
		printf("Its first element is expected to start at %s, and its last to be completed by %s.\n", start,
		       end);
	else
		printf("It is expected to start at %s and to be completed by %s.\n", start, end);
}

/* Prints the expected start and end, if known. */
static void expected_say(struct client *client, const char *id)
{
	struct reply r = {0};

	if (client_ask(client, "GET", api_path("/v1/jobs/%s", id), NULL, 0, &r, NULL) == 0) {
		int64_t from = object_number(r.json, "started", object_number(r.json, "expected_start", 0)),
			to = object_number(r.json, "expected_end", 0);
		if (from && to)
			times_say(r.json, from, to);
		else if (strcmp(object_text(r.json, "state"), "C") == 0)
			printf("It has ended already.\n");
		else if (*object_text(r.json, "no_estimate"))
			printf("Shunt can't say when it will start: %s.\n", object_text(r.json, "no_estimate"));
	}
	reply_fini(&r);
}

/* Warns if a tenth of the month's quota or less is left. */
static void quota_say(const struct command *c, struct client *client, bool priority)
{
	const char *type = priority ? "priority" : "normal";
	struct reply r = {0};
	char left[40], all[40];

	if (client_ask(client, "GET", "/v1/quota", NULL, 0, &r, NULL) == 0 &&
	    json_is_true(json_object_get(r.json, "counted"))) {
		const json_t *quota = json_array_get(json_object_get(r.json, "quota"), 0);
		int64_t limit = object_number(json_object_get(quota, "limit"), type, 0),
			rest = object_number(json_object_get(quota, "left"), type, 0);
		if (limit > 0 && rest <= limit / QUOTA_LOW)
			command_warn(c, "your quota run low: %s of %s for %s jobs are left this month",
				     quota_hours(rest, left, sizeof left), quota_hours(limit, all, sizeof all), type);
	}
	reply_fini(&r);
}

/* Prints the answer for people (`shunt submit`). */
static void answer_say(const struct command *c, struct client *client, const struct jobspec *s, const struct reply *r)
{
	const char *id = object_text(r->json, "id");

	if (*object_text(s->job, "name"))
		printf("Submitted job %s (%s).\n", id, object_text(s->job, "name"));
	else
		printf("Submitted job %s, which continues where job %s ended.\n", id, object_text(s->job, "restart"));
	expected_say(client, id);
	guarantee_say(s, r, stdout);
	printf("Watch it with 'shunt job %.*s', read its output with 'shunt output %.*s'.\n", (int)strcspn(id, "."), id,
	       (int)strcspn(id, "."), id);
	quota_say(c, client, json_object_get(s->job, "deadline"));
}

static int answer(const struct command *c, struct client *client, const struct jobspec *s, bool json,
		  const struct reply *r)
{
	if (json)
		show_json(r->json);
	else if (c->own && !s->silent)
		printf("%s\n", object_text(r->json, "id"));
	else if (!c->own && !s->silent)
		answer_say(c, client, s, r);
	if (c->own && remarks_wanted(s))
		guarantee_say(s, r, stderr);
	if (!s->block)
		return EXIT_OK;
	fflush(stdout);
	return job_wait(c, client, object_text(r->json, "id"));
}

static int submit(const struct command *c, struct jobspec *s, bool json)
{
	struct client *client;
	struct reply r = {0};
	int code;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	if (s->interactive) {
		code = job_interact(c, client, s);
	} else {
		if (c->own && !s->block)
			client_once(client);
		code = job_submit(c, client, s, &r);
		if (code == EXIT_OK)
			code = answer(c, client, s, json, &r);
	}
	reply_fini(&r);
	client_close(client);
	return code;
}

/* The parsed command line: options before "--", a command after it. */
struct call {
	struct arena *arena;
	struct items items;
	struct job_arguments *a;
	char **operand;
	int noperands;
	char **word; /* words of the command */
	int nwords;
	bool command;
	bool scriptless; /* a script may be missing */
	name_list each;	 /* values of the elements of an array */
};

/* Takes the values of --each and --each-line. */
static int each_take(struct call *call, struct err *err)
{
	const char *first = call->a->each.value, *lines = call->a->each.lines;
	int rc = 0;

	if (!first && !lines)
		return 0;
	if (!call->command)
		return err_set(err, -EINVAL, "--each%s needs a command after --, as in -- ./program {}",
			       lines ? "-line" : "");
	if (call->a->array || (first && lines))
		return err_set(err, -EINVAL, "--each, --each-line and --array make arrays: give one of them");
	if (first)
		vec_push(&call->each, mem_strdup(first));
	for (int i = 0; first && i < call->noperands; i++)
		vec_push(&call->each, mem_strdup(call->operand[i]));
	if (first)
		call->noperands = 0;
	if (lines)
		rc = values_read(lines, &call->each, err);
	if (rc == 0 && (call->each.n == 0 || call->each.n > ARRAY_COUNT_MAX))
		rc = err_set(err, -EINVAL, "--each-line %.200s: %zu values; an array has 1 to %d elements", lines,
			     call->each.n, ARRAY_COUNT_MAX);
	return rc;
}

static int call_parse(const struct command *c, int argc, char **argv, struct call *ret, struct err *err)
{
	int before = 0;

	while (before < argc && strcmp(argv[before], "--") != 0)
		before++;
	*ret = (struct call){.arena = arena_create(),
			     .a = options_create(c),
			     .operand = mem_zalloc(sizeof(char *) * ((size_t)argc + 1))};
	ret->command = before < argc;
	ret->word = argv + before + ret->command;
	ret->nwords = argc - before - ret->command;
	int rc = options_parse(c, before, argv, ret->a, ret->operand, &ret->noperands, err);
	if (rc == 0)
		rc = jobspec_refused(ret->a, err);
	if (rc != 0)
		return rc;
	jobspec_join(ret->a, ret->operand, &ret->noperands);
	rc = each_take(ret, err);
	if (rc < 0)
		return rc;
	if (ret->command && ret->nwords == 0)
		return err_set(err, -EINVAL, "a command is missing after --");
	if (ret->command && ret->noperands)
		return err_set(err, -EINVAL, "\"%.60s\": either a script or, after --, a command", ret->operand[0]);
	if (ret->noperands > 1)
		return err_set(err, -EINVAL,
			       "\"%.60s\" is one too many: options go before the script, its arguments into -F \"...\"",
			       ret->operand[1]);
	return 0;
}

/* Asks the server whether the number of processors may be left out; if it does not answer, the
 * number is required. */
static void processors_learn(struct items *x)
{
	struct client *client;
	struct reply r = {0};

	if (x->given[ITEM_PROCESSORS] || x->given[ITEM_PARTITION] || client_open(&client, NULL) < 0)
		return;
	if (client_ask(client, "GET", "/v1/machine", NULL, 0, &r, NULL) == 0)
		x->processors = object_number(r.json, "processors", 0);
	reply_fini(&r);
	client_close(client);
}

/* Asks for the missing items if nothing names a program and there is a user to ask. */
static int call_complete(const struct command *c, struct call *call, struct err *err)
{
	bool named = call->command || call->noperands || texts_value(&call->a->members, "restart"),
	     asks = isatty(STDIN_FILENO);
	struct words words;
	int rc = items_gather(call->a, call->arena, &call->items, err);

	if (rc < 0 || named || call->scriptless || (!call->items.file && (c->own || !asks || call->a->interactive)))
		return rc;
	processors_learn(&call->items);
	rc = asks ? items_ask(&call->items, call->arena, err) : 0;
	if (rc == 0)
		rc = items_check(&call->items, err);
	if (rc == 0)
		rc = items_program(&call->items, call->arena, &words, err);
	if (rc == 0) {
		call->command = true;
		call->word = words.v;
		call->nwords = words.n;
	}
	return rc;
}

/* Begins with the values of a template; the script and the options come after it. */
static int template_take(struct jobspec *s, const char *name, struct err *err)
{
	struct client *client;
	struct reply r = {0};
	const json_t *entry;
	size_t i;
	int rc = client_open(&client, err);

	if (rc < 0)
		return rc;
	rc = client_ask(client, "GET", api_path("/v1/templates/%s", name), NULL, 0, &r, err);
	if (rc == 0)
		json_object_update(s->job, json_object_get(r.json, "job"));
	json_array_foreach(json_object_get(s->job, "environment"), i, entry)
	{
		const char *text = json_string_value(entry), *value = text ? strchr(text, '=') : NULL;
		if (value) {
			struct variable v = {strndup(text, (size_t)(value - text)), mem_strdup(value + 1)};
			vec_push(&s->variables, v);
		}
	}
	reply_fini(&r);
	client_close(client);
	return rc;
}

static bool functions_exported(void)
{
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "BASH_FUNC_", 10) == 0)
			return access("/bin/bash", X_OK) == 0;
	return false;
}

static int source_read(const struct call *call, struct source *source, struct err *err)
{
	bool none = call->noperands == 0 &&
		    (call->a->interactive || call->scriptless || texts_value(&call->a->members, "restart"));

	if (call->each.n)
		source_each(source, call->word, call->nwords, &call->each);
	else if (call->command)
		source_command(source, call->word, call->nwords, call->a->export_all && functions_exported());
	else if (none)
		*source = (struct source){.name = "STDIN", .label = "standard input"};
	else
		return source_file(source, call->noperands ? call->operand[0] : NULL, err);
	return 0;
}

/* Returns true if a program of this name is found in PATH. */
static bool program_found(const char *name)
{
	const char *path = getenv("PATH");
	char at[PATH_MAX];

	for (const char *p = path; p; p = *p == ':' ? p + 1 : NULL) {
		int n = (int)strcspn(p, ":");
		if (snprintf(at, sizeof at, "%.*s/%s", n, n ? p : ".", name) < (int)sizeof at && access(at, X_OK) == 0)
			return true;
		p += n;
	}
	return !path;
}

/* Warns of a command that can't be run here, which nodes may be able to run. */
static void program_warn(const struct command *c, const struct call *call, const struct jobspec *s)
{
	const char *word = call->nwords ? call->word[0] : "";

	if (!*word || strstr(word, "{}") || (call->a->export_all && functions_exported()))
		return;
	if (!strchr(word, '/') && !program_found(word))
		command_warn(c, "%s: no such command on this machine; the job fails on nodes where that is so", word);
	if (strchr(word, '/') && (word[0] == '/' || !s->workdir) && access(word, X_OK) < 0)
		command_warn(
			c, "%s: it can't be run on this machine (%s%s%s); the job also fails on nodes where that is so",
			word, strerror(errno), errno == EACCES ? ": chmod +x " : "", errno == EACCES ? word : "");
}

/* Warns of files that are missing here; it is not an error because nodes may have them. */
static void paths_warn(const struct command *c, const struct jobspec *s)
{
	static const char *const keys[][2] = {{"output", "-o"}, {"error", "-e"}};
	const char *shell = json_string_value(json_object_get(s->job, "shell"));

	if (shell && shell[0] == '/' && access(shell, X_OK) < 0)
		command_warn(
			c, "-S %s: it can't be run on this machine (%s); the job also fails on nodes where that is so",
			shell, strerror(errno));
	const char *workdir = json_string_value(json_object_get(s->job, "workdir"));
	if (s->workdir && workdir && access(workdir, F_OK) < 0)
		command_warn(c, "-d %s: no such directory on this machine; the job fails on nodes where that is so",
			     workdir);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *path = json_string_value(json_object_get(s->job, keys[i][0]));
		char directory[PATH_MAX];
		/* host:path is for another machine, and variables are not expanded yet. */
		if (!path || strpbrk(path, ":$^") || !strchr(path, '/') || strlen(path) >= sizeof directory)
			continue;
		snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path), path);
		if (directory[0] && access(directory, F_OK) < 0)
			command_warn(c, "%s %s: no directory %s on this machine", keys[i][1], path, directory);
	}
}

/* Explains a missing script if an option took a file for its value: qsub -M job.sh. */
static int script_missing(const struct command *c, const struct call *call, int rc, struct err *err)
{
	for (const struct option *o = c->options; o->name; o++) {
		const void *at = (const char *)call->a + o->at;
		const char *text = o->kind == OPTION_MEMBER ? texts_value(at, o->name)
				   : o->kind == OPTION_TEXT ? *(const char *const *)at
							    : NULL;
		struct stat st;
		if (text && o->letter && strcmp(o->value, "PATH") != 0 && stat(text, &st) == 0 && S_ISREG(st.st_mode))
			return err_set(err, rc, "no script: -%c took %.200s as its value (-%c %s)", o->letter, text,
				       o->letter, o->value);
	}
	return rc;
}

/* Prepares everything up to the submission. */
static int prepare(const struct command *c, const struct call *call, struct jobspec *s, struct err *err)
{
	struct arena *arena = arena_create();
	struct directives directives = {0};
	struct source source = {0};
	const char *missing;
	int rc = source_read(call, &source, err);

	if (rc < 0 && !call->command && call->noperands == 0)
		rc = script_missing(c, call, rc, err);
	if (rc < 0 && !call->command && call->noperands == 0 && !c->own && source.text.n == 0) {
		struct items items = call->items;
		processors_learn(&items);
		rc = items_check(&items, err);
	}
	if (rc == 0 && call->a->template)
		rc = template_take(s, call->a->template, err);
	if (rc == 0 && !call->command)
		rc = directives_add(c, s, &source, call->a->prefix, arena, &directives, err);
	if (rc == 0)
		rc = items_put(&call->items, s, err);
	if (rc == 0)
		rc = jobspec_add(s, call->a, err);
	if (rc == 0 && call->each.n)
		jobspec_text(s, "array", arena_printf(arena, "1-%zu", call->each.n));
	if (rc == 0 && texts_value(&call->a->members, "restart") && !call->command && call->noperands == 0)
		goto out; /* everything else belongs to the other job */
	if (rc == 0)
		rc = defaults_put(s, &source, err);
	if (rc == 0) {
		/* An interactive job's script only gives its directives, unless -x says to run
		 * it. */
		bool runs =
			call->command || s->command || (!s->interactive && !(call->scriptless && call->noperands == 0));
		jobspec_environment(s, &missing);
		if (runs)
			source_put(&source, s->job);
		source_program(&source, s->job);
		if (!s->silent && (runs || source.text.n > 0))
			source_remarks(c, &source, &directives);
		if (missing && !s->silent)
			command_warn(c, "-v %s: this variable is not set here; it was left out", missing);
		if (!s->silent) {
			paths_warn(c, s);
			program_warn(c, call, s);
		}
	}
out:
	directives_fini(&directives);
	source_fini(&source);
	arena_destroy(arena);
	return rc;
}

int job_main(const struct command *c, int argc, char **argv, bool scriptless,
	     int (*then)(const struct command *c, struct jobspec *s, bool json))
{
	struct jobspec s;
	struct call call;
	struct err err;
	int code, rc = call_parse(c, argc, argv, &call, &err);

	call.scriptless = scriptless || (rc == 0 && call.a->template);
	jobspec_init(&s);
	if (rc < 0) {
		code = command_misused(c, "%s", err.text);
	} else if (rc > 0) {
		code = command_answer(c, rc);
	} else if (call_complete(c, &call, &err) < 0 || prepare(c, &call, &s, &err) < 0) {
		code = command_fail(c, "%s", err.text);
	} else {
		submit_args_put(&s, argc, argv);
		code = then(c, &s, call.a->json);
	}
	jobspec_fini(&s);
	options_free(c, call.a);
	free(call.operand);
	name_list_free(&call.each);
	arena_destroy(call.arena);
	return code;
}

static int qsub(const struct command *c, int argc, char **argv)
{
	return job_main(c, argc, argv, false, submit);
}

#define DETAILS                                                                                                               \
	"The script comes from the file, from standard input, or is made of the command after --. Options may also stand in " \
	"the script, in lines that begin with #PBS, before the first command; those of the command line win. The job starts " \
	"in this directory."

const struct command command_qsub = {
	.name = "qsub",
	.operands = "[SCRIPT | -- COMMAND [ARGUMENTS]]",
	.operand_kind = OPTION_FILE,
	.about = "Submit a job, and print its id.",
	.details = DETAILS,
	.examples = EXAMPLES(
		{"qsub -l nodes=1:ppn=4,walltime=2:00:00 job.sh", "Four CPUs of one node, for up to two hours."},
		{"qsub -t 1-100%5 -W depend=afterok:12 job.sh",
		 "A hundred jobs, five at once, once job 12 has succeeded."},
		{"qsub -t Q -p \"2026-11-16 18:00\" job.sh",
		 "To be done by then, and told at once whether that is certain."},
		{"qsub -l ncpus=2 -- ./program --fast", "A program instead of a script."}),
	.options = qsub_options,
	.hints = qsub_hints,
	.size = sizeof(struct job_arguments),
	.main = qsub,
	.own = true,
};

const struct command command_submit = {
	.name = "submit",
	.operands = "[SCRIPT | -- COMMAND [ARGUMENTS]]",
	.operand_kind = OPTION_FILE,
	.about = "Submit a job, and show when it should start.",
	.details = DETAILS
	" Like qsub, with answers in plain words. Without script and command, and on a terminal, it asks for what neither the command line nor the job description (--job) has.",
	.examples = EXAMPLES(
		{"shunt submit job.sh --resources nodes=1:ppn=4,walltime=2:00:00",
		 "Four CPUs of one node, for up to two hours."},
		{"shunt submit job.sh --deadline +3h --require-guarantee",
		 "Only if it is certain to be done in three hours."},
		{"shunt submit --job dynamol.job --run-time 2:30", "As in dynamol.job, except for the run time."},
		{"shunt submit", "On a terminal: asks for everything."},
		{"shunt submit --array 1-100%5 --depend afterok:12 job.sh",
		 "A hundred jobs, five at once, once job 12 has succeeded."},
		{"shunt submit --restart 12 --resources walltime=8:00:00",
		 "Continue where job 12 was stopped by its limit, for up to eight hours."},
		{"shunt submit --each a.csv b.csv -- ./convert {} --fast", "An array with an element for each file."},
		{"shunt submit --each-line seeds.txt -- ./simulate --seed {}", "An element for each line of a file."}),
	.options = qsub_options,
	.hints = qsub_hints,
	.size = sizeof(struct job_arguments),
	.main = qsub,
};
