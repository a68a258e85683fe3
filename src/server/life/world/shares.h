/*
 * shares.h - jobs with a price that get a share of a shared node's CPUs instead of whole CPUs
 * (docs/libra.md, rules/libra.h).
 *
 * This is decided once, at submission: if a shared node can take the job now, with capacity until
 * its deadline, the job has a share from then on, and the plan holds it like the CPUs of other
 * jobs. Otherwise it requests whole CPUs on the other nodes.
 */
#ifndef SERVER_SHARES_H
#define SERVER_SHARES_H

#include <stdbool.h>

struct server;
struct spec;

/* Decides for one job; to be called after earlier submissions were decided. Ignores a job
 * without a price, or with a share. */
void shares_choose(struct server *s, struct spec *p);
/* Returns true if shared nodes could ever hold a job with a price. */
bool shares_could(struct server *s, const struct spec *p);

#endif
