/*
 * nodes.c - the life of nodes with an agent: they join, connect, fall silent, are lost, come back,
 * are removed.
 *
 *	joining -> (hello) free, busy -> (node_down_after without a ping) down
 *	-> (node_lost_after, and a margin) lost
 *
 * Down: no job starts there, and nothing is concluded. Lost: the jobs there have ended by
 * themselves, since their leases have expired (docs/protocol.md), and may run elsewhere.
 *
 * That must be certain, or a job would run twice at once. So silence is counted from the last ping,
 * or from when this server began to lead, on a clock that is never set, and without the time during
 * which the server itself was stopped; it is compared with the longest lease of the jobs there; and
 * it does not count at all while the host may consider leases suspended because the server
 * announced that it stops.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/arena.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "core/reqtext.h"
#include "core/res.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "rules/attr.h"
#include "run/lease.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/job/attempt.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/kill.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/lives.h"
#include "server/life/world/world.h"
#include "server/link/agents.h"
#include "server/link/nodes.h"
#include "server/node/health.h"
#include "server/node/nodes.h"
#include "server/node/owners.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/revoke.h"

#define SECOND INT64_C(1000000)
#define MARGIN 10 /* seconds beyond a lease and the time it takes to end a job */
/* longer than any turn of the loop: the server was stopped, or its machine asleep */
#define STOPPED (30 * SECOND)
#define FACTS_MAX 65536

/* ---- facts ---- */

int facts_check(const json_t *facts, struct err *err)
{
	struct arena *a = arena_create();
	struct facts f;
	int rc;

	if (!json_is_object(facts) || json_dumpb(facts, NULL, 0, JSON_COMPACT) > FACTS_MAX)
		rc = err_set(err, -EINVAL, "the facts about a node must be an object of at most %d bytes", FACTS_MAX);
	else
		rc = record_read(facts_checked.fields, facts_checked.in, facts, &f, a, err);
	if (rc == 0 && json_object_get(facts, "os_cpus") && f.nos_cpus != f.cpus)
		rc = err_set(err, -EINVAL, "os_cpus must have a number for each of the node's CPUs");
	for (int i = 0; rc == 0 && i < f.nos_cpus; i++)
		if (f.os_cpus[i] > 65535)
			rc = err_set(err, -EINVAL, "os_cpus must be numbers from 0 to 65535");
	arena_destroy(a);
	return rc;
}

static int64_t least(int64_t limit, int64_t n)
{
	return limit >= 0 && limit < n ? limit : n;
}

/* Returns the resources that the administrator lets the node offer. */
static struct res node_total(const struct node_info *n, const json_t *facts)
{
	struct res total = {{0}};
	struct facts f;
	int64_t gpus;

	record_load(facts_counted.fields, facts_counted.in, facts, &f, NULL, NULL);
	gpus = least(n->gpus_limit, f.gpus);
	total.v[RES_MEM] = f.memory;
	total.v[RES_GPU] = gpus - __builtin_popcountll(owner_gpus_of(n, gpus));
	total.v[RES_DISK] = f.disk;
	total.v[RES_SWAP] = f.swap;
	world_node_total(n, least(n->cpus_limit, f.cpus), &total);
	return total;
}

struct res node_size(const struct node_info *n)
{
	return node_total(n, n->agent->facts);
}

void node_resize(struct server *s, uint32_t node)
{
	struct res total = node_size(&s->hosts->nodes.v[node]);

	if (res_equal(&total, &s->cluster->nodes.v[node].total))
		return;
	world_node_size(s, node, &total);
	world_changed(s);
}

void node_facts(struct server *s, uint32_t node, const json_t *facts)
{
	struct agent *a = s->hosts->nodes.v[node].agent;

	if (json_equal(a->facts, facts))
		return;
	json_decref(a->facts);
	a->facts = json_deep_copy(facts);
	node_resize(s, node);
	world_node_store(s, node);
}

/* ---- in the store ---- */

static void agent_free(struct agent *a)
{
	if (!a)
		return;
	json_decref(a->facts);
	free(a);
}

/* Makes the agent of a machine that joins by a name that was there. Until it connects, files of
 * jobs that start meanwhile are sent where the last one was. */
static struct agent *agent_replace(struct server *s, struct agent *old, const json_t *facts)
{
	struct agent *a = agent_create(s, facts);

	if (old)
		memcpy(a->address, old->address, sizeof a->address);
	agent_free(old);
	return a;
}

/* ---- leases ---- */

struct leases {
	const struct server *s;
	uint32_t node;
	size_t n;
	int64_t longest; /* seconds until the last of them has expired */
	bool again;	 /* one of the jobs may run again */
	bool endless;	 /* a job that may run again has no lease */
};

static void lease_one(void *context, struct attempt *t)
{
	struct leases *l = context;

	if (!attempt_on(t, l->node))
		return;
	l->n++;
	if (t->lease + t->grace > l->longest)
		l->longest = t->lease + t->grace;
	if (!entry_get(l->s, t->job)->spec->rerunnable)
		return;
	l->again = true;
	l->endless = l->endless || t->lease == 0;
}

static struct leases node_leases(const struct server *s, uint32_t node)
{
	struct leases l = {.s = s, .node = node};

	attempts_each(s, lease_one, &l);
	return l;
}

/* Returns true if the agent is temporary and does not come back once it has ended. */
static bool is_guest(const struct agent *a)
{
	return json_is_true(json_object_get(a->facts, "guest"));
}

/* Returns the boot_us at which the attempts on a node may be given up; INT64_MAX: never. Leases
 * are suspended on a host that received "bye"; a guest still ends its jobs some time after it
 * last heard a server. */
static int64_t lost_at(const struct server *s, uint32_t node)
{
	const struct agent *a = s->hosts->nodes.v[node].agent;
	int64_t from = a->heard_us > s->realm->lead_us ? a->heard_us : s->realm->lead_us;
	int64_t after = attrs_number(s->attrs, SET_NODE_LOST_AFTER), least, soonest, at;
	struct leases l = node_leases(s, node);

	if (s->hosts->nodes.v[node].life.link == LINK_LOST || (a->bye && !is_guest(a)) || after <= 0 || l.n == 0 ||
	    l.endless)
		return INT64_MAX;
	if (a->bye && after < GUEST_ALONE_MOST)
		after = GUEST_ALONE_MOST;
	least = after + attrs_number(s->attrs, SET_KILL_DELAY);
	at = from + ((l.longest > least ? l.longest : least) + MARGIN) * SECOND;
	/* a host whose server was away calls rarely: a new server waits for the first call */
	soonest = from + (CALL_PAUSE_MOST + CALL_WELCOME_MOST) * SECOND;
	return from == s->realm->lead_us && at < soonest ? soonest : at;
}

/* ---- joining, and leaving ---- */

/* Refuses a machine the name of a node on which jobs may still run, since its agent cannot know
 * of them. */
static int join_check_jobs(const struct server *s, uint32_t node, struct err *err)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	const char *name = names_get(&s->cluster->node_names, node);
	size_t jobs = node_joined(&n->life) && n->life.link != LINK_LOST ? node_leases(s, node).n : 0;
	int64_t at;
	char wait[80] = "";

	if (jobs == 0)
		return 0;
	if ((at = lost_at(s, node)) != INT64_MAX)
		snprintf(wait, sizeof wait, ", which %s given up in %lld s", jobs == 1 ? "is" : "are",
			 (long long)(at > s->clock->boot_us ? (at - s->clock->boot_us) / SECOND + 1 : 1));
	return err_code(
		err, CODE_BAD_STATE,
		"%zu job%s may still run on the machine that was node %s before%s: try again later, join by another name, "
		"or, if nothing of them runs, remove that node by force",
		jobs, jobs == 1 ? "" : "s", name, wait);
}

static int join_check(struct server *s, const char *name, const json_t *facts, struct err *err)
{
	uint32_t node;

	if (!conf_node_name_good(name))
		return err_set(err, -EINVAL,
			       "\"%.60s\" can't be a node's name: up to 63 letters, digits, '.', '-' and '_'", name);
	if (facts_check(facts, err) < 0)
		return -EINVAL;
	if (!names_find(&s->cluster->node_names, name, &node))
		return 0;

	const struct node_info *n = &s->hosts->nodes.v[node];

	if (!node_joined(&n->life) && !node_gone(&n->life))
		return err_code(err, CODE_BAD_STATE, "the server's configuration has a node %s: join by another name",
				name);
	if (agent_connected(n))
		return err_code(err, CODE_BAD_STATE,
				"a node %s is connected: join by another name, or remove that one first", name);
	if (node_leaving(&n->life) || (node_gone(&n->life) && !world_node_past(s, node)))
		return err_code(err, CODE_BAD_STATE,
				"the last jobs of an earlier node %s have not ended: try again later", name);
	return 0;
}

int nodes_join(struct server *s, const char *name, const json_t *facts, const char *by, uint64_t *join, struct err *err)
{
	struct res total = node_total(&(struct node_info){.cpus_limit = -1, .gpus_limit = -1}, facts);
	struct node_info *n;
	uint32_t node;
	char memory[32];
	int rc = join_check(s, name, facts, err);

	if (rc == 0 && *join == 0 && names_find(&s->cluster->node_names, name, &node))
		rc = join_check_jobs(s, node, err);
	if (rc < 0)
		return rc;
	if (!names_find(&s->cluster->node_names, name, &node)) {
		if ((rc = world_node_add(s, name, &total, err)) < 0)
			return rc;
		node = (uint32_t)s->hosts->nodes.n - 1;
	}
	if (*join == 0)
		/* 0 is the server's own machine */
		*join = s->hosts->next_join ? s->hosts->next_join : 1;
	if (s->hosts->next_join <= *join)
		s->hosts->next_join = *join + 1;
	n = &s->hosts->nodes.v[node];
	/* another machine, or one that has lost its key: revoke the old certificate */
	if (node_joined(&n->life) && n->join != *join)
		node_revoke(s, name, n->join, n->certified);
	n->agent = agent_replace(s, n->agent, facts);
	node_happens(s, node, NODE_JOIN, &(struct cause){.who = by}, NULL);
	n->join = *join;
	n->certified = s->clock->now + s->conf->certificate_life;
	n->leave_by = 0;
	total = node_total(n, facts);
	world_node_size(s, node, &total);
	world_changed(s);
	world_node_store(s, node);
	int64_t cpus = node_cpus(&s->cluster->nodes.v[node]), gpus = total.v[RES_GPU];
	server_log(s, SEVERITY_NOTICE, "node %s has joined: %lld CPU%s, %s, %lld GPU%s", name, (long long)cpus,
		   cpus == 1 ? "" : "s", memory_human(total.v[RES_MEM], memory, sizeof memory), (long long)gpus,
		   gpus == 1 ? "" : "s");
	return 0;
}

void node_certified(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];

	if (s->clock->now + s->conf->certificate_life > n->certified)
		n->certified = s->clock->now + s->conf->certificate_life;
	world_node_store(s, node);
}

/* Removes a node. Its record stays as long as events refer to it (main.c). */
static void node_leave(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];

	agents_cut(s, node, -1, "this node was removed from the cluster");
	node_revoke(s, names_get(&s->cluster->node_names, node), n->join, n->certified);
	agent_free(n->agent);
	n->agent = NULL;
	free(n->features);
	free(n->class);
	free(n->unwell);
	owner_forget(s, node);
	n->features = n->class = n->unwell = NULL;
	n->cpus_limit = n->gpus_limit = -1;
	n->shared = false;
	node_happens(s, node, NODE_GO, &(struct cause){.who = BY_SERVER}, NULL);
	world_node_store(s, node);
	world_node_size(s, node, &(struct res){0});
	cluster_drop_features(s->cluster, node);
	s->cluster->nodes.v[node].speed = SPEED_USUAL;
	world_changed(s);
	server_log(s, SEVERITY_NOTICE, "node %s was removed", names_get(&s->cluster->node_names, node));
}

struct found {
	uint32_t node;
	job_vec jobs;
	VEC(uint32_t) attempts;
	int64_t grace; /* longest time one of them may take to end, seconds */
};

static void find_one(void *context, struct attempt *t)
{
	struct found *f = context;

	if (!attempt_on(t, f->node))
		return;
	vec_push(&f->jobs, t->job);
	vec_push(&f->attempts, t->attempt);
	f->grace = t->grace > f->grace ? t->grace : f->grace;
}

/* Ends the jobs on a node; those that may run again return to the queue. */
static void node_empty(struct server *s, const struct found *f)
{
	for (size_t i = 0; i < f->jobs.n; i++) {
		uint32_t id = f->jobs.v[i];
		const struct job *job = entry_job(s, id);
		if (job->attempt != f->attempts.v[i] || (job->state != STATE_NOW && job->state != STATE_RUNNING))
			job_kill_again(s, id, f->attempts.v[i]);
		else
			job_kill(s, id,
				 &(struct payload){.intent = entry_get(s, id)->spec->rerunnable ? INTENT_RERUN
												: INTENT_DELETE,
						   .who = "the administrator, who removed its node"});
	}
}

int nodes_remove(struct server *s, uint32_t node, enum removal how, const char *by, struct err *err)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	const char *name = names_get(&s->cluster->node_names, node);
	struct found f = {.node = node};

	if (!node_joined(&n->life))
		return err_set(err, -EINVAL, "node %s is in the server's configuration: change nodes there", name);
	dispatch_withdraw(s, node);
	attempts_each(s, find_one, &f);
	if (f.jobs.n && how == REMOVE_IDLE) {
		vec_free(&f.attempts);
		size_t jobs = f.jobs.n;
		vec_free(&f.jobs);
		return err_code(
			err, CODE_BAD_STATE,
			"%zu job%s on node %s: take it offline and wait for the end, or remove it by force, which ends them",
			jobs, jobs == 1 ? " runs" : "s run", name);
	}
	node_maybe(s, node, NODE_LEAVE, &(struct cause){.who = by, .reason = how == REMOVE_DEAD ? "by force" : NULL});
	if (agent_connected(n) && !node_unheard(&n->life)) {
		node_empty(s, &f);
	} else if (f.jobs.n && how == REMOVE_DEAD) {
		node_maybe(s, node, NODE_LOSE,
			   &(struct cause){.who = by, .reason = "removed by force while it was not connected"});
		s->stats->hosts_lost++;
		engine_host_lost(s->engine, name);
	}
	if (f.jobs.n == 0) {
		node_leave(s, node);
	} else {
		world_changed(s);
		world_node_store(s, node);
	}
	s->hosts->agents_at = 0;
	vec_free(&f.jobs);
	vec_free(&f.attempts);
	return 0;
}

/* ---- pings ---- */

static void node_up(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	struct agent *a = n->agent;

	a->heard_us = s->clock->boot_us;
	a->heard = s->clock->now;
	s->hosts->agents_at = s->hosts->agents_at < s->clock->now + 1 ? s->hosts->agents_at : s->clock->now + 1;
	if (node_unheard(&n->life) && n->life.link != LINK_JOINED)
		server_log(s, SEVERITY_NOTICE, "node %s is up again", names_get(&s->cluster->node_names, node));
	node_maybe(s, node, NODE_CONNECT, &(struct cause){.reason = *a->address ? a->address : NULL});
	world_node_gate(s, node);
}

void node_arrived(struct server *s, uint32_t node, const json_t *facts, bool moved)
{
	struct agent *a = s->hosts->nodes.v[node].agent;
	bool news = a->bye || moved;

	a->since = s->clock->now;
	node_up(s, node);
	a->bye = false;
	node_facts(s, node, facts);
	if (news)
		world_node_store(s, node);
}

void node_heard(struct server *s, uint32_t node, const char *says)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	char health[201]; /* a program's text, which is shown to everybody */
	bool well = !says || !*says;

	snprintf(health, sizeof health, "%s", well ? "" : says);
	if (node_unheard(&n->life))
		node_up(s, node);
	n->agent->heard_us = s->clock->boot_us;
	n->agent->heard = s->clock->now;
	if (well ? !n->unwell : n->unwell && strcmp(n->unwell, health) == 0)
		return;
	if (well)
		server_log(s, SEVERITY_NOTICE, "the health check of node %s passes again",
			   names_get(&s->cluster->node_names, node));
	else
		server_log(s, SEVERITY_WARNING, "the health check of node %s reports: %s",
			   names_get(&s->cluster->node_names, node), health);
	free(n->unwell);
	n->unwell = well ? NULL : mem_strdup(health);
	node_maybe(s, node, well ? NODE_HEAL : NODE_FAIL, &(struct cause){.reason = n->unwell});
	world_node_store(s, node);
	world_node_gate(s, node);
}

/* ---- silence ---- */

static void node_lose(struct server *s, uint32_t node)
{
	struct agent *a = s->hosts->nodes.v[node].agent;
	const char *name = names_get(&s->cluster->node_names, node);

	server_log(s, SEVERITY_ERROR, "node %s is lost: no message for %lld s; giving up its jobs", name,
		   (long long)((s->clock->boot_us - a->heard_us) / SECOND));
	node_maybe(s, node, NODE_LOSE, &(struct cause){.who = BY_SERVER, .reason = "there was no word for too long"});
	s->stats->hosts_lost++;
	/* it sends its inventory when it comes back */
	agents_cut(s, node, 0, "there was no word for too long");
	engine_host_lost(s->engine, name);
}

bool node_expelled(const struct server *s, uint32_t node)
{
	const struct node_info *n = &s->hosts->nodes.v[node];

	return node_leaving(&n->life) && n->leave_by && n->leave_by <= s->clock->boot_us;
}

/* Removes a leaving node once its jobs have ended. A node that does not end them in time is shut
 * out: a compromised node must not stay by keeping a job. Jobs that may run again are given up
 * when their leases have expired, as on any silent node; on a guest whose agent is known to have
 * ended they are given up at once, since the lending cluster ends the rest with the allocation.
 * Returns true if the node is gone. */
static bool node_depart(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	struct found f = {.node = node};
	size_t jobs;

	attempts_each(s, find_one, &f);
	jobs = f.jobs.n;
	vec_free(&f.jobs);
	vec_free(&f.attempts);
	if (jobs == 0) {
		node_leave(s, node);
		return true;
	}
	if (!n->leave_by)
		n->leave_by = s->clock->boot_us + (f.grace + MARGIN) * SECOND;
	bool ended = !agent_connected(n) && n->agent->ended && is_guest(n->agent);
	if ((!ended && !node_expelled(s, node)) || n->life.link == LINK_LOST)
		return false;
	if (agent_connected(n))
		server_log(s, SEVERITY_WARNING, "node %s did not end its jobs when asked to: cutting its connection",
			   names_get(&s->cluster->node_names, node));
	agents_cut(s, node, -1, "this node was removed from the cluster");
	if (ended || !node_leases(s, node).again) {
		node_maybe(s, node, NODE_LOSE,
			   &(struct cause){.who = BY_SERVER,
					   .reason = ended ? "its agent has ended"
							   : "it was to end its jobs and has not"});
		s->stats->hosts_lost++;
		engine_host_lost(s->engine, names_get(&s->cluster->node_names, node));
	}
	return false;
}

/* Handles a node's silence; returns the boot_us of the next check. */
static int64_t node_watch(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	int64_t from = n->agent->heard_us > s->realm->lead_us ? n->agent->heard_us : s->realm->lead_us;
	int64_t down = from + attrs_number(s->attrs, SET_NODE_DOWN_AFTER) * SECOND, lost;

	if (node_leaving(&n->life) && node_depart(s, node))
		return INT64_MAX;
	if (!node_unheard(&n->life) && down <= s->clock->boot_us) {
		node_maybe(s, node, NODE_SILENCE, &(struct cause){.who = BY_SERVER});
		server_log(s, SEVERITY_WARNING, "node %s is down: no message for %lld s",
			   names_get(&s->cluster->node_names, node), (long long)((s->clock->boot_us - from) / SECOND));
		world_node_gate(s, node);
		dispatch_withdraw(s, node);
	}
	if (!node_unheard(&n->life))
		return node_leaving(&n->life) ? s->clock->boot_us + SECOND : down;
	lost = lost_at(s, node);
	if (lost <= s->clock->boot_us) {
		node_lose(s, node);
		lost = INT64_MAX;
	}
	return node_leaving(&n->life) ? s->clock->boot_us + SECOND : lost;
}

void nodes_turn(struct server *s)
{
	int64_t gap = s->hosts->agents_us ? s->clock->boot_us - s->hosts->agents_us : 0, next = INT64_MAX, at;

	s->hosts->agents_us = s->clock->boot_us;
	/* nothing was heard because the server was not running */
	for (uint32_t i = 0; gap > STOPPED && i < s->hosts->nodes.n; i++)
		if (s->hosts->nodes.v[i].agent)
			s->hosts->nodes.v[i].agent->heard_us += gap;
	if (gap > STOPPED)
		s->realm->lead_us += gap;
	if (s->hosts->agents_at > s->clock->now)
		return;
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		if (node_joined(&s->hosts->nodes.v[i].life) && (at = node_watch(s, i)) < next)
			next = at;
	s->hosts->agents_at = next == INT64_MAX ? TIME_NEVER : s->clock->now + (next - s->clock->boot_us) / SECOND + 1;
}

int64_t nodes_next(const struct server *s)
{
	return s->hosts->agents_at > s->clock->now ? s->hosts->agents_at : s->clock->now;
}

/* Records that hosts receive "bye" and then run jobs without a lease. The record must survive: a
 * new server must not give up such a host. */
void nodes_farewell(struct server *s)
{
	s->turn->farewell = true;
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		if (agent_connected(&s->hosts->nodes.v[i])) {
			s->hosts->nodes.v[i].agent->bye = true;
			world_node_store(s, i);
		}
}

/* Returns true if no order reaches the node, and none may for long: it is silent, or not connected
 * and removed, as by the cluster that lent it. */
static bool node_deaf(const struct node_info *n)
{
	return node_unheard(&n->life) || (node_joined(&n->life) && node_leaving(&n->life) && !agent_connected(n));
}

struct deaf {
	const struct server *s;
	size_t attempts; /* number of them with a part on such a node */
};

static void deaf_count(void *context, struct attempt *t)
{
	struct deaf *d = context;
	bool any = false;

	for (uint32_t i = 0; i < t->nfrags; i++)
		any |= node_deaf(&d->s->hosts->nodes.v[t->node[i]]);
	d->attempts += any;
}

bool nodes_emptied(struct server *s)
{
	struct deaf d = {.s = s};
	bool any = false;

	for (uint32_t i = 0; i < s->hosts->nodes.n && s->jobs->attempts.n; i++)
		any |= node_deaf(&s->hosts->nodes.v[i]);
	if (any && s->agenda->kills.n == 0)
		attempts_each(s, deaf_count, &d);
	if (d.attempts < s->jobs->attempts.n)
		return false;
	if (d.attempts)
		server_log(s, SEVERITY_WARNING,
			   "stopping although %zu job%s processes on nodes that do not answer: "
			   "they end when the server runs again, or with their leases",
			   d.attempts, d.attempts == 1 ? " has" : "s have");
	return true;
}

bool node_plain(const struct server *s, uint32_t node)
{
	const struct node_info *n = &s->hosts->nodes.v[node];

	return !node_withdrawn(&n->life) && !node_unheard(&n->life) && !n->unwell && !health_out(n) &&
	       !node_claimed(&n->life);
}

/* Returns true if all of a node is in use; also if a job has the whole machine but is on another
 * of its nodes. */
static bool node_busy(const struct server *s, uint32_t node)
{
	const struct node *n = &s->cluster->nodes.v[node];

	if (node_divided(n))
		return world_share_used(s, node) >= n->total.v[RES_SHARE];
	return s->plan->free_now[node] <= 0 || world_cpus_used(s, node) >= n->total.v[RES_CPU];
}

unsigned node_words(const struct server *s, uint32_t node)
{
	const struct node_info *n = &s->hosts->nodes.v[node];
	unsigned is = 0;

	if (node_plain(s, node))
		return 1U << (node_busy(s, node) ? WORD_BUSY : WORD_FREE);
	if (node_withdrawn(&n->life))
		is |= 1U << (world_cpus_used(s, node) > 0 ? WORD_DRAINING : WORD_OFFLINE);
	if (node_unheard(&n->life))
		is |= 1U << (n->life.link == LINK_JOINED ? WORD_JOINING : WORD_DOWN);
	if (n->unwell || health_out(n))
		is |= 1U << WORD_UNHEALTHY;
	if (node_claimed(&n->life))
		is |= 1U << WORD_CLAIMED;
	return is;
}

const char *node_word_name(enum node_word word_)
{
	static const char *const names[WORD_COUNT] = {"free", "busy",	 "offline",   "draining",
						      "down", "joining", "unhealthy", "claimed"};

	return names[word_];
}

const char *node_state(const struct server *s, uint32_t node)
{
	static char text[64];
	unsigned is = node_words(s, node);
	size_t n = 0;

	text[0] = '\0';
	for (enum node_word i = 0; i < WORD_COUNT; i++)
		if (is >> i & 1)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "," : "", node_word_name(i));
	return text;
}
