/*
 * streams.c - reads a user's file for the server when it requests that by `dial`, and sends it over
 * a separate connection that this host opens.
 *
 * The output of an attempt is read where it is: in the spool until it is delivered, then at its
 * path. It is opened as the user, so no one can read in this way what he could not read here. A
 * reader that follows the file ends when nothing of the attempt is running any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "base/chain.h"
#include "base/codec.h"
#include "engine/errands.h"
#include "engine/frames.h"
#include "net/handle.h"

#define CHUNK 65536
#define AHEAD 262144 /* maximum bytes waiting in a link */
#define LOOK_MS 200  /* ms between two checks of a file that grows */
#define READERS_MOST 256

struct reader {
	struct agent *a;
	struct reader *prev, *next;
	struct link *link;
	struct opening *opening;
	uv_timer_t timer;
	json_int_t id;
	char *tag, *user, *path; /* path: as requested, until it is found in the spool */
	char which[4];
	bool follow, ready;
	int fd;
	int64_t at;
};

static void reader_end(struct reader *r, const char *reason)
{
	static const struct link_events nobody = {0};

	opening_cancel(r->opening);
	if (r->fd >= 0)
		close(r->fd);
	if (r->link) {
		link_events_set(r->link, &nobody, NULL);
		link_close(r->link, reason);
	}
	chain_remove(r->a->readers, r);
	r->a->nreaders--;
	free(r->tag);
	free(r->user);
	free(r->path);
	uv_close((uv_handle_t *)&r->timer, handle_data_free);
}

static void reader_fail(struct reader *r, const char *reason)
{
	struct strbuf head = {0};
	struct json j;

	json_begin(&j, &head);
	json_text(&j, "t", "failed");
	json_text(&j, "reason", reason);
	json_close_object(&j);
	link_send(r->link, head.text, head.n, NULL, 0);
	strbuf_fini(&head);
	reader_end(r, reason);
}

/* ---- reading ---- */

static void on_look(uv_timer_t *t);

static void reader_more(struct reader *r)
{
	static char part[CHUNK];					/* single-threaded */
	bool last = !r->follow || !errands_busy(r->a->errands, r->tag); /* check before reading */

	while (link_queued(r->link) < AHEAD) {
		ssize_t n = pread(r->fd, part, sizeof part, r->at);
		if (n < 0) {
			reader_fail(r, strerror(errno));
			return;
		}
		if (n == 0 && last) {
			link_pack(r->link, NULL, 0, "{s:s}", "t", "end");
			reader_end(r, "that was all");
			return;
		}
		if (n == 0)
			break;
		link_pack(r->link, part, (size_t)n, "{s:s}", "t", "data");
		r->at += n;
	}
	if (r->follow)
		uv_timer_start(&r->timer, on_look, LOOK_MS, 0);
}

static void on_look(uv_timer_t *t)
{
	reader_more(t->data);
}

static void reader_open(struct reader *r);

static void on_open_again(uv_timer_t *t)
{
	reader_open(t->data);
}

static void on_opened(void *context, int fd, const char *reason)
{
	struct reader *r = context;

	r->opening = NULL;
	r->fd = fd;
	if (fd >= 0)
		reader_more(r);
	else if (r->follow && errands_busy(r->a->errands, r->tag)) /* the file will be created */
		uv_timer_start(&r->timer, on_open_again, LOOK_MS, 0);
	else
		reader_fail(r, reason);
}

static void reader_open(struct reader *r)
{
	struct opener_user who = {.uid = BY_NAME, .name = r->user};
	char spooled[PATH_MAX];
	const char *path = r->path;

	if (*r->tag && errands_spooled(r->a->errands, r->tag, r->which, spooled, sizeof spooled))
		path = spooled;
	if (!*path)
		reader_fail(r, "its output is not here any more");
	else
		r->opening = opener_ask(errands_opener(r->a->errands), &who, path, O_RDONLY, 0, on_opened, r);
}

/* ---- the connection ---- */

static void on_ready(void *context, struct link *l)
{
	struct reader *r = context;

	r->ready = true;
	link_notice_end(l);
	link_pack(l, NULL, 0, "{s:s,s:s,s:I}", "t", "stream", "what", "read", "id", r->id);
	reader_open(r);
}

static void on_drained(void *context, struct link *l)
{
	struct reader *r = context;

	if (r->ready && r->fd >= 0)
		reader_more(r);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct reader *r = context;

	r->link = NULL;
	reader_end(r, reason);
}

static bool is_tag(const char *tag)
{
	return *tag != '.' && !strchr(tag, '/') && strlen(tag) < 64;
}

void streams_dial(struct agent *a, const json_t *head, const char *where)
{
	static const struct link_events events = {.ready = on_ready, .drained = on_drained, .closed = on_closed};
	struct reader *r;
	struct dial d;

	if (record_load(dial_frame.fields, 0, head, &d, NULL, NULL) < 0 || !d.what || strcmp(d.what, "read") != 0 ||
	    !d.tag || !is_tag(d.tag) || a->nreaders >= READERS_MOST)
		return; /* the client's wait has a time limit */
	r = mem_zalloc(sizeof *r);
	*r = (struct reader){.a = a,
			     .id = (json_int_t)d.id,
			     .tag = mem_strdup(d.tag),
			     .user = mem_strdup(d.user ? d.user : ""),
			     .path = mem_strdup(d.path ? d.path : ""),
			     .follow = d.follow,
			     .fd = -1,
			     .at = d.from > 0 ? d.from : 0};
	snprintf(r->which, sizeof r->which, "%s", d.which && strcmp(d.which, "err") == 0 ? "err" : "out");
	chain_add(a->readers, r);
	a->nreaders++;
	uv_timer_init(a->loop, &r->timer);
	r->timer.data = r;
	r->link = link_connect(a->loop, a->calls, where, CERT_SERVER, &events, r);
}

void streams_stop(struct agent *a)
{
	while (a->readers)
		reader_end(a->readers, "this agent stops");
}
