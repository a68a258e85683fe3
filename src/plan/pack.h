/*
 * pack.h - whether fragments fit together into what is free on each node: exact where placing one after the other (insert.c)
 * finds nothing. All fragments of a job last equally long, so that what counts of a node is its least free amounts
 * meanwhile.
 */
#ifndef PLAN_PACK_H
#define PLAN_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "core/cluster.h"

enum fit {
	FIT_NO, /* proved: there is no way */
	FIT_YES,
	FIT_UNKNOWN, /* none was found before the search gave up */
};

#define PACK_KINDS 64 /* distinct fragments of one request; with more there is no search */

/* Equal fragments: those of one shape. */
struct pack_kind {
	struct res need;
	uint32_t shape;
	uint32_t count; /* of those that are free to choose a node */
	bool alone;	/* no other fragment of the job beside it */
	double size;	/* for the order: largest first */
};

struct pack_bin {
	struct res free;
	uint64_t kinds; /* bit i: kind i may be there */
	int32_t node;
	bool used;   /* by a fixed fragment */
	bool closed; /* ... beside which there must be none */
};

struct pack {
	const struct cluster *c;
	const struct request *r;
	struct pack_kind kind[PACK_KINDS];
	int nkinds; /* -1: too many */
	VEC(struct pack_bin) bins;
	struct map *failed; /* searches made in vain, by what there was: shared between packs; or NULL */
	uint64_t steps;	    /* taken by the search */
};

/* Begins: the kinds of a request. `scatter`: no two fragments of a job on one node. */
void pack_init(struct pack *k, const struct cluster *c, const struct request *r, bool scatter);
void pack_fini(struct pack *k);

/* Offers what a node has free to the kinds that may be there; nodes ascending. */
void pack_offer(struct pack *k, int32_t node, const struct res *free, uint64_t kinds);

/* Searches. FIT_YES: the node of each fragment goes to ret_nodes, which has room for as many as the request has. Exact for up
 * to 16 fragments or 4 kinds; beyond that it gives up after a bounded number of steps. */
enum fit pack_solve(struct pack *k, int32_t *ret_nodes);

/* Whether the request could ever be placed: on the cluster's nodes, all up and empty; only those with usable[node], unless
 * NULL. */
enum fit pack_empty(const struct cluster *c, const struct request *r, bool scatter, const bool *usable);
/* The same where some nodes are in partitions: in one of them alone (`parted`), or on nodes outside partitions; and whether
 * the site has the amounts that it takes. If not, why not, where that is known. */
enum fit pack_apart(const struct cluster *c, const struct request *r, bool parted, bool scatter, const bool *usable,
		    struct err *err);
/* More of an amount than the site has: -EINVAL, with a sentence; 0: of none. */
int pack_refuse_amounts(const struct cluster *c, const struct request *r, struct err *err);
/* Why it could not, where that is known: -EINVAL, with a sentence for the user. */
int pack_refuse(const struct cluster *c, const struct request *r, bool scatter, const bool *usable, struct err *err);

#endif
