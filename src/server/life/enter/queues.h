/*
 * queues.h - queues that are started and stopped, and what that means for the jobs in them.
 */
#ifndef SERVER_LIFE_QUEUES_H
#define SERVER_LIFE_QUEUES_H

struct queue;
struct server;

void queue_toggled(struct server *s, const struct queue *q); /* it was started or stopped */
/* Queues have been changed: jobs that wait in started routing queues will be offered to the destinations. */
void queues_route(struct server *s);
/* The same, if turn.route says that one may accept more than before; one pass at a time. */
void queues_turn(struct server *s);

#endif
