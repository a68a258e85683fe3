/*
 * filler.h - a bag that uses what is idle on a Shunt server, and delays nobody: which hole of the plan it may request, and when it has to give back what it has.
 *
 * A request goes only into a hole that begins now, and ends before anybody is planned there. That is not enough, since jobs come, and others end early: so as soon as a
 * job of others would be planned earlier without what fillers have, all of them give that back: together they may keep away what none of them would alone. CPUs of nodes are counted. A job that waits for something
 * else although there is room for it, such as a limit or memory, can't be told from one that waits for the bag: then nothing is requested. Pure.
 */
#ifndef BAG_FILLER_H
#define BAG_FILLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	FILLER_MARGIN = 5,     /* seconds by which it leaves before others come */
	FILLER_WORK = 5000000, /* looks at pieces: a plan that needs more is too large to be sure */
};

struct filler_node {
	int64_t cpus;
	int64_t until; /* from then on it is kept for others, or leaves; TIME_NEVER: it does not */
};

/* A fragment of a job on a node, or where it is planned. */
struct filler_piece {
	uint32_t node, job; /* job: a number that its pieces share, from 0 without gaps */
	int64_t cpus, start, end;
	bool running;
	bool ours; /* a filler's: this bag's, or that of another, which gives way to the same jobs */
	bool own;  /* this bag's */
};

struct filler_plan {
	VEC(struct filler_node) nodes;
	VEC(struct filler_piece) pieces;
	bool whole; /* every job that waits is there */
};

/* Whether a job of others could start earlier than it is planned to if nothing of ours were there and all others stayed where they are, or if that is unknown. */
bool filler_in_the_way(const struct filler_plan *p, int64_t now);

struct filler_wish {
	int64_t each;	       /* CPUs of a task: they must be on one node */
	int64_t task;	       /* seconds that one takes */
	int64_t tasks;	       /* CPUs that all of them need */
	int64_t cpus, seconds; /* of a request, at most */
};
struct filler_hole {
	int64_t cpus, seconds; /* cpus 0: none */
};
/* The hole, beginning now, in which the most tasks can be done. */
struct filler_hole filler_hole(const struct filler_plan *p, int64_t now, const struct filler_wish *w);

#endif
