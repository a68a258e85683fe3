/*
 * generate.c - the workload of the push experiments (docs/simulator.md), on 40 nodes of 8 CPUs.
 *
 * Job sizes, arrivals and special jobs are drawn from three separate random streams, so that
 * experiments with one seed differ only in what they mean to compare.
 */
#include <math.h>
#include <stdbool.h>

#include "base/rng.h"
#include "sim/workload.h"

#define NODES 40
#define USERS 8
#define FAVOURITES 10
#define FRAGS_MOST 8
#define BURST_MEAN 5
#define BURST_MOST 30
#define RUNTIME_MEAN 3410.0
#define RUNTIME_SIGMA 1.5
#define POWERS (POWER_SC_ALLOC | POWER_Q_ALLOC | POWER_C_EXEC | POWER_S_EXEC | POWER_Q_EXEC)

/* A batch this close to the mean size is found within some dozen draws; with very few jobs it
 * may never be. */
#define SIZE_ERROR 0.07
#define DRAWS_MOST 10000

static const struct shape {
	int frags, cpus;
	double probability;
} shapes[] = {
	{1, 1, .217}, {1, 2, .12}, {1, 3, .02}, {1, 4, .16}, {1, 5, .01},  {1, 6, .02},
	{1, 8, .24},  {2, 4, .06}, {2, 8, .08}, {4, 4, .03}, {4, 8, .035}, {8, 8, .008},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

struct burst {
	int user;
	const struct shape *shape;
	bool named, exclusive;
	int node[FRAGS_MOST]; /* named nodes */
};

struct draft {
	size_t burst;
	double runtime;
};

struct batch {
	const struct oscar_model *model;
	struct rng rng;
	double weight[SHAPES];	     /* weights of the shapes */
	int favourite[USERS][NODES]; /* the first FAVOURITES of a shuffle */
	VEC(struct burst) bursts;
	VEC(struct draft) jobs;
};

static double mean_size(const double weight[SHAPES])
{
	double sum = 0, all = 0;

	for (size_t i = 0; i < SHAPES; i++) {
		all += weight[i];
		sum += weight[i] * shapes[i].frags * shapes[i].cpus;
	}
	return sum / all;
}

static void weights_tilt(double weight[SHAPES], double theta)
{
	for (size_t i = 0; i < SHAPES; i++)
		weight[i] = shapes[i].probability * pow(shapes[i].frags * shapes[i].cpus, theta);
}

/* Keeps only the shapes of a mix, with the same relative weights as in the model. */
static void weights_sift(double weight[SHAPES], enum mix mix)
{
	for (size_t i = 0; i < SHAPES && mix != MIX_SOURCE; i++) {
		bool power = (shapes[i].cpus & (shapes[i].cpus - 1)) == 0;
		if (shapes[i].frags > 1 || power != (mix == MIX_POWERS))
			weight[i] = 0;
	}
}

static void weights_for_mean(double weight[SHAPES], double mean)
{
	double low = 0, high = 4;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;
		weights_tilt(weight, middle);
		if (mean_size(weight) < mean)
			low = middle;
		else
			high = middle;
	}
}

/* Draws an index with probability proportional to its weight. */
static size_t pick(struct rng *rng, const double *weight, size_t n)
{
	double all = 0;

	for (size_t i = 0; i < n; i++)
		all += weight[i];
	double at = rng_unit(rng) * all;
	for (size_t i = 0; i < n - 1; i++) {
		at -= weight[i];
		if (at < 0)
			return i;
	}
	return n - 1;
}

static void shuffle(struct rng *rng, int *v, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = (int)rng_below(rng, (uint64_t)i + 1), was = v[i];
		v[i] = v[k];
		v[k] = was;
	}
}

static struct burst burst_draw(struct batch *b)
{
	double activity[USERS];

	for (int i = 0; i < USERS; i++)
		activity[i] = 1.0 / (i + 1);
	struct burst burst = {
		.user = (int)pick(&b->rng, activity, USERS),
		.shape = &shapes[pick(&b->rng, b->weight, SHAPES)],
	};
	int *favourite = b->favourite[burst.user];
	burst.named = b->model->model == 'A' && b->model->mix == MIX_SOURCE && rng_unit(&b->rng) < 0.15;
	burst.exclusive = burst.shape->frags > 1 && rng_unit(&b->rng) < 0.05;
	if (burst.named)
		shuffle(&b->rng, favourite, FAVOURITES);
	for (int i = 0; i < burst.shape->frags; i++)
		burst.node[i] = favourite[i];
	return burst;
}

static void batch_draw(struct batch *b)
{
	size_t wanted = (size_t)b->model->jobs;
	double mu = log(RUNTIME_MEAN) - RUNTIME_SIGMA * RUNTIME_SIGMA / 2;

	vec_clear(&b->bursts);
	vec_clear(&b->jobs);
	while (b->jobs.n < wanted) {
		vec_push(&b->bursts, burst_draw(b));
		double base = fmin(fmax(rng_lognormal(&b->rng, mu, RUNTIME_SIGMA), 10), 60000);
		int64_t left = rng_geometric(&b->rng, BURST_MEAN);
		if (left > BURST_MOST)
			left = BURST_MOST;
		for (; left > 0 && b->jobs.n < wanted; left--)
			vec_push(&b->jobs, (struct draft){b->bursts.n - 1, base * rng_lognormal(&b->rng, 0, 0.2)});
	}
}

/* Returns the mean CPUs of a job weighted by run time: the work of the batch over its total run
 * time. */
static double batch_size(const struct batch *b, double *ret_runtime)
{
	double work = 0, time = 0;

	for (size_t i = 0; i < b->jobs.n; i++) {
		const struct shape *s = b->bursts.v[b->jobs.v[i].burst].shape;
		work += b->jobs.v[i].runtime * s->frags * s->cpus;
		time += b->jobs.v[i].runtime;
	}
	*ret_runtime = time / (double)b->jobs.n;
	return work / time;
}

static int32_t burst_request(struct workload *w, const struct burst *b)
{
	const char *exclusive = b->exclusive ? ":e" : "";
	struct strbuf text = {0};
	int32_t id = -1;
	int64_t walltime;

	if (!b->named)
		strbuf_printf(&text, "nodes=%d:ppn=%d%s", b->shape->frags, b->shape->cpus, exclusive);
	for (int i = 0; b->named && i < b->shape->frags; i++)
		strbuf_printf(&text, "%sn%d:ppn=%d%s", i ? "+" : "nodes=", b->node[i] + 1, b->shape->cpus, exclusive);
	workload_request(w, strbuf_text(&text), &id, &walltime, NULL);
	strbuf_fini(&text);
	return id;
}

/* Turns some of the jobs into QoS jobs, and some others into emergency jobs. */
static void kinds_draw(struct workload *w, const struct oscar_model *m, struct rng *rng)
{
	int n = (int)w->jobs.n, *order = mem_realloc(NULL, w->jobs.n, sizeof *order);

	for (int i = 0; i < n; i++)
		order[i] = i;
	shuffle(rng, order, n);
	for (int i = 0; i < n && i < m->qos + m->emergency; i++) {
		struct wjob *j = &w->jobs.v[order[i]];
		bool qos = i < m->qos;
		j->kind = qos ? KIND_QOS : KIND_EMERGENCY;
		j->powers = qos ? 0 : POWERS;
		j->deadline = j->submit + (qos ? 3 * j->walltime : j->walltime * 3 / 2);
	}
	free(order);
}

static void jobs_make(struct workload *w, const struct batch *b, double mean_runtime)
{
	const struct oscar_model *m = b->model;
	struct rng arrivals, kinds;
	double at = 0;

	rng_seed(&arrivals, m->seed ^ 0xa441);
	rng_seed(&kinds, m->seed ^ 0x91bd);
	for (size_t i = 0; i < b->jobs.n; i++) {
		const struct draft *d = &b->jobs.v[i];
		const struct burst *burst = &b->bursts.v[d->burst];
		char user[16];
		snprintf(user, sizeof user, "u%d", burst->user + 1);
		int64_t runtime = (int64_t)fmax(1, round(d->runtime * RUNTIME_MEAN / mean_runtime));
		vec_push(&w->jobs, (struct wjob){
					   .id = (int64_t)i + 1,
					   .submit = (int64_t)at,
					   .runtime = runtime,
					   .walltime = runtime,
					   .deadline = TIME_NEVER,
					   .text = burst_request(w, burst),
					   .user = names_add(&w->users, user),
					   .kind = KIND_COMMON,
				   });
		at += m->fixed_gap ? m->mean_gap : rng_exponential(&arrivals, m->mean_gap);
	}
	kinds_draw(w, m, &kinds);
}

struct workload *generate_oscar(const struct oscar_model *m)
{
	double wanted = m->model == 'A' ? 7 : 18, runtime;
	struct batch b = {.model = m};
	struct workload *w;
	char name[32];

	rng_seed(&b.rng, m->seed);
	weights_tilt(b.weight, 0);
	if (m->model != 'A')
		weights_for_mean(b.weight, wanted);
	weights_sift(b.weight, m->mix);
	if (m->mix != MIX_SOURCE)
		wanted = mean_size(b.weight);
	for (int u = 0; u < USERS; u++) {
		for (int i = 0; i < NODES; i++)
			b.favourite[u][i] = i;
		shuffle(&b.rng, b.favourite[u], NODES);
	}

	int draws = 0;
	do
		batch_draw(&b);
	while (fabs(batch_size(&b, &runtime) - wanted) > SIZE_ERROR * wanted && ++draws < DRAWS_MOST);

	snprintf(name, sizeof name, "oscar-%c", m->model);
	w = workload_create(name);
	workload_set_machine(w, "nodes:40x8", NULL);
	jobs_make(w, &b, runtime);
	vec_free(&b.bursts);
	vec_free(&b.jobs);
	return w;
}

double generate_work(enum mix mix)
{
	double weight[SHAPES];

	weights_tilt(weight, 0);
	weights_sift(weight, mix);
	return mean_size(weight) * RUNTIME_MEAN;
}
