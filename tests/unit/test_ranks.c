/*
 * test_ranks.c - sorted blocks of entries, and the order of a cursor, beside a plain sorted array,
 * through random changes; and what the order learns from finished jobs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timetext.h"
#include "sched/cursor.h"
#include "sched/ranks.h"
#include "sched/sched_internal.h"
#include "support/world.h"

#define JOBS 9000 /* two spans and more */

/* Entries that the list should have, sorted. */
struct model {
	struct queued v[JOBS];
	size_t n;
};

static int entry_cmp(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static struct queued entry_draw(struct rng *rng, uint32_t job)
{
	return (struct queued){.key = (double)rng_below(rng, 50),
			       .length = 1 + (int64_t)rng_below(rng, 20) * (int64_t)rng_below(rng, 1000),
			       .planned = rng_below(rng, 3) ? TIME_NEVER : 7,
			       .job = job,
			       .class = rng_below(rng, RANKS_CLASSES) * rng_below(rng, 2),
			       .cpus = (int32_t)(1 + rng_below(rng, 70000) * rng_below(rng, 2))};
}

static void check_order(const struct ranks *r, const struct model *m)
{
	const struct queued *e;
	size_t n = 0;

	for (struct spot i = {0}; (e = ranks_at(r, &i)); i.at++, n++)
		assert_true(n < m->n && e->job == m->v[n].job && e->key == m->v[n].key);
	assert_int_equal(n, m->n);
	assert_int_equal(r->n, m->n);
}

static struct gap gap_draw(struct rng *rng)
{
	struct gap gap = {.cpus = rng_below(rng, 2) ? INT32_MAX : (int64_t)rng_below(rng, 70000)};

	for (int c = 0; c < RANKS_CLASSES; c++) {
		gap.length[c] = rng_below(rng, 2) ? (int32_t)rng_below(rng, 3000) : REACH_NONE;
		if (gap.length[c] != REACH_NONE)
			gap.open[gap.n++] = (uint8_t)c;
	}
	return gap;
}

/* Scans for jobs that fit into a gap: each that does is found, in order. */
static void check_fit(const struct ranks *r, const struct model *m, struct rng *rng)
{
	struct gap gap = gap_draw(rng);
	struct spot at = {0};
	const struct queued *e;
	size_t scanned = 0, k = 0;

	for (; (e = ranks_fit(r, &at, &gap, &scanned)); at.at++) {
		while (k < m->n && !ranks_entry_fits(&m->v[k], &gap))
			k++;
		assert_true(k < m->n);
		assert_int_equal(e->job, m->v[k++].job);
	}
	for (; k < m->n; k++)
		assert_false(ranks_entry_fits(&m->v[k], &gap));
}

/* Plans some jobs, or unplans them, and visits those that are planned, then those that are not. */
static void check_planned(struct ranks *r, struct model *m, struct rng *rng)
{
	size_t planned = 0;

	for (int i = 0; i < 20 && m->n; i++) {
		size_t k = rng_below(rng, m->n);
		m->v[k].planned = rng_below(rng, 2) ? TIME_NEVER : 9;
		ranks_plan(r, ranks_nth(r, k), m->v[k].planned);
	}
	for (int want = 1; want >= 0; want--) {
		struct spot at = {0};
		const struct queued *e;
		for (size_t k = 0; k < m->n; k++) {
			if ((m->v[k].planned != TIME_NEVER) != want)
				continue;
			e = ranks_next(r, &at, want);
			assert_non_null(e);
			assert_int_equal(e->job, m->v[k].job);
			assert_int_equal(e->planned, m->v[k].planned);
			at.at++;
			planned += (size_t)want;
		}
		assert_null(ranks_next(r, &at, want));
	}
	assert_int_equal(r->nplanned, planned);
}

/* Looks up an entry, present or not, and the one behind it. */
static void check_find(const struct ranks *r, const struct model *m, struct rng *rng)
{
	double key = (double)rng_below(rng, 52) - 1;
	uint32_t job = (uint32_t)rng_below(rng, JOBS);
	struct spot find = ranks_find(r, key, job), after = ranks_after(r, key, job);
	const struct queued *x = ranks_at(r, &find), *y = ranks_at(r, &after);
	struct queued sought = {.key = key, .job = job};
	size_t i = 0;

	while (i < m->n && entry_cmp(&m->v[i], &sought) < 0)
		i++;
	assert_int_equal(x ? x->job : JOBS, i < m->n ? m->v[i].job : JOBS);
	i += i < m->n && entry_cmp(&m->v[i], &sought) == 0;
	assert_int_equal(y ? y->job : JOBS, i < m->n ? m->v[i].job : JOBS);
	if (i < m->n)
		assert_int_equal(ranks_nth(r, i)->job, m->v[i].job);
}

/* What a block's groups held when they were last looked at. */
struct held {
	struct {
		size_t n;
		uint32_t job[RANKS_GROUP];
	} group[RANKS_GROUPS];
};

/* A group may have other entries than it was last seen with only if it is marked as changed. */
static void check_notes(const struct ranks *r, struct rng *rng)
{
	for (size_t k = 0; k < r->nblocks; k++) {
		struct ranks_note *note = ranks_note(r, k);
		struct held now, *before;
		const struct queued *v;
		size_t n = ranks_entries(r, k, &v), at = 0;
		if (!note->made)
			for (size_t g = 0; g < RANKS_GROUPS; g++)
				note->end[g] = (uint16_t)(n * (g + 1) / RANKS_GROUPS);
		for (size_t g = 0; g < RANKS_GROUPS; g++)
			for (now.group[g].n = 0; at < note->end[g] && at < n; at++) {
				assert_true(now.group[g].n < RANKS_GROUP);
				now.group[g].job[now.group[g].n++] = v[at].job;
			}
		assert_int_equal(at, n);
		assert_int_equal(note->end[RANKS_GROUPS - 1], n);
		before = note->made;
		for (size_t g = 0; g < RANKS_GROUPS && before; g++)
			if (!(note->changed & 1 << g)) {
				assert_int_equal(before->group[g].n, now.group[g].n);
				assert_int_equal(memcmp(before->group[g].job, now.group[g].job,
							now.group[g].n * sizeof now.group[g].job[0]),
						 0);
			}
		if (note->made && rng_below(rng, 2))
			continue;
		if (!note->made)
			note->made = mem_alloc(sizeof now);
		*(struct held *)note->made = now;
		note->changed = 0;
	}
}

static void grow_and_shrink(struct ranks *r, struct model *m, struct rng *rng, bool *in)
{
	queued_vec batch = {0};
	bool growing = rng_below(rng, 2);
	size_t steps = rng_below(rng, rng_below(rng, 6) ? 700 : 8000), k = 0;

	for (size_t i = 0; i < steps; i++) {
		uint32_t job = (uint32_t)rng_below(rng, JOBS);
		struct queued e = entry_draw(rng, job);
		if (growing && !in[job]) {
			in[job] = true;
			if (steps % 2)
				ranks_insert(r, &e);
			else
				vec_push(&batch, e);
			m->v[m->n++] = e;
		} else if (!growing && m->n) {
			if (k >= m->n || steps % 3) /* else one after the other */
				k = rng_below(rng, m->n);
			in[m->v[k].job] = false;
			ranks_remove(r, m->v[k].key, m->v[k].job);
			memmove(m->v + k, m->v + k + 1, (--m->n - k) * sizeof *m->v);
		}
		if (rng_below(rng, 8) == 0)
			check_notes(r, rng);
	}
	qsort(m->v, m->n, sizeof *m->v, entry_cmp);
	if (batch.n)
		ranks_merge(r, &batch);
	vec_free(&batch);
	check_notes(r, rng);
}

static void ranks_match_sorted_array(void **state)
{
	struct model *m = mem_zalloc(sizeof *m);

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct ranks r = {0}, copy = {0};
		bool in[JOBS] = {false};
		struct scratch scratch = {0};
		struct rng rng;
		rng_seed(&rng, seed);
		m->n = 0;
		for (int round = 0; round < 30; round++) {
			grow_and_shrink(&r, m, &rng, in);
			check_order(&r, m);
			check_fit(&r, m, &rng);
			check_planned(&r, m, &rng);
			for (int i = 0; i < 20; i++)
				check_find(&r, m, &rng);
		}
		scratch_begin(&scratch, ranks_bytes(&r));
		ranks_copy(&copy, &r, &scratch);
		check_order(&copy, m);
		for (uint32_t job = 0; job < JOBS; job++) {
			struct queued e = entry_draw(&rng, job);
			if (in[job])
				continue;
			ranks_insert(&copy, &e);
			m->v[m->n++] = e;
		}
		qsort(m->v, m->n, sizeof *m->v, entry_cmp);
		check_order(&copy, m);
		ranks_free(&copy);
		scratch_fini(&scratch);
		ranks_free(&r);
	}
	free(m);
}

/* ---- priorities that grow at different rates ---- */

/* Computes the order at the present instant from scratch; keys of the model are priorities. */
static void model_weigh(const struct sched *s, struct model *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct queued *e = &m->v[i];
		e->key = rising_key(s->line.weighed, cluster_job(s->c, e->job)->rank, e->length, e->cpus);
	}
	qsort(m->v, m->n, sizeof *m->v, entry_cmp);
}

static void job_leaves(struct sched *s, const struct queued *e, bool *in)
{
	ranks_remove(&s->line.by_key, rising_shape(e->class, e->length), e->job);
	in[e->job] = false;
}

/* Lets some jobs come and others leave. */
static void jobs_change(struct sched *s, struct model *m, struct rng *rng, bool *in)
{
	for (size_t i = rng_below(rng, rng_below(rng, 3) ? 8 : 500); i > 0; i--) {
		struct queued e = entry_draw(rng, (uint32_t)rng_below(rng, JOBS));
		size_t k = m->n ? rng_below(rng, m->n) : 0;
		if (m->n && rng_below(rng, 5) < 2) {
			job_leaves(s, &m->v[k], in);
			m->v[k] = m->v[--m->n];
		} else if (!in[e.job]) {
			e.length = 1 + (int64_t)rng_below(rng, 50) * (1 + (int64_t)rng_below(rng, 20) * 60);
			e.key = rising_shape(e.class, e.length);
			/* some have waited far longer than all others */
			cluster_job(s->c, e.job)->rank = (double)s->line.weighed - (double)rng_below(rng, 100000) / 8 -
							 (rng_below(rng, 100) ? 0 : 1e6);
			ranks_insert(&s->line.by_key, &e);
			in[e.job] = true;
			m->v[m->n++] = e;
		}
	}
}

/* Walks over the first jobs in order, then over those that fit, some of which leave. */
static void check_cursor(struct sched *s, struct model *m, struct rng *rng, bool *in)
{
	size_t k = 0, kept = 0, scanned = 0, first = rng_below(rng, 40);
	struct gap gap = gap_draw(rng);
	struct cursor i;
	const struct queued *e;

	model_weigh(s, m);
	cursor_open(&i, s, &s->line.by_key);
	for (; k < first && (e = cursor_at(&i)); cursor_step(&i))
		assert_int_equal(e->job, m->v[k++].job);
	if (rng_below(rng, 2) && k < m->n) { /* another slice continues */
		cursor_close(&i);
		cursor_open(&i, s, &s->line.by_key);
		cursor_seek(&i, m->v[k].key, m->v[k].job);
	}
	for (kept = k; k < m->n; k++) {
		if (!ranks_entry_fits(&m->v[k], &gap)) {
			m->v[kept++] = m->v[k];
			continue;
		}
		e = cursor_fit(&i, &gap, &scanned);
		assert_non_null(e);
		assert_int_equal(e->job, m->v[k].job);
		if (rng_below(rng, 100) == 0) {
			struct queued left = *e;
			ranks_remove(&s->line.by_key, left.key, left.job);
			in[left.job] = false;
			cursor_left(&i, &left);
		} else {
			cursor_step(&i);
			m->v[kept++] = m->v[k];
			/* others leave as well, without the cursor's knowledge */
			for (size_t n = rng_below(rng, 100) ? 0 : 60; n > 0 && k + 1 < m->n; n--)
				job_leaves(s, &m->v[--m->n], in);
		}
	}
	assert_null(cursor_fit(&i, &gap, &scanned));
	m->n = kept;
	cursor_close(&i);
}

static void cursor_follows_rising_priorities(void **state)
{
	struct model *m = mem_zalloc(sizeof *m);

	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct cluster *c = cluster_create();
		struct sched s = {.c = c, .order = ORDER_WFP3, .line.weighed = 1700000000};
		bool in[JOBS] = {false};
		struct rng rng;
		rng_seed(&rng, seed);
		m->n = 0;
		for (int i = 0; i < JOBS; i++)
			cluster_add_job(c);
		for (int round = 0; round < 100; round++) {
			jobs_change(&s, m, &rng, in);
			s.line.weighed += (int64_t)rng_below(&rng, 3) * (int64_t)rng_below(&rng, 5000) - 500;
			if (rng_below(&rng, 8) == 0) /* a clock was set back */
				s.line.weighed -= (int64_t)rng_below(&rng, 20000);
			check_cursor(&s, m, &rng, in);
		}
		ranks_free(&s.line.by_key);
		cluster_destroy(c);
	}
	free(m);
}

/* Runs a job alone, at the beginning of a day; returns true if wide jobs count as common at its
 * end. */
static bool wide_after(struct world *w, int day, const char *request, int64_t seconds)
{
	int64_t now = day * INT64_C(86400);
	uint32_t job = world_common(w, now, request, seconds);

	world_cycle(w, now);
	sched_finish(w->s, job, now + seconds, NULL);
	world_cycle(w, now + 86400);
	return w->s->due.wide;
}

/* Wide jobs are common once they did more than 26.4% of the work, until it is less than 21.6%. */
static void wide_work_is_observed(void **state)
{
	struct world w;

	world_init(&w, "shunt");
	w.c->settings.starve_after = STARVE_AUTO;
	world_add_nodes(&w, 4, 8);
	world_open(&w);
	assert_false(wide_after(&w, 0, "nodes=1:ppn=8", 100)); /* a quarter of the machine is not wide: 0 of 800 */
	assert_true(wide_after(&w, 2, "nodes=2:ppn=8", 100));  /* 1600 of 2400 */
	assert_true(wide_after(&w, 4, "nodes=1:ppn=8", 533));  /* 1600 of 6664: 24% */
	assert_false(wide_after(&w, 6, "nodes=1:ppn=8", 167)); /* 1600 of 8000: 20% */
	assert_false(wide_after(&w, 8, "nodes=2:ppn=8", 26));  /* 2016 of 8416: 24% */
	assert_true(wide_after(&w, 10, "nodes=2:ppn=8", 30));  /* 2496 of 8896: 28% */
	world_fini(&w);
}

/* Adds a job that has ended to the shadow of EASY. */
static void shadow_saw(struct world *w, uint32_t job, int64_t cpus, int64_t start, int64_t seconds)
{
	shadow_wait(w->s->due.shadow, job, 0, cpus, seconds);
	shadow_start(w->s->due.shadow, job, start);
	shadow_finish(w->s->due.shadow, job, start + seconds);
}

/* Due dates are later where the mean turnaround is longer than EASY's, as long as the longest wait
 * is less than nine tenths of EASY's. */
static void spans_grow_where_turnaround_is_lost(void **state)
{
	struct world w;

	world_init(&w, "shunt");
	w.c->settings.starve_after = STARVE_AUTO;
	world_add_nodes(&w, 1, 8);
	world_open(&w);
	shadow_saw(&w, 1, 8, 0, 100);
	shadow_saw(&w, 2, 1, 300, 1); /* EASY starts it at 100 */
	w.s->now = 1000;
	w.s->history.longest_wait = 91;
	due_tune(w.s);
	assert_true(w.s->due.later == 0);
	w.s->history.longest_wait = 90;
	due_tune(w.s);
	assert_true(w.s->due.later > 0.1 && w.s->due.later < 0.2); /* 1 - exp(-20 (401/201 - 1) 2/302) */
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wide_work_is_observed),
		cmocka_unit_test(spans_grow_where_turnaround_is_lost),
		cmocka_unit_test(ranks_match_sorted_array),
		cmocka_unit_test(cursor_follows_rising_priorities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
