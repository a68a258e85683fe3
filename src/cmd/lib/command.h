/*
 * command.h - what a subcommand is: a row that names it, its options and its function. Parsing, --help, the manual
 * pages and the shells' completions all read the same rows.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/strbuf.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/* What an option's value is, and so what its place in the arguments holds. */
enum option_kind {
	OPTION_FLAG,	 /* no value; bool */
	OPTION_TEXT,	 /* const char * from here on */
	OPTION_FILE,	 /* ... that is the name of a file: for completions */
	OPTION_DIR,	 /* ... or of a directory */
	OPTION_WORD,	 /* ... one of `words` */
	OPTION_POLICIES, /* ... names of policies joined by commas */
	OPTION_NUMBER,	 /* int64_t, min..max */
	OPTION_SECONDS,	 /* int64_t, any form of a duration */
	OPTION_TEXTS,	 /* struct texts: may be given more than once */
	OPTION_MEMBER, /* struct texts that such options share: the option's name, then the text, one of `words` if there are any */
};

struct texts {
	const char **v;
	int n;
};
void texts_push(struct texts *t, const char *text);
/* Returns the text that an OPTION_MEMBER of this name was given, or NULL. */
const char *texts_value(const struct texts *t, const char *name);

struct option {
	const char *name; /* after "--" */
	enum option_kind kind;
	size_t at;	     /* where the value goes in the command's arguments */
	const char *value;   /* what help calls it; NULL for flags */
	const char *initial; /* the value when it is not given; NULL: none (-1, NULL, false) */
	const char *words;   /* "sc15 site": what it may be; of OPTION_TEXT only what completions offer */
	int64_t min, max;
	const char *about;
	char letter; /* "-l" means the same as "--name"; 0: none. In a q-command letters of flags may be joined: -fx */
};

/* Operands: what is no option. */
struct operands {
	char *const *v;
	int n;
};

struct command {
	const char *name;     /* "simulate"; of two words where there is a group, "experiment push" */
	const char *operands; /* "[WORKLOAD]", or "" */
	enum option_kind operand_kind;
	const char *operand_words;
	int operands_min, operands_max;
	const char *about;	      /* a line */
	const char *details;	      /* a paragraph for --help and the manual; may be NULL */
	const char *const *examples;  /* pairs: the command line, what it does; ends with NULL; may be NULL */
	const struct option *options; /* ends with a NULL name; may be NULL */
	const char *const *hints;     /* pairs: an option of another system, what to write here; as examples */
	size_t size;		      /* of the arguments */
	/* Returns an exit code, having printed what there is to say with command_fail(). */
	int (*run)(const struct command *c, const void *arguments, const struct operands *operands);
	int hidden; /* not for people */
	bool alone; /* asks no server: has no --cluster */
	/* A program of its own name (qsub): called by that name, or as "shunt qsub"; messages begin with it alone.
	 * Options whose name begins with '-' have only their letter. */
	bool own;
	/* NULL, or parses the words itself (qsub reads options from scripts, too). */
	int (*main)(const struct command *c, int argc, char **argv);
};

/* The table, in main.c. */
extern const struct command *const commands[];
extern const int ncommands;
/* The command of that name; `second` is the word after it, or NULL. NULL: there is none. */
const struct command *command_find(const char *first, const char *second);
/* Says so, and which may be meant. Returns EXIT_USAGE. */
int command_unknown(const char *first, const char *second);

/* In help.c: all commands, and those of a group. */
void commands_help(FILE *out);
int commands_help_group(const char *word, FILE *out);

/* What people type for it: "shunt simulate", "qsub". NULL: "shunt". Borrowed until the next call. */
const char *command_title(const struct command *c);

/* "shunt simulate: " and the sentence, on standard error. Returns EXIT_FAILED. */
int command_fail(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "qsub: warning: " and the sentence: something may not be what the user meant, and goes on all the same. */
void command_warn(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, with where to read on. Returns EXIT_USAGE. */
int command_misused(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Parses argv[0..argc), the words after the command's name, and runs it; --help prints the help instead. */
int command_run(const struct command *c, int argc, char **argv);

/* In options.c. Arguments with every option's initial value; options_free() frees them. */
void *options_create(const struct command *c);
void options_free(const struct command *c, void *arguments);

enum {
	OPTIONS_HELP = 1,    /* --help was among them */
	OPTIONS_VERSION = 2, /* --version, of a program of its own name */
};
/* Puts the options among argv[0..argc) into `arguments`, and the other words into `operands`, which has room for argc
 * of them. 0, one of the above (the rest is not looked at then), or -EINVAL with a sentence. Texts are borrowed from
 * argv. */
int options_parse(const struct command *c, int argc, char **argv, void *arguments, char **operands, int *ret_n,
		  struct err *err);
/* Prints what OPTIONS_HELP or OPTIONS_VERSION ask for. Returns EXIT_OK. */
int command_answer(const struct command *c, int what);

/* --cluster, which all commands have that ask a server. Ends with a NULL name. */
extern const struct option options_common[];
/* What it does: from here on that cluster's server is asked (SHUNT_CLUSTER). The first one counts: a command line is read before the
 * script that it names. */
void cluster_choose(const char *name);

/* "-l, --resources LIST" */
void option_spell(const struct option *o, struct strbuf *out);
/* Whether it can be written "--name". */
static inline bool option_long(const struct option *o)
{
	return o->name[0] != '-';
}

void command_examples(const struct command *c, FILE *out);
void command_help(const struct command *c, FILE *out);
/* "[WORKLOAD] [options]" */
void command_synopsis(const struct command *c, struct strbuf *out);
/* Text in lines of 80 columns, or of the terminal's if that has fewer, all but the first behind `indent` blanks; `column` is where it begins. */
void print_wrapped(FILE *out, const char *text, int indent, int column);
/* The words an option may be, "sc15 site" or all policies; NULL: anything. */
const char *option_words(const struct option *o, struct strbuf *scratch);

#endif
