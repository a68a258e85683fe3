/*
 * pack.h - decides whether a job's fragments fit together into the free resources of the nodes. It
 * is exact where placing fragments one by one (insert.c) finds nothing. All fragments of a job last
 * equally long, so only the minimum free amounts of each node over that interval matter.
 */
#ifndef PLAN_PACK_H
#define PLAN_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "core/cluster.h"

enum fit {
	FIT_NO, /* proved impossible */
	FIT_YES,
	FIT_UNKNOWN, /* no way was found before the search gave up */
};

#define PACK_KINDS 64 /* maximum distinct fragments of one request; with more there is no search */

/* Equal fragments: those of one shape. */
struct pack_kind {
	struct res need;
	uint32_t shape;
	uint32_t count; /* fragments that are free to choose a node */
	bool alone;	/* shares its node with no other fragment of the job */
	double size;	/* sort key: largest first */
};

struct pack_bin {
	struct res free;
	uint64_t kinds; /* bit i: kind i may be placed here */
	int32_t node;
	bool used;   /* holds a fixed fragment */
	bool closed; /* holds a fixed fragment that shares its node with no other */
};

struct pack {
	const struct cluster *c;
	const struct request *r;
	struct pack_kind kind[PACK_KINDS];
	int nkinds; /* -1: more than PACK_KINDS */
	VEC(struct pack_bin) bins;
	struct map *failed; /* failed searches by their inputs, shared between packs; may be NULL */
	uint64_t steps;	    /* steps taken by the search */
};

/* Starts a pack with the kinds of a request. `scatter`: no two fragments of a job share a node. */
void pack_init(struct pack *k, const struct cluster *c, const struct request *r, bool scatter);
void pack_fini(struct pack *k);

/* Offers a node's free resources to the given kinds. Nodes must be offered in ascending order. */
void pack_offer(struct pack *k, int32_t node, const struct res *free, uint64_t kinds);

/* Searches. On FIT_YES the node of each fragment is written to ret_nodes, which holds one entry
 * for each fragment of the request. The search is exact for up to 16 fragments or 4 kinds;
 * beyond that it gives up after a bounded number of steps. */
enum fit pack_solve(struct pack *k, int32_t *ret_nodes);

/* Returns FIT_YES if the request could be placed with all nodes of the cluster up and empty.
 * Only nodes with usable[node] count, unless `usable` is NULL. */
enum fit pack_empty(const struct cluster *c, const struct request *r, bool scatter, const bool *usable);
/* Does the same where some nodes are in partitions: within a single partition (`parted`), or on
 * nodes outside partitions. Also checks that the site has the amounts the request takes. If the
 * answer is no, *err holds the reason where it is known. */
enum fit pack_apart(const struct cluster *c, const struct request *r, bool parted, bool scatter, const bool *usable,
		    struct err *err);
/* Returns -EINVAL, with a sentence, if the request takes more of an amount than the site has,
 * else 0. */
int pack_refuse_amounts(const struct cluster *c, const struct request *r, struct err *err);
/* Returns -EINVAL, with a sentence for the user that explains why the request cannot be placed. */
int pack_refuse(const struct cluster *c, const struct request *r, bool scatter, const bool *usable, struct err *err);

#endif
