/*
 * launch.h - the parts of `shunt launch`: placement of ranks (launch_map.c), their output
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
	const char *output;	 /* NULL: our own */
	const char *send;	 /* NULL: none */
	const char *pass;	 /* signals to pass on */
	bool label;
};

/* Fills in nodes, hosts and ranks of an empty layout. Returns -EINVAL if they do not fit. */
int launch_map(const struct jobhosts *hosts, const struct launch_arguments *a, struct layout *l, struct err *err);

/* ---- output of ranks ---- */

enum { OUTPUT_OUT, OUTPUT_ERR };

struct launch_output {
	const struct layout *l;
	struct sink sink[2];	/* our standard output and error */
	struct strbuf *line[2]; /* by rank: an incomplete line; only if lines are labelled */
	int *file;		/* by rank: descriptor; NULL: no files */
	bool broken;		/* a reader of our output has closed it */
};

/* Opens the output. Returns -errno if a file cannot be created. */
int output_init(struct launch_output *o, const struct layout *l, const struct launch_arguments *a, struct err *err);
void output_write(struct launch_output *o, uint32_t rank, int which, const char *data, size_t n);
/* Prints a line of our own, in order with the ranks' on standard error. */
void output_note(struct launch_output *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool output_full(const struct launch_output *o);
void output_push(struct launch_output *o);
void output_fini(struct launch_output *o); /* waits until all is written */

/* ---- the hub ---- */

/* Runs the program. Returns the exit code after printing any error. */
int hub_run(const struct layout *l, const struct launch_arguments *a, struct launch_output *output);
/* Returns the path of shunt-pmix, borrowed; NULL: it is not installed. */
const char *launch_program(void);

#endif
