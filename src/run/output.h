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
};

/* Opens them with the user's rights. -errno and a reason if not even the spare ones can be had. `say` gets sentences. */
int output_open(const struct order *o, const struct identity *who, struct output *ret, struct strbuf *say,
		struct err *err);
/* Adds a line to the error output (the output, if they are joined). One that would have to wait for a reader is not written. */
void output_say(const struct output *out, const char *line);
/* At the end: what was written to files that are gone now is saved. Closes them. */
void output_close(const struct order *o, const struct identity *who, struct output *out, struct strbuf *say);

#endif
