/*
 * work.h - requests that take longer than a turn of the loop may: they are done in slices.
 *
 * A work does a little at each step. In each turn the works share some milliseconds, one step after
 * the other, so that none waits for another to end; then the turn continues as usual, and the
 * changes are committed. Anything may happen between two slices: other requests, ends of jobs,
 * scheduler cycles. So a work refers to jobs and nodes by id and looks them up each time. A work
 * that makes changes pauses while the store cannot be written, and is given up if that takes too
 * long or the server stops. Changes already made remain.
 */
#ifndef SERVER_WORK_H
#define SERVER_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct server;
struct work;

struct work_kind {
	/* Does a part that takes well below a millisecond. Returns false after the last one; the
	 * work has then replied and freed itself. */
	bool (*step)(struct server *s, struct work *w);
	/* Called before other code runs: anything seen so far may change. May be NULL. */
	void (*pause)(struct server *s, struct work *w);
	/* Gives the work up: replies, and frees itself. */
	void (*stop)(struct server *s, struct work *w, const char *why);
	bool reads;   /* it changes nothing, and continues while the store cannot be written */
	bool lasting; /* no client waits for it: given up only when the server stops */
};

/* First member of each work; owned by slices.works. */
struct work {
	const struct work_kind *kind;
	int64_t continued_us; /* boot_us */
	/* set by a step that has nothing to do until another work has ended */
	bool waits;
	/* set by a step that waits for an outside event, which wakes the turn */
	bool sleeps;
};

/* The works of the server. */
struct slices {
	VEC(struct work *) works;  /* in round-robin order */
	int64_t slice_steps;	   /* steps per slice at most; 0: limited by time only */
	bool sliced;		   /* there was a slice since the last poll */
	VEC(struct acted *) acted; /* actions with an idempotency key (acted.c) */
	int64_t acted_sweep;	   /* instant */
	/* large submission being accepted (api_submit.c); NULL: none */
	struct submit_work *submitting;
	bool accepted; /* its jobs have begun to wait, but not all exist yet */
	/* what-if query being answered (api_whatif.c); NULL: none */
	struct whatif_work *asking;
	/* dry run being answered (api_reservations.c); NULL: none */
	struct work *foretelling;
	/* placement request being answered (api_place.c); NULL: none */
	struct placing *placing;
	/* follow-up to starts and ends of jobs (block.c); NULL: done */
	struct work *news_work;
	int64_t depend_steps; /* steps that this turn has left for dependencies */
	/* number of queues whose jobs are being visited (block.c) */
	int queue_works;
	int queue_stops; /* number of those visits that were stopped */
	/* reordering in progress (order.c); NULL: all jobs are in order */
	struct reorder *reorder;
};

void work_add(struct server *s, struct work *w, const struct work_kind *kind);
/* Returns true if a work has something to do in the next turn. */
bool works_ready(const struct server *s);
void works_turn(struct server *s); /* runs one slice */
/* Gives up works that have waited too long; called in turns without a slice. */
void works_wait(struct server *s);
void works_stop(struct server *s, const char *why); /* gives up all works */

#endif
