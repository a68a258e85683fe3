/*
 * intake.c - see intake.h.
 */
#include "server/life/enter/intake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "core/array.h"
#include "core/cluster.h"
#include "plan/pack.h"
#include "rules/attr.h"
#include "rules/queue.h"
#include "sched/sched.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/submit.h"
#include "server/life/run/forget.h"
#include "server/life/world/block.h"
#include "server/life/world/world.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "store/store.h"

/* A large submission that is not accepted yet. */
struct intake_mark {
	uint64_t first, count;
};
static const struct field mark_rows[] = {{"count", .is = IS_INT, MEMBER(struct intake_mark, count)}, {0}};

static void mark_name(uint64_t first, char ret[24])
{
	snprintf(ret, 24, "%" PRIu64, first);
}

void intake_open(struct server *s, uint64_t first, const struct submission *x, size_t count, uint32_t *ret_id)
{
	char name[24];
	int64_t jobs = 0;

	for (size_t i = 0; i < count; i++)
		jobs += submission_count(&x[i]);
	*ret_id = entries_reserve(s, jobs);
	number_take(s, first, count);
	mark_name(first, name);
	record_put(s, "intake", name, mark_rows, 0, &(struct intake_mark){.count = count});
}

void intake_close(struct server *s, uint64_t first)
{
	char name[24];

	mark_name(first, name);
	store_drop_object(s->store, "intake", name);
}

void intake_refuse(struct server *s, uint64_t first, const struct submission *x, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		for (int64_t n = submission_count(&x[i]); n > 0; n--)
			entry_release(s, id++);
	intake_close(s, first);
}

/* Returns true if the job will be eligible at once: nothing known now keeps it from the
 * scheduler. */
static bool likely_eligible(struct server *s, const struct spec *p)
{
	const struct queue *q = queue_of(s, p->queue);

	return !p->holds && p->at <= s->clock->now && !p->depend && q && attrs_bool(&q->attrs, SET_STARTED) &&
	       world_could_hold(s, p) == FIT_YES;
}

void intake_record(struct server *s, uint64_t number, const struct submission *x)
{
	struct strbuf head = {0};

	spec_head(s, x->spec, &head);
	store_put_job(s->store, job_key(number, -1), head.text, x->body);
	strbuf_fini(&head);
}

void intake_stage(struct server *s, uint64_t number, struct submission *x, const struct submission *before)
{
	struct spec *p = x->spec;

	job_came(s, number, p);
	submission_settle(s, x, before);
	p->eligible = !likely_eligible(s, p) ? 0 : p->array ? x->array.count : 1;
	intake_record(s, number, x);
}

void intake_unstage(struct server *s, uint64_t number, const struct submission *x)
{
	store_drop_job(s->store, job_key(number, -1));
	script_unref(s, x->spec->script);
}

/* Starts the job as its record has it, which is what recovery does; then applies the present
 * state. */
static void begin(struct server *s, uint32_t id, bool eligible)
{
	struct entry *e = entry_get(s, id);

	e->fresh = true;
	sched_submit(s->sched, id, e->spec->created);
	if (!eligible)
		sched_hold(s->sched, id, e->spec->created);
	entry_get(s, id)->fresh = false;
	block_begin(s, id);
	s->turn->dirty = true;
}

bool intake_begin(struct server *s, uint64_t number, const struct submission *x, uint32_t first, uint32_t *done)
{
	uint32_t count = (uint32_t)submission_count(x);

	if (*done == 0) /* events need the complete array */
		submission_fill(s, number, x, first);
	begin(s, first + *done, *done < x->spec->eligible);
	if (++*done < count)
		return true;
	submission_begun(s, number, x->spec, first, count);
	return false;
}

/* ---- recovery ---- */

struct intake_marks {
	VEC(struct intake_mark) v;
	VEC(uint64_t) scripts; /* scripts of dropped records */
};

int intake_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct intake_mark m = {0};
	char *end;
	uint64_t first = strtoull(name, &end, 10);

	if (*end || first == 0 || record_load(mark_rows, 0, o, &m, NULL, err) < 0 || m.count < 1)
		return err_set(err, -EINVAL, "it does not mark a submission");
	if (!s->jobs->intake)
		s->jobs->intake = mem_zalloc(sizeof *s->jobs->intake);
	vec_push(&s->jobs->intake->v, (struct intake_mark){first, m.count});
	return 0;
}

bool intake_drop(struct server *s, uint64_t key, uint64_t script)
{
	struct intake_marks *m = s->jobs->intake;

	for (size_t i = 0; m && i < m->v.n; i++)
		if (job_key_number(key) - m->v.v[i].first < m->v.v[i].count) {
			store_drop_job(s->store, key);
			if (script && (!m->scripts.n || m->scripts.v[m->scripts.n - 1] != script))
				vec_push(&m->scripts, script);
			return true;
		}
	return false;
}

void intake_recovered(struct server *s)
{
	struct intake_marks *m = s->jobs->intake;

	if (!m)
		return;
	for (size_t i = 0; i < m->scripts.n; i++)
		if (!map_get(&s->jobs->scripts, m->scripts.v[i], &(uint64_t){0}))
			store_drop_script(s->store, m->scripts.v[i]);
	for (size_t i = 0; i < m->v.n; i++) {
		number_take(s, m->v.v[i].first, m->v.v[i].count);
		intake_close(s, m->v.v[i].first);
	}
	vec_free(&m->scripts);
	vec_free(&m->v);
	free(m);
	s->jobs->intake = NULL;
}
