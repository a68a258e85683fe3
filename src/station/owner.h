/*
 * owner.h - decides what our tasks on a workstation may do now: the owner comes first.
 *
 * A policy is one text, the node's setting `workstation`:
 *
 *	share
 *		Our tasks always run, behind everything else; they stop when the owner needs the
 *		whole machine.
 *	idle
 *		They stop at the owner's first input, and continue after a quiet time.
 *	hours=Mon-Fri 08:00-18:00
 *		They never run in those hours (base/hours.h); otherwise as with idle.
 *
 * Options follow, each after a semicolon: quiet=5m (time without input), return=1m (how long
 * stopped tasks keep their memory before their jobs leave), keep=10 (percent of memory that stays
 * free), pressure=no (only the owner's input counts, not the load of their programs) and
 * owners=ana+bo (users who may pause it and whose terminals count; by default any user who is
 * logged in).
 *
 * Pure: observations and the time are arguments. Two thresholds and a calm time keep our tasks from
 * being stopped and continued all the time.
 */
#ifndef STATION_OWNER_H
#define STATION_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hours.h"

#define OWNER_NO_INPUT INT64_MIN /* no input by a person is known */

enum owner_policy { OWNER_SHARE, OWNER_IDLE, OWNER_HOURS };

struct owner_rules {
	enum owner_policy policy;
	int64_t quiet;	    /* seconds without input before tasks continue */
	int64_t give_back;  /* seconds that stopped tasks may keep their memory */
	int64_t keep;	    /* percent of memory that stays free */
	struct hours hours; /* the owner's hours; empty unless the policy is OWNER_HOURS */
	bool pressure;	    /* true if load and memory count as well */
	char owners[256];   /* user names joined by '+'; "": any user who is logged in */
};

/* Returns -EINVAL and leaves *ret untouched on an error; the message says what is allowed. */
int owner_rules_parse(const char *text, struct owner_rules *ret, struct err *err);

#define PAUSE_NEVER_ENDS INT64_MAX

/* A pause that the owner ordered. Its end is stored and shown by the wall clock, and counted by a
 * clock that nobody sets: a wall clock that is put right neither ends a pause nor makes it
 * longer. */
struct owner_pause {
	int64_t until; /* seconds since 1970; 0: none */
	int64_t end;   /* the same instant, in seconds of the other clock */
};
/* Sets a pause; `instant` and `steady` are the time by the two clocks. */
void owner_pause_set(struct owner_pause *p, int64_t until, int64_t instant, int64_t steady);
/* Returns true if there is a pause that has ended. */
bool owner_pause_over(const struct owner_pause *p, int64_t steady);

/* The machine as observed at one instant. */
struct owner_view {
	int64_t now;	 /* ms, on a monotonic clock */
	int64_t instant; /* seconds since 1970 */
	/* ms: last input by a person, negative if before the boot; or OWNER_NO_INPUT */
	int64_t input;
	bool paused; /* true if the owner has paused it */
	/* running or runnable threads that are not ours, averaged over the last seconds */
	double running;
	int cpus;
	double memory_free;   /* percent of memory */
	double memory_stalls; /* percent of the last 10 s in which some process waited for memory */
};

enum owner_cause { OWNER_NOTHING, OWNER_PAUSED, OWNER_HOUR, OWNER_INPUT, OWNER_MEMORY, OWNER_LOAD, OWNER_CAUSES };
const char *owner_cause_text(enum owner_cause c); /* such as "input at this machine" */

/* What our tasks do now. */
enum owner_act {
	OWNER_RUN,
	OWNER_STOP,  /* they are frozen */
	OWNER_RETURN /* they were frozen long enough: their jobs leave */
};

/* The owner's claim to the machine. Owned by the caller, initially all zero. */
struct owner_claim {
	enum owner_cause cause; /* OWNER_NOTHING: the machine is free for our tasks */
	int64_t since;		/* ms: when the claim began */
	int64_t loaded;		/* ms: since when the owner's load is high; 0: it is not */
	int64_t calm;		/* ms: since when no cause for the claim is left; 0: there is one */
};

/* Folds the observation into `o` and returns what our tasks do now. */
enum owner_act owner_decide(struct owner_claim *o, const struct owner_rules *r, const struct owner_view *v);

#endif
