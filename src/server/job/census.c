/* census.c - see census.h. */
#include "server/job/census.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/marks.h"
#include "base/mem.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/job.h"
#include "sched/sched.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"

typedef VEC(struct census_row) row_vec;

struct census {
	struct marks marks;
	VEC(row_vec) blocks;
};

static struct census *census_of(const struct server *s)
{
	if (!s->jobs->census)
		s->jobs->census = mem_zalloc(sizeof *s->jobs->census);
	return s->jobs->census;
}

struct marks *census_marks(const struct server *s)
{
	return &census_of(s)->marks;
}

void census_mark(const struct server *s, uint32_t id)
{
	if (s->jobs->census)
		marks_set(&s->jobs->census->marks, id);
}

static bool is_kind(const struct census_row *a, const struct census_row *b)
{
	return a->uid == b->uid && a->owner == b->owner && a->queue == b->queue && a->account == b->account &&
	       a->state == b->state && a->running == b->running && a->eligible == b->eligible;
}

/* Adds a job to the row of its kind. `known`: hash of a kind -> index + 1 of a row with it. */
static void row_add(row_vec *rows, struct map *known, const struct census_row *x)
{
	uint64_t of[5] = {x->uid, x->owner, x->queue, x->account,
			  (uint64_t)x->state << 2 | (uint64_t)x->running << 1 | x->eligible};
	uint64_t *at = map_at(known, hash_bytes(of, sizeof of));

	if (!*at || !is_kind(&rows->v[*at - 1], x)) {
		vec_push(rows, *x);
		*at = rows->n;
	} else {
		rows->v[*at - 1].jobs++;
		rows->v[*at - 1].cpus += x->cpus;
	}
}

static void block_count(const struct server *s, row_vec *rows, uint32_t first, uint32_t end)
{
	struct map known = {0};

	vec_clear(rows);
	for (uint32_t id = rows_next(&s->jobs->entries, first); id < end; id = rows_next(&s->jobs->entries, id + 1)) {
		const struct spec *p = entry_get(s, id)->spec;
		if (!p)
			continue;
		struct census_row x = {.uid = p->uid,
				       .owner = p->owner,
				       .queue = p->queue,
				       .account = p->account,
				       .state = entry_state(s, id),
				       .running = entry_running(s, id),
				       .eligible = job_waits(entry_job(s, id)) && !sched_in_line(s->sched, id),
				       .jobs = 1};
		if (x.running)
			x.cpus = request_cpus(cluster_job_request(s->cluster, entry_job(s, id)));
		if (rows->n && is_kind(&rows->v[rows->n - 1], &x)) {
			rows->v[rows->n - 1].jobs++;
			rows->v[rows->n - 1].cpus += x.cpus;
		} else {
			row_add(rows, &known, &x);
		}
	}
	map_fini(&known);
}

void census_each(const struct server *s, void (*one)(void *context, const struct census_row *r), void *context)
{
	struct census *c = census_of(s);
	uint32_t n = s->jobs->entries.n;

	for (uint32_t i = 0; i * MARKS_BLOCK < n; i++) {
		uint32_t first = i * MARKS_BLOCK;
		if (i == c->blocks.n)
			vec_push(&c->blocks, (row_vec){0});
		row_vec *rows = &c->blocks.v[i];
		if (marks_take(&c->marks, i))
			block_count(s, rows, first ? first : 1, first + MARKS_BLOCK < n ? first + MARKS_BLOCK : n);
		for (size_t k = 0; k < rows->n; k++)
			one(context, &rows->v[k]);
	}
}
