/*
 * main.c - the `shunt` command: the table of subcommands, and choosing one by the first word, or by
 * the name of the link through which it is called (qsub).
 */
#include <stdbool.h>
#include <string.h>

#include "base/suggest.h"
#include "base/vec.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/screen.h"

#define COMMAND_ROW(name) &command_##name,
const struct command *const commands[] = {COMMANDS(COMMAND_ROW)};
const int ncommands = sizeof commands / sizeof *commands;

/* Two words match before one: "nodes remove" is not "nodes" of a node called remove. */
const struct command *command_find(const char *first, const char *second)
{
	const struct command *found = NULL;
	size_t n = strlen(first);

	for (int i = 0; i < ncommands; i++) {
		const char *name = commands[i]->name;
		if (strcmp(name, first) == 0)
			found = commands[i];
		if (second && strncmp(name, first, n) == 0 && name[n] == ' ' && strcmp(name + n + 1, second) == 0)
			return commands[i];
	}
	return found;
}

/* Returns true if commands begin with this word: "experiment" is a group. `ret` lists their second
 * words. */
static bool group_find(const char *word, struct strbuf *ret)
{
	size_t n = strlen(word);

	for (int i = 0; i < ncommands; i++)
		if (strncmp(commands[i]->name, word, n) == 0 && commands[i]->name[n] == ' ')
			strbuf_printf(ret, "%s%s", ret->n ? " " : "", commands[i]->name + n + 1);
	return ret->n > 0;
}

/* Returns the equivalent of another system's command. */
static const char *foreign_find(const char *word)
{
	static const char *const pairs[][2] = {
		{"delete", "qdel JOB"},	      {"del", "qdel JOB"},	 {"rm", "qdel JOB"},
		{"scancel", "qdel JOB"},      {"bkill", "qdel JOB"},	 {"sbatch", "qsub SCRIPT"},
		{"bsub", "qsub SCRIPT"},      {"run", "qsub SCRIPT"},	 {"srun", "shunt launch"},
		{"squeue", "shunt queue"},    {"bjobs", "shunt queue"},	 {"jobs", "shunt queue"},
		{"list", "shunt queue"},      {"ls", "shunt queue"},	 {"sinfo", "shunt nodes"},
		{"hosts", "shunt nodes"},     {"hold", "qhold JOB"},	 {"release", "qrls JOB"},
		{"alter", "qalter JOB"},      {"modify", "qalter JOB"},	 {"show", "shunt job JOB"},
		{"start", "shunt up"},	      {"stop", "shunt down"},	 {"tail", "shunt output -f"},
		{"history", "shunt log JOB"}, {"requeue", "qrerun JOB"}, {"info", "shunt status"},
		{"cat", "shunt output JOB"},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (strcmp(word, pairs[i][0]) == 0)
			return pairs[i][1];
	return NULL;
}

int command_unknown(const char *first, const char *second)
{
	struct strbuf words = {0};
	char near[SUGGEST_SIZE];

	if (group_find(first, &words)) {
		bool found = second && suggest_word(second, words.text, near);
		if (second)
			command_misused(NULL, "%s has no \"%s\"%s%s%s (known: %s)", first, second,
					found ? ": did you mean " : "", found ? near : "", found ? "?" : "",
					words.text);
		else
			command_misused(NULL, "%s needs a subcommand: %s", first, words.text);
	} else if (foreign_find(first)) {
		command_misused(NULL, "unknown command \"%s\": write '%s'", first, foreign_find(first));
	} else {
		for (int i = 0; i < ncommands; i++)
			if (!commands[i]->hidden)
				strbuf_printf(&words, "%.*s ", (int)strcspn(commands[i]->name, " "), commands[i]->name);
		bool found = suggest_word(first, words.text, near);
		command_misused(NULL, "unknown command \"%s\"%s%s%s", first, found ? ": did you mean " : "",
				found ? near : "", found ? "?" : "");
	}
	strbuf_fini(&words);
	return EXIT_USAGE;
}

/* Returns the program that a link to this one stands for (qsub); NULL: it was called by its own
 * name. */
static const struct command *own_find(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const struct command *c = command_find(name, NULL);

	return c && c->own ? c : NULL;
}

/* Returns the number of words of a leading "--cluster NAME". */
static int cluster_before(int argc, char **argv)
{
	static const char name[] = "--cluster";
	size_t n = sizeof name - 1;

	if (argc > 2 && strcmp(argv[1], name) == 0)
		cluster_choose(argv[2]);
	else if (argc > 1 && strncmp(argv[1], name, n) == 0 && argv[1][n] == '=')
		cluster_choose(argv[1] + n + 1);
	else
		return 0;
	return argv[1][n] ? 1 : 2;
}

static int dispatch(int argc, char **argv)
{
	const struct command *own = argc > 0 ? own_find(argv[0]) : NULL;

	if (own)
		return command_run(own, argc - 1, argv + 1);
	int before = cluster_before(argc, argv);
	argc -= before;
	argv += before;
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
	struct strbuf group = {0};
	bool has = group_find(first, &group);
	strbuf_fini(&group);
	if (c && has && !c->main && !c->operands && second && *second != '-' && !strchr(c->name, ' '))
		return command_unknown(first, second); /* "owner stop" */
	if (c) {
		int words = strchr(c->name, ' ') ? 3 : 2;
		return command_run(c, argc - words, argv + words);
	}
	bool asks = has && second && (strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0);
	return asks ? commands_help_group(first, stdout) : command_unknown(first, second);
}

int main(int argc, char **argv)
{
	screen_begin();
	return screen_end(dispatch(argc, argv));
}
