/*
 * gatekeeper.c - what keeps jobs from the scheduler (block.c), simulated beside a forecast (sched/forecast.h).
 *
 * It is made from what is known at one instant and shares nothing with the server that changes, since the server goes on while a forecast
 * is made in slices. Time passes by itself, jobs that run end and succeed, and each end lets another pass at its limits; but people's
 * holds, stopped queues and jobs that no node could hold stay as they are.
 *
 * A dependency is taken apart into its relations to single jobs or whole arrays. Each waits in the list of the one it is about, and is judged
 * when that starts or ends: the work is proportional to the relations, not to their product with the events.
 */
#include <math.h>

#include "server/server_internal.h"

#define OPENS (BLOCK_TIME | BLOCK_RETRY | BLOCK_DEPEND | BLOCK_LIMIT) /* what time and other jobs can change */
#define CLASS_NONE UINT32_MAX

enum { FATE_STARTED = 1, FATE_ENDED = 2, FATE_FAILED = 4 };

struct counter {
	int64_t active, most;
};

/* Jobs that count against the same limits. */
struct class
{
	uint32_t counter[LIMITS_MAX];
	uint32_t n;
	struct heap waiting; /* (rank, core id): nothing else blocks them */
	bool listed;	     /* in `crowded` */
};

struct relation {
	uint32_t job;
	enum depend_type type;
	uint32_t next; /* of the same list: index + 1; 0: none */
};

/* An array that somebody depends on. */
struct whole {
	uint32_t unstarted, unended;
	bool failed;
};

struct gatekeeper {
	const struct server *s;
	uint32_t n;		    /* jobs it knows */
	uint32_t *class_of, *unmet; /* of each: its class; relations that are not fulfilled */
	uint16_t *block;	    /* enum block without LIMIT */
	uint8_t *fate;		    /* as foreseen */
	VEC(struct counter) counters;
	VEC(struct class) classes;
	VEC(uint32_t) crowded; /* classes in which somebody waits */
	VEC(struct relation) relations;
	VEC(struct whole) wholes;
	struct map counter_at, class_at; /* identity, hash of what a class is -> index + 1 */
	struct map lists;		 /* job key, of an array's first part -> index + 1 of a relation */
	struct map whole_at;		 /* number -> index + 1 */
	struct heap releases;		 /* (when, core id, bit) */
	job_vec news;			 /* started or ended, and not looked at yet */
	size_t pending;
	bool offers;
};

/* ---- limits ---- */

static uint32_t counter_of(struct gatekeeper *g, const struct limit *l)
{
	uint64_t *at = map_at(&g->counter_at, hash_bytes(l->identity, sizeof l->identity));

	if (*at == 0) {
		vec_push(&g->counters, (struct counter){*l->active, l->most});
		*at = g->counters.n;
	}
	return (uint32_t)*at - 1;
}

static uint32_t class_find(struct gatekeeper *g, struct server *s, uint64_t number, const struct spec *p)
{
	uint64_t of[3] = {array_find(s, number) ? number : 0, p->owner, p->queue};
	uint64_t *at = map_at(&g->class_at, hash_bytes(of, sizeof of));
	struct limit limits[LIMITS_MAX];
	struct class c = {0};

	if (*at == 0) {
		c.n = limits_of(s, number, p, limits);
		for (uint32_t i = 0; i < c.n; i++)
			c.counter[i] = counter_of(g, &limits[i]);
		vec_push(&g->classes, c);
		*at = g->classes.n;
	}
	return (uint32_t)*at - 1;
}

static bool class_allows(const struct gatekeeper *g, const struct class *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct counter *x = &g->counters.v[c->counter[i]];
		if (x->most >= 0 && x->active >= x->most)
			return false;
	}
	return true;
}

static void class_count(struct gatekeeper *g, uint32_t class, int64_t sign)
{
	const struct class *c = &g->classes.v[class];

	for (uint32_t i = 0; i < c->n; i++)
		g->counters.v[c->counter[i]].active += sign;
	if (sign < 0)
		g->offers = true;
}

static void limit_wait(struct gatekeeper *g, uint32_t id)
{
	struct class *c = &g->classes.v[g->class_of[id]];

	heap_push(&c->waiting, llround(entry_job(g->s, id)->rank * 1e6), id, 0);
	if (!c->listed)
		vec_push(&g->crowded, g->class_of[id]);
	c->listed = true;
	g->offers = true;
}

/* As block_offer(): the first of each class, in the order of rank over all of them. */
static bool offer(struct gatekeeper *g, struct forecast *f)
{
	struct heap firsts = {0};
	struct heap_item x;
	bool any = false;
	size_t kept = 0;

	if (!g->offers)
		return false;
	g->offers = false;
	for (size_t i = 0; i < g->crowded.n; i++) {
		struct class *c = &g->classes.v[g->crowded.v[i]];
		c->listed = heap_peek(&c->waiting, &x);
		if (!c->listed)
			continue;
		heap_push(&firsts, x.time, x.tie, g->crowded.v[i]);
		g->crowded.v[kept++] = g->crowded.v[i];
	}
	g->crowded.n = kept;
	while (heap_pop(&firsts, &x)) {
		struct class *c = &g->classes.v[x.value];
		uint32_t class = (uint32_t)x.value;
		if (!class_allows(g, c))
			continue;
		heap_pop(&c->waiting, &x);
		class_count(g, class, 1);
		g->pending--;
		forecast_release(f, (uint32_t)x.tie);
		any = true;
		if (heap_peek(&c->waiting, &x))
			heap_push(&firsts, x.time, x.tie, class);
	}
	heap_fini(&firsts);
	return any;
}

static void clear(struct gatekeeper *g, uint32_t id, unsigned bits)
{
	if (!(g->block[id] & bits))
		return;
	g->block[id] &= (uint16_t)~bits;
	if (!g->block[id])
		limit_wait(g, id);
}

/* ---- dependencies ---- */

static struct depend_fate fate_of_job(const struct gatekeeper *g, uint32_t id)
{
	uint8_t x = g->fate[id];

	return (struct depend_fate){
		.started = x & FATE_STARTED, .ended = x & FATE_ENDED, .status = x & FATE_FAILED ? 1 : 0};
}

static struct depend_fate fate_of_whole(const struct whole *w)
{
	return (struct depend_fate){
		.started = w->unstarted == 0, .ended = w->unended == 0, .status = w->failed ? 1 : 0};
}

static struct whole *whole_find(struct gatekeeper *g, const struct array *a)
{
	uint64_t *at = map_at(&g->whole_at, a->number);
	struct whole w = {0};

	if (*at == 0) {
		for (uint32_t i = 0; i < a->count; i++) {
			w.unstarted += !(g->fate[a->first + i] & FATE_STARTED);
			w.unended += !(g->fate[a->first + i] & FATE_ENDED);
			w.failed |= g->fate[a->first + i] & FATE_FAILED;
		}
		vec_push(&g->wholes, w);
		*at = g->wholes.n;
	}
	return &g->wholes.v[*at - 1];
}

static struct depend_fate fate_of(struct gatekeeper *g, const struct jobid *id)
{
	const struct array *a = array_find(g->s, id->number);
	uint32_t found;

	if (a && id->kind != JOBID_ELEMENT)
		return fate_of_whole(whole_find(g, a));
	if (!entry_find(g->s, id->number, id->index, &found) || found >= g->n)
		return (struct depend_fate){.gone = true};
	return fate_of_job(g, found);
}

static void relation_add(struct gatekeeper *g, uint32_t job, enum depend_type type, const struct jobid *id)
{
	struct depend_fate fate = fate_of(g, id);
	uint64_t *at;

	if (depend_judge(type, &fate) == DEPEND_SATISFIED)
		return;
	g->unmet[job]++;
	at = map_at(&g->lists, job_key(id->number, id->kind == JOBID_ELEMENT ? id->index : -1));
	vec_push(&g->relations, (struct relation){job, type, (uint32_t)*at});
	*at = g->relations.n;
}

/* Those of other jobs that wait until more of them are fulfilled (on:3) are not looked into: such a job is not foreseen. */
static void relations_add(struct gatekeeper *g, uint32_t job, const char *text)
{
	struct depends d = {0};

	if (depends_parse(text, &d, NULL) < 0)
		return;
	for (uint32_t i = 0; i < d.n; i++) {
		g->unmet[job] += d.v[i].type == DEPEND_ON;
		for (uint32_t k = 0; k < d.v[i].nids && d.v[i].type < DEPEND_BEFORE; k++)
			relation_add(g, job, d.v[i].type, &d.v[i].id[k]);
	}
	depends_fini(&d);
}

static void become(struct gatekeeper *g, uint32_t id, uint8_t what)
{
	uint8_t before = g->fate[id];
	uint64_t at;

	g->fate[id] |= what;
	if (map_get(&g->whole_at, job_key_number(g->s->jobs->entries.v[id].key), &at) && at) {
		struct whole *w = &g->wholes.v[at - 1];
		w->unstarted -= !(before & FATE_STARTED) && (what & FATE_STARTED);
		w->unended -= !(before & FATE_ENDED) && (what & FATE_ENDED);
		w->failed |= (what & FATE_FAILED) != 0;
	}
	vec_push(&g->news, id);
}

/* A job whose dependency can't be fulfilled any more is deleted. */
static void doom(struct gatekeeper *g, uint32_t id)
{
	if (g->fate[id] & FATE_ENDED)
		return;
	g->pending -= (g->block[id] & ~OPENS) == 0;
	g->block[id] |= BLOCK_MISFIT;
	become(g, id, FATE_ENDED | FATE_FAILED);
}

static void tell(struct gatekeeper *g, uint64_t key, struct depend_fate fate)
{
	uint32_t open = 0;
	uint64_t first;

	if (!map_get(&g->lists, key, &first))
		return;
	for (uint32_t i = (uint32_t)first, next; i; i = next) {
		struct relation *r = &g->relations.v[i - 1];
		next = r->next;
		switch (depend_judge(r->type, &fate)) {
		case DEPEND_SATISFIED:
			if (--g->unmet[r->job] == 0)
				clear(g, r->job, BLOCK_DEPEND);
			break;
		case DEPEND_IMPOSSIBLE:
			doom(g, r->job);
			break;
		case DEPEND_WAITING:
			r->next = open;
			open = i;
			break;
		}
	}
	map_set(&g->lists, key, open);
}

static void news_spread(struct gatekeeper *g)
{
	while (g->news.n > 0) {
		uint32_t id = g->news.v[--g->news.n];
		uint64_t key = g->s->jobs->entries.v[id].key, number = job_key_number(key), at;
		if (id == g->s->world->scratch || g->relations.n == 0)
			continue;
		tell(g, key, fate_of_job(g, id));
		if (map_get(&g->whole_at, number, &at) && at)
			tell(g, job_key(number, -1), fate_of_whole(&g->wholes.v[at - 1]));
	}
}

/* ---- beside a forecast ---- */

static void on_started(void *context, uint32_t id)
{
	struct gatekeeper *g = context;

	if (!(g->fate[id] & FATE_STARTED))
		become(g, id, FATE_STARTED);
}

static void on_ended(void *context, uint32_t id, bool ran)
{
	struct gatekeeper *g = context;

	if (g->fate[id] & FATE_ENDED)
		return;
	become(g, id, (uint8_t)(FATE_ENDED | (ran ? 0 : FATE_FAILED)));
	if (g->class_of[id] != CLASS_NONE)
		class_count(g, g->class_of[id], -1);
}

static bool on_open(void *context, struct forecast *f, int64_t now)
{
	struct gatekeeper *g = context;
	struct heap_item x;

	news_spread(g);
	while (heap_peek(&g->releases, &x) && x.time <= now) {
		heap_pop(&g->releases, &x);
		clear(g, (uint32_t)x.tie, (unsigned)x.value);
	}
	return offer(g, f);
}

static int64_t next_release(const void *context)
{
	const struct gatekeeper *g = context;
	struct heap_item x;

	return heap_peek(&g->releases, &x) ? x.time : TIME_NEVER;
}

static size_t pending(const void *context)
{
	return ((const struct gatekeeper *)context)->pending;
}

/* ---- making one ---- */

static uint8_t fate_now(const struct server *s, uint32_t id)
{
	const struct job *job = entry_job(s, id);
	uint8_t fate = 0;

	if (s->jobs->entries.v[id].ran || job->state == STATE_NOW || job->state == STATE_RUNNING)
		fate |= FATE_STARTED;
	if (job_ended(job))
		fate |= (uint8_t)(FATE_ENDED | (s->jobs->entries.v[id].exit_status ? FATE_FAILED : 0));
	return fate;
}

/* A job that is blocked by `bits`. */
static void add(struct gatekeeper *g, uint32_t id, unsigned bits, const struct spec *p, int64_t retry)
{
	g->block[id] = (uint16_t)(bits & ~BLOCK_LIMIT);
	g->pending += (bits & ~OPENS) == 0;
	if (bits & BLOCK_TIME)
		heap_push(&g->releases, p->at, id, BLOCK_TIME);
	if (bits & BLOCK_RETRY)
		heap_push(&g->releases, retry, id, BLOCK_RETRY);
	if (bits & BLOCK_DEPEND)
		relations_add(g, id, p->depend);
	if (!g->block[id])
		limit_wait(g, id);
	else if ((bits & BLOCK_DEPEND) && g->unmet[id] == 0)
		clear(g, id, BLOCK_DEPEND);
}

struct gatekeeper *gatekeeper_create(struct server *s)
{
	struct gatekeeper *g = mem_zalloc(sizeof *g);
	size_t n = s->jobs->entries.n > s->world->scratch ? s->jobs->entries.n : s->world->scratch + 1;

	g->s = s;
	g->n = (uint32_t)n;
	g->class_of = mem_zalloc(n * sizeof *g->class_of);
	g->unmet = mem_zalloc(n * sizeof *g->unmet);
	g->block = mem_zalloc(n * sizeof *g->block);
	g->fate = mem_zalloc(n * sizeof *g->fate);
	for (uint32_t id = 0; id < n; id++) {
		const struct spec *p = id < s->jobs->entries.n ? s->jobs->entries.v[id].spec : NULL;
		g->class_of[id] = p && !entry_ended(s, id)
					  ? class_find(g, s, job_key_number(s->jobs->entries.v[id].key), p)
					  : CLASS_NONE;
		if (p)
			g->fate[id] = fate_now(s, id);
	}
	for (uint32_t id = 0; id < s->jobs->entries.n; id++) {
		const struct entry *e = &s->jobs->entries.v[id];
		if (e->spec && !entry_ended(s, id) && e->block)
			add(g, id, e->block, e->spec, e->failures ? e->failures->until : s->clock->now);
	}
	return g;
}

void gatekeeper_submit(struct gatekeeper *g, struct server *s, struct forecast *f, const struct spec *p)
{
	unsigned bits = p->holds & BLOCK_HOLDS;

	g->class_of[s->world->scratch] = class_find(g, s, 0, p);
	if (p->at > s->clock->now)
		bits |= BLOCK_TIME;
	if (p->depend)
		bits |= BLOCK_DEPEND;
	forecast_submit(f, s->world->scratch, s->clock->now, true);
	add(g, s->world->scratch, bits, p, 0);
}

bool gatekeeper_blocks(const struct gatekeeper *g, uint32_t id)
{
	return g->block[id] != 0;
}

void gatekeeper_attend(struct gatekeeper *g, struct forecast *f)
{
	forecast_gate(f, &(struct forecast_gates){g, on_started, on_ended, on_open, next_release, pending});
}

void gatekeeper_destroy(struct gatekeeper *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->classes.n; i++)
		heap_fini(&g->classes.v[i].waiting);
	vec_free(&g->counters);
	vec_free(&g->classes);
	vec_free(&g->crowded);
	vec_free(&g->relations);
	vec_free(&g->wholes);
	map_fini(&g->counter_at);
	map_fini(&g->class_at);
	map_fini(&g->lists);
	map_fini(&g->whole_at);
	heap_fini(&g->releases);
	vec_free(&g->news);
	free(g->class_of);
	free(g->unmet);
	free(g->block);
	free(g->fate);
	free(g);
}
