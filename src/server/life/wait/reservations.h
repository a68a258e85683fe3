/*
 * reservations.h - the reservations of the server (rules/reservation.h) in the plan: laid out when one is changed, a node comes or goes, and every day.
 */
#ifndef SERVER_RESERVATIONS_H
#define SERVER_RESERVATIONS_H

#include <stdint.h>

#include "base/vec.h"
#include "rules/object.h"

struct err;
struct server;

/* Fences and keys as the objects are now. */
void reservations_lay(struct server *s);
/* The keys that jobs have as the objects are now, by core id. The caller's. */
uint32_t *keys_now(struct server *s);
void reservations_turn(struct server *s);	   /* when their time has come; those that are over are removed */
int64_t reservations_wake(const struct server *s); /* when that will be */

/* A job that a reservation would concern. */
struct concerned {
	uint32_t job;
	int64_t end;	 /* of one that runs: when it would end at the latest; of one with a place: the place's end */
	bool runs;	 /* it lasts into it */
	bool guaranteed; /* it has a place in it, and its deadline is guaranteed */
};
typedef VEC(struct concerned) concerned_vec;

/* Jobs that have a place, and would be in the way of what `next` is. */
void reservation_concerns(struct server *s, const struct object *next, concerned_vec *ret);
/* Nodes for one that has only a number of them (node_count), once its times are set. Error code BAD_STATE: there are not enough. */
int reservation_choose(struct server *s, struct object *next, struct err *err);
/* Whether a reservation may become `next`. Error code BAD_STATE: it overlaps another, or jobs are in its way, which are named. */
int reservation_allowed(struct server *s, const struct object *next, struct err *err);

#endif
