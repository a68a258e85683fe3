/*
 * script.h - reads the directives of a job script: the lines that begin with "#PBS".
 *
 *	#!/bin/sh
 *	#PBS -N "my job" -l nodes=1:ppn=4	split like a shell; "#..." ends the line
 *	# a comment, and blank lines may come between
 *	#PBS -W depend=afterok:12 \
 *	#PBS -m e				a backslash continues; the prefix is optional
 *	make					the first command: nothing after it is read
 *
 * This is the format POSIX defines for qsub. DOS line endings are accepted.
 */
#ifndef CLIENT_SCRIPT_H
#define CLIENT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#define SCRIPT_PREFIX "#PBS"
#define SCRIPT_DIRECTIVES_MAX 10000

/* A list of words, NULL-terminated. */
struct words {
	char **v;
	int n;
};

struct directive {
	struct words words;
	int line; /* line number, from 1 */
};

struct directives {
	VEC(struct directive) list;
	/* line of the first directive after the first command, which is ignored; 0: none */
	int late;
	int spaced;  /* line of the first "# PBS", which is a comment; 0: none */
	int foreign; /* line of the first "#SBATCH", which belongs to Slurm; 0: none */
};

/* Reads the directives of a script; with an empty prefix there are none. Returns -EINVAL for an
 * unclosed quote, a NUL or too many directives; the message begins with "line N". Words live in the
 * arena. The caller frees with directives_fini(), also after an error. */
int directives_read(const char *text, size_t n, const char *prefix, struct arena *arena, struct directives *ret,
		    struct err *err);
void directives_fini(struct directives *d);

/* Splits text into words as a shell would: blanks, '...', "...", backslashes; nothing is expanded.
 * With `comments` a word that begins with '#' ends the text. */
int words_split(const char *text, size_t n, bool comments, struct arena *arena, struct words *ret, struct err *err);

#endif
