/*
 * records.c - reads jobs from accounting files: ours, those of any PBS, and the output of Slurm's
 * `sacct -P`. Jobs keep their requests, walltimes and run times; the first is submitted at 0.
 */
#include <inttypes.h>
#include <string.h>

#include "convert/past.h"
#include "sim/workload_internal.h"

#define STOP 1 /* enough jobs were read */

struct reading {
	struct workload *w;
	int64_t limit;
};

static const char *name_keep(struct workload *w, const char *text)
{
	return *text ? arena_strndup(w->arena, text, strlen(text)) : NULL;
}

/* Returns true if a name has no blanks, control characters or commas, as in workload files. */
static bool name_fits(const char *name)
{
	while ((unsigned char)*name > ' ' && *name != ',')
		name++;
	return *name == '\0';
}

/* Takes what the rules of a site depend on. */
static uint32_t terms_take(struct workload *w, const struct past_row *row)
{
	const char **groups = arena_alloc(w->arena, 2 * sizeof *groups);

	groups[0] = name_keep(w, row->group);
	groups[1] = NULL;
	vec_push(&w->terms, (struct wterms){
				    .queue = name_keep(w, row->queue),
				    .account = name_keep(w, row->account),
				    .groups = groups,
			    });
	return (uint32_t)w->terms.n;
}

static int row_take(void *context, const struct past_row *row, const char *file, int64_t line)
{
	struct reading *r = context;
	int64_t ran = row->ran_ms > 0 ? (row->ran_ms + 999) / 1000 : row->ended - row->started, walltime;
	struct err err;
	struct wjob j = {
		.submit = row->submitted,
		.runtime = ran > 0 ? ran : 1,
		.deadline = TIME_NEVER,
		.text = -1,
		.line = (uint32_t)line,
		.kind = KIND_COMMON,
	};

	if (row->started <= 0) {
		workload_drop(r->w, DROP_NOT_RUN, line, "job %s never started: skipped", row->id);
		return 0;
	}
	if (!name_fits(row->user) || !name_fits(row->group) || !name_fits(row->account) || !name_fits(row->queue)) {
		workload_drop(r->w, DROP_SYNTAX, line, "job %s: a name in it has blanks or commas: skipped", row->id);
		return 0;
	}
	if (j.runtime > SECONDS_MAX || row->submitted > SECONDS_MAX || row->walltime > SECONDS_MAX) {
		workload_drop(r->w, DROP_RUNTIME, line, "job %s: its times are too long: skipped", row->id);
		return 0;
	}
	j.user = names_add(&r->w->users, row->user);
	j.walltime = row->walltime > 0 ? row->walltime : j.runtime;
	j.assumed = row->walltime <= 0;
	if (!*row->resources || workload_request(r->w, row->resources, &j.text, &walltime, &err) < 0)
		j.procs = (int32_t)row->cpus;
	j.terms = terms_take(r->w, row);
	vec_push(&r->w->jobs, j);
	return r->limit && (int64_t)r->w->jobs.n >= r->limit ? STOP : 0;
}

static void line_drop(void *context, const char *file, int64_t line, const char *why)
{
	struct reading *r = context;

	workload_drop(r->w, DROP_SYNTAX, line, "%s: skipped", why);
}

bool records_begin(const char *line)
{
	int month, day, year, n = 0;

	return (sscanf(line, "%2d/%2d/%4d %n", &month, &day, &year, &n) == 3 && n == 11) ||
	       (strchr(line, '|') && strstr(line, "JobID"));
}

int records_read(struct lines *in, char *line, int64_t limit, struct workload *w, struct err *err)
{
	struct reading r = {.w = w, .limit = limit};
	struct past_reader *past = past_create("", &(struct past_events){row_take, line_drop, &r});
	int rc = past_read_on(past, w->name, in, line, err);

	if (rc == 0)
		rc = past_finish(past);
	int64_t running = rc < 0 ? 0 : past_unfinished(past);
	if (running) {
		workload_drop(w, DROP_NOT_RUN, 0, "jobs that had not ended: %" PRId64, running);
		w->dropped[DROP_NOT_RUN] += running - 1;
	}
	past_destroy(past);
	if (rc < 0)
		return rc;
	workload_sort(w);
	w->begin = w->jobs.n ? w->jobs.v[0].submit : 0;
	for (size_t i = 0; i < w->jobs.n; i++) {
		w->jobs.v[i].submit -= w->begin;
		w->jobs.v[i].id = (int64_t)i + 1;
	}
	return 0;
}
