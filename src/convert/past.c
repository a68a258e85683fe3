/*
 * past.c - see past.h. Detects the kind of a file, and parses what both kinds have in common.
 */
#include "convert/past.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/past_internal.h"

struct past_reader *past_create(const char *source, const struct past_events *e)
{
	struct past_reader *r = mem_zalloc(sizeof *r);

	r->source = mem_strdup(source ? source : "");
	r->e = *e;
	return r;
}

void past_destroy(struct past_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->trails.n; i++) {
		free(r->trails.v[i].queue);
		free(r->trails.v[i].by);
		free(r->trails.v[i].why);
	}
	vec_free(&r->trails);
	names_fini(&r->ids);
	free(r->source);
	free(r);
}

int64_t past_unfinished(const struct past_reader *r)
{
	return r->unfinished;
}

int past_read(struct past_reader *r, const char *file, struct lines *in, struct err *err)
{
	char *line = NULL;
	int rc;

	while ((rc = lines_next(in, &line, err)) == 1 && line[strspn(line, " \t\r")] == '\0')
		;
	return rc <= 0 ? rc : past_read_on(r, file, in, line, err); /* an empty file is a day without jobs */
}

int past_read_on(struct past_reader *r, const char *file, struct lines *in, char *line, struct err *err)
{
	r->file = file;
	if (strchr(line, '|') && strstr(line, "JobID"))
		return past_sacct(r, in, line, err);
	return past_pbs(r, in, line, err);
}

int past_finish(struct past_reader *r)
{
	return past_pbs_finish(r);
}

/* Returns what a server would reject in the row; NULL: nothing. */
static const char *row_fault(const struct past_row *row)
{
	const struct {
		const char *text;
		size_t most;
	} limits[] = {{row->id, 200},	   {row->user, 200},  {row->group, 200}, {row->account, 200},
		      {row->project, 200}, {row->queue, 200}, {row->name, 1000}, {row->resources, 8000},
		      {row->hosts, 64000}, {row->text, 4000}};

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (strlen(limits[i].text) > limits[i].most)
			return "a name or a list in it is too long";
	if (!*row->user)
		return "it names no user";
	if (row->submitted <= 0 || row->ended <= 0 || row->started < 0)
		return "its times can't be read";
	if (row->started > row->ended)
		return "it started after it ended";
	return NULL;
}

static int64_t between(int64_t n, int64_t least, int64_t most)
{
	return n < least ? least : n > most ? most : n;
}

int past_emit(struct past_reader *r, struct past_row *row, int64_t line)
{
	static const char *const none = "";
	const char *fault;
	const char **texts[] = {&row->id,   &row->user,	     &row->group, &row->account, &row->project, &row->queue,
				&row->name, &row->resources, &row->hosts, &row->text,	 &row->state};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!*texts[i])
			*texts[i] = none;
	row->exit_status = between(row->exit_status, -100000, 100000);
	row->ran_ms = between(row->ran_ms, 0, PAST_TIME_MAX);
	row->cpu_ms = between(row->cpu_ms, 0, INT64_C(1) << 60);
	row->memory_kib = between(row->memory_kib, 0, INT64_C(1) << 50);
	row->peak_kib = between(row->peak_kib, 0, INT64_C(1) << 50);
	row->walltime = between(row->walltime, 0, PAST_TIME_MAX / 1000);
	if (!row->started && row->ran_ms)
		row->started = between(row->ended - row->ran_ms / 1000, 1, row->ended);
	if ((fault = row_fault(row))) {
		past_bad(r, line, "job %.60s: %s", row->id, fault);
		return 0;
	}
	return r->e.row(r->e.context, row, r->file, line);
}

void past_bad(struct past_reader *r, int64_t line, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	r->e.bad(r->e.context, r->file, line, text);
}

void past_name(const struct past_reader *r, const char *system, const char *id, const char *cluster, struct strbuf *out)
{
	const char *from = cluster && *cluster ? cluster : r->source;

	strbuf_printf(out, "%s:%s", system, id);
	if (!strchr(id, '.') && *from)
		strbuf_printf(out, ".%s", from);
}

bool past_size(const char *text, char unit, int64_t *ret_kib, const char **rest)
{
	static const char units[] = "bkmgtp";
	char *end;
	double n;

	if (!isdigit((unsigned char)*text))
		return false;
	n = strtod(text, &end);
	const char *u = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (u) {
		unit = *u;
		end++;
		if (*u != 'b' && tolower((unsigned char)*end) == 'b')
			end++;
	}
	for (const char *p = units; *p != unit; p++)
		n *= 1024;
	n /= 1024;
	if (!(n >= 0 && n < 1e15))
		return false;
	*ret_kib = (int64_t)n;
	if (rest)
		*rest = end;
	return rest || *end == '\0';
}

bool past_clock(const char *text, int64_t *ret_ms)
{
	int64_t part[4] = {0}, days = 0, ms = 0;
	int n = 0;

	for (const char *p = text;; p++) {
		char *end;
		if (!isdigit((unsigned char)*p) || n == 4)
			return false;
		part[n++] = strtoll(p, &end, 10);
		if (part[n - 1] > INT64_C(10000000000))
			return false;
		if (*end == '-' && n == 1 && p == text) {
			days = part[--n];
		} else if (*end == '.') {
			double fraction = strtod(end, &end);
			ms = (int64_t)(fraction * 1000);
		}
		p = end;
		if (*p == '\0')
			break;
		if (*p != ':' && *p != '-')
			return false;
	}
	int64_t seconds = 0;
	for (int i = 0; i < n; i++) /* four numbers begin with days */
		seconds = seconds * (n == 4 && i == 1 ? 24 : 60) + part[i];
	*ret_ms = (days * 86400 + seconds) * 1000 + ms;
	return *ret_ms <= PAST_TIME_MAX;
}

int64_t past_number(const char *text, int64_t most)
{
	char *end;
	long long n = text ? strtoll(text, &end, 10) : 0;

	return n < 0 ? 0 : n > most ? most : n;
}
