/*
 * dispatch.c - turns decisions into processes and back: stores and carries out the scheduler's
 * events, and turns the engine's reports into events.
 *
 * A start may have to wait (s->agenda->starts): for the CPUs of a job that was stopped in its
 * favour and has not ended yet, for a host whose connection was just lost, or for a slow user
 * database. If that host goes down, the start is withdrawn.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/retries.h"
#include "engine/engine.h"
#include "net/protocol.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "run/order.h"
#include "sched/sched.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/book/credits.h"
#include "server/book/ended.h"
#include "server/book/history.h"
#include "server/book/quotas.h"
#include "server/job/attempt.h"
#include "server/job/classes.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/usage.h"
#include "server/life/run/erase.h"
#include "server/life/run/kill.h"
#include "server/life/run/migrate.h"
#include "server/life/run/prepare.h"
#include "server/life/run/save.h"
#include "server/life/state.h"
#include "server/life/wait/foresee.h"
#include "server/life/world/block.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/listeners.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "store/store.h"

/* bytes of orders after which the others wait for the next turn; building them takes 10 ms */
#define ORDERS_MOST (2u << 20)

/* ---- the scheduler's events ---- */

/* Returns the attempt of a start with its CPUs if they are already free, else NULL. */
static const struct attempt *on_start(struct server *s, const struct event *e)
{
	const struct job *job = entry_job(s, e->job);
	struct attempt *t;

	heap_push(&s->agenda->ends, e->at, e->job, job->attempt);
	vec_push(&s->agenda->starts, e->job);
	if (attempt_lingers(s, e->job, job->attempt))
		return NULL;
	t = attempt_create(s, e->job, job->attempt, e->nodes, e->nnodes);
	if (attempt_place(s, t))
		return t;
	attempt_free(s, t);
	return NULL;
}

/* Returns true if the job is moved: a job without precedence takes a running job's place only if
 * that has another one (sched/migrate.c). */
static bool is_move(const struct server *s, const struct event *e)
{
	return e->type == EVENT_PREEMPT && e->by != JOB_NONE && e->by != e->job &&
	       entry_job(s, e->by)->deadline == TIME_NEVER;
}

/* Frees a lingering attempt that has ended. If it ran on another host, this is stored: a host
 * that is away after a restart could not report it, and its CPUs would stay taken, and its job
 * not start, until it is back. This machine can. */
static void attempt_gone(struct server *s, struct attempt *t)
{
	struct payload p = {.gone = t->attempt};
	uint32_t id = t->job;
	bool elsewhere = false;

	for (uint32_t i = 0; i < t->nfrags; i++)
		elsewhere |= node_joined(&s->hosts->nodes.v[t->node[i]].life);
	attempt_free(s, t);
	if (elsewhere)
		entry_event(s, id, EVENT_GONE, &p);
}

/* Ends the processes of a job that lost its place to another. Appends the reason to `why`. */
static void on_stopped(struct server *s, const struct event *e, struct strbuf *why)
{
	struct attempt *t = attempt_find(s, e->job, entry_job(s, e->job)->attempt);

	if (!t || (e->by == JOB_NONE && !e->at))
		return;
	if (e->by == JOB_NONE)
		strbuf_puts(why, "its checkpoints take long: it runs in the hours of long_checkpoint_hours");
	else if (e->by == e->job)
		strbuf_puts(why, "its time slice is over, and others wait");
	else
		strbuf_puts(why, is_move(s, e)			    ? "moved to make room for job "
				 : entry_job(s, e->by)->interactive ? "stopped to make room for interactive job "
				 : entry_job(s, e->by)->kind == KIND_EMERGENCY
					 ? "stopped to make room for emergency job "
					 : "stopped to make room for job ");
	if (e->by != JOB_NONE && e->by != e->job)
		entry_id(s, e->by, why);
	if (t->ordered && save_before(s, e->job, e->by) &&
	    attempt_save(s, t, is_move(s, e) ? SAVE_MOVE : SAVE_PREEMPTED))
		return;
	if (t->ordered)
		attempt_kill(s, t, setting_of(s, entry_get(s, e->job)->spec, SET_KILL_DELAY));
	else
		attempt_gone(s, t);
}

/* Remembers a deleted job with its comment, which later events would replace. */
static void doomed_note(struct server *s, uint32_t id)
{
	const struct outcome *o = entry_get(s, id)->outcome;

	vec_push(&s->agenda->doomed, ((struct doomed){id, o && o->comment ? mem_strdup(o->comment) : NULL}));
}

/* Returns true if a job was stopped for another one of its own user or account, who then gave it
 * away: were that free, a small job would be the way to compute without paying. */
static bool is_for_own(const struct server *s, const struct event *e)
{
	if (e->by == JOB_NONE || e->by == e->job)
		return false;

	const struct spec *p = entry_get(s, e->job)->spec, *by = entry_get(s, e->by)->spec;

	return p->uid == by->uid || (p->account && p->account == by->account);
}

void dispatch_listener(void *context, const struct event *e)
{
	static const struct payload nothing;
	struct server *s = context;
	struct payload p = *(const struct payload *)(e->detail ? e->detail : &nothing);
	/* a user deleted the job: it must end */
	bool doomed = entry_get(s, e->job)->intent == INTENT_DELETE;
	bool ends = e->type == EVENT_FINISH || e->type == EVENT_EXPIRE || e->type == EVENT_DELETE;
	struct strbuf why = {0};

	switch ((enum event_type)e->type) {
	case EVENT_START:
		p.attempt = on_start(s, e);
		p.urgent = quotas_urgent(s, e->job);
		foresee_started(s, e->job, e->time);
		break;
	case EVENT_MIGRATE:
		heap_push(&s->agenda->ends, e->at, e->job, entry_job(s, e->job)->attempt);
		break;
	case EVENT_PREEMPT:
	case EVENT_START_FAILED:
		on_stopped(s, e, &why);
		entry_eased(s, e->job);
		if (why.n)
			p.text = why.text;
		if (e->type == EVENT_PREEMPT) {
			p.spent_ms = p.used ? p.ran_ms : ran_until_now(s, e->job);
			p.moves = is_move(s, e);
			p.billed = is_for_own(s, e);
			credits_stopped(s, e->job, p.spent_ms, p.retried || p.billed);
			history_stopped(s, e, &p);
			p.spent_ms -= p.free_ms < p.spent_ms ? p.free_ms : p.spent_ms;
		}
		if (doomed)
			doomed_note(s, e->job);
		else
			vec_push(&s->agenda->returned, e->job);
		break;
	case EVENT_STARTED:
		p.began_us = s->clock->boot_us;
		p.boot = s->instance->boot;
		move_learn(s, e->job);
		vec_push(&s->agenda->begun, e->job);
		break;
	default:
		break;
	}
	if (ends)
		vec_push(&s->agenda->ended, e->job);
	entry_apply(s, e, &p);
	event_keep(s, e, &p);
	if (ends)
		job_happened(s, MOMENT_ENDED, e->job);
	strbuf_fini(&why);
}

/* Withdraws a start that was not ordered. */
static void start_withdraw(struct server *s, uint32_t id, const char *why)
{
	struct attempt *t = attempt_find(s, id, entry_job(s, id)->attempt);

	if (t)
		attempt_free(s, t);
	/* dispatch_settle() ends it if that was requested */
	sched_start_failed(s->sched, id, s->clock->now, &(struct payload){.text = why});
}

/* Withdraws a start of a stopped job for which the same cycle found another place. */
static void start_recall(struct server *s, uint32_t id)
{
	const struct attempt *t = attempt_find(s, id, entry_job(s, id)->attempt);

	if (entry_job(s, id)->state == STATE_NOW && !(t && t->ordered))
		start_withdraw(s, id, NULL);
}

/* Handles the consequences of events, once the scheduler is done with them. */
static void settle_once(struct server *s)
{
	for (size_t i = 0; i < s->agenda->begun.n; i++) {
		uint32_t id = s->agenda->begun.v[i];
		if (entry_job(s, id)->state != STATE_RUNNING && entry_job(s, id)->state != STATE_DONE)
			continue; /* DONE: a short job that began and ended in this turn */
		job_happened(s, MOMENT_BEGUN, id);
	}
	vec_clear(&s->agenda->begun);
	for (size_t i = 0; i < s->agenda->doomed.n; i++) {
		struct doomed d = s->agenda->doomed.v[i];
		start_recall(s, d.job);
		if (entry_job(s, d.job)->state <= STATE_ALLOCATED)
			job_end_waiting(s, d.job, END_DELETED, &(struct payload){.comment = d.comment});
		free(d.comment);
	}
	vec_clear(&s->agenda->doomed);
	for (size_t i = 0; i < s->agenda->returned.n; i++)
		if (entry_get(s, s->agenda->returned.v[i])->spec && entry_get(s, s->agenda->returned.v[i])->holds)
			/* held while it ran; it comes again */
			start_recall(s, s->agenda->returned.v[i]);
	for (size_t i = 0; i < s->agenda->returned.n; i++)
		/* it may have been held in the meantime */
		if (entry_get(s, s->agenda->returned.v[i])->spec &&
		    entry_job(s, s->agenda->returned.v[i])->state <= STATE_ALLOCATED)
			block_begin(s, s->agenda->returned.v[i]);
	vec_clear(&s->agenda->returned);
	for (size_t i = 0; i < s->agenda->ended.n; i++) /* one end may lead to others: impossible dependencies */
		job_happened(s, MOMENT_SETTLED, s->agenda->ended.v[i]);
	vec_clear(&s->agenda->ended);
}

void dispatch_settle(struct server *s)
{
	do
		settle_once(s);
	while (block_news(s, &s->slices->depend_steps));
}

/* Kills an earlier attempt, stopped for another job, that may still be saving work which is not
 * needed. */
static void lingering_kill(struct server *s, uint32_t id)
{
	for (uint32_t n = entry_job(s, id)->attempt; n > 0; n--) {
		const struct attempt *t = attempt_find(s, id, n);
		if (t && t->ordered) {
			attempt_kill(s, t, setting_of(s, entry_get(s, id)->spec, SET_KILL_DELAY));
			return; /* there is only one: the next starts when it is gone */
		}
	}
}

void job_end_waiting(struct server *s, uint32_t id, enum end_cause cause, const struct payload *given)
{
	struct payload p = given ? *given : (struct payload){0};

	lingering_kill(s, id);
	p.cause = (uint8_t)cause;
	p.exit_status = cause == END_NOT_STARTED ? EXIT_NOT_STARTED : EXIT_NEVER_RAN;
	sched_delete(s->sched, id, s->clock->now, &p);
	s->turn->dirty = true;
}

/* ---- starts ---- */

static bool plan_on(const struct server *s, uint32_t id, uint32_t node)
{
	for (uint32_t i = 0; plan_holds(s->plan, id) && i < plan_hold(s->plan, id)->nfrags; i++)
		if (plan_place(s->plan, id, i)->node == (int32_t)node)
			return true;
	return false;
}

void dispatch_withdraw(struct server *s, uint32_t node)
{
	for (size_t i = 0; i < s->agenda->starts.n; i++) {
		uint32_t id = s->agenda->starts.v[i];
		const struct attempt *t = attempt_find(s, id, entry_job(s, id)->attempt);
		struct strbuf why = {0};
		if (entry_job(s, id)->state != STATE_NOW ||
		    !(t ? !t->ordered && attempt_on(t, node) : plan_on(s, id, node)))
			continue;
		strbuf_printf(&why, "not started: there is no word from node %s",
			      names_get(&s->cluster->node_names, node));
		start_withdraw(s, id, why.text);
		strbuf_fini(&why);
	}
}

/* Moves the planned end of a start that had to wait for its CPUs, so that the jobs behind it are
 * placed again now and not when it is overdue. */
static void start_later(struct server *s, uint32_t id)
{
	int64_t until = s->clock->now + cluster_length(s->cluster, entry_job(s, id));

	if (until <= plan_piece(s->plan, id, 0)->end)
		return;
	sched_set_end(s->sched, id, until, s->clock->now);
	s->turn->dirty = true;
}

/* Assigns CPUs that were not free when the start was decided. */
static void start_place(struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);
	uint32_t n = cluster_job_request(s->cluster, job)->nfrags;
	int32_t *nodes = mem_zalloc(n * sizeof *nodes);
	struct attempt *t;

	plan_nodes(s->plan, id, nodes);
	t = attempt_create(s, id, job->attempt, nodes, n);
	free(nodes);
	if (attempt_place(s, t)) {
		entry_event(s, id, EVENT_PLACED, &(struct payload){.attempt = t});
		start_later(s, id);
	} else {
		attempt_free(s, t);
	}
}

void dispatch_starts(struct server *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->agenda->starts.n; i++) {
		uint32_t id = s->agenda->starts.v[i];
		const struct job *job = entry_job(s, id);
		const struct attempt *t = attempt_find(s, id, job->attempt);
		if (job->state != STATE_NOW || (t && t->ordered))
			continue;
		if (entry_get(s, id)->intent != INTENT_NONE) { /* deleted while it waited */
			start_withdraw(s, id, NULL);
			continue;
		}
		if (!t && !attempt_lingers(s, id, job->attempt))
			start_place(s, id);
		s->agenda->starts.v[kept++] = id; /* dispatch_orders() takes those that have CPUs */
	}
	s->agenda->starts.n = kept;
}

/* Refuses an order that an older agent would misinterpret: it ignores the launcher, so the
 * program would run once and succeed; and a frame with a long script makes it close the link. */
static int protocol_check(const struct server *s, const struct attempt *t, const struct part_order *first,
			  struct err *err)
{
	const struct agent *a = s->hosts->nodes.v[t->node[0]].agent;

	if (!a || a->protocol >= PROTOCOL)
		return 0;
	if (a->protocol < PROTOCOL_LAUNCHER && class_is_spmd(s, entry_get(s, t->job)->spec))
		return err_set(err, -EPROTO,
			       "its agent has protocol %d, and jobs of class %s need %d: upgrade shunt-agent there",
			       a->protocol, word_text(s, entry_get(s, t->job)->spec->class), PROTOCOL_LAUNCHER);
	if (a->protocol < PROTOCOL_SCRIPT && first->nscript > SCRIPT_BEFORE)
		return err_set(
			err, -EPROTO,
			"its agent has protocol %d, and scripts of more than %u bytes need %d: upgrade shunt-agent there",
			a->protocol, SCRIPT_BEFORE, PROTOCOL_SCRIPT);
	return 0;
}

/* Sends the orders of an attempt. Returns their size, bytes. */
static size_t attempt_order(struct server *s, struct attempt *t)
{
	struct arena *a = arena_create();
	struct part_order *parts;
	struct err err;
	char tag[64];
	int n;

	attempt_tag(s, t->job, t->attempt, tag);
	t->ordered = true;
	if (attempt_prepare(s, t, a, &parts, &n, &err) < 0)
		dispatch_engine.attempt_refused(s, &(struct refusal){.tag = tag, .reason = err.text});
	else if (protocol_check(s, t, parts, &err) < 0)
		dispatch_engine.attempt_refused(
			s, &(struct refusal){.tag = tag,
					     .host = names_get(&s->cluster->node_names, (uint32_t)t->node[0]),
					     .reason = err.text,
					     .unclear = true});
	else {
		/* so that its end need not read the body */
		const char *retries = json_string_value(json_object_get(s->jobs->last_body.body, "retries"));
		free(t->retries);
		t->retries = mem_strdup(retries ? retries : "");
		engine_start(s->engine, parts, n);
	}
	size_t size = arena_used(a);
	arena_destroy(a);
	return size;
}

/* Returns true if the owner has been looked up. The order needs the user's home and shell; only
 * this job waits for them. */
static bool owner_known(struct server *s, uint32_t id)
{
	struct user_key k = {USER_BY_ID, entry_get(s, id)->spec->uid, NULL};
	const struct user *u;
	enum lookup l = users_find(s, k, &u, NULL);

	return l == LOOKUP_KNOWN || l == LOOKUP_NONE;
}

/* Returns true if all hosts of the attempt are connected. */
static bool attempt_reachable(const struct server *s, const struct attempt *t)
{
	for (uint32_t i = 0; i < t->nfrags; i++)
		if (node_joined(&s->hosts->nodes.v[t->node[i]].life) &&
		    !agent_connected(&s->hosts->nodes.v[t->node[i]]))
			return false;
	return true;
}

void dispatch_orders(struct server *s)
{
	size_t kept = 0, size = 0;

	s->agenda->unsent = false;
	for (size_t i = 0; i < s->agenda->starts.n; i++) {
		uint32_t id = s->agenda->starts.v[i];
		const struct job *job = entry_job(s, id);
		struct attempt *t = attempt_find(s, id, job->attempt);
		if (job->state != STATE_NOW)
			continue;
		/* it is in the list twice: withdrawn and started again within a turn */
		if (t && t->ordered)
			continue;
		bool ready = t && attempt_reachable(s, t) && owner_known(s, id);
		if (ready && size < ORDERS_MOST) {
			size += attempt_order(s, t);
			continue;
		}
		s->agenda->unsent |= ready;
		s->agenda->starts.v[kept++] = id;
	}
	s->agenda->starts.n = kept;
	for (size_t i = 0; i < s->post->signals.n; i++)
		if (s->post->signals.v[i].save)
			engine_save(s->engine, s->post->signals.v[i].tag,
				    (enum checkpoint_cause)s->post->signals.v[i].cause, s->post->signals.v[i].save);
		else if (s->post->signals.v[i].walltime)
			engine_limit(s->engine, s->post->signals.v[i].tag, s->post->signals.v[i].walltime);
		else
			engine_signal(s->engine, s->post->signals.v[i].tag, s->post->signals.v[i].signal);
	vec_clear(&s->post->signals);
	for (size_t i = 0; i < s->post->told.n; i++) {
		engine_forget(s->engine, s->post->told.v[i]);
		free(s->post->told.v[i]);
	}
	vec_clear(&s->post->told);
	erase_send(s);
	engine_flush(s->engine);
}

/* ---- overruns ---- */

int64_t dispatch_next(const struct server *s)
{
	struct heap_item x;
	int64_t next = TIME_NEVER;

	if (heap_peek(&s->agenda->ends, &x))
		next = x.time;
	if (heap_peek(&s->agenda->kills, &x) && x.time < next)
		next = x.time;
	return next;
}

void dispatch_overruns(struct server *s)
{
	struct heap_item x;

	while (heap_peek(&s->agenda->ends, &x) && x.time <= s->clock->now) {
		uint32_t id = (uint32_t)x.tie;
		const struct job *job = entry_job(s, id);
		heap_pop(&s->agenda->ends, &x);
		if (job->attempt != x.value || (job->state != STATE_RUNNING && job->state != STATE_NOW))
			continue;
		const struct attempt *t = attempt_find(s, id, job->attempt);
		if (job->state == STATE_NOW && (!t || !t->ordered)) {
			start_withdraw(s, id, "not started: its place was not free in time");
			s->turn->dirty = true;
			continue;
		}
		if (job->state == STATE_NOW) /* it holds its place in any case */
			sched_started(s->sched, id, s->clock->now);
		if (plan_piece(s->plan, id, 0)->end > s->clock->now)
			continue;
		if (!sched_overrun(s->sched, id, s->clock->now + SCHED_OVERRUN, s->clock->now))
			heap_push(&s->agenda->ends, s->clock->now + SCHED_OVERRUN, x.tie, x.value);
		s->turn->dirty = true;
	}
	while (heap_peek(&s->agenda->kills, &x) && x.time <= s->clock->now) {
		heap_pop(&s->agenda->kills, &x);
		if (attempt_find(s, (uint32_t)x.tie, (uint32_t)x.value))
			signal_later(s, (uint32_t)x.tie, (uint32_t)x.value, SIGKILL);
	}
}

/* ---- the engine's reports ---- */

static void on_attempt_started(void *context, const char *tag, pid_t pid)
{
	struct server *s = context;
	uint32_t id;
	uint32_t attempt;

	turn_wake(s);
	if (!tag_parse(s, tag, &id, &attempt) || !attempt_find(s, id, attempt))
		return;
	attempt_find(s, id, attempt)->started = true;
	failures_started(s, id);
	if (entry_job(s, id)->attempt == attempt && entry_job(s, id)->state == STATE_NOW)
		sched_started(s->sched, id, s->clock->now);
}

/* Returns a job to the waiting ones, from its present state. */
static void start_undo(struct server *s, uint32_t id, const struct payload *p)
{
	if (entry_job(s, id)->state == STATE_NOW)
		sched_start_failed(s->sched, id, s->clock->now, p);
	else
		sched_requeue(s->sched, id, s->clock->now, p);
}

/* Appends the reason for users: with the node, unless it begins with it. */
static void failure_words(const struct server *s, const struct failure *f, struct strbuf *out)
{
	const char *node = f->node == NODE_ANY ? NULL : names_get(&s->cluster->node_names, (uint32_t)f->node);
	const char *reason = f->reason ? f->reason : "the order was not carried out, and no reason was given";

	if (node && s->cluster->nodes.n > 1 && !f->lost && strncmp(reason, node, strlen(node)) != 0)
		strbuf_printf(out, "%s: ", node);
	strbuf_puts(out, reason);
}

/* Handles a job that never ran or was lost: it is tried again, on another node or after a pause,
 * or held for an administrator to look at. */
static void job_failed(struct server *s, uint32_t id, const struct failure *f)
{
	const struct entry *e = entry_get(s, id);
	bool interactive = e->spec->interactive, hold;
	uint64_t script = e->spec->script;
	struct strbuf text = {0}, comment = {0};
	struct payload p = {.failed = true};

	failure_words(s, f, &text);
	hold = failures_decide(s, id, f, &p.retry) && !interactive;
	failures_comment(f, &p.retry, hold, text.text, &comment);
	p.text = text.text;
	p.comment = comment.text;
	if (hold)
		entry_event(s, id, EVENT_HOLDS,
			    &(struct payload){.holds = e->holds | BLOCK_SYSTEM,
					      .text = f->lost ? "held after losses" : "held after failed starts"});
	if (f->lost && entry_job(s, id)->state == STATE_NOW)
		sched_started(s->sched, id, s->clock->now);
	start_undo(s, id, &p);
	failures_blame(s, id, f);
	if (!f->lost)
		script_file_doubt(s, script);
	if (f->lost)
		book_event(s, id, 'R');
	else if (interactive)
		job_end_waiting(s, id, END_NOT_STARTED, &(struct payload){.text = text.text});
	strbuf_fini(&comment);
	strbuf_fini(&text);
}

static bool is_current(const struct server *s, uint32_t id, uint32_t attempt)
{
	const struct job *job = entry_job(s, id);

	return job->attempt == attempt && (job->state == STATE_NOW || job->state == STATE_RUNNING);
}

static void on_attempt_lost(void *context, const char *tag, const char *host, const char *why);

static void on_attempt_refused(void *context, const struct refusal *r)
{
	const char *tag = r->tag;
	struct failure f = {.reason = r->reason, .unclear = r->unclear || !r->host};
	struct server *s = context;
	struct attempt *t;
	uint32_t id;
	uint32_t attempt;

	turn_wake(s);
	if (!tag_parse(s, tag, &id, &attempt) || !(t = attempt_find(s, id, attempt)))
		return;
	if (t->started) { /* it ran, and its host has no trace of it any more */
		on_attempt_lost(s, tag, r->host, r->reason);
		return;
	}
	f.node = failures_node(s, t, r->host);
	if (!is_current(s, id, attempt)) {
		attempt_gone(s, t);
		return;
	}
	attempt_free(s, t);
	/* it was withdrawn */
	if (entry_get(s, id)->intent == INTENT_DELETE || (!r->reason && !r->host))
		start_undo(s, id, NULL);
	else
		job_failed(s, id, &f);
}

static void finish(struct server *s, uint32_t id, const struct payload *p)
{
	if (entry_job(s, id)->state == STATE_NOW)
		sched_started(s->sched, id, s->clock->now);
	sched_finish(s->sched, id, s->clock->now, p);
}

/* Returns the run time by the host's clock that is never set; an older host does not report it. */
static int64_t ran_ms(const struct result *r)
{
	if (r->ran_ms > 0)
		return r->ran_ms;
	return r->ended_us > r->started_us ? (r->ended_us - r->started_us) / 1000 : 0;
}

/* Builds the payload of a result: usage and kind of end. */
static struct payload result_payload(const struct server *s, uint32_t id, const struct result *r)
{
	return (struct payload){
		.exit_status = r->how == RESULT_SIGNALED ? 256 + r->status : r->status,
		.cause = entry_get(s, id)->intent == INTENT_DELETE ? END_DELETED
			 : r->cause == CAUSE_WALLTIME		   ? END_WALLTIME
			 : r->cause == CAUSE_MEMORY && !r->disk	   ? END_MEMORY
			 : r->cause == CAUSE_HUNG_UP		   ? END_HUNG_UP
								   : END_ITSELF,
		.used = true,
		.cpu_ms = r->cpu_ms,
		.memory_kib = r->memory_kib,
		.started_us = r->started_us,
		.ended_us = r->ended_us,
		.ran_ms = ran_ms(r),
		.session = r->session,
	};
}

/* Appends why a job at its limit ended, which may be before its walltime to save its work, and what
 * can be continued. */
static void limit_text(const struct server *s, uint32_t id, const struct result *r, struct strbuf *out)
{
	const struct entry *e = entry_get(s, id);
	const struct job_saves *v = e->outcome ? e->outcome->saves : NULL;
	bool early = e->spec->checkpoint && ran_ms(r) / 1000 < e->spec->walltime;

	strbuf_puts(out,
		    early ? "ended to be saved before its walltime" : "ended because it ran longer than its walltime");
	if (!e->spec->checkpoint)
		return;
	if (!v || !v->last.number || v->from_start) {
		strbuf_puts(out, ": it made no checkpoint, and can't be restarted");
	} else if (v->last.state != SAVE_GOOD || v->last.cause != SAVE_LIMIT) {
		strbuf_puts(out, ": it made no last checkpoint, and a restart continues from the one before");
	} else {
		strbuf_puts(out, "; its work is saved: continue it with shunt submit --restart ");
		entry_id(s, id, out);
	}
}

static void result_finish(struct server *s, uint32_t id, const struct result *r)
{
	struct payload p = result_payload(s, id, r);
	struct strbuf text = {0};

	if (p.cause == END_WALLTIME)
		limit_text(s, id, r, &text);
	p.text = r->reason && *r->reason ? r->reason : text.text;
	finish(s, id, &p);
	strbuf_fini(&text);
}

/* Finishes a job without waiting for its end: for users it has ended, while its processes are
 * being killed. */
void job_purge(struct server *s, uint32_t id, const struct payload *p)
{
	job_kill(s, id, p);
	finish(s, id,
	       &(struct payload){
		       .exit_status = EXIT_LOST, .cause = END_DELETED, .foreign = p->foreign, .lingers = true});
	s->turn->dirty = true;
}

/* Requeues a job as its user requested, or `retried`, since it has failed: `paid` are the seconds
 * of quota that were taken for it. Only the usage in the result, which may be NULL, counts, and in
 * the history how a job failed. */
static void requeue_as(struct server *s, uint32_t id, const struct result *r, bool retried, int64_t paid,
		       const char *text)
{
	struct payload p = r ? result_payload(s, id, r) : (struct payload){0};

	p.text = text;
	p.retried = retried;
	p.paid = paid;
	p.free_ms = r ? saves_free(&r->saves) : 0;
	if (!retried) {
		p.exit_status = 0;
		p.cause = END_ITSELF;
	}
	if (entry_job(s, id)->state == STATE_NOW)
		sched_started(s->sched, id, s->clock->now);
	sched_requeue(s->sched, id, s->clock->now, &p);
	book_event(s, id, 'R');
}

static void requeue(struct server *s, uint32_t id, const struct result *r)
{
	requeue_as(s, id, r, false, 0, "to be run again, as was asked for");
}

/* Ends a job that waits to run again. */
static void waiting_finish(struct server *s, uint32_t id, const struct result *r, const char *text)
{
	struct payload p = result_payload(s, id, r);

	p.text = text;
	start_recall(s, id);
	sched_delete(s->sched, id, s->clock->now, &p);
}

/* Returns the retries in the job's body, valid until another body is read; NULL: none. `known`: the
 * same, or NULL where it was not read. */
static const char *retries_of(struct server *s, uint32_t id, const char *known)
{
	const json_t *body;

	if (known)
		return *known ? known : NULL;
	if (body_brief(s, id, &s->jobs->last_body, &body, NULL) < 0)
		return NULL;
	return json_string_value(json_object_get(body, "retries"));
}

/* Runs a job again that has failed, if its user wants that. What took too long, or filled a disk,
 * would do so again. */
static bool retry(struct server *s, uint32_t id, const struct result *r, const char *known)
{
	const struct entry *e = entry_get(s, id);
	bool memory = r->cause == CAUSE_MEMORY;
	int64_t code = r->how == RESULT_SIGNALED ? 128 + r->status : r->status;
	struct retries retries = {0};
	int64_t paid;
	char text[600];
	struct err err;

	if (r->disk || code == 0 || e->intent != INTENT_NONE || e->spec->interactive ||
	    (r->cause != CAUSE_ITSELF && !memory))
		return false;
	const char *wanted = retries_of(s, id, known);
	bool due =
		wanted && retries_parse(wanted, &retries, NULL) == 0 && retries_due(&retries, e->retried, code, memory);
	if (due && quotas_rerun(s, id, ran_ms(r) - saves_free(&r->saves), &paid, &err) < 0) {
		struct result last = *r;
		snprintf(text, sizeof text, "%.200s%snot run again: %.300s", r->reason ? r->reason : "",
			 r->reason ? "; " : "", err.text);
		last.reason = text;
		result_finish(s, id, &last);
	} else if (due) {
		if (memory)
			snprintf(text, sizeof text, "killed for memory: retry %d of %lld", e->retried + 1,
				 (long long)retries.n);
		else
			snprintf(text, sizeof text, "failed with exit status %lld: retry %d of %lld", (long long)code,
				 e->retried + 1, (long long)retries.n);
		requeue_as(s, id, r, true, paid, text);
	}
	if (due && memory && retries.memory > 0 && !entry_ended(s, id) && s->world->grow &&
	    s->world->grow(s, id, retries.memory, &err) < 0) {
		snprintf(text, sizeof text, "not run again with more memory: %.160s", err.text);
		waiting_finish(s, id, r, text);
	}
	retries_fini(&retries);
	return due;
}

/* Returns true if an attempt that was stopped for another job had ended by itself before, and no
 * other attempt has begun since. */
static bool stopped_too_late(const struct server *s, uint32_t id, uint32_t attempt, const struct result *r)
{
	const struct job *job = entry_job(s, id);
	const struct attempt *next = attempt_find(s, id, job->attempt);

	if (r->how == RESULT_NOT_STARTED || r->cause != CAUSE_ITSELF || entry_away(entry_get(s, id)))
		return false;
	return job->state <= STATE_ALLOCATED ||
	       (job->state == STATE_NOW && job->attempt != attempt && !(next && next->ordered));
}

/* Ends a job that waits to run again although it has ended: if it succeeded, its checkpoints are
 * gone, and another attempt would repeat everything. */
static void stopped_finish(struct server *s, uint32_t id, const struct result *r)
{
	waiting_finish(s, id, r, r->reason && *r->reason ? r->reason : "it ended by itself while it was being stopped");
}

static void on_attempt_ended(void *context, const struct result *r)
{
	struct server *s = context;
	struct attempt *t;
	uint32_t id;
	uint32_t attempt;

	/* unknown ones as well, so that they are forgotten */
	vec_push(&s->post->told, mem_strdup(r->tag));
	turn_wake(s);
	if (!tag_parse(s, r->tag, &id, &attempt) || !(t = attempt_find(s, id, attempt)))
		return;

	int64_t node = t->nfrags ? t->node[0] : NODE_ANY;
	bool current = is_current(s, id, attempt), late = !current && stopped_too_late(s, id, attempt, r);

	if (t->usage) /* adds the last sample */
		usage_note(s, t, r->cpu_ms, t->usage->v[t->usage->n - 1].memory_kib);
	if (r->how != RESULT_NOT_STARTED) {
		failures_ran(s, t);
		saves_ended(s, t, r,
			    (!current && !late) || entry_get(s, id)->intent == INTENT_RERUN ||
				    r->cause == CAUSE_WALLTIME);
	}
	if (!current) {
		attempt_gone(s, t);
		if (late)
			stopped_finish(s, id, r);
		return;
	}

	char *retries = t->retries;
	t->retries = NULL;
	attempt_free(s, t);
	if (r->how == RESULT_NOT_STARTED) {
		if (entry_get(s, id)->intent == INTENT_DELETE)
			start_undo(s, id, NULL);
		else if (entry_get(s, id)->intent == INTENT_RERUN && r->cause == CAUSE_ORDERED)
			requeue(s, id, NULL);
		else
			job_failed(s, id,
				   &(struct failure){.node = node,
						     .reason = r->reason ? r->reason : "no reason was given",
						     .unclear = r->unclear});
	} else if (entry_get(s, id)->intent == INTENT_RERUN) {
		requeue(s, id, r);
	} else if (!retry(s, id, r, retries)) {
		result_finish(s, id, r);
	}
	free(retries);
}

static void on_attempt_lost(void *context, const char *tag, const char *host, const char *why)
{
	struct server *s = context;
	struct attempt *t;
	uint32_t id;
	uint32_t attempt;

	vec_push(&s->post->told, mem_strdup(tag));
	turn_wake(s);
	if (!tag_parse(s, tag, &id, &attempt) || !(t = attempt_find(s, id, attempt)))
		return;

	struct failure f = {.node = failures_node(s, t, host), .lost = true};

	saves_ended(s, t, NULL, true);
	if (is_current(s, id, attempt))
		attempt_free(s, t);
	else
		attempt_gone(s, t);
	if (!is_current(s, id, attempt))
		return;

	struct entry *e = entry_get(s, id);

	if (!why)
		why = "its processes were lost (killed from outside, or the machine went down)";
	f.reason = why;
	if (e->intent == INTENT_RERUN) {
		requeue(s, id, NULL);
		return;
	}
	if (e->intent != INTENT_DELETE && e->spec->rerunnable && attrs_bool(s->attrs, SET_RERUN_LOST)) {
		job_failed(s, id, &f);
		return;
	}

	/* Keep the reason given at the deletion. A copy, since the entry's own is replaced in
	 * the meantime. */
	bool deleted = e->intent == INTENT_DELETE;
	char *comment = deleted && e->outcome && e->outcome->comment ? mem_strdup(e->outcome->comment) : NULL;

	finish(s, id,
	       &(struct payload){.exit_status = EXIT_LOST,
				 .cause = deleted ? END_DELETED : END_LOST,
				 .text = why,
				 .comment = comment});
	free(comment);
}

static void on_attempt_saved(void *context, const char *tag, const struct saves *v)
{
	struct server *s = context;
	uint32_t id;
	uint32_t attempt;

	turn_wake(s);
	if (tag_parse(s, tag, &id, &attempt) && attempt_find(s, id, attempt))
		saves_note(s, id, attempt, v, 0);
}

static void on_attempt_used(void *context, const char *tag, int64_t cpu_ms, int64_t memory_kib)
{
	struct server *s = context;
	struct attempt *t;
	uint32_t id, attempt;

	clock_read(s);
	if (tag_parse(s, tag, &id, &attempt) && (t = attempt_find(s, id, attempt)))
		usage_note(s, t, cpu_ms, memory_kib);
}

static void on_erased(void *context, const char *name, const char *reason)
{
	erase_done(context, name, reason);
}

static void on_failed(void *context, const char *reason)
{
	struct server *s = context;

	server_log(s, SEVERITY_ERROR, "stopping: %s; running jobs continue", reason);
	s->turn->terminating = true;
	turn_wake(s);
}

const struct engine_listener dispatch_engine = {
	.attempt_started = on_attempt_started,
	.attempt_refused = on_attempt_refused,
	.attempt_ended = on_attempt_ended,
	.attempt_lost = on_attempt_lost,
	.attempt_saved = on_attempt_saved,
	.attempt_used = on_attempt_used,
	.erased = on_erased,
	.failed = on_failed,
};
