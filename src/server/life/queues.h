/*
 * queues.h - queues that are started and stopped, and what that means for the jobs in them.
 */
#ifndef SERVER_LIFE_QUEUES_H
#define SERVER_LIFE_QUEUES_H

struct queue;
struct server;

void queue_toggled(struct server *s, const struct queue *q); /* it was started or stopped */
/* Jobs that wait in started routing queues are offered to their destinations: something has changed that those may accept them by. */
void queues_route(struct server *s);
void queues_turn(struct server *s); /* the same, if turn.route says so, one pass at a time */

#endif
