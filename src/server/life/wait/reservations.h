/* reservations.h - puts the server's reservations (rules/reservation.h) into the plan: when one
 * is changed, when a node comes or goes, and every day. */
#ifndef SERVER_RESERVATIONS_H
#define SERVER_RESERVATIONS_H

#include <stdint.h>

#include "base/vec.h"
#include "rules/object.h"

struct server;

/* Lays out fences and keys for the present objects. */
void reservations_lay(struct server *s);
/* Returns the keys of jobs for the present objects, by core id. Owned by the caller. */
uint32_t *keys_now(struct server *s);
/* Lays out the reservations that are due, and removes those that are over. */
void reservations_turn(struct server *s);
/* Returns the time of the next reservations_turn(). */
int64_t reservations_wake(const struct server *s);

/* A job affected by a reservation. */
struct concerned {
	uint32_t job;
	int64_t end;	 /* latest end of a running job, or the end of the place of a waiting one */
	bool runs;	 /* it runs into the reservation */
	bool guaranteed; /* it has a place inside the reservation and a guaranteed deadline */
};
typedef VEC(struct concerned) concerned_vec;

/* Lists jobs with a place that conflicts with `next`. */
void reservation_concerns(struct server *s, const struct object *next, concerned_vec *ret);
/* Chooses nodes for a reservation with only a node_count, once its times are set. Error code
 * BAD_STATE: there are not enough. */
int reservation_choose(struct server *s, struct object *next, struct err *err);
/* Checks that a reservation may become `next`. Error code BAD_STATE: it overlaps another, or the
 * named jobs are in its way. */
int reservation_allowed(struct server *s, const struct object *next, struct err *err);

#endif
