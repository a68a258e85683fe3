/*
 * qsub.h - the parts of submitting a job.
 */
#ifndef CMD_QSUB_H
#define CMD_QSUB_H

#include "base/strbuf.h"
#include "client/client.h"
#include "client/script.h"
#include "cmd/pbs/jobspec.h"

#define SCRIPT_MAX (16 << 20)
#define PROGRAM_MAX 1024 /* bytes that the server takes */

/* The script: from a file, standard input ("-" or no name), or made of the words of a command. */
struct source {
	struct strbuf text;
	char name[256];	   /* the job's name unless given: the file's, the program's, or STDIN */
	const char *label; /* for messages: the file's name, or "standard input" */
	struct strbuf
		program; /* what is run, as a shell reads it: a file's path or a command; empty: nothing with a name */
};

/* In qsub_script.c. -errno with a sentence that says what to do. */
int source_file(struct source *s, const char *path, struct err *err);
/* `functions`: the environment has exported functions of bash, which other shells drop. */
void source_command(struct source *s, char *const *word, int n, bool functions);
void source_fini(struct source *s);
/* What is run and its arguments, as `program`; up to PROGRAM_MAX bytes. */
void source_program(const struct source *s, json_t *job);
/* The text as the API takes it: `script`, or `script_base64`. */
void source_put(const struct source *s, json_t *job);
/* What a newcomer would not expect of this script, on standard error. */
void source_remarks(const struct command *c, const struct source *s, const struct directives *d);

/* In qsub_wait.c. Waits until the job has ended; its exit code as a shell's, or EXIT_FAILED with a message. */
int job_wait(const struct command *c, struct client *client, const char *id);
/* Of a job that has ended, how a shell would say it: a signal is 128 and its number. Says so if it has none. */
int job_exit_code(const struct command *c, const json_t *job, const char *id);
/* In qsub_terminal.c. Submits an interactive job and serves its terminal. */
int job_interact(const struct command *c, struct client *client, struct jobspec *s);

/* A script as qsub would submit it without options: what the API takes. The caller's. In qsub.c. */
int job_from_script(const char *path, json_t **ret, struct err *err);
/* Hands it in; 0 and the answer, or the exit code. Says what there is to say. */
int job_submit(const struct command *c, struct client *client, const struct jobspec *s, struct reply *ret);
void job_warn(const struct command *c, const struct jobspec *s, const struct reply *r); /* what the answer warns of */

#endif
