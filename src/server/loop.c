/*
 * loop.c - a turn of the loop, always in this order:
 *
 *	1. callbacks have handled the input (requests, results, timers), reading the clock first
 *	2. the clock is read
 *	3. timed chores run: releases, overruns
 *	4. the scheduler decides
 *	5. everything is committed
 *	6. only then output leaves: replies, orders, signals, mails, streams, accounting
 *
 * When the store cannot be written, the turn stops after 5: nothing is sent, changes are refused,
 * reads continue, and the commit is tried again.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptors.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/ticks.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/audience.h"
#include "server/api/page/page.h"
#include "server/api/stream/events.h"
#include "server/api/stream/journal.h"
#include "server/api/stream/terminal.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/reserve.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/work.h"
#include "server/book/books.h"
#include "server/book/outbox.h"
#include "server/chores.h"
#include "server/job/jobs.h"
#include "server/life/world/decide.h"
#include "server/link/agents.h"
#include "server/link/nodes.h"
#include "server/link/standby.h"
#include "server/loop.h"
#include "server/meta.h"
#include "server/node/nodes.h"
#include "server/offline/offline.h"
#include "server/offline/view.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "server/site/who.h"
#include "store/store.h"

#define RETRY_US 500000
#define SLEEP_MAX_MS 15000
#define WAIT_FOR_STORE 20 /* seconds a request may wait for the store, unless its disk is full */
/* connections reserved for root and the server's account when all others are taken */
#define ROOT_RESERVE 32
#define BACKLOG 8 /* number of orders that keeps the engine busy */

/* maximum number of dependents visited in the turn in which another job starts or ends */
#define DEPEND_STEPS 400
/* how long a change that no client waits for may be delayed, to be committed with others */
#define COMPANY_US 10000

/* Returns true if the commit can wait: no client and no output waits for it, so starts and ends
 * of jobs may be written with later changes. Until then a result stays in its live file. */
static bool commit_later(struct server *s)
{
	/* with this many orders queued in the engine, another would only wait there instead of
	 * here */
	bool starts_wait = s->agenda->starts.n && engine_backlog(s->engine) < BACKLOG;
	bool urgent = s->turn->asked || s->post->replies.n || s->slices->works.n || starts_wait || s->post->signals.n ||
		      (s->audience->streams.n && !streams_rest(s)) || s->audience->waiters.n || s->turn->terminating ||
		      !s->instance->swept || !store_pending(s->store);

	if (urgent || (s->turn->commit_us && s->clock->now_us >= s->turn->commit_us)) {
		s->turn->commit_us = 0;
		return false;
	}
	if (!s->turn->commit_us)
		s->turn->commit_us = s->clock->now_us + COMPANY_US;
	return true;
}

static int changes_commit(struct server *s, struct err *err)
{
	int rc = offline_offer(s, err);

	return rc == 0 ? store_commit(s->store, err) : rc;
}

/* Returns true if everything is on disk. */
static bool turn_commit(struct server *s)
{
	struct err err = {.text = ""};
	int64_t begin = clock_us(CLOCK_MONOTONIC);
	int rc;

	chores_do(s, STAGE_COMMIT);
	/* what was written may be in files that were replaced meanwhile: then trouble lasts */
	if (!store_pending(s->store) && !s->turn->trouble)
		return true;
	if (s->turn->trouble && s->clock->now_us < s->turn->retry_us)
		return false;
	if (!s->turn->trouble)
		meta_next_store(s);
	rc = changes_commit(s, &err);
	if (rc == -ENOSPC && reserve_release(s))
		rc = changes_commit(s, &err);
	if (rc == -ESTALE)
		lead_deposed(s, &err);
	if (rc < 0) {
		s->stats->failed_commits++;
		if (!s->turn->trouble || strcmp(s->turn->trouble, err.text) != 0)
			server_log(s, SEVERITY_ERROR, "the store can't be written, changes wait: %s", err.text);
		free(s->turn->trouble);
		s->turn->trouble = mem_strdup(err.text);
		s->turn->full = rc == -ENOSPC;
		s->turn->retry_us = s->clock->now_us + RETRY_US;
		return false;
	}
	if (s->turn->trouble) {
		server_log(s, SEVERITY_NOTICE, "the store can be written again");
		free(s->turn->trouble);
		s->turn->trouble = NULL;
		s->turn->full = false;
	}
	s->stats->commits++;
	s->stats->committed = s->clock->now;
	s->stats->commit_us += clock_us(CLOCK_MONOTONIC) - begin;
	return true;
}

/* Fails replies that have waited too long for a store that cannot be written. */
static void give_up_replies(struct server *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->post->replies.n; i++) {
		struct reply_later *x = &s->post->replies.v[i];
		if (s->clock->boot_us - x->since < WAIT_FOR_STORE * INT64_C(1000000) && !store_lost(s->store) &&
		    !s->turn->terminating && !s->turn->full) {
			s->post->replies.v[kept++] = *x;
			continue;
		}
		http_error(
			x->r, CODE_OUTCOME_UNKNOWN,
			"The server can't write its store (%s). The request will be carried out if that is fixed while the server runs. Check before you repeat it; a submission with an Idempotency-Key can be repeated safely.",
			s->turn->trouble ? s->turn->trouble : "another server may lead");
		strbuf_fini(&x->body);
	}
	s->post->replies.n = kept;
}

/* Handles a timer that expired before the poll, which would otherwise wait for something else.
 * libuv runs timers before the poll; after a timer that expires in the poll, a turn has already
 * run and set the timer again. */
static void on_timer(uv_timer_t *t)
{
	struct server *s = t->data;

	s->turn->over = true;
}

/* Returns the milliseconds from now until an instant in microseconds, at least 1. */
static int64_t ms_until(const struct server *s, int64_t us)
{
	int64_t ms = (us - s->clock->now_us) / 1000 + 1;

	return ms < 1 ? 1 : ms;
}

/* Sets the timer to the next time at which there is work without input. */
static void sleep_set(struct server *s)
{
	int64_t due = chores_due_us(s), ms = SLEEP_MAX_MS;

	s->turn->wake = chores_wake(s);
	if (s->turn->wake <= due / 1000000)
		due = s->turn->wake * 1000000;
	if (s->turn->trouble && s->turn->retry_us < due)
		due = s->turn->retry_us;
	if (s->turn->commit_us && s->turn->commit_us < due)
		due = s->turn->commit_us;
	if (due < s->clock->now_us + SLEEP_MAX_MS * INT64_C(1000))
		ms = ms_until(s, due);
	/* sending has caused more changes */
	if (!s->turn->trouble && (s->turn->dirty || s->agenda->unsent || (journal_waits(s) && !s->turn->commit_us) ||
				  (store_pending(s->store) && !s->turn->commit_us)))
		ms = 0;
	uv_timer_start(&s->turn->timer, on_timer, (uint64_t)ms, 0);
}

static void loop_end(struct server *s)
{
	if (s->turn->stopped)
		return;
	s->turn->stopped = true;
	works_stop(s, "the server is shutting down");
	users_stop(s);
	agents_bye(s);
	http_flush(s->http);
	uv_stop(s->loop);
}

void server_turn(struct server *s)
{
	s->stats->turns++;
	clock_read(s);
	chores_do(s, STAGE_DUE);
	turn_spent(s, TURN_DUE);
	chores_do(s, STAGE_WORK);
	turn_spent(s, TURN_WORKS);
	/* a planned start or deadline is due, or a cycle continues */
	if (s->turn->wake <= s->clock->now || (s->turn->undecided && !s->slices->sliced))
		s->turn->dirty = true;
	s->slices->depend_steps = s->slices->slice_steps ? s->slices->slice_steps : DEPEND_STEPS;
	turn_decide(s);
	turn_spent(s, TURN_DECIDE);
	if (commit_later(s))
		return;
	bool stored = turn_commit(s);
	turn_spent(s, TURN_COMMIT);
	if (stored) {
		if (!store_pending(s->store))
			view_append(s);
		chores_do(s, STAGE_TELL);
		if (!store_pending(s->store))
			chores_do(s, STAGE_SETTLED);
	} else
		give_up_replies(s);
	/* Changes that could not be written were not acknowledged, so they may be dropped, as
	 * after a crash. */
	if (s->turn->terminating && !stored) {
		server_log(s, SEVERITY_ERROR,
			   "stopping although the store can't be written: changes that were not acknowledged are lost");
		loop_end(s);
	}
}

/* Runs a turn while another server may lead. Changes that are not in the store were reported to
 * nobody. */
static void silent_turn(struct server *s)
{
	give_up_replies(s);
	works_wait(s);
	http_flush(s->http);
	if (s->turn->terminating)
		loop_end(s);
	uv_timer_start(&s->turn->timer, on_timer, RETRY_US / 1000, 0);
}

/* Syncs the outbox files. Returns true if there is more to commit. */
static bool books_settle(struct server *s)
{
	bool more = outbox_settle(s->books->outbox);

	return outbox_settle(s->books->journal) || more;
}

static void turn(struct server *s)
{
	uint64_t requests = http_stats(s->http).requests;

	s->turn->over = false;
	if (s->turn->stopped)
		return;
	s->turn->asked = s->turn->requests != requests;
	s->turn->requests = requests;
	if (!lead_holds(s)) {
		silent_turn(s);
		return;
	}
	if (s->turn->terminating && !s->turn->farewell)
		nodes_farewell(s);
	turn_spent(s, TURN_CALLS);
	server_turn(s);
	s->slices->sliced = true;
	stream_tick(s);
	entered_tick(s);
	http_flush(s->http);
	if (s->turn->emptying || s->turn->terminating)
		journal_shutdown(s, false);
	if (s->turn->emptying && !s->turn->terminating)
		s->turn->terminating = nodes_emptied(s);
	if (s->turn->terminating && !store_pending(s->store) && !journal_shutdown(s, true) && !books_settle(s))
		loop_end(s);
	/* The requests that come now are answered in another turn, so the server must not stop in this
	 * one because of them. */
	if (!s->turn->stopped)
		http_send(s->http);
	turn_spent(s, TURN_TELL);
	sleep_set(s);
}

static void after_poll(uv_check_t *check)
{
	turn(check->data);
}

/* Runs a turn for input from timers and from the listener's own prepare callback, so that it
 * does not wait for the poll to end. */
static void before_poll(uv_prepare_t *prepare)
{
	struct server *s = prepare->data;

	if (s->turn->dirty || s->turn->over || s->turn->requests != http_stats(s->http).requests)
		turn(s);
	s->slices->sliced = false;
	/* keeps the poll from waiting; a timer started earlier would have expired by now */
	if ((works_ready(s) || s->turn->undecided || (s->turn->route && !s->turn->trouble)) && !s->turn->stopped)
		uv_timer_start(&s->turn->timer, on_timer, 0, 0);
	turn_count(s);
}

static void on_signal(uv_signal_t *h, int signal)
{
	struct server *s = h->data;

	server_log(s, SEVERITY_NOTICE, "signal %d: stopping; running jobs continue", signal);
	s->turn->terminating = true;
	s->turn->retry_us = 0;
}

static void on_hangup(uv_signal_t *h, int signal)
{
	server_log(h->data, SEVERITY_NOTICE, "signal %d: looking up users and groups again", signal);
	users_forget(h->data);
	page_renew(h->data);
}

/* Sends the last frames to the agents before the server exits, unless they do not read them. */
static void loop_drain(struct server *s)
{
	for (int i = 0; i < 50 && agents_unsent(s); i++) {
		uv_timer_start(&s->turn->timer, on_timer, 20, 0);
		uv_run(s->loop, UV_RUN_ONCE);
	}
}

/* Limits connections to the configured number, or to what leaves descriptors for jobs, nodes,
 * files and root. */
static void connections_bound(const struct server *s, struct http_limits *limits)
{
	int room = descriptors_left() / 3 + 4;

	limits->connections = (int)s->conf->api_connections;
	limits->per_uid = (int)s->conf->api_connections_per_user;
	limits->reserve = room / 4 < ROOT_RESERVE ? room / 4 : ROOT_RESERVE;
	if (limits->connections <= room)
		return;
	limits->connections = room;
	if (limits->per_uid > room / 2)
		limits->per_uid = room / 2;
	server_log(
		s, SEVERITY_WARNING,
		"this process may open few files (ulimit -n, LimitNOFILE): the API takes %d connections, and %d of a user, instead of %lld and %lld",
		limits->connections, limits->per_uid, (long long)s->conf->api_connections,
		(long long)s->conf->api_connections_per_user);
}

int loop_open(struct server *s, int listening, struct err *err)
{
	struct http_limits limits = {
		.body = (size_t)s->conf->api_body,
		.rate = (double)s->conf->api_rate,
		.idle_seconds = (int)s->conf->api_idle,
		.known = who_known,
	};
	int rc;

	connections_bound(s, &limits);
	rc = http_start(s->loop, listening, &limits, api_receive, s, &s->http, err);

	if (rc < 0)
		return rc;
	uv_signal_init(s->loop, &s->turn->term);
	uv_signal_init(s->loop, &s->turn->interrupt);
	uv_signal_init(s->loop, &s->turn->hangup);
	s->turn->term.data = s->turn->interrupt.data = s->turn->hangup.data = s;
	uv_signal_start(&s->turn->term, on_signal, SIGTERM);
	uv_signal_start(&s->turn->interrupt, on_signal, SIGINT);
	uv_signal_start(&s->turn->hangup, on_hangup, SIGHUP);
	return 0;
}

void loop_run(struct server *s)
{
	uv_check_init(s->loop, &s->turn->check);
	uv_prepare_init(s->loop, &s->turn->prepare);
	s->turn->check.data = s->turn->prepare.data = s;
	uv_check_start(&s->turn->check, after_poll);
	uv_prepare_start(&s->turn->prepare, before_poll);
	uv_timer_init(s->loop, &s->turn->timer);
	s->turn->timer.data = s;
	uv_timer_start(&s->turn->timer, on_timer, 1, 0);
	turn_count(s);
	/* recovery does not count as a turn */
	s->stats->turn_max_us = s->stats->turn_cpu_max_us = 0;
	s->stats->long_turns = 0;
	uv_run(s->loop, UV_RUN_DEFAULT);
	engine_flush(s->engine);
	loop_drain(s);
	/* the loop may run once more (view_end), but without turns */
	uv_prepare_stop(&s->turn->prepare);
	uv_check_stop(&s->turn->check);
	uv_timer_stop(&s->turn->timer);
	http_stop(s->http);
}
