/*
 * session.c - the connection to the server.
 *
 *	AWAY --call--> CALLS --hello--> GREETS --welcome--> LISTENS
 *	  ^ ------------- the link is closed: wait, then the next server ----- |
 *
 * The server must have a server's certificate, and be the leader: an epoch lower than one seen
 * before is an old leader's. Frames are sent in LISTENS; in GREETS they wait, since the inventory
 * already sent does not include them; otherwise they are dropped, since the next inventory will.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/guard.h"
#include "agent/health.h"
#include "agent/session_internal.h"
#include "base/codec.h"
#include "base/logline.h"
#include "base/members.h"
#include "base/rng.h"
#include "engine/files.h"
#include "engine/frames.h"
#include "net/handle.h"
#include "net/protocol.h"
#include "run/lease.h"
#include "run/live.h"

#define WAIT_LEAST 200			   /* ms between two calls at first */
#define WAIT_MOST (CALL_PAUSE_MOST * 1000) /* ms between two calls at most */
#define WELCOME_MS (CALL_WELCOME_MOST * 1000)
/* ms until the agent tries another server; without limit after several failures, or a busy server
 * would never be reached */
#define CALL_MS 3000
#define HEARTBEAT 5 /* default in seconds */
#define SILENCE_LEAST 3000
#define SAID_MS 600000 /* interval at which the log repeats why the server is not connected */
#define GUEST_MS (GUEST_ALONE_MOST * 1000)
#define SAID_MOST 16 /* maximum different reasons logged in that time */

static void session_call(struct session *s);

/* ---- which server to call, and when ---- */

static size_t servers_count(const struct member *m)
{
	for (size_t i = 0; i < m->servers.n; i++)
		if (strcmp(m->servers.v[i], m->joined_by) == 0)
			return m->servers.n;
	return m->servers.n + (*m->joined_by ? 1 : 0);
}

static void where_choose(struct session *s)
{
	const struct member *m = &s->a->member;
	size_t n = servers_count(m), i = n ? s->next++ % n : 0;

	if (*s->leader)
		snprintf(s->where, sizeof s->where, "%s", s->leader);
	else
		snprintf(s->where, sizeof s->where, "%s", i < m->servers.n ? m->servers.v[i] : m->joined_by);
	s->leader[0] = '\0';
}

static void on_call(uv_timer_t *t)
{
	session_call(t->data);
}

/* Returns true if a guest must stop: it does not wait forever on a machine that is not its own. */
static bool guest_over(struct session *s)
{
	struct agent *a = s->a;

	if (!a->member.guest || uv_now(a->loop) - s->left < GUEST_MS)
		return false;
	log_line(SEVERITY_WARNING, "no server has answered for %d s: ending all jobs here", GUEST_MS / 1000);
	s->stopping = true;
	orders_abandon(a);
	uv_stop(a->loop);
	return true;
}

/* Tries all servers at short intervals, then doubles the pause. Half of it is random, so that a
 * thousand agents don't call at once. */
static void call_later(struct session *s)
{
	size_t n = servers_count(&s->a->member), round = s->failures / (n ? n : 1);
	uint64_t wait = WAIT_LEAST;

	if (guest_over(s))
		return;
	if (s->failures % (n ? n : 1) == 0)
		wait = round > 7 ? WAIT_MOST : (uint64_t)WAIT_LEAST << round;
	wait = wait > WAIT_MOST ? WAIT_MOST : wait;
	wait = wait / 2 + rng_below(&s->rng, wait / 2 + 1);
	if (s->pause >= 0)
		wait = (uint64_t)s->pause + rng_below(&s->rng, WAIT_LEAST);
	s->pause = -1;
	s->failures++;
	uv_timer_start(&s->timer, on_call, wait, 0);
}

/* ---- life of a link ---- */

static void waiting_clear(struct session *s)
{
	name_list_free(&s->waiting);
	s->waiting = (name_list){0};
}

static void said_clear(struct session *s)
{
	name_list_free(&s->said);
	s->said = (name_list){0};
}

/* Logs each reason once per server, and repeats all of them after a while: the log must have the
 * reason, without being flooded. */
static void failure_say(struct session *s, const char *reason)
{
	struct strbuf text = {0};
	bool said;

	if (!s->said.n || uv_now(s->a->loop) - s->said_at > SAID_MS) {
		said_clear(s);
		s->said_at = uv_now(s->a->loop);
	}
	strbuf_printf(&text, "no connection to %s: %s", s->where, reason);
	said = s->said.n >= SAID_MOST;
	for (size_t i = 0; i < s->said.n && !said; i++)
		said = strcmp(s->said.v[i], text.text) == 0;
	if (!said) {
		log_line(
			SEVERITY_WARNING, "%s; %s", text.text,
			credential_expired(s->a)
				? "this node was away for longer than its certificate lives: 'shunt token create' on the "
				  "server, 'shunt join' here"
				: "trying on");
		vec_push(&s->said, mem_strdup(text.text));
	}
	strbuf_fini(&text);
}

static void link_over(struct session *s, const char *reason)
{
	if (s->stopping)
		;
	else if (s->stage == LISTENS) {
		s->left = uv_now(s->a->loop);
		log_line(SEVERITY_WARNING, "the connection to %s is lost: %s; jobs continue", s->where, reason);
	} else
		failure_say(s, reason);
	s->link = NULL;
	s->stage = AWAY;
	waiting_clear(s);
	terminal_cut(s->a);
	if (!s->stopping)
		call_later(s);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	link_over(context, reason);
}

/* Closes the link at once, without waiting for the other side to read everything. */
static void link_leave(struct session *s, const char *reason)
{
	static const struct link_events nobody = {0};
	struct link *l = s->link;

	link_events_set(l, &nobody, NULL);
	link_close(l, reason);
	link_over(s, reason);
}

static void on_welcome_late(uv_timer_t *t)
{
	link_leave(t->data, "it did not answer");
}

static void on_ready(void *context, struct link *l)
{
	struct session *s = context;
	struct agent *a = s->a;
	struct strbuf inventory = {0};
	struct hello h = {.protocol = PROTOCOL,
			  .version = SHUNT_VERSION,
			  .boot = live_boot(),
			  .port = listener_port(a->listener),
			  .epoch = a->member.epoch,
			  .facts = a->facts};
	json_t *listed;

	link_trust(l);
	s->stage = GREETS;
	s->hello = boot_us();
	orders_inventory(a, &inventory);
	h.inventory = listed = json_loads(inventory.text, 0, NULL);
	link_record(l, "hello", &hello_frame, &h);
	json_decref(listed);
	strbuf_fini(&inventory);
	uv_timer_start(&s->timer, on_welcome_late, WELCOME_MS, 0);
}

/* ---- heartbeats ---- */

static void on_heartbeat(uv_timer_t *t)
{
	struct session *s = t->data;
	int64_t silent = (int64_t)uv_now(t->loop) - link_heard(s->link), most = 2000 * (int64_t)s->heartbeat;

	if (silent > (most > SILENCE_LEAST ? most : SILENCE_LEAST)) {
		link_leave(s, "it is silent");
		return;
	}
	session_ping(s);
	credential_turn(s->a);
	host_spool_turn(s->a, s->link);
}

static void on_pong(struct session *s, const json_t *head)
{
	struct ping p;

	record_load(pong_frame.fields, pong_frame.in, head, &p, NULL, NULL);
	if (p.n >= 1 && (uint64_t)p.n <= s->n && s->n - (uint64_t)p.n < PINGS)
		local_lease(s->a->local, s->asked[p.n % PINGS], false);
	peers_trust(s->a, false);
	if (p.now >= 0)
		files_clock(errands_files(s->a->errands), p.now);
}

/* ---- frames from the server ---- */

/* Takes the server's settings. Returns true if the nursery must be restarted for them. */
static bool settings_take(struct agent *a, const struct host_settings *x)
{
	struct member *m = &a->member;
	bool anew = x->root_jobs != m->root_jobs;

	if (x->cgroup && *x->cgroup && strcmp(x->cgroup, m->cgroup) != 0) {
		snprintf(m->cgroup, sizeof m->cgroup, "%s", x->cgroup);
		anew = true;
	}
	m->root_jobs = x->root_jobs;
	if (x->workstation && strcmp(x->workstation, m->workstation ? m->workstation : "") != 0) {
		free(m->workstation);
		m->workstation = mem_strdup(x->workstation);
		guard_set(a, m->workstation);
	}
	m->certificate_life = x->certificate_life;
	health_set(a->health, x->health_program ? x->health_program : "", x->health_every, x->health_seconds);
	return anew;
}

static void start_anew(struct agent *a, const char *why)
{
	log_line(SEVERITY_NOTICE, "%s: restarting", why);
	a->again = true;
	uv_stop(a->loop);
}

/* Stores what is known of the cluster if it has changed; then restarts if that is needed. */
static void member_keep(struct agent *a, const struct welcome *w)
{
	bool changed = settings_take(a, &w->settings);
	struct err err;

	member_servers(&a->member, w->servers);
	if (w->name)
		snprintf(a->member.name, sizeof a->member.name, "%s", w->name);
	if (member_store(&a->home, &a->member, &err) < 0)
		log_line(SEVERITY_ERROR, "the membership can't be stored: %s", err.text);
	if (changed)
		start_anew(a, "the server's settings have changed");
}

static void revoked_keep(struct agent *a)
{
	struct err err;

	json_decref(a->member.revoked);
	a->member.revoked = revoked_give(a);
	if (member_store(&a->home, &a->member, &err) < 0)
		log_line(SEVERITY_ERROR, "the list of removed nodes can't be stored: %s", err.text);
	peers_revoke(a);
}

/* Replaces the whole list: the certificates of nodes no longer named have expired. A server of an
 * older version sends none. */
static void revoked_set(struct session *s, const json_t *all)
{
	if (!json_is_object(all) || json_equal(all, s->a->member.revoked))
		return;
	revoked_fini(&s->a->revoked);
	revoked_take(s->a, all);
	revoked_keep(s->a);
}

static void on_welcome(struct session *s, const json_t *head)
{
	struct agent *a = s->a;
	struct welcome w;
	struct err err;
	int rc = record_load(welcome_frame.fields, 0, head, &w, NULL, &err);

	if (rc == 0 && w.protocol < PROTOCOL_OLDEST)
		rc = err_set(&err, -EPROTO,
			     "it has protocol %d, and this agent works with %d or newer: upgrade the server",
			     w.protocol, PROTOCOL_OLDEST);
	if (rc == 0 && w.epoch < a->member.epoch)
		rc = err_set(&err, -EPROTO, "it does not lead any more");
	if (rc < 0) {
		link_leave(s, err.text);
		return;
	}
	a->member.epoch = w.epoch;
	s->stage = LISTENS;
	s->failures = 0;
	said_clear(s);
	/* the server that welcomes us is first in its list: once it is silent, try others before
	 * it */
	s->next = 1;
	s->heartbeat = w.heartbeat > 0 ? w.heartbeat : HEARTBEAT;
	local_lease(a->local, s->hello, false);
	log_line(SEVERITY_NOTICE, "connected to %s (version %s, protocol %d)", s->where, w.version ? w.version : "",
		 w.protocol);
	for (size_t i = 0; i < s->waiting.n; i++)
		link_send(s->link, s->waiting.v[i], strlen(s->waiting.v[i]), NULL, 0);
	waiting_clear(s);
	uv_timer_start(&s->timer, on_heartbeat, (uint64_t)s->heartbeat * 1000, (uint64_t)s->heartbeat * 1000);
	session_ping(s);
	member_keep(a, &w);
	credential_turn(a);
	revoked_set(s, w.revoked);
	peers_trust(a, false);
	host_spool_lease(a, s->link, w.spool);
}

static void on_sorry(struct session *s, const json_t *head)
{
	struct agent *a = s->a;
	struct sorry x = {0};

	record_load(sorry_frame.fields, 0, head, &x, NULL, NULL);
	const char *leader = x.leader ? x.leader : "", *reason = x.reason ? x.reason : "";
	if (x.retry < 0) {
		log_line(
			SEVERITY_WARNING,
			"this node was removed from the cluster: %s. Ending all jobs here; 'shunt join' adds the node again",
			reason);
		s->stopping = true;
		orders_abandon(a);
		credential_drop(a);
		uv_stop(a->loop);
		return;
	}
	if (*leader && strlen(leader) < sizeof s->leader && s->failures < 2 * servers_count(&a->member))
		/* not forever: two may name each other */
		snprintf(s->leader, sizeof s->leader, "%s", leader);
	else
		s->pause = x.retry > 0 ? (x.retry > 3600 ? 3600 : x.retry) * 1000 : -1;
	link_leave(s, reason);
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct session *s = context;
	const char *t = member_text(head, "t");

	if (s->stopping)
		return;
	if (strcmp(t, "sorry") == 0) {
		on_sorry(s, head);
	} else if (s->stage == GREETS) {
		if (strcmp(t, "welcome") == 0)
			on_welcome(s, head);
	} else if (strcmp(t, "pong") == 0) {
		on_pong(s, head);
	} else if (strcmp(t, "settings") == 0) {
		struct welcome w = {0};
		if (record_load(settings_frame.fields, settings_frame.in, head, &w, NULL, NULL) == 0)
			member_keep(s->a, &w);
	} else if (strcmp(t, "certificate") == 0) {
		credential_take(s->a, member_text(head, "certificate"));
	} else if (strcmp(t, "done") == 0) {
		spool_done(s->a, s->link, head);
	} else if (strcmp(t, "view") == 0) {
		views_frame(s->a, head, data, n);
	} else if (strcmp(t, "dial") == 0) {
		streams_dial(s->a, head, s->where);
	} else if (strcmp(t, "revoked") == 0) {
		if (revoked_take(s->a, json_object_get(head, "nodes")))
			revoked_keep(s->a);
	} else if (strcmp(t, "bye") == 0) {
		local_lease(s->a->local, boot_us(), true);
		peers_trust(s->a, true);
	} else {
		orders_frame(s->a, t, head, data, n); /* unknown frames are from another version */
	}
}

static const struct link_events events = {.ready = on_ready, .frame = on_frame, .closed = on_closed};

static void on_call_late(uv_timer_t *t)
{
	link_leave(t->data, "it does not answer");
}

static void session_call(struct session *s)
{
	size_t n = servers_count(&s->a->member);

	if (credential_expired(s->a) && credential_replaced(s->a)) {
		start_anew(s->a, "this node has joined again");
		return;
	}
	where_choose(s);
	s->stage = CALLS;
	s->link = link_connect(s->a->loop, s->a->calls, s->where, CERT_SERVER, &events, s);
	if (n > 1 && s->failures < 3 * n)
		uv_timer_start(&s->timer, on_call_late, CALL_MS, 0);
}

/* ---- called by other components ---- */

void session_start(struct agent *a)
{
	struct session *s = mem_zalloc(sizeof *s);

	*s = (struct session){.a = a, .pause = -1, .heartbeat = HEARTBEAT, .left = uv_now(a->loop)};
	rng_seed(&s->rng, (uint64_t)boot_us() ^ (uint64_t)getpid() << 40);
	uv_timer_init(a->loop, &s->timer);
	s->timer.data = s;
	a->session = s;
	session_call(s);
}

void session_stop(struct agent *a)
{
	struct session *s = a->session;

	if (!s)
		return;
	s->stopping = true;
	if (s->link && a->member.guest) /* it does not come back */
		link_pack(s->link, NULL, 0, "{s:s}", "t", "stops");
	if (s->link)
		link_leave(s, "this agent stops");
	waiting_clear(s);
	said_clear(s);
	uv_close((uv_handle_t *)&s->timer, handle_data_free);
	a->session = NULL;
}
