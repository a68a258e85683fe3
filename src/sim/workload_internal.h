/*
 * workload_internal.h - declarations shared by the readers of workloads.
 */
#ifndef SIM_WORKLOAD_INTERNAL_H
#define SIM_WORKLOAD_INTERNAL_H

#include "base/lines.h"
#include "sim/workload.h"

/* Larger amounts are refused, so that processors x seconds always fits into 64 bits. */
#define SECONDS_MAX DURATION_MAX
#define PROCS_MAX 100000000

/* The readers. The first line has already been taken from `in` (it is `line`). Jobs stay in the
 * order of the file. */
int swf_read(struct lines *in, char *line, enum rules rules, int64_t limit, struct workload *w, struct err *err);
int workfile_read(struct lines *in, char *line, int64_t limit, struct workload *w, struct err *err);
/* Returns true if an accounting file of PBS, or the output of sacct, may begin with the line. */
bool records_begin(const char *line);
int records_read(struct lines *in, char *line, int64_t limit, struct workload *w, struct err *err);
int jobcsv_read(struct lines *in, int64_t limit, struct workload *w, struct err *err);

/* Copies the beginning of a line for a message, at most 40 bytes. Returns buf. */
#define EXCERPT_SIZE 48
const char *line_excerpt(const char *line, char buf[EXCERPT_SIZE]);

#endif
