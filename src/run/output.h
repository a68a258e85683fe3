/*
 * output.h - where a job's standard output and error go: straight to the user's files; where that is not possible, or when they
 * vanish while it runs, to the spare directory, and the result's reason says so.
 */
#ifndef RUN_OUTPUT_H
#define RUN_OUTPUT_H

#include "run/identity.h"
#include "run/order.h"

struct output {
	int fd[2];	   /* of out and err; the same if joined; -1: none */
	const char *to[2]; /* the paths asked for */
	bool spare[2];	   /* it is in the spare directory */
	int64_t looked[2]; /* bytes that it had when output_bound() looked last */
	bool cut[2];
};
#define OUTPUT_EVERY 100000 /* us between looks at output in the spare directory */

/* Opens them with the user's rights. -errno and a reason if not even the spare ones can be had. `say` gets sentences. */
int output_open(const struct order *o, const struct identity *who, struct output *ret, struct strbuf *say,
		struct err *err);
/* Adds a line to the error output (the output, if they are joined). One that would have to wait for a reader is not written. */
void output_say(const struct output *out, const char *line);
bool output_is_spare(const struct output *out);
/* Cuts output in the spare directory that is more than may lie there (spare.h). Called again and again while the job runs: it writes to the file itself. */
void output_bound(const struct order *o, const struct identity *who, struct output *out);
/* At the end: what was written to files that are gone now is saved. Closes them. */
void output_close(const struct order *o, const struct identity *who, struct output *out, struct strbuf *say);

#endif
