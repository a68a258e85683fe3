/*
 * api_lives.c - events of a node or a queue.
 */
#include "server/api/stream/api_lives.h"

#include <stdbool.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "net/http.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/schemas.h"
#include "server/job/jobs.h"
#include "server/life/world/lives.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "store/store.h"

struct shown {
	struct store_life e;
	const char *node, *queue, *text;
};
#define HAS(member) MEMBER(struct shown, member)

static const struct schema life = {
	"LifeEvent",
	FIELDS({"seq", .is = REQUIRED | IS_INT, "numbered with the events of jobs", HAS(e.seq)},
	       {"time", .is = REQUIRED | IS_INSTANT, HAS(e.time)},
	       {"node", .is = IS_TEXT, "which node it happened to; or queue", HAS(node)},
	       {"queue", .is = IS_TEXT, HAS(queue)},
	       {"type", .is = REQUIRED | IS_TEXT,
		.words =
			"added|joined|connected|silent|lost|offline|online|drain|drained|leaving|gone|unhealthy|healthy|altered|claimed|released|created|deleted|started|stopped|enabled|disabled",
		HAS(e.type)},
	       {"at", .is = IS_INSTANT, "when it is to take effect", HAS(e.at)},
	       {"who", .is = REQUIRED | IS_TEXT | IS_NULL, "a user, a token, or the server itself", HAS(e.who)},
	       {"reason", .is = REQUIRED | IS_TEXT | IS_NULL, "the note that was given, or what was changed",
		HAS(e.reason)},
	       {"text", .is = REQUIRED | IS_TEXT, "the same in a sentence", HAS(text)})};

void life_show(const struct store_life *e, struct json *j)
{
	bool node = strcmp(e->kind, "node") == 0;
	struct strbuf text = {0};

	life_words(e, &text);
	schema_show(&life, NULL,
		    &(struct shown){.e = *e,
				    .node = node ? e->name : NULL,
				    .queue = node ? NULL : e->name,
				    .text = strbuf_text(&text)},
		    NULL, j);
	strbuf_fini(&text);
}

const struct schema lives_answer = {FIELDS({"events", .is = REQUIRED | IS_LIST, .of = &life, .item = IS_OBJECT},
					   {"next", .is = IS_INT, "more follow: pass this as `after`"})};

#define PAGE 500 /* maximum events in one answer */

struct lives {
	struct json *j;
	int64_t after; /* last event that the client has; -1: none */
	size_t n, all;
	uint64_t last;
};

static int one(void *context, const struct store_life *e)
{
	struct lives *l = context;

	l->all++;
	if ((int64_t)e->seq <= l->after)
		return 0;
	if (l->n++ == PAGE)
		return 1; /* the page is full: more events follow */
	life_show(e, l->j);
	l->last = e->seq;
	return 0;
}

/* Answers with events; those of a removed node or queue as well, as long as they are kept. */
static void answer(struct server *s, const struct call *c, const char *kind, bool known)
{
	struct strbuf out = {0};
	struct json j;
	struct lives l = {.j = &j, .after = query_number(c, "after", -1)};
	struct err err;

	json_begin(&j, &out);
	json_open_array(&j, "events");
	int rc = store_get_life(s->store, kind, c->name, one, &l, &err);
	json_close_array(&j);
	if (l.n > PAGE)
		json_int(&j, "next", (int64_t)l.last);
	json_close_object(&j);
	if (rc < 0)
		http_error(c->r, CODE_UNAVAILABLE, "The store can't be read: %s.", err.text);
	else if (l.all == 0 && !known)
		http_error(c->r, kind[0] == 'n' ? CODE_UNKNOWN_NODE : CODE_UNKNOWN_QUEUE, "There is no %s %.60s.", kind,
			   c->name);
	else
		http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

void api_node_events(struct server *s, const struct call *c)
{
	uint32_t node;

	answer(s, c, "node", names_find(&s->cluster->node_names, c->name, &node) && !world_node_past(s, node));
}

void api_queue_events(struct server *s, const struct call *c)
{
	answer(s, c, "queue", queue_named(s, c->name) != NULL);
}
