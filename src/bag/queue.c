/*
 * queue.c - lines of waiting tasks, and the state of those in flight.
 *
 * There is a line for each kind of need, linked through the items. The lines are built when the
 * first task is taken, after the state from the journal was restored.
 */
#include "bag/queue.h"

#include <assert.h>

#include "bag/needtree.h"
#include "base/map.h"

enum {
	/* times a large task is passed over before a worker is kept free for it */
	PASSED_MOST = 16,
	LOOK = 64,	 /* maximum tasks of a line examined for one that the worker may take */
	LOOK_ALL = 1024, /* maximum tasks of all lines examined for it */
	ALONE = 2,	 /* losses after which a task runs alone */
};

/* 8 bytes; with struct bag_task, 24 for each task. */
struct item {
	uint32_t next;		      /* next task in its line; 0: none */
	uint8_t state : 7, alone : 1; /* alone: it waits, or runs, alone */
	uint8_t failures, losses, copies;
};

struct line {
	uint32_t head, tail; /* tasks; 0: empty */
	uint32_t n;	     /* number of tasks */
	uint32_t passed;     /* times passed over since its head was taken */
	int kept;	     /* worker that takes nothing else until the head fits there; -1: none */
};

/* A result that waits for equal ones. */
struct vote {
	uint64_t hash;
	int worker;
	uint32_t next; /* position from 1; 0: none */
};

struct queue {
	const struct bag *bag;
	struct queue_rules rules;
	struct item *item;	  /* by task, from 1 */
	struct line *line;	  /* by need; then, by need, tasks that run alone */
	struct needtree *tree[2]; /* lines that are not empty; then those of tasks that run alone */
	struct queue_counts counts;
	bool begun;
	struct map voted; /* task -> its first vote, position from 1 */
	VEC(struct vote) votes;
	uint32_t free_votes; /* list of free votes, linked by next */
	struct map wanted;   /* task -> seconds that it needs to start again, after it was cut off */
	struct map kept;     /* worker -> position of the line it is kept for */
};

struct queue *task_queue_create(const struct bag *bag, const struct queue_rules *rules)
{
	struct queue *q = mem_zalloc(sizeof *q);

	q->bag = bag;
	q->rules = *rules;
	q->item = mem_zalloc((bag->tasks.n + 1) * sizeof *q->item);
	q->line = mem_zalloc(2 * bag->needs.n * sizeof *q->line);
	for (size_t i = 0; i < 2 * bag->needs.n; i++)
		q->line[i].kept = -1;
	for (int i = 0; i < 2; i++)
		q->tree[i] = needtree_create(bag);
	q->counts.waiting = (uint32_t)bag->tasks.n;
	return q;
}

void task_queue_destroy(struct queue *q)
{
	if (!q)
		return;
	map_fini(&q->voted);
	map_fini(&q->wanted);
	map_fini(&q->kept);
	for (int i = 0; i < 2; i++)
		needtree_destroy(q->tree[i]);
	vec_free(&q->votes);
	free(q->item);
	free(q->line);
	free(q);
}

static struct item *item_of(const struct queue *q, uint32_t task)
{
	assert(task >= 1 && task <= q->bag->tasks.n);
	return &q->item[task];
}

static struct line *line_of(const struct queue *q, uint32_t task)
{
	return &q->line[q->bag->tasks.v[task - 1].need + (q->item[task].alone ? q->bag->needs.n : 0)];
}

static uint32_t *counter(struct queue *q, enum task_state state)
{
	uint32_t *const all[] = {&q->counts.waiting, &q->counts.flying, &q->counts.done, &q->counts.aside};

	return all[state];
}

static void become(struct queue *q, struct item *x, enum task_state state)
{
	--*counter(q, x->state);
	++*counter(q, state);
	x->state = (uint8_t)state;
}

static void keep_end(struct queue *q, struct line *l)
{
	if (l->kept >= 0)
		map_remove(&q->kept, (uint64_t)l->kept);
	l->kept = -1;
}

/* Called after the head of a line has changed. */
static void head_changed(struct queue *q, struct line *l)
{
	size_t at = (size_t)(l - q->line), n = q->bag->needs.n;

	needtree_set(q->tree[at / n], (uint32_t)(at % n), l->head);
	if (!l->head)
		keep_end(q, l);
}

static void line_append(struct queue *q, uint32_t task)
{
	struct line *l = line_of(q, task);

	q->item[task].next = 0;
	l->n++;
	if (l->tail) {
		q->item[l->tail].next = task;
	} else {
		l->head = task;
		head_changed(q, l);
	}
	l->tail = task;
}

static void line_prepend(struct queue *q, uint32_t task)
{
	struct line *l = line_of(q, task);

	q->item[task].next = l->head;
	l->n++;
	l->head = task;
	l->tail = l->tail ? l->tail : task;
	head_changed(q, l);
}

/* Takes out the task behind `before` (0: the head). */
static uint32_t line_remove(struct queue *q, struct line *l, uint32_t before)
{
	uint32_t task = before ? q->item[before].next : l->head;

	l->n--;
	*(before ? &q->item[before].next : &l->head) = q->item[task].next;
	if (l->tail == task)
		l->tail = before;
	if (!before)
		head_changed(q, l);
	return task;
}

/* Takes a waiting task out of its line. Looks at the whole line: for the few that run alone. */
static void line_drop(struct queue *q, uint32_t task)
{
	struct line *l = line_of(q, task);
	uint32_t before = 0;

	while ((before ? q->item[before].next : l->head) != task)
		before = before ? q->item[before].next : l->head;
	line_remove(q, l, before);
}

static void begin(struct queue *q)
{
	q->begun = true;
	for (uint32_t task = 1; task <= q->bag->tasks.n; task++)
		if (q->item[task].state == TASK_WAITING)
			line_append(q, task);
}

void queue_restore(struct queue *q, uint32_t task, enum task_state state, int failures)
{
	struct item *x = item_of(q, task);

	assert(!q->begun && state != TASK_FLYING);
	become(q, x, state);
	x->failures = (uint8_t)(failures > 255 ? 255 : failures);
}

uint32_t queue_retry(struct queue *q)
{
	uint32_t n = 0;

	for (uint32_t task = 1; task <= q->bag->tasks.n; task++) {
		struct item *x = &q->item[task];
		if (x->state != TASK_ASIDE)
			continue;
		become(q, x, TASK_WAITING);
		x->failures = x->losses = x->alone = 0;
		n++;
		if (q->begun)
			line_append(q, task);
	}
	return n;
}

static struct needroom free_room(const struct offer *o)
{
	return (struct needroom){o->cpus, o->gpus, o->memory, o->seconds, o->usual};
}

/* Returns true if the worker has given a result of the task while there are others that could. */
static bool has_voted(const struct queue *q, uint32_t task, const struct offer *o)
{
	uint64_t at;
	int votes = 0;
	bool own = false;

	if (!map_get(&q->voted, task, &at))
		return false;
	for (; at; at = q->votes.v[at - 1].next, votes++)
		own = own || q->votes.v[at - 1].worker == o->worker;
	return own && votes < o->workers;
}

static bool has_time(const struct queue *q, uint32_t task, const struct offer *o)
{
	uint64_t seconds;

	return o->seconds < 0 || !map_get(&q->wanted, task, &seconds) || (uint64_t)o->seconds >= seconds;
}

/* A search for the line that a worker is served from. */
struct choice {
	const struct queue *q;
	const struct offer *offer;
	const struct line *lines; /* by need */
	uint32_t before;	  /* task before the one that it gets; 0: it gets the head */
	int looked;		  /* tasks examined so far */
};

/* Returns true if the worker may take a task from the line. */
static bool line_serves(void *context, uint32_t need)
{
	struct choice *c = context;
	const struct queue *q = c->q;
	uint32_t before = 0;

	if (q->rules.agree <= 1 && (c->offer->seconds < 0 || !q->wanted.n))
		return true;
	int most = c->looked + LOOK < LOOK_ALL ? c->looked + LOOK : LOOK_ALL;
	for (uint32_t task = c->lines[need].head; task && c->looked < most; before = task, task = q->item[task].next) {
		c->looked++;
		if (!has_voted(q, task, c->offer) && has_time(q, task, c->offer)) {
			c->before = before;
			return true;
		}
	}
	return false;
}

static bool not_kept(void *context, uint32_t need)
{
	const struct queue *q = context;

	return q->line[need].kept < 0;
}

/* Counts that a later task is chosen before the first one that would fit if this worker were
 * empty. */
static void pass_over(struct queue *q, const struct offer *o, uint32_t chosen)
{
	struct needroom all = {o->all_cpus, o->all_gpus, o->memory, o->seconds, o->usual};
	uint64_t other;
	uint32_t need;

	if (!needtree_find(q->tree[0], &all, chosen, not_kept, q, &need) || ++q->line[need].passed <= PASSED_MOST ||
	    map_get(&q->kept, (uint64_t)o->worker, &other))
		return;
	q->line[need].kept = o->worker;
	map_set(&q->kept, (uint64_t)o->worker, need);
}

/* Returns true if the next loss could set the task aside: then it must run alone. */
static bool suspect(const struct queue *q, const struct item *x)
{
	return x->losses >= ALONE || (x->losses > 0 && x->losses >= q->rules.losses - 1);
}

/* Finds the line that this worker is served from, and the task before the one it gets there. */
static struct line *line_choose(struct queue *q, bool alone, const struct offer *o, uint32_t *ret_before)
{
	struct line *lines = q->line + (alone ? q->bag->needs.n : 0);
	struct choice c = {.q = q, .offer = o, .lines = lines};
	struct needroom room = free_room(o);
	uint64_t kept;
	uint32_t need;
	bool found = false;

	if (!alone && map_get(&q->kept, (uint64_t)o->worker, &kept)) {
		need = (uint32_t)kept; /* this line or nothing */
		if (!need_fits(&q->bag->needs.v[need], &room))
			return NULL;
		found = line_serves(&c, need);
	}
	if (!found && !needtree_find(q->tree[alone], &room, 0, line_serves, &c, &need))
		return NULL;
	*ret_before = c.before;
	return &lines[need];
}

static uint32_t take(struct queue *q, struct line *l, uint32_t before)
{
	uint32_t task = line_remove(q, l, before);

	become(q, &q->item[task], TASK_FLYING);
	q->item[task].copies = 1;
	q->counts.copies++;
	return task;
}

uint32_t queue_take(struct queue *q, const struct offer *o)
{
	struct line *best;
	uint32_t before;

	if (!q->begun)
		begin(q);
	while ((best = line_choose(q, false, o, &before)) != NULL) {
		uint32_t task = before ? q->item[before].next : best->head;
		if (suspect(q, &q->item[task])) { /* it was blamed while it waited */
			line_remove(q, best, before);
			q->item[task].alone = 1;
			line_append(q, task);
			continue;
		}
		if (q->bag->needs.n > 1)
			pass_over(q, o, best->head);
		best->passed = 0;
		keep_end(q, best);
		return take(q, best, before);
	}
	return 0;
}

uint32_t queue_take_alone(struct queue *q, const struct offer *o)
{
	struct line *l;
	uint32_t before;

	if (!q->begun)
		begin(q);
	l = line_choose(q, true, o, &before);
	return l ? take(q, l, before) : 0;
}

bool queue_copy(struct queue *q, uint32_t task, const struct offer *o)
{
	struct item *x = item_of(q, task);
	const struct bag_need *need = &q->bag->needs.v[q->bag->tasks.v[task - 1].need];
	struct needroom room = free_room(o);

	if (x->state != TASK_FLYING || x->alone || x->copies >= q->rules.replicas || x->copies == UINT8_MAX ||
	    !need_fits(need, &room) || has_voted(q, task, o) || !has_time(q, task, o))
		return false;
	x->copies++;
	q->counts.copies++;
	return true;
}

static struct item *landed(struct queue *q, uint32_t task)
{
	struct item *x = item_of(q, task);

	assert(x->copies > 0);
	x->copies--;
	q->counts.copies--;
	return x;
}

void queue_return(struct queue *q, uint32_t task, int worker)
{
	struct item *x = landed(q, task);

	(void)worker;
	if (x->state == TASK_FLYING && x->copies == 0) {
		become(q, x, TASK_WAITING);
		line_prepend(q, task);
	}
}

static void votes_drop(struct queue *q, uint32_t task)
{
	uint64_t at;

	if (!map_get(&q->voted, task, &at))
		return;
	map_remove(&q->voted, task);
	while (at) {
		struct vote *v = &q->votes.v[at - 1];
		uint64_t next = v->next;
		v->next = q->free_votes;
		q->free_votes = (uint32_t)at;
		at = next;
	}
}

/* Adds a result. Returns how many are equal to it; `ret_all`: how many there are. */
static int vote(struct queue *q, uint32_t task, int worker, uint64_t hash, int *ret_all)
{
	uint64_t first = 0;
	int equal = 0, all = 0;

	map_get(&q->voted, task, &first);
	if (!q->free_votes) {
		vec_push(&q->votes, (struct vote){0});
		q->free_votes = (uint32_t)q->votes.n;
	}
	uint32_t at = q->free_votes;
	q->free_votes = q->votes.v[at - 1].next;
	q->votes.v[at - 1] = (struct vote){.hash = hash, .worker = worker, .next = (uint32_t)first};
	map_set(&q->voted, task, at);
	for (; at; at = q->votes.v[at - 1].next, all++)
		equal += q->votes.v[at - 1].hash == hash;
	*ret_all = all;
	return equal;
}

static enum verdict finished(struct queue *q, uint32_t task, enum task_state state)
{
	become(q, &q->item[task], state);
	votes_drop(q, task);
	return state == TASK_DONE ? VERDICT_DONE : VERDICT_ASIDE;
}

static enum verdict again(struct queue *q, uint32_t task, bool front)
{
	struct item *x = &q->item[task];

	if (x->copies > 0)
		return VERDICT_AGAIN;
	become(q, x, TASK_WAITING);
	x->alone = suspect(q, x);
	if (front)
		line_prepend(q, task);
	else
		line_append(q, task);
	return VERDICT_AGAIN;
}

enum verdict queue_result(struct queue *q, uint32_t task, int worker, bool good, uint64_t hash)
{
	struct item *x = landed(q, task);
	int all;

	if (x->state != TASK_FLYING)
		return VERDICT_IGNORE;
	if (!good) {
		q->counts.failures++;
		x->failures += x->failures < UINT8_MAX;
		return x->failures >= q->rules.attempts ? finished(q, task, TASK_ASIDE) : again(q, task, false);
	}
	if (q->rules.agree <= 1)
		return finished(q, task, TASK_DONE);
	if (vote(q, task, worker, hash, &all) >= q->rules.agree)
		return finished(q, task, TASK_DONE);
	if (all > 2 * q->rules.agree)
		return finished(q, task, TASK_ASIDE);
	return again(q, task, true);
}

enum verdict queue_lost(struct queue *q, uint32_t task, int worker, bool counts, bool alone)
{
	struct item *x = landed(q, task);

	(void)worker;
	if (x->state != TASK_FLYING)
		return VERDICT_IGNORE;
	x->losses += counts && x->losses < UINT8_MAX;
	return counts && alone && x->losses >= q->rules.losses ? finished(q, task, TASK_ASIDE) : again(q, task, false);
}

enum verdict queue_blame(struct queue *q, uint32_t task, bool alone)
{
	struct item *x = item_of(q, task);

	if (x->state == TASK_DONE || x->state == TASK_ASIDE)
		return VERDICT_IGNORE;
	x->losses += x->losses < UINT8_MAX;
	if (!alone || x->losses < q->rules.losses || x->state != TASK_WAITING)
		return VERDICT_AGAIN; /* if it runs again now, that decides */
	line_drop(q, task);
	return finished(q, task, TASK_ASIDE);
}

enum verdict queue_cut(struct queue *q, uint32_t task, int64_t stay, int64_t longest)
{
	struct item *x = landed(q, task);

	if (x->state != TASK_FLYING)
		return VERDICT_IGNORE;
	if (longest >= 0 && stay >= longest - longest / 10)
		return x->copies ? VERDICT_AGAIN : finished(q, task, TASK_ASIDE);
	int64_t seconds = 2 * stay;
	if (longest >= 0 && seconds > longest - longest / 10)
		seconds = longest - longest / 10;
	map_set(&q->wanted, task, (uint64_t)seconds);
	return again(q, task, false);
}

void queue_gone(struct queue *q, int worker)
{
	uint64_t need;

	if (map_get(&q->kept, (uint64_t)worker, &need))
		keep_end(q, &q->line[need]);
}

struct queue_counts queue_counts(const struct queue *q)
{
	return q->counts;
}

uint32_t queue_waits(struct queue *q, uint32_t need)
{
	if (!q->begun)
		begin(q);
	return q->line[need].n + q->line[q->bag->needs.n + need].n;
}

enum task_state queue_state(const struct queue *q, uint32_t task)
{
	return (enum task_state)item_of(q, task)->state;
}

int queue_failures(const struct queue *q, uint32_t task)
{
	return item_of(q, task)->failures + item_of(q, task)->losses;
}

int queue_losses(const struct queue *q, uint32_t task)
{
	return item_of(q, task)->losses;
}

int queue_copies(const struct queue *q, uint32_t task)
{
	return item_of(q, task)->copies;
}

uint32_t queue_refuse(struct queue *q, uint32_t need)
{
	if (!q->begun)
		begin(q);
	struct line *l = &q->line[need + (q->line[need].head ? 0 : q->bag->needs.n)];
	if (!l->head)
		return 0;
	uint32_t task = line_remove(q, l, 0);
	finished(q, task, TASK_ASIDE);
	return task;
}

uint64_t queue_steps(const struct queue *q)
{
	return needtree_steps(q->tree[0]) + needtree_steps(q->tree[1]);
}

void queue_check(const struct queue *q)
{
	uint32_t n[4] = {0}, lined = 0, all = 0;
	uint64_t copies = 0;

	for (uint32_t task = 1; task <= q->bag->tasks.n; task++) {
		const struct item *x = &q->item[task];
		n[x->state]++;
		copies += x->copies;
		assert(x->state != TASK_FLYING || x->copies > 0);
		assert(x->state != TASK_WAITING || x->copies == 0);
	}
	assert(n[0] == q->counts.waiting && n[1] == q->counts.flying && n[2] == q->counts.done &&
	       n[3] == q->counts.aside && copies == q->counts.copies);
	for (size_t i = 0; q->begun && i < 2 * q->bag->needs.n; i++) {
		uint32_t last = 0;
		for (uint32_t task = q->line[i].head; task; last = task, task = q->item[task].next) {
			assert(line_of(q, task) == &q->line[i]);
			assert(q->item[task].state == TASK_WAITING && ++lined <= n[0]);
		}
		uint64_t need;
		assert(last == q->line[i].tail);
		assert(q->line[i].kept < 0 ||
		       (q->line[i].head && map_get(&q->kept, (uint64_t)q->line[i].kept, &need) && need == i));
		all += q->line[i].n;
	}
	assert(!q->begun || (lined == n[0] && all == n[0]));
}
