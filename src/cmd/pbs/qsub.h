/*
 * qsub.h - the parts of submitting a job.
 */
#ifndef CMD_QSUB_H
#define CMD_QSUB_H

#include "base/hostlist.h"
#include "base/strbuf.h"
#include "client/client.h"
#include "client/script.h"
#include "cmd/pbs/jobspec.h"

#define PROGRAM_MAX 1024 /* bytes; the server's limit */

/* The script: from a file, from standard input ("-" or no name), or from a command's words. */
struct source {
	struct strbuf text;
	char name[256];	       /* default name of the job: of the file or the program, or STDIN */
	const char *label;     /* for messages: the file's name, or "standard input" */
	struct strbuf program; /* shell text: a file's path or a command; empty: it has no name */
};

/* Reads a script (qsub_script.c). Returns -errno with a message that says what to do. */
int source_file(struct source *s, const char *path, struct err *err);
/* Makes a script of a command. `functions`: the environment has exported bash functions, which
 * other shells drop. */
void source_command(struct source *s, char *const *word, int n, bool functions);
/* Makes a script of a command for the elements of an array: each has one of the values, which
 * replaces {} in the words, or is the last word if none has it. */
void source_each(struct source *s, char *const *word, int n, const name_list *values);
/* Reads the values of --each-line: the lines of a file that are not empty; "-": of standard
 * input. */
int values_read(const char *path, name_list *ret, struct err *err);
void source_fini(struct source *s);
/* Sets the member `program`: the program and its arguments, at most PROGRAM_MAX bytes. */
void source_program(const struct source *s, json_t *job);
/* Sets the member `script`, or `script_base64`. */
void source_put(const struct source *s, json_t *job);
/* Warns on standard error of what a newcomer would not expect of this script. */
void source_remarks(const struct command *c, const struct source *s, const struct directives *d);

/* Waits until the job has ended (qsub_wait.c). Returns its exit code as a shell's, or EXIT_FAILED
 * with a message. */
int job_wait(const struct command *c, struct client *client, const char *id);
/* Returns the exit code of an ended job as a shell would: a signal is 128 plus its number. Prints a
 * message if it has none. */
int job_exit_code(const struct command *c, const json_t *job, const char *id);
/* Submits an interactive job and serves its terminal (qsub_terminal.c). */
int job_interact(const struct command *c, struct client *client, struct jobspec *s);

/* Reads a job as qsub does, from options, script, command and job description, and passes it to
 * `then`, which returns the exit code (qsub.c). With `scriptless` a script may be missing. */
int job_main(const struct command *c, int argc, char **argv, bool scriptless,
	     int (*then)(const struct command *c, struct jobspec *s, bool json));
/* Builds the API's job from a script as qsub would without options (qsub.c). The caller frees
 * it. */
int job_from_script(const char *path, json_t **ret, struct err *err);
/* Prints the answer's warnings. */
void job_warn(const struct command *c, const struct jobspec *s, const struct reply *r);

#endif
