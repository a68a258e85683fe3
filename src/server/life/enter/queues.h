/* queues.h - starts and stops queues, with the consequences for the jobs in them. */
#ifndef SERVER_LIFE_QUEUES_H
#define SERVER_LIFE_QUEUES_H

struct queue;
struct server;

/* Blocks or releases the jobs of a queue that was started or stopped, or whose type changed. */
void queue_toggled(struct server *s, const struct queue *q);
/* Offers jobs that wait in started routing queues to their destinations. Called after queues
 * have changed. */
void queues_route(struct server *s);
/* Does the same if turn.route is set, because a destination may accept more than before; one
 * pass at a time. */
void queues_turn(struct server *s);

#endif
