/*
 * claims.c - see claims.h.
 *
 * A claim takes the node from the scheduler as an administrator would: reservations on it are
 * planned again, and the node itself holds what runs there. When the node reports that its parts
 * have to leave, their jobs are put back into the queue: from a last checkpoint if they make
 * checkpoints, otherwise from the beginning. A job that may not run again stays, and waits for the
 * owner to leave.
 */
#include "server/link/claims.h"

#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/text.h"
#include "core/cluster.h"
#include "server/base/log.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/kill.h"
#include "server/life/world/lives.h"
#include "server/link/agents.h"
#include "server/link/nodes.h"
#include "server/node/nodes.h"
#include "server/node/owners.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "station/owner.h"

#define BY_OWNER "the owner of its node"

struct leavers {
	uint32_t node;
	job_vec jobs;
};

static void leaver_note(void *context, struct attempt *t)
{
	struct leavers *l = context;

	if (attempt_on(t, l->node))
		vec_push(&l->jobs, t->job);
}

static void jobs_leave(struct server *s, uint32_t node)
{
	struct leavers l = {.node = node};

	attempts_each(s, leaver_note, &l);
	for (size_t i = 0; i < l.jobs.n; i++) {
		const struct entry *e = entry_get(s, l.jobs.v[i]);
		const struct job *job = entry_job(s, l.jobs.v[i]);
		if (e->spec->rerunnable && !e->intent && (job->state == STATE_NOW || job->state == STATE_RUNNING))
			job_put_back(s, l.jobs.v[i], true, BY_OWNER);
	}
	vec_free(&l.jobs);
}

/* Sets the reason, which is cleaned because it is another machine's text and is shown to
 * everybody. */
static void why_set(struct node_owner *o, const json_t *news)
{
	const char *text = json_string_value(json_object_get(news, "why"));
	struct strbuf clean = {0};

	text_clean(&clean, text ? text : "", text ? strnlen(text, 200) : 0, TEXT_LINE);
	free(o->why);
	o->why = clean.n ? mem_strdup(clean.text) : NULL;
	strbuf_fini(&clean);
}

/* Returns true if there is something to store: once an hour, at the start and end of a claim,
 * and when GPUs change, but not at every heartbeat. */
static bool is_news(const struct node_owner *o, const json_t *news)
{
	const char *habit = json_string_value(json_object_get(news, "habit"));
	char known[HABIT_HOURS + 1];

	habit_text(&o->habit, known);
	return (habit && strcmp(habit, known) != 0) || owner_gpus_read(json_object_get(news, "gpus")) != o->gpus;
}

void claim_heard(struct server *s, uint32_t node, const json_t *news)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	bool claims = n->owner && json_is_true(json_object_get(news, "claims")),
	     changed = claims != node_claimed(&n->life);

	if (changed && claims)
		why_set(n->owner, news);
	if (changed && node_maybe(s, node, claims ? NODE_CLAIM : NODE_RELEASE,
				  &(struct cause){.reason = claims ? n->owner->why : NULL})) {
		server_log(s, SEVERITY_NOTICE, "node %s is %s its owner", names_get(&s->cluster->node_names, node),
			   claims ? "claimed by" : "released by");
		world_node_gate(s, node);
	}
	if (n->owner && news && (changed || is_news(n->owner, news))) {
		owner_take(n->owner, news);
		owner_plan(s, node);
		node_resize(s, node);
		changed = true;
	}
	if (changed)
		world_node_store(s, node);
	if (claims && json_is_true(json_object_get(news, "leave")))
		jobs_leave(s, node);
}

int claim_policy(struct server *s, uint32_t node, const char *policy, struct err *err)
{
	struct node_info *n = &s->hosts->nodes.v[node];
	struct owner_rules r;

	if (policy && *policy && owner_rules_parse(policy, &r, err) < 0)
		return -EINVAL;
	owner_policy_set(n, policy);
	owner_plan(s, node);
	agents_setting(s, node);
	node_resize(s, node); /* accounts for the owner's GPUs */
	if (!n->owner)
		claim_heard(s, node, NULL);
	return 0;
}
