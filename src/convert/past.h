/*
 * past.h - reads jobs that ran: accounting files of TORQUE, PBS Pro, OpenPBS and Shunt, and the
 * output of Slurm's `sacct -P`.
 *
 * The content of a file shows its kind. A line that cannot be read is reported and skipped.
 *
 * Job ids are the system and its own id: "pbs:12.server", "slurm:12_3.cluster".
 */
#ifndef CLIENT_PAST_H
#define CLIENT_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"

/* A job. Texts are borrowed. Unknown values are "" and 0. */
struct past_row {
	const char *id, *user, *group, *account, *project, *queue, *name;
	const char *resources; /* in the form of qsub -l */
	const char *hosts, *text;
	const char *state; /* a state of the history: "completed", "failed", ... */
	bool again;	   /* it was rerun */
	int64_t exit_status;
	int64_t submitted, started, ended; /* Unix times; `started` is 0 if it never started */
	int64_t nodes, cpus, gpus, memory_kib, walltime;
	int64_t ran_ms, cpu_ms, peak_kib;
};

struct past_events {
	/* Receives one job. A result other than 0 stops the reader, which returns it. */
	int (*row)(void *context, const struct past_row *row, const char *file, int64_t line);
	void (*bad)(void *context, const char *file, int64_t line, const char *why);
	void *context;
};

struct past_reader;
/* Creates a reader. `source` is the server or cluster of jobs whose file does not name it. */
struct past_reader *past_create(const char *source, const struct past_events *e);
void past_destroy(struct past_reader *r);
/* Reads a file. Returns -EINVAL if it is neither kind of file. `file`, its name, is borrowed until
 * past_finish(). */
int past_read(struct past_reader *r, const char *file, struct lines *in, struct err *err);
/* Reads the rest of a file whose first line, `line`, has been taken from `in`. */
int past_read_on(struct past_reader *r, const char *file, struct lines *in, char *line, struct err *err);
/* Emits, after the last file, the jobs that were deleted before they started: PBS writes no
 * complete record for them. */
int past_finish(struct past_reader *r);
int64_t past_unfinished(const struct past_reader *r); /* jobs left out because they had not ended */

#endif
