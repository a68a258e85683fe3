/*
 * task_far.c - a task on another host: a link to it, on which frames are relayed unchanged. If one
 * side is full, the other is paused.
 *
 * A host that can't be reached is called again for a while, since its agent may be restarting: it
 * has not been asked for anything yet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tasks_internal.h"
#include "net/handle.h"

#define PAUSE_MS 250

struct task_far {
	uv_loop_t *loop;
	struct tls_context *tls;
	struct link *caller, *link; /* `link` NULL: not connected */
	json_t *first;		    /* NULL: it was passed on */
	char *address;
	struct cert_names expect; /* names that its certificate must have */
	uint64_t until;		  /* uv_now() at which to give up */
	uv_timer_t *pause;	  /* NULL: not waiting */
	void (*over)(void *context);
	void *context;
};

static void frame_relay(struct link *from, struct link *to, const json_t *head, const char *data, size_t n)
{
	char *text = json_dumps(head, JSON_COMPACT);

	link_send(to, text, strlen(text), data, n);
	free(text);
	if (link_queued(to) > TASK_QUEUE)
		link_pause(from, true);
}

static void far_refuse(struct task_far *f, const char *reason)
{
	task_refuse(f->caller, reason);
	f->over(f->context);
}

/* ---- retries ---- */

static void far_try(struct task_far *f);

static void pause_end(struct task_far *f)
{
	if (f->pause)
		uv_close((uv_handle_t *)f->pause, handle_free);
	f->pause = NULL;
}

static void on_pause_over(uv_timer_t *t)
{
	struct task_far *f = t->data;

	pause_end(f);
	far_try(f);
}

static void pause_begin(struct task_far *f)
{
	f->pause = mem_zalloc(sizeof *f->pause);
	uv_timer_init(f->loop, f->pause);
	f->pause->data = f;
	uv_timer_start(f->pause, on_pause_over, PAUSE_MS, 0);
}

/* ---- the link there ---- */

static void on_ready(void *context, struct link *l)
{
	struct task_far *f = context;
	struct cert_names peer;

	link_peer(l, &peer);
	if (peer.role != f->expect.role ||
	    (peer.role == CERT_NODE && (strcmp(peer.name, f->expect.name) != 0 || peer.join != f->expect.join))) {
		far_refuse(f, "the host that answers is not the one that this job is on");
		return;
	}
	link_trust(l);
	/* a program may run longer than the certificates that were valid when it began */
	link_expire(l, 0);
	frame_relay(f->caller, l, f->first, NULL, 0);
	json_decref(f->first); /* it may be large, and the task long */
	f->first = NULL;
	link_pause(f->caller, false);
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct task_far *f = context;
	const char *type = json_string_value(json_object_get(head, "t"));

	frame_relay(l, f->caller, head, data, n);
	if (type && (strcmp(type, "exit") == 0 || strcmp(type, "refused") == 0))
		f->over(f->context);
}

static void on_drained(void *context, struct link *l)
{
	struct task_far *f = context;

	link_pause(f->caller, false);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct task_far *f = context;
	struct strbuf text = {0};

	f->link = NULL;
	if (f->first && uv_now(f->loop) < f->until) {
		pause_begin(f);
		return;
	}
	strbuf_printf(&text, "the connection to %s failed: %s", f->expect.name, reason);
	far_refuse(f, strbuf_text(&text));
	strbuf_fini(&text);
}

static void far_try(struct task_far *f)
{
	static const struct link_events events = {
		.ready = on_ready, .frame = on_frame, .drained = on_drained, .closed = on_closed};

	f->link = link_connect(f->loop, f->tls, f->address, f->expect.role, &events, f);
}

/* ---- for the service ---- */

struct task_far *task_far_start(uv_loop_t *loop, const struct task_way *way, json_t *first, struct link *link,
				void (*over)(void *context), void *context)
{
	struct task_far *f = mem_zalloc(sizeof *f);

	*f = (struct task_far){.loop = loop,
			       .tls = tls_context_ref(way->tls),
			       .caller = link,
			       .first = json_incref(first),
			       .address = mem_strdup(way->host->address),
			       .expect = {.role = way->host->join ? CERT_NODE : CERT_SERVER, .join = way->host->join},
			       .until = uv_now(loop) + (uint64_t)way->patience,
			       .over = over,
			       .context = context};
	snprintf(f->expect.name, sizeof f->expect.name, "%s", way->host->name);
	far_try(f);
	return f;
}

bool task_far_revoked(const struct task_far *f, const struct revoked *r)
{
	return revoked_has(r, &f->expect);
}

void task_far_frame(struct task_far *f, const json_t *head, const char *data, size_t n)
{
	if (f->link)
		frame_relay(f->caller, f->link, head, data, n);
}

void task_far_drained(struct task_far *f)
{
	if (f->link)
		link_pause(f->link, false);
}

void task_far_close(struct task_far *f, bool at_once)
{
	static const struct link_events nobody = {0};

	if (!f)
		return;
	pause_end(f);
	if (f->link) {
		link_events_set(f->link, &nobody, NULL);
		(at_once ? link_abort : link_close)(f->link, "the caller is gone");
	}
	json_decref(f->first);
	tls_context_free(f->tls);
	free(f->address);
	free(f);
}
