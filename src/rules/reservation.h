/*
 * reservation.h - nodes reserved for some users, groups, accounts, queues, QoS or jobs, once or
 * weekly: objects of the kind "reservation" (object.h).
 *
 * A reservation has `nodes`, or `amounts` of site-wide resources (rules/amounts.h), or both. Its
 * time is either `start` with `end` or `duration`, or weekly `hours` in local time except on
 * certain dates (`except`); `start` and `end` then bound the weeks. It takes effect once both
 * resources and time are set. Jobs named by one of its lists may run inside and outside it; others
 * neither start in it nor run into it. One with `maintenance` admits nobody. With `per_node` it
 * reserves that much of each node and leaves the rest to other jobs. Reservations do not overlap on
 * a node, except that maintenance may overlap others and takes precedence.
 *
 * Weekly ones are laid out RESERVATION_DAYS ahead, again every day (reservations_next()), by the
 * same functions in the server and in the simulator.
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

bool reservation_holds(const struct object *x); /* its nodes or amounts and its times are set */
/* Returns true if a job can be bound to it: it has nodes, not only amounts. */
bool reservation_binds(const struct object *x);
/* Checks that its attributes are consistent. -EINVAL. */
int reservation_check(const struct object *x, struct err *err);
/* Collects its intervals that overlap [from, until), in order; they are not clipped to that
 * range. */
void reservation_spans(const struct object *x, int64_t from, int64_t until, span_vec *ret);
/* Returns true if any two intervals overlap; *ret (unless NULL): the first instant of overlap. */
bool reservation_spans_meet(const span_vec *a, const span_vec *b, int64_t *ret);
/* Finds its present or next interval within RESERVATION_DAYS. Returns false if there is none. */
bool reservation_next(const struct object *x, int64_t now, struct span *ret);
/* Returns true if it is over for good. */
bool reservation_over(const struct object *x, int64_t now);
/* Marks its nodes. -EINVAL (unless err is NULL): a node does not exist. */
int reservation_nodes(const struct object *x, const struct cluster *c, bool *has, struct err *err);

/* Stores what it reserves of each node (per_node); all zero: the whole node. */
void reservation_part(const struct object *x, struct res *ret);
/* Checks that its nodes have as much as it reserves. -EINVAL. */
int reservation_part_check(const struct object *x, const struct cluster *c, const bool *has, struct err *err);

/* A reserved part of a site-wide resource. */
struct reservation_amount {
	uint32_t amount; /* index in cluster.amounts */
	int64_t count;
};
typedef VEC(struct reservation_amount) reservation_amount_vec;
int reservation_amounts(const struct object *x, const struct cluster *c, reservation_amount_vec *ret, struct err *err);

/* The parties that a job belongs to. */
struct reservation_party {
	const char *user, *host, *group, *account, *queue, *qos;
	const char *job; /* job number as text */
};
bool reservation_admits(const struct object *x, const struct reservation_party *p);

/* Returns the id of a name in the plan; the reservation need not exist yet. */
uint32_t reservation_id(struct cluster *c, const char *name);
/* Returns the reservations a job may use: job.keys. */
uint32_t reservations_keys(const struct objects *o, struct cluster *c, const struct reservation_party *p);
/* Lays out all reservations as fences, from now on. */
void reservations_fences(const struct objects *o, struct cluster *c, int64_t now, node_fence_vec *ret);
/* Returns when they must be laid out again; TIME_NEVER: not at all. */
int64_t reservations_next(const struct objects *o, int64_t now);
/* Checks that `next` does not overlap another reservation. Error code BAD_STATE names it. */
int reservations_overlap(const struct objects *o, const struct cluster *c, const struct object *next, int64_t now,
			 struct err *err);

#endif
