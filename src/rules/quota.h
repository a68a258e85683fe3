/*
 * quota.h - computation time per user and month.
 *
 * Each user has an amount of wall-clock time a month for each type of job, whatever the number of processors. A job that is submitted takes its walltime
 * limit from what is left; when it has ended, a share of what it did not use is returned. At the beginning of a month what is left becomes the limit again:
 * nothing is saved up. After the last month of a user there is nothing; jobs that were submitted before still run.
 *
 * A quota is changed by these functions only, and each change is told as moves. The moves of a month add up to what is left: the book and the quota agree.
 * Everything is in whole seconds. Months are numbers like 200504, of local time (month_of).
 */
#ifndef RULES_QUOTA_H
#define RULES_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/spec.h"

const char *quota_type_name(enum quota_type type); /* "normal", ... */

/* Of one user. */
struct quota {
	int64_t limit[QUOTA_TYPES]; /* a month */
	int32_t end;		    /* the last month with any; 0: no end */
	int32_t month;		    /* the one that `left` belongs to; 0: none yet */
	int64_t left[QUOTA_TYPES];  /* limit less what was taken; below 0 if the limit was lowered since */
};

enum quota_cause { QUOTA_MONTH, QUOTA_LIMIT, QUOTA_TAKEN, QUOTA_ALTERED, QUOTA_RETURNED, QUOTA_UNNEEDED, QUOTA_CAUSES };
const char *quota_cause_name(enum quota_cause cause);

/* A line of the book: what a change added to what is left of a type. */
struct quota_move {
	enum quota_cause cause;
	enum quota_type type;
	int32_t month;
	int64_t seconds; /* below 0: less is left */
};

/* At most these many come of one change: a new month, and what was asked for. */
#define QUOTA_MOVES (2 * QUOTA_TYPES)
struct quota_moves {
	struct quota_move v[QUOTA_MOVES];
	size_t n;
};

/* Every change begins with the month in which it happens: if that is a later one, the month turns first. One that is earlier changes nothing (a clock
 * that was set back). */
void quota_turn(struct quota *q, int32_t month, struct quota_moves *ret);

/* Sets other limits and another end. What is left changes by as much as the limit does; what was taken stays taken. */
void quota_set(struct quota *q, const int64_t limit[QUOTA_TYPES], int32_t end, int32_t month, struct quota_moves *ret);

/* A job with this walltime is submitted. -EDQUOT: less is left, and the sentence says how much. */
int quota_take(struct quota *q, enum quota_type type, int64_t seconds, int32_t month, struct quota_claim *ret_claim,
	       struct quota_moves *ret, struct err *err);

/* Takes more for another walltime limit or type. Less is returned in full if it was taken this month and the job has not
 * started: else what it did not use is settled at its end, whatever its walltime is by then. -EDQUOT as above. */
int quota_alter(struct quota *q, struct quota_claim *claim, enum quota_type type, int64_t seconds, bool started,
		int32_t month, struct quota_moves *ret, struct err *err);

/* How a job ended, as far as quota go. */
struct quota_use {
	int64_t seconds; /* that count, over all attempts; more than was taken costs no more */
	bool started;	 /* it has run: otherwise it costs nothing */
	bool urgent;	 /* a priority job that was started with priority: the others are charged as normal ones */
	int percent;	 /* of what was not used is returned */
};

/* It has ended: returns what is to be returned. The claim is empty afterwards, so nothing is returned twice. */
void quota_settle(struct quota *q, struct quota_claim *claim, const struct quota_use *use, int32_t month,
		  struct quota_moves *ret);

#endif
