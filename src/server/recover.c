/*
 * recover.c - the server's state from the store: the same fold as in life.
 *
 * Objects and jobs first, then all events in order through job_apply() and plan_apply(); then what is derived: the scheduler's queues, blocks, counts. The engine
 * is asked last what became of the attempts that were under way.
 */
#include <stdio.h>
#include <string.h>

#include "server/server_internal.h"

struct recovery {
	struct server *s;
	uint64_t highest;
	uint64_t highest_script;
	size_t damaged;
	bool rebooted;
};

/* What this start of the machine is called, or "". */
static const char *boot_id(char id[64])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	id[0] = '\0';
	if (f && fgets(id, 64, f))
		id[strcspn(id, "\n")] = '\0';
	if (f)
		fclose(f);
	return id;
}

static int on_object(void *context, const char *kind, const char *name, const char *value, struct err *err)
{
	struct recovery *r = context;
	struct server *s = r->s;
	json_error_t error;
	json_t *o = json_loads(value, 0, &error);
	int rc = 0;

	if (!json_is_object(o)) {
		rc = err_set(err, -EINVAL, "%s", o ? "it is no object" : error.text);
	} else if (strcmp(kind, "meta") == 0 && strcmp(name, "boot") == 0) {
		const char *id = json_string_value(json_object_get(o, "id"));
		char now[64];
		r->rebooted = id && *boot_id(now) && strcmp(id, now) != 0;
	} else if (strcmp(kind, "meta") == 0) {
		s->next_number = (uint64_t)json_integer_value(json_object_get(o, "number"));
		s->next_seq = (uint64_t)json_integer_value(json_object_get(o, "seq"));
		s->next_script = (uint64_t)json_integer_value(json_object_get(o, "script"));
		s->next_join = (uint64_t)json_integer_value(json_object_get(o, "join"));
		s->next_token = (uint64_t)json_integer_value(json_object_get(o, "token"));
	} else if (strcmp(kind, "cluster") == 0) {
		rc = cluster_object(s, name, o, err);
	} else if (strcmp(kind, "token") == 0) {
		rc = token_restore(s, name, o, err);
	} else if (strcmp(kind, "revoked") == 0) {
		rc = revoke_restore(s, name, o, err);
	} else if (strcmp(kind, "server") == 0) {
		rc = attrs_read(&s->attrs, o, err);
	} else if (strcmp(kind, "queue") == 0) {
		struct queue *q = queue_named(s, name);
		rc = attrs_read(&(q ? q : queue_create(s, name))->attrs, o, err);
	} else if (strcmp(kind, "node") == 0) {
		rc = world_node_restore(s, name, o, err);
	}
	json_decref(o);
	return rc;
}

static void script_count(struct recovery *r, uint64_t script)
{
	if (script)
		++*map_at(&r->s->scripts, script);
	if (script > r->highest_script)
		r->highest_script = script;
}

static void submitted(struct server *s, uint32_t id, struct spec *p)
{
	struct event e = {.time = p->created, .job = id, .by = JOB_NONE, .type = EVENT_SUBMIT};

	job_apply(entry_job(s, id), &e, KIND_COMMON, NULL);
}

static int restore_array(struct recovery *r, uint64_t number, struct spec *p, struct err *err)
{
	struct server *s = r->s;
	struct array_spec spec = {0};
	struct array *a;
	int rc = array_parse(p->array_text, &spec, err);

	if (rc < 0)
		return rc;
	a = array_add(s, number, p, &spec);
	a->first = s->cluster->njobs;
	for (int64_t i = array_next(&spec, -1); i >= 0; i = array_next(&spec, i))
		submitted(s, entry_add(s, job_key(number, i), p), p);
	array_fini(&spec);
	return 0;
}

static int on_job(void *context, uint64_t key, const char *head, struct err *err)
{
	struct recovery *r = context;
	struct server *s = r->s;
	struct spec *p;
	uint32_t id;
	int rc;

	world_begin(s);
	rc = spec_restore(s, head, &p, err);

	if (job_key_number(key) > r->highest) /* also a damaged one's: ids never repeat */
		r->highest = job_key_number(key);
	if (rc < 0)
		return rc;
	if (job_key_index(key) >= 0) { /* an element with a spec of its own */
		if (!entry_find(s, job_key_number(key), job_key_index(key), &id))
			rc = err_set(err, -EINVAL, "its array is not there");
		else {
			struct job *job = entry_job(s, id);
			spec_unref(s->entries.v[id].spec);
			s->entries.v[id].spec = p;
			p->refs++;
			job->walltime = p->walltime;
			job->deadline = p->deadline;
			job->kind = p->kind;
			job->request = p->request == UINT32_MAX ? s->fallback : p->request;
			job->rank = p->rank;
		}
	} else if (p->array) {
		rc = restore_array(r, job_key_number(key), p, err);
		script_count(r, p->script);
	} else {
		id = entry_add(s, key, p);
		map_set(&s->by_number, job_key_number(key), id);
		submitted(s, id, p);
		script_count(r, p->script);
	}
	spec_unref(p);
	return rc;
}

/* Nodes by name. Those that are not in the configuration any more are there, too (world_node_restore). */
static int nodes_parse(struct server *s, const char *text, int32_t **ret, uint32_t *ret_n, struct err *err)
{
	VEC(int32_t) v = {0};

	for (const char *p = text; p && *p;) {
		size_t n = strcspn(p, "+");
		char name[256];
		uint32_t node;
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		if (!names_find(&s->cluster->node_names, name, &node)) {
			vec_free(&v);
			return err_set(err, -ENOENT, "there is no node %.100s any more", name);
		}
		vec_push(&v, (int32_t)node);
		s->nodes.v[node].mentioned = true;
		p += n + (p[n] == '+');
	}
	*ret = v.v;
	*ret_n = (uint32_t)v.n;
	return 0;
}

/* What an event's data says of the job's outcome. */
static void restore_data(struct server *s, uint32_t id, const struct store_event *e, const json_t *data)
{
	struct entry *x = &s->entries.v[id];
	const char *text = json_string_value(json_object_get(data, "text"));

	if (e->type == EVENT_INTENT) {
		x->intent = text && strcmp(text, "rerun") == 0 ? INTENT_RERUN : INTENT_DELETE;
		return;
	}
	if (e->type == EVENT_NOTE)
		return;
	if (json_object_get(data, "failures"))
		x->failures = (uint8_t)json_integer_value(json_object_get(data, "failures"));
	if (text)
		comment_set(s, id, "%s", text);
	if (e->type != EVENT_FINISH && e->type != EVENT_DELETE && e->type != EVENT_EXPIRE)
		return;
	x->exit_status = (int32_t)json_integer_value(json_object_get(data, "exit_status"));
	x->cause = (uint8_t)json_integer_value(json_object_get(data, "cause"));
	x->intent = INTENT_NONE;
	if (e->type == EVENT_FINISH) {
		struct outcome *o = outcome_of(x);
		o->cpu_ms = json_integer_value(json_object_get(data, "cpu_ms"));
		o->memory_kib = json_integer_value(json_object_get(data, "memory_kib"));
		o->started_us = json_integer_value(json_object_get(data, "started_us"));
		o->ended_us = json_integer_value(json_object_get(data, "ended_us"));
		o->session = (pid_t)json_integer_value(json_object_get(data, "session"));
	}
}

static int fold(void *context, const struct store_event *e, struct err *err)
{
	struct recovery *r = context;
	struct server *s = r->s;
	struct event x = {.time = e->time, .at = e->at, .by = JOB_NONE, .type = (uint8_t)e->type};
	enum job_kind by_kind = KIND_COMMON;
	int32_t *nodes = NULL;
	json_t *data = NULL;
	json_error_t error;
	uint32_t by;
	int rc = 0;

	if (e->seq >= s->next_seq)
		s->next_seq = e->seq + 1;
	if (!entry_find(s, job_key_number(e->job), job_key_index(e->job), &x.job))
		return err_set(err, -ENOENT, "its job is not there");
	if (e->type < 0 || (e->type >= EVENT_COUNT && e->type < EVENT_PLACED) || e->type > EVENT_NOTE)
		return err_set(err, -EINVAL, "there are no events of type %d", e->type);
	if (e->data && !(data = json_loads(e->data, 0, &error)))
		return err_set(err, -EINVAL, "data: %s", error.text);
	if (e->by && entry_find(s, job_key_number(e->by), job_key_index(e->by), &by)) {
		x.by = by;
		by_kind = entry_job(s, by)->kind;
	}
	if (e->type < EVENT_COUNT) {
		struct job *job = entry_job(s, x.job);
		rc = nodes_parse(s, e->nodes, &nodes, &x.nnodes, err);
		if (rc == 0 && nodes && x.nnodes != cluster_job_request(s->cluster, job)->nfrags)
			rc = err_set(err, -EINVAL, "it names %u nodes for %u fragments", x.nnodes,
				     cluster_job_request(s->cluster, job)->nfrags);
		x.nodes = nodes;
		if (rc == 0)
			rc = job_apply(job, &x, by_kind, err);
		if (rc == 0) {
			plan_advance(s->plan, e->time);
			plan_apply(s->plan, &x);
			if (e->type == EVENT_START)
				attempt_restore(s, x.job, job->attempt, nodes, x.nnodes, data);
			if (e->type == EVENT_STARTED && attempt_find(s, x.job, job->attempt))
				attempt_find(s, x.job, job->attempt)->started = true;
			if (e->type == EVENT_PREEMPT || e->type == EVENT_START_FAILED)
				s->entries.v[x.job].intent = INTENT_NONE;
			s->entries.v[x.job].modified = e->time;
		}
	} else if (e->type == EVENT_PLACED && attempt_find(s, x.job, entry_job(s, x.job)->attempt)) {
		attempt_restore(s, x.job, entry_job(s, x.job)->attempt, NULL, 0, data);
	}
	if (rc == 0 && data)
		restore_data(s, x.job, e, data);
	/* Of a job that lost its place to another (`by`) processes may linger: recover_attempts() asks. */
	if (rc == 0 &&
	    (e->type == EVENT_FINISH || (!e->by && (e->type == EVENT_START_FAILED || e->type == EVENT_PREEMPT))))
		attempt_discard(s, x.job, entry_job(s, x.job)->attempt);
	if (rc == 0 && e->type == EVENT_EXPIRE)
		s->entries.v[x.job].exit_status = -4;
	free(nodes);
	json_decref(data);
	return rc;
}

/* A job whose history has a hole may have run: it must not be started by mistake. */
static int on_event(void *context, const struct store_event *e, struct err *err)
{
	struct recovery *r = context;
	uint32_t id;
	int rc = fold(context, e, err);

	if (rc < 0 && entry_find(r->s, job_key_number(e->job), job_key_index(e->job), &id))
		r->s->entries.v[id].broken = true;
	return rc;
}

static void on_damaged(void *context, const char *what, const char *reason)
{
	struct recovery *r = context;

	r->damaged++;
	server_say(r->s, "set aside, since it can't be read: %s: %s", what, reason);
}

/* What is derived of a job. */
static void restore_entry(struct server *s, uint32_t id)
{
	struct entry *e = &s->entries.v[id];
	const struct job *job = entry_job(s, id);
	struct array *a;

	if (!e->spec)
		return;
	a = array_find(s, job_key_number(e->key));
	sched_restore(s->sched, id, s->now);
	if (job_ended(job)) {
		if (a)
			a->ended++;
		heap_push(&s->forgets, job->since + setting_of(s, e->spec, "keep_completed"), id, 0);
		return;
	}
	total_count(s, e->spec, 1);
	if (job->state == STATE_NOW || job->state == STATE_RUNNING) {
		block_running(s, id);
		heap_push(&s->ends, plan_piece(s->plan, id, 0)->end, id, job->attempt);
	}
}

static void boot_store(struct server *s)
{
	char id[64], text[96];

	snprintf(text, sizeof text, "{\"id\":\"%s\"}", boot_id(id));
	store_put_object(s->store, "meta", "boot", text);
}

static void hold_broken(struct server *s, uint32_t id)
{
	struct spec *p = spec_own(s, id);
	struct strbuf head = {0};

	p->holds |= BLOCK_SYSTEM;
	spec_head(s, p, &head);
	store_put_head(s->store, s->entries.v[id].key, head.text);
	strbuf_fini(&head);
	comment_set(s, id,
		    "held: a part of its history could not be read (see the server's log), so it may have run already");
	event_note(s, id, EVENT_NOTE, "held: a part of its history could not be read", "the server");
}

int recover(struct server *s, struct err *err)
{
	struct recovery r = {.s = s};
	struct store_reader reader = {on_object, on_job, on_event, on_damaged, &r};
	int rc = store_read(s->store, &reader, err);

	if (rc < 0)
		return rc;
	world_begin(s);
	s->rebooted = r.rebooted;
	s->join_floor = s->next_join ? s->next_join : 1;
	boot_store(s);
	if (s->next_number <= r.highest)
		s->next_number = r.highest + 1;
	if (s->next_script <= r.highest_script)
		s->next_script = r.highest_script + 1;
	if (s->next_seq == 0)
		s->next_seq = 1;
	plan_advance(s->plan, s->now);
	for (uint32_t id = 1; id < s->entries.n; id++)
		restore_entry(s, id);
	for (uint32_t id = 1; id < s->entries.n; id++) {
		if (s->entries.v[id].spec && s->entries.v[id].broken && !entry_ended(s, id))
			hold_broken(s, id); /* also if it runs: it may come back */
		if (s->entries.v[id].spec && job_waits(entry_job(s, id)))
			block_begin(s, id);
	}
	world_gates(s);
	return 0;
}

/* Whether its script was to run on this machine. */
static bool begins_here(const struct server *s, const struct attempt *t)
{
	return !t || t->nfrags == 0 || !s->nodes.v[t->node[0]].joined;
}

/* One that was under way, or lingered. */
static enum attempt_state attach(struct server *s, const struct attempt *t, const char *tag)
{
	const char **hosts;
	int n = t ? attempt_hosts(s, t, &hosts, NULL) : 0;
	enum attempt_state state = n ? engine_attach(s->engine, tag, hosts, n)
				     : engine_attach(s->engine, tag, (const char *const[]){HOST_HERE}, 1);

	if (t)
		free(hosts);
	return state;
}

/* Attempts that were under way: the engine tells, now or later. */
void recover_attempts(struct server *s)
{
	for (uint32_t id = 1; id < s->entries.n; id++) {
		const struct job *job = s->entries.v[id].spec ? entry_job(s, id) : NULL;
		char tag[64];
		if (!job || job->attempt == 0)
			continue;
		for (uint32_t n = 1; n <= job->attempt; n++) {
			struct attempt *t = attempt_find(s, id, n);
			bool current = n == job->attempt && (job->state == STATE_NOW || job->state == STATE_RUNNING);
			if (!t && !current)
				continue;
			attempt_tag(s, id, n, tag);
			switch (attach(s, t, tag)) {
			case ATTEMPT_NEVER:
				if (current && (job->state == STATE_RUNNING || (s->rebooted && begins_here(s, t)))) {
					/* its live file was removed, or did not survive the machine's end */
					dispatch_engine.lost(s, tag, NULL, NULL);
					break;
				}
				attempt_discard(s, id, n);
				if (current) /* the order never left, or never arrived */
					sched_start_failed(s->sched, id, s->now);
				break;
			case ATTEMPT_RUNS:
				if (current && job->state == STATE_NOW)
					sched_started(s->sched, id, s->now);
				if (!current || s->entries.v[id].intent)
					job_kill_again(s, id, n);
				break;
			case ATTEMPT_UNKNOWN: /* a host is not there yet: what is wanted of it waits for it */
				if (!current || s->entries.v[id].intent)
					job_kill_again(s, id, n);
				break;
			case ATTEMPT_ENDED:
			case ATTEMPT_LOST:
				break;
			}
		}
	}
	attempts_hold(s);
}
