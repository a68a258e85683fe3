/*
 * api_reservations.c - see api_reservations.h.
 *
 * Jobs that run into the reservation, or have a guaranteed place there, are in the plan. The starts
 * of the others follow from two forecasts, without and with the reservation, which are made in
 * slices.
 */
#include "server/api/jobs/api_reservations.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http.h"
#include "rules/reservation.h"
#include "sched/forecast.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/base/clock.h"
#include "server/base/work.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/reservations.h"
#include "server/server.h"
#include "store/store.h"

#define CYCLES 300    /* maximum cycles of a forecast */
#define PACE 40000    /* pace of each cycle: a few milliseconds */
#define JOBS_MOST 500 /* maximum waiting jobs shown */

/* A dry run, in slices. Both forecasts start from the state at its beginning. Only one runs at a
 * time, since each has a copy of all jobs. */
struct dry_run {
	struct work work;
	struct http_request *r;
	char *refused;	    /* why it can't be made; NULL: it can */
	concerned_vec jobs; /* jobs that have places in its way */
	node_fence_vec fences;
	uint32_t *keys; /* keys that the first nkeys jobs would have */
	size_t nkeys;
	struct forecast *before, *after; /* forecasts without and with the reservation */
	struct map starts, then;	 /* starts predicted by each */
	int cycles;			 /* cycles of the forecast in progress */
	bool begun;
};

static bool note_start(void *context, const struct foreseen *f)
{
	map_set(context, f->job, (uint64_t)f->start);
	return true;
}

/* Computes fences and keys as if the object were `next`. */
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

struct concerned_job {
	const char *id;
	uint32_t owner;
	bool running, guaranteed;
	int64_t start, start_then; /* TIME_NEVER: not predicted */
};

static const struct schema concerned_job = {
	FIELDS({"id", .is = REQUIRED | IS_TEXT, MEMBER(struct concerned_job, id)},
	       {"owner", .is = REQUIRED | IS_TEXT, MEMBER_AS(FORM_WORD, struct concerned_job, owner)},
	       {"running", .is = REQUIRED | IS_BOOL, MEMBER(struct concerned_job, running)},
	       {"guaranteed", .is = REQUIRED | IS_BOOL, "it has a place that is guaranteed",
		MEMBER(struct concerned_job, guaranteed)},
	       {"start", .is = IS_INSTANT, "when it is expected to start now", MEMBER(struct concerned_job, start)},
	       {"start_then", .is = IS_INSTANT, "when it would be expected to start after the change",
		MEMBER(struct concerned_job, start_then)})};

static void job_show(const struct server *s, uint32_t id, struct concerned_job x, struct json *j)
{
	struct strbuf name = {0};

	entry_id(s, id, &name);
	x.id = name.text;
	x.owner = entry_get(s, id)->spec->owner;
	schema_show(&concerned_job, NULL, &x, s->words, j);
	strbuf_fini(&name);
}

/* The answer. */
struct subject {
	const struct server *s;
	const struct dry_run *d;
	const char *refused;
};

static void jobs_inside(const struct subject *x, struct json *j)
{
	const struct server *s = x->s;
	const struct dry_run *d = x->d;
	uint64_t start, then, seen;
	struct map shown = {0};
	int waiting = 0;

	for (size_t i = 0; i < d->jobs.n; i++) {
		const struct concerned *k = &d->jobs.v[i];
		if ((!k->runs && !k->guaranteed) || !entry_get(s, k->job)->spec)
			continue;
		map_set(&shown, k->job, 1);
		job_show(s, k->job, (struct concerned_job){.running = k->runs, .guaranteed = k->guaranteed}, j);
	}
	for (uint32_t id = 1; id < d->nkeys && waiting < JOBS_MOST; id++) {
		if (!entry_get(s, id)->spec || map_get(&shown, id, &seen) || !map_get(&d->starts, id, &start))
			continue;
		if (!map_get(&d->then, id, &then))
			then = (uint64_t)TIME_NEVER;
		else if ((int64_t)then <= (int64_t)start)
			continue;
		job_show(s, id, (struct concerned_job){.start = (int64_t)start, .start_then = (int64_t)then}, j);
		waiting++;
	}
	map_fini(&shown);
}

const struct schema dry_answer = {
	"DryRun", .about = "empty, unless it was a dry run",
	FIELDS({"refused", .is = IS_TEXT | IS_NULL,
		"of a dry run: why the change would be refused; null: it would be made",
		MEMBER(struct subject, refused)},
	       {"jobs", .is = IS_LIST,
		"of a dry run for a reservation: running jobs and guaranteed places in its way, and waiting jobs that would start "
		"later",
		.of = &concerned_job, .item = IS_OBJECT, .in = ALWAYS, .inside = jobs_inside})};

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

/* Runs a cycle of a forecast, and frees the forecast after the last. */
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
		api_show(s, d->r, &dry_answer, &(struct subject){s, d, d->refused});
		dry_free(s, d);
		return false;
	}
	return true;
}

static void dry_stop(struct server *s, struct work *work, const char *why)
{
	struct dry_run *d = (struct dry_run *)work;

	http_error(d->r, CODE_UNAVAILABLE, "It could not be foreseen (%s). Try again later.", why);
	dry_free(s, d);
}

void reservation_foretell(struct server *s, const struct object *next, struct http_request *r, const char *refused)
{
	static const struct work_kind kind = {.step = dry_step, .stop = dry_stop, .reads = true};
	struct dry_run *d = mem_zalloc(sizeof *d);

	d->r = r;
	d->refused = refused ? mem_strdup(refused) : NULL;
	reservation_concerns(s, next, &d->jobs);
	pretend(s, next, d);
	work_add(s, &d->work, &kind);
}
