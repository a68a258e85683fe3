/*
 * sizes.c - see sizes.h.
 */
#include "sched/sizes.h"

#include <string.h>

#include "plan/ahead.h"
#include "sched/sched_internal.h"

/* Least values of each step. */
static const int32_t size_cpus[SIZES_CPUS] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,
					      13, 14, 15, 16, 24, 32, 48, 64, 96, 128, 192, 256};
static const int32_t size_count[SIZES_COUNTS] = {1, 2, 3, 4, 6, 8, 16, 32};

_Static_assert(SIZES_SETS < RANKS_CLASSES, "some classes are left for sets");

static unsigned step_of(const int32_t *least, unsigned n, int64_t value)
{
	unsigned i = n - 1;

	while (i > 0 && least[i] > value)
		i--;
	return i;
}

static unsigned sum_class(int64_t cpus)
{
	unsigned class = 63 - (unsigned)__builtin_clzll((unsigned long long)(cpus > 0 ? cpus : 1));

	return class < SIZES_SUMS ? class : SIZES_SUMS - 1;
}

/* Returns the class of jobs that get a partition of these nodes. */
static unsigned set_class(struct sizes *x, uint32_t set, const struct request *r)
{
	unsigned i = 0;

	while (i < x->nsets && x->set[i] != set)
		i++;
	if (i == SIZES_SETS_MOST)
		return sum_class(r->total.v[RES_CPU]);
	x->set[i] = set;
	x->nsets = i < x->nsets ? x->nsets : i + 1;
	return SIZES_SETS + i;
}

static unsigned class_of(struct sched *s, const struct job *job)
{
	const struct request *r = cluster_job_request(s->c, job);
	const struct shape *shapes = s->c->shapes.v;
	int64_t cpus = shapes[r->frag[r->nfrags - 1].shape].need.v[RES_CPU];
	int64_t count = 0, most = size_count[SIZES_COUNTS - 1];
	unsigned step;

	if (plan_in_partition(s->p, job->id))
		return set_class(&s->sizes, job->allowed, r);
	if (s->p->nnodes == 1 || cpus <= 0 || r->whole == WHOLE_HOST)
		return sum_class(r->total.v[RES_CPU]);
	step = step_of(size_cpus, SIZES_CPUS, cpus);
	/* fragments are sorted by CPUs, behind those on named nodes */
	for (uint32_t i = r->nfrags; i-- > 0 && count < most; count++)
		if (shapes[r->frag[i].shape].need.v[RES_CPU] < size_cpus[step])
			break;
	return SIZES_SUMS + step * SIZES_COUNTS + step_of(size_count, SIZES_COUNTS, count);
}

unsigned size_class(struct sched *s, const struct job *job)
{
	unsigned class = class_of(s, job);

	s->sizes.used[class / 64] |= UINT64_C(1) << class % 64;
	return class;
}

/* Returns true if a job that does not fit on the nodes as they are does not start: nothing is moved
 * for it. */
static bool sizes_count(const struct sched *s)
{
	return s->p->nnodes > 1 && !s->plain.push_depth && s->c->settings.migrate_cost < 0 && !s->ears.move;
}

static bool sizes_hold(const struct sched *s)
{
	return s->sizes.at == s->now && s->sizes.given == s->p->given && sizes_count(s);
}

static unsigned row_of(unsigned class)
{
	return class < SIZES_SETS ? (class - SIZES_SUMS) / SIZES_COUNTS : SIZES_CPUS + class - SIZES_SETS;
}

/* Returns until when nodes can hold a job of a class; TIME_NEVER: nothing is known. */
static int64_t sizes_until(const struct sizes *x, unsigned class)
{
	unsigned row = row_of(class);

	if (class < SIZES_SUMS || !x->version[row])
		return TIME_NEVER;
	return class < SIZES_SETS ? x->fragments[row][(class - SIZES_SUMS) % SIZES_COUNTS]
				  : x->partition[class - SIZES_SETS];
}

/* Returns until when any of the partitions that a job may use is empty. */
static int64_t partitions_until(const struct sched *s, uint32_t job)
{
	int64_t until = TIME_BEGIN;

	for (size_t i = 0; i < s->c->partitions.n; i++) {
		const struct partition *part = &s->c->partitions.v[i];
		int64_t here = plan_may_use(s->p, job, part) ? plan_partition_until(s->p, part) : TIME_BEGIN;
		until = here > until ? here : until;
	}
	return until;
}

void sizes_failed(struct sched *s, uint32_t job, unsigned class)
{
	unsigned row = row_of(class);
	struct sizes *x = &s->sizes;

	if (class < SIZES_SUMS || !sizes_count(s) || s->p->depth)
		return;
	if (!sizes_hold(s)) {
		memset(x->version, 0, sizeof x->version);
		x->at = s->now;
		x->given = s->p->given;
	}
	if (x->version[row] == s->p->version)
		return;
	x->version[row] = s->p->version;
	x->made++;
	if (class < SIZES_SETS)
		plan_ahead(s->p, size_cpus[row], size_count, SIZES_COUNTS, x->fragments[row]);
	else
		x->partition[class - SIZES_SETS] = partitions_until(s, job);
}

bool sizes_refuse(const struct sched *s, unsigned class, int64_t length)
{
	return sizes_hold(s) && s->now + length > sizes_until(&s->sizes, class);
}

/* Returns the longest job that has room for `cpus` CPUs until an instant; REACH_NONE: none. */
static int32_t gap_length(const struct sched *s, int64_t cpus, int64_t until)
{
	const struct window *w = &s->window;
	int i = 0;

	while (i + 1 < w->n && w->cpus[i + 1] >= cpus)
		i++;
	if (w->until[i] < until)
		until = w->until[i];
	if (until <= s->now)
		return REACH_NONE;
	return (int32_t)(until - s->now < REACH_MOST ? until - s->now : REACH_MOST);
}

/* Returns the least number of CPUs that jobs of a class need. */
static int64_t class_cpus(unsigned class)
{
	unsigned i = class - SIZES_SUMS;

	if (class < SIZES_SUMS)
		return INT64_C(1) << class;
	return class < SIZES_SETS ? (int64_t)size_cpus[i / SIZES_COUNTS] * size_count[i % SIZES_COUNTS] : 1;
}

void sizes_gap(const struct sched *s, struct gap *ret)
{
	bool hold = sizes_hold(s);

	ret->n = 0;
	ret->cpus = s->window.cpus[0];
	for (unsigned word = 0; word < RANKS_CLASSES / 64; word++)
		for (uint64_t used = s->sizes.used[word]; used; used &= used - 1) {
			unsigned class = word * 64 + (unsigned)__builtin_ctzll(used);
			int64_t cpus = class_cpus(class);
			int32_t length = REACH_NONE;
			if (cpus <= s->window.cpus[0])
				length = gap_length(s, cpus, hold ? sizes_until(&s->sizes, class) : TIME_NEVER);
			ret->length[class] = length;
			if (length != REACH_NONE)
				ret->open[ret->n++] = (uint8_t) class;
		}
}
