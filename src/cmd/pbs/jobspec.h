/*
 * jobspec.h - what the options of qsub, `shunt submit` and qalter say of a job, as the API has it.
 *
 * A script's directives are added one by one, then the command line: what comes later wins, key by key; resources and
 * variables add up.
 */
#ifndef CMD_JOBSPEC_H
#define CMD_JOBSPEC_H

#include <jansson.h>
#include <stdbool.h>

#include "base/vec.h"
#include "cmd/lib/command.h"

/* Where the options' values go. */
struct job_arguments {
	struct texts members; /* of OPTION_MEMBER: texts that are sent as they are */
	const char *arguments, *array, *at, *holds;
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
	} items; /* items.h */
	struct texts resources, more, t, p, w, variables;
	int64_t patience;
	bool hold, interactive, silent, export_all, tolerant, exclusive;
	bool block, json;
	struct {
		bool required; /* qsub: refuse the job without one */
		bool broken;   /* qalter --force: even if guarantees of other jobs break */
	} guarantee;
	struct {
		const char *wait_at_most;
		bool yes, x11, command;
	} seat; /* of an interactive job */
};

struct variable {
	char *name, *value; /* value NULL: as in the environment */
};

struct jobspec {
	json_t *job; /* the API's keys */
	VEC(struct variable) variables;
	bool interactive, silent, block, export_all, x11, command;
	bool answered; /* whether others may be displaced for it */
	bool alters;   /* a job that is there: what it is bound to is known to the server */
	bool workdir;  /* was given: output goes where the job was submitted all the same */
};

void jobspec_init(struct jobspec *s);
void jobspec_fini(struct jobspec *s);
/* -EINVAL with a sentence that begins with the option. */
int jobspec_add(struct jobspec *s, const struct job_arguments *a, struct err *err);
/* What can't be had, and what to do instead: -EINVAL. */
int jobspec_refused(const struct job_arguments *a, struct err *err);
/* Moves operands to -w that continue its terms: -w deadline=x, budget=y, estimate=z, as Libra's users write it. */
void jobspec_join(struct job_arguments *a, char **operand, int *n);
/* As if -l had said it. */
int jobspec_resource(struct jobspec *s, const char *text, struct err *err);
/* Sets a key, text by text: what is not UTF-8 becomes '?' (only names and paths come here). */
void jobspec_text(struct jobspec *s, const char *key, const char *text);
/* Output to "dir" becomes output to "dir/" where that is a directory: only here, and as the user, can that be seen. */
void jobspec_directories(struct jobspec *s);
/* The API's `environment`: PBS_O_*, and what -v and -V ask for. `ret_missing` names a variable of -v that is not set,
 * or is NULL. */
void jobspec_environment(struct jobspec *s, const char **ret_missing);
/* The directory of this process as the user calls it ($PWD), else by its real name. */
const char *directory_here(char *buf, size_t size);

/* How many elements of an array may run at once. `option` is what the text stands behind. */
int jobspec_throttle(struct jobspec *s, const char *option, const char *text, struct err *err);

/* In jobspec_more.c, for jobspec_add(): "-W name=value,...", and "-v A=1,B". */
int jobspec_more(struct jobspec *s, const char *text, struct err *err);
int jobspec_variables(struct jobspec *s, const char *text, struct err *err);

/* The options, in jobspec_options.c. */
/* Writes the member of a job that an OPTION_MEMBER sets, by its name: mail_to of "mail-to". Returns `ret`. */
const char *jobspec_key(const char *option, char *ret, size_t size);
extern const struct option qsub_options[], qalter_options[];
extern const char *const qsub_hints[];

#endif
