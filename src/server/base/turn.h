/*
 * turn.h - what a turn of the loop has to do, and what the loop waits for.
 */
#ifndef SERVER_TURN_H
#define SERVER_TURN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct server;

/* What a turn spends its time on. */
enum turn_part {
	TURN_CALLS,  /* callbacks: requests, results, timers */
	TURN_DUE,    /* what is due by time */
	TURN_WORKS,  /* a slice of what is done in slices */
	TURN_DECIDE, /* the scheduler, and what follows from it */
	TURN_COMMIT,
	TURN_TELL, /* orders, replies, mails, streams */
	TURN_PARTS
};

struct turn {
	uv_check_t check;
	uv_prepare_t prepare;
	uv_timer_t timer;
	uv_signal_t term, interrupt, hangup;
	uint64_t requests; /* that were there at the last turn */
	bool asked;	   /* there are more in this one */
	bool dirty;	   /* the scheduler must look */
	bool undecided;	   /* its cycle goes on in the next turn */
	bool over;	   /* the loop was to wait for a time that has gone by before it could */
	bool cycled;	   /* ... since a request of this one has had its share already */
	bool route;	   /* a destination may accept now what waits in a routing queue */
	bool merging;	   /* what is in the spool comes first: nothing is decided until it has been done */
	bool emptying;	   /* to stop when the last job has ended */
	bool terminating, stopped;
	bool dismissed;	   /* it was asked to stop by 'shunt down': commands need not wait until it is back */
	bool farewell;	   /* that agents are told to wait is in the store */
	uint64_t settings; /* how often queues and accounts were changed */
	int64_t wake;	   /* when the scheduler wants to be called */
	char *trouble;	   /* the store can't be written: why */
	bool full;	   /* ... since its disk is full, which will last */
	int64_t retry_us;  /* when to try again */
	char *reserve;	   /* path of the file that keeps room for the store (reserve.h); NULL: none */
	int64_t commit_us; /* changes wait for others until then; 0: none do */
	struct {
		int64_t at_us, idle_us, cpu_us;
		int64_t part_us; /* ... and that of the processor when the last part ended */
		int64_t read_us; /* when it was read; CLOCK_MONOTONIC */
		int64_t parts_us[TURN_PARTS];
	} held; /* the three clocks at the last poll, and what has been done since */
};

/* First in every callback but requests: reads the clock, lets the scheduler decide. */
void turn_wake(struct server *s);

/* A part has ended: the processor time since the last one was its, unless that was a moment ago. */
void turn_spent(struct server *s, enum turn_part part);
/* The turn is over, the loop waits for what comes. */
void turn_count(struct server *s);
const char *turn_part_name(enum turn_part part);

#endif
