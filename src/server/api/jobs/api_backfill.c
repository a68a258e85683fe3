/*
 * api_backfill.c - what could start at once: how many CPUs are free for how long (sched/room.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/feature.h"
#include "net/http.h"
#include "rules/attr.h"
#include "sched/room.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/jobs/backfill.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/world/decide.h"
#include "server/life/world/world.h"
#include "server/server.h"

static const struct schema window = {
	FIELDS({"cpus", .is = REQUIRED | IS_INT, "that a job may have, one by one on any of the nodes",
		MEMBER(struct room, cpus)},
	       {"nodes", .is = REQUIRED | IS_INT, "that they are on", MEMBER(struct room, nodes)},
	       {"duration", .is = REQUIRED | IS_INT | IS_NULL, "the longest walltime, in seconds; null: any",
		.missing = TIME_NEVER, MEMBER(struct room, length)})};

/* The answer. */
struct subject {
	int64_t now;
	int64_t least; /* seconds; shorter windows are left out */
	room_vec rooms;
};

static void windows_inside(const struct subject *x, struct json *j)
{
	for (size_t i = 0; i < x->rooms.n; i++)
		if (x->rooms.v[i].length >= x->least)
			schema_show(&window, NULL, &x->rooms.v[i], NULL, j);
}

const struct schema backfill_answer = {FIELDS(
	{"now", .is = REQUIRED | IS_INSTANT, MEMBER(struct subject, now)},
	{"windows", .is = REQUIRED | IS_LIST,
	 "a job of such a window starts at once, one with a CPU or a second more does not; limits are not counted",
	 .of = &window, .item = IS_OBJECT, .inside = windows_inside})};

/* Marks the shared nodes that have the feature. */
static bool *nodes_usable(const struct server *s, const char *feature)
{
	const struct cluster *c = s->cluster;
	bool *may = mem_zalloc((c->nodes.n + 1) * sizeof *may);
	uint32_t id = 0;
	bool known = feature && names_find(&c->feature_names, feature, &id);

	for (uint32_t n = 0; n < c->nodes.n; n++) {
		may[n] = c->nodes.v[n].partition == PARTITION_NONE && (!feature || known);
		if (may[n] && feature)
			may[n] = features_next(&c->features, c->nodes.v[n].features, id) == id;
	}
	return may;
}

void api_backfill(struct server *s, const struct call *c)
{
	const char *name = request_query(c->r, "queue");
	const struct queue *q = name ? queue_named(s, name) : NULL;
	bool *may = nodes_usable(s, request_query(c->r, "feature"));
	bool starts = attrs_bool(s->attrs, SET_SCHEDULING) && (!q || attrs_bool(&q->attrs, SET_STARTED));
	struct job *job = cluster_job(s->cluster, s->world->scratch);
	struct subject x = {.now = s->clock->now, .least = query_number(c, "duration", 0)};

	if (name && !q) {
		http_error(c->r, CODE_UNKNOWN_QUEUE, "Unknown queue %.60s.", name);
		free(may);
		return;
	}
	if (!name)
		name = attrs_text(s->attrs, SET_DEFAULT_QUEUE);
	if (s->turn->dirty) /* waiting jobs reserve first */
		turn_decide(s);
	job->keys = job->bound = 0;
	job_margins(s, job, &(struct spec){.queue = word_find(s, name)});
	if (starts)
		sched_room(s->sched, job, may, &x.rooms);
	api_show(s, c->r, &backfill_answer, &x);
	vec_free(&x.rooms);
	free(may);
}
