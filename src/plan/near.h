/*
 * near.h - keeps the nodes of a job close together in the tree of switches (core/topology.h).
 */
#ifndef PLAN_NEAR_H
#define PLAN_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/topology.h"

/* Chooses leaf switches for `count` parts, given the parts each leaf has room for, and marks
 * them in `ret`: as few leaves as possible, then below a switch as low as possible, then with as
 * little room as possible. Leaves marked in `own` (NULL: none) hold parts already and cost
 * nothing. Returns false if there is not enough room. */
bool near_choose(const struct topology *t, const int64_t *room, const bool *own, int64_t count, bool *ret);

/* Returns the number of distinct leaves among the nodes, given by node.leaf; 0 counts as a leaf
 * of its own. */
uint32_t near_span(const uint32_t *leaf, uint32_t n);

#endif
