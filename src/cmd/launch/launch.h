/*
 * launch.h - the parts of `shunt launch`: who runs where (launch_map.c), what they write
 * (launch_output.c), and the hub between the hosts (launch_hub.c).
 */
#ifndef CMD_LAUNCH_H
#define CMD_LAUNCH_H

#include "cmd/launch/jobhosts.h"
#include "cmd/lib/command.h"
#include "cmd/lib/sink.h"
#include "pmix/layout.h"

struct launch_arguments {
	int64_t ranks, per_node; /* -1: not given */
	int64_t timeout;	 /* seconds; -1: none */
	const char *map, *bind;	 /* words */
	const char *output;	 /* NULL: ours */
	const char *send;	 /* NULL: none */
	const char *pass;	 /* signals */
	bool label;
};

/* Nodes, hosts and ranks of the layout, which is empty. -EINVAL: they don't fit. */
int launch_map(const struct jobhosts *hosts, const struct launch_arguments *a, struct layout *l, struct err *err);

/* ---- what ranks write ---- */

enum { OUTPUT_OUT, OUTPUT_ERR };

struct launch_output {
	const struct layout *l;
	struct sink sink[2];	/* our standard output and error */
	struct strbuf *line[2]; /* by rank: the beginning of a line; only where they are labelled */
	int *file;		/* by rank; NULL: none */
	bool broken;		/* somebody who read us has gone */
};

/* -errno: a file can't be made. */
int output_init(struct launch_output *o, const struct layout *l, const struct launch_arguments *a, struct err *err);
void output_write(struct launch_output *o, uint32_t rank, int which, const char *data, size_t n);
/* A line of our own, in order with the ranks' on standard error. */
void output_note(struct launch_output *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool output_full(const struct launch_output *o);
void output_push(struct launch_output *o);
void output_fini(struct launch_output *o); /* waits until all is written */

/* ---- the hub ---- */

/* Runs the program. Returns the exit code, having said what there is to say. */
int hub_run(const struct layout *l, const struct launch_arguments *a, struct launch_output *output);
/* The path of shunt-pmix; NULL: it is not installed. Borrowed. */
const char *launch_program(void);

#endif
