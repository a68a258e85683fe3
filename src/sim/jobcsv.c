/*
 * jobcsv.c - the per-job CSV of an earlier run (ours, or a reference schedule) as
 * a workload: job_id, submit, procs, runtime, estimate; what follows is the fate
 * the jobs had and is left alone.
 */
#include <errno.h>
#include <stdbool.h>

#include "sim/workload_internal.h"

enum column { JOB, SUBMIT, PROCS, RUNTIME, ESTIMATE, COLUMNS };

static bool row_scan(const char *p, int64_t v[COLUMNS])
{
	for (int i = 0; i < COLUMNS; i++) {
		char *end;
		v[i] = strtoll(p, &end, 10);
		if (end == p || (*end != ',' && *end != '\0') || (*end == '\0' && i < COLUMNS - 1))
			return false;
		p = end + (*end == ',');
	}
	return v[SUBMIT] >= 0 && v[SUBMIT] <= SECONDS_MAX && v[PROCS] > 0 && v[PROCS] <= PROCS_MAX && v[RUNTIME] > 0 &&
	       v[RUNTIME] <= SECONDS_MAX && v[ESTIMATE] > 0 && v[ESTIMATE] <= SECONDS_MAX;
}

int jobcsv_read(struct lines *in, int64_t limit, struct workload *w, struct err *err)
{
	uint32_t user = names_add(&w->users, "unknown");
	char *line, excerpt[EXCERPT_SIZE];
	int64_t v[COLUMNS];
	int rc = 0;

	while ((!limit || (int64_t)w->jobs.n < limit) && (rc = lines_next(in, &line, err)) > 0) {
		if (!row_scan(line, v))
			return err_set(err, -EINVAL,
				       "line %lld: \"%s\": job_id,submit,procs,runtime,estimate are five "
				       "numbers, the last three above 0",
				       (long long)lines_number(in), line_excerpt(line, excerpt));
		vec_push(&w->jobs, (struct wjob){
					   .id = v[JOB],
					   .submit = v[SUBMIT],
					   .runtime = v[RUNTIME],
					   .walltime = v[ESTIMATE],
					   .deadline = TIME_NEVER,
					   .procs = (int32_t)v[PROCS],
					   .text = -1,
					   .user = user,
					   .kind = KIND_COMMON,
				   });
	}
	return rc;
}
