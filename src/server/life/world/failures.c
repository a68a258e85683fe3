/* failures.c - jobs that cannot be started or are lost, and nodes where that happens; failures.h
 * has the rules. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "engine/engine.h"
#include "plan/pack.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/sched.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/job/attempt.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/world/block.h"
#include "server/life/world/lives.h"
#include "server/life/world/world.h"
#include "server/node/health.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/server.h"

#define PAUSE_MOST 3600 /* seconds */
#define AVOID 6		/* factor by which a node is avoided longer than a job waits */
/* seconds of run time after which a lost job no longer counts as failing at every start */
#define LONG_RUN 3600
/* multiple of max_start_failures after which a job is held, however many nodes are left */
#define TOTAL_MOST 5
#define STRIKE_SECONDS 3600 /* age after which a failure does not count against a node */
#define STRIKES_MOST 32	    /* maximum strikes kept for a node */

/* Returns a pause that doubles with each step: base, 2 base, 4 base, ... */
static int64_t pause_of(int64_t base, uint32_t step)
{
	int64_t pause = base;

	for (uint32_t i = 1; i < step && pause < PAUSE_MOST; i++)
		pause *= 2;
	return pause < PAUSE_MOST ? pause : PAUSE_MOST;
}

/* ---- jobs ---- */

/* Returns the nodes the job may use: its set, minus those it avoids, minus `but`. */
static uint32_t allowed_now(struct server *s, const struct entry *e, int64_t but)
{
	const struct job_failures *f = e->failures;
	uint32_t set = spec_nodes(s, e->spec);
	size_t n = s->cluster->nodes.n;
	bool *has, any = but != NODE_ANY;

	for (size_t i = 0; f && i < f->avoids.n && !any; i++)
		any = f->avoids.v[i].until > s->clock->now;
	if (!any)
		return set;
	has = mem_alloc(n * sizeof *has);
	for (uint32_t i = 0; i < n; i++)
		has[i] = nodeset_has(&s->cluster->nodesets.v[set], i);
	for (size_t i = 0; f && i < f->avoids.n; i++)
		if (f->avoids.v[i].until > s->clock->now)
			has[f->avoids.v[i].node] = false;
	if (but != NODE_ANY)
		has[but] = false;
	set = cluster_nodeset(s->cluster, has, (uint32_t)n, set == NODES_ALL);
	free(has);
	return set;
}

/* Returns true if other nodes than this one could hold the job. */
static bool could_go_elsewhere(struct server *s, uint32_t id, int64_t node)
{
	const struct entry *e = entry_get(s, id);

	return node != NODE_ANY && e->spec->request != UINT32_MAX &&
	       world_could_hold_on(s, e->spec, allowed_now(s, e, node)) != FIT_NO;
}

/* Returns the time of the next try, which is earlier if a deadline leaves less time. */
static int64_t retry_at(const struct server *s, uint32_t id, uint32_t step)
{
	const struct job *job = entry_job(s, id);
	int64_t pause = pause_of(attrs_number(s->attrs, SET_START_RETRY), step);

	if (job->deadline != TIME_NEVER) {
		int64_t left = (cluster_latest(s->cluster, job) - s->clock->now) / 2;
		pause = left < 1 ? 1 : left < pause ? left : pause;
	}
	return s->clock->now + pause;
}

bool failures_decide(struct server *s, uint32_t id, const struct failure *f, struct retry *ret)
{
	const struct job *job = entry_job(s, id);
	struct job_failures *old = entry_get(s, id)->failures;
	const struct outcome *o = entry_get(s, id)->outcome;
	bool anew = !old || (f->lost && job->state == STATE_RUNNING && o &&
			     s->clock->boot_us - o->began_us >= LONG_RUN * INT64_C(1000000));
	uint32_t most = (uint32_t)attrs_number(s->attrs, SET_MAX_START_FAILURES);
	bool away = f->node != NODE_ANY && node_joined(&s->hosts->nodes.v[f->node].life) &&
		    (node_unheard(&s->hosts->nodes.v[f->node].life) || !agent_connected(&s->hosts->nodes.v[f->node]));
	bool nowhere = !could_go_elsewhere(s, id, f->node);
	bool own = f->lost ? !away : f->unclear; /* a host that went away is not the job's fault */

	*ret = (struct retry){.total = anew ? 1 : old->total + 1,
			      .rounds = (anew ? 0 : old->rounds) + (nowhere && f->reason && !f->lost),
			      .unclear = (anew ? 0 : old->unclear) + own,
			      .nowhere = nowhere};
	if (f->lost ? own : nowhere)
		ret->until = retry_at(s, id, ret->total);
	if (f->node != NODE_ANY && !nowhere && !away) {
		const struct avoidance *a = avoidance_find(old, (uint32_t)f->node);
		ret->node = (uint32_t)f->node;
		ret->count = a ? a->count + 1 : 1;
		ret->avoid = s->clock->now + AVOID * pause_of(attrs_number(s->attrs, SET_START_RETRY), ret->count);
	}
	return ret->rounds >= most || ret->unclear >= most || ret->total >= TOTAL_MOST * most;
}

void failures_comment(const struct failure *f, const struct retry *r, bool held, const char *reason, struct strbuf *out)
{
	char when[32];

	if (held)
		strbuf_printf(out, "held after %u %s%s: %s", r->total, f->lost ? "failure" : "failed start",
			      r->total == 1 ? "" : "s", reason);
	else if (f->lost)
		strbuf_printf(out, "%s: to be run again", reason);
	else
		strbuf_printf(out, "could not be started: %s", reason);
	if (!held && r->until)
		strbuf_printf(out, "; it will be retried at %s", instant_format(r->until, when, sizeof when));
}

bool failures_update(struct server *s, uint32_t id)
{
	const struct job_failures *f = entry_get(s, id)->failures;
	int64_t next = TIME_NEVER;

	sched_allow(s->sched, id, allowed_now(s, entry_get(s, id), NODE_ANY), s->clock->now);
	if (!f)
		return false;
	for (size_t i = 0; i < f->avoids.n; i++)
		if (f->avoids.v[i].until > s->clock->now && f->avoids.v[i].until < next)
			next = f->avoids.v[i].until;
	if (f->until > s->clock->now && f->until < next)
		next = f->until;
	if (next != TIME_NEVER)
		heap_push(&s->agenda->retries, next, id, 0);
	return f->until > s->clock->now;
}

void failures_text(const struct server *s, uint32_t id, struct strbuf *out)
{
	const struct job_failures *f = entry_get(s, id)->failures;
	char when[32];
	int n = 0;

	for (size_t i = 0; f && i < f->avoids.n; i++) {
		if (f->avoids.v[i].until <= s->clock->now)
			continue;
		strbuf_printf(out, "%s %s until %s", n++ ? "," : "; it avoids, since it failed there, node",
			      names_get(&s->cluster->node_names, f->avoids.v[i].node),
			      instant_format(f->avoids.v[i].until, when, sizeof when));
	}
}

/* ---- nodes ---- */

int64_t failures_node(const struct server *s, const struct attempt *t, const char *host)
{
	for (uint32_t i = 0; host && i < t->nfrags; i++) {
		uint32_t node = (uint32_t)t->node[i];
		if (strcmp(host, node_joined(&s->hosts->nodes.v[node].life) ? names_get(&s->cluster->node_names, node)
									    : HOST_HERE) == 0)
			return node;
	}
	return NODE_ANY;
}

void node_failures_text(const struct node_info *n, struct strbuf *out)
{
	const struct node_health *h = n->failing;
	char when[32];

	strbuf_printf(out, "jobs could not be started here, the last because: %s; it will be retried at %s",
		      h->reason ? h->reason : "no reason was given", instant_format(h->until, when, sizeof when));
}

/* Returns true if the node's failures are enough to take it out of service. */
static bool health_bad(const struct server *s, const struct node_health *h)
{
	int64_t limit = attrs_number(s->attrs, SET_NODE_START_FAILURES), sure = 0, all = 0;
	bool several = false; /* strikes of several owners */
	uint32_t owner = 0;

	if (limit <= 0)
		return false;
	if (h->step > 0 && !h->until) /* it is on probation */
		limit = 1;
	for (size_t i = 0; i < h->strikes.n; i++) {
		const struct strike *x = &h->strikes.v[i];
		if (x->disputed || x->time + STRIKE_SECONDS < s->clock->now)
			continue;
		several |= all > 0 && x->owner != owner;
		owner = x->owner;
		all++;
		sure += !x->unclear;
	}
	return sure >= limit || (all >= limit && several);
}

/* Takes the node in or out of service by its failures. */
static void health_judge(struct server *s, uint32_t node)
{
	struct node_health *h = s->hosts->nodes.v[node].failing;
	const char *name = names_get(&s->cluster->node_names, node);
	struct strbuf text = {0};
	bool bad = health_bad(s, h);

	if (bad && !h->until) {
		h->since = s->clock->now;
		h->until = h->since + pause_of(attrs_number(s->attrs, SET_NODE_RETRY), ++h->step);
		heap_push(&s->agenda->retries, h->until, node, TIMER_NODE);
		node_failures_text(&s->hosts->nodes.v[node], &text);
		server_log(s, SEVERITY_WARNING, "node %s is unhealthy: %s", name, text.text);
		node_maybe(s, node, NODE_FAIL, &(struct cause){.who = BY_SERVER, .reason = text.text});
		strbuf_fini(&text);
		world_node_gate(s, node);
	} else if (!bad && h->until) { /* the jobs failed elsewhere as well */
		h->until = 0;
		h->step--;
		server_log(s, SEVERITY_NOTICE,
			   "node %s is in service again: the jobs that failed there failed elsewhere as well", name);
		world_node_gate(s, node);
	}
	world_node_store(s, node);
}

static struct strike *strike_find(struct node_health *h, uint64_t job)
{
	for (size_t i = 0; h && i < h->strikes.n; i++)
		if (h->strikes.v[i].job == job)
			return &h->strikes.v[i];
	return NULL;
}

/* Marks a job's strikes on all nodes except `but`. Returns true if there were any. */
static bool strikes_dispute(struct server *s, uint64_t job, int64_t but, bool disputed)
{
	bool found = false;

	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		struct strike *x = i == but ? NULL : strike_find(s->hosts->nodes.v[i].failing, job);
		if (!x)
			continue;
		found = true;
		if (x->disputed == disputed)
			continue;
		x->disputed = disputed;
		health_judge(s, i);
	}
	return found;
}

void failures_blame(struct server *s, uint32_t id, const struct failure *f)
{
	const struct entry *e = entry_get(s, id);
	struct node_info *n = &s->hosts->nodes.v[f->node == NODE_ANY ? 0 : f->node];
	const struct avoidance *a = avoidance_find(e->failures, (uint32_t)f->node);
	struct strike *x;

	if (f->node == NODE_ANY || f->lost)
		return;
	s->stats->start_failures++;
	/* the connection may have been lost together with the order */
	if (!f->reason && (!a || a->count < 2))
		return;
	if (!n->failing)
		n->failing = mem_zalloc(sizeof *n->failing);
	x = strike_find(n->failing, e->key);
	if (!x) {
		if (n->failing->strikes.n == STRIKES_MOST)
			vec_remove(&n->failing->strikes, 0);
		vec_push(&n->failing->strikes, (struct strike){.job = e->key, .owner = e->spec->owner});
		x = &n->failing->strikes.v[n->failing->strikes.n - 1];
	}
	x->time = s->clock->now;
	x->unclear = f->unclear;
	free(n->failing->reason);
	n->failing->reason = f->reason ? mem_strdup(f->reason) : NULL;
	x->disputed = strikes_dispute(s, e->key, f->node, true);
	health_judge(s, (uint32_t)f->node);
}

void failures_started(struct server *s, uint32_t id)
{
	if (entry_get(s, id)->failures)
		strikes_dispute(s, entry_get(s, id)->key, NODE_ANY, false);
}

void failures_ran(struct server *s, const struct attempt *t)
{
	int64_t start = entry_job(s, t->job)->start;

	for (uint32_t i = 0; i < t->nfrags; i++) {
		uint32_t node = (uint32_t)t->node[i];
		const struct node_health *h = s->hosts->nodes.v[node].failing;
		bool later = h && !h->until;
		for (size_t k = 0; h && k < h->strikes.n; k++)
			later &= h->strikes.v[k].time < start;
		if (later)
			health_forget(s, node);
	}
}

void health_forget(struct server *s, uint32_t node)
{
	struct node_info *n = &s->hosts->nodes.v[node];

	if (!n->failing)
		return;
	if (n->failing->step) {
		server_log(s, SEVERITY_NOTICE, "node %s is healthy again", names_get(&s->cluster->node_names, node));
		node_maybe(s, node, NODE_HEAL, &(struct cause){.who = BY_SERVER});
	}
	health_free(n->failing);
	n->failing = NULL;
	world_node_gate(s, node);
	world_node_store(s, node);
}

/* Puts a node back into service for a trial: the next failure takes it out again, for longer. */
static void health_due(struct server *s, uint32_t node)
{
	struct node_health *h = s->hosts->nodes.v[node].failing;

	if (!h || !h->until || h->until > s->clock->now)
		return;
	h->until = 0;
	vec_clear(&h->strikes);
	server_log(s, SEVERITY_NOTICE, "trying node %s again", names_get(&s->cluster->node_names, node));
	world_node_gate(s, node);
	world_node_store(s, node);
}

/* ---- timers ---- */

void failures_due(struct server *s)
{
	struct heap_item x;

	while (heap_peek(&s->agenda->retries, &x) && x.time <= s->clock->now) {
		uint32_t id = (uint32_t)x.tie;
		heap_pop(&s->agenda->retries, &x);
		if (x.value == TIMER_NODE) {
			health_due(s, id);
			continue;
		}
		if (x.value == TIMER_CLOSE) {
			life_due(s, id);
			continue;
		}
		if (!entry_get(s, id)->spec || entry_ended(s, id) || entry_job(s, id)->state >= STATE_NOW)
			continue;
		if (!failures_update(s, id))
			block_clear(s, id, BLOCK_RETRY);
		s->turn->dirty = true;
	}
}

int64_t failures_next(const struct server *s)
{
	struct heap_item x;

	return heap_peek(&s->agenda->retries, &x) ? x.time : TIME_NEVER;
}
