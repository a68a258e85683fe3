/*
 * manual.c - `shunt manual FILE`, for the build: copies the source of a manual page and fills in
 * text from the tables. With --page COMMAND it writes that command's whole page, with FILE between
 * its options and its examples.
 *
 *	@synopsis COMMAND	its synopsis
 *	@options COMMAND	its options
 *	@examples COMMAND	its examples
 *	@commands		all commands
 *	@policies		all policies
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/mem.h"
#include "cmd/lib/commands.h"
#include "sched/policy.h"

static void put(const char *text)
{
	for (; *text; text++) {
		if (strchr("\\*_`<>+#|[]", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void put_synopsis(const struct command *c)
{
	struct strbuf synopsis = {0};

	command_synopsis(c, &synopsis);
	printf("*%s* ", command_title(c));
	put(strbuf_text(&synopsis));
	printf("\n");
	strbuf_fini(&synopsis);
}

static void put_list(const struct option *o)
{
	for (; o && o->name; o++) {
		if (o->letter)
			printf("*-%c*", o->letter);
		if (option_long(o))
			printf("%s*--%s*", o->letter ? ", " : "", o->name);
		if (o->value) {
			printf(" ");
			put(o->value);
		}
		printf("\n\t");
		put(o->about);
		if (o->initial) {
			printf("; if not given: ");
			put(o->initial);
		}
		printf("\n\n");
	}
}

static void put_options(const struct command *c)
{
	put_list(c->options);
	if (!c->alone)
		put_list(options_common);
	printf("*--help*\n\tShow help for the command.\n");
	if (c->own)
		printf("\n*--version*\n\tPrint the version.\n");
}

static void put_examples(const struct command *c)
{
	for (const struct example *e = c->examples; e && e->line; e++) {
		put(e->about);
		printf("\n\n\t");
		put(e->line);
		printf("\n\n");
	}
}

static void put_commands(void)
{
	for (int i = 0; i < ncommands; i++) {
		if (commands[i]->hidden)
			continue;
		printf("*%s* ", commands[i]->name);
		put(commands[i]->operands ? commands[i]->operands : "");
		printf("\n\t");
		put(commands[i]->about);
		printf("\n\n");
	}
}

static void put_policies(void)
{
	for (int i = 0; i < npolicies; i++) {
		printf("*");
		put(policies[i].name);
		printf("*\n\t");
		put(policies[i].about);
		printf("\n\n");
	}
}

static int put_line(const struct command *self, const char *line)
{
	char what[32], first[32] = "", second[32] = "";
	const struct command *c = NULL;
	int n = sscanf(line, "@%31s %31s %31s", what, first, second);

	if (n < 1) {
		puts(line);
		return EXIT_OK;
	}
	if (n > 1)
		c = command_find(first, second);
	if (strcmp(what, "commands") == 0)
		put_commands();
	else if (strcmp(what, "policies") == 0)
		put_policies();
	else if (c && strcmp(what, "synopsis") == 0)
		put_synopsis(c);
	else if (c && strcmp(what, "options") == 0)
		put_options(c);
	else if (c && strcmp(what, "examples") == 0)
		put_examples(c);
	else
		return command_fail(self, "%s: nothing known to fill in", line);
	return EXIT_OK;
}

static int put_file(const struct command *self, const char *path)
{
	struct lines *in;
	struct err err;
	char *line;
	int rc = lines_open(path, &in, &err), code = EXIT_OK;

	if (rc < 0)
		return command_fail(self, "%s", err.text);
	while (code == EXIT_OK && (rc = lines_next(in, &line, &err)) == 1)
		code = put_line(self, line);
	lines_close(in);
	return rc < 0 ? command_fail(self, "%s", err.text) : code;
}

/* Writes the name of the page: "shunt-queue", "qsub". */
static void put_name(const struct command *c)
{
	for (const char *p = command_title(c); *p; p++)
		putchar(*p == ' ' ? '-' : *p);
}

/* Writes a sentence for the NAME line: "Submit a job." becomes "submit a job". */
static void put_about(const char *about)
{
	size_t n = strlen(about);
	char *text = mem_strdup(about);

	if (n && text[n - 1] == '.')
		text[n - 1] = '\0';
	if (n > 1 && islower((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
	put(text);
	free(text);
}

static int put_page(const struct command *self, const struct command *c, const char *more)
{
	int code = EXIT_OK;

	put_name(c);
	printf("(1)\n\n# NAME\n\n");
	put_name(c);
	printf(" - ");
	put_about(c->about);
	printf("\n\n# SYNOPSIS\n\n");
	put_synopsis(c);
	if (c->details) {
		printf("\n# DESCRIPTION\n\n");
		put(c->details);
		printf("\n");
	}
	printf("\n# OPTIONS\n\n");
	put_options(c);
	if (more) {
		printf("\n");
		code = put_file(self, more);
	}
	if (c->examples) {
		printf("\n# EXAMPLES\n\n");
		put_examples(c);
	}
	if (!more && (!c->details || !strcasestr(c->details, "exit code")))
		printf("\n# EXIT STATUS\n\n0 on success. *shunt*(1) explains the others.\n");
	printf("\n# SEE ALSO\n\n*shunt*(1), *shunt.conf*(5), *shuntd*(8)\n");
	return code;
}

struct arguments {
	const char *page;
};

static const struct option options[] = {
	{"page", OPTION_TEXT, offsetof(struct arguments, page), "COMMAND", .about = "the whole page of a command"},
	{0},
};

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	const char *file = operands->n ? operands->v[0] : NULL;
	const struct command *page = a->page ? command_find(a->page, NULL) : NULL;

	if (a->page && !page)
		return command_unknown(a->page, NULL);
	if (page)
		return put_page(c, page, file);
	return file ? put_file(c, file) : command_misused(c, "FILE is missing");
}

const struct command command_manual = {
	.name = "manual",
	.operands = "[FILE]",
	.operand_kind = OPTION_FILE,
	.about = "Fill in the source of a manual page.",
	OPTIONS(struct arguments, options),
	.run = run,
	.hidden = 1,
	.alone = true,
};
