/*
 * api_import.c - jobs that another system ran come into the history, and what they used into the ledger.
 *
 * Such a job is known by its id and the instant of its end. Its key is made of these, and has a bit that no key of our own jobs ever has (job_key()), so that
 * they never meet; the store adds a row, and its part of the ledger, only if it does not have the key.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "net/http.h"
#include "rules/attr.h"
#include "server/api/api.h"
#include "server/api/api_import.h"
#include "server/api/call.h"
#include "server/api/request.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/book/ledger.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "store/history.h"

#define JOBS_MOST 500
#define FOREIGN_BIT (UINT64_C(1) << 62)
#define TIME_MOST (INT64_C(1) << 40)

/* Members of a job, as GET /v1/history has them. */
static const struct member {
	const char *name;
	size_t at;
	bool needed;
	size_t length;	   /* text: bytes at most; 0: a number */
	int64_t min, most; /* number */
} members[] = {
#define AT(field) offsetof(struct history_row, field)
	{"id", AT(id), true, 200, 0, 0},
	{"owner", AT(user), true, 200, 0, 0},
	{"group", AT(group), false, 200, 0, 0},
	{"account", AT(account), false, 200, 0, 0},
	{"project", AT(project), false, 200, 0, 0},
	{"queue", AT(queue), false, 200, 0, 0},
	{"name", AT(name), false, 1000, 0, 0},
	{"resources", AT(resources), false, 8000, 0, 0},
	{"hosts", AT(hosts), false, 64000, 0, 0},
	{"comment", AT(text), false, 4000, 0, 0},
	{"state", AT(state), true, 20, 0, 0},
	{"exit_status", AT(exit_status), false, 0, -100000, 100000},
	{"submitted", AT(submitted), true, 0, 1, TIME_MOST},
	{"started", AT(started), false, 0, 0, TIME_MOST},
	{"ended", AT(ended), true, 0, 1, TIME_MOST},
	{"nodes", AT(nodes), false, 0, 0, 1000000},
	{"cpus", AT(cpus), false, 0, 0, 1000000},
	{"gpus", AT(gpus), false, 0, 0, 1000000},
	{"memory_kib", AT(memory_kib), false, 0, 0, INT64_C(1) << 50},
	{"walltime", AT(walltime), false, 0, 0, DURATION_MAX},
	{"ran_ms", AT(ran_ms), false, 0, 0, DURATION_MAX * 1000}, /* x CPUs: below 2^63 */
	{"cpu_ms", AT(cpu_ms), false, 0, 0, INT64_C(1) << 60},
	{"peak_kib", AT(peak_kib), false, 0, 0, INT64_C(1) << 50},
#undef AT
};

static const char states[] =
	" completed failed walltime memory deleted lost expired dependency not_started hung_up preempted rerun ";

static bool state_known(const char *state)
{
	char word[32];

	snprintf(word, sizeof word, " %.20s ", state);
	return !strchr(state, ' ') && *state && strstr(states, word);
}

static int text_read(const struct member *m, const json_t *v, struct history_row *row, struct err *err)
{
	const char *text = json_string_value(v);

	if (!text || strlen(text) > m->length || (m->needed && !*text))
		return err_set(err, -EINVAL, "%s must be a text of up to %zu bytes%s", m->name, m->length,
			       m->needed ? ", and not empty" : "");
	*(const char **)((char *)row + m->at) = text;
	return 0;
}

static int number_read(const struct member *m, const json_t *v, struct history_row *row, struct err *err)
{
	int64_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < m->min || n > m->most)
		return err_set(err, -EINVAL, "%s must be a whole number from %lld to %lld", m->name, (long long)m->min,
			       (long long)m->most);
	*(int64_t *)((char *)row + m->at) = n;
	return 0;
}

/* Its texts are the JSON's. */
static int row_read(const json_t *job, struct history_row *row, struct err *err)
{
	int rc = json_is_object(job) ? 0 : err_set(err, -EINVAL, "it must be an object");

	*row = (struct history_row){.last = true, .group = "", .queue = "", .name = "", .resources = ""};
	for (size_t i = 0; rc == 0 && i < sizeof members / sizeof *members; i++) {
		const struct member *m = &members[i];
		const json_t *v = json_object_get(job, m->name);
		if ((!v || json_is_null(v)) && m->needed)
			rc = err_set(err, -EINVAL, "%s is missing", m->name);
		else if (v && !json_is_null(v))
			rc = m->length ? text_read(m, v, row, err) : number_read(m, v, row, err);
	}
	if (rc < 0)
		return rc;
	if (!strchr(row->id, ':'))
		return err_set(err, -EINVAL, "id must name the system, too, as in slurm:12.cluster");
	if (!state_known(row->state))
		return err_set(err, -EINVAL, "state must be one of%.*s", (int)sizeof states - 2, states);
	if (row->started > row->ended || (!row->started && row->ran_ms))
		return err_set(err, -EINVAL, "started is after ended, or it ran and was never started");
	row->last = !json_is_false(json_object_get(job, "last"));
	return 0;
}

static void row_name(struct history_row *row)
{
	const uint64_t both[] = {hash_bytes(row->id, strlen(row->id)), (uint64_t)row->ended};

	row->key = FOREIGN_BIT | (hash_bytes(both, sizeof both) & (FOREIGN_BIT - 1));
	row->attempt = row->started > 0;
	if (row->account && !*row->account)
		row->account = NULL;
	if (row->project && !*row->project)
		row->project = NULL;
	if (row->hosts && !*row->hosts)
		row->hosts = NULL;
	if (row->text && !*row->text)
		row->text = NULL;
}

struct adding {
	struct store *store;
	const struct history_row *row;
};

static void day_add(void *context, const struct ledger_row *x)
{
	const struct adding *a = context;

	store_add_foreign(a->store, x, a->row->key, a->row->attempt);
}

static int rows_read(const json_t *jobs, struct history_row *rows, struct err *err)
{
	size_t i;
	const json_t *job;
	int rc = 0;

	json_array_foreach(jobs, i, job)
	{
		rc = row_read(job, &rows[i], err);
		if (rc < 0)
			return err_prefix(err, rc, "jobs[%zu]", i);
		row_name(&rows[i]);
	}
	return rc;
}

static int rows_add(struct server *s, const struct history_row *rows, size_t n, struct strbuf *out, struct err *err)
{
	int64_t keep = attrs_number(s->attrs, "keep_history"), known = 0, old = 0;
	uint64_t *keys = mem_alloc((n + 1) * sizeof *keys);
	size_t fresh = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		if (keep >= 0 &&
		    rows[i].ended < s->clock->now - keep) /* it would leave at once, and could come again */
			old++;
		else
			keys[fresh++] = rows[i].key;
	rc = history_known(s->store, keys, fresh, &known, err);
	free(keys);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		struct adding a = {s->store, &rows[i]};
		if (keep >= 0 && rows[i].ended < s->clock->now - keep)
			continue;
		ledger_split(&rows[i], day_add, &a); /* before the row: only if that is not there */
		store_put_foreign(s->store, &rows[i]);
	}
	strbuf_printf(out, "{\"added\":%lld,\"known\":%lld,\"too_old\":%lld}", (long long)fresh - (long long)known,
		      (long long)known, (long long)old);
	return 0;
}

void api_import(struct server *s, const struct call *c)
{
	struct history_row *rows = NULL;
	struct strbuf out = {0};
	struct err err = {.text = ""};
	json_t *body, *jobs;
	size_t n;

	if (!api_need(c->r, c->w, ROLE_MANAGER))
		return;
	body = api_body(c->r, &err);
	jobs = json_object_get(body, "jobs");
	n = json_array_size(jobs);
	if (!body) {
		api_refuse(c->r, &err);
	} else if (!json_is_array(jobs) || n > JOBS_MOST) {
		http_error(c->r, CODE_BAD_REQUEST, "jobs must be an array of up to %d jobs", JOBS_MOST);
	} else {
		rows = mem_zalloc((n + 1) * sizeof *rows);
		if (rows_read(jobs, rows, &err) < 0)
			api_refuse(c->r, &err);
		else if (rows_add(s, rows, n, &out, &err) < 0)
			http_error(c->r, CODE_UNAVAILABLE, "The history can't be read now: %s", err.text);
		else
			reply_later(s, c->r, 200, &out);
	}
	strbuf_fini(&out);
	free(rows);
	json_decref(body);
}
