/*
 * shaken.h - tests whether a policy wins by luck: ratios of its measures to those of another
 * policy, on the workload as recorded and on copies whose submissions were moved by up to
 * SHAKE_SECONDS.
 */
#ifndef CMD_SHAKEN_H
#define CMD_SHAKEN_H

#include "base/json.h"
#include "cmd/sim/runs.h"

/* Returns the policy to compare with: `easy` if it is among the policies, else the first. */
int shaken_base(const struct runs *r);
void shaken_print(const struct runs *r, int base, uint64_t seed, FILE *out);
void shaken_json(struct json *j, const struct runs *r, int base, uint64_t seed);

#endif
