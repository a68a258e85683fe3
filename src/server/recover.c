/*
 * recover.c - rebuilds the server's state from the store, by the same fold as at run time.
 *
 * Objects and jobs come first, then all events in order through job_apply() and plan_apply(), then
 * derived state: the scheduler's queues, blocks, counts. Last, the engine reports the state of the
 * attempts that were under way.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/array.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/kind.h"
#include "engine/engine.h"
#include "engine/local.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/sched.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/book/history.h"
#include "server/book/quotas.h"
#include "server/book/sharing.h"
#include "server/job/attempt.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/enter/intake.h"
#include "server/life/enter/queues.h"
#include "server/life/enter/submit.h"
#include "server/life/enter/walltime.h"
#include "server/life/run/kill.h"
#include "server/life/run/migrate.h"
#include "server/life/world/block.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/lives.h"
#include "server/life/world/world.h"
#include "server/meta.h"
#include "server/node/nodes.h"
#include "server/recover.h"
#include "server/restorers.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "store/store.h"

struct recovery {
	struct server *s;
	uint64_t highest;
	uint64_t highest_script;
	size_t damaged;
	VEC(struct leased {
		uint64_t key;
		struct spec *spec;
	}) leased;     /* jobs with numbers leased to hosts, which are read before the others */
	size_t placed; /* number of them restored so far */
};

static int on_object(void *context, const char *kind, const char *name, const char *value, struct err *err)
{
	struct recovery *r = context;
	json_error_t error;
	json_t *o = json_read(value, strlen(value), 0, &error);
	int rc = json_is_object(o) ? object_recover(r->s, kind, name, o, err)
				   : err_set(err, -EINVAL, "%s", o ? "it is not an object" : error.text);

	json_decref(o);
	return rc;
}

static void script_count(struct recovery *r, uint64_t script)
{
	if (script)
		++*map_at(&r->s->jobs->scripts, script);
	if (script > r->highest_script)
		r->highest_script = script;
}

/* Applies the initial events of a job: see submission_accept(). */
static void submitted(struct server *s, uint32_t id, bool eligible)
{
	struct event e = {.time = entry_get(s, id)->spec->created, .job = id, .by = JOB_NONE, .type = EVENT_SUBMIT};

	job_apply(entry_job(s, id), &e, KIND_COMMON, NULL);
	e.type = EVENT_HOLD;
	if (!eligible)
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
	a = array_add(s, number, p, &spec, s->cluster->jobs.n);
	for (int64_t i = array_next(&spec, -1); i >= 0; i = array_next(&spec, i)) {
		uint32_t id = entry_add(s, job_key(number, i), p);
		submitted(s, id, id - a->first < p->eligible);
	}
	array_fini(&spec);
	return 0;
}

static int on_life(void *context, const struct store_life *e, struct err *err)
{
	struct recovery *r = context;

	return life_restore(r->s, e, err);
}

/* Restores a job. Takes over the spec. */
static int job_restore(struct recovery *r, uint64_t key, struct spec *p, struct err *err)
{
	struct server *s = r->s;
	uint32_t id;
	int rc = 0;

	if (intake_drop(s, key, p->script)) {
		spec_unref(p);
		return 0;
	}
	s->jobs->priorities |= p->priority != 0; /* the stores of older servers do not record it */
	/* an element with its own spec, from a store without EVENT_ALTER */
	if (job_key_index(key) >= 0) {
		if (!entry_find(s, job_key_number(key), job_key_index(key), &id)) {
			rc = err_set(err, -EINVAL, "its array is not there");
		} else {
			spec_unref(entry_get(s, id)->spec);
			entry_get(s, id)->spec = p;
			entry_get(s, id)->holds = p->holds;
			p->refs++;
			job_fill(s, entry_job(s, id), p);
			entry_job(s, id)->rank = p->rank;
		}
	} else if (p->array) {
		rc = restore_array(r, job_key_number(key), p, err);
		script_count(r, p->script);
	} else {
		id = entry_add(s, key, p);
		map_set(&s->jobs->by_number, job_key_number(key), id);
		submitted(s, id, p->eligible > 0);
		script_count(r, p->script);
	}
	spec_unref(p);
	return rc;
}

static int leased_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct leased *)a)->spec->rare->came, y = ((const struct leased *)b)->spec->rare->came;

	return (x > y) - (x < y);
}

/* Restores the leased jobs that came before the server assigned this number. */
static void leased_restore(struct recovery *r, uint64_t number)
{
	struct err err;

	if (r->placed == 0 && r->leased.n)
		qsort(r->leased.v, r->leased.n, sizeof *r->leased.v, leased_compare);
	for (; r->placed < r->leased.n && r->leased.v[r->placed].spec->rare->came >> CAME_BITS <= number; r->placed++) {
		struct leased *x = &r->leased.v[r->placed];
		if (job_restore(r, x->key, x->spec, &err) < 0)
			server_log(r->s, SEVERITY_ERROR, "job %llu can't be restored: %s",
				   (unsigned long long)job_key_number(x->key), err.text);
	}
}

/* Restores a job; called in order of submission. */
static int on_job(void *context, uint64_t key, const char *head, struct err *err)
{
	struct recovery *r = context;
	uint64_t number = job_key_number(key);
	json_error_t error;
	struct spec *p;
	json_t *o;
	int rc;

	world_begin(r->s);
	o = json_read(head, strlen(head), 0, &error);
	rc = o ? spec_restore(r->s, o, &p, err) : err_set(err, -EINVAL, "%s", error.text);
	json_decref(o);
	/* includes damaged jobs: ids never repeat */
	if (!number_leased(number) && number > r->highest)
		r->highest = number;
	if (rc < 0)
		return rc;
	if (number_leased(number)) {
		if ((uint32_t)p->rare->came > r->s->jobs->leased)
			r->s->jobs->leased = (uint32_t)p->rare->came;
		vec_push(&r->leased, (struct leased){key, p});
		return 0;
	}
	leased_restore(r, number);
	return job_restore(r, key, p, err);
}

/* Parses node names. Nodes that are no longer in the configuration still exist
 * (world_node_restore). */
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
			return err_set(err, -ENOENT, "node %.100s no longer exists", name);
		}
		vec_push(&v, (int32_t)node);
		s->hosts->nodes.v[node].mentioned = true;
		p += n + (p[n] == '+');
	}
	*ret = v.v;
	*ret_n = (uint32_t)v.n;
	return 0;
}

/* Reads the place that an event gives to a job. An old store does not record when a job was
 * altered: there, a place for a different request is dropped. */
static int place_read(struct server *s, const struct store_event *e, struct event *x, int32_t **ret_nodes,
		      struct err *err)
{
	uint32_t nfrags = cluster_job_request(s->cluster, entry_job(s, x->job))->nfrags;
	int rc = nodes_parse(s, e->nodes, ret_nodes, &x->nnodes, err);

	x->nodes = *ret_nodes;
	if (rc < 0 || !*ret_nodes || x->nnodes == nfrags)
		return rc;
	if (!entry_get(s, x->job)->spec->legacy)
		return err_set(err, -EINVAL, "it names %u nodes for %u parts", x->nnodes, nfrags);
	x->nnodes = 0;
	return 0;
}

/* Restores an attempt: with its CPUs, or as gone. */
static void fold_attempt(struct server *s, const struct event *x, const json_t *data, struct payload *p)
{
	uint32_t number = entry_job(s, x->job)->attempt;
	struct attempt *t = attempt_find(s, x->job, number);

	switch ((int)x->type) {
	case EVENT_START:
	case EVENT_PLACED:
		if (json_object_get(data, "cpus") && (t || x->nnodes))
			p->attempt = attempt_restore(s, x->job, number, x->nodes, x->nnodes, data);
		break;
	case EVENT_STARTED:
		if (t)
			t->started = true;
		break;
	case EVENT_START_FAILED:
	/* a job preempted for another may have lingering processes: recover_attempts() asks */
	case EVENT_PREEMPT:
		if (x->by == JOB_NONE && !x->at)
			attempt_discard(s, x->job, number);
		break;
	case EVENT_FINISH:
		if (!p->lingers)
			attempt_discard(s, x->job, number);
		break;
	case EVENT_GONE:
		attempt_discard(s, x->job, p->gone);
		break;
	default:
		break;
	}
}

/* Returns the nodes of a start that had to wait for its CPUs, from the plan. */
static int32_t *planned_nodes(struct server *s, struct event *x)
{
	int32_t *nodes;

	if (!plan_holds(s->plan, x->job))
		return NULL;
	x->nnodes = plan_hold(s->plan, x->job)->nfrags;
	nodes = mem_zalloc((x->nnodes + 1) * sizeof *nodes);
	plan_nodes(s->plan, x->job, nodes);
	x->nodes = nodes;
	return nodes;
}

static int fold_event(struct server *s, const struct store_event *e, struct event *x, const json_t *data,
		      struct payload *p, struct err *err)
{
	struct job *job = entry_job(s, x->job);
	enum job_kind by_kind = x->by == JOB_NONE ? KIND_COMMON : entry_job(s, x->by)->kind;
	int32_t *nodes = NULL;
	int rc = 0;

	if (e->type < EVENT_COUNT) {
		rc = place_read(s, e, x, &nodes, err);
		if (rc == 0)
			rc = job_apply(job, x, by_kind, err);
		if (rc == 0) {
			plan_advance(s->plan, e->time);
			plan_apply(s->plan, x);
		}
	} else if (e->type == EVENT_PLACED) {
		nodes = planned_nodes(s, x);
	}
	if (rc == 0) {
		fold_attempt(s, x, data, p);
		entry_apply(s, x, p);
	}
	free(nodes);
	return rc;
}

static int fold(void *context, const struct store_event *e, struct err *err)
{
	struct recovery *r = context;
	struct server *s = r->s;
	struct event x = {.time = e->time, .at = e->at, .by = JOB_NONE, .type = (uint8_t)e->type};
	struct payload p;
	json_t *data = NULL;
	json_error_t error;
	struct array *whole;
	uint32_t by;
	int rc;

	if (e->seq >= s->jobs->next_seq)
		s->jobs->next_seq = e->seq + 1;
	whole = job_key_index(e->job) < 0 && e->type == EVENT_ALTER ? array_find(s, job_key_number(e->job)) : NULL;
	if (!whole && !entry_find(s, job_key_number(e->job), job_key_index(e->job), &x.job))
		return err_set(err, -ENOENT, "its job is not there");
	if (e->type < 0 || (e->type >= EVENT_COUNT && e->type < EVENT_PLACED) || e->type >= SERVER_EVENT_END)
		return err_set(err, -EINVAL, "there are no events of type %d", e->type);
	if (e->data && !(data = json_read(e->data, strlen(e->data), 0, &error)))
		return err_set(err, -EINVAL, "data: %s", error.text);
	if (e->by && entry_find(s, job_key_number(e->by), job_key_index(e->by), &by))
		x.by = by;
	rc = payload_read(s, e->type, data, &p, err);
	if (rc == 0) {
		if (whole && p.throttled)
			array_limit(whole, p.limit);
		else if (whole)
			array_apply(whole, p.spec);
		else if (p.throttled)
			rc = err_set(err, -EINVAL, "only an array has a limit of its elements");
		else
			rc = fold_event(s, e, &x, data, &p, err);
		spec_unref(p.spec);
	}
	json_decref(data);
	return rc;
}

/* Folds an event. A job with an unreadable event may have run: it must not be started by
 * mistake. */
static int on_event(void *context, const struct store_event *e, struct err *err)
{
	struct recovery *r = context;
	uint32_t id;

	leased_restore(r, UINT64_MAX);
	int rc = fold(context, e, err);

	if (e->time > r->s->jobs->seen && e->time <= r->s->clock->now)
		r->s->jobs->seen = e->time;
	if (rc < 0 && entry_find(r->s, job_key_number(e->job), job_key_index(e->job), &id))
		entry_get(r->s, id)->broken = true;
	return rc;
}

static void on_damaged(void *context, const char *what, const char *reason)
{
	struct recovery *r = context;

	r->damaged++;
	server_log(r->s, SEVERITY_ERROR, "set aside because it can't be read: %s: %s", what, reason);
}

/* Handles a job whose place an old store has lost: a place for another request was skipped. */
static void place_lost(struct server *s, uint32_t id)
{
	struct job *job = entry_job(s, id);
	struct event e = {.time = s->clock->now,
			  .job = id,
			  .by = JOB_NONE,
			  .at = job->state == STATE_ALLOCATED ? LOST_WITH_GUARANTEE : 0,
			  .type = job->state == STATE_ALLOCATED ? EVENT_DEALLOCATE
				  : job->state == STATE_NOW	? EVENT_START_FAILED
								: EVENT_PREEMPT};

	entry_get(s, id)->broken |= job->state != STATE_ALLOCATED;
	job_apply(job, &e, KIND_COMMON, NULL);
}

/* Restores what is derived from a job: the scheduler's queues, counts. */
static void restore_entry(struct server *s, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	const struct job *job = entry_job(s, id);
	struct array *a;

	if (!e->spec)
		return;
	a = array_find(s, job_key_number(e->key));
	if (job_ended(job)) {
		sched_restore(s->sched, id, s->clock->now);
		if (a)
			a->ended++;
		heap_push(&s->agenda->forgets, job->since + keep_of(s, e->spec), id, 0);
		return;
	}
	total_count(s, e->spec, 1);
	if (job->state >= STATE_ALLOCATED && !plan_holds(s->plan, id))
		place_lost(s, id);
	sched_restore(s->sched, id, s->clock->now);
	if (job->state == STATE_NOW || job->state == STATE_RUNNING)
		heap_push(&s->agenda->ends, plan_piece(s->plan, id, 0)->end, id, job->attempt);
	if (job->state == STATE_NOW && !attempt_find(s, id, job->attempt))
		vec_push(&s->agenda->starts, id); /* its CPUs were not free yet */
}

/* Restores ended jobs in order of their ends, since the scheduler learns from them; then the
 * others by id. */
static void restore_entries(struct server *s)
{
	struct heap ended = {0};
	struct heap_item x;

	JOBS_EACH(s, id)
		if (entry_get(s, id)->spec && entry_ended(s, id))
			heap_push(&ended, entry_job(s, id)->since, id, 0);
	while (heap_pop(&ended, &x))
		restore_entry(s, (uint32_t)x.tie);
	heap_fini(&ended);
	JOBS_EACH(s, id)
		if (!entry_ended(s, id))
			restore_entry(s, id);
}

static void hold_broken(struct server *s, uint32_t id)
{
	entry_event(
		s, id, EVENT_HOLDS,
		&(struct payload){
			.holds = entry_get(s, id)->holds | BLOCK_SYSTEM,
			.failed = true, /* it is not for its owner to release */
			.text = "held: a part of its history could not be read",
			.comment =
				"held: a part of its history could not be read (see the server's log), so it may have run already",
			.who = "the server"});
}

/* Stores a job of an old store again, with its eligibility. */
static void legacy_end(struct server *s, uint64_t key, struct spec *p)
{
	struct strbuf head = {0};

	p->legacy = false;
	spec_head(s, p, &head);
	store_put_head(s->store, key, head.text);
	strbuf_fini(&head);
}

int server_recover(struct server *s, struct err *err)
{
	struct recovery r = {.s = s};
	struct store_reader reader = {.object = on_object,
				      .job = on_job,
				      .event = on_event,
				      .damaged = on_damaged,
				      .context = &r,
				      .life = on_life};
	int rc = store_read(s->store, &reader, err);

	leased_restore(&r, UINT64_MAX);
	vec_free(&r.leased);
	if (rc >= 0)
		rc = quotas_restore(s, err);
	if (rc < 0)
		return rc;
	if (s->jobs->next_seq == 0)
		s->jobs->next_seq = 1;
	lives_settle(s);
	world_begin(s);
	moves_offer(s); /* classes are known now */
	s->realm->join_floor = s->hosts->next_join ? s->hosts->next_join : 1;
	meta_boot_store(s);
	if (s->jobs->next_number <= r.highest)
		s->jobs->next_number = r.highest + 1;
	intake_recovered(s);
	if (s->jobs->next_script <= r.highest_script)
		s->jobs->next_script = r.highest_script + 1;
	world_folded(s);
	block_limits(s);
	restore_entries(s);
	sharing_begin(s, s->world->priority.weight[FACTOR_FAIRSHARE] != 0);
	JOBS_EACH(s, id) {
		struct entry *e = entry_get(s, id);
		if (!e->spec || entry_ended(s, id))
			continue;
		if (e->broken)
			hold_broken(s, id); /* also while it runs: it may return to the queue */
		if (entry_job(s, id)->state <= STATE_ALLOCATED)
			block_begin(s, id);
		if (e->spec->legacy && !e->spec->array)
			legacy_end(s, e->key, e->spec);
	}
	for (size_t i = 0; i < s->jobs->arrays.n; i++)
		if (s->jobs->arrays.v[i]->spec)
			block_array(s, s->jobs->arrays.v[i]);
	for (size_t i = 0; i < s->jobs->arrays.n; i++)
		if (s->jobs->arrays.v[i]->spec->legacy)
			legacy_end(s, job_key(s->jobs->arrays.v[i]->number, -1), s->jobs->arrays.v[i]->spec);
	world_gates(s);
	/* settings may have changed, or the places are an older server's */
	sched_resize(s->sched, s->clock->now);
	queues_route(s);
	history_begin(s);
	return 0;
}

/* Sets up a new store: one queue, and the policy of the configuration. */
void recover_defaults(struct server *s)
{
	struct queue *q;

	/* if all queues were deleted, there are none after a restart either */
	if (s->jobs->queues.n || s->instance->founded)
		return;
	q = queue_create(s, "batch");
	attrs_change(&q->attrs, ATTR_SET, "queue_type", "Execution", NULL);
	attrs_change(&q->attrs, ATTR_SET, "enabled", "True", NULL);
	attrs_change(&q->attrs, ATTR_SET, "started", "True", NULL);
	attrs_change(s->attrs, ATTR_SET, "default_queue", "batch", NULL);
	if (*s->conf->policy && strcmp(s->conf->policy, attrs_text(s->attrs, SET_POLICY)) != 0) {
		attrs_change(s->attrs, ATTR_SET, "policy", s->conf->policy, NULL);
		world_rebuild(s);
	}

	struct strbuf text = {0};
	struct json j;

	json_begin(&j, &text);
	attrs_write(&q->attrs, &j);
	json_close_object(&j);
	store_put_object(s->store, "queue", "batch", text.text);
	life_record(s, "queue", "batch", "created", &(struct cause){.who = BY_SERVER});
	strbuf_clear(&text);
	json_begin(&j, &text);
	attrs_write(s->attrs, &j);
	json_close_object(&j);
	store_put_object(s->store, "server", "server", text.text);
	strbuf_fini(&text);
}

/* Returns true if the attempt's script was to run on this machine. */
static bool begins_here(const struct server *s, const struct attempt *t)
{
	return !t || t->nfrags == 0 || !node_joined(&s->hosts->nodes.v[t->node[0]].life);
}

/* Attaches the engine to an attempt that was under way or lingered. */
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

/* Sends the last signal or walltime again, since it may not have reached the processes. */
static void signals_again(struct server *s, uint32_t id, uint32_t attempt, bool current)
{
	const struct entry *e = entry_get(s, id);

	if (current && e->limited)
		walltime_tell(s, id, attempt);
	if (!current || e->intent)
		job_kill_again(s, id, attempt);
	else if (e->suspended || e->resumed)
		signal_later(s, id, attempt, e->suspended ? SIGSTOP : SIGCONT);
}

/* Asks the engine for the attempts that were under way; it reports now or later. */
void recover_attempts(struct server *s)
{
	JOBS_EACH(s, id) {
		const struct job *job = entry_get(s, id)->spec ? entry_job(s, id) : NULL;
		char tag[64];
		if (!job || job->attempt == 0)
			continue;
		for (uint32_t n = 1; n <= job->attempt; n++) {
			struct attempt *t = attempt_find(s, id, n);
			bool current = n == job->attempt && (job->state == STATE_NOW || job->state == STATE_RUNNING);
			/* NOW: the job waits for its CPUs */
			if (!t && (!current || job->state == STATE_NOW))
				continue;
			attempt_tag(s, id, n, tag);
			uint64_t unseen = (uint64_t)id << 32 | n;
			/* the engine may report the end within engine_attach() */
			map_set(&s->jobs->unseen, unseen, 1);
			switch (attach(s, t, tag)) {
			case ATTEMPT_NEVER:
				if (current &&
				    (job->state == STATE_RUNNING || (s->instance->rebooted && begins_here(s, t)))) {
					/* its live file was removed, or lost in a reboot */
					dispatch_engine.attempt_lost(s, tag, NULL, NULL);
					break;
				}
				map_remove(&s->jobs->unseen, unseen);
				attempt_discard(s, id, n);
				if (current) /* the order was never sent, or never arrived */
					sched_start_failed(s->sched, id, s->clock->now, NULL);
				break;
			case ATTEMPT_RUNS:
				map_remove(&s->jobs->unseen, unseen);
				if (current && job->state == STATE_NOW)
					sched_started(s->sched, id, s->clock->now);
				signals_again(s, id, n, current);
				break;
			case ATTEMPT_UNKNOWN: /* a host is not connected yet: signals wait for it */
				map_remove(&s->jobs->unseen, unseen);
				signals_again(s, id, n, current);
				break;
			case ATTEMPT_LOST: /* it had begun: it counts as such even if it is stopped before
					    * its leftovers are gone */
				if (current && job->attempt == n && job->state == STATE_NOW)
					sched_started(s->sched, id, s->clock->now);
				break;
			case ATTEMPT_ENDED:
				map_remove(&s->jobs->unseen, unseen);
				break;
			}
		}
	}
	attempts_hold(s);
}
