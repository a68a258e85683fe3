/*
 * near.h - keeping the nodes of a job close together in the tree of switches (core/topology.h).
 */
#ifndef PLAN_NEAR_H
#define PLAN_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/topology.h"

/* Of leaves with room for so many parts each, the ones that a job of `count` takes, marked in `ret`: as few as possible, of those
 * below one switch as low as possible, and of these as little room as possible. False: they have not enough. Parts that are there
 * already cost nothing where `own` is set; NULL: there are none. */
bool near_choose(const struct topology *t, const int64_t *room, const bool *own, int64_t count, bool *ret);

/* How many leaves these nodes have, each given by node.leaf (0 counts as one of its own). */
uint32_t near_span(const uint32_t *leaf, uint32_t n);

#endif
