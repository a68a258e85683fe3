/*
 * peers.c - links from other hosts of the cluster: programs of jobs that run on both, files of
 * their users. Also the socket for this host's own jobs.
 *
 * The first frame determines what the link is for; a host that sends none is disconnected.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_internal.h"
#include "net/handle.h"

#define FIRST_MS 10000
#define TRUST 600 /* seconds after the server's last word for which other nodes are trusted */
/* seconds for which they are trusted if the server announced that it stops */
#define TRUST_STOPPED 86400

/* A link whose first frame has not arrived. */
struct newcomer {
	struct agent *a;
	struct link *link;
	uv_timer_t limit;
};

static void newcomer_drop(struct newcomer *c)
{
	uv_close((uv_handle_t *)&c->limit, handle_data_free);
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	static const struct link_events nobody = {0};
	struct newcomer *c = context;
	const char *t = json_string_value(json_object_get(head, "t"));

	newcomer_drop(c);
	link_events_set(l, &nobody, NULL);
	if (!c->a->tasks)
		link_close(l, "this agent stops");
	else if (t && strcmp(t, "task") == 0)
		tasks_serve(c->a->tasks, l, head);
	else if (t && strcmp(t, "file") == 0)
		files_serve(errands_files(c->a->errands), l, head);
	else
		link_close(l, "this agent does not know the first message");
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	newcomer_drop(context);
}

static void on_limit(uv_timer_t *t)
{
	struct newcomer *c = t->data;

	link_close(c->link, "it said nothing");
}

/* Both a node of this cluster and its server may call us; no one else gets this far. */
static void on_link(void *context, struct link *l)
{
	static const struct link_events events = {.frame = on_frame, .closed = on_closed};
	struct agent *a = context;
	struct newcomer *c = mem_zalloc(sizeof *c);

	*c = (struct newcomer){.a = a, .link = l};
	uv_timer_init(a->loop, &c->limit);
	c->limit.data = c;
	uv_timer_start(&c->limit, on_limit, FIRST_MS, 0);
	link_trust(l);
	link_events_set(l, &events, c);
}

static void on_spool(void *context, int fd, const char *address)
{
	caller_serve(context, fd);
}

static int port_open(struct agent *a, int port, struct err *err)
{
	static const struct listener_limits limits = {.connections = 4096,
						      .strangers = 256,
						      .strangers_per_address = 32,
						      .links_per_host = 1024,
						      .handshake_seconds = 10,
						      .idle_seconds = 30};
	struct listener_events events = {.link = on_link, .spool = on_spool};
	char where[16];

	snprintf(where, sizeof where, "%d", port);
	return listener_open(a->loop, where, a->listens, &limits, &events, a, &a->listener, err);
}

/* Sets this host's identity before other hosts can call. */
static void files_know(struct agent *a)
{
	struct files_identity i = {.name = a->member.name, .ca = a->keys.ca, .tls = a->calls, .revoked = &a->revoked};

	files_identify(errands_files(a->errands), &i);
}

int peers_start(struct agent *a, struct err *err)
{
	char socket[PATH_MAX + 16], live[PATH_MAX + 16];
	struct tasks_options o = {
		.socket = socket, .live = live, .name = a->member.name, .tls = a->calls, .apart = true};
	int rc = -EADDRINUSE;

	files_know(a);
	/* before its first word, the server may have removed any node */
	files_trust(errands_files(a->errands), -1);
	if (a->member.port == 0 && a->member.last_port) /* running jobs know it by that port */
		rc = port_open(a, a->member.last_port, NULL);
	if (rc < 0)
		rc = port_open(a, a->member.port, err);
	if (rc < 0)
		return err_prefix(err, rc, "other hosts could not reach this one (--port gives another port)");
	snprintf(socket, sizeof socket, "%s/agent.sock", a->home.run);
	snprintf(live, sizeof live, "%s/live", a->home.state);
	if (listener_port(a->listener) != a->member.last_port) {
		a->member.last_port = listener_port(a->listener);
		rc = member_store(&a->home, &a->member, err);
	}
	return rc < 0 ? rc : tasks_start(a->loop, &o, &a->tasks, err);
}

void peers_identity(struct agent *a)
{
	listener_identity(a->listener, a->listens);
	tasks_identity(a->tasks, a->calls);
	files_know(a);
}

void peers_revoke(struct agent *a)
{
	listener_revoke(a->listener, &a->revoked);
	tasks_revoke(a->tasks, &a->revoked);
	files_revoke(errands_files(a->errands));
}

/* A server that stops properly removes no node until another one leads, which will reach us. */
void peers_trust(struct agent *a, bool stops)
{
	files_trust(errands_files(a->errands), stops ? TRUST_STOPPED : TRUST);
}

void peers_stop(struct agent *a)
{
	if (a->tasks)
		tasks_stop(a->tasks);
	callers_stop(a);
	if (a->listener)
		listener_close(a->listener);
	a->tasks = NULL;
	a->listener = NULL;
}
