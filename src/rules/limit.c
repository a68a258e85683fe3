/*
 * limit.c - rules of limits, and which counters a job counts in.
 */
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

/* ---- classes and counters ---- */

static uint64_t class_key(const struct limit_party *p)
{
	return hash_bytes((uint64_t[6]){p->user, p->queue, p->array, p->group, p->account, p->qos},
			  6 * sizeof(uint64_t));
}

/* Trial list for a new rule, counter or class; NULL: permanent. Rules that others fall back to
 * are always permanent. */
#define trial_of(l, list) ((l)->trial ? &(l)->trial->list : NULL)

static uint32_t rule_of(struct limits *l, enum limit_kind kind, uint64_t of)
{
	trial_vec *trial = of ? trial_of(l, rules) : NULL;
	uint64_t key = rule_key(kind, of), at;
	struct rule r = {.kind = kind, .of = of, .fallback = INDEX_NONE};

	if (map_get(&l->rule_at, key, &at)) {
		trial_note(trial, (uint32_t)at, false, &l->rules.v[at].trials);
		return (uint32_t)at;
	}
	if (kind >= LIMIT_OF_USER && of)
		r.fallback = rule_of(l, kind, 0);
	for (int m = 0; m < LIMIT_MEASURES; m++)
		r.most[m] = r.soft[m] = r.fallback == INDEX_NONE ? -1 : LIMIT_INHERIT;
	at = spare_or_new(&l->spare_rules, &l->rules, r);
	map_set(&l->rule_at, key, at);
	trial_note(trial, (uint32_t)at, true, &l->rules.v[at].trials);
	return (uint32_t)at;
}

/* Updates the bookkeeping after one of a rule's limits has changed. */
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

	bool fresh = !map_get(&l->counter_at, key, &at);
	if (fresh) {
		at = spare_or_new(
			&l->spare_counters, &l->counters,
			(struct counter){
				.rule = rule, .user = user, .up = INDEX_NONE, .line = INDEX_NONE, .due = TIME_NEVER});
		map_set(&l->counter_at, key, at);
	}
	trial_note(trial_of(l, counters), (uint32_t)at, fresh, &l->counters.v[at].trials);
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

/* Adds (1) or subtracts (-1) a counter's values to all counters above it. */
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
	struct class c = {.qos = INDEX_NONE, .key = key};
	bool fresh = !map_get(&l->class_at, key, &at);

	/* then its counters and their rules are permanent as well */
	if (!fresh && !l->classes.v[at].trials)
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
	if (fresh) {
		at = spare_or_new(&l->spare_classes, &l->classes, c);
		map_set(&l->class_at, key, at);
	}
	trial_note(trial_of(l, classes), (uint32_t)at, fresh, &l->classes.v[at].trials);
	return (uint32_t)at;
}

void limits_try(struct limits *l, struct limits_trial *t)
{
	l->trial = t;
}

void limits_trial_end(struct limits *l, struct limits_trial *t, bool keep)
{
	for (size_t i = 0; i < t->classes.n; i++) {
		struct class *c = &l->classes.v[t->classes.v[i]];
		if (!trial_release(&c->trials, keep))
			continue;
		map_remove(&l->class_at, c->key);
		vec_push(&l->spare_classes, t->classes.v[i]);
	}
	for (size_t i = 0; i < t->counters.n; i++) {
		struct counter *c = &l->counters.v[t->counters.v[i]];
		if (!trial_release(&c->trials, keep))
			continue;
		map_remove(&l->counter_at, counter_key(c->rule, c->user));
		vec_push(&l->spare_counters, t->counters.v[i]);
	}
	for (size_t i = 0; i < t->rules.n; i++) {
		struct rule *r = &l->rules.v[t->rules.v[i]];
		if (!trial_release(&r->trials, keep))
			continue;
		map_remove(&l->rule_at, rule_key(r->kind, r->of));
		vec_push(&l->spare_rules, t->rules.v[i]);
	}
	vec_free(&t->classes);
	vec_free(&t->counters);
	vec_free(&t->rules);
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
