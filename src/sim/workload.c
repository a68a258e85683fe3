/*
 * workload.c - jobs with their submission times, from any source.
 */
#include "sim/workload.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

#include "base/rng.h"
#include "sim/machine.h"
#include "sim/workload_internal.h"

#define NOTES_MAX 20

struct workload *workload_create(const char *name)
{
	struct workload *w = mem_zalloc(sizeof *w);

	w->name = mem_strdup(name);
	w->arena = arena_create();
	return w;
}

void workload_destroy(struct workload *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->notes.n; i++)
		free(w->notes.v[i]);
	vec_free(&w->notes);
	vec_free(&w->jobs);
	vec_free(&w->names);
	for (size_t i = 0; i < w->terms.n; i++)
		array_fini(&w->terms.v[i].array);
	vec_free(&w->terms);
	vec_free(&w->deposits);
	vec_free(&w->texts);
	names_fini(&w->requests);
	names_fini(&w->users);
	names_fini(&w->partitions);
	arena_destroy(w->arena);
	free(w->machine);
	free(w->name);
	free(w);
}

void workload_drop(struct workload *w, enum drop why, int64_t line, const char *fmt, ...)
{
	struct strbuf note = {0};
	char text[200];
	va_list ap;

	w->dropped[why]++;
	if (w->notes.n >= NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (line)
		strbuf_printf(&note, "line %lld: ", (long long)line);
	strbuf_puts(&note, text);
	vec_push(&w->notes, note.text);
}

int workload_request(struct workload *w, const char *text, int32_t *ret_text, int64_t *ret_walltime, struct err *err)
{
	struct arena *scratch = arena_create();
	struct strbuf canonical = {0};
	struct reqtext r;

	reqtext_init(&r);
	int rc = reqtext_parse(&r, text, scratch, err);
	if (rc == 0 && (r.estimate || r.deadline || r.budget))
		rc = err_set(err, -EINVAL,
			     "estimate, deadline and budget are words of the job, as in: req=ncpus=2 deadline=+2h");
	if (rc < 0)
		goto out;

	*ret_walltime = r.walltime;
	r.walltime = -1;
	reqtext_format(&r, &canonical);
	uint32_t id = names_add(&w->requests, strbuf_text(&canonical));
	if (id == w->texts.n) {
		reqtext_init(&r);
		rc = reqtext_parse(&r, strbuf_text(&canonical), w->arena, err);
		vec_push(&w->texts, r);
	}
	*ret_text = (int32_t)id;
out:
	strbuf_fini(&canonical);
	arena_destroy(scratch);
	return rc;
}

int64_t workload_estimate(const struct workload *w, const struct wjob *j)
{
	return j->terms ? w->terms.v[j->terms - 1].estimate : 0;
}

bool workload_parted(const struct workload *w, const struct wjob *j)
{
	return j->partition || (w->machine && strncmp(w->machine, "parts:", 6) == 0);
}

int workload_set_machine(struct workload *w, const char *text, struct err *err)
{
	machine_groups groups = {0};
	int64_t nodes, cpus;
	int rc = machine_parse(text, &groups, &nodes, &cpus, err);

	if (rc < 0)
		return err_set(err, rc, "machine %s", err->text);
	vec_free(&groups);
	free(w->machine);
	w->machine = mem_strdup(text);
	w->nodes = strncmp(text, "flat:", 5) == 0 ? 0 : nodes;
	w->procs = cpus;
	return 0;
}

struct rank {
	int64_t submit;
	size_t at;
};

static int rank_compare(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->submit != y->submit)
		return x->submit < y->submit ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static bool is_sorted(const struct workload *w)
{
	for (size_t i = 1; i < w->jobs.n; i++)
		if (w->jobs.v[i].submit < w->jobs.v[i - 1].submit)
			return false;
	return true;
}

void workload_sort(struct workload *w)
{
	size_t n = w->jobs.n;

	if (is_sorted(w))
		return;

	struct rank *rank = mem_realloc(NULL, n, sizeof *rank);
	struct wjob *sorted = mem_realloc(NULL, n, sizeof *sorted);
	for (size_t i = 0; i < n; i++)
		rank[i] = (struct rank){w->jobs.v[i].submit, i};
	qsort(rank, n, sizeof *rank, rank_compare);
	for (size_t i = 0; i < n; i++)
		sorted[i] = w->jobs.v[rank[i].at];
	free(rank);
	free(w->jobs.v);
	w->jobs.v = sorted;
	w->jobs.cap = n;
}

void workload_shake(struct workload *w, int64_t range, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < w->jobs.n; i++) {
		struct wjob *j = &w->jobs.v[i];
		int64_t submit = j->element ? w->jobs.v[i - 1].submit : j->submit + rng_range(&rng, -range, range);
		if (submit < 0)
			submit = 0;
		if (j->deadline != TIME_NEVER)
			j->deadline += submit - j->submit;
		j->submit = submit;
	}
	workload_sort(w);
}

/* Returns the CPUs of a job. */
static double job_cpus(const struct workload *w, const struct wjob *j)
{
	struct res sum;
	int64_t nodes;

	if (j->text < 0)
		return (double)j->procs;
	reqtext_sum(&w->texts.v[j->text], &sum, &nodes);
	return (double)sum.v[RES_CPU];
}

double workload_load(const struct workload *w, int64_t procs)
{
	double work = 0, span = w->jobs.n ? (double)(w->jobs.v[w->jobs.n - 1].submit - w->jobs.v[0].submit) : 0;

	for (size_t i = 0; i < w->jobs.n; i++)
		work += (double)w->jobs.v[i].runtime * job_cpus(w, &w->jobs.v[i]);
	return span > 0 && procs > 0 ? work / (span * (double)procs) : 0;
}

void workload_stretch(struct workload *w, double factor)
{
	int64_t first = w->jobs.n ? w->jobs.v[0].submit : 0;

	for (size_t i = 0; i < w->jobs.n; i++) {
		struct wjob *j = &w->jobs.v[i];
		int64_t submit = first + (int64_t)((double)(j->submit - first) * factor);
		if (j->deadline != TIME_NEVER)
			j->deadline += submit - j->submit;
		j->submit = submit;
	}
}

void workload_round(struct workload *w, uint64_t seed)
{
	static const int64_t minutes[] = {5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1080, 1440, 2160, 2880};
	const size_t n = sizeof minutes / sizeof *minutes;
	struct rng rng;

	rng_seed(&rng, seed);
	for (size_t i = 0; i < w->jobs.n; i++) {
		struct wjob *j = &w->jobs.v[i];
		double most = (double)j->runtime * (1 + 4 * rng_unit(&rng));
		size_t k = 0;
		while (k < n && (double)(60 * minutes[k]) < most)
			k++;
		j->walltime = k < n ? 60 * minutes[k] : ((int64_t)most / 86400 + 1) * 86400;
		j->assumed = false;
	}
}

struct workload workload_borrow(const struct workload *w)
{
	struct workload view = *w;

	view.jobs.cap = w->jobs.n + 1;
	view.jobs.v = mem_realloc(NULL, view.jobs.cap, sizeof *view.jobs.v);
	if (w->jobs.n)
		memcpy(view.jobs.v, w->jobs.v, w->jobs.n * sizeof *view.jobs.v);
	return view;
}

const char *line_excerpt(const char *line, char buf[EXCERPT_SIZE])
{
	size_t i = 0;

	for (; i < 40 && line[i]; i++)
		buf[i] = line[i];
	strcpy(buf + i, line[i] ? "..." : "");
	return buf;
}

void workload_flatten(struct workload *w)
{
	for (size_t i = 0; i < w->jobs.n; i++) {
		struct wjob *j = &w->jobs.v[i];
		if (j->text < 0)
			continue;
		const struct reqtext *t = &w->texts.v[j->text];
		j->procs = 0;
		for (int k = 0; k < t->nchunks; k++)
			j->procs += (int32_t)(t->chunk[k].count * t->chunk[k].need.v[RES_CPU]);
		j->text = -1;
	}
}

bool trace_find(const char *dir, const char *begin, char *path, size_t size)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, begin, strlen(begin)) == 0 && strstr(e->d_name, ".swf"))
			found = snprintf(path, size, "%s/%s", dir, e->d_name) < (int)size;
	if (d)
		closedir(d);
	return found;
}
