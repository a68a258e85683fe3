/*
 * array.h - the set of indices of an array job.
 *
 *	1-100%5		1 to 100, at most 5 at once	1-9:2	1,3,5,7,9
 *	1,5,7-9		1, 5, 7, 8 and 9		12	one element, 12
 *
 * Ranges are kept sorted and do not overlap, whatever the order in the text, so equal arrays have
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
	int32_t first, last, step; /* `last` is itself an element; step >= 1 */
};

struct array_spec {
	struct array_range *range;
	uint32_t nranges;
	uint32_t count; /* elements */
	uint32_t limit; /* at most this many elements run at once; 0: no limit */
};

/* Parses an array's text into *ret, which the caller frees with array_fini(). An element named
 * twice counts once. On -EINVAL the message quotes the text and *ret is unchanged. */
int array_parse(const char *text, struct array_spec *ret, struct err *err);
void array_fini(struct array_spec *a); /* {0} is empty */
/* Appends the canonical text. */
void array_format(const struct array_spec *a, struct strbuf *out);
bool array_has(const struct array_spec *a, int64_t index);
/* Returns the least element above `after`, or -1: for (i = array_next(a, -1); i >= 0; i =
 * array_next(a, i)). */
int64_t array_next(const struct array_spec *a, int64_t after);

#endif
