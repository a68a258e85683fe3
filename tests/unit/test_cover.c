/*
 * test_cover.c - the smallest cover: the source's example, all solutions of small instances tried,
 * and beside CBC, an independent solver, where it is installed.
 *
 * SHUNT_CASES=500 compares that many with CBC, in some minutes (ninja cover-full).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/vec.h"
#include "plan/cover.h"

#define STEPS 4000000

/* Listrovoy and Minukhin as Minukhin and Miezientsev have it, figure 1: twelve tasks, eight
 * resources. */
static const char figure[12][9] = {"1.......", ".111....", "1....1..", "..1....1", ".111....", "1.....1.",
				   "....1..1", "....11..", "....1...", ".11....1", ".1..1...", "1..1.1.."};

static void figure_1(void **state)
{
	struct cover *c = mem_zalloc(sizeof *c);
	struct cover_answer a;
	int uses[8] = {0};

	c->jobs = 12;
	c->nodes = 8;
	c->dims = 1;
	for (int n = 0; n < 8; n++)
		c->room[n][0] = 12;
	for (int j = 0; j < 12; j++) {
		c->need[j][0] = 1;
		for (int n = 0; n < 8; n++)
			if (figure[j][n] == '1')
				cover_allow(c, j, n);
	}
	cover_solve(c, STEPS, &a);
	assert_int_equal(a.jobs, 12);
	assert_int_equal(a.nodes, 3);
	assert_int_equal(a.least_nodes, 3);
	assert_true(a.exact);
	for (int j = 0; j < 12; j++)
		uses[a.node[j]]++;
	assert_true(uses[0] && uses[2] && uses[4]); /* R1, R3, R5 */
	free(c);
}

static void random_cover(struct rng *r, int most, struct cover *c)
{
	double density = 0.05 + 0.45 * rng_unit(r);
	int64_t large = rng_range(r, 2, 12);

	memset(c, 0, sizeof *c);
	c->jobs = (int)rng_range(r, most / 8 + 1, most);
	c->nodes = (int)rng_range(r, most / 8 + 1, most);
	c->dims = (int)rng_range(r, 1, 2);
	for (int n = 0; n < c->nodes; n++) {
		for (int d = 0; d < c->dims; d++)
			c->room[n][d] = rng_range(r, 1, large);
		c->used[n] = rng_below(r, 10) == 0;
	}
	for (int j = 0; j < c->jobs; j++) {
		for (int d = 0; d < c->dims; d++)
			c->need[j][d] = rng_range(r, d ? 0 : 1, 4);
		for (int n = 0; n < c->nodes; n++)
			if (rng_unit(r) < density)
				cover_allow(c, j, n);
	}
}

/* Within capacities, and counted rightly. */
static void answer_check(const struct cover *c, const struct cover_answer *a)
{
	int64_t left[COVER_NODES_MAX][COVER_DIMS];
	bool open[COVER_NODES_MAX] = {false};
	int jobs = 0, nodes = 0;

	memcpy(left, c->room, sizeof left);
	for (int j = 0; j < c->jobs; j++) {
		int n = a->node[j];
		if (n == COVER_NONE)
			continue;
		assert_true(n >= 0 && n < c->nodes && cover_may(c, j, n));
		for (int d = 0; d < c->dims; d++) {
			left[n][d] -= c->need[j][d];
			assert_true(left[n][d] >= 0);
		}
		jobs++;
		nodes += !open[n] && !c->used[n];
		open[n] = true;
	}
	assert_int_equal(jobs, a->jobs);
	assert_int_equal(nodes, a->nodes);
	assert_true(a->jobs <= a->most_jobs && a->nodes >= a->least_nodes);
}

/* All solutions. */
static void try_all(const struct cover *c, int job, struct cover_answer *x, struct cover_answer *best,
		    int64_t left[][COVER_DIMS], int *count)
{
	if (job == c->jobs) {
		if (cover_better(x, best))
			*best = *x;
		return;
	}
	try_all(c, job + 1, x, best, left, count);
	for (int n = 0; n < c->nodes; n++) {
		bool fits = cover_may(c, job, n);
		for (int d = 0; d < c->dims; d++)
			fits = fits && c->need[job][d] <= left[n][d];
		if (!fits)
			continue;
		for (int d = 0; d < c->dims; d++)
			left[n][d] -= c->need[job][d];
		x->jobs++;
		x->nodes += count[n]++ == 0 && !c->used[n];
		try_all(c, job + 1, x, best, left, count);
		x->nodes -= --count[n] == 0 && !c->used[n];
		x->jobs--;
		for (int d = 0; d < c->dims; d++)
			left[n][d] += c->need[job][d];
	}
}

static void small_ones(void **state)
{
	struct cover *c = mem_zalloc(sizeof *c);

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct cover_answer a, g, x = {0}, best = {0};
		int64_t left[COVER_NODES_MAX][COVER_DIMS];
		int count[COVER_NODES_MAX] = {0};
		struct rng r;
		rng_seed(&r, seed);
		random_cover(&r, 7, c);
		memcpy(left, c->room, sizeof left);
		try_all(c, 0, &x, &best, left, count);
		cover_greedy(c, &g);
		cover_solve(c, STEPS, &a);
		answer_check(c, &g);
		answer_check(c, &a);
		if (a.jobs != best.jobs || a.nodes != best.nodes || !a.exact)
			fail_msg("seed %llu: %d jobs on %d nodes, %d on %d is best", (unsigned long long)seed, a.jobs,
				 a.nodes, best.jobs, best.nodes);
	}
	free(c);
}

/* ---- CBC ---- */

/* max (nodes + 1) sum x - sum y, with y_n >= x_jn, and the capacities. */
static void lp_write(const struct cover *c, FILE *f)
{
	fprintf(f, "Maximize\n obj:");
	for (int j = 0; j < c->jobs; j++)
		for (int n = 0; n < c->nodes; n++)
			if (cover_may(c, j, n))
				fprintf(f, " + %d x%d_%d\n", c->nodes + 1, j, n);
	for (int n = 0; n < c->nodes; n++)
		if (!c->used[n])
			fprintf(f, " - y%d\n", n);
	fprintf(f, " + 0 z\nSubject To\n");
	for (int j = 0; j < c->jobs; j++) {
		fprintf(f, " j%d: z", j);
		for (int n = 0; n < c->nodes; n++)
			if (cover_may(c, j, n))
				fprintf(f, " + x%d_%d\n", j, n);
		fprintf(f, " <= 1\n");
	}
	for (int n = 0; n < c->nodes; n++)
		for (int d = 0; d < c->dims; d++) {
			fprintf(f, " n%d_%d: z", n, d);
			for (int j = 0; j < c->jobs; j++)
				if (cover_may(c, j, n) && c->need[j][d])
					fprintf(f, " + %lld x%d_%d\n", (long long)c->need[j][d], j, n);
			fprintf(f, " <= %lld\n", (long long)c->room[n][d]);
		}
	for (int j = 0; j < c->jobs; j++)
		for (int n = 0; n < c->nodes; n++)
			if (cover_may(c, j, n) && !c->used[n])
				fprintf(f, " u%d_%d: x%d_%d - y%d <= 0\n", j, n, j, n, n);
	fprintf(f, "Bounds\n z = 0\nBinary\n");
	for (int n = 0; n < c->nodes; n++) {
		if (!c->used[n])
			fprintf(f, " y%d\n", n);
		for (int j = 0; j < c->jobs; j++)
			if (cover_may(c, j, n))
				fprintf(f, " x%d_%d\n", j, n);
	}
	fprintf(f, "End\n");
}

/* Its solution: jobs and nodes. Whether it is proved to be the best. */
static bool cbc_solve(const struct cover *c, const char *folder, int *ret_jobs, int *ret_nodes)
{
	char path[200], command[600], line[400], name[64];
	bool proved = false;
	double value;
	FILE *f;

	snprintf(path, sizeof path, "%s/p.lp", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	lp_write(c, f);
	fclose(f);
	snprintf(command, sizeof command, "cbc %s/p.lp sec 60 solve solution %s/s > /dev/null 2>&1", folder, folder);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof path, "%s/s", folder);
	f = fopen(path, "r");
	assert_non_null(f);
	*ret_jobs = *ret_nodes = 0;
	while (fgets(line, sizeof line, f)) {
		proved |= strncmp(line, "Optimal", 7) == 0;
		if (sscanf(line, " %*d %63s %lf", name, &value) == 2 && value > 0.5) {
			*ret_jobs += *name == 'x';
			*ret_nodes += *name == 'y';
		}
	}
	fclose(f);
	unlink(path);
	snprintf(path, sizeof path, "%s/p.lp", folder);
	unlink(path);
	return proved;
}

static void beside_cbc(void **state)
{
	int cases = getenv("SHUNT_CASES") ? atoi(getenv("SHUNT_CASES")) : 36;
	int most = getenv("SHUNT_CASES") ? 40 : 24; /* the larger ones take CBC some seconds each */
	char folder[] = "/tmp/shunt-cover-XXXXXX";
	int64_t ours = 0, theirs = 0, greedy = 0, short_of = 0, unproved = 0, missing = 0, started = 0;
	struct cover *c;

	if (system("cbc quit > /dev/null 2>&1") != 0)
		skip();
	c = mem_zalloc(sizeof *c);
	assert_non_null(mkdtemp(folder));
	for (int i = 1; i <= cases; i++) {
		struct cover_answer a, g;
		struct rng r;
		int jobs, nodes;
		rng_seed(&r, (uint64_t)i);
		random_cover(&r, most, c);
		unproved += !cbc_solve(c, folder, &jobs, &nodes);
		cover_greedy(c, &g);
		cover_solve(c, STEPS, &a);
		answer_check(c, &a);
		assert_false(cover_better(&g, &a));
		if (getenv("SHUNT_SEED"))
			printf("%3d: %2d x %2d: cover %d on %d (bounds %d, %d), CBC %d on %d, greedy %d on %d; %llu steps%s\n",
			       i, c->jobs, c->nodes, a.jobs, a.nodes, a.most_jobs, a.least_nodes, jobs, nodes, g.jobs,
			       g.nodes, (unsigned long long)a.steps, a.exact ? ", exact" : "");
		missing += jobs - a.jobs;
		started += jobs;
		short_of += a.jobs < jobs;
		ours += a.nodes;
		theirs += nodes;
		greedy += g.nodes;
	}
	rmdir(folder);
	printf("# %d instances: %lld nodes, CBC %lld (%lld not proved), greedy %lld; fewer jobs than CBC in %lld, by %lld in all\n",
	       cases, (long long)ours, (long long)theirs, (long long)unproved, (long long)greedy, (long long)short_of,
	       (long long)missing);
	assert_true(200 * missing <= started); /* half a percent of the jobs */
	assert_true((double)ours <= 1.02 * (double)theirs);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figure_1),
		cmocka_unit_test(small_ones),
		cmocka_unit_test(beside_cbc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
