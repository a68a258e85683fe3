/*
 * items.c - see items.h.
 */
#include "cmd/pbs/items.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/timetext.h"
#include "core/reqtext.h"

static const struct {
	const char *option;    /* for messages */
	const char *question;  /* prompt */
	const char *otherwise; /* meaning of an empty answer; NULL: an answer is required */
} rows[JOB_ITEMS] = {
	[ITEM_PROGRAM] = {"-- COMMAND", "with its arguments", NULL},
	[ITEM_CLASS] = {"--class", "script, spmd, or a class of the site", "script"},
	[ITEM_TYPE] = {"--type", "normal, priority, interactive, nice", "normal"},
	[ITEM_PARTITION] = {"--partition", "its name", "any"},
	[ITEM_PROCESSORS] = {"--processors", "a number", NULL},
	[ITEM_RUNTIME] = {"--run-time", "hh:mm", NULL},
	[ITEM_DEADLINE] = {"--deadline", "2026-11-16 18:00, or +2h", NULL},
	[ITEM_INTERVAL] = {"--checkpoint-interval", "hh:mm", "none"},
	[ITEM_DURATION] = {"--checkpoint-duration", "hh:mm, or 90s", "none"},
};

/* ---- values ---- */

static const struct {
	const char *word, *type;
} types[] = {{"normal", "C"}, {"priority", "Q"}, {"interactive", "I"}, {"nice", "N"},
	     {"C", "C"},      {"Q", "Q"},	 {"E", "E"},	       {"N", "N"}};

static const char *type_of(const char *text)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcasecmp(types[i].word, text) == 0)
			return types[i].type;
	return NULL;
}

/* A priority job must be completed by its deadline; a nice one lets others go first until then. */
static bool needs_deadline(const struct items *x)
{
	const char *type = x->value[ITEM_TYPE] ? type_of(x->value[ITEM_TYPE]) : NULL;

	return type && strchr("QN", *type);
}

static int number_check(const char *text, long most, struct err *err)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < 1 || n > most)
		return err_set(err, -EINVAL, "it is a number from 1 to %ld", most);
	return 0;
}

/* Checks the value of an item; the message does not repeat it. */
static int value_check(enum job_item i, const char *text, struct err *err)
{
	struct arena *arena = arena_create();
	struct words words;
	int64_t t;
	int rc = 0;

	switch (i) {
	case ITEM_PROGRAM:
		rc = words_split(text, strlen(text), false, arena, &words, err);
		if (rc == 0 && words.n == 0)
			rc = err_set(err, -EINVAL, "write the program and its arguments");
		break;
	case ITEM_CLASS:
		if (strpbrk(text, ",=+: \t") || strlen(text) > 64)
			rc = err_set(err, -EINVAL, "that is not the name of a class");
		break;
	case ITEM_TYPE:
		if (!type_of(text))
			rc = err_set(err, -EINVAL, "the types of jobs are: normal, priority, interactive, nice");
		break;
	case ITEM_PARTITION:
		if (strpbrk(text, ",=+: \t") || strlen(text) > 100)
			rc = err_set(err, -EINVAL, "that is not the name of a partition");
		break;
	case ITEM_PROCESSORS:
		rc = number_check(text, 1000000, err);
		break;
	case ITEM_RUNTIME:
	case ITEM_INTERVAL:
	case ITEM_DURATION:
		rc = strcasecmp(text, "none") == 0 && i != ITEM_RUNTIME ? 0 : hours_parse(text, &t, err);
		break;
	case ITEM_DEADLINE:
		rc = instant_parse(text, time(NULL), &t, err);
		break;
	default:
		break;
	}
	arena_destroy(arena);
	return rc;
}

/* ---- sources ---- */

/* Returns true if an equivalent option gives the item. */
static bool given_otherwise(const struct job_arguments *a, enum job_item i)
{
	static const char *const places[] = {"nodes=", "select=", "ncpus=", "procs="};

	if (i == ITEM_TYPE)
		return a->interactive || a->t.n;
	if (i == ITEM_DEADLINE)
		return a->p.n;
	if (i == ITEM_INTERVAL || i == ITEM_DURATION)
		return texts_value(&a->members, "checkpoint");
	for (int k = 0; k < a->resources.n; k++) {
		if (i == ITEM_PARTITION && strstr(a->resources.v[k], "partition="))
			return true;
		if (i == ITEM_RUNTIME && strstr(a->resources.v[k], "walltime="))
			return true;
		for (size_t m = 0; m < sizeof places / sizeof *places && i == ITEM_PROCESSORS; m++)
			if (strstr(a->resources.v[k], places[m]))
				return true;
	}
	return false;
}

static int file_gather(const char *path, struct arena *arena, struct items *x, struct err *err)
{
	struct jobfile f;
	int rc = jobfile_read(path, &f, err);

	for (int i = 0; i < JOB_ITEMS && rc == 0; i++) {
		if (f.value[i] && (rc = value_check((enum job_item)i, f.value[i], err)) < 0)
			err_prefix(err, rc, "%.200s: line %d: %s = %.60s", path, f.line[i],
				   job_item_name((enum job_item)i), f.value[i]);
		if (rc < 0 || !f.value[i] || x->given[i])
			continue;
		x->value[i] = arena_strndup(arena, f.value[i], strlen(f.value[i]));
		x->given[i] = true;
	}
	jobfile_fini(&f);
	return rc;
}

int items_gather(const struct job_arguments *a, struct arena *arena, struct items *ret, struct err *err)
{
	const char *const options[JOB_ITEMS] = {
		[ITEM_CLASS] = a->items.class,	      [ITEM_TYPE] = a->type,
		[ITEM_PARTITION] = a->into.partition, [ITEM_PROCESSORS] = a->items.processors,
		[ITEM_RUNTIME] = a->items.runtime,    [ITEM_DEADLINE] = a->terms.deadline,
		[ITEM_INTERVAL] = a->items.interval,  [ITEM_DURATION] = a->items.duration,
	};

	*ret = (struct items){.file = a->items.file};
	for (int i = 0; i < JOB_ITEMS; i++) {
		int rc = options[i] ? value_check((enum job_item)i, options[i], err) : 0;
		if (rc < 0)
			return err_prefix(err, rc, "%s %.60s", rows[i].option, options[i]);
		ret->value[i] = options[i];
		ret->given[i] = options[i] || given_otherwise(a, (enum job_item)i);
	}
	return a->items.file ? file_gather(a->items.file, arena, ret, err) : 0;
}

/* ---- missing items ---- */

static bool needed(const struct items *x, enum job_item i)
{
	if (i == ITEM_DEADLINE)
		return needs_deadline(x);
	if (i == ITEM_PROCESSORS)
		return !x->given[ITEM_PARTITION] && !x->processors;
	return !rows[i].otherwise;
}

int items_check(const struct items *x, struct err *err)
{
	struct strbuf text = {0};

	for (int i = 0; i < JOB_ITEMS; i++)
		if (!x->given[i] && needed(x, (enum job_item)i))
			strbuf_printf(&text, "%s%s (%s)", text.n ? ", " : "", job_item_name((enum job_item)i),
				      rows[i].option);
	if (!text.n)
		return 0;
	err_set(err, -EINVAL, "missing: %s. Standard input is not a terminal, so nothing is asked for", text.text);
	strbuf_fini(&text);
	return -EINVAL;
}

/* Reads one answer, without surrounding blanks; NULL: the user quits. */
static char *answer_read(const struct items *x, enum job_item i, struct arena *arena)
{
	char *line = NULL;
	size_t room = 0;

	fprintf(stderr, "%s (%s)", job_item_name(i), rows[i].question);
	if (rows[i].otherwise)
		fprintf(stderr, " [%s]", rows[i].otherwise);
	else if (i == ITEM_PROCESSORS && x->processors && !x->given[ITEM_PARTITION])
		fprintf(stderr, " [%lld]", (long long)x->processors);
	fprintf(stderr, ": ");
	fflush(stderr);
	ssize_t n = getline(&line, &room, stdin);
	char *text = n < 0 ? NULL : line + strspn(line, " \t\r\n");
	size_t m = text ? strlen(text) : 0;
	while (m && strchr(" \t\r\n", text[m - 1]))
		m--;
	char *copy = text ? arena_strndup(arena, text, m) : NULL;
	free(line);
	return copy;
}

static int item_ask(struct items *x, enum job_item i, struct arena *arena, struct err *err)
{
	for (;;) {
		const char *text = answer_read(x, i, arena);
		struct err why;

		if (!text) {
			fprintf(stderr, "\n");
			return err_set(err, -ECANCELED, "nothing was submitted");
		}
		if (!*text && (rows[i].otherwise || !needed(x, i)))
			return 0;
		if (rows[i].otherwise && strcasecmp(text, rows[i].otherwise) == 0)
			return 0;
		if (*text && value_check(i, text, &why) == 0) {
			x->value[i] = text;
			x->given[i] = true;
			return 0;
		}
		fprintf(stderr, "%s\n", *text ? why.text : "An answer is needed here.");
	}
}

int items_ask(struct items *x, struct arena *arena, struct err *err)
{
	int rc = 0;

	for (int i = 0; i < JOB_ITEMS && rc == 0; i++) {
		if (x->given[i] || (i == ITEM_DEADLINE && !needs_deadline(x)))
			continue;
		if (i == ITEM_DURATION && !x->given[ITEM_INTERVAL])
			continue;
		rc = item_ask(x, (enum job_item)i, arena, err);
	}
	return rc;
}

/* ---- the job ---- */

static void resource_add(struct jobspec *s, const char *name, const char *value)
{
	json_t *list = json_object_get(s->job, "resources");
	char text[200];

	if (!list)
		json_object_set_new(s->job, "resources", list = json_array());
	snprintf(text, sizeof text, "%s=%s", name, value);
	json_array_append_new(list, json_string(text));
}

static void type_put(const struct items *x, struct jobspec *s)
{
	const char *type = type_of(x->value[ITEM_TYPE]);

	if (strcmp(type, "I") == 0)
		s->interactive = s->command = true;
	else
		jobspec_text(s, "type", type);
}

static void checkpoint_put(const struct items *x, struct jobspec *s)
{
	struct strbuf text = {0};
	int64_t t;

	if (x->value[ITEM_INTERVAL] && hours_parse(x->value[ITEM_INTERVAL], &t, NULL) == 0)
		strbuf_printf(&text, "interval=%llds", (long long)t);
	if (x->value[ITEM_DURATION] && hours_parse(x->value[ITEM_DURATION], &t, NULL) == 0)
		strbuf_printf(&text, "%sduration=%llds", text.n ? "," : "enabled,", (long long)t);
	if (text.n)
		jobspec_text(s, "checkpoint", text.text);
	strbuf_fini(&text);
}

int items_put(const struct items *x, struct jobspec *s, struct err *err)
{
	char number[32];
	int64_t t;
	int rc = 0;

	if (x->value[ITEM_CLASS])
		jobspec_text(s, "class", x->value[ITEM_CLASS]);
	if (x->value[ITEM_PARTITION])
		resource_add(s, "partition", x->value[ITEM_PARTITION]);
	if (x->value[ITEM_TYPE])
		type_put(x, s);
	if (x->value[ITEM_PROCESSORS])
		resource_add(s, "procs", x->value[ITEM_PROCESSORS]);
	if (x->value[ITEM_RUNTIME] && (rc = hours_parse(x->value[ITEM_RUNTIME], &t, err)) == 0) {
		snprintf(number, sizeof number, "%lld", (long long)t);
		resource_add(s, "walltime", number);
	}
	if (x->value[ITEM_DEADLINE] && (rc = instant_parse(x->value[ITEM_DEADLINE], time(NULL), &t, err)) == 0)
		json_object_set_new(s->job, "deadline", json_integer(t));
	checkpoint_put(x, s);
	return rc;
}

int items_program(const struct items *x, struct arena *arena, struct words *ret, struct err *err)
{
	const char *text = x->value[ITEM_PROGRAM];

	return words_split(text, strlen(text), false, arena, ret, err);
}
