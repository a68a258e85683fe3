/*
 * callers.c - lets users of machines without an agent store their changes in this host's spool,
 * over TLS, while they can't reach the server (docs/protocol.md, client/far.h).
 *
 * A caller that knows the name of a view is a user of the cluster: only the server and that user,
 * by the login token, can compute it. Nothing more is known about callers here, nor needed: a
 * change is sealed, and the server checks the seal. So a caller can only read one view, and fill
 * the spool up to a limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "base/chain.h"
#include "client/tray.h"
#include "engine/frames.h"
#include "net/handle.h"

#define CALLERS_MOST 64
#define LIMIT_MS 60000 /* ms for the whole connection */

struct caller {
	struct agent *a;
	struct link *link;
	uv_timer_t limit;
	struct caller *prev, *next;
	bool known;
	struct strbuf in; /* pieces of a change */
};

/* ---- reading ---- */

static void view_give(struct caller *c, const char *name)
{
	struct strbuf text = {0};

	if (views_read(c->a, name, &text) == 0 && text.n)
		pieces_send(c->link, "view", &(struct spool_frame){.name = name}, text.text, text.n);
	strbuf_fini(&text);
}

static void offer_give(struct caller *c)
{
	const struct offer *o = spool_offer(c->a);

	if (!o) {
		link_close(c->link, "this host keeps nothing for the server");
		return;
	}
	link_record(c->link, "offer", &offer_schema, o);
}

static void frame_send(struct caller *c, const char *type, struct spool_frame x)
{
	link_record(c->link, type, &spool_frames, &x);
}

static void caller_know(struct caller *c, const char *view)
{
	if (!view || strcmp(view, "all") == 0 || !views_has(c->a, view)) {
		frame_send(c, "refused", (struct spool_frame){.why = "the server has told this host nothing of you"});
		link_close(c->link, "it is not known here");
		return;
	}
	c->known = true;
	link_trust(c->link);
	offer_give(c);
	view_give(c, "all");
	view_give(c, view);
	frame_send(c, "ready", (struct spool_frame){0});
}

/* ---- storing ---- */

static void change_keep(struct caller *c)
{
	struct kept x = {0};
	struct err err = {.text = ""};
	uint64_t number = 0;
	int rc = kept_parse(strbuf_text(&c->in), c->in.n, &x, &err);

	if (rc == 0)
		rc = spool_keep(c->a, &x, &number, &err);
	if (rc == 0)
		frame_send(c, "kept", (struct spool_frame){.number = number});
	else
		frame_send(c, "refused", (struct spool_frame){.why = err.text, .stale = rc == -ESTALE});
	kept_fini(&x);
	strbuf_clear(&c->in);
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct caller *c = context;
	const char *t = json_string_value(json_object_get(head, "t"));
	struct spool_frame x;

	spool_frame_read(head, &x);
	if (!c->known && t && strcmp(t, "spool") == 0)
		caller_know(c, x.view);
	else if (!c->known || !t || strcmp(t, "keep") != 0 || x.size < 1 || x.size > TRAY_MOST || n == 0 ||
		 c->in.n + n > (size_t)x.size)
		link_close(l, "the message is not one that is expected");
	else {
		strbuf_add(&c->in, data, n);
		if (c->in.n == (size_t)x.size)
			change_keep(c);
	}
}

/* ---- connections ---- */

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct caller *c = context;

	chain_remove(c->a->callers, c);
	c->a->ncallers--;
	strbuf_fini(&c->in);
	uv_close((uv_handle_t *)&c->limit, handle_data_free);
}

static void on_limit(uv_timer_t *t)
{
	struct caller *c = t->data;

	link_abort(c->link, "it took too long");
}

void caller_serve(struct agent *a, int fd)
{
	static const struct link_events events = {.frame = on_frame, .closed = on_closed};
	struct caller *c;

	if (a->ncallers >= CALLERS_MOST) {
		close(fd);
		return;
	}
	c = mem_zalloc(sizeof *c);
	*c = (struct caller){.a = a};
	chain_add(a->callers, c);
	a->ncallers++;
	uv_timer_init(a->loop, &c->limit);
	c->limit.data = c;
	uv_timer_start(&c->limit, on_limit, LIMIT_MS, 0);
	c->link = link_open(a->loop, fd, NULL, &events, c);
}

void callers_stop(struct agent *a)
{
	for (struct caller *c = a->callers; c; c = c->next)
		link_abort(c->link, "this agent stops");
}
