/*
 * work.h - requests that take longer than a turn of the loop may: they are done in slices.
 *
 * A work does a little at each step. In each turn those there are get some milliseconds together, one after the other, so that none waits for another
 * to end; then the turn goes on as always, and what was done is committed. Between two slices anything may happen: other requests, ends of jobs, cycles
 * of the scheduler. So a work addresses what it deals with by ids, and looks again each time.
 *
 * One that changes something is not continued while the store can't be written, and given up when that takes too long, or when the server stops. What was done stays
 * done.
 */
#ifndef SERVER_WORK_H
#define SERVER_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct server;
struct work;

struct work_kind {
	/* Does a part that takes well below a millisecond. False: that was the last one; it has answered, and freed itself. */
	bool (*step)(struct server *s, struct work *w);
	/* Others come next: what was seen so far may change. */
	void (*pause)(struct server *s, struct work *w);
	/* It is given up: answers, and frees itself. */
	void (*stop)(struct server *s, struct work *w, const char *why);
	bool reads;   /* it changes nothing, and goes on while the store can't be written */
	bool lasting; /* nobody waits for it: it is given up only when the server stops */
};

/* The first member of each; owned by slices.works. */
struct work {
	const struct work_kind *kind;
	int64_t continued_us; /* boot_us */
	bool waits;	      /* set by a step that has nothing to do until another work has ended, ... */
	bool sleeps;	      /* ... or until something comes from outside, which wakes the turn */
};

/* What is done in slices. */
struct slices {
	VEC(struct work *) works;	/* in turn */
	int64_t slice_steps;		/* that a slice has at most; 0: as many as its time allows */
	bool sliced;			/* since the last poll there has been a slice */
	VEC(struct acted *) acted;	/* acted.c: actions with a key */
	int64_t acted_sweep;		/* instant */
	struct submit_work *submitting; /* api_submit.c: the large one that is being taken over; NULL: none */
	bool accepted;			/* ... and its jobs begin to wait: not all are there yet */
	struct whatif_work *asking;	/* api_whatif.c: the one that is being answered; NULL: none */
	struct work *foretelling;	/* api_reservations.c: the dry run that is being answered; NULL: none */
	struct placing *placing;	/* api_place.c: the one whose turn it is; NULL: none */
	struct work *news_work;		/* block.c; NULL: what jobs mean for others has been looked at */
	int64_t depend_steps;		/* that this turn has left for them */
	int queue_works;		/* block.c: queues whose jobs are being looked at; */
	int queue_stops;		/* ... those that were stopped */
	struct reorder *reorder;	/* order.c; NULL: all are in order */
};

void work_add(struct server *s, struct work *w, const struct work_kind *kind);
void work_remove(struct server *s, const struct work *w); /* it ends otherwise than by its step */
bool works_ready(const struct server *s);		  /* there is something to do in the next turn */
void works_turn(struct server *s);			  /* a slice */
void works_wait(struct server *s);			  /* none now: gives up those that have waited for too long */
void works_stop(struct server *s, const char *why);	  /* all of them */

#endif
