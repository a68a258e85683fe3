/*
 * gate.c - reasons, timers and relations.
 *
 * Whatever a job was told to wait for belongs to its generation: gate_enter() and gate_leave() begin another one, and timers and relations of earlier ones
 * are passed over when they are met.
 */
#include "rules/gate.h"

#include "base/heap.h"
#include "base/timetext.h"
#include "base/vec.h"

#define NONE UINT32_MAX

enum fate { FATE_STARTED = 1, FATE_ENDED = 2 };

/* Relations about one job or array, in the order they came. */
struct relations {
	uint32_t head, tail; /* index + 1; 0: none */
};

struct relation {
	uint64_t number; /* what it is about, as it was written */
	int32_t index;
	uint8_t kind; /* enum jobid_kind */
	uint8_t type; /* enum depend_type */
	uint32_t job, generation;
	uint32_t next; /* of the same list: index + 1 */
};

struct gate_job {
	struct relations about;
	uint32_t unmet; /* relations that are not fulfilled */
	uint32_t group; /* its array, or NONE */
	uint32_t generation;
	int32_t status;
	uint16_t block;
	uint8_t fate;
};

/* An array as a whole. */
struct group {
	struct relations about;
	uint32_t unstarted, unended;
	int32_t status; /* the first that is not 0 */
};

struct target {
	uint32_t job, group; /* one of them is NONE */
};

struct gate {
	VEC(struct gate_job) jobs;
	VEC(struct group) groups;
	VEC(struct relation) relations;
	VEC(uint32_t) spare; /* of relations */
	struct heap timers;  /* (when, job, generation << 16 | bit) */
	VEC(struct target) news;
	size_t read;	   /* of the news */
	struct target now; /* what is being looked at: */
	uint32_t at;	   /* the next relation of it, index + 1; 0: none */
	size_t pending;
	uint32_t freed; /* see gate_freed() */
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
	vec_copy(&t->jobs, &g->jobs);
	vec_copy(&t->groups, &g->groups);
	vec_copy(&t->relations, &g->relations);
	vec_copy(&t->spare, &g->spare);
	vec_copy(&t->timers, &g->timers);
	vec_copy(&t->news, &g->news);
	return t;
}

void gate_destroy(struct gate *g)
{
	if (!g)
		return;
	vec_free(&g->jobs);
	vec_free(&g->groups);
	vec_free(&g->relations);
	vec_free(&g->spare);
	heap_fini(&g->timers);
	vec_free(&g->news);
	free(g);
}

static struct gate_job *job_of(struct gate *g, uint32_t job)
{
	if (job >= g->jobs.n) {
		vec_reserve(&g->jobs, (size_t)job + 1);
		while (g->jobs.n <= job)
			vec_push(&g->jobs, (struct gate_job){.group = NONE});
	}
	return &g->jobs.v[job];
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
	x->block = (uint16_t)block;
}

/* ---- what became of jobs ---- */

static struct relations *relations_of(struct gate *g, struct target t)
{
	return t.group != NONE ? &g->groups.v[t.group].about : &job_of(g, t.job)->about;
}

static struct depend_fate fate_of(const struct gate *g, struct target t)
{
	if (t.group != NONE) {
		const struct group *x = &g->groups.v[t.group];
		return (struct depend_fate){
			.started = x->unstarted == 0, .ended = x->unended == 0, .status = x->status};
	}
	if (t.job >= g->jobs.n)
		return (struct depend_fate){0};

	const struct gate_job *x = &g->jobs.v[t.job];

	return (struct depend_fate){
		.started = x->fate & FATE_STARTED, .ended = x->fate & FATE_ENDED, .status = x->status};
}

void gate_array(struct gate *g, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		job_of(g, first + i)->group = (uint32_t)g->groups.n;
	vec_push(&g->groups, (struct group){.unstarted = count, .unended = count});
}

static void tell(struct gate *g, uint32_t job)
{
	const struct gate_job *x = &g->jobs.v[job];

	if (x->about.head)
		vec_push(&g->news, (struct target){job, NONE});
	if (x->group != NONE && g->groups.v[x->group].about.head)
		vec_push(&g->news, (struct target){NONE, x->group});
}

void gate_started(struct gate *g, uint32_t job)
{
	struct gate_job *x = job_of(g, job);

	if (x->fate & FATE_STARTED)
		return;
	x->fate |= FATE_STARTED;
	if (x->group != NONE)
		g->groups.v[x->group].unstarted--;
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
	block_change(g, job, 0);
	if (x->group != NONE) {
		struct group *a = &g->groups.v[x->group];
		a->unended--;
		if (a->status == 0)
			a->status = status;
	}
	tell(g, job);
}

/* ---- blocking ---- */

unsigned gate_blocks(const struct gate *g, uint32_t job)
{
	return job < g->jobs.n ? g->jobs.v[job].block : 0;
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

/* What a relation is about; false: nobody knows it any more. */
static bool target_find(const struct gate *g, const struct gate_terms *terms, const struct jobid *id,
			struct target *ret)
{
	bool whole = false;
	uint32_t job;

	if (!terms->find(terms->context, id, &job, &whole))
		return false;
	*ret = whole ? (struct target){NONE, g->jobs.v[job].group} : (struct target){job, NONE};
	return true;
}

static void relation_add(struct gate *g, struct target t, const struct relation *r)
{
	struct relations *list;
	uint32_t at;

	if (g->spare.n) {
		at = g->spare.v[--g->spare.n];
		g->relations.v[at] = *r;
	} else {
		at = (uint32_t)g->relations.n;
		vec_push(&g->relations, *r);
	}
	g->relations.v[at].next = 0;
	list = relations_of(g, t);
	if (list->tail)
		g->relations.v[list->tail - 1].next = at + 1;
	else
		list->head = at + 1;
	list->tail = at + 1;
}

static void relate(struct gate *g, uint32_t job, const struct gate_terms *terms, enum depend_type type,
		   const struct jobid *id)
{
	struct relation r = {.number = id->number,
			     .index = (int32_t)id->index,
			     .kind = (uint8_t)id->kind,
			     .type = (uint8_t)type,
			     .job = job,
			     .generation = job_of(g, job)->generation};
	struct target t;
	struct depend_fate fate;

	if (!target_find(g, terms, id, &t))
		return; /* judged already */
	fate = fate_of(g, t);
	if (depend_judge(type, &fate) != DEPEND_WAITING)
		return;
	job_of(g, job)->unmet++;
	relation_add(g, t, &r);
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

/* Those that wait until others have been submitted that are to run before them (on:3) wait for another text. */
static enum depend_state depend_enter(struct gate *g, uint32_t job, const struct gate_terms *terms, struct strbuf *why)
{
	enum depend_state state = DEPEND_SATISFIED;
	struct depends d = {0};

	if (depends_parse(terms->depend, &d, NULL) == 0)
		state = judge(g, terms, &d, NULL);
	if (state == DEPEND_IMPOSSIBLE && why)
		judge(g, terms, &d, why);
	for (uint32_t i = 0; i < d.n && state == DEPEND_WAITING; i++) {
		job_of(g, job)->unmet += d.v[i].type == DEPEND_ON;
		for (uint32_t k = 0; k < d.v[i].nids && d.v[i].type < DEPEND_BEFORE; k++)
			relate(g, job, terms, d.v[i].type, &d.v[i].id[k]);
	}
	depends_fini(&d);
	return state;
}

/* ---- who waits ---- */

static void timer_add(struct gate *g, uint32_t job, int64_t when, enum block bit)
{
	heap_push(&g->timers, when, job, (uint64_t)job_of(g, job)->generation << 16 | bit);
}

void gate_leave(struct gate *g, uint32_t job)
{
	struct gate_job *x = job_of(g, job);

	x->generation++;
	x->unmet = 0;
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

/* ---- what follows ---- */

static bool timer_meant(const struct gate *g, const struct heap_item *x)
{
	const struct gate_job *job = &g->jobs.v[x->tie];

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
	return g->at || g->read < g->news.n;
}

/* The next list that is to be looked at, taken from its owner. */
static bool news_open(struct gate *g)
{
	struct relations *list;

	if (g->read == g->news.n)
		return false;
	g->now = g->news.v[g->read++];
	if (g->read == g->news.n) {
		vec_clear(&g->news);
		g->read = 0;
	}
	list = relations_of(g, g->now);
	g->at = list->head;
	*list = (struct relations){0};
	return true;
}

static void why_doomed(const struct relation *r, const struct depend_fate *fate, struct strbuf *why)
{
	struct jobid id = {.number = r->number, .kind = r->kind, .index = r->index};

	depend_explain(r->type, &id, fate, DEPEND_IMPOSSIBLE, why);
}

enum gate_news gate_news(struct gate *g, uint32_t *ret_job, struct strbuf *why)
{
	struct depend_fate fate;
	enum depend_state state;
	struct relation r;
	uint32_t at;

	if (!g->at)
		return news_open(g) ? NEWS_STEP : NEWS_NONE;
	at = g->at - 1;
	r = g->relations.v[at];
	g->at = r.next;
	fate = fate_of(g, g->now);
	state = depend_judge(r.type, &fate);
	vec_push(&g->spare, at);

	struct gate_job *x = &g->jobs.v[r.job];

	if (x->generation != r.generation)
		return NEWS_STEP;
	if (state == DEPEND_WAITING) {
		relation_add(g, g->now, &r);
		return NEWS_STEP;
	}
	*ret_job = r.job;
	if (state == DEPEND_IMPOSSIBLE) {
		if (why)
			why_doomed(&r, &fate, why);
		return NEWS_DOOMED;
	}
	if (--x->unmet > 0)
		return NEWS_STEP;
	gate_unblock(g, r.job, BLOCK_DEPEND);
	return NEWS_FREED;
}
