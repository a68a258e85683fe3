/*
 * dispatch.c - from decisions to processes and back: the scheduler's events are stored and acted upon, what the engine tells becomes events.
 *
 * An attempt holds its CPUs from the moment they are given to it until its processes are gone, whatever the plan says: a job that was
 * stopped to make room frees them when it has really ended, and whoever was started in its place waits for that (s->starts).
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/live.h"
#include "server/server_internal.h"

#define OVERRUN 2 /* seconds by which a job that should have ended is prolonged at a time */

const char *cause_name(uint8_t cause)
{
	static const char *const name[END_COUNT] = {NULL,      "walltime",   "memory",	    "deleted", "lost",
						    "expired", "dependency", "not_started", "hung_up"};

	return cause < END_COUNT ? name[cause] : NULL;
}

/* ---- attempts ---- */

static uint64_t attempt_key(uint32_t job, uint16_t attempt)
{
	return (uint64_t)job << 16 | attempt;
}

struct attempt *attempt_find(const struct server *s, uint32_t id, uint16_t attempt)
{
	uint64_t at;

	return map_get(&s->attempts, attempt_key(id, attempt), &at) ? (struct attempt *)(uintptr_t)at : NULL;
}

void attempt_tag(const struct server *s, uint32_t id, uint16_t attempt, char tag[64])
{
	uint64_t key = s->entries.v[id].key;

	if (job_key_index(key) < 0)
		snprintf(tag, 64, "%llu.%u", (unsigned long long)job_key_number(key), attempt);
	else
		snprintf(tag, 64, "%llu-%lld.%u", (unsigned long long)job_key_number(key),
			 (long long)job_key_index(key), attempt);
}

pid_t attempt_session(const struct server *s, uint32_t id)
{
	char path[PATH_MAX], tag[64];

	snprintf(path, sizeof path, "%s/live", s->where.state);
	attempt_tag(s, id, entry_job(s, id)->attempt, tag);

	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t session = dir < 0 ? 0 : live_session(dir, tag);

	if (dir >= 0)
		close(dir);
	return session;
}

/* The job and attempt of a tag. False: no job here. */
static bool tag_parse(const struct server *s, const char *tag, uint32_t *ret, uint16_t *ret_attempt)
{
	unsigned long long number;
	long long index = -1;
	unsigned attempt;

	if (sscanf(tag, "%llu-%lld.%u", &number, &index, &attempt) != 3) {
		index = -1;
		if (sscanf(tag, "%llu.%u", &number, &attempt) != 2)
			return false;
	}
	*ret_attempt = (uint16_t)attempt;
	return entry_find(s, number, index, ret);
}

bool tag_known(void *context, const char *tag)
{
	uint32_t id;
	uint16_t attempt;

	return tag_parse(context, tag, &id, &attempt) && attempt_find(context, id, attempt);
}

static struct attempt *attempt_create(struct server *s, uint32_t id, uint16_t number, const int32_t *nodes, uint32_t n)
{
	struct attempt *t = mem_zalloc(sizeof *t);

	t->job = id;
	t->attempt = number;
	t->nfrags = n;
	t->node = mem_zalloc(n * sizeof *t->node);
	t->cpu = mem_zalloc(n * sizeof *t->cpu);
	t->ncpus = mem_zalloc(n * sizeof *t->ncpus);
	memcpy(t->node, nodes, n * sizeof *nodes);
	map_set(&s->attempts, attempt_key(id, number), (uint64_t)(uintptr_t)t);
	return t;
}

static void attempt_release(struct server *s, struct attempt *t)
{
	for (uint32_t i = 0; i < t->nfrags; i++) {
		for (int32_t k = 0; t->cpu[i] && k < t->ncpus[i]; k++)
			s->nodes.v[t->node[i]].cpu_used[t->cpu[i][k]] = false;
		free(t->cpu[i]);
		t->cpu[i] = NULL;
	}
}

static void attempt_free(struct server *s, struct attempt *t)
{
	attempt_release(s, t);
	map_remove(&s->attempts, attempt_key(t->job, t->attempt));
	free(t->node);
	free(t->cpu);
	free(t->ncpus);
	free(t);
	s->dirty = true;
}

/* CPUs for every fragment, lowest first; all or none. */
static bool attempt_place(struct server *s, struct attempt *t)
{
	const struct request *q = cluster_job_request(s->cluster, entry_job(s, t->job));

	for (uint32_t i = 0; i < t->nfrags; i++) {
		int32_t want = (int32_t)s->cluster->shapes.v[q->frag[i].shape].need.v[RES_CPU], got = 0;
		int32_t total = (int32_t)s->cluster->nodes.v[t->node[i]].total.v[RES_CPU];
		bool *used = s->nodes.v[t->node[i]].cpu_used;
		t->cpu[i] = mem_zalloc((size_t)(want + 1) * sizeof **t->cpu);
		for (int32_t k = 0; k < total && got < want; k++)
			if (!used[k]) {
				used[k] = true;
				t->cpu[i][got++] = k;
			}
		t->ncpus[i] = got;
		if (got < want) {
			attempt_release(s, t);
			return false;
		}
	}
	return true;
}

static void attempt_data(const struct attempt *t, struct strbuf *out)
{
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "cpus");
	for (uint32_t i = 0; i < t->nfrags; i++) {
		json_open_array(&j, NULL);
		for (int32_t k = 0; k < t->ncpus[i]; k++)
			json_int(&j, NULL, t->cpu[i][k]);
		json_close_array(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
}

static void exec_host_set(struct server *s, const struct attempt *t)
{
	struct outcome *o = outcome_of(&s->entries.v[t->job]);
	struct strbuf text = {0};

	for (uint32_t i = 0; i < t->nfrags; i++)
		for (int32_t k = 0; k < t->ncpus[i]; k++)
			strbuf_printf(&text, "%s%s/%d", text.n ? "+" : "",
				      names_get(&s->cluster->node_names, (uint32_t)t->node[i]), t->cpu[i][k]);
	free(o->exec_host);
	o->session = 0; /* an earlier attempt's */
	o->exec_host = mem_strdup(strbuf_text(&text));
	strbuf_fini(&text);
}

void attempt_restore(struct server *s, uint32_t id, uint16_t number, const int32_t *nodes, uint32_t n,
		     const json_t *data)
{
	struct attempt *t = attempt_find(s, id, number);
	const json_t *frags = json_object_get(data, "cpus");

	if (!t)
		t = attempt_create(s, id, number, nodes, n);
	for (uint32_t i = 0; i < t->nfrags && json_is_array(frags); i++) {
		const json_t *list = json_array_get(frags, i);
		int32_t total = (int32_t)s->cluster->nodes.v[t->node[i]].total.v[RES_CPU];
		free(t->cpu[i]);
		t->cpu[i] = mem_zalloc((json_array_size(list) + 1) * sizeof **t->cpu);
		t->ncpus[i] = 0;
		for (size_t k = 0; k < json_array_size(list); k++) {
			json_int_t cpu = json_integer_value(json_array_get(list, k));
			if (cpu < 0 || cpu >= total)
				continue;
			t->cpu[i][t->ncpus[i]++] = (int32_t)cpu;
			s->nodes.v[t->node[i]].cpu_used[cpu] = true;
		}
	}
	t->ordered = true;
	if (json_is_array(frags))
		exec_host_set(s, t);
}

/* Of what recovery read, those whose job went on without them. */
void attempt_discard(struct server *s, uint32_t id, uint16_t number)
{
	struct attempt *t = attempt_find(s, id, number);

	if (t)
		attempt_free(s, t);
}

/* At recovery an attempt that lingered may have given back CPUs that others have had since: those that are left hold theirs. */
void attempts_hold(struct server *s)
{
	for (uint32_t id = 1; id < s->entries.n; id++)
		for (uint16_t n = 1; s->entries.v[id].spec && n <= entry_job(s, id)->attempt; n++) {
			const struct attempt *t = attempt_find(s, id, n);
			for (uint32_t i = 0; t && i < t->nfrags; i++)
				for (int32_t k = 0; t->cpu[i] && k < t->ncpus[i]; k++)
					s->nodes.v[t->node[i]].cpu_used[t->cpu[i][k]] = true;
		}
}

/* Processes of an earlier attempt that have not ended. */
static bool attempt_lingers(const struct server *s, uint32_t id, uint16_t before)
{
	for (uint16_t i = 1; i < before; i++)
		if (attempt_find(s, id, i))
			return true;
	return false;
}

/* ---- the scheduler's events ---- */

static void nodes_text(const struct server *s, const struct event *e, struct strbuf *out)
{
	for (uint32_t i = 0; i < e->nnodes; i++)
		strbuf_printf(out, "%s%s", i ? "+" : "", names_get(&s->cluster->node_names, (uint32_t)e->nodes[i]));
}

void event_store(struct server *s, const struct store_event *given, bool keep)
{
	struct store_event e = *given;

	e.seq = s->next_seq++;
	if (keep)
		store_put_event(s->store, &e);
	stream_event(s, &e);
}

void event_note(struct server *s, uint32_t id, int type, const char *text, const char *who)
{
	struct strbuf data = {0};
	struct json j;

	json_init(&j, &data, false);
	json_open_object(&j, NULL);
	json_text(&j, "text", text);
	if (who)
		json_text(&j, "who", who);
	json_close_object(&j);
	event_store(s,
		    &(struct store_event){.job = s->entries.v[id].key, .time = s->now, .type = type, .data = data.text},
		    true);
	s->entries.v[id].modified = s->now;
	strbuf_fini(&data);
}

static void signal_later(struct server *s, uint32_t id, uint16_t attempt, int signal)
{
	struct signal_order o = {.signal = signal};

	attempt_tag(s, id, attempt, o.tag);
	vec_push(&s->signals, o);
}

/* SIGTERM now, and SIGKILL if that was not enough. */
static void attempt_kill(struct server *s, const struct attempt *t, int64_t delay)
{
	if (s->entries.v[t->job].suspended)
		signal_later(s, t->job, t->attempt, SIGCONT);
	signal_later(s, t->job, t->attempt, delay > 0 ? SIGTERM : SIGKILL);
	if (delay > 0)
		heap_push(&s->kills, s->now + delay, t->job, t->attempt);
}

void job_kill(struct server *s, uint32_t id, enum intent intent, int64_t delay, const char *who)
{
	struct entry *e = &s->entries.v[id];
	struct attempt *t = attempt_find(s, id, entry_job(s, id)->attempt);

	e->intent = (uint8_t)intent;
	event_note(s, id, EVENT_INTENT, intent == INTENT_RERUN ? "rerun" : "delete", who);
	if (t)
		attempt_kill(s, t, delay >= 0 ? delay : setting_of(s, e->spec, "kill_delay"));
}

/* The same after a restart: whether the signal left before is not known. */
void job_kill_again(struct server *s, uint32_t id, uint16_t attempt)
{
	struct attempt *t = attempt_find(s, id, attempt);

	if (t)
		attempt_kill(s, t, setting_of(s, s->entries.v[id].spec, "kill_delay"));
}

static void on_start(struct server *s, const struct event *e, struct strbuf *data)
{
	const struct job *job = entry_job(s, e->job);

	heap_push(&s->ends, e->at, e->job, job->attempt);
	vec_push(&s->starts, e->job);
	if (attempt_lingers(s, e->job, job->attempt))
		return;

	struct attempt *t = attempt_create(s, e->job, job->attempt, e->nodes, e->nnodes);

	if (attempt_place(s, t)) {
		attempt_data(t, data);
		exec_host_set(s, t);
	} else {
		attempt_free(s, t);
	}
}

/* A job lost its place to another: its processes must go. */
static void on_stopped(struct server *s, const struct event *e)
{
	struct attempt *t = attempt_find(s, e->job, entry_job(s, e->job)->attempt);

	if (!t || e->by == JOB_NONE)
		return;

	struct strbuf by = {0};

	entry_id(s, e->by, &by);
	comment_set(s, e->job, "stopped to make room for emergency job %s", strbuf_text(&by));
	strbuf_fini(&by);
	if (t->ordered)
		attempt_kill(s, t, setting_of(s, s->entries.v[e->job].spec, "kill_delay"));
	else
		attempt_free(s, t);
}

void dispatch_listener(void *context, const struct event *e)
{
	struct server *s = context;
	struct entry *x = &s->entries.v[e->job];
	struct strbuf nodes = {0}, data = {0};
	struct store_event stored = {
		.job = x->key,
		.by = e->by == JOB_NONE ? 0 : s->entries.v[e->by].key,
		.time = e->time,
		.at = e->at,
		.type = e->type,
	};

	x->modified = s->now;
	switch ((enum event_type)e->type) {
	case EVENT_START:
		on_start(s, e, &data);
		break;
	case EVENT_MIGRATE:
		heap_push(&s->ends, e->at, e->job, entry_job(s, e->job)->attempt);
		break;
	case EVENT_PREEMPT:
	case EVENT_START_FAILED:
		on_stopped(s, e);
		vec_push(&s->returned, e->job);
		break;
	case EVENT_STARTED:
		vec_push(&s->begun, e->job);
		break;
	case EVENT_EXPIRE:
		x->exit_status = -4;
		x->cause = END_EXPIRED;
		comment_set(s, e->job, "its deadline could no longer be met");
		vec_push(&s->ended, e->job);
		break;
	case EVENT_FINISH:
	case EVENT_DELETE:
		vec_push(&s->ended, e->job);
		break;
	default:
		break;
	}
	nodes_text(s, e, &nodes);
	stored.nodes = nodes.n ? nodes.text : NULL;
	stored.data = s->data && s->data_job == e->job ? s->data : data.n ? data.text : NULL;
	/* Submission is in the job's record, and what blocks a job is derived. */
	event_store(s, &stored, e->type != EVENT_SUBMIT && e->type != EVENT_HOLD && e->type != EVENT_RELEASE);
	strbuf_fini(&nodes);
	strbuf_fini(&data);
}

/* What follows from events, once the scheduler is done with them. */
void dispatch_settle(struct server *s)
{
	for (size_t i = 0; i < s->begun.n; i++) {
		uint32_t id = s->begun.v[i];
		if (entry_job(s, id)->state != STATE_RUNNING)
			continue;
		s->stats.started++;
		book_event(s, id, 'S');
		mail_event(s, id, MAIL_BEGIN);
		depend_changed(s, id);
	}
	vec_clear(&s->begun);
	for (size_t i = 0; i < s->returned.n; i++) {
		uint32_t id = s->returned.v[i];
		struct entry *e = &s->entries.v[id];
		bool deleted = e->intent == INTENT_DELETE; /* somebody was promised that it ends */
		if (!e->spec || !job_waits(entry_job(s, id)))
			continue;
		e->intent = INTENT_NONE;
		if (deleted)
			job_end_waiting(s, id, END_DELETED, "deleted before it ran");
		else
			block_begin(s, id);
	}
	vec_clear(&s->returned);
	for (size_t i = 0; i < s->ended.n; i++) { /* one end may lead to others: dependencies that can't be kept */
		uint32_t id = s->ended.v[i];
		struct entry *e = &s->entries.v[id];
		struct array *a = array_find(s, job_key_number(e->key));
		block_leave(s, id);
		total_count(s, e->spec, -1);
		if (a)
			a->ended++;
		s->stats.finished++;
		e->intent = INTENT_NONE;
		heap_push(&s->forgets, s->now + setting_of(s, e->spec, "keep_completed"), id, 0);
		book_event(s, id, entry_job(s, id)->state == STATE_DONE ? 'E' : 'D');
		mail_event(s, id, e->cause == END_ITSELF ? MAIL_END : MAIL_ABORT);
		depend_changed(s, id);
	}
	vec_clear(&s->ended);
}

void job_end_waiting(struct server *s, uint32_t id, enum end_cause cause, const char *why)
{
	struct entry *e = &s->entries.v[id];
	struct strbuf data = {0};
	struct json j;

	e->exit_status = -3;
	e->cause = (uint8_t)cause;
	if (why && *why)
		comment_set(s, id, "%s", why);
	json_init(&j, &data, false);
	json_open_object(&j, NULL);
	json_int(&j, "exit_status", e->exit_status);
	json_int(&j, "cause", cause);
	if (why && *why)
		json_text(&j, "text", why);
	json_close_object(&j);
	s->data = data.text;
	s->data_job = id;
	sched_delete(s->sched, id, s->now);
	s->data = NULL;
	strbuf_fini(&data);
	s->dirty = true;
}

/* ---- starts ---- */

void dispatch_starts(struct server *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->starts.n; i++) {
		uint32_t id = s->starts.v[i];
		const struct job *job = entry_job(s, id);
		struct attempt *t = attempt_find(s, id, job->attempt);
		if (job->state != STATE_NOW || (t && t->ordered))
			continue;
		if (!t && !attempt_lingers(s, id, job->attempt)) {
			uint32_t n = cluster_job_request(s->cluster, job)->nfrags;
			int32_t *nodes = mem_zalloc(n * sizeof *nodes);
			struct strbuf data = {0};
			plan_nodes(s->plan, id, nodes);
			t = attempt_create(s, id, job->attempt, nodes, n);
			if (attempt_place(s, t)) {
				attempt_data(t, &data);
				event_store(s,
					    &(struct store_event){.job = s->entries.v[id].key,
								  .time = s->now,
								  .type = EVENT_PLACED,
								  .data = data.text},
					    true);
				exec_host_set(s, t);
			} else {
				attempt_free(s, t);
			}
			strbuf_fini(&data);
			free(nodes);
		}
		s->starts.v[kept++] = id; /* dispatch_orders() takes those that have CPUs */
	}
	s->starts.n = kept;
}

void dispatch_orders(struct server *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->starts.n; i++) {
		uint32_t id = s->starts.v[i];
		const struct job *job = entry_job(s, id);
		struct attempt *t = attempt_find(s, id, job->attempt);
		struct arena *a;
		struct order o;
		struct err err;
		char tag[64];
		if (job->state != STATE_NOW)
			continue;
		if (!t) {
			s->starts.v[kept++] = id;
			continue;
		}
		a = arena_create();
		attempt_tag(s, id, t->attempt, tag);
		t->ordered = true;
		if (order_prepare(s, t, a, &o, &err) == 0)
			engine_start(s->engine, &(struct engine_part){.host = HOST_HERE, .order = o}, 1);
		else
			dispatch_engine.refused(s, tag, err.text);
		arena_destroy(a);
	}
	s->starts.n = kept;
	for (size_t i = 0; i < s->signals.n; i++)
		engine_signal(s->engine, s->signals.v[i].tag, s->signals.v[i].signal);
	vec_clear(&s->signals);
	for (size_t i = 0; i < s->told.n; i++) {
		engine_forget(s->engine, s->told.v[i]);
		free(s->told.v[i]);
	}
	vec_clear(&s->told);
	engine_flush(s->engine);
}

/* ---- what takes too long ---- */

int64_t dispatch_next(const struct server *s)
{
	struct heap_item x;
	int64_t next = TIME_NEVER;

	if (heap_peek(&s->ends, &x))
		next = x.time;
	if (heap_peek(&s->kills, &x) && x.time < next)
		next = x.time;
	return next;
}

void dispatch_overruns(struct server *s)
{
	struct heap_item x;

	while (heap_peek(&s->ends, &x) && x.time <= s->now) {
		uint32_t id = (uint32_t)x.tie;
		const struct job *job = entry_job(s, id);
		heap_pop(&s->ends, &x);
		if (job->attempt != x.value || (job->state != STATE_RUNNING && job->state != STATE_NOW))
			continue;
		if (job->state == STATE_NOW) /* it holds its place all the same */
			sched_started(s->sched, id, s->now);
		if (plan_piece(s->plan, id, 0)->end > s->now)
			continue;
		sched_overrun(s->sched, id, s->now + OVERRUN, s->now);
		s->dirty = true;
	}
	while (heap_peek(&s->kills, &x) && x.time <= s->now) {
		heap_pop(&s->kills, &x);
		if (attempt_find(s, (uint32_t)x.tie, (uint16_t)x.value))
			signal_later(s, (uint32_t)x.tie, (uint16_t)x.value, SIGKILL);
	}
}

/* ---- what the engine tells ---- */

static void on_started(void *context, const char *tag, pid_t pid)
{
	struct server *s = context;
	uint32_t id;
	uint16_t attempt;

	loop_wake(s);
	if (!tag_parse(s, tag, &id, &attempt) || !attempt_find(s, id, attempt))
		return;
	attempt_find(s, id, attempt)->started = true;
	if (entry_job(s, id)->attempt == attempt && entry_job(s, id)->state == STATE_NOW)
		sched_started(s->sched, id, s->now);
}

/* It never ran: another attempt is made, or it is held for somebody to look. */
static void start_failed(struct server *s, uint32_t id, const char *reason)
{
	struct entry *e = &s->entries.v[id];
	struct strbuf data = {0}, head = {0};
	struct json j;
	bool enough = ++e->failures >= attrs_number(&s->attrs, "max_start_failures");

	json_init(&j, &data, false);
	json_open_object(&j, NULL);
	json_int(&j, "failures", e->failures);
	json_text(&j, "text", reason);
	json_close_object(&j);
	s->data = data.text;
	s->data_job = id;
	if (enough && !e->spec->interactive) {
		struct spec *p = spec_own(s, id);
		p->holds |= BLOCK_SYSTEM;
		spec_head(s, p, &head);
		store_put_head(s->store, e->key, head.text);
		comment_set(s, id, "held after %d failed starts: %s", e->failures, reason);
	} else {
		comment_set(s, id, "could not be started: %s", reason);
	}
	if (entry_job(s, id)->state == STATE_NOW)
		sched_start_failed(s->sched, id, s->now);
	else
		sched_requeue(s->sched, id, s->now);
	s->data = NULL;
	strbuf_fini(&data);
	strbuf_fini(&head);
	if (e->spec->interactive) {
		job_end_waiting(s, id, END_NOT_STARTED, reason);
		e->exit_status = -1;
	}
}

static bool is_current(const struct server *s, uint32_t id, uint16_t attempt)
{
	const struct job *job = entry_job(s, id);

	return job->attempt == attempt && (job->state == STATE_NOW || job->state == STATE_RUNNING);
}

static void on_refused(void *context, const char *tag, const char *reason)
{
	struct server *s = context;
	struct attempt *t;
	uint32_t id;
	uint16_t attempt;

	loop_wake(s);
	if (!tag_parse(s, tag, &id, &attempt) || !(t = attempt_find(s, id, attempt)))
		return;
	attempt_free(s, t);
	if (is_current(s, id, attempt)) {
		if (s->entries.v[id].intent == INTENT_DELETE) {
			sched_start_failed_or_requeue(s, id);
			job_end_waiting(s, id, END_DELETED, "deleted before it ran");
		} else if (!reason) {
			sched_start_failed_or_requeue(s, id);
		} else {
			start_failed(s, id, reason);
		}
	}
}

static void result_keep(struct server *s, uint32_t id, const struct result *r)
{
	struct entry *e = &s->entries.v[id];
	struct outcome *o = outcome_of(e);

	o->cpu_ms = r->cpu_ms;
	o->memory_kib = r->memory_kib;
	o->started_us = r->started_us;
	o->ended_us = r->ended_us;
	o->session = r->session;
	e->exit_status = r->how == RESULT_SIGNALED ? 256 + r->status : r->status;
	e->cause = e->intent == INTENT_DELETE	? END_DELETED
		   : r->cause == CAUSE_WALLTIME ? END_WALLTIME
		   : r->cause == CAUSE_MEMORY	? END_MEMORY
		   : r->cause == CAUSE_HUNG_UP	? END_HUNG_UP
						: END_ITSELF;
	if (r->reason && *r->reason)
		comment_set(s, id, "%s", r->reason);
	else if (e->cause == END_WALLTIME)
		comment_set(s, id, "ended because it ran longer than its walltime");
}

void outcome_data(const struct entry *e, struct strbuf *out)
{
	const struct outcome *o = e->outcome;
	struct json j;

	json_init(&j, out, false);
	json_open_object(&j, NULL);
	json_int(&j, "exit_status", e->exit_status);
	if (e->cause)
		json_int(&j, "cause", e->cause);
	if (o) {
		json_int(&j, "cpu_ms", o->cpu_ms);
		json_int(&j, "memory_kib", o->memory_kib);
		json_int(&j, "started_us", o->started_us);
		json_int(&j, "ended_us", o->ended_us);
		json_int(&j, "session", o->session);
		if (o->comment)
			json_text(&j, "text", o->comment);
	}
	json_close_object(&j);
}

static void finish(struct server *s, uint32_t id)
{
	struct strbuf data = {0};

	if (entry_job(s, id)->state == STATE_NOW)
		sched_started(s->sched, id, s->now);
	outcome_data(&s->entries.v[id], &data);
	s->data = data.text;
	s->data_job = id;
	sched_finish(s->sched, id, s->now);
	s->data = NULL;
	strbuf_fini(&data);
}

/* Its end is not waited for: it has ended for everybody, while its processes are being killed. */
void job_purge(struct server *s, uint32_t id, const char *who)
{
	struct entry *e = &s->entries.v[id];

	job_kill(s, id, INTENT_DELETE, 0, who);
	e->exit_status = -2;
	e->cause = END_DELETED;
	finish(s, id);
	s->dirty = true;
}

static void requeue(struct server *s, uint32_t id, const char *why)
{
	struct strbuf data = {0};
	struct json j;

	if (entry_job(s, id)->state == STATE_NOW)
		sched_started(s->sched, id, s->now);
	s->entries.v[id].intent = INTENT_NONE;
	comment_set(s, id, "%s", why);
	json_init(&j, &data, false);
	json_open_object(&j, NULL);
	json_text(&j, "text", why);
	json_close_object(&j);
	s->data = data.text;
	s->data_job = id;
	sched_requeue(s->sched, id, s->now);
	s->data = NULL;
	book_event(s, id, 'R');
	strbuf_fini(&data);
}

static void on_ended(void *context, const struct result *r)
{
	struct server *s = context;
	struct attempt *t;
	uint32_t id;
	uint16_t attempt;

	vec_push(&s->told, mem_strdup(r->tag)); /* also what nobody knows: it is dealt with */
	loop_wake(s);
	if (!tag_parse(s, r->tag, &id, &attempt) || !(t = attempt_find(s, id, attempt)))
		return;
	attempt_free(s, t);
	s->entries.v[id].suspended = false;
	if (!is_current(s, id, attempt))
		return;
	if (r->how == RESULT_NOT_STARTED) {
		if (s->entries.v[id].intent == INTENT_DELETE) {
			sched_start_failed_or_requeue(s, id);
			job_end_waiting(s, id, END_DELETED, "deleted before it ran");
		} else {
			start_failed(s, id, r->reason ? r->reason : "no reason was given");
		}
	} else if (s->entries.v[id].intent == INTENT_RERUN) {
		requeue(s, id, "to be run again, as was asked for");
	} else {
		result_keep(s, id, r);
		finish(s, id);
	}
}

void sched_start_failed_or_requeue(struct server *s, uint32_t id)
{
	if (entry_job(s, id)->state == STATE_NOW)
		sched_start_failed(s->sched, id, s->now);
	else
		sched_requeue(s->sched, id, s->now);
}

static void on_lost(void *context, const char *tag, const char *why)
{
	struct server *s = context;
	struct attempt *t;
	uint32_t id;
	uint16_t attempt;

	vec_push(&s->told, mem_strdup(tag));
	loop_wake(s);
	if (!tag_parse(s, tag, &id, &attempt) || !(t = attempt_find(s, id, attempt)))
		return;
	attempt_free(s, t);
	if (!is_current(s, id, attempt))
		return;

	struct entry *e = &s->entries.v[id];

	if (!why)
		why = "its processes were lost (killed from outside, or the machine went down)";
	if (e->intent != INTENT_DELETE &&
	    (e->intent == INTENT_RERUN || (e->spec->rerunnable && attrs_bool(&s->attrs, "rerun_lost")))) {
		struct strbuf text = {0};
		strbuf_printf(&text, "%s: to be run again", why);
		requeue(s, id, text.text);
		strbuf_fini(&text);
		return;
	}
	e->exit_status = -2;
	e->cause = e->intent == INTENT_DELETE ? END_DELETED : END_LOST;
	comment_set(s, id, "%s", why);
	finish(s, id);
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	output_opened(context, id, fd, reason);
}

static void on_failed(void *context, const char *reason)
{
	struct server *s = context;

	server_say(s, "stopping: %s; running jobs go on", reason);
	s->terminating = true;
	loop_wake(s);
}

const struct engine_listener dispatch_engine = {
	.started = on_started,
	.refused = on_refused,
	.ended = on_ended,
	.lost = on_lost,
	.opened = on_opened,
	.failed = on_failed,
};
