/*
 * change.h - for commands that change jobs, queues and the server: one request for many operands,
 * each with its own result. A failure is reported and the others continue; the last failure's code
 * becomes the command's.
 */
#ifndef CMD_CHANGE_H
#define CMD_CHANGE_H

#include <jansson.h>

#include "base/hostlist.h"
#include "client/client.h"
#include "cmd/lib/command.h"

struct change {
	const struct command *c;
	struct client *client;
	int code;	       /* exit code so far */
	bool force;	       /* changes may break guaranteed deadlines */
	bool finished_is_fine; /* a job that has finished is not a failure */
	char server[256];      /* name of the server, once known */
};

/* Connects to the server. Returns false after printing an error. */
bool change_open(struct change *ch, const struct command *c);
/* Disconnects. Returns the exit code. */
int change_close(struct change *ch);

/* Connects, sends one request and disconnects. Returns the exit code. `body` may be NULL and is
 * consumed. */
int change_one(const struct command *c, const char *method, const char *path, json_t *body);
/* DELETEs /v1/KIND/NAME for each operand. Returns the exit code. */
int change_delete(const struct command *c, const char *kind, const struct operands *operands);

/* Applies `action` to these jobs; "12[1-3]" is three jobs, "all" every job the user may change.
 * `body` holds further members and is consumed. */
void change_jobs(struct change *ch, const char *action, json_t *body, char *const *id, int n);
/* Applies `action` to the jobs that match the filter, which is consumed. Returns false if there are
 * none. */
bool change_matching(struct change *ch, const char *action, json_t *body, json_t *filter);
/* PATCHes an attribute: `op` is set, add, remove or unset; `path` is /v1/server or /v1/queues/NAME.
 * Returns false after printing an error. */
bool change_attribute(struct change *ch, const char *path, const char *op, const char *name, const char *value);
/* Sends a request. Returns false after reporting the failure for `what` (an operand, or NULL). The
 * caller frees the reply, if wanted. */
bool change_ask(struct change *ch, const char *method, const char *path, const json_t *body, const char *what,
		struct reply *ret);
/* Reports a failure, in PBS's words where programs look for them, and remembers its code. */
void change_failed(struct change *ch, const char *what, const char *code, const char *message);

/* Returns the job to name in /v1/jobs/JOB/again; for some elements of an array that is the array,
 * and `body` gets the elements. */
const char *again_which(const char *job, json_t *body, char buf[32]);

/* Returns PBS's exit code for an error code of the API. */
int code_exit(const char *code);

#endif
