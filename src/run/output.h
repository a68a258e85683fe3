/*
 * output.h - where a job's standard output and error go: to the user's files; if that fails, or
 * they vanish while the job is running, to the spare directory, and the result's reason says so.
 */
#ifndef RUN_OUTPUT_H
#define RUN_OUTPUT_H

#include "run/identity.h"
#include "run/order.h"

struct output {
	int fd[2];	   /* descriptors of out and err; equal if joined; -1: none */
	const char *to[2]; /* requested paths */
	bool spare[2];	   /* the stream is in the spare directory */
	int64_t looked[2]; /* size in bytes when output_bound() last looked */
	bool cut[2];
};
#define OUTPUT_EVERY 100000 /* us between checks of output in the spare directory */

/* Opens both with the user's rights. Returns -errno and a reason if even the spare files can't be
 * opened. Adds sentences to `say`. */
int output_open(const struct order *o, const struct identity *who, struct output *ret, struct strbuf *say,
		struct err *err);
/* Adds a line to the error output (the output, if they are joined). Skips it if the write would
 * have to wait for a reader. */
void output_say(const struct output *out, const char *line);
bool output_is_spare(const struct output *out);
/* Cuts output in the spare directory to the allowed size (spare.h). Call it repeatedly while the
 * job is running: the job writes to the file directly. */
void output_bound(const struct order *o, const struct identity *who, struct output *out);
/* Closes both at the end, and saves what was written to files that have been deleted since. */
void output_close(const struct order *o, const struct identity *who, struct output *out, struct strbuf *say);

#endif
