/*
 * guard_internal.h - the guard of a workstation, and what its files are to each other.
 *
 *	guard.c		sees, decides, acts
 *	guard_book.c	what was given away and lost, the owner's usual hours, the pause: owner.json, on the disk and for the server
 *	guard_door.c	the socket at which `shunt owner` asks and orders
 */
#ifndef AGENT_GUARD_INTERNAL_H
#define AGENT_GUARD_INTERNAL_H

#include "agent/agent_internal.h"
#include "agent/guard.h"
#include "core/habit.h"
#include "station/door.h"
#include "station/owner.h"
#include "station/people.h"
#include "station/senses.h"

#define PAUSE_NEVER_ENDS INT64_MAX

/* All that was counted since this machine became a workstation. */
struct guard_book {
	int64_t given_ms;   /* processor time of our tasks */
	int64_t claimed_ms; /* in which the owner had the machine */
	int64_t lost_ms;    /* processor time of parts that had to leave, which is in no checkpoint */
	int64_t stops;	    /* how often our tasks were stopped, */
	int64_t left;	    /* ... and how many parts had to leave */
	struct habit habit;
	int hour; /* of the week, which is being learned; -1: none yet */
	int64_t hour_ms, hour_claimed_ms;
};

/* A part of a job that runs here. */
struct guarded {
	char tag[64];
	pid_t shepherd;
	bool here;	/* in this look */
	bool leaves;	/* by order of the server: it must run to end, or to save its work */
	bool suspended; /* by order of its user */
	bool held;	/* by us */
	int64_t cpu_ms; /* as last seen */
};

struct guard {
	struct agent *a;
	struct owner_rules rules;
	bool on; /* this is a workstation */
	struct owner_claim owner;
	enum owner_act act;
	struct senses *senses;
	struct seen seen;
	double running;	 /* others' threads, averaged */
	uint64_t gpus;	 /* that the owner uses, a bit each */
	int64_t gpus_at; /* uv_now() of the look at them */
	uv_timer_t timer;
	int64_t counted; /* uv_now() of the last tick, */
	int64_t weighed; /* ... and of the last look at what our tasks use */
	VEC(struct guarded) parts;
	name_list leavers;   /* tags of parts that had to leave for the owner, until their ends are counted */
	int64_t pause_until; /* seconds since 1970; 0: it is not paused */
	uid_t paused_by;
	struct guard_book book;
	int64_t input_at;   /* seconds since 1970: the last input, as an earlier agent knew it; 0: none */
	int64_t claimed_at; /* seconds since 1970: when the claim began */
	struct door *door;
	VEC(uid_t) owners; /* of rules.owners, as far as they are known */
	struct owners_look *look;
};

/* guard.c */
void guard_turn(struct guard *g); /* now, not at the next tick */
bool guard_owns(const struct guard *g, uid_t user);
bool guard_ours(const struct guard *g, pid_t pid); /* belongs to a job */

/* guard_book.c */
void guard_book_load(struct guard *g);
void guard_book_store(struct guard *g);
void guard_book_count(struct guard *g, int64_t ms); /* so much time has passed */
json_t *guard_book_json(const struct guard *g);

/* guard_door.c */
int guard_door_open(struct guard *g, struct err *err);

#endif
