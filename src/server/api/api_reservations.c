/*
 * api_reservations.c - see api_reservations.h.
 *
 * Jobs that run into it, or have a place there that is guaranteed, are in the plan. When the others would start follows from two forecasts, without and with it.
 */
#include "server/api/api_reservations.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "rules/reservation.h"
#include "sched/forecast.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/reserved.h"
#include "server/job/spec.h"
#include "server/life/reservations.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/store.h"

#define CYCLES 300    /* of a forecast */
#define PACE 40000    /* of each of them: a few milliseconds */
#define JOBS_MOST 500 /* waiting jobs that are shown */

static bool note_start(void *context, const struct foreseen *f)
{
	map_set(context, f->job, (uint64_t)f->start);
	return true;
}

static void foresee(struct server *s, const node_fence_vec *fences, const uint32_t *keys, struct map *ret)
{
	struct forecast *f = forecast_create(s->sched);

	forecast_pace(f, PACE);
	if (fences)
		forecast_fences(f, fences->v, fences->n, keys, s->jobs->entries.n);
	forecast_run(f, CYCLES, note_start, ret);
	forecast_destroy(f);
}

/* The keys that jobs would have, by core id. */
static uint32_t *keys_then(struct server *s)
{
	uint32_t *keys = calloc(s->jobs->entries.n + 1, sizeof *keys);

	for (uint32_t id = 1; id < s->jobs->entries.n; id++) {
		const struct entry *e = &s->jobs->entries.v[id];
		if (e->spec && !entry_ended(s, id))
			keys[id] = reserved_keys(s, e->spec, job_key_number(e->key));
	}
	return keys;
}

/* Starts of waiting jobs, as things are and as they would be. */
static void compare(struct server *s, const struct object *next, struct map *before, struct map *after)
{
	struct object *x = object_find(s->objects, OBJECT_RESERVATION, next->name);
	struct attrs was = x->attrs;
	node_fence_vec fences = {0};
	uint32_t *keys;

	x->attrs = next->attrs;
	reservations_fences(s->objects, s->cluster, s->clock->now, &fences);
	keys = keys_then(s);
	x->attrs = was;
	foresee(s, NULL, NULL, before);
	foresee(s, &fences, keys, after);
	free(keys);
	vec_free(&fences);
}

static void job_write(struct server *s, uint32_t id, bool runs, bool guaranteed, const int64_t *before,
		      const int64_t *after, struct json *j)
{
	struct strbuf name = {0};

	entry_id(s, id, &name);
	json_open_object(j, NULL);
	json_text(j, "id", name.text);
	json_text(j, "owner", word(s, s->jobs->entries.v[id].spec->owner));
	json_bool(j, "running", runs);
	json_bool(j, "guaranteed", guaranteed);
	if (before)
		json_int(j, "start", *before);
	if (after)
		json_int(j, "start_then", *after);
	json_close_object(j);
	strbuf_fini(&name);
}

void reservation_foretell(struct server *s, const struct object *next, const struct asker *w, struct json *j)
{
	struct map before = {0}, after = {0}, told = {0};
	concerned_vec jobs = {0};
	uint64_t start, then, seen;
	int shown = 0;

	(void)w;
	json_open_array(j, "jobs");
	reservation_concerns(s, next, &jobs);
	for (size_t i = 0; i < jobs.n; i++) {
		if (!jobs.v[i].runs && !jobs.v[i].guaranteed)
			continue;
		map_set(&told, jobs.v[i].job, 1);
		job_write(s, jobs.v[i].job, jobs.v[i].runs, jobs.v[i].guaranteed, NULL, NULL, j);
	}
	compare(s, next, &before, &after);
	for (uint32_t id = 1; id < s->jobs->entries.n && shown < JOBS_MOST; id++) {
		if (!s->jobs->entries.v[id].spec || map_get(&told, id, &seen) || !map_get(&before, id, &start))
			continue;

		int64_t a = (int64_t)start, b = 0;
		bool still = map_get(&after, id, &then);

		b = still ? (int64_t)then : 0;
		if (still && b <= a)
			continue;
		job_write(s, id, false, false, &a, still ? &b : NULL, j);
		shown++;
	}
	json_close_array(j);
	map_fini(&before);
	map_fini(&after);
	map_fini(&told);
	vec_free(&jobs);
}
