/*
 * chores.c - see chores.h.
 */
#include "server/chores.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/timetext.h"
#include "engine/engine.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/sched.h"
#include "server/api/frame/api.h"
#include "server/api/frame/audience.h"
#include "server/api/jobs/acted.h"
#include "server/api/stream/events.h"
#include "server/api/stream/journal.h"
#include "server/api/stream/output.h"
#include "server/api/stream/terminal.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/audit.h"
#include "server/book/books.h"
#include "server/book/credits.h"
#include "server/book/ended.h"
#include "server/book/history.h"
#include "server/book/outbox.h"
#include "server/book/retention.h"
#include "server/book/sharing.h"
#include "server/job/attempt.h"
#include "server/job/failures.h"
#include "server/job/keys.h"
#include "server/life/enter/queues.h"
#include "server/life/peers/away.h"
#include "server/life/run/forget.h"
#include "server/life/run/hooked.h"
#include "server/life/wait/hookrank.h"
#include "server/life/wait/reservations.h"
#include "server/life/world/block.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/outage.h"
#include "server/link/agents.h"
#include "server/link/nodes.h"
#include "server/offline/offline.h"
#include "server/offline/spool.h"
#include "server/server.h"
#include "server/settings/overlays.h"
#include "server/settings/remotes.h"
#include "server/site/courier.h"

#define WAITER_US 200000 /* interval at which clients that wait for a change are served */

enum {
	IF_WRITABLE = 1 << 0, /* skipped while the store cannot be written */
	IF_MERGED = 1 << 1,   /* skipped until the changes made without a server are merged */
	IF_UNSLICED = 1 << 2, /* skipped if a slice was run since the last poll */
};

struct chore {
	enum stage stage;
	unsigned when;				   /* IF_... */
	void (*turn)(struct server *s);		   /* NULL: nothing to do */
	int64_t (*wake)(const struct server *s);   /* time of the next scheduler run, seconds */
	int64_t (*due_us)(const struct server *s); /* time of the next call, microseconds */
};

/* ---- adapters between a row and its subsystem ---- */

static int64_t scheduler_wake(const struct server *s)
{
	return attrs_bool(s->attrs, SET_SCHEDULING) ? sched_next_wake(s->sched) : TIME_NEVER;
}

static int64_t gate_wake(const struct server *s)
{
	return gate_next(s->gate);
}

static void sites_turn(struct server *s)
{
	if (s->remotes->list.n)
		courier_turn(s, away_any(s));
}

static void overlays_turn(struct server *s)
{
	if (s->overlays->list.n)
		keeper_turn(s, true);
}

static int64_t waiters_due(const struct server *s)
{
	return s->audience->waiters.n ? s->clock->now_us + WAITER_US : TIME_NEVER;
}

static int64_t sharing_due(const struct server *s)
{
	return sharing_reads(s) && !s->turn->trouble ? s->clock->now_us : TIME_NEVER;
}

/* Sweeps only after the first commit: until then the results that recovery read are only in the
 * live files. */
static void engine_sweep_once(struct server *s)
{
	if (!s->instance->swept)
		engine_sweep(s->engine, tag_known, s);
	s->instance->swept = true;
}

static void books_commit(struct server *s)
{
	outbox_commit(s->books->outbox);
	outbox_commit(s->books->journal);
}

static void books_turn(struct server *s)
{
	struct err err;

	for (int i = 0; i < 2; i++)
		if (outbox_turn(i ? s->books->journal : s->books->outbox, &err) != 0)
			server_log(s, SEVERITY_ERROR, "%s", err.text);
}

/* ---- the table ---- */

static const struct chore chores[] = {
	{.wake = scheduler_wake}, /* these are handled as part of deciding */
	{.wake = credits_next},

	{STAGE_DUE, .turn = block_due, .wake = gate_wake},
	{STAGE_DUE, .turn = failures_due, .wake = failures_next},
	{STAGE_DUE, .turn = nodes_turn, .wake = nodes_next},
	{STAGE_DUE, .turn = dispatch_overruns, .wake = dispatch_next},
	{STAGE_DUE, .turn = outage_turn, .wake = outage_next},
	{STAGE_DUE, .turn = reservations_turn, .wake = reservations_wake},
	{STAGE_DUE, .when = IF_WRITABLE, .turn = retention_turn, .due_us = retention_next},
	{STAGE_DUE, .when = IF_WRITABLE, .turn = audit_turn},
	{STAGE_DUE, .turn = offline_turn, .due_us = offline_next},
	{STAGE_DUE, .turn = spool_turn, .due_us = spool_next},
	{STAGE_DUE, .when = IF_WRITABLE | IF_MERGED, .turn = sites_turn},
	{STAGE_DUE, .when = IF_WRITABLE | IF_MERGED, .turn = overlays_turn},
	{STAGE_DUE, .when = IF_WRITABLE | IF_MERGED,
	 .turn = subkeys_turn}, /* merged changes need their keys, however old */
	{STAGE_DUE, .when = IF_WRITABLE | IF_MERGED, .turn = acted_turn},

	{STAGE_WORK, .turn = queues_turn},
	{STAGE_WORK, .when = IF_UNSLICED, .turn = works_turn},
	{STAGE_WORK, .turn = hookrank_turn, .wake = hookrank_next},

	{STAGE_COMMIT, .turn = journal_commit},
	{STAGE_COMMIT, .turn = books_commit},

	{STAGE_TELL, .turn = revoke_turn},
	{STAGE_TELL, .turn = dispatch_orders},
	{STAGE_TELL, .turn = engine_sweep_once},
	{STAGE_TELL, .turn = replies_send},
	{STAGE_TELL, .turn = books_turn},
	{STAGE_TELL, .turn = mails_send, .due_us = mails_next},
	{STAGE_TELL, .turn = hooks_send},
	{STAGE_TELL, .turn = stream_flush, .due_us = streams_next},
	{STAGE_TELL, .turn = output_turn, .due_us = waiters_due},
	{STAGE_TELL, .turn = usage_turn},
	{STAGE_TELL, .turn = terminals_turn},

	{STAGE_SETTLED, .turn = sharing_committed, .due_us = sharing_due},
	{STAGE_SETTLED, .turn = history_file, .due_us = history_next},
	/* here, so that the history on disk has a job before memory loses it */
	{STAGE_SETTLED, .turn = forgets_turn, .due_us = forgets_next},
};

static bool may(const struct server *s, const struct chore *c)
{
	return !((c->when & IF_WRITABLE && s->turn->trouble) || (c->when & IF_MERGED && s->turn->merging) ||
		 (c->when & IF_UNSLICED && s->slices->sliced));
}

void chores_do(struct server *s, enum stage stage)
{
	for (size_t i = 0; i < sizeof chores / sizeof *chores; i++)
		if (chores[i].stage == stage && chores[i].turn && may(s, &chores[i]))
			chores[i].turn(s);
}

int64_t chores_wake(const struct server *s)
{
	int64_t wake = TIME_NEVER, next;

	for (size_t i = 0; i < sizeof chores / sizeof *chores; i++)
		if (chores[i].wake && (next = chores[i].wake(s)) < wake)
			wake = next;
	return wake;
}

int64_t chores_due_us(const struct server *s)
{
	int64_t due = TIME_NEVER, next;

	for (size_t i = 0; i < sizeof chores / sizeof *chores; i++)
		if (chores[i].due_us && (next = chores[i].due_us(s)) < due)
			due = next;
	return due;
}
