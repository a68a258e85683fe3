/*
 * jobfile.h - job description files: what `shunt submit` is to know of a job, as lines "Key = value".
 *
 *	# comment
 *	Program = ./dynamol -n 12
 *	Maximum run-time = 2:30
 *
 * Keys are the items below, in any case; blanks, '-' and '_' in them don't count. A value is the rest of its line, without blanks around it.
 */
#ifndef CLIENT_JOBFILE_H
#define CLIENT_JOBFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOBFILE_MOST 65536 /* bytes */

/* In the order in which they are asked for. */
enum job_item {
	ITEM_PROGRAM, /* with its arguments, as words of a shell */
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
	char *value[JOB_ITEMS]; /* NULL: not there */
	int line[JOB_ITEMS];	/* from 1 */
};

/* -EINVAL, -EFBIG: the sentence begins with "line N". The caller frees with jobfile_fini(), in both cases. */
int jobfile_parse(const char *text, size_t n, struct jobfile *ret, struct err *err);
int jobfile_read(const char *path, struct jobfile *ret, struct err *err); /* "-": standard input */
void jobfile_fini(struct jobfile *f);

const char *job_item_name(enum job_item i); /* "Maximum run-time" */

/* "2:30" is hours and minutes here; else as duration_parse(). */
int hours_parse(const char *text, int64_t *ret, struct err *err);

#endif
