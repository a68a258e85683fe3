/*
 * change.h - what the commands share that change jobs, queues and the server: many operands in one request, each with
 * a result of its own; a failure is told and the others go on; the last failure's code is the command's.
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
	int code;	       /* the exit code so far */
	bool force;	       /* changes may break guaranteed deadlines */
	bool finished_is_fine; /* a job that has finished is no failure */
	char server[256];      /* its name, once it was asked for */
};

/* false: there is no server, and that was said. */
bool change_open(struct change *ch, const struct command *c);
/* Returns the exit code. */
int change_close(struct change *ch);

/* Does `action` to these jobs; "12[1-3]" is three of them, and "all" those that the user may touch. `body` is taken:
 * what goes beside the ids. */
void change_jobs(struct change *ch, const char *action, json_t *body, char *const *id, int n);
/* Does it to the jobs that match the filter, which is taken, too. False: there are none. */
bool change_matching(struct change *ch, const char *action, json_t *body, json_t *filter);
/* PATCHes attributes: `op` set, add, remove, unset; `path` is /v1/server or /v1/queues/NAME. False: it failed, and
 * that was said. */
bool change_attribute(struct change *ch, const char *path, const char *op, const char *name, const char *value);
/* Asks; false: it failed, and was told as a failure of `what` (an operand, may be NULL). The reply, if wanted, is the
 * caller's. */
bool change_ask(struct change *ch, const char *method, const char *path, const json_t *body, const char *what,
		struct reply *ret);
/* Tells a failure in PBS's words where programs look for them, and remembers its code. */
void change_failed(struct change *ch, const char *what, const char *code, const char *message);

/* A job id, checked; ranges become single elements. -EINVAL with a sentence. */
int ids_add(name_list *ids, const char *text, struct err *err);
/* PBS's exit code for an error code of the API. */
int code_exit(const char *code);

#endif
