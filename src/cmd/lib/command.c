/*
 * command.c - a command's messages, its help from the table of options, and running it.
 */
#include "cmd/lib/command.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cmd/lib/show.h"

#define HELP_WIDTH 80
#define HELP_INDENT 4

const char *command_title(const struct command *c)
{
	static char title[80];

	snprintf(title, sizeof title, "%s%s%s", c && c->own ? "" : "shunt", c && !c->own ? " " : "", c ? c->name : "");
	return title;
}

static void complain(const struct command *c, const char *kind, const char *fmt, va_list ap)
{
	char head[100];

	snprintf(head, sizeof head, "%s: %s", command_title(c), kind);
	fflush(stdout);
	text_vprint(stderr, head, fmt, ap);
}

int command_fail(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(c, "", fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

void command_warn(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(c, "warning: ", fmt, ap);
	va_end(ap);
}

static void usage_print(const struct command *c, FILE *out)
{
	struct strbuf synopsis = {0};

	command_synopsis(c, &synopsis);
	fprintf(out, "usage: %s %s\n", command_title(c), strbuf_text(&synopsis));
	strbuf_fini(&synopsis);
}

int command_misused(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(c, "", fmt, ap);
	va_end(ap);
	if (c && c->own)
		usage_print(c, stderr);
	fprintf(stderr, "Try '%s --help'.\n", command_title(c));
	return EXIT_USAGE;
}

int command_answer(const struct command *c, int what)
{
	if (what == OPTIONS_HELP)
		command_help(c, stdout);
	else
		printf("%s %s (Shunt)\n", c->name, SHUNT_VERSION);
	return EXIT_OK;
}

/* Returns the first word of "FROM TO HOURS" that was not given; all of them if one word stands for
 * several. */
static const char *operand_missing(const struct command *c, int given, char *buf, size_t size)
{
	const char *at = c->operands;

	for (int i = 0; i < given && *at; i++)
		at += strcspn(at, " "), at += strspn(at, " ");
	if (given == 0 || !*at || strpbrk(c->operands, "[.|"))
		return c->operands;
	snprintf(buf, size, "%.*s", (int)strcspn(at, " "), at);
	return buf;
}

struct operand_range command_operands(const struct command *c)
{
	struct operand_range range = {.max = c->operands_more};
	const char *p = c->operands ? c->operands : "";

	for (int depth = 0; *p; p += strspn(p, " ")) {
		const char *word = p;
		for (; *p && (*p != ' ' || depth > 0); p++)
			depth += (*p == '[') - (*p == ']');
		if (strncmp(word, "[--] ", 5) == 0)
			continue;
		const char *dots = strstr(word, "...");
		range.min += *word != '[';
		range.max = range.max == INT_MAX || (dots && dots < p) ? INT_MAX : range.max + 1;
	}
	return range;
}

static int operands_check(const struct command *c, const struct operands *o)
{
	struct operand_range range = command_operands(c);
	char missing[128];

	if (o->n < range.min)
		return command_misused(c, "%s is missing", operand_missing(c, o->n, missing, sizeof missing));
	if (o->n > range.max && range.max == 0)
		return command_misused(c, "\"%s\": it takes options only", o->v[0]);
	if (o->n > range.max)
		return command_misused(c, "\"%s\" is one too many: only %s is taken", o->v[range.max], c->operands);
	return EXIT_OK;
}

int command_run(const struct command *c, int argc, char **argv)
{
	if (c->main)
		return c->main(c, argc, argv);

	char **word = mem_zalloc(sizeof *word * ((size_t)argc + 1));
	void *arguments = options_create(c);
	struct operands operands = {word, 0};
	struct err err;
	int rc = options_parse(c, argc, argv, arguments, word, &operands.n, &err), code;

	if (rc < 0)
		code = command_misused(c, "%s", err.text);
	else if (rc > 0)
		code = command_answer(c, rc);
	else
		code = operands_check(c, &operands);
	if (rc == 0 && code == EXIT_OK)
		code = c->run(c, arguments, &operands);
	options_free(c, arguments);
	free(word);
	return code;
}

void print_wrapped(FILE *out, const char *text, int indent, int column)
{
	int terminal = out == stdout ? terminal_columns() : 0;
	int width = terminal > 0 && terminal < HELP_WIDTH ? terminal : HELP_WIDTH;

	while (*text) {
		int n = (int)strcspn(text, " ");
		if (column > indent && column + 1 + n > width) {
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
	const char *operands = c->operands ? c->operands : "", *options = c->options || !c->alone ? "[options]" : "";

	/* PBS puts options first. */
	strbuf_printf(out, "%s%s%s", c->own ? options : operands, *operands && (*options || !c->own) ? " " : "",
		      c->own ? operands : options);
}

static void option_help(const struct option *o, FILE *out)
{
	struct strbuf spelling = {0}, about = {0};

	option_spell(o, &spelling);
	strbuf_puts(&about, o->about);
	if (o->initial)
		strbuf_printf(&about, " (if not given: %s)", o->initial);
	fprintf(out, "  %s\n%*s", spelling.text, HELP_INDENT + 4, "");
	print_wrapped(out, about.text, HELP_INDENT + 4, HELP_INDENT + 4);
	strbuf_fini(&spelling);
	strbuf_fini(&about);
}

void command_examples(const struct command *c, FILE *out)
{
	for (const struct example *e = c->examples; e && e->line; e++) {
		fprintf(out, "  %s\n%*s", e->line, HELP_INDENT + 4, "");
		print_wrapped(out, e->about, HELP_INDENT + 4, HELP_INDENT + 4);
	}
}

void command_help(const struct command *c, FILE *out)
{
	usage_print(c, out);
	fputc('\n', out);
	print_wrapped(out, c->about, 0, 0);
	if (c->details) {
		fputc('\n', out);
		print_wrapped(out, c->details, 0, 0);
	}
	if (c->options || !c->alone)
		fprintf(out, "\noptions:\n");
	for (const struct option *o = c->options; o && o->name; o++)
		option_help(o, out);
	for (const struct option *o = options_common; !c->alone && o->name; o++)
		option_help(o, out);
	if (c->examples)
		fprintf(out, "\nexamples:\n");
	command_examples(c, out);
}
