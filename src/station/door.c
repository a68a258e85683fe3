/*
 * door.c - see door.h.
 */
#include "station/door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/mem.h"
#include "base/unixsock.h"
#include "net/handle.h"

#define LINE_MOST 64
#define CLIENTS_MOST 32
#define PATIENCE_MS 5000

#define TOTAL(member) .is = REQUIRED, MEMBER(struct owner_book, member)
#define TOTAL_MS(member) .is = REQUIRED, MEMBER_AS(FORM_SECONDS, struct owner_book, member)

const struct schema owner_book = {FIELDS({"given", TOTAL_MS(given_ms)}, {"claimed", TOTAL_MS(claimed_ms)},
					 {"lost", TOTAL_MS(lost_ms)}, {"stops", TOTAL(stops)}, {"left", TOTAL(left)})};

struct client {
	struct door *door;
	struct client *next;
	uv_pipe_t pipe;
	uv_timer_t limit;
	uv_write_t write;
	int open; /* number of open handles */
	char line[LINE_MOST];
	size_t n;
	char *answer;
};

struct door {
	uv_loop_t *loop;
	uv_pipe_t pipe;
	door_answer answer;
	void *context;
	struct client *clients; /* newest first */
	int nclients;
};

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
	struct client **at = &c->door->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->door->nclients--;
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
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t n = sizeof who;
	uv_os_fd_t fd;
	json_t *o;
	uv_buf_t b;

	if (uv_fileno((uv_handle_t *)&c->pipe, &fd) < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		who = (struct ucred){.uid = (uid_t)-1};
	o = c->door->answer(c->door->context, c->line, &who);
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

static struct client *client_oldest(const struct door *d)
{
	struct client *c = d->clients;

	while (c->next)
		c = c->next;
	return c;
}

static void on_connection(uv_stream_t *s, int status)
{
	struct door *d = s->data;
	struct client *c;

	if (status < 0)
		return;
	c = mem_zalloc(sizeof *c);
	*c = (struct client){.door = d, .next = d->clients, .open = 2};
	d->clients = c;
	uv_pipe_init(d->loop, &c->pipe, 0);
	uv_timer_init(d->loop, &c->limit);
	c->pipe.data = c->limit.data = c;
	d->nclients++;
	if (uv_accept(s, (uv_stream_t *)&c->pipe) < 0) {
		client_close(c);
		return;
	}
	if (d->nclients > CLIENTS_MOST) /* idle connections must not keep the owner out */
		client_close(client_oldest(d));
	uv_timer_start(&c->limit, on_late, PATIENCE_MS, 0);
	uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);
}

int door_open(uv_loop_t *loop, const char *path, door_answer answer, void *context, struct door **ret, struct err *err)
{
	int fd = unix_listen(path, 0666, err), rc;
	struct door *d;

	if (fd < 0)
		return fd;
	d = mem_zalloc(sizeof *d);
	*d = (struct door){.loop = loop, .answer = answer, .context = context};
	uv_pipe_init(loop, &d->pipe, 0);
	d->pipe.data = d;
	uv_pipe_open(&d->pipe, fd);
	rc = uv_listen((uv_stream_t *)&d->pipe, 16, on_connection);
	if (rc < 0) {
		door_close(d);
		return err_set(err, rc, "%s: %s", path, uv_strerror(rc));
	}
	*ret = d;
	return 0;
}

void door_close(struct door *d)
{
	if (!d)
		return;
	while (d->clients)
		client_close(d->clients);
	uv_close((uv_handle_t *)&d->pipe, handle_data_free);
}
