/*
 * standby.c - several servers on one store (PostgreSQL): which one leads, what the others do, and
 * how a leader keeps the lead.
 *
 *	starts -> another leads: stands by, asks every second
 *	-> takes over: a normal start, with its open sockets -> leads
 *
 * A leader has a lease of LEASE_MS, renewed by every commit and, without commits, by a timer. A
 * renewal waits for the current turn: a turn (input, a scheduling cycle, a commit) may take
 * LEASE_MS - KEEP_MS, 3.5 s, before the lease expires. A longer turn costs at most an unnecessary
 * take-over, never safety. Startup may take a minute (COMING_MS).
 *
 * When the lease has expired and cannot be renewed, another server may lead: nothing is sent any
 * more, no order, no answer, no pong; agents are disconnected, so that they find the other server.
 * If the store shows that another server leads, the process exits; its unit restarts it, and it
 * stands by. If no server has taken over, it continues where it was.
 *
 * Servers that can take over from each other do not run jobs themselves: such a job would be on the
 * machine of a failed server.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/code.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "net/link.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/link/agents.h"
#include "server/link/standby.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "server/site/tokens.h"
#include "store/store.h"
#include "tls/pki.h"

#define LEASE_MS 5000
#define KEEP_MS 1500
#define COMING_MS 60000
#define TRY_MS 1000	     /* interval at which a standby checks the lead */
#define RETRY_US 500000	     /* interval at which a leader retries an expired lease */
#define LOOK_US 10000000     /* interval at which new servers are looked for */
#define REGISTER_US 60000000 /* interval at which this server renews its registration */

/* State of the lead; owned by the server. */
struct lead {
	struct store_leader leader;
	bool standing;
	bool taken;	   /* it leads once the standby loop has ended */
	bool mute;	   /* a leader that cannot renew its lease */
	char trouble[512]; /* last problem that was logged */
	int64_t retry_us, look_us, register_us;
	uv_timer_t timer;
	uv_check_t check;
};

bool lead_leased(const struct server *s)
{
	return strcmp(store_kind(s->store), "postgres") == 0;
}

bool lead_standing(const struct server *s)
{
	return s->realm->lead && s->realm->lead->standing;
}

static const char *leader_name(const struct store_leader *l)
{
	return *l->address ? l->address : l->owner;
}

/* Logs each problem once. */
static void trouble_say(struct server *s, const char *what, const char *text)
{
	struct lead *l = s->realm->lead;

	if (strcmp(l->trouble, text) != 0)
		server_log(s, SEVERITY_ERROR, "%s: %s", what, text);
	snprintf(l->trouble, sizeof l->trouble, "%s", text);
}

static void trouble_end(struct lead *l)
{
	l->trouble[0] = '\0';
}

static void register_now(struct server *s, bool stopped)
{
	struct err err;

	s->realm->lead->register_us = s->clock->boot_us + REGISTER_US;
	if (realm_register(s, stopped, &err) < 0)
		server_log(s, SEVERITY_WARNING, "this server can't be registered for the others: %s", err.text);
}

/* ---- taking the lead ---- */

static int take(struct server *s, struct err *err)
{
	struct lead *l = s->realm->lead;
	struct store_leader now;
	int rc = store_lead(s->store, s->realm->owner, realm_address(s), (uint64_t)s->clock->now_us / 1000, COMING_MS,
			    &now, err);

	if (rc == 0)
		s->realm->epoch = now.epoch;
	if (rc == 0 || rc == -EBUSY)
		l->leader = now; /* otherwise the last known leader is still the best guess */
	return rc;
}

static int jobs_refuse(const struct server *s, const char *other, bool theirs, struct err *err)
{
	if (theirs)
		return err_set(
			err, -EPERM,
			"the server %s also uses this database, and runs jobs on its own machine, which would be lost if it fails: set 'nodes = none' in its configuration and start it again, then this one",
			other);
	return err_set(
		err, -EPERM,
		"the server %s also uses this database: where one server can take over from another, none may run jobs on its own machine. Set 'nodes = none' in %s (and join machines with 'shunt join'), or give this server a database of its own. One that was not stopped in order counts for ten minutes",
		other, s->instance->where.conf);
}

static int jobs_check(struct server *s, struct err *err)
{
	bool here = s->hosts->here > 0, there = false;
	struct store_leader now;
	const char *other;
	int rc = store_get_leader(s->store, &now, err);

	if (rc == 0)
		rc = realm_look(s, NULL, err);
	if (rc < 0)
		return rc;
	other = realm_other(s, here, &there);
	if (!other && here && now.left > 0 && strcmp(now.owner, s->realm->owner) != 0)
		other = leader_name(&now);
	return other && (here || there) ? jobs_refuse(s, other, there, err) : 0;
}

int lead_take(struct server *s, struct err *err)
{
	int rc;

	s->realm->lead = mem_zalloc(sizeof *s->realm->lead);
	snprintf(s->realm->owner, sizeof s->realm->owner, "%.63s:%.250s", s->instance->host, s->instance->where.state);
	realm_locate(s);
	clock_read(s);
	if (lead_leased(s) && (rc = jobs_check(s, err)) < 0)
		return rc;
	rc = take(s, err);
	/* both servers were started at the same moment */
	if (rc == -EBUSY && s->hosts->here && s->realm->lead->leader.left > 0)
		return jobs_refuse(s, leader_name(&s->realm->lead->leader), false, err);
	return rc;
}

/* ---- standing by ---- */

/* Adds the server to ask instead and, for users of this machine, a token to show there; but not
 * for a shutdown request, which is meant for this server. */
static void pass_add(struct server *s, const struct http_request *r, const char *leader, struct json *j)
{
	char pass[TOKEN_SIZE];
	struct strbuf servers = {0};

	if (request_remote(r) || !*realm_address(s) || strcmp(request_path(r), "/v1/shutdown") == 0 ||
	    !token_pass(s, request_peer(r).uid, pass))
		return;
	strbuf_printf(&servers, "%s%s%s", leader, *leader ? " " : "", realm_address(s));
	json_text(j, "servers", servers.text);
	json_text(j, "pass", pass);
	strbuf_fini(&servers);
}

static void refuse(struct server *s, struct http_request *r, const char *leader, const char *message)
{
	struct strbuf out = {0};
	struct json j;

	json_begin(&j, &out);
	json_open_object(&j, "error");
	json_text(&j, "code", code_row(CODE_NOT_LEADER)->word);
	json_text(&j, "message", message);
	if (*leader)
		json_text(&j, "leader", leader);
	if (lead_standing(s))
		pass_add(s, r, leader, &j);
	json_close_object(&j);
	json_close_object(&j);
	http_header(r, "Retry-After", "1");
	http_reply_strbuf(r, code_row(CODE_NOT_LEADER)->status, "application/json", &out);
}

/* Returns true for a shutdown request from a user who could also end the process with a signal. */
static bool told_to_stop(const struct server *s, const struct http_request *r)
{
	uid_t uid = request_peer(r).uid;

	return strcmp(request_method(r), "POST") == 0 && strcmp(request_path(r), "/v1/shutdown") == 0 &&
	       !request_remote(r) && (uid == 0 || uid == s->instance->uid);
}

static void standby_answer(struct server *s, struct http_request *r)
{
	const struct store_leader *l = &s->realm->lead->leader;
	bool other = l->left > 0 && !s->realm->lead->taken;
	char text[512];

	if (told_to_stop(s, r)) {
		server_log(s, SEVERITY_NOTICE, "asked to stop");
		s->turn->terminating = s->turn->dismissed = true;
		http_reply(r, 200, "application/json", "{}", 2);
		return;
	}
	if (other)
		snprintf(text, sizeof text, "This server stands by; %s leads.", leader_name(l));
	else
		snprintf(text, sizeof text, "This server stands by, and no other leads: it is about to take over.");
	refuse(s, r, other ? l->address : "", text);
}

bool lead_answers(struct server *s, struct http_request *r)
{
	clock_read(s);
	if (lead_standing(s))
		standby_answer(s, r);
	else if (!lead_holds(s))
		refuse(s, r, "",
		       "This server has lost touch with its database, and does not know whether it still leads.");
	else
		return false;
	return true;
}

static void standby_link(struct server *s, struct link *l)
{
	static const struct link_events nothing = {0};
	const struct store_leader *leader = &s->realm->lead->leader;

	link_events_set(l, &nothing, NULL);
	link_record(l, "sorry", &sorry_frame,
		    &(struct sorry){.reason = "this server stands by",
				    .retry = 1,
				    .leader = leader->left > 0 && !s->realm->lead->taken ? leader->address : NULL});
	link_close(l, "this server stands by");
}

/* Opens the port as soon as there is an authority, which the first server of a cluster creates. */
static void open_port(struct server *s)
{
	struct err err;
	int rc = realm_load(s, &err);

	if (rc == 0 && s->realm->authority.key)
		rc = realm_listen(s, lead_link, &err);
	if (rc < 0)
		trouble_say(s, "other machines can't be answered yet", err.text);
}

static void on_try(uv_timer_t *t)
{
	struct server *s = t->data;
	struct lead *l = s->realm->lead;
	char before[sizeof l->leader.owner];
	struct err err;

	clock_read(s);
	snprintf(before, sizeof before, "%s", l->leader.owner);
	int rc = take(s, &err);
	if (rc == 0) {
		server_log(s, SEVERITY_NOTICE, "this server leads now (epoch %llu)",
			   (unsigned long long)s->realm->epoch);
		l->taken = true;
		uv_stop(s->loop);
		return;
	}
	if (rc == -EBUSY && strcmp(before, l->leader.owner) != 0)
		server_log(s, SEVERITY_NOTICE, "%s leads now; this server stands by", leader_name(&l->leader));
	if (rc != -EBUSY) {
		trouble_say(s, "the database can't be asked who leads", err.text);
		return;
	}
	if (!s->realm->listener)
		open_port(s);
	else
		trouble_end(l);
	if (s->clock->boot_us >= l->register_us)
		register_now(s, false);
}

static void after_poll(uv_check_t *check)
{
	struct server *s = check->data;

	http_flush(s->http);
	if (s->turn->terminating)
		uv_stop(s->loop);
}

int standby_wait(struct server *s)
{
	struct lead *l = s->realm->lead;

	l->standing = true;
	server_log(s, SEVERITY_NOTICE, "%s leads; this server stands by", leader_name(&l->leader));
	register_now(s, false);
	open_port(s);
	uv_timer_init(s->loop, &l->timer);
	uv_check_init(s->loop, &l->check);
	l->timer.data = l->check.data = s;
	uv_check_start(&l->check, after_poll);
	uv_timer_start(&l->timer, on_try, TRY_MS, TRY_MS);
	uv_run(s->loop, UV_RUN_DEFAULT);
	if (s->turn->terminating)
		users_stop(s);
	http_flush(s->http);
	/* not earlier: input at the end of the loop would be answered without jobs and tokens,
	 * which are read only now */
	l->standing = !l->taken;
	uv_close((uv_handle_t *)&l->check, NULL);
	uv_timer_stop(&l->timer);
	return l->standing;
}

/* ---- leading ---- */

void lead_deposed(const struct server *s, const struct err *err)
{
	/* Nothing may be sent or ordered any more. */
	server_log(s, SEVERITY_ERROR, "stopping at once: %s; the lease was renewed last %.1f s ago", err->text,
		   (double)(s->clock->boot_us - store_kept(s->store)) / 1e6);
	_exit(1);
}

static void fall_silent(struct server *s, const struct err *err)
{
	struct lead *l = s->realm->lead;

	if (!l->mute)
		server_log(
			s, SEVERITY_ERROR,
			"the lease was renewed last %.1f s ago, another server may lead: sending nothing until it is renewed (%s)",
			(double)(s->clock->boot_us - store_kept(s->store)) / 1e6, err->text);
	l->mute = true;
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++)
		if (agent_connected(&s->hosts->nodes.v[i]))
			agents_cut(s, i, 1, "this server has lost touch with its database");
}

bool lead_holds(struct server *s)
{
	struct lead *l = s->realm->lead;
	struct err err;

	if (!l)
		return true;
	if (!store_leads(s->store)) {
		if (s->clock->boot_us < l->retry_us)
			return false;
		int rc = store_keep(s->store, LEASE_MS, &err);
		if (rc == -ESTALE)
			lead_deposed(s, &err);
		clock_read(s); /* it may have taken seconds */
		l->retry_us = s->clock->boot_us + RETRY_US;
		if (rc < 0) {
			fall_silent(s, &err);
			return false;
		}
	}
	if (l->mute)
		server_log(s, SEVERITY_NOTICE, "the lease is renewed: this server still leads");
	l->mute = false;
	return true;
}

/* Looks for new and stopped servers, so that agents know where to find another. */
static void look(struct server *s)
{
	bool changed = false;
	struct err err;

	s->realm->lead->look_us = s->clock->boot_us + LOOK_US;
	if (realm_look(s, &changed, &err) == 0 && changed)
		agents_settings(s);
	if (s->clock->boot_us >= s->realm->lead->register_us)
		register_now(s, false);
}

static void on_keep(uv_timer_t *t)
{
	struct server *s = t->data;
	struct lead *l = s->realm->lead;
	struct err err;
	int rc = 0;

	clock_read(s);
	if (s->clock->boot_us - store_kept(s->store) >= KEEP_MS * 900 &&
	    store_leads(s->store)) /* no commit has renewed it */
		rc = store_keep(s->store, LEASE_MS, &err);
	if (rc == -ESTALE)
		lead_deposed(s, &err);
	if (rc < 0)
		trouble_say(s, "the lease can't be renewed", err.text);
	else
		trouble_end(l);
	if (rc == 0 && s->clock->boot_us >= l->look_us && lead_holds(s))
		look(s);
	uv_timer_start(t, on_keep, rc < 0 || l->mute ? RETRY_US / 1000 : KEEP_MS, 0);
}

int lead_start(struct server *s, struct err *err)
{
	struct lead *l = s->realm->lead;
	int rc = store_keep(s->store, LEASE_MS, err);

	if (rc < 0)
		return rc;
	register_now(s, false);
	if (!lead_leased(s))
		return 0;
	if (!l->timer.data)
		uv_timer_init(s->loop, &l->timer);
	l->timer.data = s;
	trouble_end(l);
	uv_timer_start(&l->timer, on_keep, KEEP_MS, 0);
	return 0;
}

void lead_end(struct server *s)
{
	struct err err;

	if (lead_leased(s))
		register_now(s, true);
	if (!s->realm->lead->standing && store_yield(s->store, &err) < 0)
		server_log(s, SEVERITY_WARNING, "the lead can't be handed over: %s (another server takes over in %d s)",
			   err.text, LEASE_MS / 1000);
}

void lead_link(void *context, struct link *l)
{
	if (lead_standing(context))
		standby_link(context, l);
	else
		agents_link(context, l);
}
