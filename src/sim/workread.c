/*
 * workread.c - reads a workload from a file in any of the formats, by its first line.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sim/workload.h"
#include "sim/workload_internal.h"

/* Renumbers the jobs if ids repeat: logs merged from several machines repeat their numbers. */
static void ids_make_unique(struct workload *w)
{
	struct map seen = {0};
	bool unique = true;

	for (size_t i = 0; i < w->jobs.n && unique; i++) {
		int64_t id = w->jobs.v[i].id;
		unique = id > 0 && !map_get(&seen, (uint64_t)id, NULL);
		map_set(&seen, (uint64_t)id, 1);
	}
	map_fini(&seen);
	if (unique)
		return;
	vec_push(&w->notes, mem_strdup("job numbers repeat or are missing: jobs are renumbered from 1"));
	for (size_t i = 0; i < w->jobs.n; i++)
		w->jobs.v[i].id = (int64_t)i + 1;
}

int workload_read_lines(struct lines *in, enum rules rules, int64_t limit, struct workload *w, struct err *err)
{
	char *line, excerpt[EXCERPT_SIZE];
	int rc;

	do {
		rc = lines_next(in, &line, err);
		if (rc <= 0)
			return rc < 0 ? rc : err_set(err, -EINVAL, "the file is empty");
	} while (line[strspn(line, " \t")] == '\0');

	char first = line[strspn(line, " \t")];
	if (strncmp(line, "#shunt-workload", 15) == 0)
		rc = workfile_read(in, line, limit, w, err);
	else if (strncmp(line, "job_id,", 7) == 0)
		rc = jobcsv_read(in, limit, w, err);
	else if (records_begin(line))
		rc = records_read(in, line, limit, w, err);
	else if (first == ';' || first == '-' || isdigit((unsigned char)first))
		rc = swf_read(in, line, rules, limit, w, err);
	else
		rc = err_set(
			err, -EINVAL,
			"line %lld is \"%s\": not a trace (SWF), a workload file (#shunt-workload 1), jobs.csv or an accounting file",
			(long long)lines_number(in), line_excerpt(line, excerpt));
	if (rc < 0)
		return rc;
	ids_make_unique(w);
	workload_sort(w);
	return 0;
}

/* Returns the name of a trace: "traces/CTC-SP2.swf.gz" is CTC-SP2. */
static char *name_of(const char *path)
{
	const char *base = strrchr(path, '/');
	char *name = mem_strdup(base ? base + 1 : path);
	static const char *const ending[] = {".gz", ".swf", ".work", ".csv"};

	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
		size_t n = strlen(name), e = strlen(ending[i]);
		if (n > e && strcmp(name + n - e, ending[i]) == 0)
			name[n - e] = '\0';
	}
	return name;
}

int workload_read(const char *path, enum rules rules, int64_t limit, struct workload **ret, struct err *err)
{
	struct lines *in;
	int rc = lines_open(path, &in, err);

	if (rc < 0)
		return rc;
	char *name = name_of(path);
	struct workload *w = workload_create(name);
	free(name);
	rc = workload_read_lines(in, rules, limit, w, err);
	lines_close(in);
	if (rc < 0) {
		workload_destroy(w);
		return rc == -EINVAL ? err_prefix(err, rc, "%s", path) : rc;
	}
	*ret = w;
	return 0;
}
