/*
 * show.h - what the commands that show things share: asking the server, reading its answers, and the terminal.
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

#define FORECAST_OLD 10 /* seconds, from which the age of expected starts is mentioned */

/* Connects. false: it can't, and the sentence was printed. */
bool show_open(const struct command *c, struct client **ret);
/* `one` with each operand, over one connection: the first exit code that is not 0. */
int show_each(const struct command *c, const void *arguments, const struct operands *operands,
	      int (*one)(const struct command *c, struct client *client, const void *arguments, const char *operand,
			 bool first));
/* GETs, and prints the answer, or all of it as JSON. The exit code. */
int show_answer(const struct command *c, const char *path, bool json, void (*print)(const json_t *answer));
/* The options of a command that has --json and nothing else. */
struct show_arguments {
	bool json;
};
extern const struct option show_options[];
/* GETs or POSTs; false: it failed and the sentence was printed, *ret_code is the exit code. The caller frees with
 * reply_fini(). */
bool show_get(const struct command *c, struct client *client, const char *path, struct reply *ret, int *ret_code);
bool show_post(const struct command *c, struct client *client, const char *path, const json_t *body, struct reply *ret,
	       int *ret_code);
/* What a request returned: 0 is true; else the error is said, and the exit code is its own. */
bool show_answered(const struct command *c, const struct client *client, int rc, const struct err *err,
		   struct reply *ret, int *ret_code);
bool show_submit(const struct command *c, struct client *client, const json_t *body, struct reply *ret, int *ret_code);
/* The exit code that PBS's commands have for the last answer's error: 153 for an unknown job. */
int show_code(const struct client *client);
/* A JSON value for people who asked for it. */
void show_json(const json_t *value);
/* A line of comma-separated values: these members of an object; NULL: their names. */
void show_csv(const json_t *object, const char *const *fields, size_t n);

/* Every reason for which a job waits, numbered (checkjob.c). */
void reasons_print(const json_t *reasons);

/* "[[CC]YY]MMDDhhmm[.SS]", local time. -EINVAL with a sentence. */
int stamp_parse(const char *text, int64_t *ret, struct err *err);
/* Columns of standard output; 0: it is no terminal. */
int terminal_columns(void);

#endif
