/*
 * api_backfill.c - what would start at once: so many CPUs for so long (sched/room.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "core/feature.h"
#include "net/http.h"
#include "rules/attr.h"
#include "sched/room.h"
#include "server/api/backfill.h"
#include "server/api/call.h"
#include "server/api/query.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/world.h"
#include "server/server.h"

static const struct field window_fields[] = {
	{"cpus", .is = REQUIRED | IS_INT, "that a job may have, one by one on any of the nodes"},
	{"nodes", .is = REQUIRED | IS_INT, "that they are on"},
	{"duration", .is = REQUIRED | IS_INT | IS_NULL, "the longest walltime, in seconds; null: any"},
	{0},
};
static const struct schema window = {.fields = window_fields};
static const struct field backfill_fields[] = {
	{"now", .is = REQUIRED | IS_INSTANT},
	{"windows", .is = REQUIRED | IS_LIST,
	 "a job of such a window starts at once, one with a CPU or a second more does not; limits are not counted",
	 .of = &window, .item = IS_OBJECT},
	{0},
};
const struct schema backfill_answer = {.fields = backfill_fields};

/* Shared nodes that have the feature. */
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

static void windows_write(const room_vec *rooms, int64_t least, struct json *j)
{
	json_open_array(j, "windows");
	for (size_t i = 0; i < rooms->n; i++) {
		const struct room *r = &rooms->v[i];
		if (r->length < least)
			continue;
		json_open_object(j, NULL);
		json_int(j, "cpus", r->cpus);
		json_int(j, "nodes", r->nodes);
		if (r->length == TIME_NEVER)
			json_text(j, "duration", NULL);
		else
			json_int(j, "duration", r->length);
		json_close_object(j);
	}
	json_close_array(j);
}

void api_backfill(struct server *s, const struct call *c)
{
	const char *name = request_query(c->r, "queue");
	const struct queue *q = name ? queue_named(s, name) : NULL;
	bool *may = nodes_usable(s, request_query(c->r, "feature"));
	bool starts = attrs_bool(s->attrs, "scheduling") && (!q || attrs_bool(&q->attrs, "started"));
	struct job *job = cluster_job(s->cluster, s->world->scratch);
	struct strbuf out = {0};
	room_vec rooms = {0};
	struct json j;

	if (name && !q) {
		http_error(c->r, CODE_UNKNOWN_QUEUE, "Unknown queue %.60s.", name);
		free(may);
		return;
	}
	if (!name)
		name = attrs_text(s->attrs, "default_queue");
	job->keys = job->bound = 0;
	job_margins(s, job, &(struct spec){.queue = word_find(s, name)});
	if (starts)
		sched_room(s->sched, job, may, &rooms);
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_int(&j, "now", s->clock->now);
	windows_write(&rooms, query_number(c, "duration", 0), &j);
	json_close_object(&j);
	http_reply_strbuf(c->r, 200, "application/json", &out);
	strbuf_fini(&out);
	vec_free(&rooms);
	free(may);
}
