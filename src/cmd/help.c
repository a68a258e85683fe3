/*
 * help.c - `shunt help` and `shunt version`.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/commit.h"
#include "cmd/lib/commands.h"

static void list_print(FILE *out, bool own)
{
	for (int i = 0; i < ncommands; i++)
		if (!commands[i]->hidden && commands[i]->own == own)
			fprintf(out, "  %-18s  %s\n", commands[i]->name, commands[i]->about);
}

void commands_help(FILE *out)
{
	fprintf(out, "usage: shunt COMMAND [options]\n\n"
		     "Shunt is a batch system for clusters: it runs jobs when and where they fit,\n"
		     "and loses none.\n\n"
		     "commands:\n");
	list_print(out, false);
	fprintf(out, "\ncommands of PBS, called by these names or as 'shunt qsub':\n");
	list_print(out, true);
	fprintf(out, "\nSee 'shunt COMMAND --help'.\n");
}

/* Returns the index of the next command of a group, from `i` on; ncommands: none. */
static int group_next(const char *word, int i)
{
	size_t n = strlen(word);

	while (i < ncommands &&
	       (commands[i]->hidden || strncmp(commands[i]->name, word, n) != 0 || commands[i]->name[n] != ' '))
		i++;
	return i;
}

int commands_help_group(const char *word, FILE *out)
{
	fprintf(out, "usage: shunt %s COMMAND [options]\n\ncommands:\n", word);
	for (int i = group_next(word, 0); i < ncommands; i = group_next(word, i + 1))
		fprintf(out, "  %-10s  %s\n", commands[i]->name + strlen(word) + 1, commands[i]->about);
	for (int i = group_next(word, 0), n = 0; i < ncommands; i = group_next(word, i + 1)) {
		if (commands[i]->examples && n++ == 0)
			fprintf(out, "\nexamples:\n");
		command_examples(commands[i], out);
	}
	fprintf(out, "\nSee 'shunt %s COMMAND --help'.\n", word);
	return EXIT_OK;
}

static int help(const struct command *c, const void *arguments, const struct operands *operands)
{
	if (operands->n == 0) {
		commands_help(stdout);
		return EXIT_OK;
	}
	const char *first = operands->v[0], *second = operands->n > 1 ? operands->v[1] : NULL;
	const struct command *about = command_find(first, second);
	if (!about && !second && group_next(first, 0) < ncommands)
		return commands_help_group(first, stdout);
	if (!about)
		return command_unknown(first, second);
	command_help(about, stdout);
	return EXIT_OK;
}

static int version(const struct command *c, const void *arguments, const struct operands *operands)
{
	printf("shunt %s\ncommit %s\nbuilt  %s\n", SHUNT_VERSION, SHUNT_COMMIT, SHUNT_BUILT);
	return EXIT_OK;
}

const struct command command_help_page = {
	.name = "help",
	.operands = "[COMMAND]",
	.operands_max = 2,
	.about = "Tell what there is, or what a command does.",
	.run = help,
	.alone = true,
};

const struct command command_version = {
	.name = "version",
	.operands = "",
	.about = "Print the version, the commit and how it was built.",
	.run = version,
	.alone = true,
};
