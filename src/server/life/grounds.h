/*
 * grounds.h - every reason for which a waiting job does not start, with what would change it: for all that shows them.
 *
 * With all of them gone the job starts at once; with fewer gone it does not (sched/blockers.h).
 */
#ifndef SERVER_LIFE_GROUNDS_H
#define SERVER_LIFE_GROUNDS_H

#include "base/vec.h"
#include "sched/explain.h"

struct server;

struct ground {
	const char *code;    /* in a word, for programs: GROUND_CODES */
	char *text, *change; /* what it is, and what would change it: sentences without full stops */
	struct reason
		detail; /* of the scheduler's; else why is WHY_NOT, and `by` the job that it depends on, or JOB_NONE */
};
typedef VEC(struct ground) ground_vec;

#define GROUND_CODES                                                                                                   \
	"hold_user|hold_other|hold_system|time|depend|queue|route|site|misfit|retry|scheduling|limit|short|amount|scattered|whole|reserved|nodes|avoided|booked|reservation|hours|order|never"
#define GROUNDS_MOST 1000 /* dependencies of a job that are listed */

/* Of a job that waits or is held; none: it starts with the next cycle. */
void grounds_find(struct server *s, uint32_t id, ground_vec *ret);
void grounds_fini(ground_vec *v);

#endif
