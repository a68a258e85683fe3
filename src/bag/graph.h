/*
 * graph.h - bags whose tasks wait for each other: a bag file with lines that name the next task and those before it.
 *
 *	#task split time=30
 *	split data
 *	#task left after=split time=5m
 *	work data.0
 *	#task right after=split arch=x86_64
 *	work data.1
 *	#task after=left,right
 *	join data.*
 *
 * A task starts when those before it have succeeded. Its priority is its longest remaining path: the expected time (`time`, one second if it is not stated) of itself and of what
 * follows. A task without a name is called by its number. To a bag these lines are comments.
 */
#ifndef BAG_GRAPH_H
#define BAG_GRAPH_H

#include "bag/bagfile.h"

#define GRAPH_NAME_SIZE 64
#define GRAPH_TASKS_MOST 100000
#define GRAPH_EDGES_MOST 1000000

struct graph_task {
	char name[GRAPH_NAME_SIZE];
	char arch[16];	   /* "": any */
	int64_t memory;	   /* KiB; 0: any */
	int64_t seconds;   /* it is expected to take */
	int64_t remaining; /* seconds of its longest path to an end, itself included */
	int waits;	   /* for so many that have not succeeded */
	int first, nafter; /* its successors: g->after.v[first ...] */
};

struct graph {
	struct bag bag;
	struct graph_task *tasks; /* as in the bag */
	int n;
	VEC(int) after; /* of all tasks, those that wait for them */
};

/* The text is borrowed for the life of the graph. -EINVAL: with the line's number, or the names of a circle. */
int graph_parse(const char *text, size_t n, struct graph *ret, struct err *err);
void graph_fini(struct graph *g);
/* A task has succeeded: `ready` is called for each that waits for nothing any more. */
void graph_done(struct graph *g, int task, void (*ready)(void *context, int task), void *context);

#endif
