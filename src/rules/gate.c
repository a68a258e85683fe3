/*
 * gate.c - reasons, timers and relations.
 *
 * Jobs wait for others through a waiter, which has the relations; the jobs are its members. Jobs
 * that share their dependencies, as the elements of an array do, share one waiter, so that memory
 * is proportional to elements plus relations. A relation belongs to its waiter; until it is met, it
 * is in the list of the job or array that it refers to. A waiter without members is freed with all
 * of its relations.
 *
 * A timer belongs to its job's generation: gate_enter() and gate_leave() begin another one, and
 * timers of earlier ones are passed over when they are met.
 */
#include "rules/gate.h"

#include <errno.h>

#include "base/heap.h"
#include "base/marks.h"
#include "base/rows.h"
#include "base/timetext.h"
#include "base/vec.h"

#define NONE UINT32_MAX

enum fate { FATE_STARTED = 1, FATE_ENDED = 2 };

/* Relations that refer to one job or array, in order of arrival. */
struct relations {
	uint32_t head, tail; /* index + 1; 0: none */
};

struct target {
	uint32_t job, group; /* exactly one of them is NONE */
};

struct relation {
	uint64_t number; /* number of the job it refers to, as written */
	int32_t index;
	uint8_t kind; /* enum jobid_kind */
	uint8_t type; /* enum depend_type */
	bool met;     /* it is no longer in any list */
	struct target about;
	uint32_t waiter; /* index + 1 */
	/* neighbours in the list of the job or array it refers to: index + 1 */
	uint32_t prev, next;
	uint32_t sibling; /* next relation of the same waiter: index + 1 */
};

struct waiter {
	uint32_t unmet;	      /* number of unfulfilled relations */
	uint32_t relations;   /* first relation, index + 1 */
	uint32_t first, last; /* members: job + 1; 0: none */
	uint32_t generation;  /* incremented to invalidate earlier shares */
};

struct gate_job {
	struct relations about;
	uint32_t waiter;     /* index + 1; 0: waits for no other job */
	uint32_t prev, next; /* neighbours among the waiter's members: job + 1 */
	uint32_t group;	     /* index of its array + 1; 0: none */
	uint32_t generation;
	int32_t status;
	uint16_t block;
	uint8_t fate;
};

/* An array as a whole. */
struct group {
	struct relations about;
	uint32_t first, count; /* first job and number of jobs */
	uint32_t unstarted, unended;
	int32_t status; /* first nonzero exit status */
};

struct gate {
	struct rows jobs; /* struct gate_job, by id; those of the latest jobs may be missing */
	VEC(struct group) groups;
	VEC(uint32_t) spare_groups;
	VEC(struct relation) relations;
	VEC(uint32_t) spare; /* unused relations */
	VEC(struct waiter) waiters;
	VEC(uint32_t) spare_waiters;
	struct heap timers; /* (when, job, generation << 16 | bit) */
	VEC(struct target) news;
	size_t read;	   /* number of news read */
	struct target now; /* job or array whose relations are being processed */
	uint32_t at;	   /* next relation of `now`, index + 1; 0: none */
	uint32_t parting;  /* waiter whose members are being freed or doomed, index + 1; 0: none */
	bool doomed;	   /* those members can no longer run, because `fatal` cannot be met */
	struct relation fatal;
	struct depend_fate fate;
	size_t pending;
	uint32_t freed;	     /* see gate_freed() */
	struct marks *marks; /* NULL: nobody watches */
};

struct gate *gate_create(void)
{
	struct gate *g = mem_zalloc(sizeof *g);

	g->freed = NONE;
	return g;
}

struct gate *gate_clone(const struct gate *g)
{
	struct gate *t = mem_alloc(sizeof *t);

	*t = *g;
	t->marks = NULL;
	t->jobs = (struct rows){0};
	rows_copy(&t->jobs, &g->jobs, sizeof(struct gate_job), NULL);
	vec_copy(&t->groups, &g->groups);
	vec_copy(&t->spare_groups, &g->spare_groups);
	vec_copy(&t->relations, &g->relations);
	vec_copy(&t->spare, &g->spare);
	vec_copy(&t->waiters, &g->waiters);
	vec_copy(&t->spare_waiters, &g->spare_waiters);
	vec_copy(&t->timers, &g->timers);
	vec_copy(&t->news, &g->news);
	return t;
}

void gate_watch(struct gate *g, struct marks *marks)
{
	g->marks = marks;
}

void gate_destroy(struct gate *g)
{
	if (!g)
		return;
	rows_free(&g->jobs);
	vec_free(&g->groups);
	vec_free(&g->spare_groups);
	vec_free(&g->relations);
	vec_free(&g->spare);
	vec_free(&g->waiters);
	vec_free(&g->spare_waiters);
	heap_fini(&g->timers);
	vec_free(&g->news);
	free(g);
}

static struct gate_job *job_known(const struct gate *g, uint32_t job)
{
	return rows_at(&g->jobs, job, sizeof(struct gate_job));
}

static struct gate_job *job_of(struct gate *g, uint32_t job)
{
	rows_reach(&g->jobs, job + 1, sizeof(struct gate_job), NULL);
	return job_known(g, job);
}

/* ---- reasons ---- */

static bool opens(unsigned block)
{
	return block && (block & ~(unsigned)BLOCK_OPENS) == 0;
}

static void block_change(struct gate *g, uint32_t job, unsigned block)
{
	struct gate_job *x = job_of(g, job);

	g->pending += opens(block);
	g->pending -= opens(x->block);
	if (x->block && !block && !(x->fate & FATE_ENDED) && job < g->freed)
		g->freed = job;
	if (g->marks && x->block != block)
		marks_set(g->marks, job);
	x->block = (uint16_t)block;
}

/* ---- waiters ---- */

static struct relations *relations_of(struct gate *g, struct target t)
{
	return t.group != NONE ? &g->groups.v[t.group].about : &job_of(g, t.job)->about;
}

/* Removes a relation from the list of the job or array it refers to. */
static void relation_unlist(struct gate *g, uint32_t at)
{
	struct relation *r = &g->relations.v[at];
	struct relations *list = relations_of(g, r->about);

	if (r->met)
		return;
	r->met = true;
	*(r->prev ? &g->relations.v[r->prev - 1].next : &list->head) = r->next;
	*(r->next ? &g->relations.v[r->next - 1].prev : &list->tail) = r->prev;
	if (g->at == at + 1)
		g->at = r->next;
}

static void relation_add(struct gate *g, struct relation r)
{
	struct relations *list = relations_of(g, r.about);
	struct waiter *w = &g->waiters.v[r.waiter - 1];
	uint32_t at = (uint32_t)g->relations.n;

	r.prev = list->tail;
	r.sibling = w->relations;
	if (g->spare.n) {
		at = g->spare.v[--g->spare.n];
		g->relations.v[at] = r;
	} else {
		vec_push(&g->relations, r);
	}
	*(r.prev ? &g->relations.v[r.prev - 1].next : &list->head) = at + 1;
	list->tail = at + 1;
	w->relations = at + 1;
	w->unmet++;
}

/* Returns index + 1. */
static uint32_t waiter_create(struct gate *g)
{
	uint32_t at = (uint32_t)g->waiters.n;

	if (g->spare_waiters.n)
		at = g->spare_waiters.v[--g->spare_waiters.n];
	else
		vec_push(&g->waiters, (struct waiter){0});
	return at + 1;
}

static void waiter_destroy(struct gate *g, uint32_t waiter)
{
	struct waiter *w = &g->waiters.v[waiter - 1];

	for (uint32_t at = w->relations; at; at = g->relations.v[at - 1].sibling) {
		relation_unlist(g, at - 1);
		vec_push(&g->spare, at - 1);
	}
	*w = (struct waiter){.generation = w->generation + 1};
	vec_push(&g->spare_waiters, waiter - 1);
}

static void member_add(struct gate *g, uint32_t job, uint32_t waiter)
{
	struct gate_job *x = job_of(g, job);
	struct waiter *w = &g->waiters.v[waiter - 1];

	x->waiter = waiter;
	x->next = 0;
	x->prev = w->last;
	*(w->last ? &job_known(g, w->last - 1)->next : &w->first) = job + 1;
	w->last = job + 1;
}

static void member_remove(struct gate *g, uint32_t job)
{
	struct gate_job *x = job_of(g, job);
	uint32_t waiter = x->waiter;
	struct waiter *w;

	if (!waiter)
		return;
	w = &g->waiters.v[waiter - 1];
	*(x->prev ? &job_known(g, x->prev - 1)->next : &w->first) = x->next;
	*(x->next ? &job_known(g, x->next - 1)->prev : &w->last) = x->prev;
	x->waiter = x->prev = x->next = 0;
	if (w->first)
		return;
	if (g->parting == waiter)
		g->parting = 0;
	waiter_destroy(g, waiter);
}

/* Makes its members leave, one per step; no other job can join from now on. */
static void waiter_part(struct gate *g, uint32_t waiter)
{
	g->parting = waiter;
	g->waiters.v[waiter - 1].generation++;
}

/* ---- outcomes ---- */

static struct depend_fate fate_of(const struct gate *g, struct target t)
{
	if (t.group != NONE) {
		const struct group *x = &g->groups.v[t.group];
		return (struct depend_fate){
			.started = x->unstarted == 0, .ended = x->unended == 0, .status = x->status};
	}
	if (t.job >= g->jobs.n)
		return (struct depend_fate){0};

	const struct gate_job *x = job_known(g, t.job);

	return (struct depend_fate){
		.started = x->fate & FATE_STARTED, .ended = x->fate & FATE_ENDED, .status = x->status};
}

void gate_array(struct gate *g, uint32_t first, uint32_t count)
{
	struct group x = {.first = first, .count = count, .unstarted = count, .unended = count};
	uint32_t at = (uint32_t)g->groups.n;

	if (g->spare_groups.n) {
		at = g->spare_groups.v[--g->spare_groups.n];
		g->groups.v[at] = x;
	} else {
		vec_push(&g->groups, x);
	}
	for (uint32_t i = 0; i < count; i++)
		job_of(g, first + i)->group = at + 1;
}

static void tell(struct gate *g, uint32_t job)
{
	const struct gate_job *x = job_known(g, job);

	if (x->about.head)
		vec_push(&g->news, (struct target){job, NONE});
	if (x->group && g->groups.v[x->group - 1].about.head)
		vec_push(&g->news, (struct target){NONE, x->group - 1});
}

void gate_started(struct gate *g, uint32_t job)
{
	struct gate_job *x = job_of(g, job);

	if (x->fate & FATE_STARTED)
		return;
	x->fate |= FATE_STARTED;
	if (x->group)
		g->groups.v[x->group - 1].unstarted--;
	tell(g, job);
}

void gate_ended(struct gate *g, uint32_t job, int status)
{
	struct gate_job *x = job_of(g, job);

	if (x->fate & FATE_ENDED)
		return;
	x->fate |= FATE_ENDED;
	x->status = status;
	x->generation++;
	member_remove(g, job);
	block_change(g, job, 0);
	if (x->group) {
		struct group *a = &g->groups.v[x->group - 1];
		a->unended--;
		if (a->status == 0)
			a->status = status;
	}
	tell(g, job);
}

void gate_release(struct gate *g, uint32_t job)
{
	uint32_t first = job - job % ROWS_PAGE;

	rows_reach(&g->jobs, first + ROWS_PAGE, sizeof(struct gate_job), NULL);
	for (uint32_t i = first; i < first + ROWS_PAGE; i++) {
		uint32_t group = job_known(g, i)->group;
		if (group && g->groups.v[group - 1].first == i)
			vec_push(&g->spare_groups, group - 1);
	}
	rows_release(&g->jobs, job);
}

/* ---- blocking ---- */

unsigned gate_blocks(const struct gate *g, uint32_t job)
{
	return job < g->jobs.n ? job_known(g, job)->block : 0;
}

void gate_block(struct gate *g, uint32_t job, unsigned bits)
{
	block_change(g, job, gate_blocks(g, job) | bits);
}

void gate_unblock(struct gate *g, uint32_t job, unsigned bits)
{
	block_change(g, job, gate_blocks(g, job) & ~bits);
}

uint32_t gate_freed(struct gate *g)
{
	uint32_t freed = g->freed;

	g->freed = NONE;
	return freed;
}

size_t gate_pending(const struct gate *g)
{
	return g->pending;
}

/* ---- dependencies ---- */

/* Finds the job or array that a relation refers to; returns false if it is no longer known. */
static bool target_find(const struct gate *g, const struct gate_terms *terms, const struct jobid *id,
			struct target *ret)
{
	bool whole = false;
	uint32_t job;

	if (!terms->find(terms->context, id, &job, &whole))
		return false;
	*ret = whole ? (struct target){NONE, job_known(g, job)->group - 1} : (struct target){job, NONE};
	return true;
}

static void relate(struct gate *g, uint32_t waiter, const struct gate_terms *terms, enum depend_type type,
		   const struct jobid *id)
{
	struct relation r = {.number = id->number,
			     .index = (int32_t)id->index,
			     .kind = (uint8_t)id->kind,
			     .type = (uint8_t)type,
			     .waiter = waiter};
	struct depend_fate fate;

	if (!target_find(g, terms, id, &r.about))
		return; /* already judged */
	fate = fate_of(g, r.about);
	if (depend_judge(type, &fate) == DEPEND_WAITING)
		relation_add(g, r);
}

struct asked {
	const struct gate *g;
	const struct gate_terms *terms;
};

static struct depend_fate fate_asked(void *context, const struct jobid *id)
{
	const struct asked *a = context;
	struct target t;

	if (target_find(a->g, a->terms, id, &t))
		return fate_of(a->g, t);
	return a->terms->past ? a->terms->past(a->terms->context, id) : (struct depend_fate){.gone = true};
}

static enum depend_state judge(const struct gate *g, const struct gate_terms *terms, const struct depends *d,
			       struct strbuf *why)
{
	return depends_judge(d, fate_asked, &(struct asked){g, terms}, 0, why);
}

enum depend_state gate_explain(const struct gate *g, const struct gate_terms *terms, struct strbuf *why)
{
	enum depend_state state = DEPEND_SATISFIED;
	struct depends d = {0};

	if (terms->depend && depends_parse(terms->depend, &d, NULL) == 0)
		state = judge(g, terms, &d, why);
	depends_fini(&d);
	return state;
}

void gate_unmet(const struct gate *g, const struct gate_terms *terms, gate_relation relation, void *context)
{
	struct asked a = {g, terms};
	struct depends d = {0};
	struct strbuf text = {0};

	if (!terms->depend || depends_parse(terms->depend, &d, NULL) < 0)
		return;
	for (uint32_t i = 0; i < d.n; i++) {
		const struct depend *one = &d.v[i];
		strbuf_clear(&text);
		if (one->type == DEPEND_ON && one->count) {
			strbuf_printf(&text, "on:%u: waits for other jobs that are to be submitted to run before it",
				      one->count);
			relation(context, one->type, NULL, text.text);
		}
		for (uint32_t k = 0; k < one->nids && one->type < DEPEND_BEFORE; k++) {
			struct depend_fate fate = fate_asked(&a, &one->id[k]);
			if (depend_judge(one->type, &fate) != DEPEND_WAITING)
				continue;
			strbuf_clear(&text);
			depend_explain(one->type, &one->id[k], &fate, DEPEND_WAITING, &text);
			relation(context, one->type, &one->id[k], text.text);
		}
	}
	strbuf_fini(&text);
	depends_fini(&d);
}

/* Makes a waiter with the relations of a dependency. on: counts as unmet until the job
 * gets another text, when other jobs that name it are submitted. */
static uint32_t waiter_of(struct gate *g, const struct gate_terms *terms, const struct depends *d)
{
	uint32_t waiter = waiter_create(g);

	for (uint32_t i = 0; i < d->n; i++) {
		g->waiters.v[waiter - 1].unmet += d->v[i].type == DEPEND_ON;
		for (uint32_t k = 0; k < d->v[i].nids && d->v[i].type < DEPEND_BEFORE; k++)
			relate(g, waiter, terms, d->v[i].type, &d->v[i].id[k]);
	}
	return waiter;
}

static enum depend_state depend_enter(struct gate *g, uint32_t job, const struct gate_terms *terms, struct strbuf *why)
{
	enum depend_state state = DEPEND_SATISFIED;
	struct gate_share *share = terms->share;
	struct depends d = {0};

	if (share && share->waiter && g->waiters.v[share->waiter - 1].generation == share->generation) {
		member_add(g, job, share->waiter);
		return DEPEND_WAITING;
	}
	if (depends_parse(terms->depend, &d, NULL) == 0)
		state = judge(g, terms, &d, NULL);
	if (state == DEPEND_IMPOSSIBLE && why)
		judge(g, terms, &d, why);
	if (state == DEPEND_WAITING) {
		uint32_t waiter = waiter_of(g, terms, &d);
		member_add(g, job, waiter);
		if (share)
			*share = (struct gate_share){waiter, g->waiters.v[waiter - 1].generation};
	}
	depends_fini(&d);
	return state;
}

size_t gate_relations(const struct gate *g)
{
	return g->relations.n - g->spare.n;
}

/* ---- cycles ---- */

/* A walk along the jobs that others wait for. Each job, array and waiter is visited once. */
struct walk {
	const struct gate *g;
	bool *job, *group, *waiter; /* already visited */
	const bool *goal;
	VEC(struct target) next;
	int64_t steps; /* remaining steps */
};

/* Visits a job; returns true if it is one of the goals. */
static bool walk_job(struct walk *w, uint32_t job)
{
	const struct gate *g = w->g;
	uint32_t waiter;

	w->steps--;
	if (job >= g->jobs.n || w->job[job])
		return false;
	w->job[job] = true;
	waiter = job_known(g, job)->waiter;
	if (waiter && !w->waiter[waiter - 1]) {
		w->waiter[waiter - 1] = true;
		for (uint32_t at = g->waiters.v[waiter - 1].relations; at; at = g->relations.v[at - 1].sibling) {
			w->steps--;
			if (!g->relations.v[at - 1].met)
				vec_push(&w->next, g->relations.v[at - 1].about);
		}
	}
	return w->goal[job];
}

static bool walk_group(struct walk *w, uint32_t group)
{
	const struct group *x = &w->g->groups.v[group];
	bool found = false;

	if (w->group[group])
		return false;
	w->group[group] = true;
	for (uint32_t i = 0; i < x->count && !found && w->steps > 0; i++)
		found = walk_job(w, x->first + i);
	return found;
}

static void walk_begin(struct walk *w, const struct gate_terms *terms)
{
	struct depends d = {0};
	struct target t;

	if (!terms->depend || depends_parse(terms->depend, &d, NULL) < 0)
		return;
	for (uint32_t i = 0; i < d.n; i++)
		for (uint32_t k = 0; k < d.v[i].nids && d.v[i].type < DEPEND_BEFORE; k++)
			if (target_find(w->g, terms, &d.v[i].id[k], &t))
				vec_push(&w->next, t);
	depends_fini(&d);
}

int gate_reaches(const struct gate *g, const struct gate_terms *terms, const uint32_t *jobs, size_t njobs,
		 int64_t steps)
{
	bool *goal = mem_zalloc(g->jobs.n + 1), found = false;
	struct walk w = {.g = g,
			 .job = mem_zalloc(g->jobs.n + 1),
			 .group = mem_zalloc(g->groups.n + 1),
			 .waiter = mem_zalloc(g->waiters.n + 1),
			 .goal = goal,
			 .steps = steps};

	for (size_t i = 0; i < njobs; i++)
		if (jobs[i] < g->jobs.n)
			goal[jobs[i]] = true;
	walk_begin(&w, terms);
	while (w.next.n && !found && w.steps > 0) {
		struct target t = w.next.v[--w.next.n];
		found = t.group != NONE ? walk_group(&w, t.group) : walk_job(&w, t.job);
	}
	free(goal);
	free(w.job);
	free(w.group);
	free(w.waiter);
	vec_free(&w.next);
	return found ? 1 : w.steps > 0 ? 0 : -E2BIG;
}

/* ---- waiting jobs ---- */

static void timer_add(struct gate *g, uint32_t job, int64_t when, enum block bit)
{
	heap_push(&g->timers, when, job, (uint64_t)job_of(g, job)->generation << 16 | bit);
}

void gate_leave(struct gate *g, uint32_t job)
{
	struct gate_job *x = job_of(g, job);

	x->generation++;
	member_remove(g, job);
	block_change(g, job, 0);
}

enum depend_state gate_enter(struct gate *g, uint32_t job, const struct gate_terms *terms, int64_t now,
			     struct strbuf *why)
{
	enum depend_state state = DEPEND_SATISFIED;
	unsigned bits = terms->block;

	gate_leave(g, job);
	if (terms->at > now) {
		bits |= BLOCK_TIME;
		timer_add(g, job, terms->at, BLOCK_TIME);
	}
	if (terms->retry > now) {
		bits |= BLOCK_RETRY;
		timer_add(g, job, terms->retry, BLOCK_RETRY);
	}
	if (terms->depend)
		state = depend_enter(g, job, terms, why);
	if (state == DEPEND_WAITING)
		bits |= BLOCK_DEPEND;
	block_change(g, job, bits);
	return state;
}

/* ---- progress ---- */

static bool timer_meant(const struct gate *g, const struct heap_item *x)
{
	const struct gate_job *job = job_known(g, x->tie);

	return job->generation == x->value >> 16 && job->block & (x->value & 0xffff);
}

bool gate_due(struct gate *g, int64_t now, uint32_t *ret_job)
{
	struct heap_item x;

	while (heap_peek(&g->timers, &x) && x.time <= now) {
		bool meant = timer_meant(g, &x);
		heap_pop(&g->timers, &x);
		if (!meant)
			continue;
		gate_unblock(g, (uint32_t)x.tie, (unsigned)(x.value & 0xffff));
		*ret_job = (uint32_t)x.tie;
		return true;
	}
	return false;
}

int64_t gate_next(const struct gate *g)
{
	struct heap_item x;

	return heap_peek(&g->timers, &x) ? x.time : TIME_NEVER;
}

bool gate_has_news(const struct gate *g)
{
	return g->parting || g->at || g->read < g->news.n;
}

/* Opens the next list of relations to process. */
static bool news_open(struct gate *g)
{
	if (g->read == g->news.n)
		return false;
	g->now = g->news.v[g->read++];
	if (g->read == g->news.n) {
		vec_clear(&g->news);
		g->read = 0;
	}
	g->at = relations_of(g, g->now)->head;
	return true;
}

static void why_doomed(const struct relation *r, const struct depend_fate *fate, struct strbuf *why)
{
	struct jobid id = {.number = r->number, .kind = r->kind, .index = r->index};

	depend_explain(r->type, &id, fate, DEPEND_IMPOSSIBLE, why);
}

/* Frees or dooms one member of the waiter that is parting. */
static enum gate_news member_part(struct gate *g, uint32_t *ret_job, struct strbuf *why)
{
	bool doomed = g->doomed;

	*ret_job = g->waiters.v[g->parting - 1].first - 1;
	member_remove(g, *ret_job);
	if (doomed && why)
		why_doomed(&g->fatal, &g->fate, why);
	if (!doomed)
		gate_unblock(g, *ret_job, BLOCK_DEPEND);
	return doomed ? NEWS_DOOMED : NEWS_FREED;
}

enum gate_news gate_news(struct gate *g, uint32_t *ret_job, struct strbuf *why)
{
	enum depend_state state;
	struct relation *r;
	struct waiter *w;

	if (g->parting)
		return member_part(g, ret_job, why);
	if (!g->at)
		return news_open(g) ? NEWS_STEP : NEWS_NONE;
	r = &g->relations.v[g->at - 1];
	g->fate = fate_of(g, g->now);
	state = depend_judge(r->type, &g->fate);
	if (state == DEPEND_WAITING) {
		g->at = r->next;
		return NEWS_STEP;
	}
	relation_unlist(g, g->at - 1);
	w = &g->waiters.v[r->waiter - 1];
	g->doomed = state == DEPEND_IMPOSSIBLE;
	if (--w->unmet > 0 && !g->doomed)
		return NEWS_STEP;
	g->fatal = *r;
	waiter_part(g, r->waiter);
	return member_part(g, ret_job, why);
}
