/*
 * terminal.c - terminals of interactive jobs: relayed from their shepherds here to the server, on
 * separate connections.
 *
 * Nothing is kept. When the connection to the server is lost, they are closed; the shepherds
 * notice, and call again until they get through.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "engine/relay.h"
#include "engine/terminals.h"

struct terminal {
	struct agent *a;
	struct terminal *next;
	char tag[64];
	int fd;		   /* the shepherd's connection, until the server is reached; then -1 */
	struct link *link; /* the connection to the server */
	struct relay *relay;
};

static void terminal_free(struct terminal *t)
{
	static const struct link_events nobody = {0};
	struct terminal **at = &t->a->terminals;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (t->fd >= 0)
		close(t->fd);
	if (t->link) {
		link_events_set(t->link, &nobody, NULL);
		link_close(t->link, "its terminal is not wanted any more");
	}
	relay_close(t->relay);
	free(t);
}

static void on_ended(void *context)
{
	struct terminal *t = context;

	t->relay = NULL;
	terminal_free(t);
}

static void on_ready(void *context, struct link *l)
{
	struct terminal *t = context;
	struct relay_end shepherd = {.fd = t->fd};

	link_trust(l);
	link_pack(l, NULL, 0, "{s:s,s:s,s:s}", "t", "stream", "what", "terminal", "tag", t->tag);
	t->fd = -1;
	t->link = NULL;
	t->relay = relay_link(t->a->loop, &shepherd, l, on_ended, t);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct terminal *t = context;

	t->link = NULL;
	terminal_free(t);
}

static void on_came(void *context, const char *tag, int fd)
{
	static const struct link_events events = {.ready = on_ready, .closed = on_closed};
	struct agent *a = context;
	const char *server = session_server(a);
	struct terminal *t;

	if (!server) { /* the shepherd tries again */
		close(fd);
		return;
	}
	t = mem_zalloc(sizeof *t);
	*t = (struct terminal){.a = a, .next = a->terminals, .fd = fd};
	snprintf(t->tag, sizeof t->tag, "%s", tag);
	a->terminals = t;
	t->link = link_connect(a->loop, a->calls, server, CERT_SERVER, &events, t);
}

int terminal_start(struct agent *a, struct err *err)
{
	char path[PATH_MAX + 16], live[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/terminal.sock", a->home.run);
	snprintf(live, sizeof live, "%s/live", a->home.state);
	return terminals_open(a->loop, path, live, on_came, a, &a->terminal_socket, err);
}

void terminal_cut(struct agent *a)
{
	while (a->terminals)
		terminal_free(a->terminals);
}

void terminal_stop(struct agent *a)
{
	terminals_close(a->terminal_socket);
	a->terminal_socket = NULL;
	terminal_cut(a);
}
