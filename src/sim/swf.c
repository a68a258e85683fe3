/*
 * swf.c - reads the Standard Workload Format of the Parallel Workloads Archive: one line of 18
 * numbers per job, -1 where a value is unknown; header lines start with ';'.
 *
 * Traces of half a million lines are read before every simulation, so numbers are scanned by hand.
 */
#include <errno.h>
#include <stdbool.h>

#include "sim/workload_internal.h"

enum field {
	JOB,
	SUBMIT,
	WAIT,
	RUNTIME,
	PROCS_USED,
	CPU_TIME,
	MEMORY,
	PROCS,
	ESTIMATE,
	MEMORY_ASKED,
	STATUS,
	USER,
	FIELDS /* number of fields that matter */
};

/* A line with fewer fields has nothing that could be scheduled. */
#define FIELDS_NEEDED (PROCS_USED + 1)

struct swf {
	struct workload *w;
	enum rules rules;
	int64_t number; /* line number */
	int64_t lines;	/* lines that should be jobs */
	int64_t bad;	/* lines that are not valid jobs */
	int64_t first_bad;
	char excerpt[EXCERPT_SIZE]; /* beginning of the first bad line */
	struct map user;	    /* number in the file -> index + 1 */
	/* jobs without an estimate, kept until it is known if any job has one */
	VEC(size_t) unestimated;
	VEC(int64_t) unestimated_line;
};

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* Scans a number. Fractions (of mean CPU times) are cut off; absurdly large numbers become some
 * large value. Returns where the number ends, or NULL if there is none. */
static inline const char *number_scan(const char *p, int64_t *ret)
{
	bool negative = *p == '-';
	int64_t v = 0;

	p += negative;
	if (!is_digit(*p))
		return NULL;
	for (; is_digit(*p); p++)
		if (v < INT64_MAX / 16)
			v = v * 10 + (*p - '0');
	if (*p == '.')
		for (p++; is_digit(*p);)
			p++;
	*ret = negative ? -v : v;
	return p;
}

static bool fields_scan(const char *p, int64_t f[FIELDS])
{
	int n = 0;

	for (p = skip_blanks(p); *p && n < FIELDS; p = skip_blanks(p)) {
		p = number_scan(p, &f[n++]);
		if (!p || (*p && *p != ' ' && *p != '\t'))
			return false;
	}
	for (int i = n; i < FIELDS; i++)
		f[i] = -1;
	return n >= FIELDS_NEEDED;
}

/* Reads a header line such as "; MaxProcs: 338". */
static void header_read(struct workload *w, const char *p)
{
	static const struct {
		const char *name;
		size_t at;
	} known[] = {
		{"MaxProcs:", offsetof(struct workload, procs)},
		{"MaxNodes:", offsetof(struct workload, nodes)},
	};

	p = skip_blanks(p);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t n = strlen(known[i].name);
		int64_t v;
		if (strncmp(p, known[i].name, n) == 0 && number_scan(skip_blanks(p + n), &v) && v > 0 && v <= PROCS_MAX)
			*(int64_t *)((char *)w + known[i].at) = v;
	}
}

static uint32_t user_index(struct swf *s, int64_t number)
{
	uint64_t *index = map_at(&s->user, (uint64_t)number);
	char name[32];

	if (!*index) {
		if (number < 0)
			strcpy(name, "unknown");
		else
			snprintf(name, sizeof name, "user%lld", (long long)number);
		*index = names_add(&s->w->users, name) + 1;
	}
	return (uint32_t)*index - 1;
}

/* Returns the machine's size, as far as the header states it. */
static int64_t procs_limit(const struct workload *w)
{
	return w->procs ? w->procs : w->nodes ? w->nodes : PROCS_MAX;
}

/* Returns true if the rules skip the job, after counting and noting it. */
static bool job_dropped(struct swf *s, const int64_t f[FIELDS], int64_t procs)
{
	struct workload *w = s->w;

	if (f[SUBMIT] < 0 || f[SUBMIT] > SECONDS_MAX)
		workload_drop(w, DROP_SUBMIT, s->number, "submit time %lld: skipped", (long long)f[SUBMIT]);
	else if (f[RUNTIME] <= 0 || f[RUNTIME] > SECONDS_MAX)
		workload_drop(w, DROP_RUNTIME, s->number, "run time %lld: skipped", (long long)f[RUNTIME]);
	else if (procs <= 0)
		workload_drop(w, DROP_PROCS, s->number, "%lld processors: skipped", (long long)procs);
	else if (procs > procs_limit(w))
		workload_drop(w, DROP_PROCS, s->number, "%lld processors, the machine has %lld: skipped",
			      (long long)procs, (long long)procs_limit(w));
	else if (f[ESTIMATE] > SECONDS_MAX)
		workload_drop(w, DROP_ESTIMATE, s->number, "estimate %lld: skipped", (long long)f[ESTIMATE]);
	else
		return false;
	return true;
}

static void job_read(struct swf *s, const int64_t f[FIELDS])
{
	int64_t procs = f[PROCS] > 0 ? f[PROCS] : f[PROCS_USED];
	bool estimated = f[ESTIMATE] > 0;

	if (job_dropped(s, f, procs))
		return;
	struct wjob j = {
		.id = f[JOB],
		.submit = f[SUBMIT],
		.runtime = f[RUNTIME],
		.walltime = estimated ? f[ESTIMATE] : f[RUNTIME],
		.deadline = TIME_NEVER,
		.procs = (int32_t)procs,
		.text = -1,
		.user = user_index(s, f[USER]),
		.line = (uint32_t)s->number,
		.kind = KIND_COMMON,
	};
	if (s->rules == RULES_SC15 && j.runtime > j.walltime)
		j.runtime = j.walltime;
	if (s->rules == RULES_SC15 && !estimated) {
		vec_push(&s->unestimated, s->w->jobs.n);
		vec_push(&s->unestimated_line, s->number);
	}
	vec_push(&s->w->jobs, j);
}

/* Returns the number of jobs that the rules will keep. */
static int64_t jobs_kept(const struct swf *s)
{
	size_t n = s->w->jobs.n, without = s->unestimated.n;

	return (int64_t)(without < n ? n - without : n);
}

/* Drops jobs without an estimate, by rules sc15. If no job of the trace has one (as with
 * models), run times serve as estimates instead. */
static void unestimated_drop(struct swf *s)
{
	struct workload *w = s->w;
	size_t kept = 0, next = 0;

	if (s->unestimated.n == w->jobs.n)
		return;
	for (size_t i = 0; i < w->jobs.n; i++)
		if (next < s->unestimated.n && s->unestimated.v[next] == i)
			workload_drop(w, DROP_ESTIMATE, s->unestimated_line.v[next++], "no estimate: skipped");
		else
			w->jobs.v[kept++] = w->jobs.v[i];
	w->jobs.n = kept;
}

static void line_read(struct swf *s, const char *line)
{
	const char *p = skip_blanks(line);
	int64_t f[FIELDS];

	if (*p == ';')
		header_read(s->w, p + 1);
	if (*p == ';' || *p == '\0')
		return;
	s->lines++;
	if (fields_scan(p, f)) {
		job_read(s, f);
		return;
	}
	if (!s->bad++) {
		s->first_bad = s->number;
		line_excerpt(line, s->excerpt);
	}
	workload_drop(s->w, DROP_SYNTAX, s->number, "not a job of %d or more numbers: skipped", FIELDS_NEEDED);
}

int swf_read(struct lines *in, char *line, enum rules rules, int64_t limit, struct workload *w, struct err *err)
{
	struct swf s = {.w = w, .rules = rules};
	int rc = 1;

	while (rc > 0) {
		s.number = lines_number(in);
		line_read(&s, line);
		rc = limit && jobs_kept(&s) >= limit ? 0 : lines_next(in, &line, err);
	}
	if (rc < 0)
		goto out;
	if (s.lines == 0)
		rc = err_set(err, -EINVAL, "the trace has no jobs");
	else if (s.bad * 2 > s.lines)
		rc = err_set(err, -EINVAL, "not a trace: %lld of %lld lines are not jobs, first line %lld: \"%s\"",
			     (long long)s.bad, (long long)s.lines, (long long)s.first_bad, s.excerpt);
	unestimated_drop(&s);
	if (!w->procs)
		w->procs = w->nodes;
out:
	map_fini(&s.user);
	vec_free(&s.unestimated);
	vec_free(&s.unestimated_line);
	return rc;
}
