/*
 * qstat.h - what the files of `qstat` share: qstat.c reads options and operands, qstat_list.c prints lists of jobs,
 * qstat_full.c all there is to know of them, qstat_past.c finds forgotten ones, qstat_things.c shows queues and the server.
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
	int code;	       /* the first failure's, or EXIT_OK */
};

/* Whether the operand is a job's id; else it is "queue", "queue@server" or "@server". */
bool qstat_is_job(const char *operand);
/* "/v1/jobs?..." with what the options select; of the operand's job or queue, or all when it is NULL. */
void qstat_path(const struct qstat *q, const char *operand, struct strbuf *path);
/* No job was found for the operand: says so, unless it is a queue that is there but empty. */
void qstat_empty(struct qstat *q, const char *operand);
/* Says that the operand names nothing, or what else went wrong, and keeps the exit code. */
void qstat_unknown(struct qstat *q, const char *operand);
void qstat_failed(struct qstat *q, const char *operand, const struct err *err);
/* The server's name; "" if it doesn't answer. */
const char *qstat_server(struct qstat *q);
/* Prints PBS Pro's JSON: when, by whom, and the objects under `root`. */
void qstat_json(struct qstat *q, const char *root, json_t *objects);
/* Keeps the first exit code. */
void qstat_keep(struct qstat *q, int code);

/* In qstat_past.c: whether jobs that the server has forgotten are asked for; and these, oldest first, of the operand's queue or job, or all if it
 * is NULL. How many there were. */
bool qstat_wants_past(const struct qstat *q);
int64_t qstat_past(struct qstat *q, const char *operand, void (*one)(void *context, const json_t *job), void *context);

void qstat_list(struct qstat *q);	  /* plain and -a */
void qstat_full(struct qstat *q);	  /* -f, -x, -F */
void qstat_queues(struct qstat *q);	  /* -Q */
void qstat_queue_limits(struct qstat *q); /* -q */
void qstat_servers(struct qstat *q);	  /* -B */

#endif
