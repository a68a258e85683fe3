/*
 * history_swf.h - writes jobs of the history as a trace in the Standard Workload Format 2.2.
 *
 * Users, groups and queues are numbered from 1; comments in the header list them. Unknown values
 * are -1.
 */
#ifndef CMD_HISTORY_SWF_H
#define CMD_HISTORY_SWF_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/names.h"
#include "base/vec.h"

struct swf_job {
	int64_t submit, start, end;	    /* Unix times; `start` is 0 if it never started */
	int64_t ran_ms, cpu_ms, peak_kib;   /* used */
	int64_t cpus, memory_kib, walltime; /* requested; 0: not given */
	int64_t order;			    /* position in which it was read */
	uint32_t user, group, queue;
	int status; /* SWF status: 1 completed, 0 failed, 5 cancelled */
};

/* {0} is empty. */
struct history_swf {
	VEC(struct swf_job) jobs;
	struct names users, groups, queues;
};

void history_swf_add(struct history_swf *x, const json_t *row);
/* Prints the jobs by submission time. `procs` and `nodes` describe the machine; 0: not known. */
void history_swf_print(struct history_swf *x, const char *computer, int64_t nodes, int64_t procs, FILE *out);
void history_swf_fini(struct history_swf *x);

#endif
