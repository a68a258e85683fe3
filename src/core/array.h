/*
 * array.h - which elements an array of jobs has, and the texts of job ids.
 *
 *	1-100%5		1 to 100, at most 5 at once	1-9:2	1,3,5,7,9
 *	1,5,7-9		1, 5, 7, 8 and 9		12	one element, 12
 *
 * Ranges are kept sorted and apart: all of one lies before the next, however the text was written. So equal arrays have
 * equal texts.
 */
#ifndef CORE_ARRAY_H
#define CORE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

#define ARRAY_INDEX_MAX 1048574
#define ARRAY_COUNT_MAX 100000 /* elements of one array */
#define ARRAY_TEXT_MAX 65536   /* characters */

struct array_range {
	int32_t first, last, step; /* `last` is an element, too; step >= 1 */
};

struct array_spec {
	struct array_range *range;
	uint32_t nranges;
	uint32_t count; /* elements */
	uint32_t limit; /* of elements that run at once; 0: none */
};

/* Overwrites *ret, which the caller gives to array_fini(). -EINVAL, with a sentence that repeats the text, leaves it
 * as it was. An element named twice is one. */
int array_parse(const char *text, struct array_spec *ret, struct err *err);
void array_fini(struct array_spec *a); /* {0} is empty */
/* The canonical text. */
void array_format(const struct array_spec *a, struct strbuf *out);
bool array_has(const struct array_spec *a, int64_t index);
/* The least element above `after`, -1: for (i = array_next(a, -1); i >= 0; i = array_next(a, i)). */
int64_t array_next(const struct array_spec *a, int64_t after);

/* ---- ids ---- */

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
