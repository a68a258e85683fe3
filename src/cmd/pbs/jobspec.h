/*
 * jobspec.h - converts the options of qsub, `shunt submit` and qalter to the API's job.
 *
 * A script's directives are added one by one, then the command line: later values win, key by key;
 * resources and variables accumulate.
 */
#ifndef CMD_JOBSPEC_H
#define CMD_JOBSPEC_H

#include <jansson.h>
#include <stdbool.h>

#include "base/vec.h"
#include "cmd/lib/command.h"
#include "cmd/pbs/select.h"

/* The parsed options. */
struct job_arguments {
	struct texts members; /* OPTION_MEMBER: texts sent unchanged */
	const char *arguments, *array, *at, *holds;
	const char *template;
	const char *powers, *prefix, *priority, *remove, *rerunnable, *shell, *type, *users;
	struct {
		const char *deadline, *estimate, *budget;
	} terms;
	struct {
		const char *queue, *partition, *reservation;
	} into;
	const char *mail;
	struct {
		const char *keep, *prologue, *root, *workdir;
	} files;
	struct {
		const char *file, *class, *processors, *runtime, *interval, *duration;
	} items; /* see items.h */
	struct texts resources, more, t, p, w, variables;
	int64_t patience;
	bool hold, interactive, silent, export_all, tolerant, exclusive;
	bool block, json;
	struct {
		bool required; /* qsub: refuse the job without one */
		bool broken;   /* qalter --force: even if other jobs' guarantees break */
	} guarantee;
	struct {
		const char *wait_at_most;
		bool yes, x11, command;
	} seat;		      /* interactive jobs only */
	struct choice choice; /* qalter only */
	struct {
		const char *value, *lines; /* the first value; a file with one in each line */
	} each;
};

struct variable {
	char *name, *value; /* value NULL: from the environment */
};

struct jobspec {
	json_t *job; /* the API's keys */
	VEC(struct variable) variables;
	bool interactive, silent, block, export_all, x11, command;
	bool answered; /* the user has decided whether other jobs may be displaced */
	bool alters;   /* alters an existing job: the server knows what it is bound to */
	bool repeats;  /* repeats an existing job: the server knows what mem=x2 multiplies */
	/* a working directory was given: output still goes to the directory of submission */
	bool workdir;
};

void jobspec_init(struct jobspec *s);
void jobspec_fini(struct jobspec *s);
/* Adds options. Returns -EINVAL with a message that begins with the option. */
int jobspec_add(struct jobspec *s, const struct job_arguments *a, struct err *err);
/* Rejects options that are not supported: -EINVAL with an alternative. */
int jobspec_refused(const struct job_arguments *a, struct err *err);
/* Moves operands that continue the terms of -w to it: -w deadline=x, budget=y, estimate=z, as
 * Libra's users write it. */
void jobspec_join(struct job_arguments *a, char **operand, int *n);
/* Adds a resource request like -l. */
int jobspec_resource(struct jobspec *s, const char *text, struct err *err);
/* Sets a key to a text; bytes that are not UTF-8 become '?' (only names and paths come here). */
void jobspec_text(struct jobspec *s, const char *key, const char *text);
/* Appends "/" to output paths that are directories: only here, and as the user, can that be
 * checked. */
void jobspec_directories(struct jobspec *s);
/* Builds the API's `environment`: PBS_O_*, and the variables of -v and -V. *ret_missing names a
 * variable of -v that is not set, or is NULL. */
void jobspec_environment(struct jobspec *s, const char **ret_missing);
/* Returns the current directory as the user calls it ($PWD), else by its real name. */
const char *directory_here(char *buf, size_t size);

/* Sets how many elements of an array may run at once. `option` is the option that the text belongs
 * to. */
int jobspec_throttle(struct jobspec *s, const char *option, const char *text, struct err *err);

/* Helpers of jobspec_add() in jobspec_more.c: "-W name=value,..." and "-v A=1,B". */
int jobspec_more(struct jobspec *s, const char *text, struct err *err);
int jobspec_variables(struct jobspec *s, const char *text, struct err *err);

/* The options, in jobspec_options.c. */
/* Writes the member of a job that an OPTION_MEMBER sets, by its name: mail_to of "mail-to". Returns
 * `ret`. */
const char *jobspec_key(const char *option, char *ret, size_t size);
extern const struct option qsub_options[], qalter_options[];
extern const char *const qsub_hints[];

#endif
