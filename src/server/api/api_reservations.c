/*
 * api_reservations.c - see api_reservations.h.
 *
 * Jobs that run into it, or have a place there that is guaranteed, are in the plan. When the others would start follows from two forecasts, without and with it,
 * which are made in slices.
 */
#include "server/api/api_reservations.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "rules/reservation.h"
#include "sched/forecast.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/reserved.h"
#include "server/job/spec.h"
#include "server/life/reservations.h"
#include "server/server.h"
#include "store/store.h"

#define CYCLES 300    /* of a forecast */
#define PACE 40000    /* of each of them: a few milliseconds */
#define JOBS_MOST 500 /* waiting jobs that are shown */

/* A dry run, in slices: both forecasts begin with what was there when it began. One at a time, as each has a copy of all jobs. */
struct dry_run {
	struct work work;
	struct http_request *r;
	char *refused;	    /* NULL: it can be made */
	concerned_vec jobs; /* that have places in its way */
	node_fence_vec fences;
	uint32_t *keys; /* as they would be, of the first nkeys jobs */
	size_t nkeys;
	struct forecast *before, *after; /* without it, and with it */
	struct map starts, then;	 /* ... what they foresaw */
	int cycles;			 /* of the one that is being made */
	bool begun;
};

static bool note_start(void *context, const struct foreseen *f)
{
	map_set(context, f->job, (uint64_t)f->start);
	return true;
}

/* Fences and keys if the object were as it would be. */
static void pretend(struct server *s, const struct object *next, struct dry_run *d)
{
	struct object *x = object_find(s->objects, OBJECT_RESERVATION, next->name);
	struct attrs was = x->attrs;

	x->attrs = next->attrs;
	reservations_fences(s->objects, s->cluster, s->clock->now, &d->fences);
	d->keys = keys_now(s);
	d->nkeys = s->jobs->entries.n;
	x->attrs = was;
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

static void jobs_write(struct server *s, const struct dry_run *d, struct json *j)
{
	uint64_t start, then, seen;
	struct map told = {0};
	int shown = 0;

	json_open_array(j, "jobs");
	for (size_t i = 0; i < d->jobs.n; i++) {
		const struct concerned *x = &d->jobs.v[i];
		if ((!x->runs && !x->guaranteed) || !s->jobs->entries.v[x->job].spec)
			continue;
		map_set(&told, x->job, 1);
		job_write(s, x->job, x->runs, x->guaranteed, NULL, NULL, j);
	}
	for (uint32_t id = 1; id < d->nkeys && shown < JOBS_MOST; id++) {
		if (!s->jobs->entries.v[id].spec || map_get(&told, id, &seen) || !map_get(&d->starts, id, &start))
			continue;

		int64_t a = (int64_t)start, b = 0;
		bool still = map_get(&d->then, id, &then);

		b = still ? (int64_t)then : 0;
		if (still && b <= a)
			continue;
		job_write(s, id, false, false, &a, still ? &b : NULL, j);
		shown++;
	}
	json_close_array(j);
	map_fini(&told);
}

static void answer(struct server *s, const struct dry_run *d)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "refused", d->refused);
	jobs_write(s, d, &j);
	json_close_object(&j);
	http_reply_strbuf(d->r, 200, "application/json", &out);
	strbuf_fini(&out);
}

static void dry_free(struct server *s, struct dry_run *d)
{
	if (s->slices->foretelling == &d->work)
		s->slices->foretelling = NULL;
	forecast_destroy(d->before);
	forecast_destroy(d->after);
	map_fini(&d->starts);
	map_fini(&d->then);
	vec_free(&d->jobs);
	vec_free(&d->fences);
	free(d->keys);
	free(d->refused);
	free(d);
}

/* A cycle of a forecast, which is gone after its last. */
static void foresee_some(struct dry_run *d, struct forecast **f, struct map *ret)
{
	if (!forecast_run(*f, 1, note_start, ret) && ++d->cycles < CYCLES)
		return;
	forecast_destroy(*f);
	*f = NULL;
	d->cycles = 0;
}

static bool dry_step(struct server *s, struct work *work)
{
	struct dry_run *d = (struct dry_run *)work;

	work->waits = s->slices->foretelling && s->slices->foretelling != work;
	if (work->waits)
		return true;
	s->slices->foretelling = work;
	if (!d->begun && !d->before) {
		d->before = forecast_create(s->sched);
		forecast_pace(d->before, PACE);
	} else if (!d->begun) {
		d->after = forecast_create(forecast_sched(d->before));
		forecast_pace(d->after, PACE);
		forecast_fences(d->after, d->fences.v, d->fences.n, d->keys, d->nkeys);
		d->begun = true;
	} else if (d->before) {
		foresee_some(d, &d->before, &d->starts);
	} else if (d->after) {
		foresee_some(d, &d->after, &d->then);
	} else {
		answer(s, d);
		dry_free(s, d);
		return false;
	}
	return true;
}

static void dry_pause(struct server *s, struct work *work)
{
}

static void dry_stop(struct server *s, struct work *work, const char *why)
{
	struct dry_run *d = (struct dry_run *)work;

	http_error(d->r, CODE_UNAVAILABLE, "It could not be foreseen (%s). Try again later.", why);
	dry_free(s, d);
}

void reservation_foretell(struct server *s, const struct object *next, struct http_request *r, const char *refused)
{
	static const struct work_kind kind = {dry_step, dry_pause, dry_stop, .reads = true, .lasting = false};
	struct dry_run *d = mem_zalloc(sizeof *d);

	d->r = r;
	d->refused = refused ? mem_strdup(refused) : NULL;
	reservation_concerns(s, next, &d->jobs);
	pretend(s, next, d);
	work_add(s, &d->work, &kind);
}
