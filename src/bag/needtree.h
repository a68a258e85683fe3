/*
 * needtree.h - finds the lowest waiting task that a worker can run, among up to 65,536 different
 * needs, without looking at each. Pure.
 */
#ifndef BAG_NEEDTREE_H
#define BAG_NEEDTREE_H

#include "bag/bagfile.h"

/* What must be enough for a need. */
struct needroom {
	int64_t cpus, gpus, memory; /* memory -1: unknown */
	int64_t seconds;	    /* time that is left; -1: no end */
	int64_t usual;		    /* seconds of a need that states no time */
};

struct needtree;
/* Begins with no task waiting; the bag is borrowed. */
struct needtree *needtree_create(const struct bag *bag);
void needtree_destroy(struct needtree *t);

/* Notes the first task that waits with this need; 0: none. */
void needtree_set(struct needtree *t, uint32_t need, uint32_t first);
bool need_fits(const struct bag_need *need, const struct needroom *room);
/* Finds the lowest first task below `below` (0: any) whose need fits and that `accepts` takes;
 * returns it and its need. 0: none. */
uint32_t needtree_find(struct needtree *t, const struct needroom *room, uint32_t below,
		       bool (*accepts)(void *context, uint32_t need), void *context, uint32_t *ret_need);
/* Returns how many parts of the tree were looked at so far; for tests. */
uint64_t needtree_steps(const struct needtree *t);

#endif
