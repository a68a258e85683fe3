/*
 * history_swf.c - see history_swf.h.
 */
#include "cmd/jobs/history_swf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cmd/lib/object.h"

enum { SWF_FAILED = 0, SWF_COMPLETED = 1, SWF_CANCELLED = 5 };

static int status_of(const char *state)
{
	if (strcmp(state, "completed") == 0)
		return SWF_COMPLETED;
	return strcmp(state, "deleted") == 0 || strcmp(state, "dependency") == 0 || strcmp(state, "expired") == 0
		       ? SWF_CANCELLED
		       : SWF_FAILED;
}

void history_swf_add(struct history_swf *x, const json_t *row)
{
	struct swf_job j = {
		.submit = object_number(row, "submitted", 0),
		.start = object_number(row, "started", 0),
		.end = object_number(row, "ended", 0),
		.ran_ms = object_number(row, "ran_ms", 0),
		.cpu_ms = object_number(row, "cpu_ms", 0),
		.peak_kib = object_number(row, "peak_kib", 0),
		.cpus = object_number(row, "cpus", 0),
		.memory_kib = object_number(row, "memory_kib", 0),
		.walltime = object_number(row, "walltime", 0),
		.order = -(int64_t)x->jobs.n, /* newest first */
		.user = names_add(&x->users, object_text(row, "owner")) + 1,
		.group = names_add(&x->groups, object_text(row, "group")) + 1,
		.queue = names_add(&x->queues, object_text(row, "queue")) + 1,
		.status = status_of(object_text(row, "state")),
	};

	vec_push(&x->jobs, j);
}

static int by_submission(const void *a, const void *b)
{
	const struct swf_job *x = a, *y = b;

	if (x->submit != y->submit)
		return x->submit < y->submit ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Prints a name, which may contain anything, on a single header line. */
static void name_print(const char *name, FILE *out)
{
	struct strbuf clean = {0};

	text_clean(&clean, name, strlen(name), TEXT_LINE);
	fprintf(out, "%s\n", strbuf_text(&clean));
	strbuf_fini(&clean);
}

static void names_print(const struct names *n, const char *what, FILE *out)
{
	for (uint32_t i = 0; i < n->n; i++) {
		fprintf(out, "; %s: %u ", what, i + 1);
		name_print(names_get(n, i), out);
	}
}

static void instant_print(const char *what, int64_t instant, FILE *out)
{
	char text[64];
	time_t t = (time_t)instant;
	struct tm tm;

	localtime_r(&t, &tm);
	strftime(text, sizeof text, "%a %b %d %H:%M:%S %Z %Y", &tm);
	fprintf(out, "; %s: %s\n", what, text);
}

static void header_print(const struct history_swf *x, const char *computer, int64_t nodes, int64_t procs, FILE *out)
{
	int64_t first = x->jobs.n ? x->jobs.v[0].submit : 0, last = first;

	for (size_t i = 0; i < x->jobs.n; i++)
		last = x->jobs.v[i].end > last ? x->jobs.v[i].end : last;
	fprintf(out, "; Version: 2.2\n; Computer: ");
	name_print(computer, out);
	fprintf(out, "; Information: written by shunt history --swf\n");
	fprintf(out, "; MaxJobs: %zu\n; MaxRecords: %zu\n; Preemption: No\n; UnixStartTime: %" PRId64 "\n", x->jobs.n,
		x->jobs.n, first);
	instant_print("StartTime", first, out);
	instant_print("EndTime", last, out);
	if (nodes > 0)
		fprintf(out, "; MaxNodes: %" PRId64 "\n", nodes);
	if (procs > 0)
		fprintf(out, "; MaxProcs: %" PRId64 "\n", procs);
	fprintf(out, "; MaxQueues: %zu\n", x->queues.n);
	names_print(&x->queues, "Queue", out);
	names_print(&x->users, "User", out);
	names_print(&x->groups, "Group", out);
	fprintf(out,
		"; Note: run times are rounded up to whole seconds; a processor is a CPU; memory is KB for each processor\n");
}

static int64_t or_unknown(int64_t n)
{
	return n > 0 ? n : -1;
}

static void job_print(const struct swf_job *j, size_t number, int64_t first, FILE *out)
{
	bool ran = j->start > 0;
	int64_t cpus = or_unknown(j->cpus), per = j->cpus > 0 ? j->cpus : 1;
	int64_t began = ran ? j->start : j->end;
	int64_t ran_s = !ran ? -1 : j->ran_ms > 0 ? (j->ran_ms + 999) / 1000 : 0;

	fprintf(out, "%zu %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, number,
		j->submit - first, began > j->submit ? began - j->submit : 0, ran_s, ran ? cpus : -1,
		ran ? j->cpu_ms / per / 1000 : -1, ran ? or_unknown(j->peak_kib / per) : -1);
	fprintf(out, " %" PRId64 " %" PRId64 " %" PRId64 " %d %u %u -1 %u -1 -1 -1\n", cpus, or_unknown(j->walltime),
		or_unknown(j->memory_kib / per), j->status, j->user, j->group, j->queue);
}

void history_swf_print(struct history_swf *x, const char *computer, int64_t nodes, int64_t procs, FILE *out)
{
	if (x->jobs.n)
		qsort(x->jobs.v, x->jobs.n, sizeof *x->jobs.v, by_submission);
	header_print(x, computer, nodes, procs, out);
	for (size_t i = 0; i < x->jobs.n; i++)
		job_print(&x->jobs.v[i], i + 1, x->jobs.v[0].submit, out);
}

void history_swf_fini(struct history_swf *x)
{
	vec_free(&x->jobs);
	names_fini(&x->users);
	names_fini(&x->groups);
	names_fini(&x->queues);
}
