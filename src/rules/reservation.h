/*
 * reservation.h - nodes that are kept for some users, groups, accounts, queues, QoS or jobs, at a time or weekly: objects of the kind "reservation" (object.h).
 *
 * One has `nodes`, or `amounts` of what the site has (rules/amounts.h), or both, and either `start` with `end` or `duration`, or `hours` of the week in local time with dates left out (`except`); `start` and `end` then bound the weeks.
 * It holds as soon as both are set. Jobs that one of its lists names may run in it and outside; others neither start in it nor last into it. One with `maintenance` is for
 * nobody. With `per_node` it keeps that much of each node instead of all of it: other jobs have the rest. Reservations don't overlap on a node, except that maintenance may lie over others and prevails there.
 *
 * Weekly ones are laid out RESERVATION_DAYS ahead, again every day (reservations_next()), by the same functions in the server and in the simulator.
 */
#ifndef RULES_RESERVATION_H
#define RULES_RESERVATION_H

#include "core/cluster.h"
#include "core/fence.h"
#include "rules/object.h"

#define RESERVATION_DAYS 35

struct span {
	int64_t start, end;
};
typedef VEC(struct span) span_vec;

bool reservation_holds(const struct object *x);	 /* its nodes, or amounts, and its times are set */
bool reservation_binds(const struct object *x);	 /* a job can be bound to it: it is not one of amounts alone */
bool reservation_weekly(const struct object *x); /* it has `hours` */
/* Whether its attributes go together. -EINVAL. */
int reservation_check(const struct object *x, struct err *err);
/* When it holds within [from, until), in order; borders are its own. */
void reservation_spans(const struct object *x, int64_t from, int64_t until, span_vec *ret);
/* Whether some of two overlap; *ret (unless NULL): where first. */
bool reservation_spans_meet(const span_vec *a, const span_vec *b, int64_t *ret);
/* When it holds, or will next, within RESERVATION_DAYS. False: not at all. */
bool reservation_next(const struct object *x, int64_t now, struct span *ret);
/* Whether it has gone by for good. */
bool reservation_over(const struct object *x, int64_t now);
/* Marks its nodes. -EINVAL (unless err is NULL): one is not there. */
int reservation_nodes(const struct object *x, const struct cluster *c, bool *has, struct err *err);

/* Writes what it keeps of each of its nodes (per_node); nothing: all of it. */
void reservation_part(const struct object *x, struct res *ret);
/* Checks that its nodes have that much. -EINVAL. */
int reservation_part_check(const struct object *x, const struct cluster *c, const bool *has, struct err *err);

/* What it keeps of the site's amounts. -EINVAL: the site has none of that name, or not that many. */
struct reservation_amount {
	uint32_t amount; /* in cluster.amounts */
	int64_t count;
};
typedef VEC(struct reservation_amount) reservation_amount_vec;
int reservation_amounts(const struct object *x, const struct cluster *c, reservation_amount_vec *ret, struct err *err);

/* Whose job it is. */
struct reservation_party {
	const char *user, *host, *group, *account, *queue, *qos;
	const char *job; /* its number, as text */
};
bool reservation_admits(const struct object *x, const struct reservation_party *p);

/* The id of a name in the plan, now or when it is made. */
uint32_t reservation_id(struct cluster *c, const char *name);
/* Those that a job may use: job.keys. */
uint32_t reservations_keys(const struct objects *o, struct cluster *c, const struct reservation_party *p);
/* All of them as fences, from now on. */
void reservations_fences(const struct objects *o, struct cluster *c, int64_t now, node_fence_vec *ret);
/* When they are to be laid out again; TIME_NEVER: not at all. */
int64_t reservations_next(const struct objects *o, int64_t now);
/* Whether `next` would overlap another. Error code BAD_STATE names it. */
int reservations_overlap(const struct objects *o, const struct cluster *c, const struct object *next, int64_t now,
			 struct err *err);

#endif
