/*
 * shares.h - jobs with a price that get a share of a shared node's CPUs instead of CPUs of their own (docs/libra.md, rules/libra.h).
 *
 * That is decided once, when such a job is submitted: if a shared node can take it now, with room until its deadline, it is one with a share from then on, and the plan has its share
 * as it has CPUs of others. Else it asks for whole CPUs on the other nodes.
 */
#ifndef SERVER_SHARES_H
#define SERVER_SHARES_H

#include <stdbool.h>

struct server;
struct spec;

/* Decides; to be called after what came before has been decided about. Nothing happens to a job without a price, or one that has a share. */
void shares_choose(struct server *s, struct spec *p);
/* Whether shared nodes could ever hold a job with a price. */
bool shares_could(struct server *s, const struct spec *p);

#endif
