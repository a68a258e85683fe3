/* decide.h - runs the scheduler. */
#ifndef SERVER_DECIDE_H
#define SERVER_DECIDE_H

struct server;

/* Makes a turn's decisions; also in the middle of the turn, for a request that depends on them. */
void turn_decide(struct server *s);
/* Runs a scheduler cycle if decide_may(), or a part of one: then s->turn->undecided is set. */
void scheduler_decide(struct server *s);

#endif
