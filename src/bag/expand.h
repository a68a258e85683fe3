/*
 * expand.h - expands a command with places into tasks, one for each set of values.
 *
 *	{}	the value, or the first of several	{.}	without its extension
 *	{/}	the file name alone			{//}	its directory
 *	{/.}	the name without its extension		{#}	the number of the task
 *	{2}	the second value			{name}	the value of that column
 *
 * Values are quoted for the shell where needed, so that a file name can't become a command. Braces
 * with any other text in them are left as they are.
 */
#ifndef BAG_EXPAND_H
#define BAG_EXPAND_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Strings, owned. */
struct values {
	VEC(char *) v;
};
void values_clear(struct values *x); /* keeps the memory */
void values_fini(struct values *x);

/* Appends the command of task `number`. A command without any place gets the first value as its
 * last word. `names` may be NULL. -EINVAL: a place has no value, or the result would be longer
 * than a line. */
int expand_command(const char *command, const struct values *names, const struct values *values, int64_t number,
		   struct strbuf *out, struct err *err);

/* Does the same for the needs of a task, whose values are file names in lists. -EINVAL also if
 * such a name can't be in a list. */
int expand_need(const char *need, const struct values *names, const struct values *values, int64_t number,
		struct strbuf *out, struct err *err);

/* Returns the first word in braces that is not the name of a column: it is left as it is, but
 * may be a mistake. False: none. */
bool expand_unknown(const char *command, const struct values *names, char ret[64]);

/* Splits one line of a CSV file (RFC 4180: quotes, doubled quotes inside; commas, or tabs if the
 * line has any outside of quotes). -EINVAL: a quote is not closed. */
int csv_split(const char *line, struct values *ret, struct err *err);

#endif
