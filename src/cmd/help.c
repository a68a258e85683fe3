/*
 * help.c - `shunt help` and `shunt version`.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/commit.h"
#include "cmd/lib/commands.h"

static void list_print(FILE *out, bool own)
{
	int width = 0;

	for (int i = 0; i < ncommands; i++)
		if (!commands[i]->hidden && commands[i]->own == own && (int)strlen(commands[i]->name) > width)
			width = (int)strlen(commands[i]->name);
	for (int i = 0; i < ncommands; i++)
		if (!commands[i]->hidden && commands[i]->own == own)
			fprintf(out, "  %-*s  %s\n", width, commands[i]->name, commands[i]->about);
}

/* The commands that `shunt` alone shows. */
static const struct {
	const char *title, *names[7];
} basics[] = {
	{"jobs", {"submit", "queue", "job", "why", "output", "kill"}},
	{"looking ahead", {"plan", "whatif"}},
	{"looking back", {"history", "report"}},
	{"the cluster", {"up", "status", "nodes", "page", "doctor"}},
};

static const char head[] = "usage: shunt COMMAND [options]\n\n"
			   "Shunt is a batch system for clusters: it runs jobs when and where they fit,\n"
			   "and loses none.\n";

void commands_help(FILE *out)
{
	fputs(head, out);
	for (size_t i = 0; i < sizeof basics / sizeof *basics; i++) {
		fprintf(out, "\n%s:\n", basics[i].title);
		for (const char *const *name = basics[i].names; *name; name++)
			fprintf(out, "  %-8s  %s\n", *name, command_find(*name, NULL)->about);
	}
	fprintf(out, "\nqsub, qstat, qdel and the other commands of PBS are here as well.\n"
		     "See 'shunt help --all' for all commands, and 'shunt COMMAND --help'.\n");
}

static void commands_help_all(FILE *out)
{
	fprintf(out, "%s\ncommands:\n", head);
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

struct arguments {
	bool all;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	FLAG('a', "all", all, "every command, those of PBS among them"),
	{0},
};

static int help(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;

	if (operands->n == 0) {
		(a->all ? commands_help_all : commands_help)(stdout);
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
	.operands_more = 1,
	.about = "Show help for Shunt or for one command.",
	OPTIONS(struct arguments, options),
	.run = help,
	.alone = true,
};

const struct command command_version = {
	.name = "version",
	.about = "Print the version, the commit and how it was built.",
	.run = version,
	.alone = true,
};
