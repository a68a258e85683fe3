/* move.h - moves a waiting job to another queue. */
#ifndef SERVER_MOVE_H
#define SERVER_MOVE_H

#include <stdint.h>

struct arena;
struct err;
struct server;

enum mover {
	/* the owner or a user on the owner's behalf: same checks as a submission */
	MOVER_OWNER,
	MOVER_COORDINATOR, /* coordinator of the queue: access to the queue is not checked */
	MOVER_OPERATOR,	   /* operator: neither access nor limits are checked */
};

/* Moves a job to `queue`, or to the queue that it routes the job to. */
int job_move(struct server *s, uint32_t id, const char *queue, enum mover by, const char *who, struct arena *a,
	     struct err *err);

/* Moves a job from a started routing queue to the first destination that accepts it. The job
 * stays if none does. */
void job_route(struct server *s, uint32_t id);

#endif
