/*
 * graph.h - bags whose tasks depend on each other: a bag file with lines that name the next task
 * and its predecessors.
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
 * A task starts when all its predecessors have succeeded. Its priority is its longest remaining
 * path: the expected time (`time`, default one second) of itself and its successors. A task without
 * a name is called by its number. In a plain bag these lines are comments.
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
	int64_t seconds;   /* expected time */
	int64_t remaining; /* length of its longest path to an end, itself included, seconds */
	int waits;	   /* number of predecessors that have not succeeded */
	int first, nafter; /* its successors: g->after.v[first ...] */
};

struct graph {
	struct bag bag;
	struct graph_task *tasks; /* in the order of the bag */
	int n;
	VEC(int) after; /* successors of all tasks, one task after another */
};

/* Parses a text, which is borrowed for the life of the graph. -EINVAL with the line number, or
 * with the name of a task that waits for itself. */
int graph_parse(const char *text, size_t n, struct graph *ret, struct err *err);
void graph_fini(struct graph *g);
/* Notes that a task has succeeded; calls `ready` for each task whose predecessors have all
 * succeeded. */
void graph_done(struct graph *g, int task, void (*ready)(void *context, int task), void *context);

#endif
