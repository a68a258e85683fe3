/*
 * rng.c - xoshiro256** (Blackman and Vigna, public domain) and distributions.
 *
 * The state is only that of the generator: no second normal is saved, so that copying a struct rng
 * copies the sequence.
 */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

__extension__ typedef unsigned __int128 u128;

static uint64_t splitmix64(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void rng_seed(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		r->s[i] = splitmix64(&seed);
}

uint64_t rng_seed_of(uint64_t seed, uint64_t n)
{
	uint64_t mixed = splitmix64(&seed) ^ n;

	return splitmix64(&mixed);
}

uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

/* Uses Lemire's method: the high half of a product, drawn again while the low half is in the
 * uneven rest. */
uint64_t rng_below(struct rng *r, uint64_t n)
{
	assert(n > 0);

	u128 m = (u128)rng_next(r) * n;
	if ((uint64_t)m < n)
		for (uint64_t uneven = -n % n; (uint64_t)m < uneven;)
			m = (u128)rng_next(r) * n;
	return (uint64_t)(m >> 64);
}

int64_t rng_range(struct rng *r, int64_t lo, int64_t hi)
{
	assert(lo <= hi);

	uint64_t span = (uint64_t)hi - (uint64_t)lo + 1; /* 0: the full range */
	return (int64_t)((uint64_t)lo + (span ? rng_below(r, span) : rng_next(r)));
}

double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Uses Marsaglia's polar method. */
double rng_normal(struct rng *r)
{
	double u, v, q;

	do {
		u = 2 * rng_unit(r) - 1;
		v = 2 * rng_unit(r) - 1;
		q = u * u + v * v;
	} while (q >= 1 || q == 0);
	return u * sqrt(-2 * log(q) / q);
}

double rng_lognormal(struct rng *r, double mu, double sigma)
{
	return exp(mu + sigma * rng_normal(r));
}

double rng_exponential(struct rng *r, double mean)
{
	return -mean * log1p(-rng_unit(r));
}

/* Uses Marsaglia and Tsang's method; a shape below 1 is drawn with shape + 1 and scaled by a
 * power of a uniform number. */
double rng_gamma(struct rng *r, double shape, double scale)
{
	assert(shape > 0);
	if (shape < 1) {
		double u = 1 - rng_unit(r);
		return rng_gamma(r, shape + 1, scale) * pow(u, 1 / shape);
	}

	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
	for (;;) {
		double x = rng_normal(r), v = 1 + c * x;
		if (v <= 0)
			continue;
		v = v * v * v;
		double u = 1 - rng_unit(r);
		if (log(u) < x * x / 2 + d - d * v + d * log(v))
			return d * v * scale;
	}
}

int64_t rng_geometric(struct rng *r, double mean)
{
	if (mean <= 1)
		return 1;
	return 1 + (int64_t)floor(log1p(-rng_unit(r)) / log1p(-1 / mean));
}
