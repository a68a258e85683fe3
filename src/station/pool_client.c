/*
 * pool_client.c - serves commands on this machine at DIR/socket, which only the daemon's user and
 * root can reach. They use frames, like stations:
 *
 *	-> start (as a station's, with need, live, input), input, signal, status, pause,
 *	   remove, renew, stop
 *	<- out, done, failed, status, paused, answer
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "station/pool_internal.h"

/* ---- status ---- */

static json_t *station_pack(const struct pool *p, const struct pool_entry *e, int64_t now)
{
	const struct peer_report *r = &e->report;
	const struct load *l = &r->load;
	bool heard = e->heard >= 0;
	const char *state = !r->run					      ? "unknown"
			    : now - e->heard > POOL_SILENT * pool_interval(p) ? "silent"
			    : !e->linked				      ? "not linked"
			    : r->closed					      ? "closed"
									      : "ready";

	return json_pack("{s:s,s:s,s:s,s:I,s:f,s:f,s:f,s:i,s:i,s:i,s:i,s:i,s:I,s:s}", "name", e->member.name, "where",
			 e->member.where, "state", state, "age_ms", (json_int_t)(heard ? now - e->heard : -1), "speed",
			 l->speed, "idle", l->idle, "free", l->free, "ours", l->ours, "placed", e->placed,
			 "interactive", l->interactive, "batch", l->batch, "cpus", r->cpus, "memory",
			 (json_int_t)r->memory, "arch", r->arch);
}

static void status_give(struct client *c)
{
	struct pool *p = c->pool;
	json_t *stations = json_array();
	int64_t now = pool_now(), spent;

	for (size_t i = 0; i < p->table.entries.n; i++)
		if (!p->table.entries.v[i].removed)
			json_array_append_new(stations, station_pack(p, &p->table.entries.v[i], now));
	link_pack(c->link, NULL, 0, "{s:s,s:s,s:s,s:s,s:i,s:I,s:i,s:I,s:s,s:I,s:o}", "t", "status", "pool",
		  p->conf.pool, "name", p->conf.name, "policy", place_name(p->conf.rule.policy), "port", p->port,
		  "waiting", (json_int_t)origin_waiting(p), "tasks", host_tasks(p, &spent), "paused_until",
		  (json_int_t)(p->guard.sentry.pause.until == PAUSE_NEVER_ENDS ? -1 : p->guard.sentry.pause.until),
		  "owner", p->conf.owner, "certificate_until", (json_int_t)p->identity.until, "stations", stations);
}

/* ---- frames ---- */

static void on_start(struct client *c, const json_t *head, const char *data, size_t n)
{
	const char *need = json_string_value(json_object_get(head, "need"));
	struct arena *a = arena_create();
	struct peer_start start;
	struct pool_need what = {0};
	struct err err;

	if (peer_start_read(head, data, n, a, &start, &err) < 0 || (need && pool_need_parse(need, &what, &err) < 0) ||
	    (start.id > INT32_MAX && err_set(&err, -EINVAL, "the number of a task is too large")))
		link_close(c->link, err.text);
	else
		errand_add(c->pool, c, (int)start.id, &start, &what, json_is_true(json_object_get(head, "live")),
			   json_is_true(json_object_get(head, "input")));
	arena_destroy(a);
}

static void pause_take(struct client *c, json_int_t until)
{
	pool_pause(c->pool, until > 0 ? (int64_t)until : 0);
	link_pack(c->link, NULL, 0, "{s:s}", "t", "paused");
}

static void answer(struct client *c, int rc, const struct err *err)
{
	link_pack(c->link, NULL, 0, "{s:s,s:s*}", "t", "answer", "error", rc < 0 ? err->text : NULL);
}

static void remove_take(struct client *c, const char *name)
{
	struct err err = {.text = "it has no name"};

	answer(c, name ? member_remove(c->pool, name, &err) : -1, &err);
}

static void renew_take(struct client *c)
{
	struct err err;
	int rc;

	c->renews = true;
	rc = identity_renew(c->pool, &err);
	if (rc < 0) {
		c->renews = false;
		answer(c, rc, &err);
	}
}

static void flood_watch(struct client *c)
{
	bool flooded = errands_flooded(c->pool, c);

	if (flooded != c->paused) {
		c->paused = flooded;
		link_pause(c->link, flooded);
	}
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct client *c = context;
	const char *t = json_string_value(json_object_get(head, "t"));
	json_int_t id = json_integer_value(json_object_get(head, "id"));
	json_int_t number = json_integer_value(json_object_get(head, "n"));

	if (!t)
		link_close(l, "a frame without a type");
	else if (strcmp(t, "start") == 0)
		on_start(c, head, data, n);
	/* all tasks of the command were sent: place the most urgent first */
	else if (strcmp(t, "go") == 0)
		origin_place(c->pool);
	else if (strcmp(t, "input") == 0)
		errand_input(c->pool, c, (int)id, data, n);
	else if (strcmp(t, "signal") == 0 && number > 0 && number <= 64)
		origin_signal(c->pool, c, (int)number);
	else if (strcmp(t, "status") == 0)
		status_give(c);
	else if (strcmp(t, "pause") == 0)
		pause_take(c, json_integer_value(json_object_get(head, "until")));
	else if (strcmp(t, "remove") == 0)
		remove_take(c, json_string_value(json_object_get(head, "name")));
	else if (strcmp(t, "renew") == 0)
		renew_take(c);
	else if (strcmp(t, "stop") == 0)
		c->pool->leave(c->pool);
	flood_watch(c);
}

static void on_drained(void *context, struct link *l)
{
	struct client *c = context;

	errands_drained(c->pool, c);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct client *c = context;
	struct client **at = &c->pool->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	errands_drop(c->pool, c);
	free(c);
}

static void on_accept(uv_poll_t *u, int status, int events)
{
	static const struct link_events methods = {.frame = on_frame, .drained = on_drained, .closed = on_closed};
	struct pool *p = u->data;
	int fd = accept4(p->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	if (fd < 0)
		return;
	c = mem_zalloc(sizeof *c);
	*c = (struct client){.pool = p, .next = p->clients, .number = ++p->next_job};
	p->clients = c;
	c->link = link_open(p->loop, fd, NULL, &methods, c);
	link_trust(c->link);
	link_notice_end(c->link);
}

void clients_tick(struct pool *p)
{
	for (struct client *c = p->clients; c; c = c->next)
		flood_watch(c);
}

int clients_start(struct pool *p, struct err *err)
{
	struct strbuf path = {0};

	pool_home_path(&p->home, "socket", &path);
	p->socket = unix_listen(path.text, 0600, err);
	strbuf_fini(&path);
	if (p->socket < 0)
		return p->socket;
	uv_poll_init(p->loop, &p->accepts, p->socket);
	p->accepts.data = p;
	return uv_poll_start(&p->accepts, UV_READABLE, on_accept);
}

void clients_stop(struct pool *p)
{
	struct strbuf path = {0};

	uv_close((uv_handle_t *)&p->accepts, NULL);
	close(p->socket);
	pool_home_path(&p->home, "socket", &path);
	unlink(path.text);
	strbuf_fini(&path);
	for (struct client *c = p->clients; c; c = c->next)
		link_close(c->link, "the pool's daemon stops");
}
