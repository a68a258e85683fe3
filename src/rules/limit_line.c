/*
 * limit_line.c - jobs that wait behind limits: which may leave a line when there is room, and which
 * are held only by soft limits.
 */
#include "rules/limit_internal.h"

/* Puts a line behind the counter with the least room for its jobs. */
static void line_attach(struct limits *l, uint32_t i)
{
	struct line *line = &l->lines.v[i];
	int64_t room;
	int measure;
	uint32_t at = limits_tightest(l, line->class, &line->need, SOFT, &room, &measure);

	if (at == INDEX_NONE) { /* the limit was removed meanwhile: check all lines again */
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
		line_detach(l, (uint32_t)at); /* by now another counter is the one without room */
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

/* Frees an empty line that is behind no counter. */
static void line_drop(struct limits *l, uint32_t i)
{
	struct line *line = &l->lines.v[i];

	map_remove(&l->line_at, line->key);
	heap_fini(&line->waiting);
	line->waiting = (struct heap){0};
	vec_push(&l->spare_lines, i);
}

/* Lets as many jobs leave as may, and puts the others behind the counter that limits them. */
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

/* Every job needs at least one job slot and one CPU for one second. */
static const struct limit_need least = {{1, 1, 0, 1, 0, 0, 0, 0}};

/* Returns true if no job behind the counter can start. */
static bool counter_full(const struct limits *l, const struct counter *c)
{
	int measure;

	return counter_room(l, c, &least, SOFT, 0, &measure) <= 0;
}

/* Offers slots to the lines behind a counter that were not offered any since it fell; a line put
 * behind it again goes to the front. Returns false if `left` is used up and lines remain. */
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

	if (l->changed) { /* a line may be behind a counter that no longer applies to it */
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

/* Queues a line to be tried now, or notes when time will have made room under the hard limits. */
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
