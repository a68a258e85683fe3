/*
 * filler.h - for a bag that uses idle resources of a Shunt server and delays no other job: which
 * hole of the plan it may request, and when it must give back what it has.
 *
 * A request only goes into a hole that begins now and ends before another job is planned there.
 * That is not enough, since jobs arrive and others end early. So as soon as another job would be
 * planned earlier without the fillers, all fillers give their resources back: together they may
 * delay a job that none of them delays alone. Only CPUs of nodes are counted. A job that waits for
 * something else although it would fit, such as a limit or memory, looks the same as one that waits
 * for the bag; then nothing is requested. Pure.
 */
#ifndef BAG_FILLER_H
#define BAG_FILLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	FILLER_MARGIN = 5, /* seconds from a request's end to the next planned job */
	/* pieces examined, at most; a plan that needs more is too large to be sure */
	FILLER_WORK = 5000000,
};

struct filler_node {
	int64_t cpus;
	int64_t until; /* when it becomes reserved for others, or leaves; TIME_NEVER: never */
};

/* A fragment of a job on a node, running or planned. */
struct filler_piece {
	uint32_t node, job; /* job: number shared by the pieces of a job, from 0 without gaps */
	int64_t cpus, start, end;
	bool running;
	/* belongs to a filler: this bag, or another one that gives way to the same jobs */
	bool ours;
	bool own; /* belongs to this bag */
};

struct filler_plan {
	VEC(struct filler_node) nodes;
	VEC(struct filler_piece) pieces;
	bool whole; /* every waiting job is listed */
};

/* Returns true if some job that is not a filler's could start earlier than planned if the
 * fillers were gone and everything else stayed in place, or if that is unknown. */
bool filler_in_the_way(const struct filler_plan *p, int64_t now);

struct filler_wish {
	int64_t each;	       /* CPUs of a task, which must be on one node */
	int64_t task;	       /* seconds of a task */
	int64_t tasks;	       /* CPUs that all tasks need */
	int64_t cpus, seconds; /* limits of a request */
};
struct filler_hole {
	int64_t cpus, seconds; /* cpus 0: no hole */
};
/* Returns the hole beginning now in which the most tasks can be done. */
struct filler_hole filler_hole(const struct filler_plan *p, int64_t now, const struct filler_wish *w);

#endif
