/* decide.h - runs the scheduler. */
#ifndef SERVER_DECIDE_H
#define SERVER_DECIDE_H

struct server;

void turn_decide(struct server *s);
void server_decide(struct server *s); /* makes a turn's decisions in the middle of the turn */
/* Runs a scheduler cycle if decide_may(), or a part of one: then s->turn->undecided is set. */
void scheduler_decide(struct server *s);

#endif
