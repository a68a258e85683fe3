/*
 * events.c - the stream of events: Server-Sent Events to all listeners, after the commit, with the
 * latest kept for those that reconnect.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/json.h"
#include "base/jsonread.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/job.h"
#include "net/http.h"
#include "run/checkpoint.h"
#include "server/api/frame/audience.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/stream/api_lives.h"
#include "server/api/stream/events.h"
#include "server/api/stream/journal.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "server/site/tokens.h"
#include "server/site/who.h"
#include "store/store.h"

#define RING 16384 /* events kept for listeners that reconnect */
/* bytes a listener may lag behind; a slower one is notified that it missed some */
#define BEHIND_MAX (1u << 20)
#define NODES_MOST 1000 /* bytes of names of nodes in a sentence */
#define ALIVE_SECONDS 15
#define STREAM_US 500 /* pause after sending, for each listener: some twenty times what a write costs */

struct event_line {
	uint64_t seq;
	uid_t uid;		 /* owner of the job */
	uint32_t queue, account; /* words of the job's queue and account at that time */
	bool common;		 /* event of a node or a queue, visible to all */
	char *text;
};

struct stream {
	struct server *s;
	struct http_request *r;
	struct asker who;
	struct strbuf out;
	int64_t last; /* instant when something was last sent */
	bool closed, all;
};

/* Latest events. Owned by the server's audience, created for the first listener. */
struct event_ring {
	struct event_line line[RING];
	uint64_t n;    /* number of events ever added */
	uint64_t told; /* number of these that are committed and were sent */
};

const char *event_name(int type, const struct payload *p)
{
	static const char *const names[SERVER_EVENT_END] = {
		[EVENT_PLACED] = "placed", [EVENT_INTENT] = "asked",	 [EVENT_NOTE] = "note",
		[EVENT_ALTER] = "alter",   [EVENT_HOLDS] = "holds",	 [EVENT_SUSPEND] = "signal",
		[EVENT_RANK] = "rank",	   [EVENT_SAVED] = "checkpoint", [EVENT_AWAY] = "site",
		[EVENT_GONE] = "gone",
	};

	if (type == EVENT_PREEMPT && p->retried)
		return "retry";
	return type < SERVER_EVENT_END && names[type] ? names[type] : event_type_name((enum event_type)type);
}

static void words_saved(const struct saves *v, struct strbuf *out)
{
	if (v->state == SAVE_NONE && v->restarted)
		strbuf_printf(out, "restarted from checkpoint %lld", (long long)v->restarted);
	else if (v->state == SAVE_NONE)
		strbuf_puts(out, "work was lost that no checkpoint covers");
	else
		strbuf_printf(out, "checkpoint %s (%s)",
			      v->state == SAVE_GOOD	? "saved"
			      : v->state == SAVE_FAILED ? "failed"
							: "begun",
			      save_words[v->cause]);
}

static void words_finish(const struct payload *p, struct strbuf *out)
{
	if (p->exit_status >= 256)
		strbuf_printf(out, "ended by signal %d", p->exit_status - 256);
	else if (p->exit_status == EXIT_LOST)
		strbuf_puts(out, "ended: its processes were lost");
	else
		strbuf_printf(out, "ended with exit status %d", p->exit_status);
	if (p->text)
		strbuf_printf(out, ": %s", p->text);
}

/* Writes the names of nodes, of very many only the first: the events that are kept for listeners
 * must not grow with the machine. */
static void words_nodes(const char *nodes, struct strbuf *out)
{
	size_t n = strlen(nodes);
	int64_t left = 0;

	if (n > NODES_MOST) {
		for (n = NODES_MOST; n > 0 && nodes[n] != '+'; n--)
			;
		for (const char *at = nodes + n; (at = strchr(at, '+')); at++)
			left++;
	}
	strbuf_add(out, nodes, n);
	if (left)
		strbuf_printf(out, " and %lld more nodes", (long long)left);
}

void event_words(const struct server *s, const struct store_event *e, const struct payload *p, struct strbuf *out)
{
	static const char *const plain[SERVER_EVENT_END] = {
		[EVENT_SUBMIT] = "submitted",
		[EVENT_HOLD] = "not eligible to run",
		[EVENT_RELEASE] = "eligible to run",
		[EVENT_STARVE] = "has waited too long: it reserves from now on",
		[EVENT_DEALLOCATE] = "lost its planned place",
		[EVENT_GUARANTEE] = "its deadline is guaranteed",
		[EVENT_STARTED] = "runs",
		[EVENT_EXPIRE] = "its deadline could no longer be met",
		[EVENT_PLACED] = "got its CPUs",
		[EVENT_GONE] = "its CPUs are free",
	};
	const char *because = p->text ? ": " : "", *text = p->text ? p->text : "", *nodes = e->nodes ? e->nodes : "?";
	char when[32];

	switch (e->type) {
	case EVENT_ALLOCATE:
		strbuf_printf(out, "planned to start %s on ", instant_format(e->at, when, sizeof when));
		words_nodes(nodes, out);
		break;
	case EVENT_KEEP:
		if (!e->nodes) {
			strbuf_puts(out, "has no expected start");
			break;
		}
		strbuf_printf(out, "will start by %s, on ", instant_format(e->at, when, sizeof when));
		words_nodes(nodes, out);
		break;
	case EVENT_START:
		strbuf_puts(out, "ordered to start on ");
		words_nodes(nodes, out);
		break;
	case EVENT_START_FAILED:
		strbuf_printf(out, "could not be started%s%s", because, text);
		break;
	case EVENT_PREEMPT:
		if (p->retried && p->text)
			strbuf_puts(out, text);
		else
			strbuf_printf(out, "stopped, to %s%s%s", p->moves ? "continue elsewhere" : "run again", because,
				      text);
		break;
	case EVENT_MIGRATE:
		strbuf_printf(out, "continues until %s%s", instant_format(e->at, when, sizeof when),
			      e->by ? ", when its place is needed" : "");
		break;
	case EVENT_FINISH:
		words_finish(p, out);
		break;
	case EVENT_DELETE:
		if (p->exit_status >= 0) /* it ended at another site, or while it was being stopped */
			words_finish(p, out);
		else
			strbuf_printf(out, "deleted before it ran%s%s", because, text);
		break;
	case EVENT_SAVED:
		words_saved(&p->saves.last, out);
		break;
	case EVENT_INTENT:
		strbuf_printf(out, "asked to %s", p->intent == INTENT_RERUN ? "run again" : "be deleted");
		break;
	default:
		if (e->type < SERVER_EVENT_END && plain[e->type])
			strbuf_puts(out, plain[e->type]);
		else
			strbuf_puts(out, p->text ? text : e->type == EVENT_RANK ? "moved within the queue" : "?");
		break;
	}
	if (p->who)
		strbuf_printf(out, " by %s", p->who);
	if (e->by && !(e->type == EVENT_PREEMPT && p->text)) { /* the text already names it */
		uint32_t by;
		if (entry_find(s, job_key_number(e->by), job_key_index(e->by), &by)) {
			strbuf_puts(out, " for job ");
			entry_id(s, by, out);
		}
	}
}

static void line_write(const struct server *s, const struct store_event *e, uint32_t id, struct strbuf *out)
{
	json_t *known = e->data ? json_read(e->data, strlen(e->data), 0, NULL) : NULL;
	struct strbuf data = {0}, text = {0};
	struct payload p;
	struct json j;
	char state[2] = {entry_state(s, id), '\0'};

	payload_glance(e->type, known, &p);
	json_begin(&j, &data);
	json_int(&j, "seq", (int64_t)e->seq);
	json_int(&j, "time", e->time);
	entry_id(s, id, &text);
	json_text(&j, "job", text.text);
	json_text(&j, "type", event_name(e->type, &p));
	json_text(&j, "state", state);
	json_text(&j, "name", entry_get(s, id)->spec->name);
	json_text(&j, "owner", word_text(s, entry_get(s, id)->spec->owner));
	strbuf_clear(&text);
	event_words(s, e, &p, &text);
	json_text(&j, "text", strbuf_text(&text));
	if (job_ended(entry_job(s, id)))
		json_int(&j, "exit_status", entry_get(s, id)->exit_status);
	json_close_object(&j);
	strbuf_printf(out, "id: %llu\nevent: %s\ndata: %s\n\n", (unsigned long long)e->seq, event_name(e->type, &p),
		      strbuf_text(&data));
	strbuf_fini(&data);
	strbuf_fini(&text);
	json_decref(known);
}

/* Adds an event, once there has been a listener: before that nobody has missed anything, and a line
 * costs more than the event. */
void stream_event(struct server *s, const struct store_event *e)
{
	struct strbuf text = {0};
	struct event_line *l;
	uint32_t id;

	journal_event(s, e);
	if (!s->audience->ring || !entry_find(s, job_key_number(e->job), job_key_index(e->job), &id))
		return;
	l = &s->audience->ring->line[s->audience->ring->n++ % RING];
	free(l->text);
	line_write(s, e, id, &text);
	*l = (struct event_line){.seq = e->seq,
				 .uid = entry_get(s, id)->spec->uid,
				 .queue = entry_get(s, id)->spec->queue,
				 .account = entry_get(s, id)->spec->account,
				 .text = text.text};
}

/* Adds an event for everybody: nodes and queues are not secret. */
void stream_life(struct server *s, const struct store_life *e)
{
	struct strbuf text = {0}, data = {0};
	struct event_line *l;
	struct json j;

	if (!s->audience->ring)
		return;
	json_init(&j, &data, false);
	life_show(e, &j);
	strbuf_printf(&text, "id: %llu\nevent: %s\ndata: %s\n\n", (unsigned long long)e->seq, e->kind,
		      strbuf_text(&data));
	l = &s->audience->ring->line[s->audience->ring->n++ % RING];
	free(l->text);
	*l = (struct event_line){.seq = e->seq, .common = true, .text = text.text};
	strbuf_fini(&data);
}

static bool stream_sees(const struct stream *t, const struct event_line *l)
{
	struct spec job = {.uid = l->uid, .queue = l->queue, .account = l->account};

	return t->all || l->common || asker_may(t->s, &t->who, ACT_SEE, &job);
}

static void stream_put(struct stream *t, const char *text, size_t n)
{
	if (t->out.n > BEHIND_MAX) {
		strbuf_clear(&t->out);
		strbuf_puts(&t->out, "event: gap\ndata: {\"text\": \"too slow: some events were left out\"}\n\n");
	}
	strbuf_add(&t->out, text, n);
}

static void stream_add(struct stream *t, const struct event_line *l)
{
	if (stream_sees(t, l))
		stream_put(t, l->text, strlen(l->text));
}

/* Renews the listener's rights: attributes may have changed since the stream began. */
static void stream_renew(struct stream *t)
{
	who_renew(t->s, &t->who);
	t->all = may_see_all(t->s, &t->who);
}

bool streams_rest(const struct server *s)
{
	return s->clock->now_us < s->audience->streams_us && !s->turn->terminating;
}

int64_t streams_next(const struct server *s)
{
	const struct event_ring *ring = s->audience->ring;

	return ring && ring->told < ring->n && s->audience->streams.n && !s->turn->trouble ? s->audience->streams_us
											   : TIME_NEVER;
}

/* Gives a listener the events not sent yet; `all` is the text of all of them. */
static void stream_tell(struct stream *t, const struct event_ring *ring, const struct strbuf *all)
{
	stream_renew(t);
	if (t->all)
		stream_put(t, all->text, all->n);
	for (uint64_t i = ring->told; i < ring->n && !t->all; i++)
		stream_add(t, &ring->line[i % RING]);
	if (t->out.n)
		stream_wake(t->r);
}

/* Sends the events not sent yet. With many listeners they are gathered for a while, since
 * each of them costs a write. */
void stream_flush(struct server *s)
{
	static const char missed[] = "event: gap\ndata: {\"text\": \"too many at once: some were left out\"}\n\n";
	struct event_ring *ring = s->audience->ring;
	struct strbuf all = {0};

	if (!ring || ring->told == ring->n || (s->audience->streams.n && streams_rest(s)))
		return;
	bool lost = ring->n - ring->told > RING;
	if (lost)
		ring->told = ring->n - RING;
	for (size_t i = 0; i < s->audience->streams.n && lost; i++)
		stream_put(s->audience->streams.v[i], missed, sizeof missed - 1);
	for (uint64_t i = ring->told; i < ring->n && s->audience->streams.n; i++)
		strbuf_puts(&all, ring->line[i % RING].text);
	for (size_t i = 0; i < s->audience->streams.n; i++)
		stream_tell(s->audience->streams.v[i], ring, &all);
	ring->told = ring->n;
	s->audience->streams_us = s->clock->now_us + STREAM_US * (int64_t)s->audience->streams.n;
	strbuf_fini(&all);
}

void stream_tick(struct server *s)
{
	for (size_t i = 0; i < s->audience->streams.n; i++)
		if (s->clock->now - s->audience->streams.v[i]->last >= ALIVE_SECONDS) {
			strbuf_puts(&s->audience->streams.v[i]->out,
				    ": alive\n\n"); /* or its end, if it is no longer allowed */
			s->audience->streams.v[i]->last = s->clock->now;
			stream_wake(s->audience->streams.v[i]->r);
		}
}

static int fill(void *context, struct strbuf *out, size_t want)
{
	struct stream *t = context;

	if (t->s->turn->stopped || !token_holds(t->s, &t->who))
		return -1;
	if (t->out.n) {
		struct strbuf room = *out; /* exchanged, not copied: with many listeners the copies are the cost */
		*out = t->out;
		t->out = room;
		strbuf_clear(&t->out);
		t->last = t->s->clock->now;
	}
	return 0;
}

static void closed(void *context)
{
	struct stream *t = context;
	struct server *s = t->s;

	for (size_t i = 0; i < s->audience->streams.n; i++)
		if (s->audience->streams.v[i] == t) {
			vec_remove(&s->audience->streams, i);
			break;
		}
	strbuf_fini(&t->out);
	free(t);
}

/* Sends everything after `after` that is still kept. */
static void catch_up(struct stream *t, uint64_t after)
{
	struct event_ring *ring = t->s->audience->ring;
	uint64_t first = ring->n > RING ? ring->n - RING : 0;

	if (first == ring->told || ring->line[first % RING].seq > after + 1)
		strbuf_puts(&t->out, "event: gap\ndata: {\"text\": \"events before these are not kept any more\"}\n\n");
	for (uint64_t i = first; i < ring->told; i++)
		if (ring->line[i % RING].seq > after)
			stream_add(t, &ring->line[i % RING]);
}

void api_events(struct server *s, const struct call *c)
{
	int64_t after = query_number(c, "after", -1);
	struct stream *t;

	if (after >= 0 && (uint64_t)after >= s->jobs->next_seq && after > 0) {
		http_error(c->r, CODE_BAD_REQUEST,
			   "after (Last-Event-ID) is %lld, which no event has had: the last one had %lld.",
			   (long long)after, (long long)s->jobs->next_seq - 1);
		return;
	}
	t = mem_zalloc(sizeof *t);
	if (!s->audience->ring)
		s->audience->ring = mem_zalloc(sizeof *s->audience->ring);
	t->s = s;
	t->r = c->r;
	t->who = *c->w;
	stream_renew(t);
	t->last = s->clock->now;
	strbuf_puts(&t->out, ": shunt events\n\n");
	if (after >= 0)
		catch_up(t, (uint64_t)after);
	vec_push(&s->audience->streams, t);
	http_header(c->r, "Cache-Control", "no-store");
	http_stream(c->r, 200, "text/event-stream", &(struct stream_source){fill, closed, t});
}
