/*
 * jobcsv.c - reads the per-job CSV of an earlier run (ours, or a reference schedule) as a workload:
 * job_id, submit, procs, runtime, estimate. The columns after these are outcomes and are ignored,
 * except that jobs with a start of -1 never ran: their run times are unknown, so they are skipped.
 */
#include <errno.h>
#include <stdbool.h>

#include "sim/workload_internal.h"

enum column { JOB, SUBMIT, PROCS, RUNTIME, ESTIMATE, COLUMNS };

/* Scans the columns as numbers; *ret_rest is what follows them. */
static bool row_scan(const char *p, int64_t v[COLUMNS], const char **ret_rest)
{
	for (int i = 0; i < COLUMNS; i++) {
		char *end;
		v[i] = strtoll(p, &end, 10);
		if (end == p || (*end != ',' && *end != '\0') || (*end == '\0' && i < COLUMNS - 1))
			return false;
		p = end + (*end == ',');
	}
	*ret_rest = p;
	return true;
}

static bool never_ran(const char *rest)
{
	return strncmp(rest, "-1", 2) == 0 && (rest[2] == ',' || rest[2] == '\0');
}

static bool row_usable(const int64_t v[COLUMNS])
{
	return v[SUBMIT] >= 0 && v[SUBMIT] <= SECONDS_MAX && v[PROCS] > 0 && v[PROCS] <= PROCS_MAX && v[RUNTIME] > 0 &&
	       v[RUNTIME] <= SECONDS_MAX && v[ESTIMATE] > 0 && v[ESTIMATE] <= SECONDS_MAX;
}

int jobcsv_read(struct lines *in, int64_t limit, struct workload *w, struct err *err)
{
	uint32_t user = names_add(&w->users, "unknown");
	char *line, excerpt[EXCERPT_SIZE];
	const char *rest;
	int64_t v[COLUMNS];
	int rc = 0;

	while ((!limit || (int64_t)w->jobs.n < limit) && (rc = lines_next(in, &line, err)) > 0) {
		bool numbers = row_scan(line, v, &rest);
		if (numbers && never_ran(rest)) {
			workload_drop(w, DROP_NOT_RUN, lines_number(in), "job %lld never ran: skipped",
				      (long long)v[JOB]);
			continue;
		}
		if (!numbers || !row_usable(v))
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
					   .line = (uint32_t)lines_number(in),
					   .kind = KIND_COMMON,
				   });
	}
	return rc;
}
