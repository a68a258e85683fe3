/*
 * option.h - options of a command line, described by rows, which the parser, the help, the manual
 * pages and the shell completions read.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The kind of an option's value, and so the type of its field in the arguments. */
enum option_kind {
	OPTION_FLAG,	 /* no value; bool */
	OPTION_TEXT,	 /* const char *, like the next four */
	OPTION_FILE,	 /* the name of a file, for completions */
	OPTION_DIR,	 /* the name of a directory */
	OPTION_WORD,	 /* one of `words` */
	OPTION_POLICIES, /* names of policies, separated by commas: checked by the caller */
	OPTION_NUMBER,	 /* int64_t, min..max */
	OPTION_INT,	 /* int, min..max */
	OPTION_SECONDS,	 /* int64_t, in any form of a duration */
	OPTION_CHARS,	 /* char[max] */
	OPTION_TEXTS,	 /* struct texts: may be given more than once */
	/* struct texts shared by such options: the option's name, then the text, one of `words` if
	 * any */
	OPTION_MEMBER,
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
	size_t at;	     /* offset of the value in the command's arguments */
	const char *value;   /* placeholder in the help; NULL for flags */
	const char *initial; /* default value; NULL: none (-1, NULL, false) */
	/* allowed values, "sc15 site"; for OPTION_TEXT only suggestions for completions */
	const char *words;
	int64_t min, max;
	const char *about;
	/* short form "-l"; 0: none. The letters of a q-command's flags may be joined: -fx */
	char letter;
};

/* Rows of a table of options, with the members that differ from 0: OPTION(NUMBER, 'n', "limit",
 * limit, "N", "show the first N jobs", .initial = "100", .min = 1, .max = 1000). The file defines
 * AT(field), the place of a field in its arguments, or gives the place to OPTION_ROW(). */
#define OPTION_ROW(type, sign, word, place, placeholder, help, ...)                                                    \
	{                                                                                                              \
		.name = word, .kind = OPTION_##type, .at = place, .value = placeholder, .about = help, .letter = sign, \
		##__VA_ARGS__                                                                                          \
	}
#define OPTION(type, sign, word, field, ...) OPTION_ROW(type, sign, word, AT(field), __VA_ARGS__)
#define FLAG(sign, word, field, help) OPTION(FLAG, sign, word, field, NULL, help)

/* The options of a program. */
struct options {
	const struct option *rows; /* ends with a NULL name; may be NULL */
	/* Further rows, and the function that takes their values; or NULL. */
	const struct option *common;
	void (*take)(const char *text);
	/* pairs of another system's option and its equivalent here, ends with NULL; or NULL */
	const char *const *hints;
	bool own; /* a program of its own name: has --version, and -h is an option like others */
	/* Checks a value of OPTION_POLICIES. */
	int (*check)(const char *text, struct err *err);
};

enum {
	OPTIONS_HELP = 1,    /* --help was given */
	OPTIONS_VERSION = 2, /* --version was given, to a program of its own name */
};

/* Returns true if the option can be written "--name". */
static inline bool option_long(const struct option *o)
{
	return o->name[0] != '-';
}

/* Returns true if a word is in a list such as "sc15 site". */
bool option_word_in(const char *words, const char *word);
/* Stores the default values of the rows in the arguments; frees the lists in them. */
void options_init(const struct options *o, void *arguments);
void options_fini(const struct options *o, void *arguments);
/* Stores the options in argv[0..argc) in `arguments`, and the other words in `operands`, which has
 * room for argc of them. Returns 0, one of the above (the rest is then skipped), or -EINVAL with a
 * message. Texts are borrowed from argv. */
int options_read(const struct options *o, int argc, char **argv, void *arguments, char **operands, int *ret_n,
		 struct err *err);
/* Does the same for a program with a text for --help, and prints that text. After an error it
 * prints both on standard error. */
int options_main(const struct options *o, const char *program, const char *usage, int argc, char **argv,
		 void *arguments, char **operands, int *ret_n);

#endif
