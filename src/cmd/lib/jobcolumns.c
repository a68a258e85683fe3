/*
 * jobcolumns.c - the columns of lists of jobs that are more than a member of the job.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/jsonread.h"
#include "base/timetext.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"
#include "core/reqtext.h"

#define PBS_NAME_MOST 16 /* bytes */
/* distance from which `shunt js` shows the year instead of the weekday, s */
#define FAR_AWAY (300 * INT64_C(86400))

/* Forms of a column: for little room, for the least; or the power of two of a unit, KiB. */
enum { TIGHT = 1, LEAST = 2, MEGAWORD = 13, GIB = 20 };

#define NUMBER(i) cell_number(m->v[i])
#define BUF m->text, sizeof m->text

/* Reads a cell that is an object; NULL: empty. Owned by the caller. */
static json_t *cell_object(const char *cell)
{
	return *cell ? json_read(cell, strlen(cell), 0, NULL) : NULL;
}

/* Returns a number of the member `used`; 0: missing. */
static int64_t used_number(const char *cell, const char *key)
{
	json_t *used = cell_object(cell);
	int64_t n = object_number(used, key, 0);

	json_decref(used);
	return n;
}

/* ---- all families ---- */

static const char *short_id(struct making *m)
{
	return m->full_ids ? m->v[0] : id_short(m->v[0], BUF);
}

/* Makes how a job ended; for the least room without the details. */
static const char *outcome(struct making *m)
{
	const char *text = *m->v[2] ? outcome_text(NUMBER(2), m->v[3], BUF) : state_word(m->v[0]);

	if (m->form != LEAST || !strchr(text, ' '))
		return text;
	size_t n = strcspn(text, " ");
	memmove(m->text, text, n); /* it may be there already */
	m->text[n] = '\0';
	return m->text;
}

/* Makes "queued"; of an array "2 running, 4 of 10 done", tight "2/10 run" or "4/10 done"; of what
 * has ended how it ended. */
static const char *state(struct making *m)
{
	const char *word = state_word(m->v[0]), *key;
	json_t *counts = cell_object(m->v[1]), *value;
	long long failed = NUMBER(4) > 0 ? NUMBER(4) : 0;
	long long total = 0, done = object_number(counts, "C", 0),
		  running = object_number(counts, "R", 0) + object_number(counts, "E", 0);

	json_object_foreach(counts, key, value) total += json_integer_value(value);
	json_decref(counts);
	if (total == 0)
		return *m->v[0] == 'C' ? outcome(m) : word;
	if (*m->v[0] == 'C' && m->form == LEAST)
		snprintf(BUF, "%s", failed ? "failed" : NUMBER(2) == 0 ? "succeeded" : "cancelled");
	else if (*m->v[0] == 'C')
		array_outcome_text(failed, total, NUMBER(2), BUF);
	else if (m->form == LEAST)
		snprintf(BUF, "%lld/%lld run", running, total);
	else if (m->form == TIGHT)
		snprintf(BUF, running ? "%lld/%lld run" : "%lld/%lld done", running ? running : done, total);
	else if (running > 0)
		snprintf(BUF, "%lld running, %lld of %lld done", running, done, total);
	else
		snprintf(BUF, "%s, %lld of %lld done", *m->v[0] == 'B' ? "queued" : word, done, total);
	if (failed && *m->v[0] != 'C' && !m->form) {
		size_t n = strlen(m->text);
		snprintf(m->text + n, sizeof m->text - n, ", %lld failed", failed);
	}
	return m->text;
}

/* Makes how a job ended; "" of one that has not. PBS Pro's letter for an ended job is F. */
static const char *ended(struct making *m)
{
	char letter = *m->v[0];
	const char *text = "";

	if (letter && strchr("CF", letter)) {
		*m->v[0] = 'C';
		text = state(m);
		*m->v[0] = letter;
	}
	return text;
}

/* Makes "12m of 1h", tight "12m"; of a job that waits "1h". */
static const char *time_used(struct making *m)
{
	bool began = strchr("RSEC", *m->v[0]) != NULL, limited = *m->v[1];
	char asked[40];

	if (limited && !began) /* most lines of a long list: skip the usage */
		return duration_human(NUMBER(1), BUF);
	int64_t used = used_number(m->v[2], "walltime");
	if (!limited && used == 0)
		return "";
	duration_human(used, BUF);
	if (limited && m->form != TIGHT) {
		size_t n = strlen(m->text);
		snprintf(m->text + n, sizeof m->text - n, " of %s", duration_human(NUMBER(1), asked, sizeof asked));
	}
	return m->text;
}

/* Makes "14:05"; of an expected start "~14:05". */
static const char *start(struct making *m)
{
	int64_t started = NUMBER(0), expected = NUMBER(1);

	if (started > 0)
		return instant_near(started, m->now, BUF);
	if (expected <= 0)
		return "";
	m->text[0] = '~';
	instant_near(expected, m->now, m->text + 1, sizeof m->text - 1);
	return m->text;
}

/* Makes the same; of an array "~14:05 to 22:54": until its last element has ended. */
static const char *start_array(struct making *m)
{
	const char *from = start(m);
	int64_t end = NUMBER(2);
	size_t n = strlen(from);

	if (*m->v[3] != '{' || *from != '~' || end <= 0)
		return from;
	memcpy(m->text + n, " to ", 5);
	instant_near(end, m->now, m->text + n + 4, sizeof m->text - n - 4);
	return m->text;
}

/* Makes "01:00:00", tight as in PBS Pro: "01:00". */
static const char *duration_make(struct making *m, int64_t seconds)
{
	if (m->form != TIGHT)
		return duration_format(seconds, BUF);
	if (seconds < 100 * 3600)
		snprintf(BUF, "%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60));
	else
		snprintf(BUF, "%lldh", (long long)(seconds / 3600));
	return m->text;
}

static const char *limit(struct making *m)
{
	return *m->v[0] ? duration_make(m, NUMBER(0)) : "";
}

/* ---- Maui's ---- */

const char *maui_state(const char *state, const char *blocks)
{
	switch (*state) {
	case 'R':
		return "Running";
	case 'S':
		return "Suspended";
	case 'E':
		return "Completing";
	case 'C':
		return "Completed";
	}
	return strstr(blocks, "system") || strstr(blocks, "misfit") ? "SystemHold"
	       : strstr(blocks, "other")			    ? "BatchHold"
	       : strstr(blocks, "user")				    ? "UserHold"
	       : strstr(blocks, "time") || strstr(blocks, "depend") ? "Hold"
	       : strstr(blocks, "retry")			    ? "Deferred"
	       : strstr(blocks, "queue")			    ? "NotQueued"
	       : strchr("HW", *state)				    ? "Hold"
								    : "Idle";
}

static const char *state_in_maui(struct making *m)
{
	return maui_state(m->v[0], m->v[1]);
}

static const char *remaining(struct making *m)
{
	int64_t end = NUMBER(0);

	return end > 0 ? duration_format(end > m->now ? end - m->now : 0, BUF) : "";
}

/* Makes "14:05" of the first time that is known. */
static const char *instant(struct making *m)
{
	return instant_near(*m->v[0] || !m->v[1] ? NUMBER(0) : NUMBER(1), m->now, BUF);
}

/* Formats like %.1f, which takes longer than the rest of the row; only values halfway between two
 * tenths are left to it. */
static const char *tenths_make(struct making *m, double x)
{
	double tenths = x * 10, part = tenths - floor(tenths);
	char *p = m->text + sizeof m->text - 1;

	if (!(x >= 0 && x < 1e9) || (part > 0.499 && part < 0.501)) {
		snprintf(BUF, "%.1f", x);
		return m->text;
	}
	uint64_t n = (uint64_t)(tenths + 0.5);
	*p = '\0';
	*--p = (char)('0' + n % 10);
	*--p = '.';
	for (n /= 10; n >= 10; n /= 10)
		*--p = (char)('0' + n % 10);
	*--p = (char)('0' + n);
	return p;
}

/* Makes (time in the queue + walltime) / walltime. */
static const char *xfactor(struct making *m)
{
	int64_t wall = NUMBER(0), started = NUMBER(1), queued = *m->v[2] ? NUMBER(2) : NUMBER(3),
		waited = (started > 0 ? started : m->now) - queued;

	return tenths_make(m, wall > 0 ? (double)((waited > 0 ? waited : 0) + wall) / (double)wall : 1.0);
}

/* Makes the CPU time used, percent of the CPUs' time. */
static const char *efficiency(struct making *m)
{
	int64_t used = used_number(m->v[0], "walltime"), cput = used_number(m->v[0], "cput"), cpus = NUMBER(1);

	if (used == 0)
		return "";
	snprintf(BUF, "%.1f", 100.0 * (double)cput / (double)(used * (cpus > 0 ? cpus : 1)));
	return m->text;
}

static const char *first_host(struct making *m)
{
	snprintf(m->text, 64, "%.*s", (int)strcspn(m->v[0], "/"), m->v[0]);
	return m->text;
}

/* ---- PBS's ---- */

/* Cuts the beginning of a long name: its end says more. */
static const char *pbs_name(struct making *m)
{
	size_t n = strlen(m->v[0]);

	if (n <= PBS_NAME_MOST)
		return m->v[0];
	const char *tail = m->v[0] + n - (PBS_NAME_MOST - 3);
	while ((*tail & 0xc0) == 0x80)
		tail++;
	snprintf(BUF, "...%s", tail);
	return m->text;
}

static const char *cpu_time(struct making *m)
{
	int64_t cput = used_number(m->v[0], "cput");

	return cput > 0 ? duration_format(cput, BUF) : "0";
}

/* Makes "100mb"; with a unit rounded up. Tight, what is longer than six columns is rounded up to a
 * larger unit, instead of being cut to another number. */
static const char *memory(struct making *m)
{
	static const char units[] = "kmgtp";
	int64_t kib = NUMBER(0);
	int unit = 0;

	if (kib <= 0)
		return "";
	if (m->form == TIGHT && strlen(memory_format(kib, BUF)) > 6) {
		for (; kib > 9999 && units[unit + 1]; unit++)
			kib = (kib + 1023) / 1024;
		snprintf(BUF, "%" PRId64 "%cb", kib, units[unit]);
	} else if (m->form > TIGHT)
		snprintf(BUF, "%" PRId64 "%s", (kib + (1 << m->form) - 1) >> m->form, m->form == GIB ? "gb" : "mw");
	else
		memory_format(kib, BUF);
	return m->text;
}

static const char *elapsed(struct making *m)
{
	int64_t used = used_number(m->v[1], "walltime");

	return used > 0 || *m->v[0] == 'R' ? duration_make(m, used) : "";
}

/* Makes "14:05" today, "Wed 14:05" within a week, else "2026-11-20 14:05"; tight "Wed14" (the hour)
 * and "Nov20". */
static const char *expected(struct making *m)
{
	time_t at = (time_t)NUMBER(0);
	struct tm tm;

	if (at <= 0)
		return "";
	instant_near(at, m->now, BUF);
	if (m->form == TIGHT && strlen(m->text) > 5 && localtime_r(&at, &tm))
		strftime(BUF, at - m->now < 6 * 86400 ? "%a%H" : "%b%d", &tm);
	return m->text;
}

/* ---- `shunt js` ---- */

static const char *js_status(struct making *m)
{
	if (strcmp(m->v[1], "1") == 0 || *m->v[0] == 'E')
		return "Q";
	return strchr("RB", *m->v[0]) ? "R" : "W";
}

static const char *js_type(struct making *m)
{
	if (strcmp(m->v[1], "1") == 0)
		return "I";
	if (NUMBER(2) > m->now) /* from then on it is a normal job */
		return "n";
	return *m->v[0] == 'Q' ? "P" : *m->v[0] == 'E' ? "E" : "N";
}

/* Makes the partition where it runs; of a waiting job the requested one, not the planned one: "A"
 * for "nodes=2:ppn=1,partition=A". */
static const char *js_partition(struct making *m)
{
	const char *name = m->v[0], *at = m->v[2];

	if (NUMBER(1) <= 0) {
		while (*at && strncmp(at, "partition=", 10) != 0)
			at += strcspn(at, ","), at += *at == ',';
		snprintf(BUF, "%.*s", *at ? (int)strcspn(at + 10, ",") : 0, *at ? at + 10 : "");
		name = m->text;
	}
	return strcmp(name, "any") == 0 ? "" : name;
}

/* Makes "Wed Jul  3 10:09"; today "     -     09:35"; in another year "2027-07-03 10:09". */
static const char *js_time(struct making *m)
{
	time_t t = (time_t)NUMBER(0), now = (time_t)m->now;
	struct tm tm, today;
	char full[40];

	if (t <= 0 && m->v[1])
		t = (time_t)NUMBER(1);
	if (t <= 0 || !localtime_r(&t, &tm) || !localtime_r(&now, &today))
		return "";
	if (tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year)
		snprintf(BUF, "     -     %02d:%02d", tm.tm_hour, tm.tm_min);
	else if (llabs((long long)t - now) > FAR_AWAY)
		snprintf(BUF, "%.16s", instant_format(t, full, sizeof full));
	else
		snprintf(BUF, "%.16s", instant_ctime(t, full, sizeof full));
	return m->text;
}

/* Makes the program without its directory, with its arguments; for a script without a file, the
 * job's name. */
static const char *js_program(struct making *m)
{
	const char *text = m->v[0], *base = text;

	for (const char *p = text; *p && !strchr(" '", *p); p++)
		if (*p == '/' && p[1] && p[1] != ' ')
			base = p + 1;
	return *text ? base : m->v[1];
}

static const struct job_column columns[] = {
	{"short_id", "id", short_id, 0},
	{"state_counts", "state,array_counts,exit_status,cause,array_failed", state, 0},
	{"state_tight", "state,array_counts,exit_status,cause,array_failed", state, TIGHT},
	{"state_least", "state,array_counts,exit_status,cause,array_failed", state, LEAST},
	{"ended", "state,array_counts,exit_status,cause,array_failed", ended, 0},
	{"time", "state,walltime,used", time_used, 0},
	{"time_tight", "state,walltime,used", time_used, TIGHT},
	{"start", "started,expected_start", start, 0},
	{"start_array", "started,expected_start,expected_end,array_counts", start_array, 0},
	{"limit", "walltime", limit, 0},
	{"limit_tight", "walltime", limit, TIGHT},
	{"maui_state", "state,blocks", state_in_maui, 0},
	{"remaining", "expected_end", remaining, 0},
	{"started_near", "started", instant, 0},
	{"queued_near", "queued,created", instant, 0},
	{"xfactor", "walltime,started,queued,created", xfactor, 0},
	{"efficiency", "used,cpus", efficiency, 0},
	{"first_host", "exec_host", first_host, 0},
	{"pbs_name", "name", pbs_name, 0},
	{"cpu_time", "used", cpu_time, 0},
	{"memory_text", "memory", memory, 0},
	{"memory_tight", "memory", memory, TIGHT},
	{"memory_gb", "memory", memory, GIB},
	{"memory_mw", "memory", memory, MEGAWORD},
	{"elapsed", "state,used", elapsed, 0},
	{"elapsed_tight", "state,used", elapsed, TIGHT},
	{"expected", "expected_start", expected, 0},
	{"expected_tight", "expected_start", expected, TIGHT},
	{"js_status", "state,quitting", js_status, 0},
	{"js_type", "type,interactive,nice_until", js_type, 0},
	{"js_partition", "partition,started,resources", js_partition, 0},
	{"js_start", "started,expected_start", js_time, 0},
	{"js_end", "expected_end", js_time, 0},
	{"js_program", "program,name", js_program, 0},
};

const struct job_column *job_column_find(const char *name)
{
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (strcmp(columns[i].name, name) == 0)
			return &columns[i];
	return NULL;
}
