/*
 * partition.h - which partitions a job may run in, and how many processors it has there: what is checked when it is submitted.
 *
 * A job names a partition, a number of processors, both or neither:
 *
 *	neither		partitions of one size: any of them, with all of its processors
 *			partitions of several sizes: refused, the number is missing
 *	a partition	that one, with all of its processors
 *	a number	any partition of exactly that size; if there is none, any of the smallest that are larger: sized down
 *	both		that partition, sized down if it is larger
 *
 * A larger partition than need be stays free for jobs that make better use of it, even if the smallest ones are busy. It is refused if the
 * partition does not exist, or is too small, or if none is large enough.
 *
 * Where a site has partitions and nodes outside partitions, a job that does not mention partitions runs on the nodes outside them.
 */
#ifndef RULES_PARTITION_H
#define RULES_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"
#include "rules/queue.h"

/* What the user said of it. */
struct partition_ask {
	const char *name; /* of a partition; NULL: none is named */
	bool any;	  /* it is to run in a partition, whichever suits it */
	int64_t procs;	  /* 0: not said */
};

/* What follows. */
struct partition_choice {
	int64_t procs; /* that it has */
	uint32_t
		allowed; /* the nodes of the partitions that suit it: job.allowed; NODES_ALL: it runs on nodes outside partitions */
};

/* Whether a job runs in a partition: it mentions one, or there are no nodes outside partitions. */
bool partition_wanted(const struct cluster *c, const struct partition_ask *ask);

/* Returns the processors of a job that mentions neither a partition nor their number, and runs in a partition;
 * 0: it does not, or has to say how many. */
int64_t partition_usual(const struct cluster *c);

/* Chooses. -EINVAL, with a sentence that names the cause: it is refused. */
int partition_choose(struct cluster *c, const struct partition_ask *ask, struct partition_choice *ret, struct err *err);

/* The request of a job in a partition: `procs` processors, cut for the nodes of the partitions that suit it. */
uint32_t partition_request(struct cluster *c, const struct partition_choice *choice);

/* What a text asks for. */
struct partition_ask partition_ask_of(const struct reqtext *text);
/* When it is submitted: a text that does not say how many processors, of a job in a partition, gets those of its partition. -EINVAL: it is refused. */
int partition_complete(struct cluster *c, struct reqtext *text, struct arena *arena, struct err *err);
/* The request of a text, and the nodes that suit it; a text without a number means one processor. It depends on the number of processors alone into
 * how many fragments it is cut: so what is known of a job stays right when partitions change. -EINVAL: it is refused; if only because of the partition, the request is set all the same, and no
 * node suits it. */
int partition_resolve(struct cluster *c, const struct reqtext *text, uint32_t *ret_request, uint32_t *ret_allowed,
		      struct err *err);

/* The partitions of a site, in a cluster that has none. -EINVAL: a node is not there, or in two of them. */
int partitions_of_site(struct cluster *c, const struct ruleset *site, struct err *err);

/* Whether fewer processors were asked for than each suitable partition has: the others of its nodes stay idle. */
bool partition_sized_down(const struct cluster *c, const struct partition_choice *choice);

#endif
