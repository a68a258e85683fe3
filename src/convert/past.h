/*
 * past.h - jobs that other systems ran, from what these wrote of them: accounting files of TORQUE, PBS Pro and OpenPBS, and the output of Slurm's `sacct -P`.
 *
 * Which of them a file is, its content tells. A line that can't be read is reported and passed over.
 *
 * A job is called "pbs:12.server" or "slurm:12_3.cluster": the system, and what that called it.
 */
#ifndef CLIENT_PAST_H
#define CLIENT_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"

/* Texts are borrowed; "" where nothing is known, and 0. */
struct past_row {
	const char *id, *user, *group, *account, *project, *queue, *name;
	const char *resources; /* as after -l */
	const char *hosts, *text;
	const char *state; /* as in the history: "completed", "failed", ... */
	bool again;	   /* it was run again */
	int64_t exit_status;
	int64_t submitted, started, ended; /* instants; started is 0 if it never was */
	int64_t nodes, cpus, gpus, memory_kib, walltime;
	int64_t ran_ms, cpu_ms, peak_kib;
};

struct past_events {
	/* Other than 0 ends the reading, and is returned. */
	int (*row)(void *context, const struct past_row *row, const char *file, int64_t line);
	void (*bad)(void *context, const char *file, int64_t line, const char *why);
	void *context;
};

struct past_reader;
/* `source`: the server or cluster that jobs are from, where the file does not say it. */
struct past_reader *past_create(const char *source, const struct past_events *e);
void past_destroy(struct past_reader *r);
/* -EINVAL: it is neither kind of file. `file`, its name, is borrowed until past_finish(). */
int past_read(struct past_reader *r, const char *file, struct lines *in, struct err *err);
/* After the last file: jobs that were deleted before they started, of which PBS writes no line with all there is. */
int past_finish(struct past_reader *r);
int64_t past_unfinished(const struct past_reader *r); /* jobs that had not ended: left out */

#endif
