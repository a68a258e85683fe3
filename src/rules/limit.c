/*
 * limit.c - rules, counters, classes and lines.
 */
#include "rules/limit.h"

#include <assert.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/vec.h"

struct rule {
	enum limit_kind kind;
	int64_t most; /* below 0: any number */
};

struct counter {
	uint32_t rule;
	int64_t active;
};

struct class
{
	uint32_t counter[LIMIT_KINDS];
	uint32_t n;
};

/* Jobs of one class that ask for the same, and wait. */
struct line {
	uint64_t key;
	uint32_t class;
	struct heap waiting; /* (rank, job); also some that have gone since */
};

struct limits {
	VEC(struct rule) rules;
	VEC(struct counter) counters;
	VEC(struct class) classes;
	VEC(struct line) lines;
	VEC(uint32_t) spare_rules, spare_counters, spare_classes;
	struct map rule_at, counter_at, class_at, line_at; /* hash of what it is -> index + 1 */
	bool offers;					   /* somebody may leave a line */
};

struct limits *limits_create(void)
{
	struct limits *l = mem_zalloc(sizeof *l);

	vec_push(&l->classes, (struct class){0}); /* LIMITS_NONE */
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
	vec_copy(&t->spare_rules, &l->spare_rules);
	vec_copy(&t->spare_counters, &l->spare_counters);
	vec_copy(&t->spare_classes, &l->spare_classes);
	map_copy(&t->rule_at, &l->rule_at);
	map_copy(&t->counter_at, &l->counter_at);
	map_copy(&t->class_at, &l->class_at);
	map_copy(&t->line_at, &l->line_at);
	t->offers = l->offers;
	return t;
}

static void lines_clear(struct limits *l)
{
	for (size_t i = 0; i < l->lines.n; i++)
		heap_fini(&l->lines.v[i].waiting);
	vec_clear(&l->lines);
	map_fini(&l->line_at);
	l->line_at = (struct map){0};
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
	vec_free(&l->spare_rules);
	vec_free(&l->spare_counters);
	vec_free(&l->spare_classes);
	map_fini(&l->rule_at);
	map_fini(&l->counter_at);
	map_fini(&l->class_at);
	free(l);
}

void limits_clear(struct limits *l)
{
	lines_clear(l);
	for (size_t i = 0; i < l->counters.n; i++)
		l->counters.v[i].active = 0;
	l->offers = false;
}

/* ---- who counts where ---- */

#define INDEX_NONE UINT32_MAX

static uint64_t rule_key(enum limit_kind kind, uint64_t of)
{
	return hash_bytes((uint64_t[2]){kind, of}, 2 * sizeof(uint64_t));
}

static uint64_t counter_key(uint32_t rule, uint32_t user)
{
	return (uint64_t)rule << 32 | user;
}

static uint64_t class_key(const struct limit_party *p)
{
	return hash_bytes((uint64_t[3]){p->user, p->queue, p->array}, 3 * sizeof(uint64_t));
}

/* A free index, or one behind the end. */
#define spare_or_new(spares, list, ...)                                                                                \
	__extension__({                                                                                                \
		uint32_t at_ = (uint32_t)(list)->n;                                                                    \
		if ((spares)->n)                                                                                       \
			at_ = (spares)->v[--(spares)->n];                                                              \
		else                                                                                                   \
			vec_push(list, __VA_ARGS__);                                                                   \
		(list)->v[at_] = (__VA_ARGS__);                                                                        \
		at_;                                                                                                   \
	})

static uint32_t rule_of(struct limits *l, enum limit_kind kind, uint64_t of)
{
	uint64_t key = rule_key(kind, of), at;

	if (map_get(&l->rule_at, key, &at))
		return (uint32_t)at;
	at = spare_or_new(&l->spare_rules, &l->rules, (struct rule){kind, -1});
	map_set(&l->rule_at, key, at);
	return (uint32_t)at;
}

static uint32_t counter_of(struct limits *l, enum limit_kind kind, uint64_t of, uint32_t user)
{
	uint32_t rule = rule_of(l, kind, of);
	uint64_t key = counter_key(rule, user), at;

	if (map_get(&l->counter_at, key, &at))
		return (uint32_t)at;
	at = spare_or_new(&l->spare_counters, &l->counters, (struct counter){.rule = rule});
	map_set(&l->counter_at, key, at);
	return (uint32_t)at;
}

void limits_set(struct limits *l, enum limit_kind kind, uint64_t of, int64_t most)
{
	uint32_t rule = rule_of(l, kind, of);

	if (l->rules.v[rule].most == most)
		return;
	l->rules.v[rule].most = most;
	l->offers = true;
}

uint32_t limits_class(struct limits *l, const struct limit_party *p)
{
	uint64_t key = class_key(p), at;
	struct class c = {0};

	if (map_get(&l->class_at, key, &at))
		return (uint32_t)at;
	c.counter[c.n++] = counter_of(l, LIMIT_ALL, 0, 0);
	c.counter[c.n++] = counter_of(l, LIMIT_USER, 0, p->user);
	if (p->array)
		c.counter[c.n++] = counter_of(l, LIMIT_ARRAY, p->array, 0);
	if (p->queue) {
		c.counter[c.n++] = counter_of(l, LIMIT_QUEUE, p->queue, 0);
		c.counter[c.n++] = counter_of(l, LIMIT_QUEUE_USER, p->queue, p->user);
	}
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
	vec_push(&l->spare_rules, (uint32_t)rule);
	if (map_get(&l->counter_at, counter, &at)) {
		map_remove(&l->counter_at, counter);
		vec_push(&l->spare_counters, (uint32_t)at);
	}
}

/* ---- counting ---- */

int64_t limits_room(const struct limits *l, uint32_t class)
{
	const struct class *c = &l->classes.v[class];
	int64_t room = INT64_MAX;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct counter *x = &l->counters.v[c->counter[i]];
		int64_t most = l->rules.v[x->rule].most;
		if (most >= 0 && most - x->active < room)
			room = most - x->active;
	}
	return room > 0 ? room : 0;
}

bool limits_reached(const struct limits *l, uint32_t class, enum limit_kind *ret_kind, int64_t *ret_most)
{
	const struct class *c = &l->classes.v[class];

	for (uint32_t i = c->n; i-- > 0;) { /* the narrowest is the most telling */
		const struct counter *x = &l->counters.v[c->counter[i]];
		const struct rule *r = &l->rules.v[x->rule];
		if (r->most < 0 || x->active < r->most)
			continue;
		*ret_kind = r->kind;
		*ret_most = r->most;
		return true;
	}
	return false;
}

void limits_count(struct limits *l, uint32_t class, int sign)
{
	const struct class *c = &l->classes.v[class];

	for (uint32_t i = 0; i < c->n; i++) {
		struct counter *x = &l->counters.v[c->counter[i]];
		x->active += sign;
		assert(x->active >= 0);
	}
	if (sign < 0)
		l->offers = true;
}

/* ---- lines ---- */

void limits_wait(struct limits *l, uint32_t class, uint64_t shape, int64_t rank, uint32_t job)
{
	uint64_t key = hash_bytes((uint64_t[2]){class, shape}, 2 * sizeof(uint64_t)), *at = map_at(&l->line_at, key);

	if (*at == 0) {
		vec_push(&l->lines, (struct line){.key = key, .class = class});
		*at = l->lines.n;
	}
	heap_push(&l->lines.v[*at - 1].waiting, rank, job, 0);
}

static void line_remove(struct limits *l, size_t i)
{
	map_remove(&l->line_at, l->lines.v[i].key);
	heap_fini(&l->lines.v[i].waiting);
	l->lines.v[i] = l->lines.v[--l->lines.n];
	if (i < l->lines.n)
		map_set(&l->line_at, l->lines.v[i].key, i + 1);
}

void limits_offer(struct limits *l, bool (*leave)(void *context, uint32_t job), void *context)
{
	struct heap_item x;

	if (!l->offers)
		return;
	l->offers = false;
	for (size_t i = l->lines.n; i-- > 0;) {
		struct line *line = &l->lines.v[i];
		int64_t room = limits_room(l, line->class);
		while (room > 0 && heap_pop(&line->waiting, &x))
			room -= leave(context, (uint32_t)x.tie);
		if (line->waiting.n == 0)
			line_remove(l, i);
	}
}
