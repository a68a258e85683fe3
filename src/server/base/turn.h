/*
 * turn.h - what a turn of the loop has to do, and what the loop waits for.
 */
#ifndef SERVER_TURN_H
#define SERVER_TURN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct server;

struct turn {
	uv_check_t check;
	uv_prepare_t prepare;
	uv_timer_t timer;
	uv_signal_t term, interrupt, hangup;
	uint64_t requests; /* that were there at the last turn */
	bool asked;	   /* there are more in this one */
	bool dirty;	   /* the scheduler must look */
	bool undecided;	   /* its cycle goes on in the next turn */
	bool emptying;	   /* to stop when the last job has ended */
	bool terminating, stopped;
	bool dismissed;	   /* it was asked to stop by 'shunt down': commands need not wait until it is back */
	bool farewell;	   /* that agents are told to wait is in the store */
	int64_t wake;	   /* when the scheduler wants to be called */
	char *trouble;	   /* the store can't be written: why */
	int64_t retry_us;  /* when to try again */
	int64_t commit_us; /* changes wait for others until then; 0: none do */
	struct {
		int64_t at_us, idle_us, cpu_us;
	} held; /* the three clocks at the last poll */
};

/* First in every callback but requests: reads the clock, lets the scheduler decide. */
void turn_wake(struct server *s);

#endif
