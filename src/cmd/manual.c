/*
 * manual.c - `shunt manual FILE`, for the build: copies the source of a manual page and fills in what the tables know.
 *
 *	@synopsis COMMAND	how it is called
 *	@options COMMAND	its options
 *	@examples COMMAND	its examples
 *	@commands		all commands
 *	@policies		all policies
 */
#include <string.h>

#include "base/lines.h"
#include "cmd/commands.h"
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

static void put_options(const struct command *c)
{
	for (const struct option *o = c->options; o && o->name; o++) {
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
			printf(" If not given: ");
			put(o->initial);
			printf(".");
		}
		printf("\n\n");
	}
	printf("*--help*\n\tTell what the command does.\n");
}

static void put_examples(const struct command *c)
{
	for (const char *const *e = c->examples; e && *e; e += 2) {
		put(e[1]);
		printf("\n\n\t");
		put(e[0]);
		printf("\n\n");
	}
}

static void put_commands(void)
{
	for (int i = 0; i < ncommands; i++) {
		if (commands[i]->hidden)
			continue;
		printf("*%s* ", commands[i]->name);
		put(commands[i]->operands);
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

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct lines *in;
	struct err err;
	char *line;
	int rc = lines_open(operands->v[0], &in, &err), code = EXIT_OK;

	if (rc < 0)
		return command_fail(c, "%s", err.text);
	while (code == EXIT_OK && (rc = lines_next(in, &line, &err)) == 1)
		code = put_line(c, line);
	lines_close(in);
	return rc < 0 ? command_fail(c, "%s", err.text) : code;
}

const struct command command_manual = {
	.name = "manual",
	.operands = "FILE",
	.operand_kind = OPTION_FILE,
	.operands_min = 1,
	.operands_max = 1,
	.about = "Fill in the source of a manual page.",
	.run = run,
	.hidden = 1,
};
