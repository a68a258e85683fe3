/*
 * main.c - the `shunt` command: the table of subcommands, and which of them is meant.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cmd/commands.h"
#include "cmd/suggest.h"

/* A row is all there is to do to add one. */
const struct command *const commands[] = {
	&command_simulate,  &command_experiment_push, &command_experiment_traces, &command_policies,
	&command_help_page, &command_version,	      &command_completions,	  &command_manual,
};
const int ncommands = sizeof commands / sizeof *commands;

const struct command *command_find(const char *first, const char *second)
{
	size_t n = strlen(first);

	for (int i = 0; i < ncommands; i++) {
		const char *name = commands[i]->name;
		if (strcmp(name, first) == 0)
			return commands[i];
		if (second && strncmp(name, first, n) == 0 && name[n] == ' ' && strcmp(name + n + 1, second) == 0)
			return commands[i];
	}
	return NULL;
}

/* The commands that begin with this word: "experiment" is a group. `ret`: their second words. */
static bool group_find(const char *word, struct strbuf *ret)
{
	size_t n = strlen(word);

	for (int i = 0; i < ncommands; i++)
		if (strncmp(commands[i]->name, word, n) == 0 && commands[i]->name[n] == ' ')
			strbuf_printf(ret, "%s%s", ret->n ? " " : "", commands[i]->name + n + 1);
	return ret->n > 0;
}

int command_unknown(const char *first, const char *second)
{
	struct strbuf words = {0};
	char near[SUGGEST_SIZE];

	if (group_find(first, &words)) {
		bool found = second && suggest(second, words.text, near);
		if (second)
			command_misused(NULL, "%s has no \"%s\"%s%s%s (there is: %s)", first, second,
					found ? ": did you mean " : "", found ? near : "", found ? "?" : "",
					words.text);
		else
			command_misused(NULL, "%s needs to be told which: %s", first, words.text);
	} else {
		for (int i = 0; i < ncommands; i++)
			if (!commands[i]->hidden)
				strbuf_printf(&words, "%.*s ", (int)strcspn(commands[i]->name, " "), commands[i]->name);
		bool found = suggest(first, words.text, near);
		command_misused(NULL, "there is no command \"%s\"%s%s%s", first, found ? ": did you mean " : "",
				found ? near : "", found ? "?" : "");
	}
	strbuf_fini(&words);
	return EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		commands_help(stderr);
		return EXIT_USAGE;
	}
	const char *first = argv[1], *second = argc > 2 ? argv[2] : NULL;
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
		first = "help";
	else if (strcmp(first, "--version") == 0)
		first = "version";

	const struct command *c = command_find(first, second);
	if (c) {
		int words = strchr(c->name, ' ') ? 3 : 2;
		return command_run(c, argc - words, argv + words);
	}
	struct strbuf group = {0};
	bool asks = second && (strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0) && group_find(first, &group);
	strbuf_fini(&group);
	return asks ? commands_help_group(first, stdout) : command_unknown(first, second);
}

int main(int argc, char **argv)
{
	int code = dispatch(argc, argv);

	/* What could not be written was not said. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (errno != EPIPE)
			fprintf(stderr, "shunt: standard output: %s\n", strerror(errno));
		return code == EXIT_OK ? EXIT_FAILED : code;
	}
	return code;
}
