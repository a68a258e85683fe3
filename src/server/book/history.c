/* history.c - long-term history of jobs: a row for each attempt that ends, one for a job that
 * ends while it waits, and their contribution to the ledger. All of it is written in the commit
 * of the event that causes it. */
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/res.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/work.h"
#include "server/book/books.h"
#include "server/book/ended.h"
#include "server/book/history.h"
#include "server/book/ledger.h"
#include "server/book/past.h"
#include "server/book/sharing.h"
#include "server/job/attempt.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "store/history.h"
#include "store/store.h"

/* delay before filing: filing more rows together costs less per row */
#define FILE_AFTER_US 1000000
#define FILE_LATEST_US 10000000 /* longest additional delay while a long request is running */
#define FILE_RETRY_US 60000000
#define FILE_ROWS 1000 /* maximum rows per turn */

static const char *state_of(const struct entry *e)
{
	const char *cause = cause_name(e->cause);

	return cause ? cause : e->exit_status == 0 ? "completed" : "failed";
}

/* Returns the milliseconds from the last start of a job until now, or until the server was last up
 * if the attempt ended unseen. */
static int64_t ran_ms(const struct server *s, uint32_t id, uint32_t attempt)
{
	const struct entry *e = entry_get(s, id);
	const struct outcome *o = e->outcome;
	int64_t until = s->clock->boot_us;

	if (map_get(&s->jobs->unseen, (uint64_t)id << 32 | attempt, &(uint64_t){0}))
		until -= (s->clock->now - s->jobs->seen) * 1000000;
	return e->ran && o && o->began_us && until > o->began_us ? (until - o->began_us) / 1000 : 0;
}

int64_t ran_until_now(const struct server *s, uint32_t id)
{
	/* began_us is of an earlier attempt */
	return entry_job(s, id)->state == STATE_NOW ? 0 : ran_ms(s, id, entry_job(s, id)->attempt);
}

/* The next attempt does not start before this one has gone, so began_us is this one's. */
int64_t attempt_ran(const struct server *s, const struct attempt *t)
{
	const struct job *job = entry_job(s, t->job);
	bool runs = job->attempt == t->attempt && job->state == STATE_RUNNING;

	return t->started || runs ? ran_ms(s, t->job, t->attempt) : 0;
}

static void day_add(void *context, const struct ledger_row *x)
{
	struct server *s = context;

	store_add_ledger(s->store, x);
	sharing_add(s, x);
}

/* Returns the work lost by the attempt that ends now, as far as it is known. A job without
 * checkpoints loses everything. */
static int64_t lost_of(const struct server *s, const struct entry *e, const struct history_row *row)
{
	const struct job_saves *v = e->outcome ? e->outcome->saves : NULL;

	if (!e->spec->checkpoint)
		return row->last ? 0 : row->ran_ms;
	return v && v->attempt == row->attempt ? v->attempt_lost_ms : 0;
}

void history_fill(struct server *s, uint32_t id, struct history_row *row, char *group, size_t size)
{
	const struct entry *e = entry_get(s, id);
	const struct charge charge = entry_charge(s, id);
	const struct job *job = entry_job(s, id);
	const struct outcome *o = e->outcome;
	/* a job that ended while it waited may have a planned start instead */
	bool planned = job->state == STATE_DELETED && o && o->ended_us;

	*row = (struct history_row){
		.key = e->key,
		.attempt = job->attempt,
		.hosts = o ? o->exec_host : NULL,
		.text = o ? o->comment : NULL,
		.exit_status = e->exit_status,
		.started = !job->attempt ? 0
			   : planned	 ? o->started_us / 1000000
					 : job->start,
		.nodes = charge.nodes,
		.cpus = charge.cpus,
		.gpus = charge.gpus,
		.memory_kib = charge.memory,
		.ran_ms = o && o->ended_us ? o->ran_ms : ran_until_now(s, id),
		.cpu_ms = o ? o->cpu_ms : 0,
		.peak_kib = o ? o->memory_kib : 0,
	};
	if (!s->books->past.n)
		past_pairs_find(&s->books->past);
	past_describe(&s->books->past, row, e->spec, s->words);
	/* set for older jobs as well, which lack this member */
	row->group = group_name(s, e->spec, group, size);
	if (job_ended(job)) {
		row->last = true;
		row->state = state_of(e);
		row->ended = job->since;
	}
}

static void row_put(struct server *s, uint32_t id, struct history_row *row)
{
	const struct entry *e = entry_get(s, id);
	struct strbuf more = {0};

	row->lost_ms = lost_of(s, e, row);
	row->members = past_more_store(e->spec, s->words, &more);
	store_put_history(s->store, row);
	ledger_split(&s->books->last_end, row, day_add, s);
	strbuf_fini(&more);
}

/* Returns what a start is called in the history that ended without its job. */
static const char *stopped_as(const struct entry *x, const struct event *e, const struct payload *p)
{
	if (p->retried)
		return p->cause == END_MEMORY ? "memory" : "failed";
	if (e->by != JOB_NONE || e->at)
		return "preempted";
	return x->intent == INTENT_RERUN ? "rerun" : "lost";
}

void history_stopped(struct server *s, const struct event *e, const struct payload *p)
{
	struct history_row row;
	char group[64];

	history_fill(s, e->job, &row, group, sizeof group);
	row.state = stopped_as(entry_get(s, e->job), e, p);
	row.text = p->text;
	row.exit_status = p->retried ? p->exit_status : 0;
	row.ended = e->time;
	row.ran_ms = p->spent_ms;
	row.cpu_ms = p->used ? p->cpu_ms : 0;
	row.peak_kib = p->used ? p->memory_kib : 0;
	row_put(s, e->job, &row);
}

void history_ended(struct server *s, uint32_t id)
{
	struct history_row row;
	char group[64];

	history_fill(s, id, &row, group, sizeof group);
	/* it ended while waiting, whatever it did before */
	if (entry_job(s, id)->state != STATE_DONE) {
		row.attempt = row.started = row.ran_ms = row.cpu_ms = row.peak_kib = 0;
		row.hosts = NULL;
	}
	row_put(s, id, &row);
}

/* Marks that the store has a history. */
int history_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	s->books->history = true;
	return 0;
}

void history_begin(struct server *s)
{
	if (s->books->history)
		return;
	JOBS_EACH(s, id)
		if (entry_get(s, id)->spec && entry_ended(s, id))
			history_ended(s, id);
	store_put_object(s->store, "history", "begun", "{}");
}

void history_file(struct server *s)
{
	int64_t now = s->clock->now_us, *due = &s->books->filing_us;
	struct err err;

	if (!store_unfiled(s->store))
		*due = 0;
	else if (*due == 0)
		*due = now + FILE_AFTER_US;
	if (*due == 0 || now < *due || (s->slices->works.n && now < *due + FILE_LATEST_US))
		return;
	int rc = store_file(s->store, FILE_ROWS, &err);
	if (rc < 0)
		server_log(s, SEVERITY_ERROR, "rows of the history can't be moved to their tables: %s", err.text);
	if (rc <= 0)
		*due = now + (rc < 0 ? FILE_RETRY_US : FILE_AFTER_US);
}

int64_t history_next(const struct server *s)
{
	return s->books->filing_us ? s->books->filing_us : TIME_NEVER;
}
