/*
 * grounds.h - every reason why a waiting job does not start, and what would change it.
 *
 * The job starts at once when all of them are removed, and does not while any is left
 * (sched/blockers.h).
 */
#ifndef SERVER_LIFE_GROUNDS_H
#define SERVER_LIFE_GROUNDS_H

#include "base/vec.h"
#include "sched/explain.h"

struct server;

struct ground {
	const char *code;    /* one word for programs: one of GROUND_CODES */
	char *text, *change; /* the reason and what would change it: sentences without full stops */
	/* the scheduler's reason; otherwise why is WHY_NOT and `by` is the dependency's job or
	 * JOB_NONE */
	struct reason detail;
};
typedef VEC(struct ground) ground_vec;

#define GROUND_CODES                                                                                                   \
	"hold_user|hold_other|hold_system|time|depend|queue|route|site|misfit|retry|scheduling|limit|short|amount|scattered|whole|reserved|nodes|avoided|booked|reservation|hours|order|never"
#define GROUNDS_MOST 1000 /* maximum dependencies listed per job */

/* Finds the grounds of a waiting or held job; none: it starts in the next cycle. */
void grounds_find(struct server *s, uint32_t id, ground_vec *ret);
void grounds_fini(ground_vec *v);

#endif
