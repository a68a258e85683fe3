/*
 * command.h - a subcommand: a row with its name, its options and its function. The parser, --help,
 * the manual pages and the shell completions all read the same rows.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/option.h"
#include "base/strbuf.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/* The words that are not options. */
struct operands {
	char *const *v;
	int n;
};

/* A command line, and what it does. */
struct example {
	const char *line, *about;
};
/* In a command's row: the type of its arguments, and the options that fill them. */
#define OPTIONS(type, rows) .options = rows, .size = sizeof(type)
#define EXAMPLES(...) ((const struct example[]){__VA_ARGS__, {0}})

struct command {
	const char *name; /* "simulate"; two words in a group, "experiment push" */
	/* "HOST [COMMAND...]": shown in help, and limits their number; NULL: none */
	const char *operands;
	int operands_more; /* further operands, for a message of the command's own */
	enum option_kind operand_kind;
	const char *operand_words;
	const char *about;		/* one line */
	const char *details;		/* a paragraph for --help and the manual; may be NULL */
	const struct example *examples; /* EXAMPLES(); may be NULL */
	const struct option *options;	/* ends with a NULL name; may be NULL */
	/* pairs of another system's option and its equivalent here, ends with NULL; may be NULL */
	const char *const *hints;
	size_t size; /* size of the arguments */
	/* Runs the command. Returns an exit code, after printing any error with command_fail(). */
	int (*run)(const struct command *c, const void *arguments, const struct operands *operands);
	const struct listing *listing; /* for listing_run(), else NULL */
	int hidden;		       /* not listed for users */
	bool alone;		       /* needs no server: has no --cluster */
	/* A program of its own name (qsub): called by that name or as "shunt qsub"; its messages
	 * begin with just the name. An option whose name begins with '-' has only its letter. */
	bool own;
	/* Parses the words itself (qsub also reads options from scripts); or NULL. */
	int (*main)(const struct command *c, int argc, char **argv);
};

/* The table of commands, in main.c. */
extern const struct command *const commands[];
extern const int ncommands;
/* Returns the command of that name, or NULL. `second` is the word after it, or NULL. */
const struct command *command_find(const char *first, const char *second);
/* Reports an unknown command, with similar ones. Returns EXIT_USAGE. */
int command_unknown(const char *first, const char *second);

/* Print all commands, and those of a group (help.c). */
void commands_help(FILE *out);
int commands_help_group(const char *word, FILE *out);

/* Returns what users type: "shunt simulate", "qsub"; "shunt" for NULL. Borrowed until the next
 * call. */
const char *command_title(const struct command *c);

/* Prints "shunt simulate: " and the message on standard error. Returns EXIT_FAILED. */
int command_fail(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints "qsub: warning: " and the message: something may not be what the user meant; the command
 * continues. */
void command_warn(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints an error like command_fail(), with a pointer to the help. Returns EXIT_USAGE. */
int command_misused(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns how many operands a command takes. */
struct operand_range {
	int min, max;
} command_operands(const struct command *c);
/* Parses argv[0..argc), the words after the command's name, and runs it; --help prints the help
 * instead. */
int command_run(const struct command *c, int argc, char **argv);

/* Allocates the arguments with every option's default value; options_free() frees them
 * (options.c). */
void *options_create(const struct command *c);
void options_free(const struct command *c, void *arguments);

/* Reads a command line by the command's options, like options_read() (base/option.h). */
int options_parse(const struct command *c, int argc, char **argv, void *arguments, char **operands, int *ret_n,
		  struct err *err);
/* Prints what OPTIONS_HELP or OPTIONS_VERSION request. Returns EXIT_OK. */
int command_answer(const struct command *c, int what);

/* --cluster, for all commands that ask a server. Ends with a NULL name. */
extern const struct option options_common[];
/* Selects the cluster whose server is asked from now on (SHUNT_CLUSTER). The first call wins: a
 * command line is read before the script that it names. */
void cluster_choose(const char *name);

/* Writes an option as "-l, --resources LIST". */
void option_spell(const struct option *o, struct strbuf *out);
void command_examples(const struct command *c, FILE *out);
void command_help(const struct command *c, FILE *out);
/* Appends operands and "[options]", as in "[WORKLOAD] [options]". */
void command_synopsis(const struct command *c, struct strbuf *out);
/* Prints text in lines of 80 columns, or of the terminal's width if smaller; all but the first are
 * indented by `indent` blanks. `column` is where the first begins. */
void print_wrapped(FILE *out, const char *text, int indent, int column);
/* Returns the allowed values of an option, "sc15 site" or all policies; NULL: any. */
const char *option_words(const struct option *o, struct strbuf *scratch);

#endif
