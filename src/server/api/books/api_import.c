/*
 * api_import.c - imports jobs that another system ran into the history, and their usage into the
 * ledger.
 *
 * Such a job is identified by its id and the instant of its end. Its key is derived from these and
 * has a bit that is never set in keys of Shunt's own jobs (job_key()), so that they can't collide.
 * The store adds a row, and its part of the ledger, only if it does not have the key.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "net/http.h"
#include "rules/attr.h"
#include "server/api/books/api_import.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/post.h"
#include "server/book/books.h"
#include "server/book/ledger.h"
#include "server/book/past.h"
#include "server/book/sharing.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "store/history.h"

#define FOREIGN_BIT (UINT64_C(1) << 62)

#define TIME_MOST (INT64_C(1) << 40)
/* days on which the jobs of a request ran, at most: each is a row of the ledger */
#define DAYS_MOST 5000
#define DAY_MS INT64_C(86400000)
#define HAS(member) MEMBER(struct history_row, member)

static const struct schema foreign = {
	"ForeignJob",
	FIELDS({"id", .is = REQUIRED | IS_TEXT, "the system and what that called it: slurm:12_3.cluster, pbs:12.server",
		.least = 1, .most = 200, HAS(id)},
	       {"last", .is = IS_BOOL, "false: it was run again", .otherwise = "true", .missing = true, HAS(last)},
	       {"name", .is = IS_TEXT | IS_NULL, .most = 1000, HAS(name)},
	       {"owner", .is = REQUIRED | IS_TEXT, .least = 1, .most = 200, HAS(user)},
	       {"group", .is = IS_TEXT | IS_NULL, .most = 200, HAS(group)},
	       {"account", .is = IS_TEXT | IS_NULL, .most = 200, HAS(account)},
	       {"project", .is = IS_TEXT | IS_NULL, .most = 200, HAS(project)},
	       {"queue", .is = IS_TEXT | IS_NULL, .most = 200, HAS(queue)},
	       {"state", .is = REQUIRED | IS_TEXT, .words = HISTORY_STATES, HAS(state)},
	       {"exit_status", .is = IS_INT | IS_NULL, .least = -100000, .most = 100000, HAS(exit_status)},
	       {"submitted", .is = REQUIRED | IS_INT, .least = 1, .most = TIME_MOST, HAS(submitted)},
	       {"started", .is = IS_INT | IS_NULL, .most = TIME_MOST, HAS(started)},
	       {"ended", .is = REQUIRED | IS_INT, .least = 1, .most = TIME_MOST, HAS(ended)},
	       {"resources", .is = IS_TEXT | IS_NULL, .most = 8000, HAS(resources)},
	       {"hosts", .is = IS_TEXT | IS_NULL, .most = 64000, HAS(hosts)},
	       {"nodes", .is = IS_INT | IS_NULL, .most = 1000000, HAS(nodes)},
	       {"cpus", .is = IS_INT | IS_NULL, .most = 1000000, HAS(cpus)},
	       {"gpus", .is = IS_INT | IS_NULL, .most = 1000000, HAS(gpus)},
	       {"memory_kib", .is = IS_INT | IS_NULL, .most = INT64_C(1) << 50, HAS(memory_kib)},
	       {"walltime", .is = IS_INT | IS_NULL, "seconds", .most = DURATION_MAX, HAS(walltime)},
	       /* times CPUs: below 2^63 */
	       {"ran_ms", .is = IS_INT | IS_NULL, .most = DURATION_MAX * 1000, HAS(ran_ms)},
	       {"cpu_ms", .is = IS_INT | IS_NULL, .most = INT64_C(1) << 60, HAS(cpu_ms)},
	       {"peak_kib", .is = IS_INT | IS_NULL, .most = INT64_C(1) << 50, HAS(peak_kib)},
	       {"comment", .is = IS_TEXT | IS_NULL, .most = 4000, HAS(text)})};
const struct schema import_body = {
	FIELDS({"jobs", .is = REQUIRED | IS_LIST, .of = &foreign, .item = IS_OBJECT, .most = 500})};

/* Replaces empty texts by NULL where a row may lack them. */
static void texts_settle(struct history_row *row)
{
	for (const struct field *f = past_members; f->name; f++) {
		const char **text = (const char **)(void *)((char *)row + f->at);
		if (f->form != FORM_LENT)
			continue;
		if (f->is & IS_NULL)
			*text = *text && **text ? *text : NULL;
		else
			*text = *text ? *text : "";
	}
}

/* Reads a job; its texts are borrowed from the JSON. */
static int row_read(const json_t *job, struct history_row *row, struct err *err)
{
	int rc = record_load(foreign.fields, 0, job, row, NULL, err);

	if (rc < 0)
		return rc;
	if (!strchr(row->id, ':'))
		return err_set(err, -EINVAL, "id must name the system as well, as in slurm:12.cluster");
	if (row->started > row->ended || (!row->started && row->ran_ms))
		return err_set(err, -EINVAL, "started is after ended, or it ran and was never started");
	texts_settle(row);
	return 0;
}

static void row_name(struct history_row *row)
{
	const uint64_t both[] = {hash_bytes(row->id, strlen(row->id)), (uint64_t)row->ended};

	row->key = FOREIGN_BIT | (hash_bytes(both, sizeof both) & (FOREIGN_BIT - 1));
	row->attempt = row->started > 0;
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
	int64_t days = 0;
	int rc = 0;

	json_array_foreach(jobs, i, job)
	{
		rc = row_read(job, &rows[i], err);
		days += rows[i].ran_ms / DAY_MS + 1;
		if (rc == 0 && days > DAYS_MOST)
			rc = err_set(err, -EINVAL, "with it the jobs ran on more than %d days: send fewer in a request",
				     DAYS_MOST);
		if (rc < 0)
			return err_prefix(err, rc, "jobs[%zu]", i);
		row_name(&rows[i]);
	}
	return rc;
}

struct added {
	int64_t added, known, too_old;
};
const struct schema added_answer = {
	FIELDS({"added", .is = REQUIRED | IS_INT, MEMBER(struct added, added)},
	       {"known", .is = REQUIRED | IS_INT, "these were there already", MEMBER(struct added, known)},
	       {"too_old", .is = REQUIRED | IS_INT, "left out, since keep_history would remove them",
		MEMBER(struct added, too_old)})};

static int history_take(struct server *s, const struct history_row *rows, size_t n, struct added *ret, struct err *err)
{
	int64_t keep = attrs_number(s->attrs, SET_KEEP_HISTORY), known = 0, old = 0;
	uint64_t *keys = mem_alloc((n + 1) * sizeof *keys);
	size_t fresh = 0;
	int rc;

	/* An older row would be dropped at once, and could be imported again. */
	for (size_t i = 0; i < n; i++)
		if (keep >= 0 && rows[i].ended < s->clock->now - keep)
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
		/* before the row, since it is skipped if the row exists */
		ledger_split(&s->books->last_end, &rows[i], day_add, &a);
		store_put_foreign(s->store, &rows[i]);
	}
	sharing_again(s);
	*ret = (struct added){(int64_t)fresh - known, known, old};
	return 0;
}

void api_import(struct server *s, const struct call *c)
{
	const json_t *jobs = json_object_get(c->body, "jobs");
	size_t n = json_array_size(jobs);
	struct history_row *rows = mem_zalloc((n + 1) * sizeof *rows);
	struct added added;
	struct err err;

	if (rows_read(jobs, rows, &err) < 0)
		api_refuse(c->r, &err);
	else if (history_take(s, rows, n, &added, &err) < 0)
		http_error(c->r, CODE_UNAVAILABLE, "The history can't be read now: %s", err.text);
	else
		api_show_later(s, c->r, 200, &added_answer, &added);
	free(rows);
}
