/*
 * expand.h - a command with places, and values to put into them: one task for each set of values.
 *
 *	{}	the value, or the first of several	{.}	without its extension
 *	{/}	the file's name alone			{//}	its directory
 *	{/.}	the name without its extension		{#}	the number of the task
 *	{2}	the second value			{name}	the value of that column
 *
 * A value is put in quotes for the shell where it needs them: a file's name can't become a command. Braces with anything else in them remain.
 */
#ifndef BAG_EXPAND_H
#define BAG_EXPAND_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Texts, owned. */
struct values {
	VEC(char *) v;
};
void values_clear(struct values *x); /* keeps the room */
void values_fini(struct values *x);

/* Appends the command of task `number`. A command without any place gets the first value as its last word. `names` may be NULL. -EINVAL: a place has no
 * value, or the result would be more than a line. */
int expand_command(const char *command, const struct values *names, const struct values *values, int64_t number,
		   struct strbuf *out, struct err *err);

/* The same for what a task needs: values are names of files in its lists. -EINVAL also if such a name can't be in one. */
int expand_need(const char *need, const struct values *names, const struct values *values, int64_t number,
		struct strbuf *out, struct err *err);

/* The first word in braces that no column is called: it remains as it is, and may be a mistake. False: none. */
bool expand_unknown(const char *command, const struct values *names, char ret[64]);

/* One line of a CSV file (RFC 4180: quotes, doubled quotes inside; commas, or tabs if the line has any outside of quotes). -EINVAL: a quote is not closed. */
int csv_split(const char *line, struct values *ret, struct err *err);

#endif
