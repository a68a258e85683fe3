/*
 * jobid.h - the texts of job ids: "12", "12[3]", "12[]".
 */
#ifndef CORE_JOBID_H
#define CORE_JOBID_H

#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "core/array.h"

#define JOB_NUMBER_MAX INT64_C(999999999999) /* twelve digits, as PBS has it */

enum jobid_kind {
	JOBID_JOB,     /* 12, or an array that is not known to be one */
	JOBID_ELEMENT, /* 12[3] */
	JOBID_ARRAY,   /* 12[] */
	JOBID_SOME,    /* 12[1-3]: these elements */
};

struct jobid {
	uint64_t number;
	enum jobid_kind kind;
	int64_t index;		/* of an element; else -1 */
	struct array_spec some; /* of JOBID_SOME */
};

/* Reads "12", "12[3]", "12[]", "12[1-3]", each with any ".NAME" or "@NAME" after it, which is ignored. Overwrites
 * *ret, which the caller gives to jobid_fini(). -EINVAL leaves it as it was. */
int jobid_parse(const char *text, struct jobid *ret, struct err *err);
void jobid_fini(struct jobid *id); /* only JOBID_SOME owns something */
/* Appends "12[3].NAME"; `name` may be NULL, then there is none. */
void jobid_format(const struct jobid *id, const char *name, struct strbuf *out);

#endif
