/*
 * cursor.h - walks a list of waiting jobs in the order in which a policy considers them.
 *
 * Usually that is the order of the list. WFP3's priorities grow with time, each at a rate of its
 * own, so no order lasts: its list is sorted by shape (queue_shape), and a cursor finds one job
 * after the other by the priorities of the instant line.weighed.
 *
 *	for (cursor_open(&i, s, queue); (e = cursor_at(&i)); cursor_step(&i))
 */
#ifndef SCHED_CURSOR_H
#define SCHED_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "sched/ranks.h"

struct sched;

/* A job, or a group of jobs of a block, none of which comes earlier than the key. */
struct cursor_item {
	double key, shape;   /* shape: key of the job in its list */
	uint32_t job, block; /* job: for a group, its number in the block */
};

struct cursor {
	const struct sched *s;
	const struct ranks *queue;
	struct spot at; /* position; unused if the order is not that of the list */
	bool rising;	/* the order is that of the priorities at an instant */
	bool narrow;	/* rising: only what fitted into the gap is left */
	double key;	/* rising: jobs before (key, job) are passed over */
	uint32_t job;
	uint64_t shape; /* rising: value of queue->shape that the following was made for */
	size_t first;	/* rising: block with the least bound */
	/* rising: by block, a key that no job is before; INFINITY: its groups are in `heap`, or no
	 * job fits */
	VEC(double) bounds;
	VEC(double) least; /* rising: least bound of each RANKS_SPAN blocks */
	/* rising: what is left of the other blocks, least key first */
	VEC(struct cursor_item) heap;
};

/* Opens a cursor at the first job, or where another one is; cursor_close() frees its memory. */
void cursor_open(struct cursor *i, const struct sched *s, const struct ranks *queue);
void cursor_copy(struct cursor *to, const struct cursor *from);
void cursor_close(struct cursor *i);
/* Returns the entry at the cursor, or NULL behind the last one. Its key is that of the list. */
struct queued *cursor_at(struct cursor *i);
/* Moves to the first entry, from the present one on, of a job that may fit into the gap, and
 * returns it, or NULL: see ranks_fit(). A gap may only become smaller. */
struct queued *cursor_fit(struct cursor *i, const struct gap *gap, size_t *scanned);
void cursor_step(struct cursor *i);
/* Continues behind an entry that cursor_at() or cursor_fit() returned, and that has left since. */
void cursor_left(struct cursor *i, const struct queued *e);
/* Returns the key by which the cursor orders an entry. cursor_seek() moves a cursor that was just
 * opened to the first entry that is not before (key, job) by it. */
double cursor_key(const struct cursor *i, const struct queued *e);
void cursor_seek(struct cursor *i, double key, uint32_t job);

/* Returns the key of a list whose order a cursor computes: jobs of similar shapes are together. */
double rising_shape(unsigned class, int64_t length);
/* Returns the key of WFP3 at an instant for a job that has waited since `rank`. */
double rising_key(int64_t at, double rank, int64_t length, int64_t cpus);

#endif
