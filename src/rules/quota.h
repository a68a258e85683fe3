/*
 * quota.h - computation time per user and month.
 *
 * Each user has an amount of wall-clock time per month for each type of job, whatever the number of
 * processors. A submitted job takes its walltime limit from what is left; when it has ended, a
 * share of the unused time is returned. At the start of a month the remainder is reset to the
 * limit: unused time does not accumulate. After a user's last month nothing is left; jobs submitted
 * before still run.
 *
 * Only these functions change a quota, and each change is reported as moves. The moves of a month
 * sum to what is left, so the journal of moves and the quota agree. Everything is in whole seconds.
 * Months are numbers like 200504, in local time (month_of).
 */
#ifndef RULES_QUOTA_H
#define RULES_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/spec.h"

const char *quota_type_name(enum quota_type type); /* "normal", ... */

/* The quota of one user; times in seconds. */
struct quota {
	int64_t limit[QUOTA_TYPES]; /* limit per month */
	int32_t end;		    /* last month with any quota; 0: no end */
	int32_t month;		    /* month that `left` belongs to; 0: none yet */
	/* limit minus what was taken; negative if the limit was lowered since */
	int64_t left[QUOTA_TYPES];
};

enum quota_cause { QUOTA_MONTH, QUOTA_LIMIT, QUOTA_TAKEN, QUOTA_ALTERED, QUOTA_RETURNED, QUOTA_UNNEEDED };
const char *quota_cause_name(enum quota_cause cause);

/* A journal entry: what a change added to the remainder of a type. */
struct quota_move {
	enum quota_cause cause;
	enum quota_type type;
	int32_t month;
	int64_t seconds; /* negative: less is left */
};

/* Most moves of one change: a new month, then the change itself. */
#define QUOTA_MOVES (2 * QUOTA_TYPES)
struct quota_moves {
	struct quota_move v[QUOTA_MOVES];
	size_t n;
};

/* Starts a new month if `month` is later than the quota's; every other change calls this first.
 * An earlier month (a clock set back) changes nothing. */
void quota_turn(struct quota *q, int32_t month, struct quota_moves *ret);

/* Sets new limits and a new end. The remainder changes by as much as the limit; what was taken
 * stays taken. */
void quota_set(struct quota *q, const int64_t limit[QUOTA_TYPES], int32_t end, int32_t month, struct quota_moves *ret);

/* Takes the walltime of a submitted job. -EDQUOT: less is left, and the message says how much. */
int quota_take(struct quota *q, enum quota_type type, int64_t seconds, int32_t month, struct quota_claim *ret_claim,
	       struct quota_moves *ret, struct err *err);

/* Takes more for another walltime limit or type. If less is needed, the difference is returned
 * in full if it was taken this month and the job has not started; otherwise the unused time is
 * settled at its end, whatever its walltime is by then. -EDQUOT as above. */
int quota_alter(struct quota *q, struct quota_claim *claim, enum quota_type type, int64_t seconds, bool started,
		int32_t month, struct quota_moves *ret, struct err *err);

/* A job's use, for quota. */
struct quota_use {
	int64_t seconds; /* seconds over all attempts; more than was taken costs no more */
	bool started;	 /* it has run; otherwise it costs nothing */
	bool urgent;	 /* a priority job started with priority; without it, charged as a normal job */
	int percent;	 /* percentage of the unused time that is returned */
};

/* Settles a job that has ended, and returns unused time. The claim is empty afterwards, so that
 * nothing is returned twice. */
void quota_settle(struct quota *q, struct quota_claim *claim, const struct quota_use *use, int32_t month,
		  struct quota_moves *ret);

#endif
