/*
 * fairshare.h - ranks users by how little of their share they have used.
 *
 * Use is time x CPUs of jobs, in CPU-milliseconds, counted by day for each *member*: a user in a
 * group, on an account. Days are grouped into windows, and a window's weight is `decay` to the
 * power of its age. Use older than `depth` windows does not count.
 *
 * Members are the leaves of a tree: accounts below their parents, groups within accounts, users
 * within groups. Among siblings, those that have used least relative to their targets come first,
 * together with everything below them: a user whose account has used too much comes after every
 * user whose account has used too little. The *standing* of a member is the percentage of all users
 * with use that come after it: 100 if it has used nothing, 0 if it is last.
 *
 * A target is a percentage of what the siblings use together. Siblings with use but no target share
 * equally what the targets leave of 100. Accounts form a level of the tree only if one of them has
 * a target or a parent, groups only if one has a target; so without any target all users are equal.
 * On the first level a target counts even while unused; further down only where there are jobs.
 *
 * All sums are integers, so that the result does not depend on the order in which use was counted:
 * a restarted server has the same standings.
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
	int64_t depth;	/* number of windows */
	int64_t decay;	/* percent of the weight of the next newer window */
};
void fairshare_settings_of(struct fairshare_settings *ret, const struct attrs *server);

struct shares;
struct shares *shares_create(void);
void shares_destroy(struct shares *x); /* NULL is allowed */

/* Returns the number of a member; equal names have equal numbers. "" means no account. */
uint32_t shares_member(struct shares *x, const char *account, const char *group, const char *user);

/* Sets a target in percent; -1: none. */
void shares_target(struct shares *x, enum share_level level, const char *name, int64_t percent);
/* Sets the parent of an account; NULL: none. */
void shares_parent(struct shares *x, const char *account, const char *parent);
void shares_forget_targets(struct shares *x); /* also forgets parents */
/* Sets all targets and parents from a site's objects. */
void shares_aim(struct shares *x, const struct objects *o);

/* Adds use of jobs that have ended. Days are consecutive numbers. */
void shares_use(struct shares *x, uint32_t member, int64_t day, int64_t ms);
void shares_forget_use(struct shares *x);
/* Adds use of running jobs so far; it counts until the next shares_settle(). */
void shares_run(struct shares *x, uint32_t member, int64_t day, int64_t ms);
void shares_settle(struct shares *x);

/* Recomputes the order. Forgets days that no longer count. */
void shares_rank(struct shares *x, const struct fairshare_settings *f, int64_t today);
/* Returns true if members or targets were added since the last shares_rank(). */
bool shares_stale(const struct shares *x);
/* 0 to 100; 100 for a new member */
double shares_standing(const struct shares *x, uint32_t member);

/* A row of the tree for display, as of the last shares_rank(). */
struct share_row {
	enum share_level level;
	const char *name;
	uint32_t depth;	  /* depth in the tree, from 0 */
	double target;	  /* percent: its own, or its part of what the others leave */
	bool own;	  /* the target was set explicitly */
	double used;	  /* percent of its siblings' total use */
	double cpu_hours; /* with decay */
	double standing;  /* standing of a user, or of the first user below */
};
/* Calls `row` for each row with use or an effective target, parents first, siblings in order. */
void shares_list(const struct shares *x, void (*row)(void *context, const struct share_row *r), void *context);

#endif
