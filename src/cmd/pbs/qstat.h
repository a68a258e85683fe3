/*
 * qstat.h - shared by the files of `qstat`: qstat.c reads options and operands, qstat_list.c prints
 * lists of jobs, qstat_full.c prints jobs in full, qstat_past.c finds forgotten jobs,
 * qstat_things.c shows queues and the server.
 */
#ifndef CMD_QSTAT_H
#define CMD_QSTAT_H

#include "cmd/lib/command.h"
#include "cmd/lib/show.h"

struct qstat_arguments {
	bool full, x, all, nodes, comments, running, idle, uncompleted, queue_limits, queues, server, elements, arrays,
		wide, giga, mega, history, one_line, estimate, no_alias, executing, pro;
	const char *user, *format, *delimiter;
};

struct qstat {
	const struct command *command;
	const struct qstat_arguments *a;
	struct client *client;
	const struct operands *operands;
	char server_name[256]; /* see qstat_server() */
	int code;	       /* exit code of the first failure, or EXIT_OK */
};

/* Returns true if the operand is a job's id; else it is "queue", "queue@server" or "@server". */
bool qstat_is_job(const char *operand);
/* Writes "/v1/jobs?..." for the options' selection and the operand's job or queue; NULL: all. */
void qstat_path(const struct qstat *q, const char *operand, struct strbuf *path);
/* Reports that the operand matched no job, unless it is an existing, empty queue. */
void qstat_empty(struct qstat *q, const char *operand);
/* Reports an error about an operand, and keeps the exit code. */
void qstat_failed(struct qstat *q, const char *operand, const struct err *err);
/* Returns the server's name; "" if it does not answer. */
const char *qstat_server(struct qstat *q);
/* Prints PBS Pro's JSON: time, server, and the objects under `root`. */
void qstat_json(struct qstat *q, const char *root, json_t *objects);
/* Keeps the first exit code. */
void qstat_keep(struct qstat *q, int code);

/* Finds jobs that the server has forgotten (qstat_past.c). The first returns true if the options
 * ask for them; the second calls `one` with each, oldest first, of the operand's queue or job
 * (NULL: all), and returns their number. */
bool qstat_wants_past(const struct qstat *q);
int64_t qstat_past(struct qstat *q, const char *operand, void (*one)(void *context, const json_t *job), void *context);

void qstat_list(struct qstat *q);	  /* plain and -a */
void qstat_full(struct qstat *q);	  /* -f, -x, -F */
void qstat_queues(struct qstat *q);	  /* -Q */
void qstat_queue_limits(struct qstat *q); /* -q */
void qstat_servers(struct qstat *q);	  /* -B */

#endif
