/*
 * api_job_events.c - the events of a job, page by page.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/strbuf.h"
#include "core/job.h"
#include "net/http.h"
#include "run/checkpoint.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/stream/events.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "store/store.h"

#define EVENTS_PAGE 1000      /* maximum events of a job in one answer */
#define EVENTS_SLICE 200      /* events read at once */
#define BYTES_PAGE (1u << 20) /* bytes after which an answer ends: an event may name many nodes */

struct event_writer {
	struct server *s;
	struct json *j;
	const struct strbuf *out;
	int64_t after; /* last event that the client has; -1: none */
	uint32_t n;
	uint64_t last, read; /* last event that was written; last one that was read */
	uint32_t nread;	     /* events of a slice */
	bool prolonged;	     /* the previous event was a prolongation */
};

/* Returns true for repeated prolongations. An overdue job is prolonged every few seconds until it
 * has ended, and only the first is shown. */
static bool prolongs_again(struct event_writer *h, const struct store_event *e)
{
	bool prolongs = e->type == EVENT_MIGRATE && !e->by, again = prolongs && h->prolonged;

	h->prolonged = prolongs;
	return again;
}

/* The sentence and its values, for clients that build sentences themselves. */
struct shown {
	struct store_event e;
	struct payload p;
	const char *type, *text, *by, *detail;
	int64_t at;
};
enum { OF_ANY = 1 << 0, OF_FINISH = 1 << 1, OF_PREEMPT = 1 << 2, OF_SAVED = 1 << 3 };
#define HAS(member) .in = OF_ANY, MEMBER(struct shown, member)

static const struct field event_fields[] = {
	{"seq", .is = REQUIRED | IS_INT, HAS(e.seq)},
	{"time", .is = REQUIRED | IS_INSTANT, HAS(e.time)},
	{"type", .is = REQUIRED | IS_TEXT, HAS(type)},
	{"text", .is = REQUIRED | IS_TEXT, "a sentence", HAS(text)},
	{"nodes", .is = IS_TEXT, "where it has a place, or runs, joined by `+`", .example = "n1+n2", HAS(e.nodes)},
	{"at", .is = IS_INSTANT, "when it is planned to start, or until when it continues", HAS(at)},
	{"who", .is = IS_TEXT, "who did it", HAS(p.who)},
	{"by", .is = IS_TEXT, "the job for which it was done", HAS(by)},
	{"exit_status", .is = IS_INT, "of `finish`; 256 and the number of a signal; -2: its processes were lost",
	 .in = OF_FINISH, MEMBER(struct shown, p.exit_status)},
	{"moves", .is = IS_BOOL, "of `preempt`: it continues elsewhere", .in = OF_PREEMPT,
	 MEMBER(struct shown, p.moves)},
	{"retried", .is = IS_BOOL, "of `retry`: it has failed, and is run again by itself", .in = OF_PREEMPT,
	 MEMBER(struct shown, p.retried)},
	{"checkpoint", .is = IS_TEXT, "of `checkpoint`", .words = "none|begun|good|failed", .in = OF_SAVED,
	 MEMBER_AS(FORM_CHOICE, struct shown, p.saves.last.state)},
	{"cause", .is = IS_TEXT | IS_NULL, "the same", .words = save_choice, .in = OF_SAVED,
	 MEMBER_AS(FORM_CHOICE, struct shown, p.saves.last.cause)},
	{"restarted", .is = IS_INT, "the same: the checkpoint that it began with; 0: none", .in = OF_SAVED,
	 MEMBER(struct shown, p.saves.last.restarted)},
	{"detail", .is = IS_TEXT, "what else is known of it, in English", HAS(detail)},
	{0},
};
static const struct schema event = {.fields = event_fields};

static void event_show(const struct server *s, const struct store_event *e, struct json *j)
{
	json_t *data = e->data ? json_read(e->data, strlen(e->data), 0, NULL) : NULL;
	bool planned = e->type == EVENT_ALLOCATE || e->type == EVENT_MIGRATE || (e->type == EVENT_KEEP && e->nodes);
	uint32_t by, own = e->type == EVENT_FINISH    ? OF_FINISH
			   : e->type == EVENT_PREEMPT ? OF_PREEMPT
			   : e->type == EVENT_SAVED   ? OF_SAVED
						      : 0;
	struct shown x = {.e = *e, .at = planned ? e->at : 0};
	struct strbuf text = {0}, id = {0};

	payload_glance(e->type, data, &x.p);
	x.type = event_name(e->type, &x.p);
	event_words(s, e, &x.p, &text);
	x.text = strbuf_text(&text);
	x.detail = json_string_value(json_object_get(data, "text"));
	if (e->by && entry_find(s, job_key_number(e->by), job_key_index(e->by), &by)) {
		entry_id(s, by, &id);
		x.by = id.text;
	}
	json_open_object(j, NULL);
	record_show(event_fields, OF_ANY | own, &x, NULL, j);
	json_close_object(j);
	strbuf_fini(&text);
	strbuf_fini(&id);
	json_decref(data);
}

static int event_write(void *context, const struct store_event *e)
{
	struct event_writer *h = context;

	h->read = e->seq;
	h->nread++;
	if (prolongs_again(h, e) || (int64_t)e->seq <= h->after)
		return 0;
	if (e->type == EVENT_HOLD || e->type == EVENT_RELEASE) /* the core's view of blocks; 'why' explains them */
		return 0;
	if (e->type == EVENT_PLACED || e->type == EVENT_GONE)
		return 0;
	if (h->n == EVENTS_PAGE || h->out->n > BYTES_PAGE)
		return 1;
	h->n++;
	h->last = e->seq;
	event_show(h->s, e, h->j);
	return 0;
}

/* Reads the events from the last one that the client has, which decides about the next, in slices:
 * a database collects what it is asked for before it returns any. Returns true if there are more
 * than the answer has. */
static bool events_read(struct event_writer *h, uint64_t key)
{
	int rc;

	h->read = h->after > 0 ? (uint64_t)h->after - 1 : 0;
	do {
		h->nread = 0;
		rc = store_get_events(h->s->store, key, h->read + 1, EVENTS_SLICE, event_write, h, NULL);
	} while (rc == 0 && h->nread == EVENTS_SLICE);
	return rc == 1;
}

const struct schema job_events_answer = {FIELDS({"events", .is = REQUIRED | IS_LIST, .of = &event, .item = IS_OBJECT},
						{"next", .is = IS_INT, "more follow: pass this as `after`"})};

void api_job_events(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct array *a;
	struct json j;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a))
		return;
	json_begin(&j, &out);
	json_open_array(&j, "events");
	struct event_writer h = {.s = s, .j = &j, .out = &out, .after = query_number(c, "after", -1)};
	event_write(&h, &(struct store_event){.time = entry_get(s, id)->spec->created, .type = EVENT_SUBMIT});
	bool more = events_read(&h, a ? job_key(a->number, -1) : entry_get(s, id)->key);
	json_close_array(&j);
	if (more)
		json_int(&j, "next", (int64_t)h.last);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
}
