/*
 * api_change.c - changes of jobs: one independent function for each action, called for each job
 * (action.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/names.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/depend.h"
#include "core/job.h"
#include "core/jobschema.h"
#include "rules/access.h"
#include "rules/admit.h"
#include "rules/gate.h"
#include "sched/sched.h"
#include "server/api/jobs/change.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/book/history.h"
#include "server/book/quotas.h"
#include "server/job/attempt.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/move.h"
#include "server/life/enter/submit.h"
#include "server/life/enter/walltime.h"
#include "server/life/peers/away.h"
#include "server/life/run/kill.h"
#include "server/life/run/prepare.h"
#include "server/life/wait/hookrank.h"
#include "server/life/wait/order.h"
#include "server/life/world/block.h"
#include "server/life/world/dispatch.h"
#include "server/server.h"
#include "server/settings/remotes.h"
#include "server/site/coordinators.h"
#include "server/site/who.h"
#include "store/store.h"

#define RELATIONS_MAX 1000000 /* maximum dependencies on other jobs that one request may set */

static bool runs(const struct server *s, uint32_t id)
{
	return entry_running(s, id);
}

static const char *arg_text(const struct change *c, const char *key)
{
	return json_string_value(json_object_get(c->args, key));
}

int ended_error(struct err *err)
{
	return err_code(err, CODE_FINISHED, "Job has finished");
}

static int state_error(const struct server *s, uint32_t id, const char *what, struct err *err)
{
	return err_code(err, CODE_BAD_STATE, "%s (it is in state %c)", what, entry_state(s, id));
}

/* ---- the actions ---- */

static int do_delete(struct change *c, uint32_t id, struct err *err)
{
	struct server *s = c->s;
	const json_t *delay = json_object_get(c->args, "delay");
	struct payload p = {.text = c->why, .who = c->w->user};

	if (entry_ended(s, id))
		return ended_error(err);
	if (!*c->why) {
		const char *message = arg_text(c, "message");
		snprintf(c->why, sizeof c->why, "deleted by %s%s%.400s", c->w->user, message ? ": " : "",
			 message ? message : "");
	}
	p.foreign = c->w->uid != entry_get(s, id)->spec->uid;
	if (entry_away(entry_get(s, id))) {
		away_delete(s, id, c->why, c->w->user);
		return 0;
	}
	if (!runs(s, id)) {
		p.who = NULL; /* the text names the user */
		job_end_waiting(s, id, END_DELETED, &p);
		return 0;
	}
	if (json_is_true(json_object_get(c->args, "purge")) &&
	    may_check(s, c->w, ACT_PURGE, entry_get(s, id)->spec, "Purging a job", err) < 0)
		return -EPERM;
	p.intent = INTENT_DELETE;
	p.comment = c->why;
	p.text = NULL;
	p.delay = json_is_integer(delay) ? json_integer_value(delay) : -1;
	if (json_is_true(json_object_get(c->args, "purge"))) {
		p.delay = 0;
		job_purge(s, id, &p);
	} else {
		job_kill(s, id, &p);
	}
	return 0;
}

/* Checks that the user may set and release these holds. */
static int holds_check(const struct change *c, uint32_t id, unsigned holds, struct err *err)
{
	const struct spec *p = entry_get(c->s, id)->spec;
	int rc = holds & BLOCK_OTHER ? may_check(c->s, c->w, ACT_HOLD_OTHER, p, "A hold of type o", err) : 0;

	return rc == 0 && holds & BLOCK_SYSTEM ? may_check(c->s, c->w, ACT_HOLD_SYSTEM, p, "A hold of type s", err)
					       : rc;
}

/* Reads which holds a job that has not ended is to get or to lose. `own` may also be changed by the
 * job's owner, and are changed if none are named. */
static int holds_arg(struct change *c, uint32_t id, unsigned own, uint8_t *ret, struct err *err)
{
	const char *text = arg_text(c, "holds");
	int rc = text && *text ? letters_parse("holds", JOB_HOLDS, text, ret, err) : 0;

	if (rc == 0 && !(text && *text))
		*ret = (uint8_t)own;
	if (rc < 0)
		return rc;
	if ((rc = holds_check(c, id, *ret & ~own, err)) < 0)
		return rc;
	return entry_ended(c->s, id) ? ended_error(err) : 0;
}

static int do_hold(struct change *c, uint32_t id, struct err *err)
{
	uint8_t bits;
	int rc = holds_arg(c, id, BLOCK_USER, &bits, err);

	if (rc < 0)
		return rc;
	/* A manager's hold is not the server's any more, which the job's owner may release. */
	entry_event(c->s, id, EVENT_HOLDS,
		    &(struct payload){.holds = entry_get(c->s, id)->holds | bits,
				      .failed = bits & BLOCK_SYSTEM,
				      .text = "held",
				      .who = c->w->user});
	if (runs(c->s, id)) /* it is held once it is requeued */
		return 0;
	block_set(c->s, id, bits);
	if (bits & BLOCK_SYSTEM) {
		failures_update(c->s, id);
		block_clear(c->s, id, BLOCK_RETRY);
	}
	return 0;
}

/* Releases holds. That of the system after failed starts may also be released by the job's owner,
 * who may have removed the cause. */
static int do_release(struct change *c, uint32_t id, struct err *err)
{
	uint8_t bits;
	int rc = holds_arg(c, id, BLOCK_USER | (held_by_failures(entry_get(c->s, id)) ? BLOCK_SYSTEM : 0), &bits, err);

	if (rc < 0)
		return rc;
	entry_event(c->s, id, EVENT_HOLDS,
		    &(struct payload){.holds = entry_get(c->s, id)->holds & (uint8_t)~bits,
				      .failed = bits & BLOCK_SYSTEM,
				      .text = "released",
				      .who = c->w->user});
	failures_update(c->s, id);
	block_clear(c->s, id, bits & BLOCK_SYSTEM ? bits | BLOCK_RETRY : bits);
	return 0;
}

static int signal_parse(const char *text, int *ret)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text && !*end && n >= 0 && n < NSIG) {
		*ret = (int)n;
		return 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	if (strcasecmp(text, "suspend") == 0)
		text = "STOP";
	if (strcasecmp(text, "resume") == 0)
		text = "CONT";
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && strcasecmp(text, sigabbrev_np(i)) == 0) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

static int do_signal(struct change *c, uint32_t id, struct err *err)
{
	const json_t *given = json_object_get(c->args, "signal");
	const char *text = json_is_integer(given) ? arena_printf(c->arena, "%lld", (long long)json_integer_value(given))
						  : json_string_value(given);
	struct signal_order o = {0};

	if (!text || signal_parse(text, &o.signal) < 0)
		return err_set(err, -EINVAL,
			       "signal \"%.30s\" is neither a name (TERM, SIGUSR1, suspend, resume) nor a number",
			       text ? text : "");
	if (entry_ended(c->s, id))
		return ended_error(err);
	if (!runs(c->s, id))
		return state_error(c->s, id, "only a running job can be sent a signal", err);
	attempt_tag(c->s, id, entry_job(c->s, id)->attempt, o.tag);
	if (o.signal)
		vec_push(&c->s->post->signals, o);
	entry_event(c->s, id, o.signal == SIGSTOP || o.signal == SIGCONT ? EVENT_SUSPEND : EVENT_NOTE,
		    &(struct payload){.suspended = o.signal == SIGSTOP,
				      .text = arena_printf(c->arena, "signal %s sent", text),
				      .who = c->w->user});
	return 0;
}

static int do_rerun(struct change *c, uint32_t id, struct err *err)
{
	struct payload p = {.intent = INTENT_RERUN, .drops = true, .who = c->w->user};
	const struct spec *spec = entry_get(c->s, id)->spec;
	int rc = 0;

	if (entry_ended(c->s, id))
		return ended_error(err);
	if (!runs(c->s, id))
		return state_error(c->s, id, "only a running job can be run again", err);
	if (!spec->rerunnable)
		return state_error(c->s, id, "it is not rerunnable (-r n)", err);
	p.billed = c->w->uid == spec->uid;
	if (p.billed)
		rc = quotas_rerun(c->s, id, ran_until_now(c->s, id), &p.paid, err);
	if (rc == 0)
		job_kill(c->s, id, &p);
	return rc;
}

/* Reads "n1+n2", the set of nodes that a job is to start on; NODES_ALL: not given. */
static int nodes_arg(struct change *c, uint32_t *ret, struct err *err)
{
	const char *text = arg_text(c, "nodes");
	struct cluster *cluster = c->s->cluster;
	bool *has;

	*ret = NODES_ALL;
	if (!text || !*text)
		return 0;
	has = arena_alloc(c->arena, cluster->nodes.n * sizeof *has);
	for (const char *p = text; *p; p += strspn(p, "+, ")) {
		size_t n = strcspn(p, "+, ");
		const char *name = arena_strndup(c->arena, p, strcspn(p, "+, /:"));
		uint32_t node;
		if (!names_find(&cluster->node_names, name, &node)) {
			return err_code(err, CODE_UNKNOWN_NODE, "There is no node %.60s.", name);
		}
		has[node] = true;
		p += n;
	}
	*ret = cluster_nodeset(cluster, has, (uint32_t)cluster->nodes.n, false);
	return 0;
}

static int do_run(struct change *c, uint32_t id, struct err *err)
{
	struct server *s = c->s;
	const struct queue *q = queue_of(s, entry_get(s, id)->spec->queue);
	bool held = entry_job(s, id)->state == STATE_HELD;
	uint32_t on;
	int rc;

	if (entry_ended(s, id))
		return ended_error(err);
	if (runs(s, id))
		return state_error(s, id, "it runs already", err);
	if (gate_blocks(s->gate, id) & ~(unsigned)(BLOCK_QUEUE | BLOCK_RETRY))
		return state_error(s, id, "it is held, or waits for its time or for other jobs", err);
	if (queue_is_remote(word_text(s, entry_get(s, id)->spec->queue)))
		return state_error(s, id, "it waits to be handed over to another site: qmove moves it to a queue here",
				   err);
	if (q && admit_routes(&q->attrs))
		return state_error(s, id, "it waits in a routing queue, where no job runs: qmove moves it to another",
				   err);
	if ((rc = nodes_arg(c, &on, err)) < 0)
		return rc;
	if (held)
		sched_release(s->sched, id, s->clock->now);
	if (!sched_run(s->sched, id, on, s->clock->now)) {
		if (held)
			sched_hold(s->sched, id, s->clock->now);
		return state_error(s, id, "it does not fit now ('shunt why' shows what is in its way)", err);
	}
	gate_leave(s->gate, id); /* whatever blocked it */
	entry_event(s, id, EVENT_NOTE, &(struct payload){.text = "started before its turn", .who = c->w->user});
	s->turn->dirty = true;
	return 0;
}

/* Returns the role for a move. A user who coordinates both the job and the target queue may move it
 * regardless of its owner. */
static enum mover mover_to(const struct change *c, uint32_t id, const char *queue)
{
	const struct spec *p = entry_get(c->s, id)->spec;

	if (asker_may(c->s, c->w, ACT_EXCEED, p))
		return MOVER_OPERATOR;
	return asker_may(c->s, c->w, ACT_HOLD_OTHER, p) && coordinates_queue(c->s, c->w->party, word_add(c->s, queue))
		       ? MOVER_COORDINATOR
		       : MOVER_OWNER;
}

static int do_move(struct change *c, uint32_t id, struct err *err)
{
	struct server *s = c->s;
	const char *name = arg_text(c, "queue");
	int rc;

	if (entry_ended(s, id))
		return ended_error(err);
	if (runs(s, id))
		return state_error(s, id, "a running job can't be moved", err);
	if (name && (rc = queue_resolve(s, name, c->arena, &name, err)) < 0)
		return rc;
	if (entry_away(entry_get(s, id)) && (!name || !queue_named(s, name)))
		return away_refuse(s, id, err);
	if (entry_away(entry_get(s, id)))
		return away_return(s, id, name, c->w->user, err);
	if (!name || (!queue_is_remote(name) && !queue_named(s, name)))
		return err_code(err, CODE_UNKNOWN_QUEUE, "Unknown queue %.60s.", name ? name : "\"\"");
	trial_enter(s, &c->trial);
	rc = job_move(s, id, name, mover_to(c, id, name), c->w->user, c->arena, err);
	trial_leave(s);
	trial_end(s, &c->trial, rc == 0);
	return rc;
}

static int append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc = 0; /* it may be a FIFO */

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", text) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int do_message(struct change *c, uint32_t id, struct err *err)
{
	struct server *s = c->s;
	const char *text = arg_text(c, "text"), *to = arg_text(c, "to"), *out, *error;
	json_t *body = NULL;
	int rc = 0;

	if (entry_ended(s, id))
		return ended_error(err);
	if (!runs(s, id))
		return state_error(s, id, "only a running job has output to write to", err);
	if (s->instance->multi && entry_get(s, id)->spec->uid != s->instance->uid) {
		return err_code(err, CODE_BAD_STATE, "in a system instance the server can't write into users' files");
	}
	rc = body_read(s, id, &body, err);
	if (rc < 0)
		return rc;
	output_paths(s, id, body, c->arena, &out, &error);
	if (!to || strcmp(to, "out") != 0)
		rc = append(error ? error : out, text);
	if (rc == 0 && to && strcmp(to, "err") != 0)
		rc = append(out, text);
	json_decref(body);
	return rc < 0 ? err_set(err, rc, "%s: %s", out, strerror(-rc)) : 0;
}

/* ---- alter ---- */

int change_subject(struct change *c, uint32_t id, json_t **ret, struct err *err)
{
	json_t *body = NULL, *asked;
	int rc = body_read(c->s, id, &body, err);

	if (rc < 0)
		return rc;
	asked = json_copy((json_t *)c->args);
	json_object_del(asked, "ids");
	json_object_del(asked, "filter");
	*ret = json_pack("{s:o, s:o}", "job", as_submission(c->s, id, body, 0), "asked", asked);
	json_decref(body);
	return 0;
}

static void last_forget(struct change *c)
{
	spec_unref(c->last.from);
	spec_unref(c->last.to);
	free(c->last.body);
	memset(&c->last, 0, sizeof c->last);
	trial_end(c->s, &c->trial, false);
}

/* Returns the name used in the paths of its output: fixed once the job was started, otherwise it
 * follows the job's name. */
static uint32_t files_name_after(struct server *s, const struct spec *old, const struct spec *p, bool running)
{
	if (strcmp(old->name, p->name) == 0)
		return old->files_name;
	if (!running)
		return 0;
	return old->files_name ? old->files_name : word_add(s, old->name);
}

static bool relation_has(const struct depends *d, enum depend_type type, const struct jobid *id)
{
	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t k = 0; d->v[i].type == type && k < d->v[i].nids; k++)
			if (d->v[i].id[k].number == id->number && d->v[i].id[k].index == id->index)
				return true;
	return false;
}

/* Refuses new "before" dependencies: they change the other jobs, which have to be altered
 * themselves, with their own checks. */
static int before_refuse(const struct server *s, uint32_t id, const struct spec *old, const struct spec *p,
			 struct err *err)
{
	unsigned long long number = job_key_number(entry_get(s, id)->key);
	struct depends before = {0}, now = {0};
	int rc = 0;

	if (old->depend)
		depends_parse(old->depend, &before, NULL);
	if (p->depend)
		depends_parse(p->depend, &now, NULL);
	for (uint32_t i = 0; i < now.n; i++)
		for (uint32_t k = 0; depend_is_before(now.v[i].type) && k < now.v[i].nids && rc == 0; k++)
			if (!relation_has(&before, now.v[i].type, &now.v[i].id[k]))
				rc = err_code(
					err, CODE_REFUSED,
					"depend: %s can be given only when a job is submitted; alter job %llu instead: depend=%s:%llu",
					depend_type_name(now.v[i].type), (unsigned long long)now.v[i].id[k].number,
					depend_type_name(depend_mirror(now.v[i].type)), number);
	depends_fini(&before);
	depends_fini(&now);
	return rc;
}

/* Counts dependencies against RELATIONS_MAX. Jobs altered one by one have separate texts, unlike
 * the elements of an array. */
static int relations_count(struct change *c, const struct spec *old, struct spec *p, struct err *err)
{
	if (p->depend && (!old->depend || strcmp(old->depend, p->depend) != 0))
		c->relations += depends_count(p->depend);
	if (p->depend && c->model && c->model->depend && strcmp(c->model->depend, p->depend) == 0)
		p->share = c->model->share;
	return c->relations <= RELATIONS_MAX
		       ? 0
		       : err_code(err, CODE_REFUSED,
				  "depend: one request sets at most %d relations: alter fewer jobs at once",
				  RELATIONS_MAX);
}

/* Determines the new spec of an altered job, into c->last. */
static int alter_read(struct change *c, uint32_t id, struct err *err)
{
	struct server *s = c->s;
	struct spec *old = entry_get(s, id)->spec, *p;
	struct asker owner = owner_of(s, old);
	struct submission x = {0};
	bool running = runs(s, id);
	int rc;

	last_forget(c);
	trial_enter(s, &c->trial);
	owner.role = c->w->role;
	owner.holds = entry_get(s, id)->holds | (asker_may(s, c->w, ACT_HOLD_OTHER, old) ? BLOCK_OTHER : 0);
	rc = alteration_read(s, &owner, id, c->args, c->arena, &x, err);
	p = x.spec;
	if (rc == 0)
		rc = holds_check(c, id, entry_get(s, id)->holds & ~p->holds, err);
	if (rc == 0 && coordinates_account(s, c->w->party, p->account))
		owner.lent = p->account;
	if (rc == 0 && running && (p->resources != old->resources || p->qos != old->qos))
		rc = err_code(err, CODE_BAD_STATE,
			      "of the resources of a running job only the walltime can be changed");
	if (rc == 0 && !running &&
	    (p->account != old->account || p->qos != old->qos || p->reservation != old->reservation))
		rc = job_access(s, &owner, p, c->arena, err);
	else if (rc == 0 && p->qos)
		access_preempt(s->objects, word_text(s, p->qos), &p->kind, &p->powers);
	if (rc == 0 && !running)
		rc = alter_check(s, &owner, id, &x, asker_may(s, c->w, ACT_EXCEED, old), c->arena, err);
	trial_leave(s);
	if (rc == 0)
		rc = before_refuse(s, id, old, p, err);
	if (rc == 0)
		rc = relations_count(c, old, p, err);
	if (rc == 0) {
		p->files_name = files_name_after(s, old, p, running);
		old->refs++;
		p->refs++;
		c->last.from = old;
		c->last.to = p;
		c->last.holds = entry_get(s, id)->holds;
		c->last.running = running;
		c->last.body = x.body;
		x.body = NULL;
	}
	submission_fini(&x);
	if (rc < 0)
		trial_end(s, &c->trial, false);
	return rc;
}

static void owner_add(struct change *c, uint32_t owner)
{
	for (size_t i = 0; i < c->owners.n; i++)
		if (c->owners.v[i] == owner)
			return;
	vec_push(&c->owners, owner);
	c->s->jobs->priorities = true;
}

/* Sets max_run_subjobs of the job's array, unless already set for an earlier element. *ret_only:
 * nothing else is to be altered. */
static int throttle(struct change *c, uint32_t id, bool *ret_only, struct err *err)
{
	struct array *a = array_find(c->s, job_key_number(entry_get(c->s, id)->key));
	int64_t limit = -1;
	int rc = throttle_get(c->args, &limit, err);

	*ret_only = limit >= 0 && json_object_size(c->args) ==
					  1u + !!json_object_get(c->args, "ids") + !!json_object_get(c->args, "filter");
	if (rc < 0 || limit < 0)
		return rc;
	if (!a)
		return err_set(err, -EINVAL, "max_run_subjobs: it is not an array");
	if (a->limit != limit)
		array_throttle(c->s, a, (uint32_t)limit, c->w->user);
	return 0;
}

static int do_alter(struct change *c, uint32_t id, struct err *err)
{
	struct server *s = c->s;
	const struct entry *e = entry_get(s, id);
	struct payload p = {.text = "altered", .who = c->w->user};
	bool only;
	int rc;

	if (entry_ended(s, id))
		return ended_error(err);
	if ((rc = throttle(c, id, &only, err)) < 0 || only)
		return rc;
	if (c->last.from && c->last.from == e->spec && c->last.holds == e->holds && c->last.running == runs(s, id)) {
		p.as = c->last.as;
	} else if ((rc = alter_read(c, id, err)) < 0) {
		return rc;
	}
	if (runs(s, id) && (rc = walltime_check(s, id, c->w, c->last.to->walltime,
						json_is_true(json_object_get(c->args, "force")), err)) < 0)
		return rc;
	p.spec = c->last.to;
	if ((rc = quotas_alter(s, id, p.spec, err)) < 0)
		return rc;
	if (runs(s, id) && p.spec->walltime != e->spec->walltime)
		p.text = walltime_words(e->spec->walltime, p.spec->walltime, c->arena);
	if (c->last.body)
		store_put_body(s->store, e->key, c->last.body);
	if (p.spec->priority != e->spec->priority)
		owner_add(c, p.spec->owner);
	trial_end(s, &c->trial, true);
	entry_alter(s, id, &p);
	p.spec->refs++;
	spec_unref(c->model);
	c->model = p.spec;
	hookrank_again(s, id);
	c->last.as = e->key;
	return 0;
}

void change_pause(struct change *c)
{
	last_forget(c);
	/* so that changes made so far take effect even after a crash */
	for (size_t i = 0; i < c->owners.n; i++)
		reorder_note(c->s, c->owners.v[i]);
}

void change_end(struct change *c)
{
	last_forget(c);
	for (size_t i = 0; i < c->owners.n; i++)
		reorder_later(c->s, c->owners.v[i]);
	vec_free(&c->owners);
	spec_unref(c->model);
	c->model = NULL;
}

/* ---- table of actions ---- */

static const struct action_kind actions[] = {
	{"delete", ACT_DELETE, do_delete, .ends = true, .whole = false},
	{"alter", ACT_ALTER, do_alter, .ends = false, .whole = true, .hooked = true},
	{"hold", ACT_HOLD, do_hold, .ends = false, .whole = false},
	{"release", ACT_HOLD, do_release, .ends = false, .whole = false},
	{"signal", ACT_SIGNAL, do_signal, .ends = false, .whole = false},
	{"rerun", ACT_RERUN, do_rerun, .ends = false, .whole = false},
	{"run", ACT_RUN, do_run, .ends = false, .whole = false},
	{"move", ACT_MOVE, do_move, .ends = false, .whole = true, .hooked = true},
	{"message", ACT_MESSAGE, do_message, .ends = false, .whole = false},
};

const struct action_kind *action_find(const char *name)
{
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}
