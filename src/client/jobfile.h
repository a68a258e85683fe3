/*
 * jobfile.h - job description files for `shunt submit`: lines "Key = value".
 *
 *	# comment
 *	Program = ./dynamol -n 12
 *	Maximum run-time = 2:30
 *
 * Keys are the items below, in any case; blanks, '-' and '_' in them are ignored. A value is the
 * rest of its line, without surrounding blanks.
 */
#ifndef CLIENT_JOBFILE_H
#define CLIENT_JOBFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOBFILE_MOST 65536 /* size limit, bytes */

/* The items, in the order in which the user is asked for them. */
enum job_item {
	ITEM_PROGRAM, /* the command line, as shell words */
	ITEM_CLASS,
	ITEM_TYPE,
	ITEM_PARTITION,
	ITEM_PROCESSORS,
	ITEM_RUNTIME,
	ITEM_DEADLINE,
	ITEM_INTERVAL,
	ITEM_DURATION,
	JOB_ITEMS
};

struct jobfile {
	char *value[JOB_ITEMS]; /* NULL: not given */
	int line[JOB_ITEMS];	/* line numbers, from 1 */
};

/* Parses a description. For -EINVAL and -EFBIG the message begins with "line N". The caller frees
 * with jobfile_fini(), also after an error. */
int jobfile_parse(const char *text, size_t n, struct jobfile *ret, struct err *err);
int jobfile_read(const char *path, struct jobfile *ret, struct err *err); /* "-": standard input */
void jobfile_fini(struct jobfile *f);

const char *job_item_name(enum job_item i); /* "Maximum run-time" */

/* Parses a run time: "2:30" is hours and minutes; other forms as in duration_parse(). */
int hours_parse(const char *text, int64_t *ret, struct err *err);

#endif
