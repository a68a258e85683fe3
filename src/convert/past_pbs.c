/*
 * past_pbs.c - accounting files of PBS.
 *
 * An E record is complete. A job that never started has a Q record, and a D or A record if it was
 * deleted or aborted: such a job is known only once all files were read and no record says that it
 * started.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/pbsrecord.h"
#include "convert/past_internal.h"
#include "core/reqtext.h"

#define FAILED_BY_SIGNAL 256 /* plus the signal */

/* Reasons for which PBS itself ended a job, by Exit_status: TORQUE from -10, OpenPBS and PBS Pro
 * from -24. Failures before the script ran have -1 to -10. */
static const struct {
	int status;
	const char *state;
} by_pbs[] = {
	{-10, "memory"}, {-11, "walltime"}, {-26, "memory"}, {-27, "memory"}, {-29, "walltime"},
};

static struct past_trail *trail_of(struct past_reader *r, const char *id)
{
	uint32_t i = names_add(&r->ids, id);

	if (i == r->trails.n)
		vec_push(&r->trails, (struct past_trail){.file = r->file});
	return &r->trails.v[i];
}

/* Counts the CPUs of "n1/0+n1/1", "n1/0-3,5+n2/0" or "n1/0*4"; *ret_hosts is the number of runs of
 * the same host. */
static int64_t cpus_of(const char *hosts, int64_t *ret_hosts)
{
	const char *last = "";
	size_t nlast = 0;
	int64_t cpus = 0;

	*ret_hosts = 0;
	for (const char *p = hosts; *p; p += *p == '+') {
		size_t n = strcspn(p, "/+");
		if (n != nlast || strncmp(p, last, n) != 0)
			++*ret_hosts;
		last = p;
		nlast = n;
		p += n;
		int64_t here = 0, from, to;
		while (*p == '/' || *p == ',') {
			int used = 0;
			p++;
			if (sscanf(p, "%9" PRId64 "*%9" PRId64 "%n", &from, &to, &used) == 2 && used)
				here += to;
			else if (sscanf(p, "%9" PRId64 "-%9" PRId64 "%n", &from, &to, &used) == 2 && used && to >= from)
				here += to - from + 1;
			else
				here++;
			p += strcspn(p, ",+");
		}
		cpus += here ? here : 1;
		if (cpus > PAST_COUNT_MAX)
			cpus = PAST_COUNT_MAX;
	}
	return cpus;
}

static int64_t clock_of(const struct record_line *x, const char *key)
{
	const char *text = record_get(x, key);
	int64_t ms = 0;

	return text && past_clock(text, &ms) ? ms : 0;
}

static int64_t size_of(const struct record_line *x, const char *key)
{
	const char *text = record_get(x, key);
	int64_t kib = 0;

	return text && past_size(text, 'b', &kib, NULL) ? kib : 0;
}

static int64_t instant_of(const struct record_line *x, const char *key)
{
	return past_number(record_get(x, key), INT64_C(1) << 40);
}

static bool parses(const char *request)
{
	struct arena *scratch = arena_create();
	struct reqtext r;
	struct err err;

	reqtext_init(&r);
	int rc = reqtext_parse(&r, request, scratch, &err);
	arena_destroy(scratch);
	return rc == 0;
}

/* Writes nodes, chunks or CPUs, then the other resources, or of those the memory alone. */
static void request_write(const struct record_line *x, bool all, struct strbuf *out)
{
	static const char *const shapes[] = {"nodes", "select", "ncpus"}, list[] = "Resource_List.";
	static const char *const apart[] = {"nodes", "select", "ncpus", "nodect", "neednodes", "walltime"};
	const char *value = NULL;
	char key[64];

	strbuf_clear(out);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !out->n; i++) {
		snprintf(key, sizeof key, "%s%s", list, shapes[i]);
		if ((value = record_get(x, key)) && *value)
			strbuf_printf(out, "%s=%s", shapes[i], value);
	}
	for (int i = 0; i < x->nfields && out->n; i++) {
		const char *name = x->field[i].key + strlen(list);
		bool takes = strncmp(x->field[i].key, list, strlen(list)) == 0 && *x->field[i].value;
		for (size_t k = 0; takes && k < sizeof apart / sizeof *apart; k++)
			takes = strcmp(name, apart[k]) != 0;
		if (takes && (all || strcmp(name, "mem") == 0))
			strbuf_printf(out, ",%s=%s", name, x->field[i].value);
	}
	if (out->n && (value = record_get(x, "Resource_List.walltime")) && *value)
		strbuf_printf(out, ",walltime=%s", value);
}

/* Writes the requested resources as qsub -l takes them; "" if it cannot express them. */
static void resources_of(const struct record_line *x, struct strbuf *out)
{
	request_write(x, true, out);
	if (!parses(strbuf_text(out)))
		request_write(x, false, out);
	if (!parses(strbuf_text(out)))
		strbuf_clear(out);
}

static const char *state_of(const struct past_row *row, const struct past_trail *t)
{
	if (t->deleted)
		return "deleted";
	if (row->exit_status == 0)
		return "completed";
	if (row->exit_status < 0 && row->exit_status >= -10 && !row->ran_ms)
		return "not_started";
	for (size_t i = 0; i < sizeof by_pbs / sizeof *by_pbs; i++)
		if (row->exit_status == by_pbs[i].status)
			return by_pbs[i].state;
	if (row->walltime && row->ran_ms >= row->walltime * 1000 &&
	    (row->exit_status < 0 || row->exit_status >= FAILED_BY_SIGNAL))
		return "walltime";
	return "failed";
}

static int ended(struct past_reader *r, const struct record_line *x, int64_t line)
{
	struct past_trail *t = trail_of(r, x->id);
	const char *status = record_get(x, "Exit_status"), *hosts = record_get(x, "exec_host");
	struct strbuf name = {0}, resources = {0};
	int64_t seen = 0;
	int rc;

	resources_of(x, &resources);
	past_name(r, "pbs", x->id, NULL, &name);
	struct past_row row = {
		.id = strbuf_text(&name),
		.user = record_get(x, "user"),
		.group = record_get(x, "group"),
		.account = record_get(x, "account"),
		.project = record_get(x, "project"),
		.queue = record_get(x, "queue"),
		.name = record_get(x, "jobname"),
		.resources = strbuf_text(&resources),
		.hosts = hosts,
		.exit_status = status ? strtol(status, NULL, 10) : 0,
		.submitted = instant_of(x, "ctime"),
		.started = instant_of(x, "start"),
		.ended = instant_of(x, "end"),
		.cpus = hosts ? cpus_of(hosts, &seen) : 0,
		.nodes = past_number(record_get(x, "Resource_List.nodect"), PAST_COUNT_MAX),
		.gpus = past_number(record_get(x, "Resource_List.ngpus"), PAST_COUNT_MAX),
		.memory_kib = size_of(x, "Resource_List.mem"),
		.walltime = clock_of(x, "Resource_List.walltime") / 1000,
		.ran_ms = clock_of(x, "resources_used.walltime"),
		.cpu_ms = clock_of(x, "resources_used.cput"),
		.peak_kib = size_of(x, "resources_used.mem"),
	};

	if (!row.ended)
		row.ended = x->time;
	if (!row.submitted)
		row.submitted = t->queued ? t->queued : instant_of(x, "qtime");
	if (!row.submitted)
		row.submitted = row.started ? row.started : row.ended;
	if (!row.cpus)
		row.cpus = past_number(record_get(x, "Resource_List.ncpus"), PAST_COUNT_MAX);
	if (!row.cpus)
		row.cpus = 1;
	if (!row.nodes)
		row.nodes = seen ? seen : 1;
	row.state = state_of(&row, t);
	t->started = t->ended = true;
	t->deleted = 0;
	rc = past_emit(r, &row, line);
	strbuf_fini(&name);
	strbuf_fini(&resources);
	return rc;
}

static void deleted(struct past_reader *r, const struct record_line *x, int64_t line)
{
	struct past_trail *t = trail_of(r, x->id);
	const char *by = record_get(x, "requestor"), *why = record_get(x, "reason");

	t->deleted = x->time;
	t->aborted = x->type == 'A';
	t->line = line;
	t->file = r->file;
	free(t->by);
	free(t->why);
	t->by = by ? mem_strdup(by) : NULL;
	if (t->by)
		t->by[strcspn(t->by, "@")] = '\0';
	t->why = why ? mem_strdup(why) : NULL;
}

static int record_take(struct past_reader *r, const struct record_line *x, int64_t line)
{
	struct past_trail *t;

	switch (x->type) {
	case 'Q':
		t = trail_of(r, x->id);
		if (!t->queued) { /* else it was moved to another queue */
			t->queued = x->time;
			t->queue = mem_strdup(record_get(x, "queue") ? record_get(x, "queue") : "");
		}
		return 0;
	case 'S':
		trail_of(r, x->id)->started = true;
		return 0;
	case 'D':
	case 'A':
		deleted(r, x, line);
		return 0;
	case 'E':
		return ended(r, x, line);
	default: /* licenses, reservations, reruns: not the end of a job */
		return 0;
	}
}

int past_pbs(struct past_reader *r, struct lines *in, char *first, struct err *err)
{
	int64_t good = 0;
	char *line = first;
	int rc = 1;

	for (; rc == 1; rc = lines_next(in, &line, err)) {
		struct arena *arena = arena_create();
		struct record_line x;
		struct err why;
		int stop = 0;
		if (line[strspn(line, " \t\r")] == '\0') {
		} else if (record_parse(line, arena, &x, &why) == 0) {
			good++;
			stop = record_take(r, &x, lines_number(in));
		} else if (good == 0) {
			stop = err_set(
				err, -EINVAL,
				"line %" PRId64
				": neither an accounting record of PBS nor the head of 'sacct -P' with a field JobID",
				lines_number(in));
		} else {
			past_bad(r, lines_number(in), "%s", why.text);
		}
		arena_destroy(arena);
		if (stop)
			return stop;
	}
	return rc;
}

int past_pbs_finish(struct past_reader *r)
{
	for (size_t i = 0; i < r->trails.n; i++) {
		const struct past_trail *t = &r->trails.v[i];
		struct strbuf name = {0};
		if (!t->ended && (!t->deleted || t->started || !t->queued))
			r->unfinished++;
		if (t->ended || !t->deleted || t->started || !t->queued)
			continue;
		past_name(r, "pbs", names_get(&r->ids, (uint32_t)i), NULL, &name);
		r->file = t->file;
		struct past_row row = {
			.id = strbuf_text(&name),
			.user = t->by && *t->by ? t->by : "unknown",
			.queue = t->queue,
			.text = t->why,
			.state = t->aborted ? "failed" : "deleted",
			.exit_status = -3,
			.submitted = t->queued,
			.ended = t->deleted,
			.cpus = 1,
			.nodes = 1,
		};
		int rc = past_emit(r, &row, t->line);
		strbuf_fini(&name);
		if (rc)
			return rc;
	}
	return 0;
}
