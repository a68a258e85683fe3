/*
 * api_lives.c - what happened to a node or a queue.
 */
#include "server/api/api_lives.h"

#include <stdbool.h>

#include "base/json.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "net/http.h"
#include "server/api/call.h"
#include "server/api/schemas.h"
#include "server/job/jobs.h"
#include "server/life/lives.h"
#include "server/node/world_node.h"
#include "server/server.h"
#include "store/store.h"

static const struct field life_fields[] = {
	{"seq", .is = REQUIRED | IS_INT, "numbered with the events of jobs"},
	{"time", .is = REQUIRED | IS_INSTANT},
	{"node", .is = IS_TEXT, "which node it happened to; or queue"},
	{"queue", .is = IS_TEXT},
	{"type", .is = REQUIRED | IS_TEXT,
	 .words =
		 "added|joined|connected|silent|lost|offline|online|drain|drained|leaving|gone|unhealthy|healthy|altered|created|deleted|started|stopped|enabled|disabled"},
	{"at", .is = IS_INSTANT, "when it is to take effect"},
	{"who", .is = REQUIRED | IS_TEXT | IS_NULL, "a user, a token, or the server itself"},
	{"reason", .is = REQUIRED | IS_TEXT | IS_NULL, "the note that was given, or what was changed"},
	{"text", .is = REQUIRED | IS_TEXT, "the same in a sentence"},
	{0},
};
static const struct schema life = {"LifeEvent", .fields = life_fields};
static const struct field lives_fields[] = {
	{"events", .is = REQUIRED | IS_LIST, .of = &life, .item = IS_OBJECT},
	{0},
};
const struct schema lives_answer = {.fields = lives_fields};

struct lives {
	struct json *j;
	size_t n;
};

static int one(void *context, const struct store_life *e)
{
	struct lives *l = context;

	life_json(e, l->j);
	l->n++;
	return 0;
}

/* Also of one that is no more, as long as its events are kept. */
static void answer(struct server *s, struct http_request *r, const char *kind, const char *name, bool known)
{
	struct strbuf out = {0};
	struct json j;
	struct lives l = {.j = &j};
	struct err err;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_open_array(&j, "events");
	int rc = store_get_life(s->store, kind, name, one, &l, &err);
	json_close_array(&j);
	json_close_object(&j);
	if (rc < 0)
		http_error(r, CODE_UNAVAILABLE, "The store can't be read: %s.", err.text);
	else if (l.n == 0 && !known)
		http_error(r, kind[0] == 'n' ? CODE_UNKNOWN_NODE : CODE_UNKNOWN_QUEUE, "There is no %s %.60s.", kind,
			   name);
	else
		http_reply_strbuf(r, 200, "application/json", &out);
	strbuf_fini(&out);
}

void api_node_events(struct server *s, const struct call *c)
{
	uint32_t node;

	answer(s, c->r, "node", c->name,
	       names_find(&s->cluster->node_names, c->name, &node) && !world_node_past(s, node));
}

void api_queue_events(struct server *s, const struct call *c)
{
	answer(s, c->r, "queue", c->name, queue_named(s, c->name) != NULL);
}
