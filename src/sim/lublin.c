/*
 * lublin.c - the model of batch jobs of Lublin and Feitelson (The workload on parallel
 * supercomputers, JPDC 63(11), 2003).
 *
 * Size: serial, or two to the power of a two-stage uniform number, mostly a whole one. Run time:
 * its logarithm is hyper-gamma, and larger jobs more often have the longer kind. Arrivals: gaps
 * whose logarithm is gamma, stretched in hours with a low arrival rate; over a day that begins at
 * half past five that rate is a gamma density of half hours. The machine's size replaces the
 * paper's 128 nodes. The model has no users and no estimates.
 */
#include <math.h>

#include "base/rng.h"
#include "sim/workload.h"

#define SERIAL 0.2927
#define POWER_OF_TWO 0.6686
#define SIZE_LOW 1.2
#define SIZE_MEDIUM 2.5 /* distance below the highest */
#define SIZE_STAGE 0.875

#define RUNTIME_SHORT_SHAPE 6.57
#define RUNTIME_SHORT_SCALE 0.823
#define RUNTIME_LONG_SHAPE 639.1
#define RUNTIME_LONG_SCALE 0.0156
#define RUNTIME_SLOPE -0.003
#define RUNTIME_SHORT 0.6986
#define RUNTIME_MOST 12 /* logarithm of seconds */

#define GAP_SHAPE (6.0415 * 1.0519) /* shape of the rush hours, stretched to the whole day */
#define GAP_SCALE 0.8531
#define GAP_MOST 13 /* logarithm of seconds */
#define DAY_SHAPE 6.1271
#define DAY_SCALE 5.2740
#define DAY_BEGIN 11 /* half hours */

#define SLOTS 48
#define SLOT_SECONDS 1800

struct clock {
	double rate[SLOTS]; /* arrival rate of each half hour of the day; their mean is 1 */
	double now;	    /* seconds */
};

static double day_density(double x)
{
	return exp((DAY_SHAPE - 1) * log(x) - x / DAY_SCALE);
}

static void clock_init(struct clock *c)
{
	double sum = 0;

	c->now = 0;
	for (int i = DAY_BEGIN; i < DAY_BEGIN + SLOTS; i++) {
		/* Simpson's rule over the half hour, up to a constant factor */
		double rate = day_density(i - 0.5) + 4 * day_density(i) + day_density(i + 0.5);
		c->rate[(i - 1) % SLOTS] = rate;
		sum += rate;
	}
	for (int i = 0; i < SLOTS; i++)
		c->rate[i] *= SLOTS / sum;
}

/* Lets `gap` seconds of mean rate pass. */
static void clock_advance(struct clock *c, double gap)
{
	for (;;) {
		double slot = floor(c->now / SLOT_SECONDS), left = (slot + 1) * SLOT_SECONDS - c->now;
		double rate = c->rate[(int)fmod(slot, SLOTS)];
		if (gap < left * rate) {
			c->now += gap / rate;
			return;
		}
		gap -= left * rate;
		c->now = (slot + 1) * SLOT_SECONDS;
	}
}

static double gap_draw(struct rng *rng)
{
	double gap;

	do
		gap = rng_gamma(rng, GAP_SHAPE, GAP_SCALE);
	while (gap > GAP_MOST);
	return exp(gap);
}

static int64_t size_draw(struct rng *rng, int64_t procs)
{
	double high = log2((double)procs), low = fmin(SIZE_LOW, high), medium = fmax(low, high - SIZE_MEDIUM);
	double kind = rng_unit(rng), stage = rng_unit(rng), u = rng_unit(rng);

	if (kind < SERIAL)
		return 1;
	double size = stage < SIZE_STAGE ? low + u * (medium - low) : medium + u * (high - medium);
	if (kind < SERIAL + POWER_OF_TWO)
		size = round(size);
	return (int64_t)fmin(round(exp2(size)), (double)procs);
}

static int64_t runtime_draw(struct rng *rng, int64_t size)
{
	double runtime;

	do
		runtime = rng_unit(rng) < RUNTIME_SLOPE * (double)size + RUNTIME_SHORT
				  ? rng_gamma(rng, RUNTIME_SHORT_SHAPE, RUNTIME_SHORT_SCALE)
				  : rng_gamma(rng, RUNTIME_LONG_SHAPE, RUNTIME_LONG_SCALE);
	while (runtime > RUNTIME_MOST);
	return (int64_t)fmax(1, exp(runtime));
}

struct workload *generate_lublin(int64_t procs, int64_t jobs, uint64_t seed)
{
	struct workload *w = workload_create("lublin");
	uint32_t user = names_add(&w->users, "unknown");
	struct clock clock;
	struct rng rng;
	char machine[40];

	rng_seed(&rng, seed);
	clock_init(&clock);
	snprintf(machine, sizeof machine, "flat:%lld", (long long)procs);
	workload_set_machine(w, machine, NULL);
	for (int64_t i = 0; i < jobs; i++) {
		clock_advance(&clock, gap_draw(&rng));
		int64_t size = size_draw(&rng, procs), runtime = runtime_draw(&rng, size);
		vec_push(&w->jobs, (struct wjob){
					   .id = i + 1,
					   .submit = (int64_t)clock.now,
					   .runtime = runtime,
					   .walltime = runtime,
					   .deadline = TIME_NEVER,
					   .procs = (int32_t)size,
					   .text = -1,
					   .user = user,
					   .kind = KIND_COMMON,
				   });
	}
	return w;
}
