/*
 * limit.c - limits: rules, counters, classes and lines.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "rules/limit_internal.h"

struct limits *limits_create(void)
{
	struct limits *l = mem_zalloc(sizeof *l);

	vec_push(&l->classes, (struct class){.qos = INDEX_NONE}); /* LIMITS_NONE */
	l->yield_due = TIME_NEVER;
	return l;
}

struct limits *limits_clone(const struct limits *l)
{
	struct limits *t = mem_zalloc(sizeof *t);

	vec_copy(&t->rules, &l->rules);
	vec_copy(&t->counters, &l->counters);
	vec_copy(&t->classes, &l->classes);
	vec_copy(&t->lines, &l->lines);
	for (size_t i = 0; i < l->lines.n; i++)
		vec_copy(&t->lines.v[i].waiting, &l->lines.v[i].waiting);
	vec_copy(&t->held, &l->held);
	vec_copy(&t->spare_rules, &l->spare_rules);
	vec_copy(&t->spare_counters, &l->spare_counters);
	vec_copy(&t->spare_classes, &l->spare_classes);
	vec_copy(&t->spare_lines, &l->spare_lines);
	vec_copy(&t->spare_held, &l->spare_held);
	t->limiting = l->limiting;
	map_copy(&t->rule_at, &l->rule_at);
	map_copy(&t->counter_at, &l->counter_at);
	map_copy(&t->class_at, &l->class_at);
	map_copy(&t->line_at, &l->line_at);
	map_copy(&t->held_at, &l->held_at);
	vec_copy(&t->fallen, &l->fallen);
	t->changed = l->changed;
	t->all = l->all;
	t->stamp = l->stamp;
	t->now = l->now;
	t->yields = l->yields;
	t->yield_due = l->yield_due;
	vec_copy(&t->ends, &l->ends);
	vec_copy(&t->due, &l->due);
	return t;
}

static void map_empty(struct map *m)
{
	map_fini(m);
	*m = (struct map){0};
}

static void lines_clear(struct limits *l)
{
	for (size_t i = 0; i < l->lines.n; i++)
		heap_fini(&l->lines.v[i].waiting);
	vec_clear(&l->lines);
	vec_clear(&l->spare_lines);
	map_empty(&l->line_at);
	for (size_t i = 0; i < l->counters.n; i++)
		l->counters.v[i].line = INDEX_NONE;
}

void limits_destroy(struct limits *l)
{
	if (!l)
		return;
	lines_clear(l);
	vec_free(&l->lines);
	vec_free(&l->rules);
	vec_free(&l->counters);
	vec_free(&l->classes);
	vec_free(&l->held);
	vec_free(&l->spare_rules);
	vec_free(&l->spare_counters);
	vec_free(&l->spare_classes);
	vec_free(&l->spare_lines);
	vec_free(&l->spare_held);
	vec_free(&l->fallen);
	heap_fini(&l->ends);
	heap_fini(&l->due);
	map_fini(&l->rule_at);
	map_fini(&l->counter_at);
	map_fini(&l->class_at);
	map_fini(&l->held_at);
	free(l);
}

void limits_clear(struct limits *l)
{
	lines_clear(l);
	for (size_t i = 0; i < l->counters.n; i++) {
		l->counters.v[i].fallen = false;
		l->counters.v[i].falling = l->counters.v[i].ends = 0;
		l->counters.v[i].due = TIME_NEVER;
		for (int m = 0; m < LIMIT_MEASURES; m++)
			l->counters.v[i].active[m] = 0;
	}
	vec_clear(&l->held);
	vec_clear(&l->spare_held);
	map_empty(&l->held_at);
	vec_clear(&l->fallen);
	vec_clear(&l->ends);
	vec_clear(&l->due);
	l->changed = false;
	l->now = 0;
	l->yield_due = TIME_NEVER;
}

/* ---- who counts where ---- */

static uint64_t class_key(const struct limit_party *p)
{
	return hash_bytes((uint64_t[6]){p->user, p->queue, p->array, p->group, p->account, p->qos},
			  6 * sizeof(uint64_t));
}

static uint32_t rule_of(struct limits *l, enum limit_kind kind, uint64_t of)
{
	uint64_t key = rule_key(kind, of), at;
	struct rule r = {.kind = kind, .of = of, .fallback = INDEX_NONE};

	if (map_get(&l->rule_at, key, &at))
		return (uint32_t)at;
	if (kind >= LIMIT_OF_USER && of)
		r.fallback = rule_of(l, kind, 0);
	for (int m = 0; m < LIMIT_MEASURES; m++)
		r.most[m] = r.soft[m] = r.fallback == INDEX_NONE ? -1 : LIMIT_INHERIT;
	at = spare_or_new(&l->spare_rules, &l->rules, r);
	map_set(&l->rule_at, key, at);
	return (uint32_t)at;
}

/* One of its limits has changed. */
static void rule_note(struct limits *l, struct rule *r, int m)
{
	uint32_t before = r->set, bit = UINT32_C(1) << m;

	r->set = r->most[m] >= 0 || r->soft[m] >= 0 ? before | bit : before & ~bit;
	l->limiting += (r->set != 0) - (before != 0);
}

static uint32_t counter_of(struct limits *l, enum limit_kind kind, uint64_t of, uint32_t user)
{
	uint32_t rule = rule_of(l, kind, of);
	uint64_t key = counter_key(rule, user), at;

	if (map_get(&l->counter_at, key, &at))
		return (uint32_t)at;
	at = spare_or_new(&l->spare_counters, &l->counters,
			  (struct counter){.rule = rule, .up = INDEX_NONE, .line = INDEX_NONE, .due = TIME_NEVER});
	map_set(&l->counter_at, key, at);
	return (uint32_t)at;
}

void counter_fell(struct limits *l, uint32_t at)
{
	struct counter *c = &l->counters.v[at];

	if (c->line == INDEX_NONE)
		return;
	c->fell = ++l->stamp;
	if (c->fallen)
		return;
	c->fallen = true;
	vec_push(&l->fallen, at);
}

void limits_cap(struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure, int64_t most)
{
	uint32_t rule = rule_of(l, kind, of);
	struct rule *r = &l->rules.v[rule];

	if (r->most[measure] == most)
		return;
	r->most[measure] = most;
	rule_note(l, r, (int)measure);
	l->changed = true;
}

void limits_soft(struct limits *l, enum limit_kind kind, uint64_t of, enum limit_measure measure, int64_t most)
{
	uint32_t rule = rule_of(l, kind, of);
	struct rule *r = &l->rules.v[rule];

	if (r->soft[measure] == most)
		return;
	r->soft[measure] = most;
	rule_note(l, r, (int)measure);
	l->yields |= most >= 0;
	l->changed = true;
}

void limits_credit(struct limits *l, uint32_t account, enum limit_measure measure, int64_t most)
{
	uint32_t at = counter_of(l, LIMIT_OF_ACCOUNT, account, 0);
	struct rule *r = &l->rules.v[l->counters.v[at].rule];
	bool more = most < 0 || (r->most[measure] >= 0 && most > r->most[measure]);

	r->most[measure] = most;
	rule_note(l, r, (int)measure);
	if (more)
		counter_fell(l, at);
}

void limits_set(struct limits *l, enum limit_kind kind, uint64_t of, int64_t most)
{
	limits_cap(l, kind, of, LIMIT_JOBS, most);
}

void limits_exempt(struct limits *l, uint32_t qos, bool exempt)
{
	uint32_t rule = rule_of(l, LIMIT_OF_QOS, qos);
	struct rule *r = &l->rules.v[rule];

	l->changed |= r->exempt != exempt;
	r->exempt = exempt;
}

/* What a counter counts, into (1) or out of (-1) those above it. */
static void above_add(struct limits *l, const struct counter *c, int sign)
{
	for (uint32_t i = c->up; i != INDEX_NONE; i = l->counters.v[i].up) {
		for (int m = 0; m < LIMIT_MEASURES; m++)
			l->counters.v[i].active[m] += sign * c->active[m];
		l->counters.v[i].falling += sign * c->falling;
		l->counters.v[i].ends += sign * c->ends;
	}
}

void limits_parent(struct limits *l, uint32_t account, uint32_t parent)
{
	uint32_t up = parent ? counter_of(l, LIMIT_OF_ACCOUNT, parent, 0) : INDEX_NONE;
	uint32_t at = counter_of(l, LIMIT_OF_ACCOUNT, account, 0);
	struct counter *c = &l->counters.v[at];

	if (c->up == up)
		return;
	above_add(l, c, -1);
	c->up = up;
	above_add(l, c, 1);
	l->changed = true;
}

uint32_t limits_class(struct limits *l, const struct limit_party *p)
{
	uint64_t key = class_key(p), at;
	struct class c = {.qos = INDEX_NONE};

	if (map_get(&l->class_at, key, &at))
		return (uint32_t)at;
	c.counter[c.n++] = counter_of(l, LIMIT_ALL, 0, 0);
	c.counter[c.n++] = counter_of(l, LIMIT_USER, 0, p->user);
	c.counter[c.n++] = counter_of(l, LIMIT_OF_USER, p->user, 0);
	if (p->group)
		c.counter[c.n++] = counter_of(l, LIMIT_OF_GROUP, p->group, 0);
	if (p->account)
		c.counter[c.n++] = counter_of(l, LIMIT_OF_ACCOUNT, p->account, 0);
	if (p->qos) {
		c.counter[c.n++] = counter_of(l, LIMIT_OF_QOS, p->qos, 0);
		c.qos = rule_of(l, LIMIT_OF_QOS, p->qos);
	}
	if (p->queue) {
		c.counter[c.n++] = counter_of(l, LIMIT_QUEUE, p->queue, 0);
		c.counter[c.n++] = counter_of(l, LIMIT_QUEUE_USER, p->queue, p->user);
	}
	if (p->array)
		c.counter[c.n++] = counter_of(l, LIMIT_ARRAY, p->array, 0);
	at = spare_or_new(&l->spare_classes, &l->classes, c);
	map_set(&l->class_at, key, at);
	return (uint32_t)at;
}

void limits_drop_array(struct limits *l, const struct limit_party *p)
{
	uint64_t key = class_key(p), rule_hash = rule_key(LIMIT_ARRAY, p->array), at;

	if (map_get(&l->class_at, key, &at)) {
		map_remove(&l->class_at, key);
		vec_push(&l->spare_classes, (uint32_t)at);
	}
	if (!map_get(&l->rule_at, rule_hash, &at))
		return;

	uint64_t rule = at, counter = counter_key((uint32_t)rule, 0);

	map_remove(&l->rule_at, rule_hash);
	l->limiting -= l->rules.v[rule].set != 0;
	l->rules.v[rule].set = 0;
	vec_push(&l->spare_rules, (uint32_t)rule);
	if (map_get(&l->counter_at, counter, &at) && l->counters.v[at].line == INDEX_NONE &&
	    !l->counters.v[at].fallen) {
		map_remove(&l->counter_at, counter);
		vec_push(&l->spare_counters, (uint32_t)at);
	}
}

/* ---- counting ---- */

/* A job's slot, into (1) or out of (-1) one counter. */
static void counter_add(struct counter *c, const struct held *h, int sign)
{
	for (int m = 0; m < LIMIT_CPU_SECONDS; m++) {
		c->active[m] += sign * h->need.v[m];
		assert(c->active[m] >= 0);
	}
	for (int m = LIMIT_CREDIT; m < LIMIT_MEASURES; m++)
		c->active[m] += sign * h->need.v[m];
	if (!h->runs) {
		c->active[LIMIT_CPU_SECONDS] += sign * h->need.v[LIMIT_CPU_SECONDS];
	} else if (h->end != TIME_NEVER) {
		c->falling += sign * h->need.v[LIMIT_CPUS];
		c->ends += sign * h->need.v[LIMIT_CPUS] * h->end;
	}
}

/* A slot of a class in all of its counters; NULL: they are only looked at again. */
static void class_count(struct limits *l, uint32_t class, const struct held *h, int sign)
{
	const struct class *k = &l->classes.v[class];

	for (uint32_t i = 0; i < k->n; i++)
		for (uint32_t at = k->counter[i]; at != INDEX_NONE; at = l->counters.v[at].up) {
			if (h)
				counter_add(&l->counters.v[at], h, sign);
			if (sign <= 0)
				counter_fell(l, at);
		}
}

void limits_take(struct limits *l, uint32_t job, uint32_t class, const struct limit_need *need)
{
	uint64_t at;

	if (!map_get(&l->held_at, job, &at)) {
		at = spare_or_new(&l->spare_held, &l->held, (struct held){.class = class, .need = *need});
		map_set(&l->held_at, job, at);
	}
	l->held.v[at].times++;
	class_count(l, l->held.v[at].class, &l->held.v[at], 1);
}

void limits_give(struct limits *l, uint32_t job)
{
	uint64_t at = 0;
	bool has = map_get(&l->held_at, job, &at);

	assert(has && l->held.v[at].times > 0);
	class_count(l, l->held.v[at].class, &l->held.v[at], -1);
	if (--l->held.v[at].times == 0) {
		map_remove(&l->held_at, job);
		vec_push(&l->spare_held, (uint32_t)at);
	}
}

void limits_stir(struct limits *l, uint32_t class)
{
	class_count(l, class, NULL, 0);
}

/* ---- CPU-seconds that fall ---- */

/* Those who wait behind its counters are looked at again: when they may go has changed. */
static void held_runs(struct limits *l, struct held *h, const struct limit_need *need, int64_t end)
{
	for (uint32_t i = 0; i < h->times; i++)
		class_count(l, h->class, h, -1);
	h->need = *need;
	h->runs = true;
	h->end = end > l->now ? end : TIME_NEVER;
	for (uint32_t i = 0; i < h->times; i++)
		class_count(l, h->class, h, 1);
}

static void held_ends(struct limits *l, struct held *h)
{
	struct limit_need need = h->need;

	held_runs(l, h, &need, h->end);
}

void limits_run(struct limits *l, uint32_t job, const struct limit_need *need, int64_t end)
{
	uint64_t at;

	if (!map_get(&l->held_at, job, &at) ||
	    (l->held.v[at].runs && l->held.v[at].end == end && memcmp(&l->held.v[at].need, need, sizeof *need) == 0))
		return;
	held_runs(l, &l->held.v[at], need, end);
	if (l->held.v[at].end != TIME_NEVER)
		heap_push(&l->ends, end, job, 0);
}

void limits_advance(struct limits *l, int64_t now)
{
	struct heap_item x;
	uint64_t at;

	if (now <= l->now)
		return;
	l->now = now;
	if (l->yield_due <= now)
		l->yield_due = TIME_NEVER; /* limits_yield() follows */
	while (heap_peek(&l->ends, &x) && x.time <= now) {
		heap_pop(&l->ends, &x);
		if (map_get(&l->held_at, x.tie, &at) && l->held.v[at].runs && l->held.v[at].end == x.time)
			held_ends(l, &l->held.v[at]);
	}
	while (heap_peek(&l->due, &x) && x.time <= now) {
		heap_pop(&l->due, &x);
		l->counters.v[x.tie].due = TIME_NEVER; /* it is computed anew, from those that are behind it then */
		counter_fell(l, (uint32_t)x.tie);
	}
}

int64_t limits_next(const struct limits *l)
{
	struct heap_item x;

	return heap_peek(&l->due, &x) && x.time < l->yield_due ? x.time : l->yield_due;
}

/* When a counter has fallen far enough for such a job, if those that run go on: not before, but perhaps later. */
static int64_t counter_when(const struct limits *l, const struct counter *c, const struct limit_need *need,
			    enum firm firm)
{
	int64_t most = rule_most(l, &l->rules.v[c->rule], LIMIT_CPU_SECONDS, firm),
		over = counter_active(l, c, LIMIT_CPU_SECONDS) + need->v[LIMIT_CPU_SECONDS] - most;

	if (most < need->v[LIMIT_CPU_SECONDS] || c->falling == 0 || over <= 0)
		return TIME_NEVER;
	return l->now + (over + c->falling - 1) / c->falling;
}

int64_t limits_when(const struct limits *l, uint32_t class, const struct limit_need *need)
{
	int64_t room;
	int measure;
	uint32_t at = limits_tightest(l, class, need, HARD, &room, &measure);

	return at != INDEX_NONE && room == 0 ? counter_when(l, &l->counters.v[at], need, HARD) : TIME_NEVER;
}

void counter_due(struct limits *l, uint32_t at, const struct limit_need *need)
{
	int64_t when = counter_when(l, &l->counters.v[at], need, SOFT);

	if (when >= l->counters.v[at].due)
		return;
	l->counters.v[at].due = when;
	heap_push(&l->due, when, at, 0);
}

/* ---- lines ---- */

/* Behind the counter that has the least room for its jobs. */
static void line_attach(struct limits *l, uint32_t i)
{
	struct line *line = &l->lines.v[i];
	int64_t room;
	int measure;
	uint32_t at = limits_tightest(l, line->class, &line->need, SOFT, &room, &measure);

	if (at == INDEX_NONE) { /* the limit is gone meanwhile: all are asked about again */
		at = l->classes.v[line->class].counter[0];
		l->changed = true;
	}
	line->behind = at;
	line->prev = INDEX_NONE;
	line->next = l->counters.v[at].line;
	if (line->next != INDEX_NONE)
		l->lines.v[line->next].prev = i;
	l->counters.v[at].line = i;
	counter_due(l, at, &line->need);
}

static void line_detach(struct limits *l, uint32_t i)
{
	const struct line *line = &l->lines.v[i];

	if (line->prev != INDEX_NONE)
		l->lines.v[line->prev].next = line->next;
	else
		l->counters.v[line->behind].line = line->next;
	if (line->next != INDEX_NONE)
		l->lines.v[line->next].prev = line->prev;
}

void limits_wait(struct limits *l, uint32_t class, const struct limit_need *need, uint64_t shape, int64_t rank,
		 uint32_t job)
{
	uint64_t key = hash_bytes((uint64_t[2]){class, shape}, 2 * sizeof(uint64_t)), at;
	int measure;

	if (!map_get(&l->line_at, key, &at)) {
		at = spare_or_new(&l->spare_lines, &l->lines, (struct line){.key = key, .class = class, .need = *need});
		map_set(&l->line_at, key, at);
		line_attach(l, (uint32_t)at);
	} else if (counter_room(l, &l->counters.v[l->lines.v[at].behind], need, SOFT, 0, &measure) > 0) {
		line_detach(l, (uint32_t)at); /* it is another counter by now that has no room */
		line_attach(l, (uint32_t)at);
	}
	heap_push(&l->lines.v[at].waiting, rank, job, 0);
}

void limits_rerank(struct limits *l, int64_t (*rank)(void *context, uint32_t job, int64_t old), void *context)
{
	for (size_t i = 0; i < l->lines.n; i++) {
		struct heap old = l->lines.v[i].waiting, fresh = {0};
		for (size_t k = 0; k < old.n; k++)
			heap_push(&fresh, rank(context, (uint32_t)old.v[k].tie, old.v[k].time), old.v[k].tie, 0);
		heap_fini(&old);
		l->lines.v[i].waiting = fresh;
	}
}

/* Nobody waits in it any more, and it is behind no counter. */
static void line_drop(struct limits *l, uint32_t i)
{
	struct line *line = &l->lines.v[i];

	map_remove(&l->line_at, line->key);
	heap_fini(&line->waiting);
	line->waiting = (struct heap){0};
	vec_push(&l->spare_lines, i);
}

/* As many as may leave do; who is left waits behind the counter that says so. */
static void line_offer(struct limits *l, uint32_t i, bool (*leave)(void *context, uint32_t job), void *context)
{
	struct line *line = &l->lines.v[i];
	int64_t room = limits_room(l, line->class, &line->need);
	struct heap_item x;

	while (room > 0 && heap_pop(&line->waiting, &x))
		room -= leave(context, (uint32_t)x.tie);
	line_detach(l, i);
	if (line->waiting.n)
		line_attach(l, i);
	else
		line_drop(l, i);
}

/* Each job is at least one, and has at least a CPU for a second. */
static const struct limit_need least = {{1, 1, 0, 1, 0, 0, 0, 0}};

/* Nobody behind it can start. */
static bool counter_full(const struct limits *l, const struct counter *c)
{
	int measure;

	return counter_room(l, c, &least, SOFT, 0, &measure) <= 0;
}

/* Those that are behind it and were not asked since it fell; one that is put behind it again comes before them. False: as many as may were asked, and there are more. */
static bool counter_offer(struct limits *l, uint32_t at, size_t *left, bool (*leave)(void *context, uint32_t job),
			  void *context)
{
	for (uint32_t i = l->counters.v[at].line, next; i != INDEX_NONE; i = next) {
		next = l->lines.v[i].next;
		if (l->lines.v[i].asked > l->counters.v[at].fell)
			continue;
		if (*left == 0)
			return false;
		--*left;
		l->lines.v[i].asked = ++l->stamp;
		line_offer(l, i, leave, context);
	}
	return true;
}

bool limits_offer(struct limits *l, size_t most, bool (*leave)(void *context, uint32_t job), void *context)
{
	size_t done = 0, left = most;

	if (l->changed) { /* then a line may be behind a counter that does not count for it any more */
		l->changed = false;
		l->all = true;
		for (uint32_t at = 0; at < l->counters.n; at++)
			counter_fell(l, at);
	}
	for (; done < l->fallen.n; done++) {
		uint32_t at = l->fallen.v[done];
		if (!l->all && counter_full(l, &l->counters.v[at]))
			counter_due(l, at, &least);
		else if (!counter_offer(l, at, &left, leave, context))
			break;
		l->counters.v[at].fallen = false;
	}
	for (size_t i = done; i < l->fallen.n; i++)
		l->fallen.v[i - done] = l->fallen.v[i];
	l->fallen.n -= done;
	l->all = l->all && l->fallen.n;
	return l->fallen.n == 0;
}

/* ---- soft limits ---- */

bool limits_yields(const struct limits *l)
{
	return l->yields;
}

/* A line may be asked about now, or when time has made room under the hard limits. */
static void line_yields(struct limits *l, uint32_t i, struct heap *order)
{
	const struct line *line = &l->lines.v[i];
	struct heap_item first;
	int64_t when;

	if (!heap_peek(&line->waiting, &first))
		return;
	if (limits_room_hard(l, line->class, &line->need) > 0) {
		heap_push(order, first.time, first.tie, i);
		return;
	}
	when = limits_when(l, line->class, &line->need);
	if (when < l->yield_due)
		l->yield_due = when;
}

void limits_yield(struct limits *l, int64_t cpus, enum yielded (*start)(void *context, uint32_t job), void *context)
{
	enum yielded result = YIELD_NOT;
	struct heap order = {0};
	struct heap_item x;

	l->yield_due = TIME_NEVER;
	for (uint32_t i = 0; i < l->lines.n; i++)
		if (l->lines.v[i].waiting.n && l->lines.v[i].need.v[LIMIT_CPUS] <= cpus)
			line_yields(l, i, &order);
	while (result != YIELD_ENOUGH && heap_pop(&order, &x)) {
		uint32_t i = (uint32_t)x.value;
		struct heap_item first;
		if (limits_room_hard(l, l->lines.v[i].class, &l->lines.v[i].need) <= 0)
			continue;
		result = start(context, (uint32_t)x.tie);
		if (result == YIELD_NOT || result == YIELD_ENOUGH)
			continue;
		heap_pop(&l->lines.v[i].waiting, &first);
		if (l->lines.v[i].waiting.n) {
			line_yields(l, i, &order);
		} else {
			line_detach(l, i);
			line_drop(l, i);
		}
	}
	heap_fini(&order);
}
