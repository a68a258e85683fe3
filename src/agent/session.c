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
#include <time.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/facts.h"
#include "agent/guard.h"
#include "agent/health.h"
#include "agent/session_internal.h"
#include "base/logline.h"
#include "base/members.h"
#include "base/rng.h"
#include "engine/files.h"
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
#define SAID_MOST 16 /* most different reasons logged in that time */

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

	link_trust(l);
	s->stage = GREETS;
	s->hello = boot_us();
	orders_inventory(a, &inventory);
	link_pack(l, NULL, 0, "{s:s,s:i,s:s,s:s,s:i,s:I,s:O,s:o}", "t", "hello", "protocol", PROTOCOL, "version",
		  SHUNT_VERSION, "boot", live_boot(), "port", listener_port(a->listener), "epoch",
		  (json_int_t)a->member.epoch, "facts", a->facts, "inventory", json_loads(inventory.text, 0, NULL));
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
	uint64_t n = (uint64_t)json_integer_value(json_object_get(head, "n"));

	if (n >= 1 && n <= s->n && s->n - n < PINGS)
		local_lease(s->a->local, s->asked[n % PINGS], false);
	peers_trust(s->a, false);
	if (json_is_integer(json_object_get(head, "now")))
		files_clock(errands_files(s->a->errands), json_integer_value(json_object_get(head, "now")));
}

/* ---- frames from the server ---- */

/* Takes the server's settings. Returns true if the nursery must be restarted for them. */
static bool settings_take(struct agent *a, const json_t *o)
{
	struct member *m = &a->member;
	const char *cgroup = json_string_value(json_object_get(o, "cgroup"));
	const json_t *root_jobs = json_object_get(o, "root_jobs"), *life = json_object_get(o, "certificate_life"),
		     *workstation = json_object_get(o, "workstation");
	bool anew = false;

	if (cgroup && *cgroup && strcmp(cgroup, m->cgroup) != 0) {
		snprintf(m->cgroup, sizeof m->cgroup, "%s", cgroup);
		anew = true;
	}
	if (json_is_boolean(root_jobs) && json_is_true(root_jobs) != m->root_jobs) {
		m->root_jobs = json_is_true(root_jobs);
		anew = true;
	}
	if (json_is_string(workstation) &&
	    strcmp(json_string_value(workstation), m->workstation ? m->workstation : "") != 0) {
		free(m->workstation);
		m->workstation = mem_strdup(json_string_value(workstation));
		guard_set(a, m->workstation);
	}
	if (json_is_integer(life))
		m->certificate_life = json_integer_value(life);
	health_set(a->health, member_text(o, "health_program"),
		   (int)json_integer_value(json_object_get(o, "health_every")),
		   (int)json_integer_value(json_object_get(o, "health_seconds")));
	return anew;
}

static void servers_take(struct member *m, const json_t *list)
{
	name_list fresh = {0};
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
	{
		if (json_is_string(v) && json_string_length(v) < 500)
			vec_push(&fresh, mem_strdup(json_string_value(v)));
	}
	if (!fresh.n)
		return;
	name_list_free(&m->servers);
	m->servers = fresh;
}

static void start_anew(struct agent *a, const char *why)
{
	log_line(SEVERITY_NOTICE, "%s: restarting", why);
	a->again = true;
	uv_stop(a->loop);
}

/* Stores what is known of the cluster if it has changed; then restarts if that is needed. */
static void member_keep(struct agent *a, const json_t *head, const json_t *settings)
{
	const char *name = member_text(head, "name");
	bool changed;
	struct err err;

	servers_take(&a->member, json_object_get(head, "servers"));
	if (*name)
		snprintf(a->member.name, sizeof a->member.name, "%s", name);
	changed = settings_take(a, settings);
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
static void revoked_set(struct session *s, const json_t *welcome)
{
	const json_t *all = json_object_get(welcome, "revoked");

	if (!json_is_object(all) || json_equal(all, s->a->member.revoked))
		return;
	revoked_fini(&s->a->revoked);
	revoked_take(s->a, all);
	revoked_keep(s->a);
}

static void on_welcome(struct session *s, const json_t *head)
{
	struct agent *a = s->a;
	uint64_t epoch = (uint64_t)json_integer_value(json_object_get(head, "epoch"));
	int heartbeat = (int)json_integer_value(json_object_get(head, "heartbeat"));
	json_int_t protocol = json_integer_value(json_object_get(head, "protocol"));
	char text[120];

	if (protocol < PROTOCOL_OLDEST) {
		snprintf(text, sizeof text,
			 "it has protocol %lld, and this agent works with %d or newer: upgrade the server",
			 (long long)protocol, PROTOCOL_OLDEST);
		link_leave(s, text);
		return;
	}
	if (epoch < a->member.epoch) {
		link_leave(s, "it does not lead any more");
		return;
	}
	a->member.epoch = epoch;
	s->stage = LISTENS;
	s->failures = 0;
	said_clear(s);
	/* the server that welcomes us is first in its list: once it is silent, try others before
	 * it */
	s->next = 1;
	s->heartbeat = heartbeat > 0 ? heartbeat : HEARTBEAT;
	local_lease(a->local, s->hello, false);
	log_line(SEVERITY_NOTICE, "connected to %s (version %s, protocol %lld)", s->where, member_text(head, "version"),
		 (long long)protocol);
	for (size_t i = 0; i < s->waiting.n; i++)
		link_send(s->link, s->waiting.v[i], strlen(s->waiting.v[i]), NULL, 0);
	waiting_clear(s);
	uv_timer_start(&s->timer, on_heartbeat, (uint64_t)s->heartbeat * 1000, (uint64_t)s->heartbeat * 1000);
	session_ping(s);
	member_keep(a, head, json_object_get(head, "settings"));
	credential_turn(a);
	revoked_set(s, head);
	peers_trust(a, false);
	host_spool_lease(a, s->link, json_object_get(head, "spool"));
}

static void on_sorry(struct session *s, const json_t *head)
{
	struct agent *a = s->a;
	double retry = json_number_value(json_object_get(head, "retry"));
	const char *leader = member_text(head, "leader");

	if (retry < 0) {
		log_line(
			SEVERITY_WARNING,
			"this node was removed from the cluster: %s. Ending all jobs here; 'shunt join' adds the node again",
			member_text(head, "reason"));
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
		s->pause = retry > 0 ? (int64_t)(retry > 3600 ? 3600 : retry) * 1000 : -1;
	link_leave(s, member_text(head, "reason"));
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
		const json_t *inner = json_object_get(head, "settings");
		member_keep(s->a, head, inner ? inner : head);
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

static void on_timer_closed(uv_handle_t *h)
{
	free(h->data);
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
	uv_close((uv_handle_t *)&s->timer, on_timer_closed);
	a->session = NULL;
}
