/*
 * case.c - making, printing, checking and shrinking cases.
 */
#include "property/case.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timetext.h"
#include "core/cluster.h"

static bool chance(struct rng *r, double p)
{
	return rng_unit(r) < p;
}

static void random_node(struct rng *r, struct case_amounts *n, unsigned flavour)
{
	*n = (struct case_amounts){.cpus = chance(r, 0.5) ? 8 : rng_range(r, 1, 16)};
	if (!(flavour & WITH_MORE))
		return;
	n->mem = rng_range(r, 4, 32);
	n->gpus = chance(r, 0.4) ? rng_range(r, 1, 4) : 0;
	n->disk = chance(r, 0.4) ? rng_range(r, 1, 3) : 0;
	n->features = (unsigned)rng_below(r, 4);
}

/* A part of what some node has, so that it could be there. */
static void random_frag(struct rng *r, const struct tcase *t, struct case_frag *f, unsigned flavour)
{
	int at = (int)rng_below(r, (uint64_t)t->nnodes);
	const struct case_amounts *n = &t->node[at];

	*f = (struct case_frag){.need.cpus = rng_range(r, 1, n->cpus), .node = NODE_ANY};
	if (flavour & WITH_MORE) {
		f->need.mem = chance(r, 0.5) ? rng_range(r, 0, n->mem) : 0;
		f->need.gpus = chance(r, 0.3) ? rng_range(r, 0, n->gpus) : 0;
		f->need.disk = chance(r, 0.2) ? rng_range(r, 0, n->disk) : 0;
		f->need.features = chance(r, 0.2) ? n->features : 0;
	}
	f->exclusive = chance(r, 0.15);
	if ((flavour & WITH_MIXED) && chance(r, 0.2))
		f->node = at;
}

static void random_job(struct rng *r, const struct tcase *t, struct case_job *j, unsigned flavour)
{
	*j = (struct case_job){
		.deadline = TIME_NEVER,
		.hold = NOT_AT_ALL,
		.release = NOT_AT_ALL,
		.delete = NOT_AT_ALL,
	};
	j->submit = rng_range(r, 0, 80);
	j->walltime = rng_range(r, 2, 60);
	j->nfrags = chance(r, 0.6) ? 1 : (int)rng_range(r, 2, CASE_FRAGS);
	j->runtime = j->walltime;
	if ((flavour & WITH_EARLY) && chance(r, 0.7))
		j->runtime = rng_range(r, 1, j->walltime);
	random_frag(r, t, &j->frag[0], flavour);
	if (j->nfrags > 1 && j->frag[0].need.cpus > 3)
		j->frag[0].need.cpus = rng_range(r, 1, j->frag[0].need.cpus); /* smaller, or it would never fit */
	for (int i = 1; i < j->nfrags; i++) {
		j->frag[i] = j->frag[0];
		if ((flavour & WITH_MIXED) && chance(r, 0.6))
			random_frag(r, t, &j->frag[i], flavour);
	}
	if ((flavour & WITH_KINDS) && chance(r, 0.45)) {
		j->kind = chance(r, 0.6) ? KIND_QOS : KIND_EMERGENCY;
		j->deadline = j->submit + t->tolerance + j->walltime + rng_range(r, -2, 100);
		if (j->kind == KIND_EMERGENCY)
			j->powers = (unsigned)rng_below(r, 128);
	}
	if ((flavour & WITH_ADMIN) && chance(r, 0.15)) {
		j->hold = j->submit + rng_range(r, 0, 30);
		j->release = chance(r, 0.8) ? j->hold + rng_range(r, 0, 40) : NOT_AT_ALL;
	}
	if ((flavour & WITH_ADMIN) && chance(r, 0.1))
		j->delete = j->submit + rng_range(r, 0, 60);
	if ((flavour & WITH_ACCIDENTS) && chance(r, 0.1))
		j->failures = (int)rng_range(r, 1, 2);
}

static void random_fences(struct rng *r, struct tcase *t)
{
	int wanted = (int)rng_range(r, 1, CASE_FENCES);

	while (wanted-- > 0) {
		struct case_fence f = {.node = (int)rng_below(r, (uint64_t)t->nnodes)};
		bool apart = true;
		f.id = (uint32_t)rng_range(r, 1, CASE_KEYS);
		f.start = rng_range(r, 0, 80);
		f.end = f.start + rng_range(r, 1, 60);
		for (int i = 0; i < t->nfences; i++)
			apart &= t->fence[i].node != f.node || t->fence[i].end <= f.start || f.end <= t->fence[i].start;
		if (apart)
			t->fence[t->nfences++] = f;
	}
	for (int i = 0; i < t->njobs; i++) {
		t->job[i].keys = chance(r, 0.5) ? 0 : (unsigned)rng_below(r, 2 << CASE_KEYS) & ~1u;
		t->job[i].bound = chance(r, 0.85) ? 0 : (uint32_t)rng_range(r, 1, CASE_KEYS);
	}
}

void case_random(struct tcase *t, uint64_t seed, unsigned flavour)
{
	struct rng r;

	rng_seed(&r, seed);
	memset(t, 0, sizeof *t);
	t->seed = seed;
	t->nnodes = (flavour & WITH_NODES) ? (int)rng_range(&r, 1, CASE_NODES) : 1;
	t->njobs = (int)rng_range(&r, 2, CASE_JOBS);
	for (int i = 0; i < t->nnodes; i++)
		random_node(&r, &t->node[i], flavour);
	t->tolerance = chance(&r, 0.5) ? 0 : rng_range(&r, 1, 5);
	t->starve_after = (flavour & WITH_STARVING) && chance(&r, 0.8) ? rng_range(&r, 0, 40) : TIME_NEVER;
	t->max_deallocations = (int)rng_range(&r, 0, 3);
	t->ends_first = chance(&r, 0.5);
	t->batch = chance(&r, 0.5);
	t->slow_start = (flavour & WITH_ACCIDENTS) && chance(&r, 0.2);
	for (int i = 0; i < t->njobs; i++)
		random_job(&r, t, &t->job[i], flavour);
	if ((flavour & WITH_ACCIDENTS) && chance(&r, 0.5))
		t->naccidents = (int)rng_range(&r, 1, CASE_ACCIDENTS);
	for (int i = 0; i < t->naccidents; i++) {
		struct case_accident *a = &t->accident[i];
		a->node = (int)rng_below(&r, (uint64_t)t->nnodes);
		a->down = rng_range(&r, 1, 100);
		a->up = chance(&r, 0.8) ? a->down + rng_range(&r, 1, 50) : NOT_AT_ALL;
	}
	t->kill_delay = chance(&r, 0.5) ? 0 : rng_range(&r, 1, 5);
	for (int i = 1; i < t->nnodes && (flavour & WITH_WHOLE); i++)
		t->beside[i] = chance(&r, 0.2);
	for (int i = 0; i < t->njobs && (flavour & WITH_WHOLE); i++)
		if (chance(&r, 0.3))
			t->job[i].whole = chance(&r, 0.6) ? WHOLE_NODE : WHOLE_HOST;
	if (flavour & WITH_FENCES)
		random_fences(&r, t);
	t->ending = (flavour & WITH_OVERRUN) ? rng_range(&r, 1, 12) : 0;
	for (int i = 0; i < t->njobs; i++)
		t->job[i].over = (flavour & WITH_OVERRUN) && chance(&r, 0.6) ? rng_range(&r, 0, t->ending) : -1;
}

static bool frag_fits(const struct case_amounts *n, const struct case_amounts *f)
{
	return n->cpus >= f->cpus && n->mem >= f->mem && n->gpus >= f->gpus && n->disk >= f->disk &&
	       (n->features & f->features) == f->features;
}

bool case_valid(const struct tcase *t)
{
	for (int i = 0; i < t->njobs; i++)
		for (int k = 0; k < t->job[i].nfrags; k++) {
			const struct case_frag *f = &t->job[i].frag[k];
			bool fits = false;
			for (int n = 0; n < t->nnodes; n++)
				fits |= (f->node == NODE_ANY || f->node == n) && frag_fits(&t->node[n], &f->need);
			if (!fits)
				return false;
		}
	return t->nnodes > 0;
}

static void print_amounts(const struct case_amounts *a)
{
	print_message("cpus=%d", (int)a->cpus);
	if (a->mem)
		print_message(" mem=%d", (int)a->mem);
	if (a->gpus)
		print_message(" gpus=%d", (int)a->gpus);
	if (a->disk)
		print_message(" disk=%d", (int)a->disk);
	if (a->features)
		print_message(" features=%u", a->features);
}

static void print_instant(const char *name, int64_t t, int64_t none)
{
	if (t != none)
		print_message(" %s %lld", name, (long long)t);
}

void case_print(const struct tcase *t)
{
	print_message("# seed %llu: tolerance %lld, kill_delay %lld%s%s%s", (unsigned long long)t->seed,
		      (long long)t->tolerance, (long long)t->kill_delay, t->ends_first ? ", ends first" : "",
		      t->batch ? ", one cycle per instant" : "", t->slow_start ? ", starts confirmed late" : "");
	if (t->starve_after != TIME_NEVER)
		print_message(", starve_after %lld, max_deallocations %d", (long long)t->starve_after,
			      t->max_deallocations);
	if (t->ending)
		print_message(", an end may take %lld", (long long)t->ending);
	print_message("\n");
	for (int i = 0; i < t->nnodes; i++) {
		print_message("#   node %d%s: ", i, t->beside[i] ? ", beside the one above" : "");
		print_amounts(&t->node[i]);
		print_message("\n");
	}
	for (int i = 0; i < t->njobs; i++) {
		const struct case_job *j = &t->job[i];
		print_message("#   job %c at %lld: walltime %lld runs %lld", "CSQE"[j->kind], (long long)j -> submit,
			      (long long)j -> walltime, (long long)j -> runtime);
		print_instant("over", j->over, -1);
		print_instant("deadline", j->deadline, TIME_NEVER);
		print_instant("powers", j->powers, 0);
		print_instant("hold", j->hold, NOT_AT_ALL);
		print_instant("release", j->release, NOT_AT_ALL);
		print_instant("delete", j->delete, NOT_AT_ALL);
		print_instant("failures", j->failures, 0);
		print_instant("keys", j->keys, 0);
		print_instant("bound", j->bound, 0);
		if (j->whole)
			print_message(" whole %s", j->whole == WHOLE_HOST ? "machines" : "nodes");
		for (int k = 0; k < j->nfrags; k++) {
			print_message(" [");
			print_amounts(&j->frag[k].need);
			if (j->frag[k].exclusive)
				print_message(" e");
			if (j->frag[k].node != NODE_ANY)
				print_message(" on %d", j->frag[k].node);
			print_message("]");
		}
		print_message("\n");
	}
	for (int i = 0; i < t->naccidents; i++)
		print_message("#   node %d down %lld up %lld\n", t->accident[i].node, (long long)t->accident[i].down,
			      (long long)t->accident[i].up);
	for (int i = 0; i < t->nfences; i++)
		print_message("#   node %d fence %u from %lld to %lld\n", t->fence[i].node, t->fence[i].id,
			      (long long)t->fence[i].start, (long long)t->fence[i].end);
}

/* Trying a case: an abort() of the code under test comes back here. */

static sigjmp_buf aborted;
static const char *trying;
static uint64_t trying_seed;

static void on_abort(int sig)
{
	(void)sig;
	siglongjmp(aborted, 1);
}

/* A sanitizer ends the process: say at least with what. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
static void on_death(void)
{
	fprintf(stderr, "policy %s, seed %llu\n", trying, (unsigned long long)trying_seed);
}

static const char *try_case(case_property property, const struct tcase *t, const struct policy *policy)
{
	struct sigaction act = {.sa_handler = on_abort, .sa_flags = SA_NODEFER}, old;
	const char *volatile wrong;

	trying = policy->name;
	trying_seed = t->seed;
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(on_death);
	sigaction(SIGABRT, &act, &old);
	if (sigsetjmp(aborted, 1))
		wrong = "an assert of the code failed (what it held is leaked)";
	else
		wrong = property(t, policy);
	sigaction(SIGABRT, &old, NULL);
	return wrong;
}

static void drop_job(struct tcase *t, int i)
{
	memmove(&t->job[i], &t->job[i + 1], (size_t)(t->njobs - i - 1) * sizeof t->job[0]);
	t->njobs--;
}

static void drop_node(struct tcase *t, int n)
{
	memmove(&t->node[n], &t->node[n + 1], (size_t)(t->nnodes - n - 1) * sizeof t->node[0]);
	memmove(&t->beside[n], &t->beside[n + 1], (size_t)(t->nnodes - n - 1) * sizeof t->beside[0]);
	t->beside[0] = t->beside[t->nnodes - 1] = false;
	t->nnodes--;
	for (int i = 0; i < t->nfences;)
		if (t->fence[i].node == n) {
			t->fence[i] = t->fence[--t->nfences];
		} else {
			t->fence[i].node -= t->fence[i].node > n;
			i++;
		}
	for (int i = 0; i < t->njobs; i++)
		for (int k = 0; k < t->job[i].nfrags; k++) {
			struct case_frag *f = &t->job[i].frag[k];
			f->node = f->node == n ? NODE_ANY : f->node > n ? f->node - 1 : f->node;
		}
	for (int i = 0; i < t->naccidents; i++)
		t->accident[i].node = t->accident[i].node > n ? t->accident[i].node - 1
							      : t->accident[i].node % (t->nnodes ? t->nnodes : 1);
}

/* Lets all jobs end by themselves, and at once. */
static void overruns_remove(struct tcase *t)
{
	t->ending = 0;
	for (int i = 0; i < t->njobs; i++)
		t->job[i].over = -1;
}

/* The i-th way to make a case smaller; false when there are no more. */
static bool smaller(struct tcase *t, int i)
{
	if (i < t->njobs) {
		drop_job(t, i);
		return true;
	}
	i -= t->njobs;
	if (i < t->nnodes) {
		drop_node(t, i);
		return true;
	}
	i -= t->nnodes;
	if (i < t->naccidents) {
		t->accident[i] = t->accident[--t->naccidents];
		return true;
	}
	i -= t->naccidents;
	if (i < 10 * t->njobs) {
		struct case_job *j = &t->job[i / 10];
		switch (i % 10) {
		case 0:
			j->nfrags -= j->nfrags > 1;
			break;
		case 1:
			j->hold = j->release = NOT_AT_ALL;
			break;
		case 2:
			j->delete = NOT_AT_ALL;
			break;
		case 3:
			j->failures = 0;
			break;
		case 4:
			j->runtime = j->walltime;
			break;
		case 5:
			for (int k = 0; k < j->nfrags; k++)
				j->frag[k].need = (struct case_amounts){.cpus = j->frag[k].need.cpus};
			break;
		case 6:
			for (int k = 0; k < j->nfrags; k++)
				j->frag[k].node = NODE_ANY;
			break;
		case 8:
			j->whole -= j->whole > 0;
			break;
		case 7:
			for (int k = 0; k < j->nfrags; k++)
				j->frag[k].exclusive = false;
			break;
		default:
			j->powers = 0;
			break;
		}
		return true;
	}
	i -= 10 * t->njobs;
	if (i == 0)
		t->tolerance = 0;
	else if (i == 1)
		t->slow_start = false;
	else if (i == 2)
		t->starve_after = TIME_NEVER;
	else if (i == 3)
		t->batch = true;
	else if (i == 4)
		t->ends_first = true;
	else if (i == 5)
		t->kill_delay = 0;
	else if (i == 6)
		overruns_remove(t);
	else if (i - 7 < t->njobs)
		t->job[i - 7].over = -1;
	else if (i - 7 - t->njobs < t->nnodes)
		t->beside[i - 7 - t->njobs] = false;
	return i < 7 + t->njobs + t->nnodes;
}

static void shrink(case_property property, struct tcase *t, const struct policy *policy)
{
	int tries = 0, quiet = dup(2);
	bool progress = true;

	if (!freopen("/dev/null", "w", stderr)) /* the same assert over and over */
		return;
	while (progress && tries < 4000) {
		progress = false;
		for (int i = 0; tries < 4000; i++) {
			struct tcase s = *t;
			if (!smaller(&s, i))
				break;
			if (memcmp(&s, t, sizeof s) == 0 || !case_valid(&s))
				continue;
			tries++;
			if (try_case(property, &s, policy)) {
				*t = s;
				progress = true;
				i--;
			}
		}
	}
	fflush(stderr);
	dup2(quiet, 2);
	close(quiet);
}

void case_check_seed(case_property property, unsigned flavour, const struct policy *policy, uint64_t seed)
{
	struct tcase t;

	case_random(&t, seed, flavour);
	assert_true(case_valid(&t));
	const char *wrong = try_case(property, &t, policy);
	if (!wrong)
		return;
	shrink(property, &t, policy);
	print_message("# policy %s, push depth %d, seed %llu: %s\n", policy->name, policy->push_depth,
		      (unsigned long long)seed, wrong);
	case_print(&t);
	const char *last = try_case(property, &t, policy);
	fail_msg("policy %s, seed %llu: %s", policy->name, (unsigned long long)seed, last ? last : wrong);
}

void case_check(case_property property, unsigned flavour, const struct policy *policy, int count)
{
	const char *only = getenv("SHUNT_SEED");    /* one case again */
	const char *factor = getenv("SHUNT_CASES"); /* how many times as often */
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	uint64_t end = first + (only ? 1 : (uint64_t)(count * (factor ? strtod(factor, NULL) : 1)));

	for (uint64_t seed = first; seed < end; seed++)
		case_check_seed(property, flavour, policy, seed);
}

const struct policy *case_policy(const char *name, int push_depth)
{
	static struct policy altered[32];
	static int n;
	const struct policy *p = policy_find(name);

	assert_non_null(p);
	if (push_depth < 0)
		return p;
	for (int i = 0; i < n; i++)
		if (strcmp(altered[i].name, name) == 0 && altered[i].push_depth == push_depth)
			return &altered[i];
	assert_true(n < 32);
	altered[n] = *p;
	altered[n].push_depth = push_depth;
	return &altered[n++];
}
