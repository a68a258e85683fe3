/* turn.h - state of a turn of the loop, and what the loop waits for. */
#ifndef SERVER_TURN_H
#define SERVER_TURN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct server;

/* Parts of a turn, for the accounting of its time. */
enum turn_part {
	TURN_CALLS,  /* callbacks: requests, results, timers */
	TURN_DUE,    /* timed chores */
	TURN_WORKS,  /* a slice of the sliced works */
	TURN_DECIDE, /* the scheduler and the follow-up to its decisions */
	TURN_COMMIT,
	TURN_TELL, /* orders, replies, mails, streams */
	TURN_PARTS
};

struct turn {
	uv_check_t check;
	uv_prepare_t prepare;
	uv_timer_t timer;
	uv_signal_t term, interrupt, hangup;
	uint64_t requests; /* number of requests at the last turn */
	bool asked;	   /* new requests came in during this turn */
	bool dirty;	   /* the scheduler must run */
	bool undecided;	   /* the scheduler's cycle continues in the next turn */
	bool over;	   /* the loop's wake-up time passed before it could wait */
	bool cycled;	   /* a request of this turn has already run a part of the cycle */
	bool route;	   /* a destination may now accept jobs that wait in a routing queue */
	bool merging;	   /* the spool is being merged: nothing is decided until that is done */
	bool emptying;	   /* stop when the last job has ended */
	bool terminating, stopped;
	/* stopped by 'shunt down': commands need not wait for the server's return */
	bool dismissed;
	bool farewell;	   /* the store has the record that agents were asked to wait */
	uint64_t settings; /* number of changes to queues and accounts */
	int64_t wake;	   /* instant at which the scheduler wants to be called */
	char *trouble;	   /* why the store cannot be written, or NULL */
	/* the store cannot be written because its disk is full, which may last */
	bool full;
	int64_t retry_us; /* time of the next try */
	/* path of the file that reserves space for the store (reserve.h); NULL: none */
	char *reserve;
	int64_t reserve_us; /* boot clock until which the disk is known to have plenty of space */
	int64_t commit_us;  /* changes wait until then to be committed together; 0: none wait */
	struct {
		int64_t at_us, idle_us, cpu_us;
		int64_t part_us; /* processor clock when the last part ended */
		int64_t read_us; /* when the processor clock was read; CLOCK_MONOTONIC */
		int64_t parts_us[TURN_PARTS];
	} held; /* the three clocks at the last poll, and the time spent on each part since then */
};

/* Reads the clock and lets the scheduler decide. Every callback except requests calls it first. */
void turn_wake(struct server *s);

/* Charges the processor time since the last call to `part`, unless that call was a moment ago. */
void turn_spent(struct server *s, enum turn_part part);
/* Closes the accounts of a turn before the loop waits. */
void turn_count(struct server *s);
const char *turn_part_name(enum turn_part part);

#endif
