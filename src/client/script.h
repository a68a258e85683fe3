/*
 * script.h - what a job's script says to the batch system: the lines that begin with "#PBS".
 *
 *	#!/bin/sh
 *	#PBS -N "my job" -l nodes=1:ppn=4	words as a shell splits them; a word that begins with '#' ends the line
 *	# a comment, and blank lines may come between
 *	#PBS -W depend=afterok:12 \
 *	#PBS -m e				a backslash continues, with the prefix again or without
 *	make					the first command: nothing after it is read
 *
 * As POSIX has it for qsub. Lines may end as DOS ends them.
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

/* A list of words; ends with NULL. */
struct words {
	char **v;
	int n;
};

struct directive {
	struct words words;
	int line; /* from 1 */
};

struct directives {
	VEC(struct directive) list;
	int late;    /* line of the first one after the first command, which is not read; 0: none */
	int spaced;  /* of the first "# PBS", which is a comment; 0: none */
	int foreign; /* of the first "#SBATCH", which belongs to Slurm; 0: none */
};

/* Reads the directives of a script. An empty prefix: there are none. -EINVAL: a quote that is not closed, a NUL, too
 * many; the sentence begins with "line N". Words live in the arena; the caller frees with directives_fini(), in both
 * cases. */
int directives_read(const char *text, size_t n, const char *prefix, struct arena *arena, struct directives *ret,
		    struct err *err);
void directives_fini(struct directives *d);

/* Splits text into words as a shell would: blanks, '...', "...", backslashes; nothing is expanded. `comments`: a word
 * that begins with '#' ends it. */
int words_split(const char *text, size_t n, bool comments, struct arena *arena, struct words *ret, struct err *err);

#endif
