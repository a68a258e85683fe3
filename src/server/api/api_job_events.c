/*
 * api_job_events.c - what happened to a job, page by page.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "core/job.h"
#include "net/http.h"
#include "server/api/api.h"
#include "server/api/call.h"
#include "server/api/events.h"
#include "server/api/query.h"
#include "server/api/request.h"
#include "server/api/schemas.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"
#include "store/store.h"

#define EVENTS_PAGE 1000 /* events of a job in one answer */

struct event_writer {
	struct server *s;
	struct json *j;
	int64_t after; /* the last one that the client has; -1: none */
	uint32_t n;
	uint64_t last;
	bool prolonged; /* the event before was a prolongation */
};

/* An overdue job is prolonged every few seconds until it has ended: the first time says it all. */
static bool prolongs_again(struct event_writer *h, const struct store_event *e)
{
	bool prolongs = e->type == EVENT_MIGRATE && !e->by, again = prolongs && h->prolonged;

	h->prolonged = prolongs;
	return again;
}

static int event_write(void *context, const struct store_event *e)
{
	struct event_writer *h = context;
	struct strbuf text = {0};

	if (prolongs_again(h, e) || (int64_t)e->seq <= h->after)
		return 0;
	if (e->type == EVENT_HOLD ||
	    e->type == EVENT_RELEASE) /* how blocks look to the core: 'why' says what they are */
		return 0;
	if (e->type == EVENT_PLACED || e->type == EVENT_GONE)
		return 0;
	if (h->n++ == EVENTS_PAGE)
		return 1;
	h->last = e->seq;
	event_words(h->s, e, &text);
	json_open_object(h->j, NULL);
	json_int(h->j, "seq", (int64_t)e->seq);
	json_int(h->j, "time", e->time);
	json_text(h->j, "type", event_name(e->type));
	json_text(h->j, "text", strbuf_text(&text));
	if (e->nodes)
		json_text(h->j, "nodes", e->nodes);
	event_values(h->s, e, h->j);
	json_close_object(h->j);
	strbuf_fini(&text);
	return 0;
}

static const struct field event_fields[] = {
	{"seq", .is = REQUIRED | IS_INT},
	{"time", .is = REQUIRED | IS_INSTANT},
	{"type", .is = REQUIRED | IS_TEXT},
	{"text", .is = REQUIRED | IS_TEXT, "a sentence"},
	{"nodes", .is = IS_TEXT, "where it has a place, or runs, joined by `+`", .example = "n1+n2"},
	{"at", .is = IS_INSTANT, "when it is planned to start, or until when it goes on"},
	{"who", .is = IS_TEXT, "who did it"},
	{"by", .is = IS_TEXT, "the job for which it was done"},
	{"exit_status", .is = IS_INT, "of `finish`; 256 and the number of a signal; -2: its processes were lost"},
	{"moves", .is = IS_BOOL, "of `preempt`: it goes on elsewhere"},
	{"checkpoint", .is = IS_TEXT, "of `checkpoint`", .words = "none|begun|good|failed"},
	{"cause", .is = IS_TEXT | IS_NULL, "the same", .words = "periodic|asked|preempted|time_limit|shutdown|move"},
	{"restarted", .is = IS_INT, "the same: the checkpoint that it began with; 0: none"},
	{"detail", .is = IS_TEXT, "what else is known of it, in English"},
	{0},
};
static const struct schema event = {.fields = event_fields};
static const struct field events_fields[] = {
	{"events", .is = REQUIRED | IS_LIST, .of = &event, .item = IS_OBJECT},
	{"next", .is = IS_INT, "there are more: give this as `after`"},
	{0},
};
const struct schema job_events_answer = {.fields = events_fields};

void api_job_events(struct server *s, const struct call *c)
{
	struct strbuf out = {0};
	struct array *a;
	struct json j;
	uint32_t id;

	if (!api_job(s, c->r, c->w, c->name, &id, &a))
		return;
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "events");
	struct event_writer h = {s, &j, query_number(c, "after", -1), .n = 0};
	event_write(&h, &(struct store_event){.time = s->jobs->entries.v[id].spec->created, .type = EVENT_SUBMIT});
	store_get_events(s->store, a ? job_key(a->number, -1) : s->jobs->entries.v[id].key, event_write, &h, NULL);
	json_close_array(&j);
	if (h.n > EVENTS_PAGE)
		json_int(&j, "next", (int64_t)h.last);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}
