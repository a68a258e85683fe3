/*
 * rng.h - seeded random numbers: the same seed gives the same sequence on every machine
 * (xoshiro256**, seeded through splitmix64). The state is never global.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
/* Returns the seed of the n-th sequence derived from one seed; different pairs give unrelated
 * seeds. */
uint64_t rng_seed_of(uint64_t seed, uint64_t n);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n);		  /* 0 .. n-1, unbiased; n > 0 */
int64_t rng_range(struct rng *r, int64_t lo, int64_t hi); /* lo .. hi, both included */
double rng_unit(struct rng *r);				  /* [0, 1) */
double rng_normal(struct rng *r);			  /* mean 0, deviation 1 */
double rng_lognormal(struct rng *r, double mu, double sigma);
double rng_exponential(struct rng *r, double mean);
double rng_gamma(struct rng *r, double shape, double scale);
int64_t rng_geometric(struct rng *r, double mean); /* >= 1 */

#endif
