/*
 * gang.c - an attempt's parts: all start or none.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "engine/engine.h"

struct engine {
	struct local *here;
	struct engine_listener l;
};

static void on_started(void *context, const char *tag, pid_t pid)
{
	struct engine *e = context;

	e->l.started(e->l.context, tag, pid);
}

static void on_refused(void *context, const char *tag, const char *reason)
{
	struct engine *e = context;

	e->l.refused(e->l.context, tag, reason);
}

static void on_ended(void *context, const struct result *r)
{
	struct engine *e = context;

	e->l.ended(e->l.context, r);
}

static void on_lost(void *context, const char *tag)
{
	struct engine *e = context;

	e->l.lost(e->l.context, tag, NULL);
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	struct engine *e = context;

	e->l.opened(e->l.context, id, fd, reason);
}

static void on_failed(void *context, const char *reason)
{
	struct engine *e = context;

	e->l.failed(e->l.context, reason);
}

int engine_create(uv_loop_t *loop, const struct local_options *here, const struct engine_listener *l,
		  struct engine **ret, struct err *err)
{
	struct engine *e = mem_zalloc(sizeof *e);
	struct local_listener listener = {
		.started = on_started,
		.refused = on_refused,
		.ended = on_ended,
		.lost = on_lost,
		.opened = on_opened,
		.failed = on_failed,
		.context = e,
	};
	int rc = here ? local_start(loop, here, &listener, &e->here, err) : 0;

	e->l = *l;
	if (rc < 0)
		free(e);
	else
		*ret = e;
	return rc;
}

void engine_stop(struct engine *e)
{
	local_stop(e->here);
}

void engine_start(struct engine *e, const struct engine_part *parts, int n)
{
	local_order(e->here, &parts[0].order);
}

size_t engine_backlog(const struct engine *e)
{
	return local_backlog(e->here);
}

void engine_signal(struct engine *e, const char *tag, int signal)
{
	local_signal(e->here, tag, signal);
}

void engine_forget(struct engine *e, const char *tag)
{
	local_forget(e->here, tag);
}

void engine_flush(struct engine *e)
{
	local_flush(e->here);
}

enum attempt_state engine_attach(struct engine *e, const char *tag, const char *const *hosts, int n)
{
	return local_attach(e->here, tag);
}

void engine_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context)
{
	local_sweep(e->here, known, context);
}

void engine_open(struct engine *e, uint64_t id, uid_t uid, gid_t gid, const char *user, const char *path)
{
	local_open(e->here, id, uid, gid, user, path, O_RDONLY, 0);
}

void engine_host_up(struct engine *e, const char *host, struct link *link, const json_t *inventory)
{
}

void engine_host_down(struct engine *e, const char *host)
{
}

void engine_host_lost(struct engine *e, const char *host)
{
}

bool engine_frame(struct engine *e, const char *host, const json_t *head, const char *data, size_t n)
{
	return false;
}

struct link *engine_link(const struct engine *e, const char *host)
{
	return NULL;
}

struct local *engine_here(struct engine *e)
{
	return e->here;
}
