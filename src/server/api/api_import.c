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
#include "server/api/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/book/ledger.h"
#include "server/book/sharing.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "store/history.h"

#define FOREIGN_BIT (UINT64_C(1) << 62)

/* Members of a job, as the table in bodies.c has them, and where they go: texts and whole numbers. */
static const struct {
	const char *name;
	size_t at;
} members[] = {
#define AT(field) offsetof(struct history_row, field)
	{"id", AT(id)},
	{"owner", AT(user)},
	{"group", AT(group)},
	{"account", AT(account)},
	{"project", AT(project)},
	{"queue", AT(queue)},
	{"name", AT(name)},
	{"resources", AT(resources)},
	{"hosts", AT(hosts)},
	{"comment", AT(text)},
	{"state", AT(state)},
	{"exit_status", AT(exit_status)},
	{"submitted", AT(submitted)},
	{"started", AT(started)},
	{"ended", AT(ended)},
	{"nodes", AT(nodes)},
	{"cpus", AT(cpus)},
	{"gpus", AT(gpus)},
	{"memory_kib", AT(memory_kib)},
	{"walltime", AT(walltime)},
	{"ran_ms", AT(ran_ms)},
	{"cpu_ms", AT(cpu_ms)},
	{"peak_kib", AT(peak_kib)},
#undef AT
};

/* Its texts are the JSON's. */
static int row_read(const json_t *job, struct history_row *row, struct err *err)
{
	*row = (struct history_row){.last = true, .group = "", .queue = "", .name = "", .resources = ""};
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		const json_t *v = json_object_get(job, members[i].name);
		void *to = (char *)row + members[i].at;
		if (json_is_string(v))
			*(const char **)to = json_string_value(v);
		else if (json_is_integer(v))
			*(int64_t *)to = json_integer_value(v);
	}
	if (!strchr(row->id, ':'))
		return err_set(err, -EINVAL, "id must name the system, too, as in slurm:12.cluster");
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
	sharing_again(s);
	strbuf_printf(out, "{\"added\":%lld,\"known\":%lld,\"too_old\":%lld}", (long long)fresh - (long long)known,
		      (long long)known, (long long)old);
	return 0;
}

static const struct field added_fields[] = {
	{"added", .is = REQUIRED | IS_INT},
	{"known", .is = REQUIRED | IS_INT, "these were there already"},
	{"too_old", .is = REQUIRED | IS_INT, "left out, since keep_history would remove them"},
	{0},
};
const struct schema added_answer = {.fields = added_fields};

void api_import(struct server *s, const struct call *c)
{
	const json_t *jobs = json_object_get(c->body, "jobs");
	size_t n = json_array_size(jobs);
	struct history_row *rows = mem_zalloc((n + 1) * sizeof *rows);
	struct strbuf out = {0};
	struct err err;

	if (rows_read(jobs, rows, &err) < 0)
		api_refuse(c->r, &err);
	else if (rows_add(s, rows, n, &out, &err) < 0)
		http_error(c->r, CODE_UNAVAILABLE, "The history can't be read now: %s", err.text);
	else
		reply_later(s, c->r, 200, &out);
	strbuf_fini(&out);
	free(rows);
}
