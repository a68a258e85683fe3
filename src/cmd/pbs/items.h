/*
 * items.h - the items that `shunt submit` needs of a job: from the command line, else from a job
 * description file, else from the user.
 */
#ifndef CMD_ITEMS_H
#define CMD_ITEMS_H

#include "base/arena.h"
#include "client/jobfile.h"
#include "client/script.h"
#include "cmd/pbs/jobspec.h"

struct items {
	/* in the arena; NULL: not given, or given by another option */
	const char *value[JOB_ITEMS];
	bool given[JOB_ITEMS];
	/* default for a job that gives neither their number nor a partition; 0: required */
	int64_t processors;
	bool file; /* a description file was given: standard input is not the script */
};

/* Collects items from the options and the file, if any. Returns -EINVAL or -errno. */
int items_gather(const struct job_arguments *a, struct arena *arena, struct items *ret, struct err *err);
/* Asks on the terminal for missing items. Returns -ECANCELED if the user quits. */
int items_ask(struct items *x, struct arena *arena, struct err *err);
/* Reports all missing items that are required. Returns -EINVAL. */
int items_check(const struct items *x, struct err *err);
/* Adds the items to the job. */
int items_put(const struct items *x, struct jobspec *s, struct err *err);
/* Splits the program into words. */
int items_program(const struct items *x, struct arena *arena, struct words *ret, struct err *err);

#endif
