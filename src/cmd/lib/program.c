/*
 * program.c - a command line that ends in another one: finds where our options end.
 */
#include "cmd/lib/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Returns true if the option's value is the next word: "-c" and "-uc", not "-c3", "-hn2" or
 * "--copies=3". */
static bool value_follows(const struct command *c, const char *word)
{
	for (const struct option *o = c->options; word[1] == '-' && o->name; o++)
		if (o->value && strcmp(word + 2, o->name) == 0)
			return true;
	for (const char *p = word + 1; word[1] != '-' && *p; p++)
		for (const struct option *o = c->options; o->name; o++)
			if (o->value && o->letter == *p)
				return p[1] == '\0';
	return false;
}

/* Returns the number of words that are options and their values; the program follows. */
static int options_length(const struct command *c, int argc, char **argv)
{
	int n = 0;

	while (n < argc && argv[n][0] == '-' && argv[n][1] && strcmp(argv[n], "--") != 0)
		n += value_follows(c, argv[n]) ? 2 : 1;
	return n < argc ? n : argc;
}

int program_main(const struct command *c, int argc, char **argv,
		 int (*run)(const struct command *c, const void *arguments, char **argv))
{
	void *a = options_create(c);
	int n = options_length(c, argc, argv), none, code;
	char **word = mem_zalloc(sizeof *word * ((size_t)n + 1));
	struct err err;
	int rc = options_parse(c, n, argv, a, word, &none, &err);

	if (n < argc && strcmp(argv[n], "--") == 0)
		n++;
	if (rc < 0)
		code = command_misused(c, "%s", err.text);
	else if (rc > 0)
		code = command_answer(c, rc);
	else if (n >= argc && command_operands(c).min > 0)
		code = command_misused(c, "PROGRAM is missing");
	else
		code = run(c, a, argv + n);
	free(word);
	options_free(c, a);
	return code;
}
