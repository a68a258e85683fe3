/*
 * owner.h - what our tasks on a workstation may do now: the owner comes first.
 *
 * A policy is one text, the node's setting `workstation`:
 *
 *	share				our tasks always run, behind everything else; they stop when the owner needs the whole machine
 *	idle				they stop at the owner's first input, and go on after a quiet time
 *	hours=Mon-Fri 08:00-18:00	they never run in those hours (base/hours.h), and outside them as with idle
 *
 * and after it, each behind a semicolon, quiet=5m (without input), return=1m (after which the memory of stopped tasks is given back: their jobs leave),
 * keep=10 (percent of the memory that stays free), pressure=no (how much the owner's programs need does not count, only the owner) and owners=ana+bo (who may pause it, and whose terminals count; without it whoever is logged in).
 *
 * Pure: what was seen and the time are arguments. Two thresholds and a calm time keep our tasks from being stopped and continued all the time.
 */
#ifndef STATION_OWNER_H
#define STATION_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hours.h"

#define OWNER_NO_INPUT INT64_MIN /* no input of a person is known */

enum owner_policy { OWNER_SHARE, OWNER_IDLE, OWNER_HOURS, OWNER_POLICIES };

struct owner_rules {
	enum owner_policy policy;
	int64_t quiet;	    /* seconds without input */
	int64_t give_back;  /* seconds that stopped tasks may hold their memory */
	int64_t keep;	    /* percent of the memory */
	struct hours hours; /* the owner's; none unless that is the policy */
	bool pressure;	    /* load and memory count, too */
	char owners[256];   /* joined by '+'; "": whoever is logged in */
};

/* -EINVAL, and *ret untouched: the sentence says what is allowed. */
int owner_rules_parse(const char *text, struct owner_rules *ret, struct err *err);
bool owner_named(const struct owner_rules *r, const char *user); /* is one of `owners` */
const char *owner_policy_name(enum owner_policy p);

/* What is seen of the machine at an instant. */
struct owner_view {
	int64_t now;	 /* ms, on a clock that is never set */
	int64_t instant; /* seconds since 1970 */
	int64_t input;	 /* ms: last input of a person, negative if before the boot; or OWNER_NO_INPUT */
	bool paused;	 /* by the owner */
	double running;	 /* threads that run or are ready and are not ours, over the last seconds */
	int cpus;
	double memory_free;   /* percent */
	double memory_stalls; /* percent of the last 10 s in which somebody waited for memory */
};

enum owner_cause { OWNER_NOTHING, OWNER_PAUSED, OWNER_HOUR, OWNER_INPUT, OWNER_MEMORY, OWNER_LOAD, OWNER_CAUSES };
const char *owner_cause_text(enum owner_cause c); /* "input at this machine" */

/* What our tasks do. */
enum owner_act {
	OWNER_RUN,
	OWNER_STOP,  /* frozen */
	OWNER_RETURN /* frozen for long enough: their jobs leave */
};

/* Owned by the caller, all zero at first. */
struct owner_claim {
	enum owner_cause cause; /* OWNER_NOTHING: the machine is ours to use */
	int64_t since;		/* ms: it is claimed since then */
	int64_t loaded;		/* ms: the owner's load is high since then; 0: it is not */
	int64_t calm;		/* ms: nothing speaks for the claim since then; 0: something does */
};

/* Folds what is seen into `o`, and returns what to do now. */
enum owner_act owner_decide(struct owner_claim *o, const struct owner_rules *r, const struct owner_view *v);

#endif
