/*
 * shaken.h - does a policy win by luck? Ratios of what matters to those of another policy, on the
 * workload as recorded and on copies of it whose submissions were moved by up to SHAKE_SECONDS.
 */
#ifndef CMD_SHAKEN_H
#define CMD_SHAKEN_H

#include "base/json.h"
#include "cmd/sim/runs.h"

/* What the others are measured against: `easy` where it is among the policies, else the first. */
int shaken_base(const struct runs *r);
void shaken_print(const struct runs *r, int base, uint64_t seed, FILE *out);
void shaken_json(struct json *j, const struct runs *r, int base, uint64_t seed);

#endif
