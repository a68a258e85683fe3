/*
 * jobid.h - the texts of job ids: "12", "12[3]", "12[]".
 */
#ifndef CORE_JOBID_H
#define CORE_JOBID_H

#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "core/array.h"

#define JOB_NUMBER_MAX INT64_C(999999999999) /* twelve digits, as in PBS */

enum jobid_kind {
	JOBID_JOB,     /* 12: a job, or an array named without its brackets */
	JOBID_ELEMENT, /* 12[3] */
	JOBID_ARRAY,   /* 12[] */
	JOBID_SOME,    /* 12[1-3]: some elements */
};

struct jobid {
	uint64_t number;
	enum jobid_kind kind;
	int64_t index;		/* JOBID_ELEMENT only; else -1 */
	struct array_spec some; /* JOBID_SOME only */
};

/* Reads "12", "12[3]", "12[]" or "12[1-3]", ignoring ".NAME" or "@NAME" after it. Overwrites
 * *ret, which the caller frees with jobid_fini(). On -EINVAL *ret is unchanged. */
int jobid_parse(const char *text, struct jobid *ret, struct err *err);
void jobid_fini(struct jobid *id); /* only JOBID_SOME owns memory */
/* Appends "12[3].NAME"; without ".NAME" if `name` is NULL. */
void jobid_format(const struct jobid *id, const char *name, struct strbuf *out);

#endif
