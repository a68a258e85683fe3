/*
 * items.h - what `shunt submit` is to know of a job, item by item: from the command line, else from a job description file, else from the user.
 */
#ifndef CMD_ITEMS_H
#define CMD_ITEMS_H

#include "base/arena.h"
#include "client/jobfile.h"
#include "client/script.h"
#include "cmd/pbs/jobspec.h"

struct items {
	const char *value[JOB_ITEMS]; /* in the arena; NULL: not given, or by another option */
	bool given[JOB_ITEMS];
	int64_t processors; /* those of a job that names neither their number nor a partition; 0: it has to */
	bool file;	    /* there is a description: no script comes from standard input */
};

/* From the options, and the file if there is one. -EINVAL, -errno. */
int items_gather(const struct job_arguments *a, struct arena *arena, struct items *ret, struct err *err);
/* Asks on the terminal for what is missing. -ECANCELED: the user has ended it. */
int items_ask(struct items *x, struct arena *arena, struct err *err);
/* Names all that is missing and needed. -EINVAL. */
int items_check(const struct items *x, struct err *err);
/* What they say of the job. */
int items_put(const struct items *x, struct jobspec *s, struct err *err);
/* The words of the program. */
int items_program(const struct items *x, struct arena *arena, struct words *ret, struct err *err);

#endif
