/*
 * fairshare.h - who has had the least of its share.
 *
 * Use is time x CPUs that jobs had, in milliseconds, counted by day for each *member*: a user in a group, on an account. Days are put together into windows, and a
 * window counts less the older it is: decay to the power of its age. What is older than `depth` windows does not count.
 *
 * Members are the leaves of a tree: accounts below their parents, in them groups, in these users. Among siblings, those that have used least for their targets
 * come first, and with them everything below them: a user whose account has used too much comes behind every user whose account has used too little. The *standing*
 * of a member is the percentage of all users with use that come behind it: 100 if it has used nothing, 0 if it is the last.
 *
 * A target is a percentage of what the siblings use together. Siblings with use but without a target divide equally what the targets leave of 100. Accounts form
 * a level of the tree only if one of them has a target or a parent, groups only if one has a target; so where nobody has a target, all users are equal. On the
 * first level of the tree a target counts also while nobody uses it; further down only where there are jobs.
 *
 * All sums are whole numbers, so that nothing depends on the order in which use was counted: a server that was restarted has the same standings.
 */
#ifndef RULES_FAIRSHARE_H
#define RULES_FAIRSHARE_H

#include <stdbool.h>
#include <stdint.h>

struct attrs;
struct objects;

enum share_level { SHARE_ACCOUNT, SHARE_GROUP, SHARE_USER, SHARE_LEVELS };

struct fairshare_settings {
	int64_t window; /* days */
	int64_t depth;	/* windows */
	int64_t decay;	/* percent of the window before */
};
void fairshare_settings_of(struct fairshare_settings *ret, const struct attrs *server);

struct shares;
struct shares *shares_create(void);
void shares_destroy(struct shares *x); /* NULL is fine */

/* The number of a member, the same for the same names. No account: "". */
uint32_t shares_member(struct shares *x, const char *account, const char *group, const char *user);

/* Percent; -1: none. */
void shares_target(struct shares *x, enum share_level level, const char *name, int64_t percent);
/* The account above another; NULL: none. */
void shares_parent(struct shares *x, const char *account, const char *parent);
/* ... of all that have none of their own; -1: they divide what the others leave. */
void shares_target_rest(struct shares *x, enum share_level level, int64_t percent);
void shares_forget_targets(struct shares *x); /* and parents */
/* All of them, as the objects of a site have them. */
void shares_aim(struct shares *x, const struct objects *o);

/* Use of jobs that have ended. Days are numbered without gaps. */
void shares_use(struct shares *x, uint32_t member, int64_t day, int64_t ms);
void shares_forget_use(struct shares *x);
/* Use of running jobs so far: it holds until the next shares_settle(). */
void shares_run(struct shares *x, uint32_t member, int64_t day, int64_t ms);
void shares_settle(struct shares *x);

/* Makes the order anew. Days that don't count any more are forgotten. */
void shares_rank(struct shares *x, const struct fairshare_settings *f, int64_t today);
bool shares_stale(const struct shares *x); /* there are members or targets that the order does not know */
double shares_standing(const struct shares *x, uint32_t member); /* 0 to 100; of a new member 100 */

/* A line of the tree, for people; as of the last shares_rank(). */
struct share_row {
	enum share_level level;
	const char *name;
	uint32_t depth;	  /* in the tree, from 0 */
	double target;	  /* percent: its own, or its part of what the others leave */
	bool own;	  /* it was set */
	double used;	  /* percent of what its siblings used together */
	double cpu_hours; /* with decay */
	double standing;  /* of a user, or the first of those below */
};
/* Every line with use or a target that counts, those above before those below, siblings in their order. */
void shares_list(const struct shares *x, void (*row)(void *context, const struct share_row *r), void *context);

#endif
