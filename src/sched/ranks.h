/*
 * ranks.h - entries of waiting jobs in the order of their keys.
 *
 * The entries are in blocks of at most RANKS_BLOCK: adding or removing one moves only others of its
 * block, and what a scan reads is contiguous. A summary of each block shows if any of its jobs may
 * fit, so a scan for jobs that fill a gap skips all other blocks. In a long list, summaries of
 * RANKS_SPAN blocks each let it skip them together.
 *
 * Invariants: no block is empty; a summary is exact, except that for a class marked as stale it may
 * promise a job that has left.
 */
#ifndef SCHED_RANKS_H
#define SCHED_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/scratch.h"
#include "base/vec.h"

#define RANKS_BLOCK 256
#define RANKS_SPAN 16	  /* blocks of a span */
#define RANKS_CLASSES 256 /* classes of jobs by what they need (sizes.h) */

struct queued {
	double key;
	int64_t length : 56; /* seconds */
	uint64_t class : 8;
	/* planned start, where every job has a reservation; TIME_NEVER: none. Set by ranks_plan(). */
	int64_t planned;
	uint32_t job;
	int32_t cpus;
};

typedef VEC(struct queued) queued_vec;

/* What a scan looks for: jobs of the `n` classes of `open` that are neither too long nor too
 * wide. */
struct gap {
	int64_t cpus;		       /* most CPUs of a job of any class */
	int32_t length[RANKS_CLASSES]; /* longest job of each class, seconds */
	unsigned n;
	uint8_t open[RANKS_CLASSES];
};

#define REACH_NONE (-1)		   /* a gap holds no job of the class */
#define REACH_MOST (INT32_MAX - 1) /* lengths above it count as this; a block without a job has more */

/* Least length and CPUs of the jobs of each class; INT32_MAX: no such job. */
struct summary {
	bool made;
	uint64_t stale[RANKS_CLASSES / 64]; /* classes for which both may be too low */
	struct {
		int32_t length, cpus;
	} least[RANKS_CLASSES];
};

#define RANKS_GROUPS 16				     /* groups of a block */
#define RANKS_GROUP (RANKS_BLOCK / RANKS_GROUPS * 2) /* maximum entries of a group */

/* What a caller remembers of a block, which it divides into groups of entries: zero in a copy, and
 * when the block is divided or joined, or a group has grown too large; `shape` changes then. */
struct ranks_note {
	void *made;			   /* freed then; NULL: there are no groups */
	uint16_t end[RANKS_GROUPS];	   /* position behind each group; kept up to date */
	uint16_t changed;		   /* groups that have other entries now; the caller clears it */
	int64_t from, until;		   /* when the line holds */
	double since, value, slope, slack; /* the highest line of the block, and how far off it may be */
};

/* Position of an entry; valid until an entry is added or removed. {0} is the first. */
struct spot {
	size_t block, at;
};

struct ranks {
	struct ranks_block **block;
	struct ranks_block *spare; /* the last one of a list that became empty, for its next entry; or NULL */
	struct summary *span;	   /* by RANKS_SPAN blocks, made when a scan needs it */
	uint32_t *planned;	   /* by block: entries with a planned start */
	double *first;		   /* by block: key of the first entry */
	struct ranks_note *note;   /* by block */
	size_t nblocks, cap;
	uint64_t shape;	  /* changes when blocks are added, divided, joined or dropped, and when notes become zero */
	size_t n;	  /* entries of all blocks */
	size_t nplanned;  /* entries with a planned start */
	struct spot gone; /* where the last entry was removed */
};

/* Returns the entry at a position, or NULL behind the last one. The next one is at `at + 1`, even
 * at the end of a block:
 *
 *	for (struct spot i = {0}; (e = ranks_at(r, &i)); i.at++)
 */
struct queued *ranks_at(const struct ranks *r, struct spot *at);
/* Returns the entry `n` positions behind one in the same block, or NULL. For prefetching. */
const struct queued *ranks_ahead(const struct ranks *r, const struct spot *at, size_t n);
/* Returns the i-th entry, i < n. For the first few: walks over the blocks. */
struct queued *ranks_nth(const struct ranks *r, size_t i);
/* Returns the position of the first entry not before (key, job). */
struct spot ranks_find(const struct ranks *r, double key, uint32_t job);
/* Returns the position of the first entry behind (key, job), which need not be there. */
struct spot ranks_after(const struct ranks *r, double key, uint32_t job);
/* Moves to the first entry, from `at` on, of a job that fits into the gap, and returns it, or NULL.
 * *scanned grows by the entries, blocks and spans examined. */
struct queued *ranks_fit(const struct ranks *r, struct spot *at, const struct gap *gap, size_t *scanned);
/* Block by block: writes the entries and returns their number; returns true if a job may fit: the
 * shortest and the narrowest of a class need not be the same job. */
size_t ranks_entries(const struct ranks *r, size_t block, const struct queued **ret);
bool ranks_block_fits(const struct ranks *r, size_t block, const struct gap *gap);
bool ranks_entry_fits(const struct queued *e, const struct gap *gap);
bool gap_fits(const struct gap *gap, unsigned class, int64_t length);
struct ranks_note *ranks_note(const struct ranks *r, size_t block);
/* Moves to the first entry, from `at` on, that has a planned start, or that has none, and returns
 * it, or NULL. */
struct queued *ranks_next(const struct ranks *r, struct spot *at, bool planned);
void ranks_plan(struct ranks *r, struct queued *e, int64_t start); /* sets the start of an entry */

void ranks_insert(struct ranks *r, const struct queued *e);
/* Removes the entry of (key, job), which is there. Returns how many entries of its block were
 * behind it. */
size_t ranks_remove(struct ranks *r, double key, uint32_t job);
/* Adds entries in any order; sorts them. */
void ranks_merge(struct ranks *r, queued_vec *batch);
/* Replaces all entries; sorts them. */
void ranks_build(struct ranks *r, queued_vec *entries);

/* Copies into an empty list. With a scratch, the blocks are in it: ranks_bytes() of them. */
void ranks_copy(struct ranks *to, const struct ranks *from, struct scratch *scratch);
size_t ranks_bytes(const struct ranks *r);
void ranks_free(struct ranks *r);

#endif
