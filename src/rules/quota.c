/*
 * quota.c - see quota.h.
 */
#include "rules/quota.h"

#include <assert.h>

#include "base/timetext.h"

const char *quota_type_name(enum quota_type type)
{
	static const char *const names[] = {"normal", "priority", "interactive"};

	return names[type];
}

const char *quota_cause_name(enum quota_cause cause)
{
	static const char *const names[] = {"month", "limit", "taken", "altered", "returned", "unneeded"};

	return names[cause];
}

/* Changes what is left and records the move. No other function changes it. */
static void move(struct quota *q, enum quota_cause cause, enum quota_type type, int64_t seconds,
		 struct quota_moves *ret)
{
	if (!seconds)
		return;
	assert(ret->n < QUOTA_MOVES);
	q->left[type] += seconds;
	ret->v[ret->n++] = (struct quota_move){cause, type, q->month, seconds};
}

/* Returns true if the quota's month is after its last one. */
static bool over(const struct quota *q)
{
	return q->end && q->month > q->end;
}

void quota_turn(struct quota *q, int32_t month, struct quota_moves *ret)
{
	ret->n = 0;
	if (month <= q->month)
		return;
	q->month = month;
	for (int type = 0; type < QUOTA_TYPES; type++) {
		q->left[type] = 0; /* moves of the previous month do not count */
		move(q, QUOTA_MONTH, type, over(q) ? 0 : q->limit[type], ret);
	}
}

void quota_set(struct quota *q, const int64_t limit[QUOTA_TYPES], int32_t end, int32_t month, struct quota_moves *ret)
{
	quota_turn(q, month, ret);
	for (int type = 0; type < QUOTA_TYPES; type++) {
		bool was = !over(q), is = !end || q->month <= end;

		move(q, QUOTA_LIMIT, type, (is ? limit[type] : 0) - (was ? q->limit[type] : 0), ret);
		q->limit[type] = limit[type];
	}
	q->end = end;
}

/* Refuses more than is left. */
static int enough(const struct quota *q, enum quota_type type, int64_t seconds, struct err *err)
{
	char asked[32], left[32];

	if (seconds <= q->left[type])
		return 0;
	duration_format(seconds, asked, sizeof asked);
	if (over(q))
		return err_code(err, CODE_REFUSED, "it needs %s of %s quota, and this user's quota ended with %02d/%d",
				asked, quota_type_name(type), q->end % 100, q->end / 100);
	return err_code(err, CODE_REFUSED, "it needs %s of %s quota, and %s of %s is left this month", asked,
			quota_type_name(type),
			duration_format(q->left[type] > 0 ? q->left[type] : 0, left, sizeof left),
			duration_format(q->limit[type], (char[32]){0}, 32));
}

int quota_take(struct quota *q, enum quota_type type, int64_t seconds, int32_t month, struct quota_claim *ret_claim,
	       struct quota_moves *ret, struct err *err)
{
	int rc;

	quota_turn(q, month, ret);
	rc = enough(q, type, seconds, err);
	if (rc < 0)
		return rc;
	move(q, QUOTA_TAKEN, type, -seconds, ret);
	*ret_claim = (struct quota_claim){q->month, type, seconds};
	return 0;
}

/* Returns time to a type, at most what is still taken, because the month's journal may have
 * begun after the job. */
static void give(struct quota *q, enum quota_cause cause, enum quota_type type, int64_t seconds,
		 struct quota_moves *ret)
{
	int64_t taken = q->limit[type] > q->left[type] ? q->limit[type] - q->left[type] : 0;

	move(q, cause, type, seconds < taken ? seconds : taken, ret);
}

/* Changes the type: takes the full time of the new type, as if submitted now, and returns what
 * was taken of the old one. */
static int retype(struct quota *q, struct quota_claim *claim, enum quota_type type, int64_t seconds,
		  struct quota_moves *ret, struct err *err)
{
	int rc = enough(q, type, seconds, err);

	if (rc < 0)
		return rc;
	move(q, QUOTA_ALTERED, type, -seconds, ret);
	if (claim->month == q->month && !over(q))
		give(q, QUOTA_ALTERED, claim->type, claim->seconds, ret);
	*claim = (struct quota_claim){q->month, type, seconds};
	return 0;
}

int quota_alter(struct quota *q, struct quota_claim *claim, enum quota_type type, int64_t seconds, bool started,
		int32_t month, struct quota_moves *ret, struct err *err)
{
	int64_t more;
	int rc;

	quota_turn(q, month, ret);
	if (!claim->month)
		return 0;
	if (started && seconds < claim->seconds)
		seconds = claim->seconds;
	more = seconds - claim->seconds;
	if (type != claim->type)
		return retype(q, claim, type, seconds, ret, err);
	if (more > 0) {
		rc = enough(q, claim->type, more, err);
		if (rc < 0)
			return rc;
		move(q, QUOTA_ALTERED, claim->type, -more, ret);
	} else if (claim->month == q->month && !over(q)) {
		give(q, QUOTA_ALTERED, claim->type, -more, ret);
	}
	claim->seconds = seconds;
	return 0;
}

void quota_settle(struct quota *q, struct quota_claim *claim, const struct quota_use *use, int32_t month,
		  struct quota_moves *ret)
{
	const struct quota_claim c = *claim;
	int64_t unused = c.seconds > use->seconds ? c.seconds - use->seconds : 0;
	int64_t back = (int64_t)((__int128)unused * use->percent / 100);

	*claim = (struct quota_claim){0};
	quota_turn(q, month, ret);
	if (c.month != q->month || over(q)) /* month 0: nothing was taken */
		return;
	if (!use->started)
		back = c.seconds;
	if (use->started && c.type == QUOTA_PRIORITY && !use->urgent && c.seconds - back <= q->left[QUOTA_NORMAL]) {
		give(q, QUOTA_UNNEEDED, QUOTA_PRIORITY, c.seconds, ret);
		move(q, QUOTA_UNNEEDED, QUOTA_NORMAL, -(c.seconds - back), ret);
		return;
	}
	give(q, QUOTA_RETURNED, c.type, back, ret);
}
