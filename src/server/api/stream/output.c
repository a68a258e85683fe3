/*
 * output.c - a job's output as it grows, on whichever host it is.
 *
 *	while it runs	on the host where it runs: in the spool of that host, or at its path
 *	afterwards	in that spool, if it could not be delivered; otherwise at home; otherwise in
 *			the server's directory of undelivered output
 *
 * These are tried one after another. On this machine the nursery opens a file as the job's owner
 * and passes the descriptor (in a personal instance the server opens it). For a file on another
 * host the server sends `dial` to its agent, which reads it as the owner and sends it over a
 * separate connection (docs/protocol.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "engine/engine.h"
#include "engine/errands.h"
#include "engine/frames.h"
#include "net/http.h"
#include "net/link.h"
#include "plan/plan.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/stream/output.h"
#include "server/api/stream/terminal.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/attempt.h"
#include "server/job/body.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/run/prepare_files.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/site/who.h"

#define TRIES 3
#define DIAL_US (15 * INT64_C(1000000)) /* maximum time for an agent to connect */
/* bytes waiting for the client at which the agent is paused */
#define AHEAD 262144

/* A place where the output may be. */
struct
try {
	bool there;	  /* on another host, that of `node` */
	uint32_t node;	  /* set if `there` */
	bool own;	  /* the server itself keeps the file */
	const char *tag;  /* name in that host's spool; "": not in the spool */
	const char *path; /* path to try otherwise; "": none */
};

struct waiter {
	struct server *s;
	struct http_request *r;
	uint64_t id;
	uint32_t job;
	char which[4];
	struct try try[TRIES]; /* strings are in the request's arena */
	int ntries, now;
	int fd;
	int64_t at, from;
	bool follow, streaming;
	bool retry;	   /* the file does not exist yet: its job has only just been started */
	int64_t dialled;   /* boot_us; 0: no agent was asked */
	struct link *link; /* link of an agent */
	struct strbuf in;  /* data received over the link, of which `sent` bytes were passed on */
	size_t sent;
	bool ended; /* no more data will arrive */
};

static void waiter_drop(struct waiter *x)
{
	static const struct link_events nobody = {0};
	struct server *s = x->s;

	for (size_t i = 0; i < s->audience->waiters.n; i++)
		if (s->audience->waiters.v[i] == x) {
			vec_remove(&s->audience->waiters, i);
			break;
		}
	if (x->link) {
		link_events_set(x->link, &nobody, NULL);
		link_abort(x->link, "nobody reads it any more");
	}
	if (x->fd >= 0)
		close(x->fd);
	strbuf_fini(&x->in);
	free(x);
}

static void closed(void *context)
{
	waiter_drop(context);
}

static bool lives(const struct waiter *x)
{
	return entry_get(x->s, x->job)->spec && !entry_ended(x->s, x->job);
}

static bool over(const struct waiter *x)
{
	return !x->follow || x->s->turn->stopped || !lives(x);
}

/* ---- the client ---- */

static int fill_here(struct waiter *x, struct strbuf *out, size_t want)
{
	bool last = over(x); /* checked before reading, so that output up to the end is read */
	char data[65536];
	ssize_t n = pread(x->fd, data, want < sizeof data ? want : sizeof data, x->at);

	if (n > 0) {
		strbuf_add(out, data, (size_t)n);
		x->at += n;
		return 1;
	}
	return n < 0 || last ? -1 : 0;
}

static int fill_there(struct waiter *x, struct strbuf *out, size_t want)
{
	size_t n = x->in.n - x->sent;

	if (n == 0)
		return x->ended || x->s->turn->stopped ? -1 : 0;
	if (n > want)
		n = want;
	strbuf_add(out, x->in.text + x->sent, n);
	x->sent += n;
	if (x->sent == x->in.n) {
		strbuf_clear(&x->in);
		x->sent = 0;
		if (x->link)
			link_pause(x->link, false);
	}
	return 1;
}

static int fill(void *context, struct strbuf *out, size_t want)
{
	struct waiter *x = context;

	return x->fd >= 0 ? fill_here(x, out, want) : fill_there(x, out, want);
}

static void begin(struct waiter *x)
{
	x->streaming = true;
	http_stream(x->r, 200, "application/octet-stream", &(struct stream_source){fill, closed, x});
}

/* ---- locating the file ---- */

static void waiter_open(struct waiter *x);

static void failed(struct waiter *x, const char *reason)
{
	const char *path = x->try[x->now].path;

	x->dialled = 0;
	if (x->now + 1 < x->ntries) {
		x->now++;
		waiter_open(x);
		return;
	}
	if (lives(x) && strstr(reason, strerror(ENOENT))) { /* the file is yet to be created */
		x->retry = x->follow;
		if (x->follow)
			return;
		http_reply(x->r, 200, "application/octet-stream", "", 0);
	} else {
		http_error(x->r, CODE_NOT_FOUND, "The output can't be read: %.300s%s%.300s", path, *path ? ": " : "",
			   reason);
	}
	waiter_drop(x);
}

static void open_there(struct waiter *x, const struct try *t)
{
	struct server *s = x->s;
	const char *name = names_get(&s->cluster->node_names, t->node);
	const struct spec *p = entry_get(s, x->job)->spec;
	struct link *l = engine_link(s->engine, name);
	struct err err;

	if (!l || !p) {
		err_set(&err, 0, "the host %s, where it is, is not connected", name);
		failed(x, err.text);
		return;
	}
	link_record(l, "dial", &dial_frame,
		    &(struct dial){.what = "read",
				   .id = x->id,
				   .user = word_text(s, p->owner),
				   .tag = t->tag,
				   .which = x->which,
				   .path = t->path,
				   .from = x->from,
				   .follow = x->follow && lives(x)});
	x->dialled = s->clock->boot_us;
}

static void waiter_open(struct waiter *x)
{
	struct server *s = x->s;
	const struct try *t = &x->try[x->now];
	const struct spec *p = entry_get(s, x->job)->spec;
	char spooled[4096];
	const char *path = t->path;
	struct errands *e = engine_errands(s->engine);

	x->retry = false;
	if (t->there) {
		open_there(x, t);
		return;
	}
	if (*t->tag && e && errands_spooled(e, t->tag, x->which, spooled, sizeof spooled))
		path = spooled;
	if (!*path) {
		failed(x, strerror(ENOENT));
		return;
	}
	if (!t->own && p && p->uid != s->instance->uid) {
		engine_open(s->engine, x->id, &(struct nursery_user){p->uid, p->gid, word_text(s, p->owner)}, path,
			    O_RDONLY, 0);
		engine_flush(s->engine);
		return;
	}
	x->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (x->fd < 0)
		failed(x, strerror(errno));
	else
		begin(x);
}

void output_opened(struct server *s, uint64_t id, int fd, const char *reason)
{
	for (size_t i = 0; i < s->audience->waiters.n; i++) {
		struct waiter *x = s->audience->waiters.v[i];
		if (x->id != id || x->streaming)
			continue;
		x->fd = fd;
		if (fd >= 0)
			begin(x);
		else
			failed(x, reason ? reason : "no reason was given");
		return;
	}
	if (fd >= 0)
		close(fd);
}

/* ---- data from an agent ---- */

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct waiter *x = context;
	const char *type = json_string_value(json_object_get(head, "t")),
		   *reason = json_string_value(json_object_get(head, "reason"));
	bool bad = type && strcmp(type, "failed") == 0;

	if (bad && !x->streaming) {
		static const struct link_events nobody = {0};
		link_events_set(l, &nobody, NULL);
		link_close(l, "it was read");
		x->link = NULL;
		failed(x, reason ? reason : "no reason was given");
		return;
	}
	x->ended |= bad || (type && strcmp(type, "end") == 0);
	if (type && strcmp(type, "data") == 0)
		strbuf_add(&x->in, data, n);
	if (x->in.n - x->sent > AHEAD)
		link_pause(l, true);
	if (!x->streaming)
		begin(x);
	stream_wake(x->r);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct waiter *x = context;

	x->link = NULL;
	x->ended = true;
	if (x->streaming)
		stream_wake(x->r);
	else
		failed(x, reason);
}

static void output_stream(struct server *s, uint32_t node, struct link *l, const json_t *first)
{
	static const struct link_events events = {.frame = on_frame, .closed = on_closed}, nobody = {0};
	uint64_t id = (uint64_t)json_integer_value(json_object_get(first, "id"));

	for (size_t i = 0; i < s->audience->waiters.n; i++) {
		struct waiter *x = s->audience->waiters.v[i];
		if (x->id != id || !x->dialled || x->link || x->streaming || x->try[x->now].node != node)
			continue;
		x->dialled = 0;
		x->link = l;
		link_events_set(l, &events, x);
		return;
	}
	link_events_set(l, &nobody, NULL);
	link_close(l, "nobody waits for it");
}

/* ---- waiting ---- */

static void waiter_turn(struct waiter *x)
{
	struct stat st;

	if (x->retry)
		waiter_open(x);
	else if (x->dialled && x->s->clock->boot_us - x->dialled > DIAL_US)
		failed(x, "the host where it is does not answer");
	else if (x->streaming && x->fd >= 0 && (over(x) || (fstat(x->fd, &st) == 0 && st.st_size > x->at)))
		stream_wake(x->r);
	else if (x->streaming && x->s->turn->stopped)
		stream_wake(x->r);
}

void output_turn(struct server *s)
{
	for (size_t i = s->audience->waiters.n;
	     i-- > 0;) /* last first: removing one moves only those already visited */
		waiter_turn(s->audience->waiters.v[i]);
}

/* ---- the request ---- */

/* Finds the node where the current attempt's script runs or ran. Returns false for this machine. */
static bool ran_there(const struct server *s, uint32_t id, uint32_t *ret)
{
	const struct entry *e = entry_get(s, id);
	const char *host = e->outcome && e->outcome->exec_host ? e->outcome->exec_host : "";
	char name[256];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(host, "/"), host);
	return names_find(&s->cluster->node_names, name, ret) && node_joined(&s->hosts->nodes.v[*ret].life);
}

static struct try *try_add(struct waiter *x)
{
	struct try *t = &x->try[x->ntries++];

	*t = (struct try){.tag = "", .path = ""};
	return t;
}

static void tries_find(struct waiter *x, const json_t *body, bool error)
{
	struct server *s = x->s;
	struct arena *a = request_arena(x->r);
	struct home h;
	struct try *t;
	char tag[64];
	uint32_t node = 0;
	bool there = ran_there(s, x->job, &node), here_is_home;

	output_home(s, x->job, body, error, a, &h);
	snprintf(x->which, sizeof x->which, "%s", h.error ? "err" : "out");
	here_is_home = h.known && (there ? !h.spot.here && h.spot.node == node : h.spot.here);
	attempt_tag(s, x->job, entry_job(s, x->job)->attempt, tag);
	t = try_add(x); /* the host where it runs or ran */
	t->there = there;
	t->node = node;
	t->tag = arena_printf(a, "%s", tag);
	/* The path of another site's job is meaningful only there; here it may be another job's. */
	if (!h.away && (lives(x) || h.stays || h.shared || here_is_home || !there))
		t->path = h.path;
	if (!h.away && (lives(x) || h.stays || here_is_home))
		return;
	t = try_add(x); /* at home, or the server's undelivered copy */
	t->there = h.known && !h.spot.here;
	t->node = h.spot.node;
	t->own = !h.known;
	t->path = h.known ? h.path : arena_printf(a, "%s/undelivered/%s", s->instance->where.state, h.kept);
}

void api_output(struct server *s, const struct call *c)
{
	const char *stream = request_query(c->r, "stream");
	struct array *a;
	const json_t *body;
	struct err err;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a))
		return;

	const struct spec *p = entry_get(s, id)->spec;
	bool error = stream && strcmp(stream, "err") == 0;

	if (!asker_may(s, c->w, ACT_READ, p)) {
		http_error(c->r, CODE_FORBIDDEN, "Only its owner and managers may read a job's output.");
		return;
	}
	if (entry_job(s, id)->attempt == 0) {
		http_error(c->r, CODE_BAD_STATE, "The job has not started yet: there is no output.");
		return;
	}
	if (body_brief(s, id, &s->jobs->last_body, &body, &err) < 0) {
		http_error(c->r, CODE_NOT_FOUND, "%s", err.text);
		return;
	}

	struct waiter *x = mem_zalloc(sizeof *x);

	*x = (struct waiter){.s = s,
			     .r = c->r,
			     .id = ++s->audience->waiter_ids,
			     .job = id,
			     .fd = -1,
			     .from = query_number(c, "from", 0),
			     .follow = query_number(c, "follow", 0)};
	x->at = x->from;
	tries_find(x, body, error);
	vec_push(&s->audience->waiters, x);
	waiter_open(x);
}

static bool is_read(const json_t *head)
{
	const char *what = json_string_value(json_object_get(head, "what"));

	return what && strcmp(what, "read") == 0;
}

bool stream_taken(struct server *s, uint32_t node, struct link *l, const json_t *head)
{
	if (!is_read(head))
		return terminal_link(s, node, l, head);
	output_stream(s, node, l, head);
	return true;
}
