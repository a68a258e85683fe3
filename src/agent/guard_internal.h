/*
 * guard_internal.h - the guard of a workstation, shared by its files.
 *
 *	guard.c		observes, decides, acts
 *	guard_book.c	counters, the owner's usual hours, the pause: owner.json
 *	guard_door.c	the socket for queries and orders from `shunt owner`
 */
#ifndef AGENT_GUARD_INTERNAL_H
#define AGENT_GUARD_INTERNAL_H

#include "agent/agent_internal.h"
#include "agent/guard.h"
#include "core/habit.h"
#include "station/sentry.h"

struct guard_book {
	struct owner_book total;
	struct habit habit;
	int hour; /* hour of the week that is being learned; -1: none yet */
	int64_t hour_ms, hour_claimed_ms;
};

/* A part of a job that runs here. */
struct guarded {
	char tag[64];
	pid_t shepherd;
	bool here;	/* seen in this pass */
	bool leaves;	/* ordered by the server: it must run in order to end or save its work */
	bool suspended; /* suspended by its user */
	bool held;	/* stopped by us */
	int64_t cpu_ms; /* CPU time when last measured */
};

struct guard {
	struct agent *a;
	bool on; /* this is a workstation */
	struct sentry sentry;
	uint64_t gpus;	 /* GPUs that the owner uses, one bit each */
	int64_t gpus_at; /* uv_now() when they were last checked */
	uv_timer_t timer;
	int64_t counted; /* uv_now() of the last tick */
	int64_t weighed; /* uv_now() when our tasks' usage was last measured */
	VEC(struct guarded) parts;
	/* tags of parts that had to leave for the owner, until their ends are counted */
	name_list leavers;
	uid_t paused_by;
	struct guard_book book;
	/* seconds since 1970 of the last input known to an earlier agent; 0: none */
	int64_t input_at;
};

/* guard.c */
void guard_turn(struct guard *g); /* looks now instead of at the next tick */
/* Returns true if the process belongs to a job. */
bool guard_ours(const struct guard *g, pid_t pid);

/* guard_book.c */
void guard_book_load(struct guard *g);
void guard_book_store(struct guard *g);
void guard_book_count(struct guard *g, int64_t ms); /* counts the time that has passed */
json_t *guard_book_json(const struct guard *g);

/* guard_door.c */
int guard_door_open(struct guard *g, struct err *err);

#endif
