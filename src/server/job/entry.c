/*
 * entry.c - see entry.h: the fold, and payloads in the store and back.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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
#include "run/order.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
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

/* NULL: none. */
static void comment_set(struct entry *x, const char *text)
{
	if (!text && !x->outcome)
		return;

	struct outcome *o = outcome_of(x);
	char *old = o->comment; /* `text` may be it */

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
	x->outcome->session = 0; /* an earlier attempt's */
	x->outcome->kill_at = 0;
	x->suspended = x->resumed = x->limited = false;
	x->intent = INTENT_NONE;
	x->billed = false;
	x->urgent |= p->urgent;
	comment_set(x, NULL);
}

/* How long it runs is counted by a clock that is never set. Where that of another start of a machine was noted, the wall clock has to do for the time until
 * now, and no longer. */
static void apply_started(const struct server *s, struct entry *x, const struct event *e, const struct payload *p)
{
	int64_t since = s->clock->now > e->time ? s->clock->now - e->time : 0;

	outcome_of(x)->began_us =
		p->began_us && p->boot == s->instance->boot ? p->began_us : s->clock->boot_us - since * 1000000;
}

/* It does not run any more, for good or to wait again. */
static void apply_stop(const struct server *s, struct entry *x, const struct event *e, const struct payload *p)
{
	x->suspended = x->resumed = x->limited = false;
	x->intent = INTENT_NONE;
	x->billed = false;
	if (x->outcome) {
		x->outcome->kill_at = 0;
		x->outcome->session = 0; /* which was read from its live file, if anybody asked */
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
	struct entry *x = &s->jobs->entries.v[id];

	if (!x->leaving) /* it may have been there before, and come back */
		vec_push(&s->jobs->leaving, id);
	x->leaving = true;
}

void entry_through(struct server *s, uint32_t id, uint32_t queue)
{
	if (queue)
		away_of(&s->jobs->entries.v[id])->from = queue;
}

/* Elements of its array that are away: one more or less. */
static void away_count(struct server *s, const struct entry *x, bool before, bool now)
{
	struct array *whole =
		before != now && job_key_index(x->key) >= 0 ? array_find(s, job_key_number(x->key)) : NULL;

	if (whole)
		whole->away += now ? 1 : -1u;
}

/* NULL is no id. */
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
		plan_forget(s->plan, job->id); /* it has other fragments */
		job_fill(s, job, p->spec);
	} else if (entry_running(s, job->id) && old->walltime != p->spec->walltime) {
		job->walltime = p->spec->walltime;
		x->limited = true;
	}
	if (old->queue != p->spec->queue && queue_is_remote(word(s, p->spec->queue))) {
		struct away *a = away_of(x);
		if (!queue_is_remote(word(s, old->queue))) /* else it returns to where it was before that */
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
	struct entry *x = &s->jobs->entries.v[e->job];
	struct job *job = entry_job(s, e->job);

	if (e->type != EVENT_KEEP &&
	    e->type != EVENT_GONE) /* the scheduler's, which changes often; and the processes' */
		x->modified = e->time;
	switch ((int)e->type) {
	case EVENT_START:
		apply_start(s, x, p);
		break;
	case EVENT_STARTED:
		x->ran = true;
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
		if (p->spent_ms)
			outcome_of(x)->spent_ms += p->spent_ms;
		if (p->moves) {
			saves_of(x)->moves++;
			saves_of(x)->moving = e->time;
		}
		apply_stop(s, x, e, p);
		break;
	case EVENT_START_FAILED:
		if (x->outcome && x->outcome->saves)
			x->outcome->saves->moving = 0; /* it waits as others do */
		apply_stop(s, x, e, p);
		break;
	case EVENT_FINISH:
	case EVENT_DELETE:
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
	if (e->type == EVENT_DELETE && job_ended(job) && entry_away(x))
		away_count(s, x, true, false);
	if (job_ended(job))
		gate_ended(s->gate, e->job, x->exit_status);
}

/* The number of the array that a job is an element of; 0: none. */
static uint64_t array_of(const struct server *s, uint32_t id)
{
	uint64_t key = s->jobs->entries.v[id].key;

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
	uint64_t number = job_key_number(s->jobs->entries.v[job->id].key);
	job->keys = reserved_keys(s, p, number);
	job->bound = reserved_bound(s, p, number);
	entry_eased(s, job->id);
}

/* ---- keeping it ---- */

static void nodes_text(const struct server *s, const struct event *e, struct strbuf *out)
{
	for (uint32_t i = 0; i < e->nnodes; i++)
		strbuf_printf(out, "%s%s", i ? "+" : "", names_get(&s->cluster->node_names, (uint32_t)e->nodes[i]));
}

/* How a job began is in its record. */
static bool is_recorded(const struct entry *x, const struct event *e)
{
	return e->type == EVENT_SUBMIT || (x->fresh && (e->type == EVENT_HOLD || e->type == EVENT_RELEASE));
}

void event_keep(struct server *s, const struct event *e, const struct payload *p)
{
	struct strbuf nodes = {0}, data = {0};
	struct store_event x = {
		.seq = s->jobs->next_seq++,
		.job = s->jobs->entries.v[e->job].key,
		.by = e->by == JOB_NONE ? 0 : s->jobs->entries.v[e->by].key,
		.time = e->time,
		.at = e->at,
		.type = e->type,
	};

	nodes_text(s, e, &nodes);
	payload_write(s, e->type, p, &data);
	x.nodes = nodes.n ? nodes.text : NULL;
	x.data = data.n ? data.text : NULL;
	if (e->type == EVENT_KEEP) /* its place may change thousands of times: the last one counts */
		store_put_last_event(s->store, &x);
	else if (!is_recorded(&s->jobs->entries.v[e->job], e))
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

static const char *intent_name(uint8_t intent)
{
	return intent == INTENT_RERUN ? "rerun" : "delete";
}

static void end_write(struct json *j, const struct payload *p)
{
	json_int(j, "exit_status", p->exit_status);
	if (p->cause)
		json_int(j, "cause", p->cause);
	if (p->foreign)
		json_bool(j, "foreign", true);
	if (p->lingers)
		json_bool(j, "lingers", true);
	if (p->used) {
		json_int(j, "cpu_ms", p->cpu_ms);
		json_int(j, "memory_kib", p->memory_kib);
		json_int(j, "started_us", p->started_us);
		json_int(j, "ended_us", p->ended_us);
		json_int(j, "ran_ms", p->ran_ms);
		json_int(j, "session", p->session);
	}
}

static void alter_write(const struct server *s, struct json *j, const struct payload *p)
{
	struct strbuf head = {0};

	if (p->throttled) {
		json_int(j, "limit", p->limit);
		return;
	}
	if (p->as) {
		json_int(j, "as", (int64_t)p->as);
		return;
	}
	spec_head(s, p->spec, &head);
	json_raw(j, "spec", head.text);
	strbuf_fini(&head);
}

static void saved_write(struct json *j, const struct job_saves *v)
{
	struct strbuf text = {0};

	saves_write(&v->last, &text);
	json_int(j, "attempt", v->attempt);
	json_raw(j, "saves", strbuf_text(&text));
	if (v->lost_ms)
		json_int(j, "lost_ms", v->lost_ms);
	strbuf_fini(&text);
}

static const char *const phases[] = {"here", "offered", "there"}, *const wishes[] = {"none", "delete", "return"};

static void away_write(const struct server *s, struct json *j, const struct payload *p)
{
	const struct away *a = &p->away;
	char state[2] = {a->state, '\0'};

	json_text(j, "phase", phases[a->phase]);
	if (a->wish)
		json_text(j, "wish", wishes[a->wish]);
	if (a->state)
		json_text(j, "state", state);
	json_int(j, "try", a->try);
	if (a->id)
		json_text(j, "id", a->id);
	if (a->from)
		json_text(j, "from", word(s, a->from));
	if (p->refused)
		json_bool(j, "refused", true);
}

void payload_write(const struct server *s, int type, const struct payload *p, struct strbuf *out)
{
	size_t begin = out->n;
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	if (p->text)
		json_text(&j, "text", p->text);
	if (p->comment)
		json_text(&j, "comment", p->comment);
	if (p->who)
		json_text(&j, "who", p->who);
	if (p->failed)
		failures_write(s, &p->retry, &j);
	switch (type) {
	case EVENT_START:
	case EVENT_PLACED:
		if (p->urgent)
			json_bool(&j, "urgent", true);
		if (p->attempt)
			attempt_write(p->attempt, &j);
		break;
	case EVENT_STARTED:
		json_int(&j, "began_us", p->began_us);
		json_int(&j, "boot", (int64_t)p->boot);
		break;
	case EVENT_PREEMPT:
		if (p->spent_ms)
			json_int(&j, "spent_ms", p->spent_ms);
		if (p->moves)
			json_bool(&j, "moves", true);
		break;
	case EVENT_FINISH:
	case EVENT_DELETE:
		end_write(&j, p);
		break;
	case EVENT_INTENT:
		json_text(&j, "text", intent_name(p->intent));
		json_int(&j, "delay", p->delay);
		if (p->drops)
			json_bool(&j, "drops", true);
		if (p->billed)
			json_bool(&j, "billed", true);
		if (p->paid)
			json_int(&j, "paid", p->paid);
		if (p->foreign)
			json_bool(&j, "foreign", true);
		break;
	case EVENT_ALTER:
		alter_write(s, &j, p);
		break;
	case EVENT_HOLDS:
		json_int(&j, "holds", p->holds);
		break;
	case EVENT_SUSPEND:
		json_bool(&j, "suspended", p->suspended);
		break;
	case EVENT_SAVED:
		saved_write(&j, &p->saves);
		break;
	case EVENT_AWAY:
		away_write(s, &j, p);
		break;
	case EVENT_GONE:
		json_int(&j, "attempt", p->gone);
		break;
	case EVENT_RANK:
		json_int(&j, "rank_us", llround(p->rank * 1e6));
		break;
	default:
		break;
	}
	json_close_object(&j);
	if (out->n == begin + 2) { /* {} */
		out->n = begin;
		out->text[begin] = '\0';
	}
}

static const char *text_of(const json_t *data, const char *key)
{
	return json_string_value(json_object_get(data, key));
}

static int64_t number_of(const json_t *data, const char *key)
{
	return json_integer_value(json_object_get(data, key));
}

static void end_read(const json_t *data, struct payload *p)
{
	p->exit_status = (int32_t)number_of(data, "exit_status");
	p->cause = (uint8_t)number_of(data, "cause");
	p->foreign = json_is_true(json_object_get(data, "foreign"));
	p->lingers = json_is_true(json_object_get(data, "lingers"));
	p->used = json_is_integer(json_object_get(data, "started_us"));
	p->cpu_ms = number_of(data, "cpu_ms");
	p->memory_kib = number_of(data, "memory_kib");
	p->started_us = number_of(data, "started_us");
	p->ended_us = number_of(data, "ended_us");
	p->ran_ms = number_of(data, "ran_ms");
	if (!json_object_get(data, "ran_ms") && p->ended_us > p->started_us) /* an older server's */
		p->ran_ms = (p->ended_us - p->started_us) / 1000;
	p->session = (pid_t)number_of(data, "session");
}

static int alter_read(struct server *s, const json_t *data, struct payload *p, struct err *err)
{
	const json_t *spec = json_object_get(data, "spec");
	uint32_t other;

	p->throttled = json_is_integer(json_object_get(data, "limit"));
	p->limit = (uint32_t)number_of(data, "limit");
	if (p->throttled)
		return 0;
	p->as = (uint64_t)number_of(data, "as");
	if (p->as) {
		if (!entry_find(s, job_key_number(p->as), job_key_index(p->as), &other))
			return err_set(err, -EINVAL, "the job it was altered with is not there");
		p->spec = s->jobs->entries.v[other].spec;
		p->spec->refs++;
		return 0;
	}
	if (!json_is_object(spec))
		return err_set(err, -EINVAL, "what it was altered to is missing");
	return spec_restore(s, spec, &p->spec, err);
}

static int saved_read(const json_t *data, struct job_saves *ret, struct err *err)
{
	char *text = json_dumps(json_object_get(data, "saves"), JSON_COMPACT);
	int rc = text ? saves_read(text, strlen(text), &ret->last) : -EINVAL;

	free(text);
	ret->attempt = (uint32_t)number_of(data, "attempt");
	ret->lost_ms = number_of(data, "lost_ms");
	return rc ? err_set(err, rc, "what was saved can't be read") : 0;
}

static int away_read(struct server *s, const json_t *data, struct payload *p, struct err *err)
{
	const char *phase = text_of(data, "phase"), *wish = text_of(data, "wish"), *state = text_of(data, "state"),
		   *from = text_of(data, "from");
	struct away *ret = &p->away;
	int found = -1;

	for (int i = AWAY_NOT; i <= AWAY_THERE && phase; i++)
		found = strcmp(phase, phases[i]) == 0 ? i : found;
	if (found < 0)
		return err_set(err, -EINVAL, "how far it was on its way can't be read");
	ret->phase = (uint8_t)found;
	for (int i = WISH_NONE; i <= WISH_RETURN && wish; i++)
		ret->wish = strcmp(wish, wishes[i]) == 0 ? (uint8_t)i : ret->wish;
	ret->state = state ? *state : '\0';
	ret->try = (uint32_t)number_of(data, "try");
	ret->id = (char *)text_of(data, "id");
	ret->from = from ? word_add(s, from) : 0;
	p->refused = json_is_true(json_object_get(data, "refused"));
	return 0;
}

int payload_read(struct server *s, int type, const json_t *data, struct payload *ret, struct err *err)
{
	*ret = (struct payload){
		.text = text_of(data, "text"),
		.comment = text_of(data, "comment"),
		.who = text_of(data, "who"),
	};
	ret->failed = failures_read(s, json_object_get(data, "failures"), &ret->retry);
	switch (type) {
	case EVENT_START:
		ret->urgent = json_is_true(json_object_get(data, "urgent"));
		break;
	case EVENT_STARTED:
		ret->began_us = number_of(data, "began_us");
		ret->boot = (uint64_t)number_of(data, "boot");
		break;
	case EVENT_PREEMPT:
		ret->spent_ms = number_of(data, "spent_ms");
		ret->moves = json_is_true(json_object_get(data, "moves"));
		break;
	case EVENT_FINISH:
	case EVENT_DELETE:
		end_read(data, ret);
		break;
	case EVENT_INTENT:
		ret->intent = ret->text && strcmp(ret->text, "rerun") == 0 ? INTENT_RERUN : INTENT_DELETE;
		ret->foreign = json_is_true(json_object_get(data, "foreign"));
		ret->delay = number_of(data, "delay");
		ret->drops = json_is_true(json_object_get(data, "drops"));
		ret->billed = json_is_true(json_object_get(data, "billed"));
		ret->paid = number_of(data, "paid");
		break;
	case EVENT_ALTER:
		return alter_read(s, data, ret, err);
	case EVENT_HOLDS:
		ret->holds = (uint8_t)number_of(data, "holds") & BLOCK_HOLDS;
		break;
	case EVENT_SUSPEND:
		ret->suspended = json_is_true(json_object_get(data, "suspended"));
		break;
	case EVENT_SAVED:
		return saved_read(data, &ret->saves, err);
	case EVENT_AWAY:
		return away_read(s, data, ret, err);
	case EVENT_GONE:
		ret->gone = (uint32_t)number_of(data, "attempt");
		break;
	case EVENT_RANK:
		ret->rank = (double)number_of(data, "rank_us") / 1e6;
		break;
	default:
		break;
	}
	return 0;
}
