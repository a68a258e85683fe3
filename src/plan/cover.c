/*
 * cover.c - a greedy solution, branch and bound, and a local search that takes jobs off some nodes
 * and places them elsewhere.
 */
#include "plan/cover.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/vec.h"

#define WORDS (COVER_NODES_MAX / 64)
#define CHAIN 2 /* maximum moves in a row to make room for one job */
/* rounds without improvement before the search restarts from the best solution */
#define PATIENCE 300

/* A partial solution. */
struct state {
	int node[COVER_JOBS_MAX];
	int64_t room[COVER_NODES_MAX][COVER_DIMS];
	int count[COVER_NODES_MAX]; /* number of jobs on the node */
	int jobs, nodes;
};

struct solver {
	const struct cover *c;
	struct rng r;
	uint64_t steps, most;
	/* number of nodes that a job may use and fits on when they are empty */
	int options[COVER_JOBS_MAX];
	uint64_t fits[COVER_JOBS_MAX][WORDS];
	struct state cur, trial, best;
	bool barred[COVER_NODES_MAX]; /* nodes excluded in this round */
};

bool cover_better(const struct cover_answer *a, const struct cover_answer *b)
{
	return a->jobs != b->jobs ? a->jobs > b->jobs : a->nodes < b->nodes;
}

static bool covers(const struct cover *c, const int64_t *room, const int64_t *need)
{
	for (int d = 0; d < c->dims; d++)
		if (need[d] > room[d])
			return false;
	return true;
}

static bool may_be(const struct solver *s, int job, int node)
{
	return s->fits[job][node / 64] >> (node % 64) & 1;
}

static void solver_init(struct solver *s, const struct cover *c, uint64_t most)
{
	*s = (struct solver){.c = c, .most = most};
	rng_seed(&s->r, 1);
	for (int j = 0; j < c->jobs; j++)
		for (int n = 0; n < c->nodes; n++)
			if (cover_may(c, j, n) && covers(c, c->room[n], c->need[j])) {
				s->fits[j][n / 64] |= UINT64_C(1) << (n % 64);
				s->options[j]++;
			}
}

/* ---- a state ---- */

static void state_init(const struct cover *c, struct state *x)
{
	memset(x, 0, sizeof *x);
	for (int j = 0; j < c->jobs; j++)
		x->node[j] = COVER_NONE;
	memcpy(x->room, c->room, (size_t)c->nodes * sizeof *x->room);
}

static void state_copy(const struct cover *c, struct state *to, const struct state *from)
{
	memcpy(to->node, from->node, (size_t)c->jobs * sizeof *to->node);
	memcpy(to->room, from->room, (size_t)c->nodes * sizeof *to->room);
	memcpy(to->count, from->count, (size_t)c->nodes * sizeof *to->count);
	to->jobs = from->jobs;
	to->nodes = from->nodes;
}

static void put(const struct cover *c, struct state *x, int job, int node)
{
	for (int d = 0; d < c->dims; d++)
		x->room[node][d] -= c->need[job][d];
	x->nodes += x->count[node]++ == 0 && !c->used[node];
	x->node[job] = node;
	x->jobs++;
}

static void take(const struct cover *c, struct state *x, int job)
{
	int node = x->node[job];

	for (int d = 0; d < c->dims; d++)
		x->room[node][d] += c->need[job][d];
	x->nodes -= --x->count[node] == 0 && !c->used[node];
	x->node[job] = COVER_NONE;
	x->jobs--;
}

static bool is_open(const struct cover *c, const struct state *x, int node)
{
	return x->count[node] > 0 || c->used[node];
}

/* Returns a score that prefers full and empty nodes to half-full ones: the next round may close
 * one. */
static int64_t potential(const struct cover *c, const struct state *x)
{
	int64_t sum = 0;

	for (int n = 0; n < c->nodes; n++)
		sum += (int64_t)x->count[n] * x->count[n];
	return sum;
}

/* ---- greedy ---- */

/* Counts how many jobs without a node this one could take, in `order` (smallest first). Puts
 * them there if `doing`. */
static int fill(struct solver *s, struct state *x, const int *order, int node, bool doing)
{
	const struct cover *c = s->c;
	int64_t room[COVER_DIMS];
	int taken = 0;

	memcpy(room, x->room[node], sizeof room);
	for (int i = 0; i < c->jobs; i++) {
		int j = order[i];
		if (x->node[j] != COVER_NONE || !may_be(s, j, node) || !covers(c, room, c->need[j]))
			continue;
		for (int d = 0; d < c->dims; d++)
			room[d] -= c->need[j][d];
		taken++;
		if (doing)
			put(c, x, j, node);
	}
	s->steps += (uint64_t)c->jobs;
	return taken;
}

struct sized {
	double size;
	int job;
};

static int sized_cmp(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	return x->size != y->size ? (x->size < y->size ? -1 : 1) : x->job - y->job;
}

/* Orders jobs by their share of all resources, smallest first. */
static void order_sizes(const struct cover *c, int *ret)
{
	struct sized v[COVER_JOBS_MAX];
	double all[COVER_DIMS] = {0};

	for (int n = 0; n < c->nodes; n++)
		for (int d = 0; d < c->dims; d++)
			all[d] += (double)c->room[n][d];
	for (int j = 0; j < c->jobs; j++) {
		v[j] = (struct sized){.job = j};
		for (int d = 0; d < c->dims; d++)
			v[j].size += all[d] > 0 ? (double)c->need[j][d] / all[d] : 0;
	}
	qsort(v, (size_t)c->jobs, sizeof *v, sized_cmp);
	for (int j = 0; j < c->jobs; j++)
		ret[j] = v[j].job;
}

/* Opens nodes until no further job can be placed: each time the node that takes the most jobs.
 * Ties prefer a node in use; with `shuffle` they are broken at random. */
static void open_greedy(struct solver *s, struct state *x, const int *order, bool shuffle)
{
	const struct cover *c = s->c;

	for (;;) {
		int best = COVER_NONE, most = 0, equal = 0;
		for (int n = 0; n < c->nodes; n++) {
			int k = s->barred[n] ? 0 : 2 * fill(s, x, order, n, false);
			if (k > 0 && is_open(c, x, n))
				k++;
			equal = k == most ? equal + 1 : 1;
			if (k > most || (k && k == most && shuffle && rng_below(&s->r, (uint64_t)equal) == 0)) {
				best = n;
				most = k;
			}
		}
		if (best == COVER_NONE)
			return;
		fill(s, x, order, best, true);
	}
}

/* ---- bounds ---- */

static int descending(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}

/* Returns an upper bound on the jobs that a node could take: fills it, in every dimension
 * separately, with the smallest jobs allowed there. */
static int node_most(const struct solver *s, int node)
{
	const struct cover *c = s->c;
	int least = c->jobs;

	for (int d = 0; d < c->dims; d++) {
		struct sized v[COVER_JOBS_MAX];
		int64_t room = c->room[node][d];
		int n = 0, k = 0;
		for (int j = 0; j < c->jobs; j++)
			if (may_be(s, j, node))
				v[n++] = (struct sized){(double)c->need[j][d], j};
		qsort(v, (size_t)n, sizeof *v, sized_cmp);
		while (k < n && (double)room >= v[k].size)
			room -= (int64_t)v[k++].size;
		least = k < least ? k : least;
	}
	return least;
}

/* Counts jobs of which no two can share a node and none can use a node in `open`: each needs a
 * node of its own. */
static int apart(const struct solver *s, const int *job, int n, const uint64_t *open)
{
	uint64_t taken[WORDS];
	int count = 0;

	memcpy(taken, open, sizeof taken);
	for (int i = 0; i < n; i++) {
		bool clash = s->options[job[i]] == 0;
		for (int w = 0; w < WORDS && !clash; w++)
			clash = s->fits[job[i]][w] & taken[w];
		if (clash)
			continue;
		for (int w = 0; w < WORDS; w++)
			taken[w] |= s->fits[job[i]][w];
		count++;
	}
	return count;
}

static int options_sorted(const struct solver *s, int *ret)
{
	struct sized v[COVER_JOBS_MAX];
	int n = 0;

	for (int j = 0; j < s->c->jobs; j++)
		if (s->options[j])
			v[n++] = (struct sized){s->options[j], j};
	qsort(v, (size_t)n, sizeof *v, sized_cmp);
	for (int i = 0; i < n; i++)
		ret[i] = v[i].job;
	return n;
}

static void bounds(const struct solver *s, int jobs, int *ret_most, int *ret_least)
{
	const struct cover *c = s->c;
	int most[COVER_NODES_MAX], order[COVER_JOBS_MAX], n = 0, sum = 0, able = options_sorted(s, order), left = jobs;
	uint64_t open[WORDS] = {0};

	for (int i = 0; i < c->nodes; i++) {
		int k = node_most(s, i);
		sum += k;
		if (c->used[i]) {
			open[i / 64] |= UINT64_C(1) << (i % 64);
			left -= k;
		} else {
			most[n++] = k;
		}
	}
	*ret_most = sum < able ? sum : able;
	qsort(most, (size_t)n, sizeof *most, descending);
	*ret_least = 0;
	for (int i = 0; i < n && left > 0; i++, (*ret_least)++)
		left -= most[i];

	int lone = apart(s, order, able, open) - (able - jobs); /* any job may be among those left out */

	if (lone > *ret_least)
		*ret_least = lone;
}

/* ---- exact ---- */

struct branch {
	int order[COVER_JOBS_MAX], n;
	int out; /* number of jobs left out so far */
	struct state x;
};

/* Searches depth first over the jobs, those with the fewest nodes first. Returns false if the
 * steps are used up. */
static bool branch_run(struct solver *s, struct branch *b, int at)
{
	const struct cover *c = s->c;
	int goal = b->n - s->best.jobs; /* number of jobs that the best solution leaves out */

	if (b->out > goal)
		return true;
	if (at == b->n) {
		if (b->out < goal || b->x.nodes < s->best.nodes)
			state_copy(c, &s->best, &b->x);
		return true;
	}
	if (++s->steps > s->most)
		return false;
	if (b->out == goal) {
		uint64_t open[WORDS] = {0};
		for (int n = 0; n < c->nodes; n++)
			if (is_open(c, &b->x, n))
				open[n / 64] |= UINT64_C(1) << (n % 64);
		s->steps += (uint64_t)(b->n - at);
		if (b->x.nodes + apart(s, b->order + at, b->n - at, open) >= s->best.nodes)
			return true;
	}
	int job = b->order[at];
	for (int pass = 0; pass < 2; pass++) /* open nodes first */
		for (int n = 0; n < c->nodes; n++) {
			if (!may_be(s, job, n) || is_open(c, &b->x, n) != (pass == 0) ||
			    !covers(c, b->x.room[n], c->need[job]))
				continue;
			s->steps++;
			put(c, &b->x, job, n);
			bool more = branch_run(s, b, at + 1);
			take(c, &b->x, job);
			if (!more)
				return false;
		}
	b->out++;
	bool more = branch_run(s, b, at + 1);
	b->out--;
	return more;
}

static bool solve_exact(struct solver *s)
{
	struct branch *b = mem_zalloc(sizeof *b);
	bool done;

	b->n = options_sorted(s, b->order);
	state_init(s->c, &b->x);
	done = branch_run(s, b, 0);
	free(b);
	return done;
}

/* ---- local search ---- */

/* Returns the open node with the least room left after taking the job, or sometimes any open
 * node with room; COVER_NONE: none has room. */
static int place_of(struct solver *s, const struct state *x, int job)
{
	const struct cover *c = s->c;
	int best = COVER_NONE, seen = 0;
	bool any = rng_below(&s->r, 5) == 0;
	double least = 0;

	s->steps += (uint64_t)c->nodes;
	for (int n = 0; n < c->nodes; n++) {
		double left = 0;
		if (s->barred[n] || !is_open(c, x, n) || !may_be(s, job, n) || !covers(c, x->room[n], c->need[job]))
			continue;
		seen++;
		for (int d = 0; d < c->dims; d++)
			left += c->room[n][d] ? (double)(x->room[n][d] - c->need[job][d]) / (double)c->room[n][d] : 0;
		if (best == COVER_NONE || (any ? rng_below(&s->r, (uint64_t)seen) == 0 : left < least)) {
			best = n;
			least = left;
		}
	}
	return best;
}

/* Gives a job a node from which another job moves to a third node, if necessary after a chain of
 * such moves. No node is left twice. */
static bool place_by_move(struct solver *s, struct state *x, int job, int depth)
{
	const struct cover *c = s->c;
	int first = (int)rng_below(&s->r, (uint64_t)c->jobs);

	for (int k = 0; k < c->jobs; k++) {
		int i = (first + k) % c->jobs, n = x->node[i];
		if (n == COVER_NONE || s->barred[n] || !may_be(s, job, n))
			continue;
		s->steps++;
		take(c, x, i);
		if (covers(c, x->room[n], c->need[job])) {
			put(c, x, job, n);
			s->barred[n] = true;
			int other = place_of(s, x, i);
			bool done = other != COVER_NONE;
			if (done)
				put(c, x, i, other);
			else if (depth > 1)
				done = place_by_move(s, x, i, depth - 1);
			s->barred[n] = false;
			if (done)
				return true;
			take(c, x, job);
		}
		put(c, x, i, n);
	}
	return false;
}

/* Takes jobs off one to three nodes, most of which are then barred, and some other jobs off
 * theirs. */
static void ruin(struct solver *s, struct state *x)
{
	const struct cover *c = s->c;
	int open[COVER_NODES_MAX], n = 0;

	memset(s->barred, 0, sizeof s->barred);
	for (int i = 0; i < c->nodes; i++)
		if (x->count[i] > 0)
			open[n++] = i;
	for (int k = 1 + (int)rng_below(&s->r, 3); k > 0 && n > 0; k--) {
		int a = (int)rng_below(&s->r, (uint64_t)n), b = (int)rng_below(&s->r, (uint64_t)n);
		int i = x->count[open[a]] <= x->count[open[b]] ? a : b, node = open[i];
		open[i] = open[--n];
		for (int j = 0; j < c->jobs; j++)
			if (x->node[j] == node)
				take(c, x, j);
		s->barred[node] = !c->used[node] && rng_below(&s->r, 4) > 0;
	}
	for (int j = 0; j < c->jobs; j++)
		if (x->node[j] != COVER_NONE && rng_below(&s->r, 12) == 0)
			take(c, x, j);
	s->steps += (uint64_t)c->jobs;
}

static void recreate(struct solver *s, struct state *x, const int *by_size)
{
	const struct cover *c = s->c;
	struct sized v[COVER_JOBS_MAX];
	bool large = rng_below(&s->r, 2);
	int n = 0;

	/* roughly the largest jobs, or those with the fewest nodes, first */
	for (int i = 0; i < c->jobs; i++) {
		int j = by_size[i];
		double weight = large ? -i : s->options[j];
		if (x->node[j] == COVER_NONE && s->options[j])
			v[n++] = (struct sized){weight * (0.7 + 0.6 * rng_unit(&s->r)), j};
	}
	qsort(v, (size_t)n, sizeof *v, sized_cmp);
	for (int i = 0; i < n; i++) {
		int node = place_of(s, x, v[i].job);
		if (node != COVER_NONE)
			put(c, x, v[i].job, node);
		else
			place_by_move(s, x, v[i].job, CHAIN);
	}
	open_greedy(s, x, by_size, true);
	memset(s->barred, 0, sizeof s->barred);
	open_greedy(s, x, by_size, true);
}

static int compare(const struct state *a, const struct state *b)
{
	if (a->jobs != b->jobs)
		return a->jobs - b->jobs;
	return b->nodes - a->nodes;
}

static void solve_locally(struct solver *s, const int *by_size, int most_jobs, int least_nodes)
{
	const struct cover *c = s->c;
	uint64_t half = s->steps + (s->most - s->steps) / 2;
	int idle = 0;

	state_copy(c, &s->cur, &s->best);
	while (s->steps < s->most && (s->best.jobs < most_jobs || s->best.nodes > least_nodes)) {
		state_copy(c, &s->trial, &s->cur);
		ruin(s, &s->trial);
		recreate(s, &s->trial, by_size);
		bool jobs_first =
			s->steps < half && s->best.jobs < most_jobs; /* the number of nodes is considered later */
		int better = jobs_first ? s->trial.jobs - s->cur.jobs : compare(&s->trial, &s->cur);
		if (better > 0 ||
		    (better == 0 && (potential(c, &s->trial) >= potential(c, &s->cur) || rng_below(&s->r, 3) == 0)) ||
		    (s->trial.jobs == s->cur.jobs && rng_below(&s->r, 50) == 0))
			state_copy(c, &s->cur, &s->trial);
		idle++;
		if (compare(&s->cur, &s->best) > 0) {
			state_copy(c, &s->best, &s->cur);
			bounds(s, s->best.jobs, &most_jobs, &least_nodes);
			idle = 0;
		} else if (idle >= PATIENCE) {
			state_copy(c, &s->cur, &s->best);
			idle = 0;
		}
	}
}

/* ---- */

static void answer(const struct solver *s, struct cover_answer *ret)
{
	memcpy(ret->node, s->best.node, sizeof ret->node);
	ret->jobs = s->best.jobs;
	ret->nodes = s->best.nodes;
	ret->steps = s->steps;
	bounds(s, ret->jobs, &ret->most_jobs, &ret->least_nodes);
}

static struct solver *solver_create(const struct cover *c, uint64_t steps, int *ret_order)
{
	struct solver *s = mem_alloc(sizeof *s);

	solver_init(s, c, steps);
	order_sizes(c, ret_order);
	state_init(c, &s->best);
	open_greedy(s, &s->best, ret_order, false);
	return s;
}

void cover_greedy(const struct cover *c, struct cover_answer *ret)
{
	int order[COVER_JOBS_MAX];
	struct solver *s = solver_create(c, UINT64_MAX, order);

	answer(s, ret);
	ret->exact = ret->jobs == ret->most_jobs && ret->nodes == ret->least_nodes;
	free(s);
}

void cover_solve(const struct cover *c, uint64_t steps, struct cover_answer *ret)
{
	int order[COVER_JOBS_MAX], most, least;
	struct solver *s = solver_create(c, steps, order);
	bool exact;

	bounds(s, s->best.jobs, &most, &least);
	exact = s->best.jobs == most && s->best.nodes == least;
	if (!exact) {
		s->most = s->steps + steps / 4;
		exact = solve_exact(s);
		s->most = s->steps + steps - steps / 4;
		bounds(s, s->best.jobs, &most, &least);
	}
	if (!exact)
		solve_locally(s, order, most, least);
	answer(s, ret);
	if (exact) {
		ret->most_jobs = ret->jobs;
		ret->least_nodes = ret->nodes;
	}
	ret->exact = exact || (ret->jobs == ret->most_jobs && ret->nodes == ret->least_nodes);
	free(s);
}
