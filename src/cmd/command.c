/*
 * command.c - options by the table: parsing them, and the help that is made of the same rows.
 */
#include "cmd/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/timetext.h"
#include "base/vec.h"
#include "cmd/suggest.h"
#include "sched/policy.h"

#define HELP_WIDTH 80
#define HELP_INDENT 4

static void complain(const struct command *c, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "shunt%s%s: ", c ? " " : "", c ? c->name : "");
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int command_fail(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(c, fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

int command_misused(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(c, fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try 'shunt%s%s --help'.\n", c ? " " : "", c ? c->name : "");
	return EXIT_USAGE;
}

const char *option_words(const struct option *o, struct strbuf *scratch)
{
	if (o->kind != OPTION_POLICIES)
		return o->words;
	strbuf_clear(scratch);
	for (int i = 0; i < npolicies; i++)
		strbuf_printf(scratch, "%s%s", i ? " " : "", policies[i].name);
	strbuf_puts(scratch, " all");
	return scratch->text;
}

static const struct option *option_find(const struct command *c, const char *name, size_t n)
{
	for (const struct option *o = c->options; o && o->name; o++)
		if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
			return o;
	return NULL;
}

static bool word_in(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (strcspn(p, " ") == n && strncmp(p, word, n) == 0 && n > 0)
			return true;
	return false;
}

static int word_check(const char *words, const char *word, struct err *err)
{
	char near[SUGGEST_SIZE];

	if (word_in(words, word))
		return 0;
	if (suggest(word, words, near))
		return err_set(err, -EINVAL, "\"%.60s\" is none of them: did you mean %s? (%.300s)", word, near, words);
	return err_set(err, -EINVAL, "\"%.60s\" is none of them (%.300s)", word, words);
}

static int policies_check(const char *list, struct err *err)
{
	char near[SUGGEST_SIZE], name[64];
	struct strbuf all = {0};
	struct option any = {.kind = OPTION_POLICIES};
	int rc = 0;

	option_words(&any, &all);
	for (const char *p = list; rc == 0;) {
		size_t n = strcspn(p, ",");
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		if (!word_in(all.text, name)) {
			bool found = suggest(name, all.text, near);
			rc = err_set(err, -EINVAL, "there is no policy \"%s\"%s%s%s ('shunt policies' lists them)",
				     name, found ? ": did you mean " : "", found ? near : "", found ? "?" : "");
		}
		if (!p[n])
			break;
		p += n + 1;
	}
	strbuf_fini(&all);
	return rc;
}

static int number_parse(const struct option *o, const char *text, int64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (end == text || *end || errno || n < o->min || n > o->max)
		return err_set(err, -EINVAL, "\"%.60s\" must be a whole number from %lld to %lld", text,
			       (long long)o->min, (long long)o->max);
	*ret = n;
	return 0;
}

static int seconds_parse(const char *text, int64_t *ret, struct err *err)
{
	int rc = duration_parse(text, ret, err);

	return rc < 0 ? err_prefix(err, rc, "\"%.60s\"", text) : 0;
}

static int option_set(const struct option *o, const char *text, char *arguments, struct err *err)
{
	void *at = arguments + o->at;
	int rc = 0;

	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_NUMBER:
		return number_parse(o, text, at, err);
	case OPTION_SECONDS:
		return seconds_parse(text, at, err);
	case OPTION_WORD:
		rc = word_check(o->words, text, err);
		break;
	case OPTION_POLICIES:
		rc = policies_check(text, err);
		break;
	default:
		break;
	}
	if (rc == 0)
		*(const char **)at = text;
	return rc;
}

static int option_unknown(const struct command *c, const char *name, size_t n)
{
	char near[SUGGEST_SIZE], word[64];
	struct strbuf all = {0};

	snprintf(word, sizeof word, "%.*s", (int)n, name);
	strbuf_puts(&all, "help");
	for (const struct option *o = c->options; o && o->name; o++)
		strbuf_printf(&all, " %s", o->name);
	bool found = suggest(word, all.text, near);
	strbuf_fini(&all);
	return command_misused(c, "there is no option --%s%s%s%s", word, found ? ": did you mean --" : "",
			       found ? near : "", found ? "?" : "");
}

/* One option at argv[*at], which begins with "--". Moves past it. */
static int option_parse(const struct command *c, int argc, char **argv, int *at, char *arguments)
{
	const char *name = argv[*at] + 2;
	size_t n = strcspn(name, "=");
	const struct option *o = option_find(c, name, n);
	const char *text = NULL;
	struct err err;

	if (!o)
		return option_unknown(c, name, n);
	if (o->kind == OPTION_FLAG) {
		if (name[n])
			return command_misused(c, "--%s takes no value", o->name);
	} else if (name[n]) {
		text = name + n + 1;
	} else {
		if (*at + 1 >= argc)
			return command_misused(c, "--%s needs a value: --%s %s", o->name, o->name, o->value);
		text = argv[++*at];
	}
	++*at;
	if (option_set(o, text, arguments, &err) < 0)
		return command_misused(c, "--%s: %s", o->name, err.text);
	return EXIT_OK;
}

static int operands_check(const struct command *c, const struct operands *o)
{
	if (o->n < c->operands_min)
		return command_misused(c, "%s is missing", c->operands);
	if (o->n > c->operands_max && c->operands_max == 0)
		return command_misused(c, "\"%s\": it takes options only", o->v[0]);
	if (o->n > c->operands_max)
		return command_misused(c, "\"%s\" is one too many: only %s is taken", o->v[c->operands_max],
				       c->operands);
	return EXIT_OK;
}

int command_run(const struct command *c, int argc, char **argv)
{
	VEC(char *) operand = {0};
	char *arguments = mem_zalloc(c->size + 1);
	bool only_operands = false;
	int code = EXIT_OK;

	for (const struct option *o = c->options; o && o->name; o++)
		if (o->initial)
			option_set(o, o->initial, arguments, NULL);
		else if (o->kind == OPTION_NUMBER || o->kind == OPTION_SECONDS)
			*(int64_t *)(arguments + o->at) = -1;
	for (int i = 0; i < argc && code == EXIT_OK;) {
		if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
			vec_push(&operand, argv[i++]);
		} else if (strcmp(argv[i], "--") == 0) {
			only_operands = true;
			i++;
		} else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			command_help(c, stdout);
			goto out;
		} else if (argv[i][1] != '-') {
			code = command_misused(c, "%s: options are written out, as in --help", argv[i]);
		} else {
			code = option_parse(c, argc, argv, &i, arguments);
		}
	}
	struct operands operands = {operand.v, (int)operand.n};
	if (code == EXIT_OK)
		code = operands_check(c, &operands);
	if (code == EXIT_OK)
		code = c->run(c, arguments, &operands);
out:
	vec_free(&operand);
	free(arguments);
	return code;
}

void print_wrapped(FILE *out, const char *text, int indent, int column)
{
	while (*text) {
		int n = (int)strcspn(text, " ");
		if (column > indent && column + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", n, text);
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void command_synopsis(const struct command *c, struct strbuf *out)
{
	if (c->operands[0])
		strbuf_printf(out, "%s ", c->operands);
	if (c->options)
		strbuf_puts(out, "[options]");
}

static void option_help(const struct option *o, FILE *out)
{
	struct strbuf about = {0};

	strbuf_puts(&about, o->about);
	if (o->initial)
		strbuf_printf(&about, " (if not given: %s)", o->initial);
	fprintf(out, "  --%s%s%s\n%*s", o->name, o->value ? " " : "", o->value ? o->value : "", HELP_INDENT + 4, "");
	print_wrapped(out, about.text, HELP_INDENT + 4, HELP_INDENT + 4);
	strbuf_fini(&about);
}

void command_help(const struct command *c, FILE *out)
{
	struct strbuf synopsis = {0};

	command_synopsis(c, &synopsis);
	fprintf(out, "usage: shunt %s %s\n\n", c->name, strbuf_text(&synopsis));
	strbuf_fini(&synopsis);
	print_wrapped(out, c->about, 0, 0);
	if (c->details) {
		fputc('\n', out);
		print_wrapped(out, c->details, 0, 0);
	}
	if (c->options)
		fprintf(out, "\noptions:\n");
	for (const struct option *o = c->options; o && o->name; o++)
		option_help(o, out);
	if (c->examples)
		fprintf(out, "\nexamples:\n");
	for (const char *const *e = c->examples; e && *e; e += 2) {
		fprintf(out, "  %s\n%*s", e[0], HELP_INDENT + 4, "");
		print_wrapped(out, e[1], HELP_INDENT + 4, HELP_INDENT + 4);
	}
}
