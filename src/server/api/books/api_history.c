/*
 * api_history.c - answers from the history and the ledger.
 *
 * There may be ten million rows, and a query may have to read all of them. So rows are read on
 * libuv's thread pool, over a separate connection, one query at a time, while the server continues.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "core/jobid.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/past_job.h"
#include "server/base/instance.h"
#include "server/base/reader.h"
#include "server/base/words.h"
#include "server/book/past.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "server/site/coordinators.h"
#include "server/site/who.h"
#include "store/history.h"
#include "store/store.h"

enum question_kind { ASK_ROWS, ASK_SUMS, ASK_USAGE, ASK_JOB };

struct question {
	struct read_work work;
	struct server *s;
	struct http_request *r; /* valid until it is answered */
	enum question_kind kind;
	bool as_jobs; /* ASK_ROWS: in the form of the API's jobs */
	struct history_filter f;
	enum history_by by;
	int64_t first, last; /* days */
	/* the answer */
	struct strbuf out;
	struct json j;
	int64_t rows;
	char next[80];
	struct past_job job; /* ASK_JOB */
	const char *id;	     /* ASK_JOB: the id as given in the request */
};

static const struct schema past_job = {"PastJob", .fields = past_members, .in = AS_ROW, .base = &past_more};
static const struct schema past_or_job = {.base = &past_job, .either = &job_schema};
const struct schema past_answer = {
	FIELDS({"jobs", .is = REQUIRED | IS_LIST, "by `form`", .of = &past_or_job, .item = IS_OBJECT},
	       {"next", .is = REQUIRED | IS_TEXT | IS_NULL, "null: that was the last page"})};

/* Rows for the member `used` of a record: allocated and used processor time. */
#define USAGE_FIELDS(type)                                                                                             \
	{"ran_ms", .is = REQUIRED | IS_INT, MEMBER(type, used.ran_ms)},                                                \
		{"alloc_ms", .is = REQUIRED | IS_INT, "run time x allocated CPUs", MEMBER(type, used.alloc_ms)},       \
		{"gpu_ms", .is = REQUIRED | IS_INT, MEMBER(type, used.gpu_ms)},                                        \
	{                                                                                                              \
		"cpu_ms", .is = REQUIRED | IS_INT, "CPU time used", MEMBER(type, used.cpu_ms)                          \
	}

static const struct schema sum = {
	"PastSum",
	FIELDS({"name", .is = REQUIRED | IS_TEXT | IS_NULL, "the column's value", MEMBER(struct history_sum, name)},
	       {"jobs", .is = REQUIRED | IS_INT, MEMBER(struct history_sum, jobs)},
	       {"started", .is = REQUIRED | IS_INT, "number of them that were started",
		MEMBER(struct history_sum, started)},
	       USAGE_FIELDS(struct history_sum),
	       {"asked", .is = REQUIRED | IS_INT, "walltime x CPUs that those that started requested, seconds",
		MEMBER(struct history_sum, asked)},
	       {"waited", .is = REQUIRED | IS_INT, "seconds that those waited, together",
		MEMBER(struct history_sum, waited)})};
const struct schema sums_answer = {FIELDS({"sums", .is = REQUIRED | IS_LIST, .of = &sum, .item = IS_OBJECT})};

static const struct schema ledger = {
	"LedgerEntry",
	FIELDS({"day", .is = REQUIRED | IS_INT, .example = "20261115", MEMBER(struct ledger_row, day)},
	       {"owner", .is = REQUIRED | IS_TEXT, MEMBER(struct ledger_row, user)},
	       {"group", .is = REQUIRED | IS_TEXT, MEMBER(struct ledger_row, group)},
	       {"account", .is = REQUIRED | IS_TEXT | IS_NULL, MEMBER(struct ledger_row, account)},
	       {"queue", .is = REQUIRED | IS_TEXT, MEMBER(struct ledger_row, queue)},
	       {"attempts", .is = REQUIRED | IS_INT, "that ended on it", MEMBER(struct ledger_row, attempts)},
	       USAGE_FIELDS(struct ledger_row))};
const struct schema usage_answer = {FIELDS({"usage", .is = REQUIRED | IS_LIST, .of = &ledger, .item = IS_OBJECT})};

/* ---- rows as JSON ---- */

static int row_write(void *context, const struct history_row *row)
{
	struct question *q = context;

	json_open_object(&q->j, NULL);
	if (q->as_jobs)
		past_row_write(row, q->s->instance->name, &q->j);
	else
		past_attempt_write(row, q->s->instance->name, &q->j);
	json_close_object(&q->j);
	if (++q->rows == q->f.most)
		snprintf(q->next, sizeof q->next, "%lld.%llu.%lld", (long long)row->ended, (unsigned long long)row->key,
			 (long long)row->attempt);
	return 0;
}

static int sum_write(void *context, const struct history_sum *x)
{
	schema_show(&sum, NULL, x, NULL, &((struct question *)context)->j);
	return 0;
}

static bool in_list(const char *list, const char *name)
{
	size_t n = name ? strlen(name) : 0;

	for (const char *p = n ? strstr(list, name) : NULL; p; p = strstr(p + 1, name))
		if (p > list && p[-1] == ',' && p[n] == ',')
			return true;
	return false;
}

/* Applies the filter of visible rows, as the store does where it is given one. */
static bool in_sight(const struct question *q, const char *user, const char *queue, const char *account)
{
	const struct history_sight *w = &q->f.sight;

	return !w->user || strcmp(w->user, user) == 0 || in_list(w->queues, queue) || in_list(w->accounts, account);
}

static int entry_write(void *context, const struct ledger_row *x)
{
	struct question *q = context;

	if ((!q->f.user || strcmp(q->f.user, x->user) == 0) && in_sight(q, x->user, x->queue, x->account))
		schema_show(&ledger, NULL, x, NULL, &q->j);
	return 0;
}

static int past_add(void *context, const struct history_row *row)
{
	struct question *q = context;

	bool asked = q->f.id || (!row->id && row->key <= q->f.last);

	if (row->last && asked && (!q->f.user || strcmp(q->f.user, row->user) == 0) &&
	    in_sight(q, row->user, row->queue, row->account)) {
		past_job_add(&q->job, row);
		q->rows++;
	}
	return 0;
}

/* ---- queries, on another thread ---- */

static int job_read(struct question *q, struct store *store, struct err *err)
{
	int rc;

	q->job.element = q->f.id || job_key_index(q->f.first) >= 0;
	q->f.most = 1;
	rc = q->f.id ? history_read(store, &q->f, past_add, q, err) : history_job(store, q->f.first, past_add, q, err);
	json_begin(&q->j, &q->out);
	if (rc == 0 && q->rows > 0)
		past_job_write(&q->job, q->s->instance->name, &q->j);
	json_close_object(&q->j);
	past_job_fini(&q->job);
	return rc;
}

static int question_read(struct read_work *w, struct store *store)
{
	struct question *q = (struct question *)w;
	int rc;

	if (q->kind == ASK_JOB)
		return job_read(q, store, &w->err);
	json_begin(&q->j, &q->out);
	json_open_array(&q->j, q->kind == ASK_ROWS ? "jobs" : q->kind == ASK_SUMS ? "sums" : "usage");
	if (q->kind == ASK_ROWS)
		rc = history_read(store, &q->f, row_write, q, &w->err);
	else if (q->kind == ASK_SUMS)
		rc = history_sum(store, &q->f, q->by, sum_write, q, &w->err);
	else
		rc = ledger_read(store, q->first, q->last, entry_write, q, &w->err);
	json_close_array(&q->j);
	if (q->kind == ASK_ROWS)
		json_text(&q->j, "next", *q->next ? q->next : NULL);
	json_close_object(&q->j);
	return rc;
}

static void job_unknown(struct question *q)
{
	if (!q->f.id && number_unused(q->s, job_key_number(q->f.first)))
		http_error(q->r, CODE_UNKNOWN_JOB, "There is no job %.100s: that number was never given to one.",
			   q->id);
	else
		http_error(q->r, CODE_UNKNOWN_JOB, "There is no job %.100s, and the history has none.", q->id);
}

static void question_done(struct read_work *w)
{
	struct question *q = (struct question *)w;

	if (w->rc == 0 && q->kind == ASK_JOB && q->rows == 0)
		job_unknown(q);
	else if (w->rc == 0)
		http_reply_strbuf(q->r, 200, "application/json", &q->out);
	else
		http_error(q->r, CODE_UNAVAILABLE, "The history can't be read now: %s", w->err.text);
	strbuf_fini(&q->out);
	free(q);
}

static void question_add(struct question *q, uid_t user)
{
	q->work.read = question_read;
	q->work.done = question_done;
	if (reader_add(q->s, q->f.last || q->f.id ? LANE_QUICK : LANE_LONG, user, &q->work))
		return;
	http_header(q->r, "Retry-After", "2");
	http_error(q->r, CODE_UNAVAILABLE, "Too many questions about the history are waiting. Try again later.");
	free(q);
}

/* ---- requests ---- */

/* Parses "ended.key.attempt" from an earlier answer. */
static bool next_parse(const char *text, struct history_filter *f)
{
	unsigned long long key;
	long long ended, attempt;
	int n = 0;

	if (sscanf(text, "%18lld.%19llu.%18lld%n", &ended, &key, &attempt, &n) != 3 || text[n])
		return false;
	f->after_ended = ended;
	f->after_key = key;
	f->after_attempt = attempt;
	return true;
}

static const char *copy_of(struct http_request *r, const char *text, size_t n)
{
	char *copy = arena_alloc(request_arena(r), n + 1);

	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

/* Reads an id: of a job, an element, an array with all its elements, or a job of another system
 * such as "slurm:12.cluster". */
static int id_read(const char *text, struct history_filter *f, struct err *err)
{
	struct jobid id;
	int rc = jobid_parse(text, &id, err);

	if (rc < 0 && strchr(text, ':')) {
		f->id = text;
		return 0;
	}
	if (rc < 0)
		return rc;
	f->first = job_key(id.number, id.kind == JOBID_ELEMENT ? id.index : -1);
	f->last = id.kind == JOBID_ELEMENT ? f->first : job_key(id.number, JOB_INDEX_MAX);
	jobid_fini(&id);
	return 0;
}

/* Returns ",long,short,", allocated with the request. */
static const char *names_joined(struct question *q, const uint32_t *words, size_t n)
{
	struct strbuf all = {0};
	const char *copy;

	for (size_t i = 0; i < n; i++)
		strbuf_printf(&all, "%s%s,", i ? "" : ",", word_text(q->s, words[i]));
	copy = copy_of(q->r, strbuf_text(&all), all.n);
	strbuf_fini(&all);
	return copy;
}

/* Limits users who may not see others' jobs to their own and those they coordinate. */
static bool user_limit(struct question *q, const struct asker *w)
{
	const struct coordinated *c = coordinators_find(q->s, w->party);

	if (may_see_all(q->s, w))
		return true;
	if (c->queues.n || c->accounts.n) {
		q->f.sight = (struct history_sight){copy_of(q->r, w->user, strlen(w->user)),
						    names_joined(q, c->queues.v, c->queues.n),
						    names_joined(q, c->accounts.v, c->accounts.n)};
		return true;
	}
	if (q->f.user && strcmp(q->f.user, w->user) != 0) {
		http_error(q->r, CODE_FORBIDDEN, "You may see your own jobs only.");
		return false;
	}
	q->f.user = copy_of(q->r, w->user, strlen(w->user));
	return true;
}

static bool filter_read(struct question *q, const struct call *c)
{
	struct http_request *r = q->r;
	struct history_filter *f = &q->f;
	const char *name = request_query(r, "name"), *next = request_query(r, "after");
	const char *id = request_query(r, "id");
	size_t n = name ? strlen(name) : 0;
	struct err err;

	if (id && id_read(id, f, &err) < 0) {
		api_refuse(r, &err);
		return false;
	}
	f->user = request_query(r, "user");
	f->group = request_query(r, "group");
	f->account = request_query(r, "account");
	f->project = request_query(r, "project");
	f->queue = request_query(r, "queue");
	f->qos = request_query(r, "qos");
	f->state = request_query(r, "state");
	if (n && name[n - 1] == '*')
		f->prefix = copy_of(r, name, n - 1);
	else
		f->name = name;
	f->since = query_number(c, "since", 0);
	f->until = query_number(c, "until", 0);
	f->attempts = query_number(c, "attempts", 0);
	f->most = query_number(c, "limit", 1000);
	if (!user_limit(q, c->w))
		return false;
	if (next && !next_parse(next, f)) {
		http_error(r, CODE_BAD_REQUEST, "after=%.40s: it must be what `next` of an answer said", next);
		return false;
	}
	return true;
}

static void question_begin(struct server *s, const struct call *c, enum question_kind kind)
{
	static const char *const columns[HISTORY_BY_COUNT] = {"all",   "user",	"group", "account",
							      "queue", "state", "qos"};
	struct question *q = mem_zalloc(sizeof *q);
	const char *by = request_query(c->r, "by"), *form = request_query(c->r, "form");

	q->s = s;
	q->r = c->r;
	q->kind = kind;
	for (int i = 0; i < HISTORY_BY_COUNT; i++)
		if (by && strcmp(by, columns[i]) == 0)
			q->by = (enum history_by)i;
	q->as_jobs = form && strcmp(form, "job") == 0;
	q->first = query_number(c, "first", 0);
	q->last = query_number(c, "last", 99999999);
	if (filter_read(q, c))
		question_add(q, c->w->uid);
	else
		free(q);
}

void api_history(struct server *s, const struct call *c)
{
	question_begin(s, c, ASK_ROWS);
}

void api_history_sums(struct server *s, const struct call *c)
{
	question_begin(s, c, ASK_SUMS);
}

void api_usage(struct server *s, const struct call *c)
{
	question_begin(s, c, ASK_USAGE);
}

void api_past_job(struct server *s, struct http_request *r, const struct asker *w, const char *id)
{
	struct question *q;
	struct err err;

	q = mem_zalloc(sizeof *q);
	q->s = s;
	q->r = r;
	q->kind = ASK_JOB;
	q->id = copy_of(r, id, strlen(id));
	if (id_read(q->id, &q->f, &err) < 0) {
		api_refuse(r, &err);
		free(q);
	} else if (user_limit(q, w)) {
		question_add(q, w->uid);
	}
}
