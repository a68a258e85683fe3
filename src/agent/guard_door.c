/*
 * guard_door.c - the socket at which `shunt owner` asks and orders: RUN/owner.sock, without root and without a network.
 *
 * A line in ("show", "pause SECONDS", "pause", "resume"), an object out. Everybody may look. Root and the machine's owners may order: those that the policy names,
 * or, if it names none, whoever has a terminal here; never a process of a job.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "agent/guard_internal.h"
#include "base/unixsock.h"

#define LINE_MOST 64
#define CLIENTS_MOST 32
#define PATIENCE_MS 5000

struct client {
	struct guard *g;
	struct client *next;
	uv_pipe_t pipe;
	uv_timer_t limit;
	uv_write_t write;
	int open; /* handles */
	char line[LINE_MOST];
	size_t n;
	char *answer;
};

/* ---- answers ---- */

static json_t *parts_json(const struct guard *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->parts.n; i++) {
		const struct guarded *p = &g->parts.v[i];
		char job[sizeof p->tag];
		snprintf(job, sizeof job, "%.*s", (int)strcspn(p->tag, "-."), p->tag);
		json_array_append_new(list, json_pack("{s:s,s:b,s:I}", "job", job, "stopped", p->held, "cpu",
						      (json_int_t)(p->cpu_ms / 1000)));
	}
	return list;
}

static json_t *show(const struct guard *g)
{
	static const char *const states[] = {
		[OWNER_RUN] = "free", [OWNER_STOP] = "stopped", [OWNER_RETURN] = "leaving"};
	json_t *o = guard_book_json(g);

	json_object_set_new(o, "node", json_string(g->a->member.name));
	json_object_set_new(o, "cluster", json_string(g->a->member.cluster));
	json_object_set_new(o, "policy",
			    json_string(g->on && g->a->member.workstation ? g->a->member.workstation : ""));
	json_object_set_new(o, "connected", json_boolean(session_link(g->a) != NULL));
	if (!g->on)
		return o;
	json_object_set_new(o, "state", json_string(states[g->act]));
	if (g->act != OWNER_RUN) {
		json_object_set_new(o, "why", json_string(owner_cause_text(g->owner.cause)));
		json_object_set_new(o, "since", json_integer(g->claimed_at));
	}
	if (g->seen.input >= 0)
		json_object_set_new(o, "input_ago", json_integer(((int64_t)uv_now(g->a->loop) - g->seen.input) / 1000));
	json_object_set_new(o, "who", json_string(g->seen.who));
	json_object_set_new(o, "where", json_string(g->seen.where));
	json_object_set_new(o, "devices", json_integer(senses_devices(g->senses)));
	if (g->pause_until)
		json_object_set_new(o, "pause_until",
				    json_integer(g->pause_until == PAUSE_NEVER_ENDS ? 0 : g->pause_until));
	json_object_set_new(o, "parts", parts_json(g));
	return o;
}

static json_t *refusal(const char *reason)
{
	return json_pack("{s:s}", "error", reason);
}

/* ---- orders ---- */

static bool may_order(const struct guard *g, uv_pipe_t *pipe, struct ucred *ret)
{
	socklen_t n = sizeof *ret;
	uv_os_fd_t fd;

	if (uv_fileno((uv_handle_t *)pipe, &fd) < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0)
		return false;
	if (guard_ours(g, ret->pid))
		return false;
	if (ret->uid == 0 || (g->a->home.given && ret->uid == geteuid()))
		return true;
	return *g->rules.owners ? guard_owns(g, ret->uid) : senses_logged_in(g->senses, ret->uid);
}

static json_t *order(struct guard *g, struct client *c)
{
	struct ucred who;
	long long seconds = 0;
	char extra;
	bool resume = strcmp(c->line, "resume") == 0;

	if (!g->on)
		return refusal("this machine is not a workstation: its node has no policy for an owner");
	if (!resume && strcmp(c->line, "pause") != 0 &&
	    (sscanf(c->line, "pause %lld%c", &seconds, &extra) != 1 || seconds < 1 || seconds > INT_MAX))
		return refusal("the agent does not know that order");
	if (!may_order(g, &c->pipe, &who))
		return refusal(*g->rules.owners ? "only root and the owners that this node's policy names may do that"
						: "only root and users who are logged in at this machine may do that");
	/* The second that has begun does not count: a pause is never shorter than was said. */
	g->pause_until = resume ? 0 : seconds ? (int64_t)time(NULL) + 1 + seconds : PAUSE_NEVER_ENDS;
	g->paused_by = who.uid;
	agent_say("%s by user %u", resume ? "resumed" : "paused", (unsigned)who.uid);
	guard_book_store(g);
	guard_turn(g);
	return show(g);
}

/* ---- connections ---- */

static void on_client_closed(uv_handle_t *h)
{
	struct client *c = h->data;

	if (--c->open)
		return;
	free(c->answer);
	free(c);
}

static void client_close(struct client *c)
{
	struct client **at = &c->g->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->g->nclients--;
	uv_close((uv_handle_t *)&c->pipe, on_client_closed);
	uv_close((uv_handle_t *)&c->limit, on_client_closed);
}

static void on_written(uv_write_t *w, int status)
{
	struct client *c = w->data;

	if (!uv_is_closing((uv_handle_t *)&c->pipe))
		client_close(c);
}

static void client_answer(struct client *c)
{
	json_t *o = strcmp(c->line, "show") == 0 ? show(c->g) : order(c->g, c);
	uv_buf_t b;

	uv_read_stop((uv_stream_t *)&c->pipe);
	c->answer = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	b = uv_buf_init(c->answer, c->answer ? (unsigned)strlen(c->answer) : 0);
	c->write.data = c;
	if (!c->answer || uv_write(&c->write, (uv_stream_t *)&c->pipe, &b, 1, on_written) < 0)
		client_close(c);
}

static void on_alloc(uv_handle_t *h, size_t size, uv_buf_t *ret)
{
	struct client *c = h->data;

	*ret = uv_buf_init(c->line + c->n, (unsigned)(sizeof c->line - 1 - c->n));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
	struct client *c = s->data;

	if (n < 0) {
		client_close(c);
		return;
	}
	c->n += (size_t)n;
	c->line[c->n] = '\0';
	if (strchr(c->line, '\n')) {
		*strchr(c->line, '\n') = '\0';
		client_answer(c);
	} else if (c->n + 1 >= sizeof c->line) {
		client_close(c);
	}
}

static void on_late(uv_timer_t *t)
{
	client_close(t->data);
}

static struct client *client_oldest(const struct guard *g)
{
	struct client *c = g->clients;

	while (c->next)
		c = c->next;
	return c;
}

static void on_connection(uv_stream_t *s, int status)
{
	struct guard *g = s->data;
	struct client *c;

	if (status < 0)
		return;
	c = mem_zalloc(sizeof *c);
	*c = (struct client){.g = g, .next = g->clients, .open = 2};
	g->clients = c;
	uv_pipe_init(g->a->loop, &c->pipe, 0);
	uv_timer_init(g->a->loop, &c->limit);
	c->pipe.data = c->limit.data = c;
	g->nclients++;
	if (uv_accept(s, (uv_stream_t *)&c->pipe) < 0) {
		client_close(c);
		return;
	}
	if (g->nclients > CLIENTS_MOST) /* connections that somebody keeps open don't keep the owner out */
		client_close(client_oldest(g));
	uv_timer_start(&c->limit, on_late, PATIENCE_MS, 0);
	uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);
}

int guard_door_open(struct guard *g, struct err *err)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof path, "%s/owner.sock", g->a->home.run);
	if ((fd = unix_listen(path, 0666, err)) < 0)
		return fd;
	uv_pipe_init(g->a->loop, &g->door, 0);
	g->door.data = g;
	g->handles++;
	uv_pipe_open(&g->door, fd);
	int rc = uv_listen((uv_stream_t *)&g->door, 16, on_connection);
	g->door_open = true;
	return rc < 0 ? err_set(err, rc, "%s: %s", path, uv_strerror(rc)) : 0;
}

void guard_door_close(struct guard *g)
{
	if (!g->door_open)
		return;
	while (g->clients)
		client_close(g->clients);
	uv_close((uv_handle_t *)&g->door, guard_closed);
	g->door_open = false;
}
