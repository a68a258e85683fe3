/*
 * offline_foresee.c - see offline_internal.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/members.h"
#include "base/timetext.h"
#include "client/offline.h"
#include "client/offline_internal.h"
#include "core/array.h"
#include "core/depend.h"
#include "core/reqtext.h"

#define CHANGED "offline_changed" /* member of a row that marks it until line_foresee() */
#define GAPS_MOST 500		  /* jobs placed into gaps; later ones follow each other */
#define REPLACED_MOST 20000	  /* jobs placed again; beyond, expected starts stay */
#define URGENT_MOST 100		  /* jobs whose deadlines may move others */
#define ELEMENTS_MOST 100	  /* elements of an array placed one by one */

struct outlook {
	json_t *jobs;
	const json_t *plan;
	pool_vec pools;
	int64_t base;
	size_t placed;
};

/* The resources of a job. */
struct demand {
	char partition[PARTITION_NAME_MAX + 1]; /* "": names none */
	bool parted;				/* it runs in a partition */
	int64_t cpus;				/* 0: not given */
	int64_t walltime;
};

/* ---- the order ---- */

static bool waits(const json_t *row)
{
	return strchr("QHW", *member_text(row, "state")) && *member_text(row, "state");
}

static int row_cmp(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int64_t s = member_number(x, "expected_start"), t = member_number(y, "expected_start");

	if (s != t) /* 0: not known */
		return s && (!t || s < t) ? -1 : 1;
	s = member_number(x, "number");
	t = member_number(y, "number");
	return (s > t) - (s < t);
}

void line_begin(struct line *l, const json_t *jobs)
{
	const char *key;
	json_t *row;

	json_object_foreach((json_t *)jobs, key, row) if (waits(row)) vec_push(&l->rows, json_incref(row));
	if (l->rows.n)
		qsort(l->rows.v, l->rows.n, sizeof *l->rows.v, row_cmp);
	for (size_t i = 0; i < l->rows.n; i++)
		vec_push(&l->before, l->rows.v[i]);
}

void line_fini(struct line *l)
{
	for (size_t i = 0; i < l->rows.n; i++)
		json_decref(l->rows.v[i]);
	vec_free(&l->rows);
	vec_free(&l->before);
}

void line_changed(json_t *row)
{
	json_object_set_new(row, CHANGED, json_true());
}

void line_add(struct line *l, json_t *row)
{
	line_changed(row);
	vec_push(&l->rows, json_incref(row));
}

static size_t line_find(const struct line *l, const json_t *row)
{
	size_t i = 0;

	while (i < l->rows.n && l->rows.v[i] != row)
		i++;
	return i;
}

void line_move(struct line *l, json_t *row, json_t *after)
{
	size_t at = line_find(l, row);

	if (at == l->rows.n || row == after)
		return;
	vec_remove(&l->rows, at);
	/* running jobs are ahead of all waiting ones */
	at = after ? line_find(l, after) : l->rows.n;
	vec_insert(&l->rows, at == l->rows.n ? 0 : at + 1, row);
}

/* Returns the first position at which something differs from the server's order. */
static size_t line_dirty(const struct line *l, const json_t *jobs)
{
	size_t i = 0;

	for (; i < l->rows.n && i < l->before.n; i++) {
		json_t *row = l->rows.v[i];
		if (row != l->before.v[i] || json_object_get(row, CHANGED) || !waits(row) ||
		    offline_find(jobs, member_text(row, "id")) != row)
			break;
	}
	return i;
}

/* ---- one job ---- */

/* Returns the walltime the server would assume if none is given. */
static int64_t walltime_usual(const json_t *plan, const json_t *row)
{
	const char *queue = *member_text(row, "queue") ? member_text(row, "queue") : member_text(plan, "queue");
	int64_t walltime = member_number(json_object_get(plan, "walltimes"), queue);

	return walltime > 0 ? walltime : member_number(plan, "walltime");
}

static struct demand demand_of(const struct outlook *o, const json_t *row)
{
	struct demand d = {.cpus = member_number(row, "cpus"), .walltime = member_number(row, "walltime")};
	struct arena *a = arena_create();
	struct reqtext r;

	reqtext_init(&r);
	reqtext_parse(&r, member_text(row, "resources"), a, NULL);
	if (r.partition && strcmp(r.partition, PARTITION_WORD_ANY) != 0)
		snprintf(d.partition, sizeof d.partition, "%s", r.partition);
	d.parted = r.partition || member_number(o->plan, "shared") == 0;
	if (d.parted && !r.nchunks && json_object_get(row, CHANGED))
		d.cpus = 0; /* all CPUs of its partition */
	if (d.walltime <= 0)
		d.walltime = r.walltime > 0 ? r.walltime : walltime_usual(o->plan, row);
	arena_destroy(a);
	return d;
}

/* Returns the size of the partitions that suit the job (rules/partition.h); 0: none does. */
static int64_t size_for(const struct outlook *o, const struct demand *d)
{
	int64_t least = 0, largest = 0;

	for (size_t i = 0; i < o->pools.n; i++) {
		const struct pool *p = &o->pools.v[i];
		if (!p->partition)
			continue;
		if (p->procs >= d->cpus && (!least || p->procs < least))
			least = p->procs;
		largest = p->procs > largest ? p->procs : largest;
	}
	return d->cpus || least == largest ? least : 0;
}

static bool suits(const struct outlook *o, const struct pool *p, const struct demand *d)
{
	if (!p->partition || !d->parted)
		return !p->partition && !d->parted && d->cpus <= p->size;
	if (*d->partition)
		return strcmp(d->partition, p->partition) == 0 && d->cpus <= p->procs;
	return p->procs == size_for(o, d);
}

static int64_t amount_in(const struct pool *p, const struct demand *d)
{
	return p->partition ? 1 : d->cpus > 0 ? d->cpus : 1;
}

/* Returns when the jobs it depends on are done; TIME_NEVER: not known. */
static int64_t depends_ready(const struct outlook *o, const char *text)
{
	struct depends d = {0};
	int64_t ready = 0;

	if (depends_parse(text, &d, NULL) < 0)
		return TIME_NEVER;
	for (uint32_t i = 0; i < d.n; i++) {
		if (d.v[i].type == DEPEND_ON || d.v[i].type == DEPEND_AFTERNOTOK)
			ready = TIME_NEVER;
		for (uint32_t k = 0; k < d.v[i].nids && d.v[i].type < DEPEND_BEFORE && ready != TIME_NEVER; k++) {
			struct strbuf id = {0};
			jobid_format(&d.v[i].id[k], NULL, &id);
			const json_t *other = offline_find(o->jobs, id.text);
			bool starts = d.v[i].type == DEPEND_AFTER && !member_number(other, "started");
			int64_t at = member_number(other, starts ? "expected_start" : "expected_end");
			if (other && *member_text(other, "state") != 'C')
				ready = at == 0 ? TIME_NEVER : at > ready ? at : ready;
			strbuf_fini(&id);
		}
	}
	depends_fini(&d);
	return ready;
}

/* Returns the earliest time at which it may start; TIME_NEVER: it is held, or waits for something
 * unknown. */
static int64_t ready_at(const struct outlook *o, const json_t *row)
{
	int64_t ready = *member_text(row, "depend") ? depends_ready(o, member_text(row, "depend")) : 0,
		at = member_number(row, "at");

	if (*member_text(row, "state") == 'H' && !*member_text(row, "depend"))
		return TIME_NEVER;
	ready = ready > at ? ready : at;
	return ready > o->base ? ready : o->base;
}

static struct pool *pool_choose(struct outlook *o, const struct demand *d, int64_t ready, int64_t *ret)
{
	struct pool *best = NULL;

	*ret = TIME_NEVER;
	for (size_t i = 0; i < o->pools.n; i++) {
		struct pool *p = &o->pools.v[i];
		if (!suits(o, p, d))
			continue;
		int64_t at =
			steps_gap(&p->used, p->size, ready > p->from ? ready : p->from, d->walltime, amount_in(p, d));
		if (at < *ret) {
			best = p;
			*ret = at;
		}
	}
	return best;
}

static int64_t elements_of(const json_t *row)
{
	struct array_spec a = {0};
	int64_t n = 1;

	if (*member_text(row, "array_spec") && array_parse(member_text(row, "array_spec"), &a, NULL) == 0)
		n = a.count < ELEMENTS_MOST ? a.count : ELEMENTS_MOST;
	array_fini(&a);
	return n;
}

/* Returns the start with which a job keeps its deadline if it would miss it at `start`: the server
 * moves it up that far if it can. */
static int64_t in_time(const struct outlook *o, const json_t *row, int64_t start, int64_t walltime)
{
	int64_t deadline = member_number(row, "deadline");

	return deadline && start + walltime > deadline && deadline - walltime >= o->base ? deadline - walltime : start;
}

/* Places a row. Returns true if it had to be moved up for its deadline. */
static bool row_place(struct outlook *o, json_t *row)
{
	struct demand d = demand_of(o, row);
	int64_t ready = ready_at(o, row), at, first = TIME_NEVER, last = 0;
	bool moved = false;
	struct pool *p;

	for (int64_t n = elements_of(row); n > 0 && ready != TIME_NEVER && d.walltime > 0; n--) {
		if (!(p = pool_choose(o, &d, ready, &at)))
			break;
		if (in_time(o, row, at, d.walltime) < at) {
			at = in_time(o, row, at, d.walltime);
			moved = true;
		}
		steps_use(&p->used, at, at + d.walltime, amount_in(p, &d));
		first = first < at ? first : at;
		last = last > at ? last : at;
		if (++o->placed > GAPS_MOST && p->from < at)
			p->from = at;
	}
	json_object_set_new(row, "expected_start", first == TIME_NEVER ? json_null() : json_integer(first));
	json_object_set_new(row, "expected_end", first == TIME_NEVER ? json_null() : json_integer(last + d.walltime));
	return moved;
}

/* ---- all jobs ---- */

/* Frees the time that the server planned for a row. */
static void row_lift(struct outlook *o, const json_t *row, int64_t start, int64_t end)
{
	struct demand d = demand_of(o, row);

	for (size_t i = 0; i < o->pools.n && start && end; i++) {
		struct pool *p = &o->pools.v[i];
		int64_t amount = amount_in(p, &d);
		if (!suits(o, p, &d) || !steps_cover(&p->waits, start, end, amount))
			continue;
		steps_use(&p->used, start, end, -amount);
		steps_use(&p->waits, start, end, -amount);
		return;
	}
}

/* Returns false for an array of the server's view: its elements are not known here, so it stays. */
static bool is_placed(const json_t *row, const json_t *jobs)
{
	return waits(row) && offline_find(jobs, member_text(row, "id")) == row &&
	       (!strchr(member_text(row, "id"), '[') || json_object_get(row, CHANGED));
}

typedef VEC(json_t *) row_vec;

/* Places the rows from `dirty` on, those in `urgent` first. `was`: planned start and end of the
 * server's rows. Adds rows that must be moved up to `urgent`. */
static void line_place(struct line *l, struct outlook o, const json_t *machine, int64_t late, size_t dirty,
		       const struct step *was, row_vec *urgent)
{
	size_t n = urgent->n;

	pools_read(&o.pools, o.plan, machine, o.base, late);
	for (size_t i = dirty; i < l->before.n; i++)
		if (!strchr(member_text(l->before.v[i], "id"), '['))
			row_lift(&o, l->before.v[i], was[i].at, was[i].used);
	for (size_t i = 0; i < n; i++)
		row_place(&o, urgent->v[i]);
	for (size_t i = dirty; i < l->rows.n; i++) {
		json_t *row = l->rows.v[i];
		bool done = !is_placed(row, o.jobs);
		for (size_t k = 0; k < n && !done; k++)
			done = urgent->v[k] == row;
		if (!done && row_place(&o, row))
			vec_push(urgent, row);
	}
	pools_fini(&o.pools);
}

void line_foresee(struct line *l, json_t *jobs, const json_t *plan, const json_t *machine, int64_t base, int64_t late)
{
	struct outlook o = {.jobs = jobs, .plan = plan, .base = base};
	size_t dirty = line_dirty(l, jobs);
	steps was = {0};
	row_vec urgent = {0};

	for (size_t i = 0; i < l->before.n; i++)
		vec_push(&was, (struct step){member_number(l->before.v[i], "expected_start"),
					     member_number(l->before.v[i], "expected_end")});
	if (plan && json_is_true(json_object_get(machine, "scheduling")) && l->rows.n - dirty <= REPLACED_MOST) {
		line_place(l, o, machine, late, dirty, was.v, &urgent);
		if (urgent.n && urgent.n <= URGENT_MOST && l->rows.n <= REPLACED_MOST)
			line_place(l, o, machine, late, 0, was.v, &urgent);
	}
	for (size_t i = 0; i < l->rows.n; i++)
		json_object_del(l->rows.v[i], CHANGED);
	vec_free(&was);
	vec_free(&urgent);
}
