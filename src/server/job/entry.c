/*
 * entry.c - see entry.h: the fold, and writing and reading payloads.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/array.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/jobschema.h"
#include "plan/plan.h"
#include "rules/gate.h"
#include "rules/libra.h"
#include "rules/limit.h"
#include "run/checkpoint.h"
#include "run/order.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
#include "server/job/census.h"
#include "server/job/classes.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/reserved.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/remotes.h"
#include "store/store.h"

const char *cause_name(uint8_t cause)
{
	static const char *const name[END_COUNT] = {NULL,      "walltime",   "memory",	    "deleted", "lost",
						    "expired", "dependency", "not_started", "hung_up", "refused"};

	return cause < END_COUNT ? name[cause] : NULL;
}

/* ---- the fold ---- */

static struct outcome *outcome_of(struct entry *x)
{
	if (!x->outcome)
		x->outcome = mem_zalloc(sizeof *x->outcome);
	return x->outcome;
}

static struct job_saves *saves_of(struct entry *x)
{
	struct outcome *o = outcome_of(x);

	if (!o->saves)
		o->saves = mem_zalloc(sizeof *o->saves);
	return o->saves;
}

/* Sets or, with NULL, clears the comment. */
static void comment_set(struct entry *x, const char *text)
{
	if (!text && !x->outcome)
		return;

	struct outcome *o = outcome_of(x);
	char *old = o->comment; /* may be the same as `text` */

	o->comment = text ? mem_strdup(text) : NULL;
	free(old);
}

static void exec_host_set(const struct server *s, struct entry *x, const struct attempt *t)
{
	struct outcome *o = outcome_of(x);
	struct strbuf text = {0};

	if (t)
		attempt_exec_host(s, t, &text);
	free(o->exec_host);
	o->exec_host = text.n ? mem_strdup(text.text) : NULL;
	strbuf_fini(&text);
}

static void apply_start(const struct server *s, struct entry *x, const struct payload *p)
{
	exec_host_set(s, x, p->attempt);
	x->outcome->session = 0; /* still the session of an earlier attempt */
	x->outcome->kill_at = 0;
	x->suspended = x->resumed = x->limited = false;
	x->intent = INTENT_NONE;
	x->billed = false;
	x->urgent |= p->urgent;
	comment_set(x, NULL);
}

/* Notes the start. The run time is counted by a clock that is never set. If the noted value is from
 * an earlier boot of a machine, the wall clock has to serve for the time until now, and only for
 * that. */
static void apply_started(const struct server *s, struct entry *x, const struct event *e, const struct payload *p)
{
	int64_t since = s->clock->now > e->time ? s->clock->now - e->time : 0;

	outcome_of(x)->began_us =
		p->began_us && p->boot == s->instance->boot ? p->began_us : s->clock->boot_us - since * 1000000;
}

/* Notes that the job no longer runs, whether it ended or waits again. */
static void apply_stop(const struct server *s, struct entry *x, const struct event *e, const struct payload *p)
{
	x->suspended = x->resumed = x->limited = false;
	x->intent = INTENT_NONE;
	x->billed = false;
	if (x->outcome) {
		x->outcome->kill_at = 0;
		x->outcome->session = 0; /* it may have been read from the live file */
	}
	if (p->failed)
		failures_apply(s, x, &p->retry, e->time);
	if (p->comment || p->text)
		comment_set(x, p->comment ? p->comment : p->text);
}

static void apply_end(const struct server *s, struct entry *x, const struct event *e, const struct payload *p)
{
	apply_stop(s, x, e, p);
	x->exit_status = p->exit_status;
	x->cause = p->cause;
	x->foreign |= p->foreign;
	if (p->used) {
		struct outcome *o = outcome_of(x);
		o->cpu_ms = p->cpu_ms;
		o->memory_kib = p->memory_kib;
		o->started_us = p->started_us;
		o->ended_us = p->ended_us;
		o->ran_ms = p->ran_ms;
		o->session = p->session;
	}
}

static void apply_expire(const struct server *s, struct entry *x, const struct event *e, const struct job *job)
{
	apply_end(s, x, e,
		  &(struct payload){.exit_status = EXIT_EXPIRED,
				    .cause = END_EXPIRED,
				    .text = job->interactive ? "no place was free, and none could be made free"
							     : "its deadline could no longer be met"});
}

static void apply_intent(const struct server *s, struct entry *x, const struct event *e, const struct payload *p)
{
	x->intent = p->intent;
	x->foreign = p->foreign;
	x->billed |= p->billed;
	outcome_of(x)->spent_ms -= p->paid * 1000;
	if (p->drops && x->spec->checkpoint)
		saves_of(x)->from_start = true;
	outcome_of(x)->kill_at = clock_until(s, e->time, e->time + p->delay);
	outcome_of(x)->saving = p->saves.last.cause;
	if (p->comment)
		comment_set(x, p->comment);
}

static struct away *away_of(struct entry *x)
{
	if (!x->away)
		x->away = mem_zalloc(sizeof *x->away);
	return x->away;
}

void entry_leaves(struct server *s, uint32_t id)
{
	struct entry *x = entry_get(s, id);

	if (!x->leaving) /* a job may leave, come back and leave again */
		vec_push(&s->jobs->leaving, id);
	x->leaving = true;
}

void entry_through(struct server *s, uint32_t id, uint32_t queue)
{
	if (queue)
		away_of(entry_get(s, id))->from = queue;
}

/* Updates the number of elements of its array that are away. */
static void away_count(struct server *s, const struct entry *x, bool before, bool now)
{
	struct array *whole =
		before != now && job_key_index(x->key) >= 0 ? array_find(s, job_key_number(x->key)) : NULL;

	if (whole)
		whole->away += now ? 1 : -1u;
}

/* Replaces the state at the other site; a NULL id means none. */
static void apply_away(struct server *s, struct entry *x, const struct payload *p)
{
	struct away *a = away_of(x), old = *a;

	away_count(s, x, old.phase != AWAY_NOT, p->away.phase != AWAY_NOT);
	*a = p->away;
	a->id = p->away.id ? mem_strdup(p->away.id) : NULL;
	a->from = p->away.from ? p->away.from : old.from;
	memcpy(a->refused, old.refused, sizeof a->refused);
	if (p->refused) {
		memmove(a->refused + 1, a->refused, sizeof a->refused - sizeof *a->refused);
		a->refused[0] = x->spec->queue;
	}
	free(old.id);
	comment_set(x, p->comment);
}

static void apply_alter(struct server *s, struct entry *x, struct job *job, const struct payload *p)
{
	struct spec *old = x->spec;

	p->spec->refs++;
	x->spec = p->spec;
	x->holds = p->spec->holds;
	if (job->state <= STATE_ALLOCATED && asks_otherwise(old, p->spec)) {
		plan_forget(s->plan, job->id); /* its fragments differ now */
		job_fill(s, job, p->spec);
	} else if (entry_running(s, job->id) && old->walltime != p->spec->walltime) {
		job->walltime = p->spec->walltime;
		x->limited = true;
	}
	if (old->queue != p->spec->queue && queue_is_remote(word_text(s, p->spec->queue))) {
		struct away *a = away_of(x);
		/* a job that was already in a remote queue returns to where it was before that */
		if (!queue_is_remote(word_text(s, old->queue)))
			a->from = old->queue;
		entry_leaves(s, job->id);
	}
	if (old->queue != p->spec->queue && queue_routes(s, p->spec->queue))
		vec_push(&s->jobs->routed.jobs, job->id);
	spec_unref(old);
}

static void apply_saved(struct entry *x, struct job *job, const struct payload *p)
{
	struct job_saves *v = saves_of(x);

	if (p->saves.attempt == job->attempt && p->saves.last.covers_ms > 0)
		job->saved = job->start + p->saves.last.covers_ms / 1000;
	v->attempt = p->saves.attempt;
	v->last = p->saves.last;
	v->lost_ms += p->saves.lost_ms;
	v->attempt_lost_ms = p->saves.lost_ms;
}

static void apply_begun(struct entry *x)
{
	struct job_saves *v = x->outcome ? x->outcome->saves : NULL;

	if (v && v->from_start)
		*v = (struct job_saves){.lost_ms = v->lost_ms, .moves = v->moves};
}

void entry_apply(struct server *s, const struct event *e, const struct payload *p)
{
	struct entry *x = entry_get(s, e->job);
	struct job *job = entry_job(s, e->job);

	/* KEEP is frequent and the scheduler's own; GONE concerns only processes */
	if (e->type != EVENT_KEEP && e->type != EVENT_GONE)
		x->modified = e->time;
	switch ((int)e->type) {
	case EVENT_START:
		apply_start(s, x, p);
		break;
	case EVENT_STARTED:
		x->ran = true;
		x->prepaid = false;
		if (x->outcome && x->outcome->saves)
			x->outcome->saves->moving = 0;
		apply_begun(x);
		apply_started(s, x, e, p);
		gate_started(s->gate, e->job);
		break;
	case EVENT_PLACED:
		exec_host_set(s, x, p->attempt);
		break;
	case EVENT_PREEMPT:
		x->retried += p->retried;
		x->prepaid = p->billed;
		if (p->spent_ms || p->paid)
			outcome_of(x)->spent_ms += p->spent_ms - p->paid * 1000;
		if (p->moves) {
			saves_of(x)->moves++;
			saves_of(x)->moving = e->time;
		}
		apply_stop(s, x, e, p);
		break;
	case EVENT_START_FAILED:
		if (x->outcome && x->outcome->saves)
			x->outcome->saves->moving = 0; /* it now waits like any other job */
		apply_stop(s, x, e, p);
		break;
	case EVENT_DELETE:
		/* it ended while it was being stopped, perhaps before its start was recorded */
		x->ran |= p->exit_status >= 0 && !entry_away(x);
		apply_end(s, x, e, p);
		break;
	case EVENT_FINISH:
		apply_end(s, x, e, p);
		break;
	case EVENT_EXPIRE:
		apply_expire(s, x, e, job);
		break;
	case EVENT_INTENT:
		apply_intent(s, x, e, p);
		break;
	case EVENT_ALTER:
		apply_alter(s, x, job, p);
		break;
	case EVENT_HOLDS:
		x->holds = p->holds;
		if (p->failed)
			failures_apply(s, x, &p->retry, e->time);
		if (p->comment || job->state <= STATE_ALLOCATED)
			comment_set(x, p->comment);
		break;
	case EVENT_SUSPEND:
		x->suspended = p->suspended;
		x->resumed = !p->suspended;
		break;
	case EVENT_RANK:
		job->rank = p->rank;
		break;
	case EVENT_SAVED:
		apply_saved(x, job, p);
		break;
	case EVENT_AWAY:
		apply_away(s, x, p);
		break;
	default:
		break;
	}
	census_mark(s, e->job);
	if (e->type == EVENT_DELETE && job_ended(job) && entry_away(x))
		away_count(s, x, true, false);
	if (job_ended(job))
		gate_ended(s->gate, e->job, x->exit_status);
}

/* Returns the number of the array that a job is an element of; 0: none. */
static uint64_t array_of(const struct server *s, uint32_t id)
{
	uint64_t key = entry_get(s, id)->key;

	return job_key_index(key) >= 0 ? job_key_number(key) : 0;
}

struct limit_party spec_party(const struct spec *p, uint64_t array)
{
	return (struct limit_party){.user = p->owner,
				    .queue = p->queue,
				    .array = array,
				    .group = p->group,
				    .account = p->account,
				    .qos = p->qos};
}

void job_margins(const struct server *s, struct job *job, const struct spec *p)
{
	job->saving = class_saving(s, p);
	job->starting = *s->conf->prologue ? s->conf->program_limit : 0;
	job->ending = ending_of(s, p, job->saving);
}

void job_fill(const struct server *s, struct job *job, const struct spec *p)
{
	job->request = p->request == UINT32_MAX ? s->jobs->fallback : p->request;
	job->allowed = spec_nodes(s, p);
	job->walltime = p->walltime;
	job->deadline = p->now ? p->created + p->walltime : p->deadline;
	job->nice = p->nice;
	job->has_price = p->rare->libra.estimate > 0;
	job->priced = p->rare->libra.estimate ? libra_seconds(&p->rare->libra) : 0;
	job_margins(s, job, p);
	job->kind = p->now ? KIND_EMERGENCY : p->kind;
	job->interactive = p->now;
	job->powers = p->powers;
	job->guaranteed = false;
	job->deallocations = 0;
	struct limit_party party = spec_party(p, array_of(s, job->id));
	job->limits = limits_class(s->limits, &party);
	uint64_t number = job_key_number(entry_get(s, job->id)->key);
	job->keys = reserved_keys(s, p, number);
	job->bound = reserved_bound(s, p, number);
	entry_eased(s, job->id);
}

/* ---- recording events ---- */

static void nodes_text(const struct server *s, const struct event *e, struct strbuf *out)
{
	for (uint32_t i = 0; i < e->nnodes; i++)
		strbuf_printf(out, "%s%s", i ? "+" : "", names_get(&s->cluster->node_names, (uint32_t)e->nodes[i]));
}

/* Returns true if the job's record already covers the event: the record shows how the job began. */
static bool is_recorded(const struct entry *x, const struct event *e)
{
	return e->type == EVENT_SUBMIT || (x->fresh && (e->type == EVENT_HOLD || e->type == EVENT_RELEASE));
}

void event_keep(struct server *s, const struct event *e, const struct payload *p)
{
	struct strbuf nodes = {0}, data = {0};
	struct store_event x = {
		.seq = s->jobs->next_seq++,
		.job = entry_get(s, e->job)->key,
		.by = e->by == JOB_NONE ? 0 : entry_get(s, e->by)->key,
		.time = e->time,
		.at = e->at,
		.type = e->type,
	};

	nodes_text(s, e, &nodes);
	payload_write(s, e->type, p, &data);
	x.nodes = nodes.n ? nodes.text : NULL;
	x.data = data.n ? data.text : NULL;
	/* its place may change thousands of times; only the last one is kept */
	if (e->type == EVENT_KEEP)
		store_put_last_event(s->store, &x);
	else if (!is_recorded(entry_get(s, e->job), e))
		store_put_event(s->store, &x);
	s->post->show(s, &x);
	strbuf_fini(&nodes);
	strbuf_fini(&data);
}

void entry_event(struct server *s, uint32_t id, enum server_event type, const struct payload *p)
{
	struct event e = {.time = s->clock->now, .job = id, .by = JOB_NONE, .type = (uint8_t)type};

	entry_apply(s, &e, p);
	event_keep(s, &e, p);
}

void array_apply(struct array *a, const struct spec *p)
{
	struct spec *x = spec_copy(p);

	x->array = true;
	x->array_text = mem_strdup(a->spec->array_text);
	x->eligible = a->spec->eligible;
	spec_unref(a->spec);
	a->spec = x;
}

void array_limit(struct array *a, uint32_t limit)
{
	struct array_spec spec = {0};
	struct strbuf text = {0};
	struct spec *p = spec_copy(a->spec);

	a->limit = limit;
	if (array_parse(a->spec->array_text, &spec, NULL) == 0) {
		spec.limit = limit;
		array_format(&spec, &text);
		array_fini(&spec);
	}
	p->array = true;
	p->array_text = mem_strdup(text.n ? text.text : a->spec->array_text);
	spec_unref(a->spec);
	a->spec = p;
	strbuf_fini(&text);
}

/* ---- payloads in the store ---- */

/* Bits of rows: the type of the event, and conditions. */
#define ON(type) (UINT32_C(1) << ((int)(type) < EVENT_COUNT ? (int)(type) : EVENT_COUNT - EVENT_PLACED + (int)(type)))
#define ON_END (ON(EVENT_FINISH) | ON(EVENT_DELETE))
#define COMMON (UINT32_C(1) << 28)
#define WHEN_USED (UINT32_C(1) << 29)
#define WHEN_THROTTLED (UINT32_C(1) << 30)
#define ON_ANY (ALWAYS - 1)
#define HAS(member) MEMBER(struct payload, member)
#define SPELLED(member) MEMBER_AS(FORM_CHOICE8, struct payload, member)

static_assert(EVENT_COUNT + SERVER_EVENT_END - EVENT_PLACED <= 28, "each type of event needs a bit of its own");

/* Members that events are stored with, in addition to `spec`, `failures` and an attempt's CPUs. */
static const struct field payload_rows[] = {
	{"text", .in = ON_ANY & ~ON(EVENT_INTENT), HAS(text)},
	{"comment", .in = ON_ANY, HAS(comment)},
	{"who", .in = ON_ANY, HAS(who)},
	{"urgent", .in = ON(EVENT_START), HAS(urgent)},
	{"began_us", .in = ON(EVENT_STARTED), HAS(began_us)},
	{"boot", .in = ON(EVENT_STARTED), HAS(boot)},
	{"spent_ms", .in = ON(EVENT_PREEMPT), HAS(spent_ms)},
	{"moves", .in = ON(EVENT_PREEMPT), HAS(moves)},
	{"retried", .in = ON(EVENT_PREEMPT), HAS(retried)},
	{"exit_status", .in = ON_END, HAS(exit_status)},
	{"cause", .in = ON_END, HAS(cause)},
	{"foreign", .in = ON_END | ON(EVENT_INTENT), HAS(foreign)},
	{"lingers", .in = ON_END, HAS(lingers)},
	{"cpu_ms", .in = WHEN_USED, HAS(cpu_ms)},
	{"memory_kib", .in = WHEN_USED, HAS(memory_kib)},
	{"started_us", .in = WHEN_USED | ALWAYS, HAS(started_us)},
	{"ended_us", .in = WHEN_USED, HAS(ended_us)},
	{"ran_ms", .in = WHEN_USED, .missing = -1, HAS(ran_ms)},
	{"session", .in = WHEN_USED, HAS(session)},
	{"text", .in = ON(EVENT_INTENT) | ALWAYS, .words = "none|delete|rerun", SPELLED(intent)},
	{"delay", .in = ON(EVENT_INTENT), HAS(delay)},
	{"saving", .in = ON(EVENT_INTENT), .words = save_choice,
	 MEMBER_AS(FORM_CHOICE, struct payload, saves.last.cause)},
	{"drops", .in = ON(EVENT_INTENT), HAS(drops)},
	{"billed", .in = ON(EVENT_INTENT) | ON(EVENT_PREEMPT), HAS(billed)},
	{"paid", .in = ON(EVENT_INTENT) | ON(EVENT_PREEMPT), HAS(paid)},
	{"limit", .in = WHEN_THROTTLED | ALWAYS, HAS(limit)},
	{"as", .in = ON(EVENT_ALTER), HAS(as)},
	{"holds", .in = ON(EVENT_HOLDS) | ALWAYS, HAS(holds)},
	{"suspended", .in = ON(EVENT_SUSPEND) | ALWAYS, HAS(suspended)},
	{"attempt", .in = ON(EVENT_SAVED), HAS(saves.attempt)},
	{"saves", .in = ON(EVENT_SAVED) | ALWAYS, .of = &saves_schema,
	 MEMBER_AS(FORM_RECORD, struct payload, saves.last)},
	{"lost_ms", .in = ON(EVENT_SAVED), HAS(saves.lost_ms)},
	{"phase", .in = ON(EVENT_AWAY) | ALWAYS, .words = "here|offered|there", SPELLED(away.phase)},
	{"wish", .in = ON(EVENT_AWAY), .words = "none|delete|return", SPELLED(away.wish)},
	{"state", .in = ON(EVENT_AWAY), MEMBER_CHARS(struct payload, away.state)},
	{"try", .in = ON(EVENT_AWAY), HAS(away.try)},
	{"id", .in = ON(EVENT_AWAY), MEMBER_AS(FORM_LENT, struct payload, away.id)},
	{"from", .in = ON(EVENT_AWAY), MEMBER_AS(FORM_WORD, struct payload, away.from)},
	{"refused", .in = ON(EVENT_AWAY), HAS(refused)},
	{"attempt", .in = ON(EVENT_GONE), HAS(gone)},
	{"rank_us", .in = ON(EVENT_RANK) | ALWAYS, HAS(rank)},
	{0},
};

static uint32_t rows_of(int type, bool used, bool throttled)
{
	return ON(type) | (used && ON(type) & ON_END ? WHEN_USED : 0) | (throttled ? WHEN_THROTTLED : 0);
}

void payload_write(const struct server *s, int type, const struct payload *p, struct strbuf *out)
{
	size_t begin = out->n;
	struct json j;

	json_begin(&j, out);
	record_store(payload_rows, rows_of(type, p->used, p->throttled), p, s->words, &j);
	if (p->failed)
		failures_write(s, &p->retry, &j);
	if (p->attempt && (type == EVENT_START || type == EVENT_PLACED))
		attempt_write(p->attempt, &j);
	if (type == EVENT_ALTER && !p->throttled && !p->as) {
		json_open_object(&j, "spec");
		spec_store(p->spec, s->words, &j);
		json_close_object(&j);
	}
	json_close_object(&j);
	if (out->n == begin + 2) { /* {} */
		out->n = begin;
		out->text[begin] = '\0';
	}
}

static int alter_read(struct server *s, const json_t *spec, struct payload *p, struct err *err)
{
	uint32_t other;

	if (p->throttled)
		return 0;
	if (p->as) {
		if (!entry_find(s, job_key_number(p->as), job_key_index(p->as), &other))
			return err_set(err, -EINVAL, "the job it was altered with is not there");
		p->spec = entry_get(s, other)->spec;
		p->spec->refs++;
		return 0;
	}
	if (!json_is_object(spec))
		return err_set(err, -EINVAL, "what it was altered to is missing");
	return spec_restore(s, spec, &p->spec, err);
}

int payload_read(struct server *s, int type, const json_t *data, struct payload *ret, struct err *err)
{
	const json_t *failures = json_object_get(data, "failures");
	int rc = 0;

	*ret = (struct payload){
		.used = ON(type) & ON_END && json_object_get(data, "started_us"),
		.throttled = type == EVENT_ALTER && json_object_get(data, "limit"),
	};
	if (data || type >= EVENT_COUNT)
		rc = record_load(payload_rows, rows_of(type, ret->used, ret->throttled), data, ret, s->words, err);
	ret->failed = rc == 0 && failures;
	if (ret->failed)
		rc = failures_read(s, failures, &ret->retry, err);
	if (rc < 0)
		return rc;
	ret->holds &= BLOCK_HOLDS;
	if (ret->ran_ms < 0) /* written by an older server */
		ret->ran_ms = ret->ended_us > ret->started_us ? (ret->ended_us - ret->started_us) / 1000 : 0;
	return type == EVENT_ALTER ? alter_read(s, json_object_get(data, "spec"), ret, err) : 0;
}

void payload_glance(int type, const json_t *data, struct payload *ret)
{
	*ret = (struct payload){0};
	if (data)
		record_load(payload_rows, type == EVENT_AWAY ? COMMON : rows_of(type, false, false), data, ret, NULL,
			    NULL);
}
