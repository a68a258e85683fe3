/*
 * show.h - for commands that show things: requests, answers and the terminal.
 */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "client/client.h"
#include "cmd/lib/command.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"

struct table;

#define FORECAST_OLD 10 /* age from which the age of expected starts is shown, s */

/* Connects. Returns false after printing an error. */
bool show_open(const struct command *c, struct client **ret);
/* Calls `one` with each operand, over one connection. Returns the first exit code that is not 0. */
int show_each(const struct command *c, const void *arguments, const struct operands *operands,
	      int (*one)(const struct command *c, struct client *client, const void *arguments, const char *operand,
			 bool first));
/* Connects, sends a POST with a body, which is consumed, or a GET without one, and disconnects.
 * Returns the answer, owned by the caller; NULL after printing an error, with its code. */
json_t *show_ask(const struct command *c, const char *path, json_t *body, int *ret_code);
/* GETs a path and prints the answer with `print`, or as JSON. Returns the exit code. */
int show_answer(const struct command *c, const char *path, bool json, void (*print)(const json_t *answer));
/* The options of a command that has only --json. */
struct show_arguments {
	bool json;
};
extern const struct option show_options[];
/* GET or POST. Return false after printing an error; *ret_code is the exit code. The caller frees
 * with reply_fini(). */
bool show_get(const struct command *c, struct client *client, const char *path, struct reply *ret, int *ret_code);
/* GETs the jobs of a query of the history, page by page, and calls `one` with each, until it
 * returns false for one of a page. Returns the exit code, after printing an error. */
int show_history(const struct command *c, struct client *client, const char *query,
		 bool (*one)(void *context, json_t *job), void *context);
/* Asks for `path` after a stream ended with `rc`, until the server itself answers, not a spool in
 * its absence: the stream can then be read from where it was. Reports a lost connection once
 * (*said). Otherwise the same as show_get(). */
bool show_resume(const struct command *c, struct client *client, const char *path, int rc, bool *said,
		 struct reply *ret, int *ret_code);
bool show_post(const struct command *c, struct client *client, const char *path, const json_t *body, struct reply *ret,
	       int *ret_code);
/* Checks the result of a request. Returns true for 0; else prints the error and sets its exit
 * code. */
bool show_answered(const struct command *c, const struct client *client, int rc, const struct err *err,
		   struct reply *ret, int *ret_code);
bool show_submit(const struct command *c, struct client *client, const char *path, const json_t *body,
		 struct reply *ret, int *ret_code);
/* Returns the exit code of PBS's commands for the last answer's error: 153 for an unknown job. */
int show_code(const struct client *client);
/* Prints a JSON value. */
void show_json(const json_t *value);
/* Prints the list of jobs of a path as JSON. Returns the exit code. */
int show_jobs_json(const struct command *c, struct client *client, const char *path);
/* Prints these members of an object as a CSV line; for NULL, their names. */
void show_csv(const json_t *object, const char *const *fields, size_t n);

/* Warns of users and groups in lists, "a@host,b", that this machine does not know; NULL: none. */
void parties_warn(const struct command *c, const char *users, const char *groups);
/* Prints every reason why a job waits, numbered (checkjob.c). */
void reasons_print(const json_t *reasons);

/* Parses "[[[CC]YY]MMDD]hhmm[.SS]", local time. Returns -EINVAL with a message. */
int stamp_parse(const char *text, int64_t *ret, struct err *err);
/* Returns the columns of standard output; 0: it is not a terminal. */
int terminal_columns(void);
/* Colors the column "state" of a table of jobs or nodes, on a terminal that wants colors. */
void states_color(struct table *t);

#endif
