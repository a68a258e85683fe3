/*
 * reference.h - reads schedules computed by an independent simulator: tests/fixtures/reference.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/vec.h"

#define REFERENCE SHUNT_ROOT "/tests/fixtures/reference/"

struct reference_job {
	int64_t id, submit, procs, runtime, estimate, start;
};
typedef VEC(struct reference_job) reference_vec;

/* Writes the path of a trace's file to buf. Returns buf. */
static inline char *reference_path(char *buf, size_t size, const char *trace)
{
	snprintf(buf, size, REFERENCE "%s.csv.gz", trace);
	return buf;
}

/* Returns the index of the column of that name; -1: none. */
static inline int reference_column(const char *header, const char *name)
{
	size_t n = strlen(name);

	for (int i = 0;; i++, header++) {
		size_t len = strcspn(header, ",");
		if (len == n && memcmp(header, name, n) == 0)
			return i;
		header += len;
		if (!*header)
			return -1;
	}
}

/* Reads a trace's jobs with their starts under a policy; none if there is no such schedule. */
static inline void reference_read(const char *trace, const char *policy, reference_vec *ret)
{
	char path[4096], *line;
	struct lines *in;
	int column = -1;

	if (lines_open(reference_path(path, sizeof path, trace), &in, NULL) != 0)
		return;
	if (lines_next(in, &line, NULL) == 1)
		column = reference_column(line, policy);
	while (column >= 0 && lines_next(in, &line, NULL) == 1) {
		int64_t v[16] = {0};
		char *at = line;
		for (int i = 0; i <= column && i < 16; i++, at += *at == ',')
			v[i] = strtoll(at, &at, 10);
		vec_push(ret, (struct reference_job){v[0], v[1], v[2], v[3], v[4], v[1] + v[column]});
	}
	lines_close(in);
}

#endif
