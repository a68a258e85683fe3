/*
 * terminal.c - interactive jobs: joins the client's connection, after its upgrade from HTTP, with
 * the job's terminal.
 *
 *	client --GET /v1/jobs/ID/terminal--> waits --+
 *	                                             +--> 101, a relay until either is gone
 *	shepherd --terminal.sock, or its agent's----> waits --+
 *
 * Both connect by themselves, in any order, and again when something broke: a relay is made of two
 * fresh connections and ends as a whole. No data is kept here, so none is lost with the server:
 * each end knows what the other has not received (run/pty.h). A client that hangs up, as opposed to
 * a broken connection, is reported to the job, which then ends.
 */
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "engine/relay.h"
#include "engine/terminals.h"
#include "engine/watch.h"
#include "net/http.h"
#include "net/link.h"
#include "plan/plan.h"
#include "run/pty.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/stream/terminal.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/job/attempt.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/node/nodes.h"
#include "server/server.h"

/* a client that waits for the job is answered within this time */
#define WAIT_US (60 * INT64_C(1000000))
/* a client that was answered and has not upgraded within this time is gone */
#define CALLED_US (5 * INT64_C(1000000))

struct terminal {
	struct server *s;
	struct terminal *next;
	uint64_t number;
	uint32_t job;
	uint32_t attempt;
	/* the job's side while it waits: on this machine, or on another */
	struct watch *near;
	struct link *far;
	/* the client's side */
	char key[40];		/* identifies a client that reconnects */
	struct http_request *r; /* request that waits for the job's side */
	int64_t since;		/* when it began to wait (boot_us) */
	/* when it was answered and is about to upgrade; 0: not in that state */
	int64_t called;
	bool remote;
	/* both sides */
	struct relay *relay;
};

/* Context of http_upgrade(); in the request's arena, since it may never be used. */
struct ticket {
	struct server *s;
	uint64_t number;
	bool remote;
};

static const struct link_events nobody = {0};

/* ---- creating and freeing ---- */

static struct terminal *terminal_find(const struct server *s, uint32_t job, uint32_t attempt)
{
	struct terminal *t = s->audience->terminals;

	while (t && (t->job != job || t->attempt != attempt))
		t = t->next;
	return t;
}

static struct terminal *terminal_get(struct server *s, uint32_t job, uint32_t attempt)
{
	struct terminal *t = terminal_find(s, job, attempt);

	if (t)
		return t;
	t = mem_zalloc(sizeof *t);
	*t = (struct terminal){.s = s,
			       .next = s->audience->terminals,
			       .number = ++s->audience->terminal_numbers,
			       .job = job,
			       .attempt = attempt};
	s->audience->terminals = t;
	return t;
}

static void job_drop(struct terminal *t)
{
	watch_close(t->near);
	t->near = NULL;
	if (!t->far)
		return;
	link_events_set(t->far, &nobody, NULL);
	link_pause(t->far, false);
	link_close(t->far, "its terminal came again, or is not wanted any more");
	t->far = NULL;
}

static void terminal_free(struct terminal *t)
{
	struct terminal **at = &t->s->audience->terminals;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	job_drop(t);
	relay_close(t->relay);
	free(t);
}

static void terminal_tidy(struct terminal *t)
{
	if (!t->near && !t->far && !t->r && !t->called && !t->relay)
		terminal_free(t);
}

/* ---- joining ---- */

static void on_ended(void *context)
{
	struct terminal *t = context;

	t->relay = NULL;
	terminal_tidy(t);
}

static void relay_begin(struct terminal *t, const struct ticket *ticket, int fd, void *handle)
{
	struct relay_end client = {.fd = fd, .release = http_release, .handle = handle, .final = !ticket->remote};

	if (t->far) {
		t->relay = relay_link(t->s->loop, &client, t->far, on_ended, t);
		t->far = NULL;
		return;
	}
	struct relay_end job = {.fd = fcntl(watch_fd(t->near), F_DUPFD_CLOEXEC, 0)};
	watch_close(t->near);
	t->near = NULL;
	t->relay = relay_sockets(t->s->loop, &client, &job, on_ended, t);
}

static void on_taken(void *context, int fd, void *handle)
{
	const struct ticket *ticket = context;
	struct terminal *t = ticket->s->audience->terminals;

	while (t && t->number != ticket->number)
		t = t->next;
	/* the job's side has gone meanwhile: the client will ask again */
	if (!t || !t->called || (!t->near && !t->far)) {
		if (t)
			t->called = 0;
		http_release(handle);
	} else {
		t->called = 0;
		relay_begin(t, ticket, fd, handle);
	}
	if (t)
		terminal_tidy(t);
}

/* Joins the two sides if both are there. */
static void terminal_join(struct terminal *t)
{
	struct ticket *ticket;

	if (!t->r || (!t->near && !t->far))
		return;
	ticket = arena_alloc(request_arena(t->r), sizeof *ticket);
	*ticket = (struct ticket){.s = t->s, .number = t->number, .remote = t->remote};
	t->called = t->s->clock->boot_us;
	http_upgrade(t->r, PTY_PROTOCOL, on_taken, ticket);
	t->r = NULL;
}

/* ---- the job's side ---- */

/* Prepares for a fresh connection of the job, which replaces the previous one: its shepherd knows
 * that that one is broken, even if the server does not. */
static struct terminal *job_arrives(struct server *s, uint32_t job, uint32_t attempt)
{
	struct terminal *t = terminal_get(s, job, attempt);

	job_drop(t);
	relay_close(t->relay);
	t->relay = NULL;
	return t;
}

static void on_near_left(void *context, int events)
{
	struct terminal *t = context;

	job_drop(t);
	terminal_tidy(t);
}

static bool is_on(const struct server *s, const char *tag, bool joined, uint32_t node, uint32_t *ret, uint32_t *attempt)
{
	const struct attempt *t = tag_parse(s, tag, ret, attempt) ? attempt_find(s, *ret, *attempt) : NULL;

	if (!t || !entry_get(s, *ret)->spec->interactive)
		return false;
	return joined ? t->node[0] == (int32_t)node : !node_joined(&s->hosts->nodes.v[t->node[0]].life);
}

static void on_near(void *context, const char *tag, int fd)
{
	struct server *s = context;
	struct terminal *t;
	uint32_t job;
	uint32_t attempt;

	clock_read(s);
	if (!is_on(s, tag, false, 0, &job, &attempt)) {
		close(fd);
		return;
	}
	t = job_arrives(s, job, attempt);
	t->near = watch_open(s->loop, fd, on_near_left, t);
	watch_for(t->near, UV_DISCONNECT);
	terminal_join(t);
}

static void on_far_closed(void *context, struct link *l, const char *reason)
{
	struct terminal *t = context;

	t->far = NULL;
	terminal_tidy(t);
}

bool terminal_link(struct server *s, uint32_t node, struct link *l, const json_t *head)
{
	static const struct link_events waits = {.closed = on_far_closed};
	const char *what = json_string_value(json_object_get(head, "what"));
	const char *tag = json_string_value(json_object_get(head, "tag"));
	struct terminal *t;
	uint32_t job;
	uint32_t attempt;

	if (!what || strcmp(what, "terminal") != 0 || !tag || !is_on(s, tag, true, node, &job, &attempt))
		return false;
	t = job_arrives(s, job, attempt);
	t->far = l;
	link_events_set(l, &waits, t);
	link_pause(l, true); /* until the client is there; a disconnect is still noticed */
	link_notice_end(l);
	terminal_join(t);
	return true;
}

/* ---- the client's side ---- */

static bool is_same(const struct terminal *t, const char *key)
{
	return *key && strcmp(t->key, key) == 0;
}

/* Admits one client at a time. A client that reconnects replaces its own earlier connection, which
 * may not be known to be broken yet. */
static bool client_admit(struct terminal *t, struct http_request *r, const char *key)
{
	bool taken = t->r || t->relay || (t->called && t->s->clock->boot_us - t->called < CALLED_US);

	if (taken && !is_same(t, key)) {
		http_error(r, CODE_BAD_STATE, "Somebody is at the job's terminal already.");
		return false;
	}
	if (t->r)
		http_error(t->r, CODE_BAD_STATE, "The same client has asked again.");
	t->r = NULL;
	t->called = 0;
	/* late upgrades of earlier answers no longer match */
	t->number = ++t->s->audience->terminal_numbers;
	relay_close(t->relay);
	t->relay = NULL;
	return true;
}

static bool terminal_may(struct server *s, struct http_request *r, const struct asker *w, uint32_t id)
{
	const struct spec *p = entry_get(s, id)->spec;
	const char *upgrade = request_header(r, "Upgrade");

	if (w->uid != p->uid)
		http_error(r, CODE_FORBIDDEN, "A job's terminal is its owner's alone.");
	else if (!p->interactive)
		http_error(r, CODE_BAD_STATE, "The job has no terminal: it is not interactive (qsub -I).");
	else if (!upgrade || strcasecmp(upgrade, PTY_PROTOCOL) != 0)
		http_error(r, CODE_BAD_REQUEST,
			   "A terminal does not speak HTTP: send 'Connection: Upgrade' and 'Upgrade: %s'.",
			   PTY_PROTOCOL);
	else if (entry_ended(s, id))
		http_error(r, CODE_FINISHED, "The job has ended.");
	else if (!attempt_find(s, id, entry_job(s, id)->attempt))
		http_error(r, CODE_BAD_STATE, "The job has not started yet: there is no terminal.");
	else
		return true;
	return false;
}

void api_terminal(struct server *s, const struct call *c)
{
	const char *key = request_query(c->r, "key");
	struct terminal *t;
	struct array *a;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a) || !terminal_may(s, c->r, c->w, id))
		return;
	if (key && strlen(key) >= sizeof t->key) {
		http_error(c->r, CODE_BAD_REQUEST, "The key has more than %zu characters.", sizeof t->key - 1);
		return;
	}
	t = terminal_get(s, id, entry_job(s, id)->attempt);
	if (!client_admit(t, c->r, key ? key : ""))
		return;
	snprintf(t->key, sizeof t->key, "%s", key ? key : "");
	t->r = c->r;
	t->since = s->clock->boot_us;
	t->remote = request_remote(c->r) != NULL;
	terminal_join(t);
}

/* ---- turns of the event loop ---- */

void terminals_turn(struct server *s)
{
	struct terminal *next;

	for (struct terminal *t = s->audience->terminals; t; t = next) {
		bool runs = attempt_find(s, t->job, t->attempt) != NULL;
		next = t->next;
		if (t->r && !runs)
			http_error(t->r, CODE_FINISHED, "The job has ended.");
		else if (t->r && s->clock->boot_us - t->since > WAIT_US)
			http_error(t->r, CODE_UNAVAILABLE, "The job's terminal has not come: try again.");
		else if (runs)
			continue;
		t->r = NULL;
		if (runs)
			terminal_tidy(t);
		else if (!t->relay) /* its last output may be in transit; a relay ends by itself */
			terminal_free(t);
	}
}

int terminals_begin(struct server *s, struct err *err)
{
	char path[PATH_MAX + 16], live[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/terminal.sock", s->instance->where.run);
	snprintf(live, sizeof live, "%s/live", s->instance->where.state);
	return terminals_open(s->loop, path, live, on_near, s, &s->audience->terminal_socket, err);
}

void terminals_end(struct server *s)
{
	terminals_close(s->audience->terminal_socket);
	s->audience->terminal_socket = NULL;
	while (s->audience->terminals)
		terminal_free(s->audience->terminals);
}
